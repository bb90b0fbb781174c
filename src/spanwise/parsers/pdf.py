"""PDF: pages laid out as text in reading order, with headings and tables.

Rules
    1. pdfium reads the words and where they stand (`pdf_words`); `layout` makes text of them.
    2. A file that pdfium refuses is salvaged before it is given up (`pdf_salvage`).
    3. What a page does not give (damaged, scanned, a font without characters) is said in a warning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from spanwise.errors import ParseError
from spanwise.parsers.dates import iso_date
from spanwise.parsers.layout.compose import Composition, compose
from spanwise.parsers.layout.page import PageContent
from spanwise.parsers.layout.pages import lay_out
from spanwise.parsers.layout.rows import Line
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.pdf_outline import read_outline
from spanwise.parsers.pdf_rules import read_rules
from spanwise.parsers.pdf_salvage import salvage_candidates
from spanwise.parsers.pdf_words import FontTable, read_words
from spanwise.parsers.titles import read_author, read_title
from spanwise.types import Page, Scalar

__all__ = ["parse_pdf", "read_pdf"]

_FEW_CHARS = 20
"""A page with less text, and with pictures, is taken for a scan."""
_MAX_GARBLED = 0.05
_GARBLED = re.compile("[\ue000-\uf8ff\ufffd]")


def parse_pdf(source: Source) -> Parsed:
    """Return the text of all pages with its headings and tables; a page without text is empty.

    Raises:
        ParseError: "encrypted" where a password is needed to open it, "corrupt" where nothing can
            be saved, "too_large" with too many pages, "no_text" where no page holds text.
    """
    return read_pdf(source)[0]


def read_pdf(source: Source, *, with_outline: bool = True) -> tuple[Parsed, Composition]:
    """Return as `parse_pdf`, with what was taken out of the pages.

    Args:
        source: The file.
        with_outline: Whether the outline of the file, where it has one, ranks its headings.
    """
    warnings: list[str] = []
    document = _open(source, warnings)
    count = len(document)
    if count > source.max_pages:
        raise source.error(
            "too_large", f"it has {count} pages, more than {source.max_pages}; raise max_pages"
        )
    sheets, fonts, scans = _read_pages(document, count, warnings)
    composed = compose(
        [sheet.lines for sheet in sheets],
        heights=[sheet.height for sheet in sheets],
        fonts=fonts.fonts,
        outline=read_outline(document) if with_outline else (),
    )
    text = composed.text
    if not text:
        raise _no_text_error(source, count, scans, warnings)
    if scans:
        warnings.append(
            f"no text on {_pages(scans)} of {count}, only pictures; OCR would read them"
        )
    garbled = len(_GARBLED.findall(text))
    if garbled > _MAX_GARBLED * len(text):
        warnings.append(f"{garbled} of {len(text)} characters have no meaning in their font")
    properties = document.get_metadata_dict(skip_empty=True)
    parsed = Parsed(
        text=text,
        media_type="application/pdf",
        title=read_title(properties.get("Title", "")),
        pages=_place_pages(document, composed),
        headings=composed.headings,
        blocks=composed.blocks,
        metadata=_read_metadata(properties),
        warnings=tuple(warnings),
    )
    return parsed, composed


def _open(source: Source, warnings: list[str]) -> pypdfium2.PdfDocument:
    try:
        return _load(source.data)
    except pypdfium2.PdfiumError as refused:
        if refused.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise source.error(
                "encrypted", "it is encrypted and needs a password; save a copy without one"
            ) from refused
        for data in salvage_candidates(source.data):
            try:
                document = _load(data)
            except pypdfium2.PdfiumError:
                continue
            warnings.append("damaged or cut off; what could be saved of it was read")
            return document
        raise source.error(
            "corrupt", f"it is damaged beyond saving ({refused}); fetch or export it again"
        ) from refused


def _load(data: bytes) -> pypdfium2.PdfDocument:
    document = pypdfium2.PdfDocument(data)
    if not len(document):
        raise pypdfium2.PdfiumError("Failed to find any page.", pdfium.FPDF_ERR_PAGE)
    return document


def _read_pages(
    document: pypdfium2.PdfDocument, count: int, warnings: list[str]
) -> tuple[list[_PageLines], FontTable, list[int]]:
    """Return the lines of each page, and the numbers (1-based) of those that look scanned."""
    fonts = FontTable()
    pages = []
    scans = []
    failed = []
    for number in range(1, count + 1):
        page = pdfium.FPDF_LoadPage(document.raw, number - 1)
        content = pdfium.FPDFText_LoadPage(page) if page else None
        lines = _read_page(page, content, fonts) if content else _PageLines([], 1.0)
        if not content:
            failed.append(number)
        elif sum(len(line.text) for line in lines.lines) < _FEW_CHARS and _has_pictures(page):
            scans.append(number)
        pages.append(lines)
        if content:
            pdfium.FPDFText_ClosePage(content)
        if page:
            pdfium.FPDF_ClosePage(page)
    if failed:
        warnings.append(f"{_pages(failed)} of {count} cannot be read")
    return pages, fonts, scans


@dataclass(frozen=True, slots=True)
class _PageLines:
    lines: list[Line]
    height: float


def _read_page(
    page: pdfium.FPDF_PAGE, content: pdfium.FPDF_TEXTPAGE, fonts: FontTable
) -> _PageLines:
    width, height = pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)
    if pdfium.FPDFPage_GetRotation(page) % 2:
        width, height = height, width
    found = read_words(content, size=(width, height), fonts=fonts)
    if found.turn % 2:
        width, height = height, width
    rules = [] if found.turn else read_rules(page)
    sheet = PageContent(width=width, height=height, words=found.words, rules=rules)
    return _PageLines(lay_out(sheet, aside=found.aside), height)


def _has_pictures(page: pdfium.FPDF_PAGE) -> bool:
    kinds = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)
    return any(
        pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page, place)) in kinds
        for place in range(min(pdfium.FPDFPage_CountObjects(page), 1000))
    )


def _no_text_error(
    source: Source, count: int, scans: Sequence[int], warnings: Sequence[str]
) -> ParseError:
    if warnings and not scans:
        return source.error("corrupt", f"none of its {count} pages holds text; {warnings[-1]}")
    cause = "it is a scan; run OCR on it first" if scans else "its pages are blank or drawings"
    return source.error("no_text", f"none of its {count} pages holds text: {cause}")


def _place_pages(document: pypdfium2.PdfDocument, composed: Composition) -> tuple[Page, ...]:
    """Return the pages, covering the text, with their labels: the file's own, else the printed."""
    pages = []
    end = len(composed.text)
    for number in reversed(range(len(composed.starts))):
        found = composed.starts[number]
        start = end if found is None else found
        label = document.get_page_label(number)
        if not label or label == str(number + 1):
            label = composed.labels[number]
        pages.append(Page(start=start, end=end, label=label if label != str(number + 1) else None))
        end = start
    return tuple(reversed(pages))


def _pages(numbers: Sequence[int]) -> str:
    """Return "page 3" or "pages 3-5, 9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    places = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {places}"


def _read_metadata(properties: dict[str, str]) -> dict[str, Scalar]:
    metadata: dict[str, Scalar] = {}
    author = read_author(properties.get("Author", ""))
    if author:
        metadata["author"] = author
    day = iso_date(properties.get("CreationDate", "")) or iso_date(properties.get("ModDate", ""))
    if day:
        metadata["date"] = day
    return metadata
