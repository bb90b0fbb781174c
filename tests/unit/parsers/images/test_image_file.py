"""Image files are read like scanned pages, in any format and form."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageOps
from tests.image_files import WORDS, image_file, picture

from spanwise.parsers.images import image_file as module
from spanwise.parsers.images.header import read_image_header
from spanwise.parsers.images.image_file import draw_image, parse_image
from spanwise.parsers.images.pdf_form import image_pdf
from spanwise.parsers.parsed import Source
from spanwise.parsers.pdf.ocr import OcrLine, OcrWord


class StandIn:
    """Reads a line on every image that has something dark in it."""

    name = "stand-in"
    dots_per_inch = 72

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def read(self, picture: NDArray[np.uint8]) -> Sequence[OcrLine]:
        self.shapes.append(picture.shape)
        if picture.min() > 128:
            return []
        words = [("Harbour", 60, 100), ("dues", 110, 140)]
        return [
            OcrLine(
                words=tuple(OcrWord(text=t, left=left, right=right) for t, left, right in words),
                top=100,
                bottom=112,
            )
        ]


def with_opacity(mode: str) -> Image.Image:
    """Return an image whose letters are opaque black, and whose paper is transparent black."""
    paper = picture().convert("L")
    black = Image.new("RGB", paper.size, "black")
    black.putalpha(ImageOps.invert(paper))
    return black.convert(mode)


IMAGES: dict[str, bytes] = {
    "colour.png": image_file(),
    "palette.png": image_file("PNG", picture().convert("P")),
    "black-and-white.png": image_file("PNG", picture().convert("1")),
    "opacity.png": image_file("PNG", with_opacity("RGBA")),
    "grey-opacity.png": image_file("PNG", with_opacity("LA")),
    "colour.jpg": image_file("JPEG"),
    "grey.jpg": image_file("JPEG", picture().convert("L")),
    "four-colours.jpg": image_file("JPEG", picture().convert("CMYK")),
    "a.gif": image_file("GIF"),
    "a.webp": image_file("WEBP"),
    "opacity.webp": image_file("WEBP", with_opacity("RGBA")),
    "fax.tif": image_file("TIFF", picture().convert("1"), compression="group4"),
    "deep.tif": image_file("TIFF", picture().convert("L").convert("I;16")),
    "a.bmp": image_file("BMP"),
}


@pytest.mark.parametrize("name", list(IMAGES))
def test_letters_are_dark_on_white(name: str) -> None:
    """In every format, with and without opacity."""
    data = IMAGES[name]
    png = draw_image(Source(data=data, name=name), page=1, dots_per_inch=96, for_model=True)
    grey = np.asarray(Image.open(io.BytesIO(png)).convert("L"))
    assert grey.shape == (300, 640)
    expected = np.asarray(picture().convert("L"))
    assert np.abs(grey.astype(int) - expected).mean() < 12


def test_photograph_is_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = StandIn()
    monkeypatch.setattr(module, "open_engine", lambda name: engine)
    exif = Image.Exif()
    exif[274] = 6
    data = image_file("JPEG", picture().rotate(90, expand=True), exif=exif)
    parsed = parse_image(Source(data=data, name="a.jpg", ocr="auto"))
    ((height, width),) = engine.shapes
    assert width > height
    assert parsed.text == "Harbour dues"


def test_each_image_of_a_tiff_is_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "open_engine", lambda name: StandIn())
    white = Image.new("RGB", (640, 300), "white")
    data = image_file("TIFF", save_all=True, append_images=[white, picture()])
    parsed = parse_image(Source(data=data, name="a.tif", ocr="auto"))
    assert [parsed.text[page.start : page.end].strip() for page in parsed.pages] == [
        "Harbour dues",
        "",
        "Harbour dues",
    ]
    assert [figure.page for figure in parsed.figures] == [1, 2, 3]
    assert [figure.is_searchable for figure in parsed.figures] == [True, False, True]
    assert parsed.warnings == ("pages 1, 3 of 3 read by OCR (stand-in)",)


def test_text_is_the_name_if_nothing_is_read() -> None:
    """It needs OCR, so it is read again when there is an engine."""
    source = Source(data=image_file(), name="in/harbour_plan-1900.png", ocr="off")
    parsed = parse_image(source)
    assert (parsed.text, parsed.title, parsed.status) == ("harbour plan-1900", "", "needs_ocr")
    (figure,) = parsed.figures
    assert not figure.is_searchable
    assert "--ocr" in parsed.warnings[0]


def test_image_without_words_needs_no_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "open_engine", lambda name: StandIn())
    data = image_file("PNG", Image.new("RGB", (400, 400), "white"))
    parsed = parse_image(Source(data=data, name="sky.png", ocr="auto"))
    assert (parsed.text, parsed.status, parsed.warnings) == ("sky", "ok", ())


def test_other_formats_need_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, they are kept, with advice; PNG and JPEG are read."""
    monkeypatch.setattr("spanwise.parsers.images.pdf_form.find_spec", lambda name: None)
    monkeypatch.setattr(module, "open_engine", lambda name: StandIn())
    for name in ("a.gif", "fax.tif"):
        parsed = parse_image(Source(data=IMAGES[name], name=name, ocr="auto"))
        assert parsed.status == "needs_ocr"
        assert "spanwise[ocr]" in parsed.warnings[0]
    for name in ("opacity.png", "colour.jpg"):
        parsed = parse_image(Source(data=IMAGES[name], name=name, ocr="auto"))
        assert parsed.text == "Harbour dues"
    interlaced = IMAGES["colour.png"][:28] + b"\x01" + IMAGES["colour.png"][29:]
    source = Source(data=interlaced, name="a.png")
    assert image_pdf(source, read_image_header(source)) is None


@pytest.mark.slow
def test_rapidocr_reads_an_image() -> None:
    parsed = parse_image(Source(data=image_file(), name="a.png", ocr="rapidocr"))
    assert parsed.text.split("\n") == list(WORDS)
    assert parsed.figures[0].caption == WORDS[0]
