"""Pages that are pictures of text are read by an engine, where there is one."""

from __future__ import annotations

import shutil
import stat
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.documents import build_pdf
from tests.pictures import scanned_pdf

from spanwise.errors import OptionError, ParseError
from spanwise.options import ParseOptions
from spanwise.parsers.parsed import Parsed, Source, Step
from spanwise.parsers.pdf import ocr
from spanwise.parsers.pdf.ocr import (
    RAPIDOCR_MODELS,
    OcrLine,
    OcrWord,
    Tesseract,
    check_engine,
    check_models,
    open_engine,
)
from spanwise.parsers.pdf.reader import parse_pdf

PAGE = "Annual Report\n\nThe harbour office counts ships.\nRevenue      1,234     987"

posix_only = pytest.mark.skipif(
    sys.platform == "win32", reason="a program that tests write is a script with a first line"
)


class StandIn:
    """Reads every picture as the same two lines, or fails."""

    name = "stand-in"
    dots_per_inch = 72

    def __init__(self, *, fails_after: int = 99, finds: bool = True) -> None:
        self.fails_after = fails_after
        self.finds = finds
        self.shapes: list[tuple[int, ...]] = []

    def read(self, picture: NDArray[np.uint8]) -> Sequence[OcrLine]:
        self.shapes.append(picture.shape)
        if len(self.shapes) > self.fails_after:
            raise OSError("no such language")
        if not self.finds:
            return []
        words = [("Total", 60, 100), ("1,234", 300, 340), ("987", 400, 420)]
        return [
            OcrLine(
                words=tuple(OcrWord(text=t, left=left, right=right) for t, left, right in words),
                top=top,
                bottom=top + 12,
            )
            for top in (100, 120)
        ]


def use(monkeypatch: pytest.MonkeyPatch, engine: StandIn | None) -> None:
    monkeypatch.setattr("spanwise.parsers.pdf.reader.open_engine", lambda name: engine)


def parse(data: bytes, *, steps: list[Step] | None = None) -> Parsed:
    heard = [] if steps is None else steps
    return parse_pdf(Source(data=data, name="a.pdf", ocr="auto", on_step=heard.append))


@pytest.mark.slow
def test_pages_without_text_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """In their places among the others; rows of a table stay rows."""
    use(monkeypatch, StandIn())
    parsed = parse(build_pdf(["First page.", "", "Last page."], picture_pages=[1]))
    row = "Total | 1,234 | 987"
    assert parsed.text == f"First page.\n\n{row}\n{row}\n\nLast page."
    assert parsed.text[parsed.pages[1].start : parsed.pages[1].end].strip() == f"{row}\n{row}"
    assert parsed.status == "ok"
    assert parsed.warnings == ("page 2 of 3 read by OCR (stand-in)",)


def test_engine_gets_the_page_as_people_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turned, and as finely as it wants."""
    engine = StandIn()
    use(monkeypatch, engine)
    turned = build_pdf([""], picture_pages=[0]).replace(b"/MediaBox", b"/Rotate 90 /MediaBox")
    parse(turned)
    assert engine.shapes == [(612, 792)]


def test_engine_is_given_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page that it reads is told, and counts for many."""
    use(monkeypatch, StandIn())
    steps: list[Step] = []
    parse(build_pdf(["", "text of the page", ""], picture_pages=[0, 2]), steps=steps)
    assert [(step.pages, step.of, step.page) for step in steps[-3:]] == [
        (500, 1003, 1),
        (500, 1003, 3),
        (3, 1003, None),
    ]


def test_what_was_read_is_kept_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before whoever waits gives up all of it."""
    use(monkeypatch, StandIn())
    data = build_pdf(["text", "", ""], picture_pages=[1, 2])
    parsed = parse_pdf(Source(data=data, name="a.pdf", ocr="auto", timeout_seconds=1e-9))
    assert (parsed.text, parsed.status) == ("text", "needs_ocr")
    assert any("pages 2-3 not read by OCR (time limit;" in said for said in parsed.warnings)


def test_stamped_scan_is_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Courts write a line over every page."""
    use(monkeypatch, StandIn())
    stamped = scanned_pdf(["text"], dots_per_inch=20, stamp="Case 1:24-cv-01234 page 7")
    assert "stand-in" in parse(stamped).warnings[0]


def test_page_of_letters_without_meaning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be copied can be seen."""
    use(monkeypatch, StandIn())
    parsed = parse(build_pdf(["A" * 50], to_unicode="\ue001"))
    assert parsed.text.startswith("Total | 1,234")
    assert parsed.status == "ok"


def test_without_an_engine_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of pictures is an error, one with some of them a document that needs OCR."""
    monkeypatch.setattr(ocr, "_has_rapidocr", lambda: False)
    monkeypatch.setattr(shutil, "which", lambda program: None)
    assert parse(build_pdf(["text", ""], picture_pages=[1])).status == "needs_ocr"
    with pytest.raises(ParseError, match=r"spanwise\[ocr\]") as caught:
        parse(build_pdf([""], picture_pages=[0]))
    assert caught.value.code == "needs_ocr"


def test_engine_that_fails_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages still need OCR."""
    use(monkeypatch, StandIn(fails_after=0))
    parsed = parse(build_pdf(["text", ""], picture_pages=[1]))
    assert parsed.status == "needs_ocr"
    assert any("no such language" in warning for warning in parsed.warnings)


def test_advice_fits_why_pages_were_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has an engine, or has switched it off, is not told to install one."""
    monkeypatch.setattr(ocr, "has_engine", lambda name: True)
    use(monkeypatch, StandIn(fails_after=0))
    data = build_pdf([""], picture_pages=[0])
    for source in (Source(data=data, name="a.pdf", ocr=name) for name in ("auto", "off")):
        with pytest.raises(ParseError, match="OCR on it first") as caught:
            parse_pdf(source)
        assert "install" not in str(caught.value)
        assert ("OCR is off" in str(caught.value)) == (source.ocr == "off")


def test_what_was_read_before_a_failure_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """And said to be read; the rest is not."""
    use(monkeypatch, StandIn(fails_after=1))
    parsed = parse(build_pdf(["", ""], picture_pages=[0, 1]))
    assert parsed.text.startswith("Total | 1,234")
    assert "page 1 of 2 read by OCR (stand-in)" in parsed.warnings
    assert "page 2 not read by OCR: no such language" in parsed.warnings


def test_page_keeps_its_text_where_the_engine_reads_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of its letters have a meaning."""
    use(monkeypatch, StandIn())
    text = "AAAAAA and many other words that can be read as they are"
    parsed = parse(build_pdf([text], to_unicode="\ue001"))
    assert parsed.text.endswith(text.lstrip("A"))


def test_time_for_the_pages_before_is_not_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is one for all of the document."""
    use(monkeypatch, StandIn())
    clock = iter([0.0, 85.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock, 85.0))
    data = build_pdf(["text", ""], picture_pages=[1])
    parsed = parse_pdf(Source(data=data, name="a.pdf", ocr="auto", timeout_seconds=100))
    assert parsed.status == "needs_ocr"


def test_pictures_of_no_text_are_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A photograph was looked at, and holds none."""
    use(monkeypatch, StandIn(finds=False))
    with pytest.raises(ParseError) as caught:
        parse(build_pdf([""], picture_pages=[0]))
    assert caught.value.code == "no_text"


def test_engine_that_is_not_there_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is asked for by name; "auto" goes without."""
    monkeypatch.setattr(ocr, "_has_rapidocr", lambda: False)
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(OptionError, match=r"spanwise\[ocr\]"):
        check_engine("rapidocr")
    with pytest.raises(OptionError, match="tesseract-ocr"):
        check_engine("tesseract:deu")
    check_engine("auto")
    assert open_engine("auto") is None
    assert open_engine("off") is None


@pytest.mark.parametrize("name", ["", "Tesseract", "tesseract:", "tesseract:../x", "off:deu"])
def test_engine_has_a_known_name(name: str) -> None:
    """What goes to a command line is checked."""
    with pytest.raises(OptionError, match="ocr"):
        ParseOptions(ocr=name)


TABLE = (
    "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    "1\t1\t0\t0\t0\t0\t0\t0\t600\t800\t-1\t\n"
    "5\t1\t1\t1\t1\t1\t10\t20\t30\t12\t96\tOne\n"
    "5\t1\t1\t1\t1\t2\t50\t18\t30\t16\t96\ttwo\n"
    "5\t1\t1\t1\t2\t1\t10\t40\t30\t12\t96\t \n"
    "5\t1\t1\t1\t3\t1\t10\t60\t30\t12\t96\tthree\n"
)


def program(folder: Path, body: str) -> str:
    path = folder / "tesseract"
    path.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@posix_only
def test_tesseract_answers_with_a_table(tmp_path: Path) -> None:
    """Words of a line are together; empty ones are left out."""
    body = f"assert sys.stdin.buffer.read().startswith(b'P5 4 2 255\\n')\nprint({TABLE!r})"
    engine = Tesseract(program(tmp_path, body), languages="deu+eng")
    lines = engine.read(np.zeros((2, 4), dtype=np.uint8))
    assert [([word.text for word in line.words], line.top, line.bottom) for line in lines] == [
        (["One", "two"], 18, 34),
        (["three"], 60, 72),
    ]


@posix_only
def test_tesseract_that_fails_says_why(tmp_path: Path) -> None:
    """A language that is not installed, most often."""
    engine = Tesseract(program(tmp_path, "sys.exit('no deu.traineddata')"), languages="deu")
    with pytest.raises(OSError, match="no deu"):
        engine.read(np.zeros((2, 4), dtype=np.uint8))


@pytest.mark.slow
def test_rapidocr_reads_a_scanned_page() -> None:
    """The engine itself, with the models in its package."""
    data = scanned_pdf([PAGE])
    parsed = parse_pdf(Source(data=data, name="a.pdf", ocr="rapidocr"))
    assert "Annual Report" in parsed.text
    assert "The harbour office counts ships." in parsed.text
    assert "Revenue | 1,234 | 987" in parsed.text
    assert parsed.warnings == ("page 1 of 1 read by OCR (rapidocr)",)


def test_models_with_another_checksum_are_not_loaded(tmp_path: Path) -> None:
    """RapidOCR would download them."""
    package = find_spec("rapidocr")
    if package is None or package.origin is None:
        pytest.skip("needs rapidocr")
    models = Path(package.origin).parent / "models"
    folder = Path(shutil.copytree(models, tmp_path / "models"))
    assert set(check_models(folder).values()) == set(folder.glob("*.onnx"))
    damaged = folder / RAPIDOCR_MODELS["Cls"][0]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(OSError, match="not the expected model"):
        check_models(folder)
    damaged.unlink()
    with pytest.raises(FileNotFoundError, match=damaged.name):
        check_models(folder)
