"""The pages of a PDF, one after the other: their lines, and what is wrong with them.

Rules
    1. Each page is told before it is read: pdfium hangs or dies on crafted ones, and whoever
       waits can then leave that page out of another attempt.
    2. A page with hardly any text under pictures is a scan; one whose font has no characters is
       garbled. Both can be read by OCR alone.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field

import pypdfium2.raw as pdfium

from spanwise.parsers.parsed import PagesToRead, Source, Step
from spanwise.parsers.pdf.layout.page import PageContent
from spanwise.parsers.pdf.layout.pages import lay_out
from spanwise.parsers.pdf.layout.rows import Line
from spanwise.parsers.pdf.rules import read_rules
from spanwise.parsers.pdf.words import FontTable, read_words

_FEW_CHARS = 20
"""A page with less text, and with pictures, is taken for a scan."""
_STAMP_CHARS = 100
"""So is one with less text, and with a picture over (nearly) all of it: courts stamp scans."""
_WHOLE_PAGE = 0.8
_MAX_OBJECTS = 1000
_MAX_GARBLED = 0.05
_GARBLED = re.compile("[\ue000-\uf8ff\ufffd]{2,}")
"""One alone is a bullet of a symbol font."""


@dataclass(frozen=True, slots=True)
class PageLines:
    """What stands on one page."""

    lines: list[Line]
    height: float

    def count_chars(self) -> int:
        """Return how many characters with a meaning stand on it."""
        return sum(len(line.text) - _count_garbled(line.text) for line in self.lines)


@dataclass(frozen=True, slots=True)
class PagesRead:
    """All pages of a document; numbers are 1-based and ascending."""

    pages: list[PageLines]
    """One for each page, empty where it cannot be read."""
    fonts: FontTable
    scans: list[int] = field(default_factory=list)
    garbled: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    """Pages that pdfium does not open."""
    skipped: list[int] = field(default_factory=list)
    """Pages on which an earlier attempt hung or died."""

    def count_chars(self) -> int:
        """Return how many characters with a meaning stand on all pages."""
        return sum(page.count_chars() for page in self.pages)

    def to_read(self) -> PagesToRead:
        """Return the pages that a model which sees them reads better."""
        others = {*self.scans, *self.garbled}
        return PagesToRead(
            scans=tuple(self.scans),
            garbled=tuple(self.garbled),
            tables=tuple(
                number
                for number, page in enumerate(self.pages, start=1)
                if number not in others and any(line.has_merged_cells for line in page.lines)
            ),
        )


def read_pages(document: pdfium.FPDF_DOCUMENT, count: int, source: Source) -> PagesRead:
    """Return the lines of each page.

    Args:
        document: As pdfium holds it.
        count: Number of its pages.
        source: Hears of each page before it is read, and names those to leave out.
    """
    read = PagesRead([], FontTable())
    for number in range(1, count + 1):
        lines = PageLines([], 1.0)
        if number in source.skipped_pages:
            read.skipped.append(number)
        else:
            source.on_step(Step(pages=1, of=count, page=number))
            lines = _read_numbered(document, number, read) or lines
        read.pages.append(lines)
    source.on_step(Step(pages=count, of=count))
    return read


def _read_numbered(
    document: pdfium.FPDF_DOCUMENT, number: int, read: PagesRead
) -> PageLines | None:
    """Return the lines of a page, None where it cannot be opened; note what is wrong with it."""
    page = pdfium.FPDF_LoadPage(document, number - 1)
    content = pdfium.FPDFText_LoadPage(page) if page else None
    lines = _read_page(page, content, read.fonts) if content else None
    if lines is None:
        read.failed.append(number)
    else:
        text = "".join(line.text for line in lines.lines)
        if len(text) < _STAMP_CHARS and _is_scan(page, len(text)):
            read.scans.append(number)
        elif is_garbled(text):
            read.garbled.append(number)
    if content:
        pdfium.FPDFText_ClosePage(content)
    if page:
        pdfium.FPDF_ClosePage(page)
    return lines


def _read_page(
    page: pdfium.FPDF_PAGE, content: pdfium.FPDF_TEXTPAGE, fonts: FontTable
) -> PageLines:
    width, height = pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)
    if pdfium.FPDFPage_GetRotation(page) % 2:
        width, height = height, width
    found = read_words(content, size=(width, height), fonts=fonts)
    if found.turn % 2:
        width, height = height, width
    rules = [] if found.turn else read_rules(page)
    sheet = PageContent(width=width, height=height, words=found.words, rules=rules)
    return PageLines(lay_out(sheet, aside=found.aside), height)


def is_garbled(text: str) -> bool:
    """Return whether too many of its characters have no meaning."""
    return _count_garbled(text) > _MAX_GARBLED * len(text)


def _count_garbled(text: str) -> int:
    return sum(map(len, _GARBLED.findall(text)))


def _is_scan(page: pdfium.FPDF_PAGE, chars: int) -> bool:
    """Return whether a page with so little text is a picture of more."""
    whole = pdfium.FPDF_GetPageWidthF(page) * pdfium.FPDF_GetPageHeightF(page)
    shown = 0.0
    for place in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        item = pdfium.FPDFPage_GetObject(page, place)
        kind = pdfium.FPDFPageObj_GetType(item)
        if kind not in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM):
            continue
        if chars < _FEW_CHARS:
            return True
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            shown += _area(item)
    return shown >= _WHOLE_PAGE * float(whole)


def _area(item: pdfium.FPDF_PAGEOBJECT) -> float:
    sides = [ctypes.c_float() for _ in range(4)]
    if not pdfium.FPDFPageObj_GetBounds(item, *map(ctypes.byref, sides)):
        return 0.0
    left, bottom, right, top = (side.value for side in sides)
    return (right - left) * (top - bottom)
