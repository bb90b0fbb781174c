"""Images of the pages of a document, rendered from its original file or URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from spanwise.errors import FetchError, OptionError, ParseError, shown
from spanwise.ingest.sources import MEMBER_MARK, file_hash, is_url
from spanwise.options.checks import check_whole
from spanwise.parsers.process.isolation import ParserPool

if TYPE_CHECKING:
    from spanwise.options import FetchOptions, ParseOptions
    from spanwise.types import Document, DocumentRecord, Figure

    Part = tuple[int, int]
    StoredFile = Callable[[DocumentRecord], bytes | None]

_DOTS_PER_INCH = (10, 600)
_PDF = "application/pdf"


def draw_pages(  # noqa: PLR0913 - options are keywords
    record: DocumentRecord,
    pages: Sequence[int],
    *,
    dots_per_inch: int,
    parse: ParseOptions,
    fetch: FetchOptions,
    document: Document | None = None,
    highlight: tuple[int, int] = (0, 0),
    for_model: bool = False,
    stored: StoredFile | None = None,
) -> tuple[bytes, ...]:
    """Return pages as PNG files.

    Args:
        record: Record of the document.
        pages: Page numbers, counted from 1.
        dots_per_inch: Resolution in dots per inch, from 10 to 600.
        parse: Limits of the process that renders the pages.
        fetch: Limits of the download of a URL.
        document: Document with the text to highlight; None to highlight nothing.
        highlight: Range of its characters to highlight.
        for_model: Whether the images are grey and of limited size, for a model that charges by
            size.
        stored: Function that returns the original file from the store, or None if the store does
            not have it; None for a store without files.

    Raises:
        OptionError: If the document has no such page, or the resolution is out of range.
        ParseError: With the code "unsupported" if the document is not a PDF, or with the code of
            the parser if the file cannot be read.
        FetchError: If the original file or URL is missing, or has changed since it was added.
    """
    check_whole("dots_per_inch", dots_per_inch, *_DOTS_PER_INCH)
    if record.media_type != _PDF:
        raise ParseError(
            f"{record.id}: it is {record.media_type}, and only pages of PDFs can be drawn",
            source=record.id,
            code="unsupported",
        )
    for page in pages:
        check_page(record, page)
    origin = _origin(record, fetch, stored)
    drawn = []
    with ParserPool(options=parse) as pool:
        for page in pages:
            png, content_hash = pool.draw_page(
                origin,
                page=page,
                dots_per_inch=dots_per_inch,
                source=record.source,
                for_model=for_model,
                highlight=_page_range(document, page, highlight),
            )
            _check_unchanged(record, content_hash)
            drawn.append(png)
    return tuple(drawn)


def draw_figure(
    record: DocumentRecord,
    figures: Sequence[Figure],
    number: int,
    *,
    parse: ParseOptions,
    fetch: FetchOptions,
    stored: StoredFile | None = None,
) -> bytes:
    """Return a figure as an image file.

    Args:
        record: Record of the document.
        figures: Its figures.
        number: Position of the figure, from 0.
        parse: Limits of the process that reads the file.
        fetch: Limits of the download of a URL.
        stored: See `draw_pages`.

    Raises:
        OptionError: If there is no such figure.
        ParseError: If the picture is not a PNG, JPEG, GIF or WebP image, or the file cannot be
            read.
        FetchError: If the original file or URL is missing, or has changed since it was added.
    """
    check_figure(record, figures, number)
    origin = _origin(record, fetch, stored)
    with ParserPool(options=parse) as pool:
        image, content_hash = pool.draw_figure(origin, figures[number], source=record.source)
    _check_unchanged(record, content_hash)
    return image


def check_page(record: DocumentRecord, page: int) -> None:
    """Check that a PDF has a page.

    Raises:
        OptionError: If it has no page with this number.
    """
    if record.media_type == _PDF and not _is_whole(page, 1, record.pages):
        raise OptionError(f"page is {shown(page)}; {record.id} has pages 1 to {record.pages}")


def check_figure(record: DocumentRecord, figures: Sequence[Figure], number: int) -> None:
    """Check that a document has a figure.

    Raises:
        OptionError: If it has none at this position.
    """
    if not _is_whole(number, 0, len(figures) - 1):
        raise OptionError(
            f"number is {shown(number)}, and {record.id} has {len(figures)} figures, counted from "
            "0; `figures` lists them"
        )


def _is_whole(number: object, low: int, high: int) -> bool:
    """Return whether a value is a whole number in a range; both ends are included."""
    return isinstance(number, int) and low <= number <= high


def _check_unchanged(record: DocumentRecord, content_hash: str) -> None:
    if content_hash != record.content_hash:
        raise FetchError(
            f"{record.source}: it has changed since it was added; add it again, then draw the page",
            source=record.source,
            code="unreadable",
        )


def _page_range(
    document: Document | None, number: int, highlight: tuple[int, int]
) -> dict[str, str | int] | None:
    """Return the part of a range that is on a page, with the text of the page; None if none is."""
    if document is None or number > len(document.pages):
        return None
    page = document.pages[number - 1]
    start, end = max(highlight[0], page.start), min(highlight[1], page.end)
    if start >= end:
        return None
    return {
        "text": document.text[page.start : page.end],
        "start": start - page.start,
        "end": end - page.start,
    }


def highlighted_range(document: Document, page: int, highlight: tuple[int, int] | str) -> Part:
    """Return the range of characters to highlight on a page.

    Args:
        document: The document.
        page: Number of the page, from 1.
        highlight: Range of characters, or words of the page; white space and case are ignored.

    Raises:
        OptionError: If it is neither a text nor a pair of whole numbers, or the range or the words
            are not on the page.
    """
    _check_highlight(highlight)
    if not _is_whole(page, 1, len(document.pages)):
        return (0, 0)  # `draw_pages` raises the error
    place = document.pages[page - 1]
    if isinstance(highlight, str):
        words = r"\s+".join(map(re.escape, highlight.split()))
        match = re.compile(words, re.IGNORECASE).search(document.text, place.start, place.end)
        if match is None or not words:
            raise OptionError(f"{highlight!r} is not on page {page} of {document.id!r}")
        return match.span()
    start, end = highlight
    if not (place.start < end and start < place.end and start < end):
        raise OptionError(
            f"the range {start}-{end} is not on page {page} of {document.id!r}, which has the "
            f"characters {place.start}-{place.end}"
        )
    return start, end


def _check_highlight(highlight: object) -> None:
    if isinstance(highlight, str):
        return
    ends = highlight if isinstance(highlight, tuple | list) else ()
    if len(ends) != 2 or not all(type(end) is int for end in ends):
        raise OptionError(
            f"highlight is {shown(highlight)}; give the first character and the end of a range, "
            "such as (1200, 1450), or words of the page"
        )


def _origin(
    record: DocumentRecord, options: FetchOptions, stored: StoredFile | None
) -> Path | bytes:
    """Return the original file of a document, or the bytes from the store or of its URL."""
    is_member = MEMBER_MARK in record.id
    kept = None if stored is None or is_member else stored(record)
    if kept is not None:
        return kept
    if is_url(record.source_root) and not is_member:
        from spanwise.ingest.fetch import Fetcher

        return Fetcher(options).fetch(record.source).data
    path = _path(record)
    if is_member or not record.source_root or not path.is_file():
        raise FetchError(
            f"{record.id}: the file it came from ({record.source or 'none'}) is not there as a "
            "file of its own, so its pages cannot be drawn",
            source=record.id,
            code="unreadable",
        )
    return path


def _path(record: DocumentRecord) -> Path:
    """Return the path of the original file, whose id may begin with the prefix of its folder.

    The prefix is not stored. If several files fit the id, the one with the recorded content is
    returned.
    """
    root = Path(record.source_root)
    if not root.is_dir():
        return root
    parts = PurePosixPath(record.id).parts
    paths = [root.joinpath(*parts[start:]) for start in range(len(parts))]
    files = [path for path in paths if path.is_file()]
    unchanged = (path for path in files if file_hash(path) == record.content_hash)
    return next(iter(files), root) if len(files) < 2 else next(unchanged, files[0])
