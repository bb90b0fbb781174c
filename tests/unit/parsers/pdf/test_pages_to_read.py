"""Which pages of a PDF are left to a model that sees them, and how they are drawn for it."""

from __future__ import annotations

import io
import struct

import pytest
from reportlab.pdfgen.canvas import Canvas
from tests.documents import build_pdf
from tests.pictures import scanned_pdf

from spanwise.errors import ParseError
from spanwise.parsers.parsed import PagesToRead, Parsed, Source
from spanwise.parsers.pdf.picture import draw_png
from spanwise.parsers.pdf.reader import parse_pdf

Rule = tuple[float, float, float, float]
XS, YS = (72, 200, 300, 400), (700, 680, 660, 640)
OUTER = [(72.0, 700.0, 400.0, 700.0), (72, 640, 400, 640), (72, 640, 72, 700), (400, 640, 400, 700)]
UPRIGHT = [(200.0, 640.0, 200.0, 700.0), (300, 640, 300, 700)]
LEVEL = [(72.0, 680.0, 400.0, 680.0), (72, 660, 400, 660)]
WORDS = [["Quay", "Ships", "Crew"], ["North", "1,040", "12"], ["South", "900", "8"]]


def ruled(
    rules: list[Rule], *, words: list[list[str]] = WORDS, size: tuple[float, float] = (612, 792)
) -> bytes:
    """Return a PDF of a page with rules and up to three words in three columns."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=size, invariant=1)
    for rule in rules:
        canvas.line(*rule)
    canvas.setFont("Times-Roman", 9)
    for row, y in zip(words, YS, strict=False):
        for word, x in zip(row, XS, strict=False):
            canvas.drawString(x + 5, y - 14, word)
    canvas.save()
    return stream.getvalue()


def parse(data: bytes, *, leaves: bool = True) -> Parsed:
    return parse_pdf(Source(data=data, name="a.pdf", leaves_pictures=leaves))


def test_scans_and_garbled_pages_are_left_without_a_word_of_it() -> None:
    parsed = parse(build_pdf(["First page.", "", "Last page."], picture_pages=[1]))
    assert parsed.to_read == PagesToRead(scans=(2,))
    assert (parsed.status, parsed.warnings) == ("ok", ())
    assert parsed.text == "First page.\nLast page."
    stamped = parse(scanned_pdf(["text"], dots_per_inch=20, stamp="Case 1:24-cv-01234 page 7"))
    assert stamped.to_read == PagesToRead(scans=(1,))
    garbled = parse(build_pdf(["A" * 50], to_unicode="\ue001"))
    assert garbled.to_read == PagesToRead(garbled=(1,))
    assert (garbled.status, garbled.warnings) == ("ok", ())


def test_a_file_of_pictures_alone_has_pages_and_no_text() -> None:
    parsed = parse(scanned_pdf(["One", "Two"], dots_per_inch=20))
    assert parsed.to_read.numbers == (1, 2)
    assert parsed.text == ""
    assert [(page.start, page.end) for page in parsed.pages] == [(0, 0), (0, 0)]


def test_nothing_is_left_where_nobody_asks() -> None:
    parsed = parse(build_pdf(["text", ""], picture_pages=[1]), leaves=False)
    assert parsed.to_read == PagesToRead()
    assert parsed.status == "needs_ocr"


def test_a_file_without_pictures_is_as_without() -> None:
    data = build_pdf(["text", ""])
    assert parse(data) == parse(data, leaves=False)
    with pytest.raises(ParseError) as caught:
        parse(build_pdf([""]))
    assert caught.value.code == "no_text"


@pytest.mark.parametrize(
    ("rules", "words", "is_merged"),
    [
        ([*OUTER, *UPRIGHT, *LEVEL], WORDS, False),
        # "North" goes over two rows
        ([*OUTER, *UPRIGHT, LEVEL[0], (200, 660, 400, 660)], [*WORDS[:2], ["", "900", "8"]], True),
        # a head goes over two columns, beside another one
        (
            [*OUTER, UPRIGHT[0], (300, 640, 300, 680), *LEVEL],
            [["Quay", "Counted"], *WORDS[1:]],
            True,
        ),
        # a title goes over all columns
        (
            [*OUTER, (200, 640, 200, 680), (300, 640, 300, 680), *LEVEL],
            [["Ships of 2020"], *WORDS[1:]],
            False,
        ),
        # a cell without words goes over two rows
        (
            [*OUTER, *UPRIGHT, LEVEL[0], (200, 660, 400, 660)],
            [WORDS[0], ["", "1,040", "12"], ["", "900", "8"]],
            False,
        ),
    ],
    ids=["plain", "rows", "columns", "title", "empty"],
)
def test_tables_with_merged_cells_are_told(
    rules: list[Rule], words: list[list[str]], *, is_merged: bool
) -> None:
    parsed = parse(ruled(rules, words=words))
    assert len(parsed.blocks) == 1
    assert parsed.to_read.tables == ((1,) if is_merged else ())


@pytest.mark.parametrize("size", [(612, 792), (842, 1191), (5000, 5000)])
def test_a_page_is_drawn_for_a_model_in_grey_and_never_large(size: tuple[float, float]) -> None:
    data = ruled(OUTER, size=size)
    source = Source(data=data, name="a.pdf")
    png = draw_png(source, page=1, dots_per_inch=130, for_model=True)
    width, height, _, colours = struct.unpack(">IIBB", png[16:26])
    assert colours == 0
    assert width * height <= 1_805_000, "but for rounding"
    assert width / height == pytest.approx(size[0] / size[1], rel=0.01)
    coloured = draw_png(source, page=1, dots_per_inch=130)
    assert struct.unpack(">IIBB", coloured[16:26])[3] == 2
    assert len(coloured) > len(png)
