"""PDF: text of the pages in reading order, with headings, tables and bookmarks.

Rules
    1. pdfium reads the words and their positions (`words`); `layout` turns them into text.
    2. A file that pdfium refuses is repaired if possible (`engine`).
    3. Pages that cannot be read (damaged, scanned, a font without characters) cause a warning and
       a partial status. Scans are read by OCR if there is an engine, or left to a caller that
       asks for them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from itertools import islice

import pypdfium2

from spanwise.core.documents.page_markdown import name_pages
from spanwise.errors import ParseError
from spanwise.parsers.figure_places import MAX_FIGURES, figure_place
from spanwise.parsers.parsed import PagesToRead, Parsed, Source
from spanwise.parsers.pdf.figures import without_decoration
from spanwise.parsers.pdf.file_texts import bookmark_title, page_label, read_properties
from spanwise.parsers.pdf.layout.compose import Composition, compose
from spanwise.parsers.pdf.layout.headings import OutlineEntry
from spanwise.parsers.pdf.ocr import ocr_advice, open_engine
from spanwise.parsers.pdf.pages import PagesRead, is_garbled, read_pages
from spanwise.parsers.pdf.repair import find_damage, open_pdf, reopen_pdf, without_wrong_types
from spanwise.parsers.properties import first_date, known_fields, read_author, read_title
from spanwise.types import DocumentStatus, Figure, Page, Scalar

_MAX_ENTRIES = 20_000
_ANCHOR_WORDS = 8
"""Number of words by which the line before a figure is found in the text."""


def read_outline(document: pypdfium2.PdfDocument) -> list[OutlineEntry]:
    """Return the bookmarks that point to a page, in their order."""
    entries = []
    for bookmark in islice(document.get_toc(), _MAX_ENTRIES):
        title = " ".join(bookmark_title(bookmark).split())
        target = bookmark.get_dest()
        page = target.get_index() if target is not None else None
        if title and page is not None and page >= 0:
            entries.append(OutlineEntry(title, bookmark.level + 1, page))
    return entries


def parse_pdf(source: Source) -> Parsed:
    """Return the text of all pages with headings and tables; a page without text is empty.

    Raises:
        ParseError: "encrypted" if a password is needed, "corrupt" if it cannot be repaired,
            "too_large" with too many pages, "needs_ocr" if its pages are scans and there is no
            engine or caller that reads them, "no_text" if no page has text.
    """
    return read_pdf(source)[0]


def read_pdf(source: Source, *, with_outline: bool = True) -> tuple[Parsed, Composition]:
    """Return the result of `parse_pdf` with its composition, which has the removed lines too.

    Args:
        source: The file.
        with_outline: Whether the bookmarks of the file rank its headings.
    """
    started = time.monotonic()
    warnings: list[str] = []
    notes: list[str] = []
    document = open_pdf(source, warnings)
    read = _read_all(document, source)
    if not warnings:
        document, read = _read_damaged(document, read, source, warnings)
    to_read = read.to_read() if source.leaves_pictures else PagesToRead()
    unread = () if to_read.numbers else _read_scans(document, read, source, notes, started=started)
    composed = compose(
        [page.lines for page in read.pages],
        heights=[page.height for page in read.pages],
        fonts=read.fonts.fonts,
        outline=read_outline(document) if with_outline else (),
    )
    text = composed.text
    status = _status_of(source, read, unread, text, warnings)
    has_figures = source.leaves_figures and any(page.figures for page in read.pages)
    if not text and not to_read.numbers and not has_figures:
        damage = warnings[0] if warnings else ""
        raise _no_text_error(source, read, unread, damage=damage, ocr="; ".join(notes))
    properties = read_properties(document)
    pages = _place_pages(document, composed)
    parsed = Parsed(
        text=text,
        media_type="application/pdf",
        title=read_title(properties["Title"]),
        pages=pages,
        headings=composed.headings,
        blocks=composed.blocks,
        figures=_place_figures(read, composed, pages),
        metadata=_read_metadata(properties),
        status=status,
        warnings=(*warnings, *notes),
        to_read=to_read,
    )
    return parsed, composed


def _read_all(document: pypdfium2.PdfDocument, source: Source) -> PagesRead:
    """Return the pages of a document, if they are within the limit."""
    count = len(document)
    if count > source.max_pages:
        raise source.error(
            "too_large", f"it has {count} pages, more than {source.max_pages}; raise max_pages"
        )
    return read_pages(document.raw, count, source)


def _read_damaged(
    document: pypdfium2.PdfDocument, read: PagesRead, source: Source, warnings: list[str]
) -> tuple[pypdfium2.PdfDocument, PagesRead]:
    """Return a document and its pages, repaired if that yields more text.

    Args:
        document: The open document.
        read: Its pages.
        source: Its file.
        warnings: Receives a warning about damaged streams.
    """
    mended = None
    damage = find_damage(document, source.data)
    if damage is not None:
        warnings.append(
            f"{damage.streams} of its {damage.of} compressed parts are damaged; text may be "
            "missing or wrong"
        )
        mended = damage.without_fonts
    if read.failed:
        mended = without_wrong_types(mended or source.data) or mended
    reopened = reopen_pdf(mended) if mended else None
    if reopened is None:
        return document, read
    again = _read_all(reopened, source)
    return (reopened, again) if again.count_chars() > read.count_chars() else (document, read)


def _read_scans(
    document: pypdfium2.PdfDocument,
    read: PagesRead,
    source: Source,
    warnings: list[str],
    *,
    started: float,
) -> Sequence[int]:
    """Read scanned pages if there is an engine, and return the pages that still need OCR."""
    numbers = sorted(read.scans + read.garbled)
    engine = open_engine(source.ocr) if numbers else None
    if engine is None:
        return numbers
    from spanwise.parsers.pdf.ocr_pages import read_by_ocr

    done = read_by_ocr(
        document, read, numbers=numbers, engine=engine, source=source, started=started
    )
    if done.found:
        warnings.append(
            f"{name_pages(done.found)} of {len(read.pages)} read by OCR ({engine.name})"
        )
    if done.left:
        warnings.append(f"{name_pages(done.left)} not read by OCR{done.cause}")
    return done.left


def _status_of(
    source: Source, read: PagesRead, unread: Sequence[int], text: str, warnings: list[str]
) -> DocumentStatus:
    """Return the status of the document, and add warnings about missing text.

    Args:
        source: The file.
        read: Its pages.
        unread: Pages that need OCR.
        text: Text of the document.
        warnings: Warnings about repairs and damage; further ones are added.
    """
    count = len(read.pages)
    is_partial = bool(warnings or read.failed or read.skipped)
    if read.failed:
        warnings.append(f"{name_pages(read.failed)} of {count} cannot be read")
    if read.skipped:
        warnings.append(
            f"{name_pages(read.skipped)} of {count} left out: the parser failed on them"
        )
    scans = sorted(set(unread) & set(read.scans))
    if scans:
        advice = ocr_advice(source.ocr)
        warnings.append(f"no text on {name_pages(scans)} of {count}, only images; {advice}")
    if is_garbled(text) and not (source.leaves_pictures and read.garbled):
        warnings.append("more than 5 % of its characters have no meaning in their font")
        is_partial = True
    if is_partial:
        return "partial"
    return "needs_ocr" if scans else "ok"


def _no_text_error(
    source: Source, read: PagesRead, unread: Sequence[int], *, damage: str, ocr: str
) -> ParseError:
    """Return the error for a document without text.

    Args:
        source: The file.
        read: Its pages.
        unread: Pages that need OCR.
        damage: Warning about damage; empty for none.
        ocr: Notes about OCR; empty for none.
    """
    count = len(read.pages)
    if unread:
        cause = f" ({ocr})" * bool(ocr)
        return source.error(
            "needs_ocr",
            f"none of its {count} pages has text, only images of text{cause}; "
            f"{ocr_advice(source.ocr)}",
        )
    if damage:
        found = damage.partition(";")[0]
        return source.error(
            "corrupt", f"none of its {count} pages has text ({found}); fetch or export it again"
        )
    return source.error(
        "no_text", f"none of its {count} pages has text: they are blank, drawings or photographs"
    )


def _place_pages(document: pypdfium2.PdfDocument, composed: Composition) -> tuple[Page, ...]:
    """Return the pages, which cover the text, with the labels of the file or the printed ones."""
    pages = []
    end = len(composed.text)
    for number in reversed(range(len(composed.starts))):
        found = composed.starts[number]
        start = end if found is None else found
        own = page_label(document, number)
        label = own if own and own != str(number + 1) else composed.labels[number]
        pages.append(Page(start=start, end=end, label=label if label != str(number + 1) else None))
        end = start
    return tuple(reversed(pages))


def _place_figures(
    read: PagesRead, composed: Composition, pages: Sequence[Page]
) -> tuple[Figure, ...]:
    """Return the figures of all pages in order, except scans, which are read as text."""
    text = composed.text
    figures = []
    found = without_decoration(
        [
            () if number in read.scans else page.figures
            for number, page in enumerate(read.pages, start=1)
        ]
    )
    for number, (page, on_page) in enumerate(zip(pages, found, strict=True), start=1):
        last = page.start
        for figure in on_page:
            place = figure_place(
                text,
                _end_of(figure.anchor, text, page),
                first=page.start,
                headings=composed.headings,
                blocks=composed.blocks,
            )
            last = max(last, min(place, page.end))
            figures.append(
                Figure(
                    start=last,
                    end=last,
                    kind=figure.kind,
                    caption=figure.caption,
                    page=number,
                    box=figure.sides,
                )
            )
    return tuple(figures[:MAX_FIGURES])


def _end_of(line: str, text: str, page: Page) -> int:
    """Return the start of the line of the text after a line of the page; else its first offset."""
    pattern = r"\s+".join(map(re.escape, line.split()[-_ANCHOR_WORDS:]))
    match = re.compile(pattern).search(text, page.start, page.end) if pattern else None
    if match is None:
        return page.start
    end = text.find("\n", match.end(), page.end)
    return page.end if end < 0 else end + len(text[end:]) - len(text[end:].lstrip("\n"))


def _read_metadata(properties: dict[str, str]) -> dict[str, Scalar]:
    dates = (properties[name] for name in ("CreationDate", "ModDate"))
    author = read_author(properties["Author"])
    return known_fields(author=author, file_date=first_date(dates))
