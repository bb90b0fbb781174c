"""PDFs whose pages are pictures of text, as a scanner makes them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
import pypdfium2
from numpy.typing import NDArray
from tests.documents import build_pdf, picture_pdf

from spanwise.parsers.pdf.picture import draw_page

__all__ = ["dots_of", "scanned_pdf", "shade_of", "shaded_pdf"]


def scanned_pdf(pages: Sequence[str], *, dots_per_inch: int = 150, stamp: str = "") -> bytes:
    """Return a PDF that shows pages of text as pictures.

    Args:
        pages: Text of each page, Latin-1.
        dots_per_inch: How finely they are scanned.
        stamp: Line of real text over every picture.
    """
    document = pypdfium2.PdfDocument(build_pdf(pages))
    pictures = []
    for number in range(1, len(pages) + 1):
        dots = draw_page(document, number, dots_per_inch=dots_per_inch).dots
        pictures.append((dots.shape[1], dots.shape[0], zlib.compress(dots.tobytes())))
    document.close()
    return picture_pdf(pictures, stamp=stamp)


def shaded_pdf(shades: Sequence[int]) -> bytes:
    """Return a PDF of pages of letter size that are pictures of one shade each, 0 is black."""
    side = 64
    return picture_pdf(
        [(side, side, zlib.compress(bytes([shade]) * side * side)) for shade in shades]
    )


def shade_of(png: bytes) -> int:
    """Return the shade of most of a page that is drawn for a model: a grey PNG file."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, depth, colours = struct.unpack(">IIBB", png[16:26])
    assert (depth, colours) == (8, 0)
    assert 1_000_000 < width * height <= 1_800_000
    assert abs(height / width - 792 / 612) < 0.01
    start = png.index(b"IDAT") + 4
    (size,) = struct.unpack(">I", png[start - 8 : start - 4])
    rows = np.frombuffer(zlib.decompress(png[start : start + size]), dtype=np.uint8)
    return int(np.median(rows.reshape(height, 1 + width)[:, 1:]))


def dots_of(png: bytes) -> NDArray[np.uint8]:
    """Return the pixels of a coloured page image, (height, width, 3)."""
    width, height, depth, colours = struct.unpack(">IIBB", png[16:26])
    assert (depth, colours) == (8, 2)
    start = png.index(b"IDAT") + 4
    (size,) = struct.unpack(">I", png[start - 8 : start - 4])
    rows = np.frombuffer(zlib.decompress(png[start : start + size]), dtype=np.uint8)
    return rows.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)
