"""PDF that shows an image file, so that it is drawn and read like a scanned page.

PNG and JPEG files are embedded in the PDF as they are, because PDF supports their compression.
Other
formats, and interlaced PNG files, are decoded by Pillow, which comes with the extra "ocr".
"""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING

from spanwise.parsers.images.header import ImageHeader, check_size, png_chunks
from spanwise.parsers.parsed import Source

if TYPE_CHECKING:
    from PIL.Image import Image

_POINTS_PER_DOT = 0.75
"""Size of a screen pixel in points."""
_PAGE_POINTS = 700.0
"""Maximum square root of the area of a page, in points: that of letter size. The resolutions of OCR
and of images for models assume this size."""
_GREY, _COLOUR, _PALETTE, _GREY_ALPHA, _COLOUR_ALPHA = 0, 2, 3, 4, 6
"""Kinds of PNG files."""
_GREY_OVER_WHITE = "{exch 1 sub mul 1 add}"
"""PostScript function that blends a grey value with white by its opacity."""
_COLOUR_OVER_WHITE = (
    "{4 -1 roll 1 sub 1 index mul 1 add "
    "4 -1 roll 1 sub 2 index mul 1 add "
    "4 -1 roll 1 sub 3 index mul 1 add 4 -1 roll pop}"
)
"""PostScript function that blends red, green and blue with white by their opacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dots:
    """Compressed pixels of a page of the PDF."""

    width: int
    height: int
    turn: int = 0
    data: bytes
    filter: str
    """Compression, as an entry of the dictionary of the image."""
    colours: str
    """Colour space."""
    channels: int
    depth: int = 8
    """Number of bits per channel."""
    function: str = ""
    """PostScript function from the channels to the colour space; empty if they are the same."""


def image_pdf(source: Source, header: ImageHeader) -> bytes | None:
    """Return a PDF with the image on a page; each image of a TIFF file is a page.

    Args:
        source: The image file.
        header: Its header.

    Returns:
        The PDF; None if the format needs Pillow, which is not installed.

    Raises:
        ParseError: "corrupt" if the image cannot be decoded, "too_large" if an image in it is too
            large or it has too many.
    """
    dots = None
    if header.kind == "PNG":
        dots = _png_dots(source.data, header)
    elif header.kind == "JPEG":
        dots = _jpeg_dots(source.data, header)
    if dots is not None:
        return _write_pdf([dots])
    return _write_pdf(_decode(source, header)) if find_spec("PIL") else None


def _jpeg_dots(data: bytes, header: ImageHeader) -> _Dots | None:
    spaces = {1: "/DeviceGray", 3: "/DeviceRGB", 4: "/DeviceCMYK /Decode [1 0 1 0 1 0 1 0]"}
    if header.channels not in spaces:
        return None
    return _Dots(
        width=header.width,
        height=header.height,
        turn=header.turn,
        data=data,
        filter="/Filter /DCTDecode",
        colours=spaces[header.channels],
        channels=header.channels,
    )


def _png_dots(data: bytes, header: ImageHeader) -> _Dots | None:
    """Return the pixels of a PNG file; None if it is interlaced or of an unknown kind."""
    depth, kind, _, _, is_interlaced = struct.unpack_from("BBBBB", data.ljust(29, b"\0"), 24)
    palette, opacity, pieces = b"", b"", []
    for name, content in png_chunks(data):
        if name == b"PLTE":
            palette = bytes(content)
        elif name == b"tRNS":
            opacity = bytes(content)
        elif name == b"IDAT":
            pieces.append(content)
    spaces = {
        _GREY: (1, "/DeviceGray", ""),
        _COLOUR: (3, "/DeviceRGB", ""),
        _PALETTE: (1, _palette_space(palette, opacity), ""),
        _GREY_ALPHA: (2, "/DeviceGray", _GREY_OVER_WHITE),
        _COLOUR_ALPHA: (4, "/DeviceRGB", _COLOUR_OVER_WHITE),
    }
    if is_interlaced or kind not in spaces or depth not in (1, 2, 4, 8, 16):
        return None
    channels, colours, function = spaces[kind]
    return _Dots(
        width=header.width,
        height=header.height,
        data=b"".join(pieces),
        filter=(
            f"/Filter /FlateDecode /DecodeParms << /Predictor 15 /Colors {channels} "
            f"/BitsPerComponent {depth} /Columns {header.width} >>"
        ),
        colours=colours,
        channels=channels,
        depth=depth,
        function=function,
    )


def _palette_space(palette: bytes, opacity: bytes) -> str:
    """Return the colour space of a palette whose colours are blended with white."""
    count = min(256, len(palette) // 3)
    alphas = opacity.ljust(count, b"\xff")
    mixed = bytes(
        255 - alphas[at // 3] * (255 - colour) // 255
        for at, colour in enumerate(palette[: 3 * count])
    )
    return f"[/Indexed /DeviceRGB {max(0, count - 1)} <{mixed.hex() or '000000'}>]"


def _decode(source: Source, header: ImageHeader) -> Iterator[_Dots]:
    """Yield the images of a file, decoded by Pillow; the first one if they are an animation.

    Raises:
        ParseError: As for `image_pdf`.
    """
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the size limit of Pillow, and about damaged tags
        try:
            with Image.open(BytesIO(source.data), formats=[header.kind.upper()]) as image:
                count = getattr(image, "n_frames", 1) if header.kind == "TIFF" else 1
                if count > source.max_pages:
                    cause = f"it has {count} images, more than {source.max_pages}; raise max_pages"
                    raise source.error("too_large", cause)
                for number in range(count):
                    image.seek(number)
                    check_size(source, *image.size)
                    yield _image_dots(image, turn=header.turn)
        except Image.DecompressionBombError as exc:
            raise source.error("too_large", f"{exc}; reduce it") from exc
        except (
            OSError,
            ValueError,
            SyntaxError,
            EOFError,
            struct.error,
            LookupError,
            TypeError,
        ) as exc:
            raise source.error(
                "corrupt", f"its {header.kind} image cannot be decoded: {exc}; export it again"
            ) from exc


def _image_dots(image: Image, *, turn: int) -> _Dots:
    """Return the pixels of an image in black and white, in grey, or in colours over white."""
    from PIL.Image import alpha_composite, new

    if image.has_transparency_data:
        shown = image.convert("RGBA")
        white = new("RGBA", shown.size, (255, 255, 255, 255))
        shown = alpha_composite(white, shown).convert("RGB")
    elif image.mode.startswith("I;16") or image.mode in ("I", "F"):
        shown = _eight_bits(image)
    else:
        shown = image if image.mode in ("1", "L", "RGB") else image.convert("RGB")
    channels = 3 if shown.mode == "RGB" else 1
    return _Dots(
        width=shown.width,
        height=shown.height,
        turn=turn,
        data=zlib.compress(shown.tobytes(), 1),
        filter="/Filter /FlateDecode",
        colours="/DeviceRGB" if channels == 3 else "/DeviceGray",
        channels=channels,
        depth=1 if shown.mode == "1" else 8,
    )


def _eight_bits(image: Image) -> Image:
    """Return an image of more than 8 bits in grey, from its darkest to its lightest value."""
    import numpy as np
    from PIL.Image import fromarray

    dots = np.asarray(image, dtype=np.float32)
    low, high = float(dots.min()), float(dots.max())
    return fromarray(((dots - low) * (255 / max(1e-9, high - low))).astype(np.uint8))


def _write_pdf(pages: Iterable[_Dots]) -> bytes:
    """Return a PDF with a page for each image."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for dots in pages:
        first = len(objects) + 1
        kids.append(f"{first} 0 R")
        objects += _page_objects(dots, first=first)
    count = len(kids)
    objects[1] = f"<< /Type /Pages /Count {count} /Kids [{' '.join(kids)}] >>".encode()
    pieces, places, length = [b"%PDF-1.7\n"], [], 9
    for number, content in enumerate(objects, start=1):
        places.append(length)
        piece = b"%d 0 obj\n%b\nendobj\n" % (number, content)
        pieces.append(piece)
        length += len(piece)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    pieces.append(
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
        f"startxref\n{length}\n%%EOF\n".encode()
    )
    return b"".join(pieces)


def _page_objects(dots: _Dots, *, first: int) -> list[bytes]:
    """Return the page, its content, its image and the function of its colours.

    Args:
        dots: Pixels of the image.
        first: Number of the first object.
    """
    area = (dots.width * dots.height) ** 0.5
    scale = min(_POINTS_PER_DOT, _PAGE_POINTS / max(1.0, area))
    width, height = (max(1.0, scale * side) for side in (dots.width, dots.height))
    page = (
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2f} {height:.2f}] "
        f"/Rotate {dots.turn} /Contents {first + 1} 0 R "
        f"/Resources << /XObject << /I {first + 2} 0 R >> >> >>"
    )
    colours = dots.colours
    if dots.function:
        names = " ".join(f"/C{number}" for number in range(dots.channels))
        colours = f"[/DeviceN [{names}] {colours} {first + 3} 0 R]"
    image = (
        f"/Type /XObject /Subtype /Image /Width {dots.width} /Height {dots.height} "
        f"/BitsPerComponent {dots.depth} /ColorSpace {colours} {dots.filter}"
    )
    outputs = "0 1 " * (dots.channels - 1)
    function = f"/FunctionType 4 /Domain [{'0 1 ' * dots.channels}] /Range [{outputs}]"
    content = f"q {width:.2f} 0 0 {height:.2f} 0 0 cm /I Do Q".encode()
    return [
        page.encode(),
        _stream("", content),
        _stream(image, dots.data),
        _stream(function, dots.function.encode()),
    ]


def _stream(entries: str, data: bytes) -> bytes:
    return b"<< %b /Length %d >>\nstream\n%b\nendstream" % (entries.encode(), len(data), data)
