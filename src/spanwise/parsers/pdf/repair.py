"""Opening of a PDF, with repair of a damaged header, trailer, page type or font.

Rules
    1. pdfium reads damaged streams without a warning: after a few flipped bytes a file may open
       with all its pages and 4 % of its text. Streams that do not decompress, or fail their
       checksum, are found here, except images.
    2. pdfium reads no text in a damaged font, although another table of the file may map its
       characters. If the font is removed, pdfium may use that table. No object is moved.
    3. Of other streams pdfium keeps the data before the damage: nothing can be repaired.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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

    The flag is True if the version has the complete file from its header on, without any loss.

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
                warnings.append("damaged or truncated; the readable parts were read")
            return document
        raise source.error(
            "corrupt", f"it is damaged and cannot be repaired ({refused}); fetch or export it again"
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


_STREAM = re.compile(rb"stream\r?\n")
"""Keyword before the data of a stream. A leading word boundary would be many times slower."""
_FLATE = re.compile(rb"/F(?:ilter)?\s*\[?\s*/(?:FlateDecode|Fl)\b")
"""Filter of a stream whose outermost compression is Flate, which this module can decompress."""
_PICTURE = re.compile(rb"/Subtype\s*/Image\b")
_FONT = re.compile(rb"/Length1\b|/Subtype\s*/(?:Type1C|CIDFontType0C|OpenType)\b")
_ENCRYPTED = re.compile(rb"/Encrypt\b")
_UNENCRYPTED = re.compile(rb"/Type\s*/(?:XRef|Metadata)\b")
_HEAD_BYTES = 1_500
_PIECE_BYTES = 1 << 16
_UNPACKED_PIECE_BYTES = 1 << 22
_MAX_UNPACKED_BYTES = 20_000_000
"""Limit for one stream; the content of a page is smaller."""
_MAX_ALL_BYTES = 1_000_000_000
"""Limit for all streams; streams after it are not checked."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Damage of a file."""

    streams: int
    """Number of damaged compressed streams."""
    of: int
    """Number of compressed streams that may contain text."""
    without_fonts: bytes | None
    """File without its damaged fonts; None if no font is damaged."""


def find_damage(document: pypdfium2.PdfDocument, data: bytes) -> Damage | None:
    """Return the damage of a PDF, None if there is none.

    Args:
        document: The open document; an encrypted one is checked in a decrypted copy.
        data: Bytes of the file.
    """
    is_copy = _ENCRYPTED.search(data) is not None
    if is_copy:
        copy = io.BytesIO()
        document.save(copy, flags=pdfium.FPDF_REMOVE_SECURITY)
        data = copy.getvalue()
    count = unpacked = 0
    damaged = []
    for part in _compressed_parts(data, skips_unencrypted=is_copy):
        size = _unpacked_size(data, part.end)
        count += 1
        unpacked += size or 0
        if size is None:
            damaged.append(part)
        if unpacked > _MAX_ALL_BYTES:
            break
    if not damaged:
        return None
    fonts = [part for part in damaged if part.is_font]
    return Damage(len(damaged), count, _without(data, fonts) if fonts else None)


@dataclass(frozen=True, slots=True)
class _Part:
    """Offsets of a compressed stream."""

    start: int
    """Start offset of its dictionary."""
    end: int
    """Start offset of the compressed data, after the keyword "stream"."""
    is_font: bool


def _compressed_parts(data: bytes, *, skips_unencrypted: bool) -> Iterator[_Part]:
    """Yield the compressed streams, except images.

    Args:
        data: Bytes of the file.
        skips_unencrypted: Whether streams that are never encrypted, and have no text, are skipped.
            pdfium decrypts them too when it makes a decrypted copy, so they are invalid there.
    """
    for mark in _STREAM.finditer(data):
        if data.endswith(b"end", 0, mark.start()):
            continue
        start = max(0, mark.start() - _HEAD_BYTES)
        number = data.rfind(b" obj", start, mark.start())
        has_start = number >= 0
        start = number + len(b" obj") if has_start else start
        head = data[start : mark.start()]
        if skips_unencrypted and _UNENCRYPTED.search(head):
            continue
        if _FLATE.search(head) and not _PICTURE.search(head):
            is_font = has_start and _FONT.search(head) is not None
            yield _Part(start, mark.end(), is_font=is_font)


def _unpacked_size(data: bytes, place: int) -> int | None:
    """Return the unpacked size of the stream at an offset, up to the limit.

    None if it is damaged.
    """
    unpacker = zlib.decompressobj()
    unpacked = 0
    try:
        while not unpacker.eof and unpacked < _MAX_UNPACKED_BYTES:
            piece = unpacker.unconsumed_tail
            if not piece:
                piece = data[place : place + _PIECE_BYTES]
                place += _PIECE_BYTES
            if not piece:
                return None
            unpacked += len(unpacker.decompress(piece, _UNPACKED_PIECE_BYTES))
    except zlib.error:
        return None
    return unpacked


def _without(data: bytes, parts: Sequence[_Part]) -> bytes:
    """Return a file with blanks instead of the dictionaries of some streams."""
    left = bytearray(data)
    for part in parts:
        left[part.start : part.end] = b" null ".ljust(part.end - part.start)
    return bytes(left)
