"""PDFs whose pages are pictures of text, as a scanner makes them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import pypdfium2
from tests.documents import build_pdf, picture_pdf

from spanwise.parsers.pdf.picture import draw_page

__all__ = ["scanned_pdf"]


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
