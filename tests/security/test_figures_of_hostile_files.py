"""Figures of files that are made to cost much: the number of objects and pictures is limited."""

from __future__ import annotations

import io
import time
from dataclasses import replace

from reportlab.pdfgen.canvas import Canvas

from spanwise.parsers.figure_places import MAX_FIGURES
from spanwise.parsers.office.pictures import Picture, read_figures, with_alternatives
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.pdf.reader import parse_pdf
from spanwise.parsers.writer import TextWriter


def test_page_of_many_paths_is_no_figure() -> None:
    """It is a map or a plan, or an attack; its text is read."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(612, 792))
    canvas.drawString(72, 700, "Words of the page.")
    for at in range(12_000):
        canvas.line(100 + at % 400, 100 + at // 40, 103 + at % 400, 105 + at // 40)
    canvas.save()
    parsed = parse_pdf(Source(data=stream.getvalue(), name="a.pdf"))
    assert parsed.text == "Words of the page."
    assert parsed.figures == ()


def test_number_of_pictures_is_limited() -> None:
    writer = TextWriter()
    writer.write("Words.\nOther words.")
    pictures = [
        Picture(place=at % 30, member=f"media/{at}.png", width=2_000_000, height=2_000_000)
        for at in range(3 * MAX_FIGURES)
    ]
    assert len(read_figures(pictures, writer)) == MAX_FIGURES


def test_many_alternative_texts_take_no_quadratic_time() -> None:
    """Each moves the headings after it."""
    writer = TextWriter()
    pictures = []
    for at in range(20_000):
        writer.write_heading(f"Heading {at}", level=1)
        place, member = writer.next_start, f"media/{at}.png"
        picture = Picture(place=place, member=member, width=2_000_000, height=2_000_000)
        pictures.append(replace(picture, alternative="Ships " * 50))
    started = time.process_time()
    figures = read_figures(pictures, writer)
    parsed = with_alternatives(Parsed.of(writer, media_type="a/b", figures=figures))
    assert time.process_time() - started < 3
    assert parsed.text.count("[Figure: Ships ") == MAX_FIGURES
    heading = parsed.headings[-1]
    assert parsed.text[heading.start : heading.end] == "Heading 19999"
