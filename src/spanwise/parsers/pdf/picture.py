"""Images of the pages of a PDF."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pypdfium2

from spanwise.parsers.parsed import Source, Step
from spanwise.parsers.pdf.highlight import Highlight, highlighted_boxes, shade
from spanwise.parsers.pdf.repair import open_pdf

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


_POINTS_PER_INCH = 72
_PAGES_WORTH = 100
"""Time limit of rendering one page, as a multiple of the time limit for a page of text."""
_MAX_DOTS = 40_000_000
"""Maximum size of an image; larger pages (plans, posters) get a lower resolution."""
_MAX_MODEL_DOTS = 1_800_000
"""Maximum size for models: some count a token per 28 by 28 dots, and shrink larger images."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Image of a page."""

    dots: NDArray[np.uint8]
    """Pixels: (height, width) in grey, 0 is black; or (height, width, 3) in RGB."""
    points_per_dot: float


def draw_page(
    document: pypdfium2.PdfDocument,
    number: int,
    *,
    dots_per_inch: float,
    colours: bool = False,
    max_dots: int = _MAX_DOTS,
) -> Picture:
    """Return the image of a page, rotated and cropped as the file defines.

    Args:
        document: The open document.
        number: Number of the page, 1-based.
        dots_per_inch: Resolution; lower if the image would be too large.
        colours: Whether the image is in colour instead of grey.
        max_dots: Maximum number of dots.
    """
    page = document[number - 1]
    width, height = page.get_size()
    scale = dots_per_inch / _POINTS_PER_INCH
    scale = min(scale, (max_dots / max(1.0, width * height)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=not colours, rev_byteorder=colours)
    dots = bitmap.to_numpy().copy()
    bitmap.close()
    page.close()
    return Picture(dots[:, :, :3] if colours else dots.reshape(dots.shape[:2]), 1 / scale)


def draw_png(
    source: Source,
    *,
    page: int,
    dots_per_inch: float,
    for_model: bool = False,
    highlight: Highlight | None = None,
    box: Sequence[float] | None = None,
) -> bytes:
    """Return a page of a PDF, or a part of it, as a PNG file.

    Args:
        source: The PDF.
        page: Number of the page, 1-based.
        dots_per_inch: Resolution.
        for_model: Whether the image is grey with at most 1.8 million pixels, instead of coloured
            with at most 40 million.
        highlight: Range of the page's text to highlight, if its words are in the file; only in a
            coloured image.
        box: Part to draw: left, top, right and bottom in points from the upper left corner; None
            for the whole page.

    Raises:
        ParseError: As for `open_pdf`; "unsupported" if there is no such page, "corrupt" if it
            cannot be read.
    """
    source.on_step(Step(pages=_PAGES_WORTH, of=_PAGES_WORTH))
    document = open_pdf(source, [])
    if not 1 <= page <= len(document):
        raise source.error("unsupported", f"it has {len(document)} pages, and no page {page}")
    try:
        picture = draw_page(
            document,
            page,
            dots_per_inch=dots_per_inch,
            colours=not for_model,
            max_dots=_MAX_MODEL_DOTS if for_model else _MAX_DOTS,
        )
        dots = picture.dots
        if highlight is not None and not for_model:
            size = (dots.shape[1], dots.shape[0])
            dots = shade(dots, highlighted_boxes(document, page, highlight, size=size))
    except pypdfium2.PdfiumError as error:
        raise source.error("corrupt", f"its page {page} cannot be read: {error}") from error
    return encode_png(dots if box is None else _cut(dots, box, picture.points_per_dot))


def _cut(dots: NDArray[np.uint8], box: Sequence[float], scale: float) -> NDArray[np.uint8]:
    """Return the part of an image inside a box in points; at least one pixel."""
    left, top, right, bottom = (round(side / scale) for side in box)
    left = max(0, min(left, dots.shape[1] - 1))
    top = max(0, min(top, dots.shape[0] - 1))
    return dots[top : max(bottom, top + 1), left : max(right, left + 1)]


def encode_png(dots: NDArray[np.uint8]) -> bytes:
    """Return an image, (height, width) or (height, width, 3), as a PNG file."""
    import numpy as np

    height, width = dots.shape[:2]
    flat = dots.reshape(height, -1)
    rows = np.zeros((height, 1 + flat.shape[1]), dtype=np.uint8)  # begin with their filter: none
    rows[:, 1:] = flat
    colours = 2 if dots.ndim == 3 else 0  # red, green and blue; or grey
    head = struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
