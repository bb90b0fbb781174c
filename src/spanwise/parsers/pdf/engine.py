"""Opening of a PDF, with repair of a damaged header, trailer or page type."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pypdfium2
import pypdfium2.raw as pdfium

from spanwise.parsers.parsed import Source

_HEADER = re.compile(rb"%PDF-\d")
_NEW_HEADER = b"%PDF-1.7\n"
_CATALOG = re.compile(rb"/Type\s*/Catalog\b")
_OBJECT = re.compile(rb"(\d{1,10})\s+(\d{1,5})\s+obj\b")
_ENCRYPTION = re.compile(rb"/Encrypt\s+\d+\s+\d+\s+R")
_FILE_ID = re.compile(rb"/ID\s*\[\s*<[^<>]*>\s*<[^<>]*>\s*\]")
_CATALOG_REACH = 100_000
_DICTIONARY = re.compile(rb"\bobj\s*<<(.{0,4000}?)\bendobj\b", re.DOTALL)
_PAGE = re.compile(rb"/Contents\b.*/Parent\b|/Parent\b.*/Contents\b", re.DOTALL)
_WRONG_TYPE = re.compile(rb"/Type\s*/(?!Page\b)\w+")


def salvage_candidates(data: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield repaired versions of a PDF that does not open, the least changed first.

    Each comes with whether it is the complete file from its header on, so that nothing is lost.

    A truncated file has lost the trailer with the position of its catalog. The catalog itself is
    often before the cut, and pdfium rebuilds a wrong cross-reference table. The encryption keys,
    if they are still present, go into the new trailer.
    """
    header = _HEADER.search(data)
    if header is None:
        data = _NEW_HEADER + data
        yield data, True
    elif header.start():
        data = data[header.start() :]
        yield data, True
    catalog = _find_catalog(data)
    if catalog is None:
        return
    keys = [catalog]
    encryption, file_id = _ENCRYPTION.search(data), _FILE_ID.search(data)
    if encryption and file_id:
        keys += [encryption.group(), file_id.group()]
    trailer = b"trailer\n<<" + b" ".join(keys) + b">>\nstartxref\n0\n%%EOF\n"
    yield data + b"\nendstream\nendobj\n" + trailer, False


def without_wrong_types(data: bytes) -> bytes | None:
    """Return a PDF without wrong types of its pages; None if all types are right.

    pdfium refuses a page of another type, but accepts one without a type. No object is moved.
    """

    def blank(found: re.Match[bytes]) -> bytes:
        return b" " * len(found.group())

    def mend(found: re.Match[bytes]) -> bytes:
        is_page = _PAGE.search(found[1]) is not None
        return _WRONG_TYPE.sub(blank, found.group(), count=1) if is_page else found.group()

    mended = _DICTIONARY.sub(mend, data)
    return mended if mended != data else None


def _find_catalog(data: bytes) -> bytes | None:
    """Return the trailer entry of the last catalog, or None."""
    marks = list(_CATALOG.finditer(data))
    for mark in reversed(marks):
        before = data[max(0, mark.start() - _CATALOG_REACH) : mark.start()]
        objects = list(_OBJECT.finditer(before))
        if objects:
            return b"/Root %b %b R" % objects[-1].groups()
    return None


def open_pdf(source: Source, warnings: list[str]) -> pypdfium2.PdfDocument:
    """Return an open PDF; an encrypted one is opened with an empty password.

    Args:
        source: The file.
        warnings: Receives a warning if parts are lost.

    Raises:
        ParseError: "encrypted" if a password is needed, "corrupt" if it cannot be repaired.
    """
    try:
        return _load(source.data)
    except pypdfium2.PdfiumError as refused:
        if refused.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise source.error(
                "encrypted", "it is encrypted and needs a password; save a copy without one"
            ) from refused
        for data, is_whole in salvage_candidates(source.data):
            try:
                document = _load(data)
            except pypdfium2.PdfiumError:
                continue
            if not is_whole:
                warnings.append("damaged or cut off; what could be saved of it was read")
            return document
        raise source.error(
            "corrupt", f"it is damaged beyond saving ({refused}); fetch or export it again"
        ) from refused


def reopen_pdf(data: bytes) -> pypdfium2.PdfDocument | None:
    """Return a repaired PDF, None if it does not open."""
    try:
        return _load(data)
    except pypdfium2.PdfiumError:
        return None


def _load(data: bytes) -> pypdfium2.PdfDocument:
    document = pypdfium2.PdfDocument(data)
    if not len(document):
        raise pypdfium2.PdfiumError("Failed to find any page.", pdfium.FPDF_ERR_PAGE)
    return document
