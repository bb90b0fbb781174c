"""Compressed streams of a PDF that are damaged.

Rules
    1. pdfium reads damaged streams without a word: a few flipped bytes leave a file that opens,
       has all its pages and 4 % of its text. What does not unpack, or unpacks to other bytes than
       its checksum says, is found here; pictures are left out.
    2. A damaged font takes the text set in it along, though the file says elsewhere what its
       characters mean. Without the font pdfium may read them. No object moves.
    3. Of other streams pdfium keeps what unpacks before the damage: there is nothing to mend.
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
"""Begins with letters: what begins with an edge of a word takes many times as long to search."""
_FLATE = re.compile(rb"/F(?:ilter)?\s*\[?\s*/(?:FlateDecode|Fl)\b")
"""What is unpacked first; behind another filter it would not unpack from the bytes of the file."""
_PICTURE = re.compile(rb"/Subtype\s*/Image\b")
_FONT = re.compile(rb"/Length1\b|/Subtype\s*/(?:Type1C|CIDFontType0C|OpenType)\b")
_ENCRYPTED = re.compile(rb"/Encrypt\b")
_HEAD_BYTES = 1_500
_PIECE_BYTES = 1 << 16
_UNPACKED_PIECE_BYTES = 1 << 22
_MAX_UNPACKED_BYTES = 20_000_000
"""Of one stream: what is larger is no page anybody reads."""
_MAX_ALL_BYTES = 1_000_000_000
"""Of all streams: those after it are not looked at."""


@dataclass(frozen=True, slots=True)
class Damage:
    """What is damaged in a file."""

    streams: int
    """Compressed streams that are damaged."""
    of: int
    """Compressed streams that may matter to the text."""
    without_fonts: bytes | None
    """The file without its damaged fonts; None where none is damaged."""


def find_damage(document: pypdfium2.PdfDocument, data: bytes) -> Damage | None:
    """Return what is damaged in a PDF, None where nothing is.

    Args:
        document: The open document: what is encrypted is looked at in a plain copy of it.
        data: Its bytes.
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
    """A compressed stream."""

    start: int
    """Where its dictionary begins."""
    end: int
    """Where that and the word "stream" end: what is compressed begins."""
    is_font: bool


def _compressed_parts(data: bytes) -> Iterator[_Part]:
    """Yield the compressed streams but pictures."""
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
    """Return how many bytes the stream that begins here unpacks to, as far as is looked at.

    None where it is damaged.
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
    """Return a file with nothing in the place of some of its streams' dictionaries."""
    left = bytearray(data)
    for part in parts:
        left[part.start : part.end] = b" null ".ljust(part.end - part.start)
    return bytes(left)
