"""Images that are made to cost much are rejected by their header, or limited when decoded."""

from __future__ import annotations

import struct
import zlib

import pytest
from tests.image_files import image_file, picture, png_of_size

from spanwise.errors import ParseError
from spanwise.parsers.detect import detect_format
from spanwise.parsers.images.header import read_image_header
from spanwise.parsers.images.image_file import draw_image, parse_image
from spanwise.parsers.images.pdf_form import image_pdf
from spanwise.parsers.parsed import Source


@pytest.mark.parametrize("size", [(50_000, 50_000), (2**31 - 1, 2**31 - 1), (200_000, 60)])
def test_decompression_bomb_is_rejected_by_its_header(size: tuple[int, int]) -> None:
    """Whatever reads it, nothing is decompressed."""
    source = Source(data=png_of_size(*size, data=bytes(10_000_000)), name="a.png")
    for read in (detect_format, parse_image):
        with pytest.raises(ParseError) as caught:
            read(source)
        assert caught.value.code == "too_large"


def test_later_image_of_a_tiff_is_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.parsers.images.header._MAX_DOTS", 300_000)
    large = picture(size=(900, 900))
    data = image_file("TIFF", save_all=True, append_images=[large])
    with pytest.raises(ParseError) as caught:
        parse_image(Source(data=data, name="a.tif"))
    assert caught.value.code == "too_large"


def test_number_of_images_of_a_tiff_is_limited() -> None:
    pages = [picture(size=(300, 200))] * 3
    data = image_file("TIFF", pages[0], save_all=True, append_images=pages)
    with pytest.raises(ParseError, match="max_pages"):
        parse_image(Source(data=data, name="a.tif", max_pages=3))


def test_more_pixels_than_stated_are_not_drawn() -> None:
    """The size of the header is the size of the result."""
    source = Source(data=png_of_size(300, 200, data=bytes(50_000_000)), name="a.png")
    png = draw_image(source, page=1, dots_per_inch=96, for_model=True)
    assert struct.unpack(">II", png[16:24]) == (300, 200)


def test_chunks_and_tags_that_refer_to_nothing() -> None:
    """Lengths and offsets of a file are not trusted."""
    chunk = struct.pack(">I", 2**32 - 1) + b"tEXtTitle\0Words"
    data = png_of_size(400, 300)
    parsed = parse_image(Source(data=data[:33] + chunk + data[33:], name="a.png"))
    assert parsed.text == "a"
    tags = struct.pack("<HHHII", 1, 270, 2, 2**32 - 1, 2**32 - 1)
    for exif in (b"II*\0\x08\0\0\0" + tags, b"II*\0\xff\xff\xff\xff", b"MM\0*", b""):
        content = b"Exif\0\0" + exif
        segment = b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content
        whole = image_file("JPEG")
        parsed = parse_image(Source(data=whole[:2] + segment + whole[2:], name="a.jpg"))
        assert (parsed.text, parsed.title) == ("a", "")


def test_name_and_title_cannot_add_objects_to_the_pdf() -> None:
    """Only numbers and hexadecimal digits of a file are written into its structure."""
    palette = b")>>/OpenAction<</S/JavaScript".ljust(768, b">")
    head = struct.pack(">IIBBBBB", 300, 200, 8, 3, 0, 0, 0)
    pixels = zlib.compress(bytes(301 * 200))
    parts = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", pixels), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content + bytes(4) for name, content in parts
    )
    source = Source(data=data, name="a.png")
    pdf = image_pdf(source, read_image_header(source))
    assert pdf is not None
    assert b"OpenAction" not in pdf.replace(pixels, b"")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a\u202egnp.png", "agnp"),
        ("ship\udcff \x1b[31m.png", "ship [31m"),
        ("---.png", "PNG image"),
        (".png", ".png"),
        ("https://a.example/in/the%20quay.png?x=1", "the quay"),
    ],
)
def test_name_that_becomes_text_has_no_control_characters(name: str, text: str) -> None:
    assert parse_image(Source(data=png_of_size(400, 300), name=name)).text == text
