"""PDF: plain text page by page, at the speed of pdfium.

Rules
    1. One call a page fetches all of its characters, in the order of the content; the layout of
       rows and columns is not looked at here.
    2. A file that pdfium refuses is salvaged before it is given up (`pdf_salvage`).
    3. What a page does not give (damaged, scanned, a font without characters) is said in a warning.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence, Set
from itertools import pairwise

import pypdfium2
import pypdfium2.raw as pdfium

from spanwise.errors import ParseError
from spanwise.parsers.dates import iso_date
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.pdf_outline import locate_headings, read_outline
from spanwise.parsers.pdf_salvage import salvage_candidates
from spanwise.parsers.titles import read_author, read_title
from spanwise.types import Page, Scalar

__all__ = ["parse_pdf"]

_FEW_CHARS = 20
"""A page with less text, and with pictures, is taken for a scan."""
_MAX_GARBLED = 0.05
_GARBLED = re.compile("[\ue000-\uf8ff\ufffd]")
_HYPHEN = re.compile("[\ufffe\x02]\n?")
_WORD = re.compile(r"\w+")
_TAIL = re.compile(r"\w+\Z")
_MAX_WORD_CHARS = 40


def parse_pdf(source: Source) -> Parsed:
    """Return the text of all pages, with the outline's headings where their text is found.

    Every page but the last ends with a line end of ours; a page without text is empty.

    Raises:
        ParseError: "encrypted" where a password is needed to open it, "corrupt" where nothing can
            be saved, "too_large" with too many pages, "no_text" where no page holds text.
    """
    warnings: list[str] = []
    document = _open(source, warnings)
    count = len(document)
    if count > source.max_pages:
        raise source.error(
            "too_large", f"it has {count} pages, more than {source.max_pages}; raise max_pages"
        )
    texts, scans = _read_pages(document, count, warnings)
    texts = _join_hyphens(texts)
    if not any(texts):
        raise _no_text_error(source, count, scans, warnings)
    if scans:
        warnings.append(
            f"no text on {_pages(scans)} of {count}, only pictures; OCR would read them"
        )
    pages, text = _place_pages(document, texts)
    garbled = len(_GARBLED.findall(text))
    if garbled > _MAX_GARBLED * len(text):
        warnings.append(f"{garbled} of {len(text)} characters have no meaning in their font")
    properties = document.get_metadata_dict(skip_empty=True)
    return Parsed(
        text=text,
        media_type="application/pdf",
        title=read_title(properties.get("Title", "")),
        pages=pages,
        headings=locate_headings(read_outline(document), text=text, pages=pages),
        metadata=_read_metadata(properties),
        warnings=tuple(warnings),
    )


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
) -> tuple[list[str], list[int]]:
    """Return the text of each page, and the numbers (1-based) of those that look scanned."""
    texts = []
    scans = []
    failed = []
    for number in range(1, count + 1):
        page = pdfium.FPDF_LoadPage(document.raw, number - 1)
        content = pdfium.FPDFText_LoadPage(page) if page else None
        text = _read_text(content) if content else ""
        if not content:
            failed.append(number)
        elif len(text) < _FEW_CHARS and _has_pictures(page):
            scans.append(number)
        texts.append(text)
        if content:
            pdfium.FPDFText_ClosePage(content)
        if page:
            pdfium.FPDF_ClosePage(page)
    if failed:
        warnings.append(f"{_pages(failed)} of {count} cannot be read")
    return texts, scans


def _read_text(content: pdfium.FPDF_TEXTPAGE) -> str:
    count = pdfium.FPDFText_CountChars(content)
    if count <= 0:
        return ""
    size = 2 * count + 2  # a character outside the basic plane takes two places
    buffer = (ctypes.c_ushort * size)()
    written = pdfium.FPDFText_GetText(content, 0, count, buffer)
    units = bytes(memoryview(buffer).cast("B")[: 2 * max(0, written - 1)])
    text = units.decode("utf-16-le", "replace").replace("\x00", "")
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _has_pictures(page: pdfium.FPDF_PAGE) -> bool:
    kinds = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)
    return any(
        pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page, place)) in kinds
        for place in range(min(pdfium.FPDFPage_CountObjects(page), 1000))
    )


def _join_hyphens(texts: Sequence[str]) -> list[str]:
    """Return the pages with words joined that a hyphen at a line end parts.

    pdfium puts a mark in the place of such a hyphen. Whether the hyphen belongs to the word is
    what the rest of the document tells: "forward-looking" or "recurring" stands elsewhere too.
    """
    if not any("\ufffe" in text or "\x02" in text for text in texts):
        return list(texts)
    words = {word.strip("\"'.,;:()") for text in texts for word in text.lower().split()}
    return [_join_parts(_HYPHEN.split(text), words) for text in texts]


def _join_parts(parts: Sequence[str], words: Set[str]) -> str:
    pieces = [parts[0]]
    for before, after in pairwise(parts):
        left = _TAIL.search(before[-_MAX_WORD_CHARS:])
        right = _WORD.match(after)
        if left and right and _keeps_hyphen(left.group(), right.group(), words):
            pieces.append("-")
        pieces.append(after)
    return "".join(pieces)


def _keeps_hyphen(left: str, right: str, words: Set[str]) -> bool:
    """Return whether two parts of a word are written with a hyphen elsewhere, or seem to be."""
    begin, end = left.lower(), right.lower()
    if begin + end in words:
        return False
    compound = f"{begin}-{end}" in words or (begin in words and end in words)
    return compound or right[0].isdigit() or right[0].isupper()


def _no_text_error(
    source: Source, count: int, scans: Sequence[int], warnings: Sequence[str]
) -> ParseError:
    if warnings and not scans:
        return source.error("corrupt", f"none of its {count} pages holds text; {warnings[-1]}")
    cause = "it is a scan; run OCR on it first" if scans else "its pages are blank or drawings"
    return source.error("no_text", f"none of its {count} pages holds text: {cause}")


def _place_pages(
    document: pypdfium2.PdfDocument, texts: Sequence[str]
) -> tuple[tuple[Page, ...], str]:
    """Return the pages, covering the text, and the text."""
    last = max(number for number, text in enumerate(texts) if text)
    pieces = [f"{text}\n" if text and n < last else text for n, text in enumerate(texts)]
    pages = []
    start = 0
    for number, piece in enumerate(pieces):
        label = document.get_page_label(number)
        end = start + len(piece)
        printed = label if label and label != str(number + 1) else None
        pages.append(Page(start=start, end=end, label=printed))
        start = end
    return tuple(pages), "".join(pieces)


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
