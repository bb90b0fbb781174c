"""The outline (bookmarks) of a PDF."""

from __future__ import annotations

from itertools import islice

import pypdfium2

from spanwise.parsers.pdf.layout.outline import OutlineEntry

__all__ = ["read_outline"]

_MAX_ENTRIES = 20_000


def read_outline(document: pypdfium2.PdfDocument) -> list[OutlineEntry]:
    """Return the bookmarks that point to a page, in order of the outline."""
    entries = []
    for bookmark in islice(document.get_toc(), _MAX_ENTRIES):
        title = " ".join(bookmark.get_title().split())
        target = bookmark.get_dest()
        page = target.get_index() if target is not None else None
        if title and page is not None and page >= 0:
            entries.append(OutlineEntry(title, bookmark.level + 1, page))
    return entries
