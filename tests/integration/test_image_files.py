"""Image files are documents with a figure, found by what is read or described, or by their name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archives import build_mail
from tests.documents import build_zip
from tests.image_files import image_file, png_of_size
from tests.integration.commands import read_json, spanwise

from spanwise import ContextOptions, KnowledgeBase
from spanwise.errors import ModelError, ParseError
from spanwise.models.ports import ModelRequest
from spanwise.options import ParseOptions
from spanwise.testing.models import ScriptedModel

DESCRIBE = ContextOptions(describe_figures=True)
READ = ContextOptions(read_pages=True)
SHOWN = "Bar chart of the tonnage of whale oil: North 120, South 340."
PNG = image_file()


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None, parse=ParseOptions(ocr="off")) as base:
        yield base


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "harbour_plan.png"
    path.write_bytes(PNG)
    return path


def describer() -> ScriptedModel:
    return ScriptedModel(lambda request: json.dumps({"description": SHOWN}))


def test_image_is_kept_and_counted_without_a_model(base: KnowledgeBase, path: Path) -> None:
    """It is listed, found by its name, and returned as it is."""
    report = base.add(path)
    assert (report.added, report.failed, report.needs_ocr) == (
        ("harbour_plan.png",),
        (),
        ("harbour_plan.png",),
    )
    assert any("1 figure in 1 document" in warning for warning in report.warnings)
    (record,) = base.list()
    assert (record.title, record.media_type, record.pages) == ("harbour plan", "image/png", 1)
    (segment,) = base.search("plan of the harbour").segments
    assert segment.document_id == "harbour_plan.png"
    assert base.figure_image("harbour_plan.png", 0) == PNG
    assert base.add(path).unchanged


def test_model_describes_an_image(base: KnowledgeBase, path: Path) -> None:
    """The model sees the file, and the document is complete."""
    base.add(path)
    model = describer()
    report = base.add(path, llm=model, context=DESCRIBE)
    assert (report.replaced, report.warnings[1:]) == (("harbour_plan.png",), ())
    assert model.requests[0].images == (PNG,)
    document = base.get("harbour_plan.png")
    (figure,) = document.figures
    assert document.text == f"harbour plan\n\n[Figure described by scripted:model: {SHOWN}]"
    assert document.text[figure.start :].startswith("[Figure")
    assert (document.status, document.warnings) == ("ok", ())
    (segment,) = base.search("tonnage of whale oil").segments
    assert segment.figures == (figure,)
    assert base.add(path, llm=model, context=DESCRIBE).unchanged


def test_model_reads_the_text_of_an_image(base: KnowledgeBase, path: Path) -> None:
    model = ScriptedModel(
        lambda request: json.dumps({"blank": False, "text": "# Dues\n\nThe dues rose in 1900."})
    )
    report = base.add(path, llm=model, context=READ)
    assert not any("figure" in warning for warning in report.warnings)
    document = base.get("harbour_plan.png")
    assert document.text == "Dues\n\nThe dues rose in 1900."
    assert [heading.title for heading in document.headings] == ["Dues"]
    assert (document.status, document.figures[0].caption) == ("ok", "Dues")
    assert base.add(path, llm=model, context=READ).unchanged
    assert base.add(path, metadata={"year": 1900}).updated
    assert base.add(path, metadata={}).replaced
    assert base.get("harbour_plan.png").text == document.text


def test_blank_image_keeps_its_name(base: KnowledgeBase, path: Path) -> None:
    model = ScriptedModel(lambda request: json.dumps({"blank": True, "text": ""}))
    report = base.add(path, llm=model, context=READ)
    assert base.get("harbour_plan.png").text == "harbour plan"
    assert any("1 figure in 1 document" in warning for warning in report.warnings)


def test_reading_and_description_are_combined(base: KnowledgeBase, path: Path) -> None:
    def reply(request: ModelRequest) -> str:
        is_page = "blank" in json.dumps(request.schema) if request.schema else False
        return json.dumps(
            {"blank": False, "text": "The dues rose."} if is_page else {"description": SHOWN}
        )

    both = ContextOptions(read_pages=True, describe_figures=True)
    base.add(path, llm=ScriptedModel(reply), context=both)
    document = base.get("harbour_plan.png")
    assert "The dues rose." in document.text
    assert SHOWN in document.text


def test_image_is_kept_if_the_model_is_down(base: KnowledgeBase, path: Path) -> None:
    """The same command asks again."""

    def fail(request: ModelRequest) -> str:
        raise ModelError("it is down", provider="scripted", model="model", retryable=True)

    for context in (DESCRIBE, READ):
        report = base.add(path, llm=ScriptedModel(fail), context=context)
        assert not report.failed
        assert any("not described" in text or "not read" in text for text in report.warnings)
        assert base.get("harbour_plan.png").text == "harbour plan"
    base.add(path, llm=describer(), context=DESCRIBE)
    assert SHOWN in base.get("harbour_plan.png").text


@pytest.mark.parametrize("kind", ["TIFF", "BMP"])
def test_formats_that_no_model_accepts_are_drawn(
    base: KnowledgeBase, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"a.{kind.lower()}"
    path.write_bytes(image_file(kind))
    model = describer()
    base.add(path, llm=model, context=DESCRIBE)
    assert model.requests[0].images[0].startswith(b"\x89PNG")
    assert base.figure_image(path.name, 0).startswith(b"\x89PNG")


def test_images_in_archives_and_mails_are_documents(base: KnowledgeBase, tmp_path: Path) -> None:
    """Icons and logos are left out, and so are images that are shown inside an e-mail."""
    icon = png_of_size(48, 48)
    (tmp_path / "a.zip").write_bytes(build_zip({"in/plan.png": PNG, "icon.png": icon}))
    attachments = {"chart.png": PNG, "logo.png": png_of_size(260, 80)}
    mail = build_mail("See the chart.", attachments=attachments, Subject="Tonnage")
    (tmp_path / "m.eml").write_bytes(mail)
    report = base.add(tmp_path)
    assert sorted(report.added) == [
        "a.zip!/in/plan.png",
        "m.eml",
        "m.eml!/chart.png",
    ]
    assert not report.failed
    (left_out,) = (warning for warning in report.warnings if "left out" in warning)
    assert "icon or logo" in left_out
    assert left_out.endswith("(and 1 more in containers)")
    assert sorted(base.sync(tmp_path, dry_run=True).unchanged) == sorted(report.added)
    model = describer()
    base.add(tmp_path, llm=model, context=DESCRIBE)
    assert SHOWN in base.get("m.eml!/chart.png").text
    assert len(base.search("whale oil").segments) >= 1


def test_images_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "plan.jpg").write_bytes(image_file("JPEG"))
    (tmp_path / "icon.png").write_bytes(png_of_size(16, 16))
    done = spanwise("add", "plan.jpg", "--ocr", "off", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--describe-figures" in done.stderr
    listed = read_json("list", folder=tmp_path)
    assert [record["id"] for record in listed] == ["plan.jpg"]
    icon = spanwise("add", "icon.png", folder=tmp_path)
    assert icon.returncode != 0
    assert "16 by 16 pixels" in icon.stderr


def test_pages_of_an_image_are_not_drawn(base: KnowledgeBase, path: Path) -> None:
    base.add(path)
    with pytest.raises(ParseError, match="only pages of PDFs"):
        base.page_image("harbour_plan.png", 1)
