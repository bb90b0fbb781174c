"""Pages of a document as pictures, drawn from the file or URL that it came from."""

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
        record: The document.
        pages: Their numbers, 1-based.
        dots_per_inch: How finely they are drawn, from 10 to 600.
        parse: Limits for the process that draws them.
        fetch: Limits for fetching the URL that it came from.

    Raises:
        OptionError: If the document has no such page, or the fineness is out of range.
        ParseError: "unsupported" where it is no PDF; else as of parsing.
        FetchError: If what it came from is gone, or has changed since.
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
    """Return the file that a document came from, or the bytes of its URL."""
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
