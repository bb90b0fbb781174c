"""What a damaged PDF may be mended to: without junk before it, or with a trailer of our own."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["salvage_candidates"]

_HEADER = re.compile(rb"%PDF-")
_CATALOG = re.compile(rb"/Type\s*/Catalog\b")
_OBJECT = re.compile(rb"(\d{1,10})\s+(\d{1,5})\s+obj\b")
_ENCRYPTION = re.compile(rb"/Encrypt\s+\d+\s+\d+\s+R")
_FILE_ID = re.compile(rb"/ID\s*\[\s*<[^<>]*>\s*<[^<>]*>\s*\]")
_CATALOG_REACH = 100_000


def salvage_candidates(data: bytes) -> Iterator[bytes]:
    """Yield what may open in place of a PDF that does not, the least changed first.

    A file that was cut off has lost the trailer that says where its catalog is; the catalog itself
    often stands before the cut, and a reader that meets a wrong cross-reference table rebuilds it.
    The keys to an encrypted file, where they are still there, go into the new trailer.
    """
    header = _HEADER.search(data)
    if header and header.start():
        data = data[header.start() :]
        yield data
    catalog = _find_catalog(data)
    if catalog is None:
        return
    keys = [catalog]
    encryption, file_id = _ENCRYPTION.search(data), _FILE_ID.search(data)
    if encryption and file_id:
        keys += [encryption.group(), file_id.group()]
    trailer = b"trailer\n<<" + b" ".join(keys) + b">>\nstartxref\n0\n%%EOF\n"
    yield data + b"\nendstream\nendobj\n" + trailer


def _find_catalog(data: bytes) -> bytes | None:
    """Return the trailer's key that names the last catalog, or None."""
    marks = list(_CATALOG.finditer(data))
    for mark in reversed(marks):
        before = data[max(0, mark.start() - _CATALOG_REACH) : mark.start()]
        objects = list(_OBJECT.finditer(before))
        if objects:
            return b"/Root %b %b R" % objects[-1].groups()
    return None
