"""The size, orientation and title of an image come from its first bytes."""

from __future__ import annotations

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from tests.image_files import image_file, picture, png_of_size

from spanwise.errors import ParseError
from spanwise.parsers.images.header import image_kind, read_image_header
from spanwise.parsers.parsed import Source


def source(data: bytes) -> Source:
    return Source(data=data, name="a.bin")


@pytest.mark.parametrize(
    ("kind", "name", "options"),
    [
        ("PNG", "PNG", {}),
        ("JPEG", "JPEG", {}),
        ("JPEG", "JPEG", {"progressive": True}),
        ("GIF", "GIF", {}),
        ("WEBP", "WebP", {}),
        ("WEBP", "WebP", {"lossless": True}),
        ("WEBP", "WebP", {"exif": b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0"}),
        ("TIFF", "TIFF", {}),
        ("TIFF", "TIFF", {"big_tiff": False, "compression": "tiff_lzw"}),
        ("BMP", "BMP", {}),
    ],
)
def test_size_of_each_format(kind: str, name: str, options: dict[str, object]) -> None:
    header = read_image_header(source(image_file(kind, picture(size=(321, 234)), **options)))
    assert (header.kind, header.width, header.height) == (name, 321, 234)
    assert header.media_type == f"image/{name.lower()}"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_missing_end_is_noticed(kind: str) -> None:
    whole = image_file(kind)
    assert not read_image_header(source(whole)).is_cut
    assert read_image_header(source(whole[: len(whole) * 2 // 3])).is_cut


def test_orientation_and_title_of_a_photograph() -> None:
    exif = Image.Exif()
    exif[274] = 6
    exif[270] = "The quay in winter"
    header = read_image_header(source(image_file("JPEG", exif=exif)))
    assert (header.turn, header.title) == (90, "The quay in winter")
    exif[270] = "OLYMPUS DIGITAL CAMERA"
    assert read_image_header(source(image_file("JPEG", exif=exif))).title == ""


def test_title_of_a_png() -> None:
    info = PngInfo()
    info.add_text("Title", "Plan of the harbour")
    assert read_image_header(source(image_file(pnginfo=info))).title == "Plan of the harbour"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(9), "corrupt"),
        (b"\xff\xd8\xff\xe0", "corrupt"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "corrupt"),
        (b"GIF89a", "corrupt"),
        (b"II*\x00\xff\xff\xff\xff", "corrupt"),
        (b"BM" + bytes(30), "corrupt"),
        (png_of_size(0, 400), "corrupt"),
        (png_of_size(120, 90), "unsupported"),
        (png_of_size(2_000, 40), "unsupported"),
        (png_of_size(20_000, 20_000), "too_large"),
        (png_of_size(70_000, 100), "too_large"),
    ],
)
def test_damaged_small_and_large_images_are_rejected(data: bytes, code: str) -> None:
    assert image_kind(data) is not None
    with pytest.raises(ParseError) as caught:
        read_image_header(source(data))
    assert caught.value.code == code
