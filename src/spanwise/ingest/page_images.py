"""Images of the pages of a document, rendered from its original file or URL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import FetchError, OptionError, ParseError
from spanwise.parsers.process.isolation import ParserPool

if TYPE_CHECKING:
    from spanwise.options import FetchOptions, ParseOptions
    from spanwise.types import DocumentRecord


_DOTS_PER_INCH = (10, 600)
_PDF = "application/pdf"


def draw_pages(
    record: DocumentRecord,
    pages: Sequence[int],
    *,
    dots_per_inch: int,
    parse: ParseOptions,
    fetch: FetchOptions,
) -> tuple[bytes, ...]:
    """Return pages as PNG files.

    Args:
        record: Record of the document.
        pages: Page numbers, counted from 1.
        dots_per_inch: Resolution in dots per inch, from 10 to 600.
        parse: Limits of the process that renders the pages.
        fetch: Limits of the download of a URL.

    Raises:
        OptionError: If the document has no such page, or the resolution is out of range.
        ParseError: With the code "unsupported" if the document is not a PDF, or with the code of
            the parser if the file cannot be read.
        FetchError: If the original file or URL is missing, or has changed since it was added.
    """
    low, high = _DOTS_PER_INCH
    if not low <= dots_per_inch <= high:
        raise OptionError(f"dots_per_inch is {dots_per_inch!r}; it must be from {low} to {high}")
    if record.media_type != _PDF:
        raise ParseError(
            f"{record.id}: it is {record.media_type}, and only pages of PDFs can be drawn",
            source=record.id,
            code="unsupported",
        )
    for page in pages:
        if not 1 <= page <= record.pages:
            raise OptionError(f"page is {page!r}; {record.id} has pages 1 to {record.pages}")
    origin = _origin(record, fetch)
    drawn = []
    with ParserPool(options=parse) as pool:
        for page in pages:
            png, content_hash = pool.draw_page(
                origin, page=page, dots_per_inch=dots_per_inch, source=record.source
            )
            if content_hash != record.content_hash:
                raise FetchError(
                    f"{record.source}: it has changed since it was added; add it again, then draw "
                    "the page",
                    source=record.source,
                    code="unreadable",
                )
            drawn.append(png)
    return tuple(drawn)


def _origin(record: DocumentRecord, options: FetchOptions) -> Path | bytes:
    """Return the original file of a document, or the downloaded bytes of its URL."""
    from spanwise.ingest.sources import MEMBER_MARK, is_url

    is_member = MEMBER_MARK in record.id
    if is_url(record.source_root) and not is_member:
        from spanwise.ingest.fetch import Fetcher

        return Fetcher(options).fetch(record.source).data
    root = Path(record.source_root)
    path = root / record.id if root.is_dir() else root
    if is_member or not record.source_root or not path.is_file():
        raise FetchError(
            f"{record.id}: the file it came from ({record.source or 'none'}) is not there as a "
            "file of its own, so its pages cannot be drawn",
            source=record.id,
            code="unreadable",
        )
    return path
