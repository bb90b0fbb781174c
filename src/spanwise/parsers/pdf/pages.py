"""Lines and faults of the pages of a PDF.

Rules
    1. Each page is reported before it is read: pdfium hangs or crashes on crafted pages, and
       the parent process can then skip that page in another attempt.
    2. A page with images and little text is a scan; a page whose font does not map to characters
       is garbled. Both can only be read by OCR.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pypdfium2.raw as pdfium

from spanwise.parsers.parsed import PagesToRead, Source, Step
from spanwise.parsers.pdf.figures import PageFigure, find_page_figures
from spanwise.parsers.pdf.layout.compose import lay_out
from spanwise.parsers.pdf.layout.page import PageContent, Words
from spanwise.parsers.pdf.layout.rows import Line
from spanwise.parsers.pdf.words import FontTable, read_bounds, read_rules, read_words

_FEW_CHARS = 20
"""Number of characters below which a page with an image is a scan."""
_STAMP_CHARS = 100
"""Number of characters below which a page covered by an image is a scan: courts stamp scans."""
_WHOLE_PAGE = 0.8
_MAX_OBJECTS = 1000
_MAX_GARBLED = 0.05
_GARBLED = re.compile("[\ue000-\uf8ff\ufffd]{2,}")
"""Characters without a meaning. A single one is not counted, because it is usually a bullet."""


@dataclass(frozen=True, slots=True)
class PageLines:
    """Lines of one page."""

    lines: list[Line]
    height: float
    figures: list[PageFigure] = field(default_factory=list)

    def count_chars(self) -> int:
        """Return the number of meaningful characters on the page."""
        return sum(len(line.text) - _count_garbled(line.text) for line in self.lines)


@dataclass(frozen=True, slots=True)
class PagesRead:
    """Pages of a document; numbers are 1-based and ascending."""

    pages: list[PageLines]
    """Lines of each page, empty if it cannot be read."""
    fonts: FontTable
    scans: list[int] = field(default_factory=list)
    garbled: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    """Pages that pdfium does not open."""
    skipped: list[int] = field(default_factory=list)
    """Pages on which an earlier attempt hung or crashed."""

    def count_chars(self) -> int:
        """Return the number of meaningful characters on all pages."""
        return sum(page.count_chars() for page in self.pages)

    def to_read(self) -> PagesToRead:
        """Return the pages that a vision model reads better."""
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
        document: Handle of pdfium.
        count: Number of pages.
        source: Its `on_step` is called before each page; it names the pages to skip.
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
    """Return the lines of a page and record its faults; None if it cannot be opened."""
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
    lines = lay_out(sheet, aside=found.aside)
    figures = find_page_figures(
        page,
        words=Words() if found.turn else found.words,
        lines=[] if found.turn else lines,
        size=(height, width) if found.turn % 2 else (width, height),
    )
    return PageLines(lines, height, figures)


def is_garbled(text: str) -> bool:
    """Return whether too many characters of a text have no meaning."""
    return _count_garbled(text) > _MAX_GARBLED * len(text)


def _count_garbled(text: str) -> int:
    return sum(map(len, _GARBLED.findall(text)))


def _is_scan(page: pdfium.FPDF_PAGE, chars: int) -> bool:
    """Return whether a page with `chars` characters is a scan."""
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
            left, bottom, right, top = read_bounds(item)
            shown += (right - left) * (top - bottom)
    return shown >= _WHOLE_PAGE * float(whole)
