"""Detection of damaged compressed streams in a PDF.

Rules
    1. pdfium reads damaged streams without a warning: after a few flipped bytes a file may open
       with all its pages and 4 % of its text. Streams that do not unpack, or fail their checksum,
       are found here, except images.
    2. The text in a damaged font is lost, although another table of the file maps its
       characters. Without the font pdfium may read them. No object is moved.
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

_STREAM = re.compile(rb"stream\r?\n")
"""Begins with letters, because a pattern with a leading word boundary is many times slower."""
_FLATE = re.compile(rb"/F(?:ilter)?\s*\[?\s*/(?:FlateDecode|Fl)\b")
"""Filter of a stream whose outermost compression is Flate, so that it can be unpacked here."""
_PICTURE = re.compile(rb"/Subtype\s*/Image\b")
_FONT = re.compile(rb"/Length1\b|/Subtype\s*/(?:Type1C|CIDFontType0C|OpenType)\b")
_ENCRYPTED = re.compile(rb"/Encrypt\b")
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
    if _ENCRYPTED.search(data):
        copy = io.BytesIO()
        document.save(copy, flags=pdfium.FPDF_REMOVE_SECURITY)
        data = copy.getvalue()
    count = unpacked = 0
    damaged = []
    for part in _compressed_parts(data):
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


def _compressed_parts(data: bytes) -> Iterator[_Part]:
    """Yield the compressed streams, except images."""
    for mark in _STREAM.finditer(data):
        if data.endswith(b"end", 0, mark.start()):
            continue
        start = max(0, mark.start() - _HEAD_BYTES)
        number = data.rfind(b" obj", start, mark.start())
        has_start = number >= 0
        start = number + len(b" obj") if has_start else start
        head = data[start : mark.start()]
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
