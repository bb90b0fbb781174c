"""Size, orientation and title of an image file, read from its first bytes without decoding it.

Rules:
    Nothing is decompressed. An image that would unpack to gigabytes is rejected by the size in its
    header.
    A small image is an icon, a logo or a rule, and is rejected.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from spanwise.parsers.parsed import Source
from spanwise.parsers.properties import read_title

ImageKind = Literal["PNG", "JPEG", "GIF", "WebP", "TIFF", "BMP"]

_STARTS: tuple[tuple[re.Pattern[bytes], ImageKind], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "PNG"),
    (re.compile(rb"\xff\xd8\xff"), "JPEG"),
    (re.compile(rb"GIF8[79]a"), "GIF"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "WebP"),
    (re.compile(rb"II\*\x00|MM\x00\*"), "TIFF"),
    (re.compile(rb"BM.{4}\x00{4}", re.DOTALL), "BMP"),
)
MODEL_KINDS: frozenset[ImageKind] = frozenset(("PNG", "JPEG", "GIF", "WebP"))
"""Formats that language models accept."""
_MIN_SIDE = 50
_MIN_DOTS = 40_000
_MAX_SIDE = 65_535
_MAX_DOTS = 100_000_000
_MAX_PARTS = 10_000
"""Maximum number of chunks or segments that are read before the size is found."""
_MAX_TITLE_BYTES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageHeader:
    """Properties of an image file."""

    kind: ImageKind
    width: int
    """Width in pixels, as stored."""
    height: int
    """Height in pixels, as stored."""
    title: str = ""
    """Title in the file; empty for none."""
    turn: int = 0
    """Clockwise rotation in degrees for display: 0, 90, 180 or 270."""
    channels: int = 0
    """Number of channels of a JPEG; 0 for other formats."""
    is_cut: bool = False
    """Whether the end of the file is missing; False if the format does not show it."""

    @property
    def media_type(self) -> str:
        """Media type of the file."""
        return f"image/{self.kind.lower()}"


def image_kind(data: bytes) -> ImageKind | None:
    """Return the format of an image file by its first bytes; None for other files."""
    return next((kind for start, kind in _STARTS if start.match(data)), None)


def read_image_header(source: Source) -> ImageHeader:
    """Return the properties of an image file.

    Args:
        source: File for which `image_kind` returns a format.

    Raises:
        ParseError: "corrupt" if it has no valid size, "unsupported" if it is too small to be a
            document, "too_large" if it has too many pixels.
    """
    kind = image_kind(source.data)
    if kind is None:
        raise source.error("unsupported", "it is not a PNG, JPEG, GIF, WebP, TIFF or BMP image")
    try:
        header = _READERS[kind](source.data)
    except (struct.error, IndexError, ValueError) as exc:
        raise source.error(
            "corrupt", f"it is a {kind} image that is damaged: {exc}; fetch or export it again"
        ) from exc
    short, long = sorted((header.width, header.height))
    if short < 1:
        raise source.error("corrupt", f"it is a {kind} image without a size; export it again")
    if short < _MIN_SIDE or short * long < _MIN_DOTS:
        raise source.error(
            "unsupported",
            f"it is a {kind} image of the size of an icon or logo; it has {header.width} by "
            f"{header.height} pixels, and images from {_MIN_DOTS:,} pixels with sides from "
            f"{_MIN_SIDE} are documents",
        )
    check_size(source, header.width, header.height)
    return header


def check_size(source: Source, width: int, height: int) -> None:
    """Check that an image is not too large to be decoded.

    Raises:
        ParseError: "too_large" if it is.
    """
    if max(width, height) > _MAX_SIDE or width * height > _MAX_DOTS:
        raise source.error(
            "too_large",
            f"it has an image of {width} by {height} pixels; at most {_MAX_DOTS:,} are read: save "
            "it with a lower resolution",
        )


def _read_png(data: bytes) -> ImageHeader:
    if data[12:16] != b"IHDR":
        raise ValueError("its header is missing")
    width, height = struct.unpack_from(">II", data, 16)
    title = ""
    for kind, content in png_chunks(data):
        words = bytes(content[:_MAX_TITLE_BYTES]) if kind == b"tEXt" else b""
        if words.startswith(b"Title\0"):
            title = _title(words[6:].decode("latin-1"))
    is_cut = b"IEND" not in data
    return ImageHeader(kind="PNG", width=width, height=height, title=title, is_cut=is_cut)


def png_chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the type and the content of the chunks of a PNG file, up to any damage."""
    place, view = 8, memoryview(data)
    for _ in range(_MAX_PARTS):
        if place + 8 > len(data):
            return
        (length,) = struct.unpack_from(">I", data, place)
        kind = data[place + 4 : place + 8]
        yield kind, view[place + 8 : place + 8 + length]
        if kind == b"IEND":
            return
        place += 12 + length


_NO_FRAMES = frozenset((0xC4, 0xC8, 0xCC))
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))
"""JPEG markers without content."""


def _read_jpeg(data: bytes) -> ImageHeader:
    place, tags = 2, _Tags()
    for _ in range(_MAX_PARTS):
        place = data.index(b"\xff", place)
        while data[place] == 0xFF:
            place += 1
        marker = data[place]
        if marker in _ALONE:
            continue
        (length,) = struct.unpack_from(">H", data, place + 1)
        content = place + 3
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAMES:
            height, width, channels = struct.unpack_from(">HHB", data, content + 1)
            header = ImageHeader(kind="JPEG", width=width, height=height, channels=channels)
            is_cut = data.rfind(b"\xff\xd9") < place  # an earlier end is that of a preview
            return replace(header, title=tags.title, turn=tags.turn, is_cut=is_cut)
        if marker == 0xE1 and data.startswith(b"Exif\0\0", content):
            tags = _read_exif(data[content + 6 : content + length - 2])
        place = content + max(0, length - 2)
    raise ValueError("it has no frame")


def _read_gif(data: bytes) -> ImageHeader:
    width, height = struct.unpack_from("<HH", data, 6)
    is_cut = not data.rstrip(b"\0").endswith(b";")
    return ImageHeader(kind="GIF", width=width, height=height, is_cut=is_cut)


def _read_webp(data: bytes) -> ImageHeader:
    kind = data[12:16]
    if kind == b"VP8X":
        width = 1 + int.from_bytes(data[24:27], "little")
        height = 1 + int.from_bytes(data[27:30], "little")
    elif kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        width, height = 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    elif kind == b"VP8 ":
        width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", data, 26))
    else:
        raise ValueError("its first part is unknown")
    is_cut = len(data) < 8 + int.from_bytes(data[4:8], "little")
    return ImageHeader(kind="WebP", width=width, height=height, is_cut=is_cut)


def _read_bmp(data: bytes) -> ImageHeader:
    length, size = struct.unpack_from("<I8xI", data, 2)
    width, height = struct.unpack_from("<HH" if size == 12 else "<ii", data, 18)
    is_cut = len(data) < length
    return ImageHeader(kind="BMP", width=abs(width), height=abs(height), is_cut=is_cut)


def _read_tiff(data: bytes) -> ImageHeader:
    tags = _read_tags(data)
    return ImageHeader(
        kind="TIFF", width=tags.width, height=tags.height, title=tags.title, turn=tags.turn
    )


_READERS: dict[ImageKind, Callable[[bytes], ImageHeader]] = {
    "PNG": _read_png,
    "JPEG": _read_jpeg,
    "GIF": _read_gif,
    "WebP": _read_webp,
    "TIFF": _read_tiff,
    "BMP": _read_bmp,
}

_WIDTH, _HEIGHT, _DESCRIPTION, _ORIENTATION = 256, 257, 270, 274
_TURNS = {3: 180, 4: 180, 5: 90, 6: 90, 7: 270, 8: 270}
"""Clockwise rotation by the value of the tag of orientation."""


@dataclass(frozen=True, slots=True)
class _Tags:
    """Tags of the first directory of a TIFF file, or of the Exif data of a JPEG."""

    numbers: dict[int, int] = field(default_factory=dict)
    title: str = ""

    @property
    def width(self) -> int:
        return self.numbers.get(_WIDTH, 0)

    @property
    def height(self) -> int:
        return self.numbers.get(_HEIGHT, 0)

    @property
    def turn(self) -> int:
        return _TURNS.get(self.numbers.get(_ORIENTATION, 1), 0)


def _read_exif(data: bytes) -> _Tags:
    """Return the tags of Exif data; none if they are damaged."""
    try:
        return _read_tags(data)
    except (struct.error, ValueError):
        return _Tags()


def _read_tags(data: bytes) -> _Tags:
    order = "<" if data[:2] == b"II" else ">"
    (start,) = struct.unpack_from(f"{order}I", data, 4)
    (count,) = struct.unpack_from(f"{order}H", data, start)
    numbers, title = {}, ""
    for number in range(count):
        place = start + 2 + 12 * number
        tag, kind, length = struct.unpack_from(f"{order}HHI", data, place)
        if tag in (_WIDTH, _HEIGHT, _ORIENTATION):
            shape = f"{order}H" if kind == 3 else f"{order}I"
            (numbers[tag],) = struct.unpack_from(shape, data, place + 8)
        elif tag == _DESCRIPTION and length > 4:
            (at,) = struct.unpack_from(f"{order}I", data, place + 8)
            words = data[at : at + min(length, _MAX_TITLE_BYTES)].partition(b"\0")[0]
            title = _title(words.decode("utf-8", "replace"))
    return _Tags(numbers, title)


def _title(written: str) -> str:
    """Return a cleaned title; empty if it is in capitals, as names of cameras are."""
    title = read_title(written)
    return title if title.isprintable() and not title.isupper() else ""
