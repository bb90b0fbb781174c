"""Image files with words, as people photograph, scan and save them."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image, ImageDraw, ImageFont

__all__ = ["WORDS", "image_file", "picture", "png_of_size"]

WORDS = ("Harbour dues of 1900", "The tonnage rose by a third.")


def picture(*, size: tuple[int, int] = (640, 300)) -> Image.Image:
    """Return an image with `WORDS`."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(32)
    for number, line in enumerate(WORDS):
        draw.text((40, 40 + 100 * number), line, fill="black", font=font)
    return image


def image_file(kind: str = "PNG", image: Image.Image | None = None, **options: object) -> bytes:
    """Return an image as a file.

    Args:
        kind: Format, as Pillow names it.
        image: Image; None for one with `WORDS`.
        options: Options of Pillow.
    """
    stream = io.BytesIO()
    (image or picture()).save(stream, kind, **options)
    return stream.getvalue()


def png_of_size(width: int, height: int, *, data: bytes = b"") -> bytes:
    """Return a PNG file that states a size, whatever its pixels are."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = (b"IHDR" + head, b"IDAT" + zlib.compress(data), b"IEND")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
        for part in chunks
    )
