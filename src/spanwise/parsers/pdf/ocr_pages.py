"""OCR of the scanned pages of a PDF.

The recognised words go through the same layout as words of the file: rows of a table stay rows,
columns are read one after the other, and large type is a heading.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import pypdfium2

from spanwise.parsers.parsed import Source, Step
from spanwise.parsers.pdf.layout.compose import lay_out
from spanwise.parsers.pdf.layout.page import Font, PageContent, Words
from spanwise.parsers.pdf.ocr import OcrEngine, OcrLine
from spanwise.parsers.pdf.pages import PageLines, PagesRead
from spanwise.parsers.pdf.picture import draw_page

_PAGES_WORTH = 500
"""Time limit of OCR for one page, as a multiple of the time limit for a page of text."""
_SHARE_OF_TIME = 0.8
"""Share of the time limit of a document for OCR; after it, the remaining pages stay unread."""
_FONT = Font("", bold=False, italic=False)
_BASELINE = 0.2
"""Share of the height of a line below its baseline."""
_TYPE_SIZE = 0.8
"""Type size divided by the height of the box of a line."""
_SAME_SIZE = 0.2
"""Relative difference at which a size equals the usual one of the page; boxes are inexact."""


@dataclass(frozen=True, slots=True)
class OcrOutcome:
    """Result of OCR on the pages of a document."""

    found: Sequence[int]
    """Numbers of the pages with more text than before."""
    left: Sequence[int]
    """Numbers of the pages that were not read."""
    cause: str
    """Cause as appended to "not read by OCR" in a warning; empty if all pages were read."""


def read_by_ocr(
    document: pypdfium2.PdfDocument,
    read: PagesRead,
    *,
    numbers: Sequence[int],
    engine: OcrEngine,
    source: Source,
    started: float,
) -> OcrOutcome:
    """Replace the text of pages by the text of an OCR engine, where that is more.

    Args:
        document: The open document.
        read: Its pages; changed in place.
        numbers: Numbers of the pages, 1-based.
        engine: The OCR engine.
        source: Its `on_step` is called before each page.
        started: Start of the work on the document, on the monotonic clock.
    """
    work = len(read.pages) + _PAGES_WORTH * len(numbers)
    font = read.fonts.number(_FONT)
    found: list[int] = []
    end = started + _SHARE_OF_TIME * source.timeout_seconds
    for place, number in enumerate(numbers):
        if time.monotonic() > end:
            return OcrOutcome(found, numbers[place:], " (time limit; raise timeout_seconds)")
        source.on_step(Step(pages=_PAGES_WORTH, of=work, page=number))
        try:
            picture = draw_page(document, number, dots_per_inch=engine.dots_per_inch)
            lines = engine.read(picture.dots)
        except (OSError, pypdfium2.PdfiumError) as error:
            return OcrOutcome(found, numbers[place:], f": {error}")
        if lines:
            content = _page_content(lines, picture.points_per_dot, picture.dots.shape, font=font)
            page = PageLines(lay_out(content), content.height)
            if page.count_chars() > read.pages[number - 1].count_chars():
                read.pages[number - 1] = page
                found.append(number)
    source.on_step(Step(pages=len(read.pages), of=work))
    return OcrOutcome(found, (), "")


def _page_content(
    lines: Sequence[OcrLine], scale: float, shape: tuple[int, ...], *, font: int
) -> PageContent:
    """Return the input of the layout: points from the bottom instead of pixels from the top."""
    height = shape[0] * scale
    usual = median(line.bottom - line.top for line in lines)
    words = Words()
    for line in lines:
        tall = line.bottom - line.top
        size = usual if abs(tall - usual) <= _SAME_SIZE * usual else tall
        baseline = height - scale * (line.bottom - _BASELINE * tall)
        for word in line.words:
            box = (scale * word.left, scale * max(word.left, word.right), baseline)
            words.add(word.text, box=box, size=max(1.0, scale * _TYPE_SIZE * size), font=font)
    return PageContent(width=shape[1] * scale, height=height, words=words)
