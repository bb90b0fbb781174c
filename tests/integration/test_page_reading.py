"""Pages of PDFs that a language model reads when they are added."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import pytest
from tests.documents import build_pdf, build_zip
from tests.integration.commands import read_json, spanwise
from tests.models import made_answer
from tests.pictures import shade_of, shaded_pdf
from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise import ContextOptions, KnowledgeBase, ModelOptions
from spanwise.errors import ModelError, ModelKeyError
from spanwise.models.ports import ModelRequest
from spanwise.options import ParseOptions
from spanwise.testing.models import ScriptedModel
from spanwise.types import Usage

READ = ContextOptions(read_pages=True)
SHADES = (40, 90, 140, 190)
"""By its shade the model of a test knows a page."""
PAGES = {
    40: "# Dues\n\nThe dues of the harbour rose by 4 per cent.",
    90: "| Quay | Ships |\n|---|---|\n| North | 1,040 |\n| South | 900 |",
    140: "The pilots are paid by the ship.",
    190: "Signed in Kiel.",
}


class Eyes:
    """Reads pages by their shade; fails where it is told to."""

    def __init__(self, *, failing: dict[int, Exception | str] | None = None) -> None:
        self.seen: list[int] = []
        self.failing = failing or {}
        self._lock = Lock()
        self.model = ScriptedModel(self._answer, dollars_a_token=0.0001)

    def _answer(self, request: ModelRequest) -> str:
        (image,) = request.images
        shade = min(PAGES, key=lambda one: abs(one - shade_of(image)))
        with self._lock:
            self.seen.append(shade)
        outcome = self.failing.get(shade, PAGES[shade])
        if isinstance(outcome, Exception):
            raise outcome
        return json.dumps({"blank": not outcome, "text": outcome})


def down() -> ModelError:
    return ModelError("it is down", provider="scripted", model="model", retryable=True)


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None, parse=ParseOptions(ocr="off")) as base:
        yield base


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    path = tmp_path / "scan.pdf"
    path.write_bytes(shaded_pdf(list(SHADES)))
    return path


def test_a_scan_is_read_page_by_page(base: KnowledgeBase, scan: Path) -> None:
    eyes = Eyes()
    report = base.add(scan, llm=eyes.model, context=READ)
    assert report.added == ("scan.pdf",)
    assert report.needs_ocr == report.partial == ()
    assert sorted(eyes.seen) == list(SHADES)
    assert report.usage_by_task["pages"].calls == 4
    assert report.warnings[-1].endswith("pages 1-4 of 4 read by scripted:model")
    document = base.get("scan.pdf")
    assert document.text == (
        "Dues\n\nThe dues of the harbour rose by 4 per cent.\n\n"
        "Quay | Ships\nNorth | 1,040\nSouth | 900\n\n"
        "The pilots are paid by the ship.\n\nSigned in Kiel."
    )
    assert [document.text[page.start : page.end].split()[0] for page in document.pages] == [
        "Dues", "Quay", "The", "Signed"
    ]  # fmt: skip
    assert document.status == "ok"
    assert [one.title for one in document.headings] == ["Dues"]
    assert len(document.blocks) == 1
    (segment, *_) = base.search("who pays the pilots?").segments
    assert segment.citation.pages is not None


def test_a_repeated_run_asks_nothing_and_what_was_read_stays(
    base: KnowledgeBase, scan: Path
) -> None:
    eyes = Eyes()
    base.add(scan, llm=eyes.model, context=READ)
    text = base.get("scan.pdf").text
    for context in (READ, None):
        llm = eyes.model if context else None
        report = base.add(scan, llm=llm, context=context)
        assert report.unchanged == ("scan.pdf",)
        assert report.usage == Usage()
    assert len(eyes.seen) == 4
    assert base.get("scan.pdf").text == text


def test_metadata_can_change_without_the_model(base: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "mixed.pdf"
    path.write_bytes(build_pdf(["First page.", ""], picture_pages=[1]))
    model = ScriptedModel(lambda request: json.dumps({"text": "Words of the picture."}))
    base.add(path, llm=model, context=READ)
    before = base.get("mixed.pdf")
    assert before.text == "First page.\n\nWords of the picture."
    report = base.add(path, metadata={"year": 2020})
    assert report.updated == ("mixed.pdf",)
    after = base.get("mixed.pdf")
    assert (after.text, after.pages, after.status) == (before.text, before.pages, "ok")
    assert base.add(path, metadata={"year": 2020}, llm=model, context=READ).unchanged
    assert len(model.requests) == 1


def test_metadata_of_a_scan_can_change_without_the_model(base: KnowledgeBase, scan: Path) -> None:
    """Of which nothing can be read without one; once it has changed, this is said."""
    base.add(scan, llm=Eyes().model, context=READ)
    text = base.get("scan.pdf").text
    report = base.add(scan, metadata={"year": 2020})
    assert report.updated == ("scan.pdf",)
    assert base.get("scan.pdf").text == text
    assert base.record("scan.pdf").metadata["year"] == 2020
    scan.write_bytes(shaded_pdf([40]))
    report = base.add(scan, metadata={"year": 2020})
    assert [failure.code for failure in report.failed] == ["needs_ocr"]
    assert base.get("scan.pdf").text == text, "what is stored stays"


def test_only_pages_that_are_pictures_are_read(base: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "mixed.pdf"
    path.write_bytes(build_pdf(["First page.", "", "Last page."], picture_pages=[1]))
    model = ScriptedModel(lambda request: json.dumps({"text": "Words of the picture."}))
    report = base.add(path, llm=model, context=READ)
    assert len(model.requests) == 1
    assert base.get("mixed.pdf").text == "First page.\n\nWords of the picture.\n\nLast page."
    assert report.needs_ocr == ()


def test_pages_whose_letters_have_no_meaning_are_read(base: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "garbled.pdf"
    path.write_bytes(build_pdf(["A" * 50], to_unicode="\ue001"))
    model = ScriptedModel(lambda request: json.dumps({"text": "What people see."}))
    report = base.add(path, llm=model, context=READ)
    assert base.get("garbled.pdf").text == "What people see."
    assert report.partial == ()


@pytest.mark.parametrize(
    ("failing", "asked_again"),
    [({90: "I'm sorry, I cannot read it."}, False), ({90: down()}, True)],
    ids=["refusal", "down"],
)
def test_a_page_that_is_not_read_stays_without_text_and_is_told(
    base: KnowledgeBase, scan: Path, failing: dict[int, Exception | str], asked_again: bool
) -> None:
    eyes = Eyes(failing=failing)
    eyes.model.concurrency = 1
    report = base.add(scan, llm=eyes.model, context=READ)
    assert report.needs_ocr == ("scan.pdf",)
    document = base.get("scan.pdf")
    assert document.pages[1].start == document.pages[1].end
    assert "not read by scripted:model: " in report.warnings[-2 if asked_again else -1]
    assert document.text.startswith("Dues")
    better = Eyes()
    report = base.add(scan, llm=better.model, context=READ)
    if asked_again:
        assert sorted(better.seen) == [90, 140, 190], "the first page is kept"
        assert report.replaced == ("scan.pdf",)
        assert base.get("scan.pdf").status == "ok"
    else:
        assert report.unchanged == ("scan.pdf",)


def test_where_nothing_is_read_the_document_is_as_without_a_model(
    base: KnowledgeBase, scan: Path, tmp_path: Path
) -> None:
    eyes = Eyes(failing=dict.fromkeys(PAGES, down()))
    eyes.model.concurrency = 1
    report = base.add(scan, llm=eyes.model, context=READ)
    (failure,) = report.failed
    assert failure.code == "needs_ocr"
    assert "not read by scripted:model: it is down" in failure.message
    assert len(eyes.seen) == 1, "no more is asked of a model that cannot be reached"
    mixed = tmp_path / "mixed.pdf"
    mixed.write_bytes(build_pdf(["First page.", ""], picture_pages=[1]))
    model = ScriptedModel(lambda request: "no JSON")
    report = base.add(mixed, llm=model, context=READ)
    assert report.needs_ocr == ("mixed.pdf",)
    assert base.get("mixed.pdf").text == "First page."
    assert any("page 2 of 2 not read by scripted:model" in said for said in report.warnings)


def test_a_model_that_sees_no_pictures_is_asked_a_few_times(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    refused = ModelError("it sees no pictures", provider="scripted", model="model", status=400)
    eyes = Eyes(failing=dict.fromkeys(PAGES, refused))
    eyes.model.concurrency = 1
    path = tmp_path / "long.pdf"
    path.write_bytes(shaded_pdf([40] * 5 + [90] * 5))
    report = base.add(path, llm=eyes.model, context=READ)
    assert "it sees no pictures" in report.failed[0].message
    assert len(eyes.seen) == 3


def test_a_refused_key_ends_the_run(base: KnowledgeBase, scan: Path) -> None:
    key = ModelKeyError("the key is refused", provider="scripted", model="model", status=401)
    with pytest.raises(ModelKeyError):
        base.add(scan, llm=Eyes(failing={40: key}).model, context=READ)


def test_pages_without_anything_to_read_are_read(base: KnowledgeBase, tmp_path: Path) -> None:
    """A photograph between pages of text is no loss."""
    path = tmp_path / "photo.pdf"
    path.write_bytes(shaded_pdf([40, 90]))
    report = base.add(path, llm=Eyes(failing={90: ""}).model, context=READ)
    assert report.needs_ocr == report.partial == ()
    assert base.get("photo.pdf").text.startswith("Dues")
    alone = tmp_path / "alone.pdf"
    alone.write_bytes(shaded_pdf([90]))
    report = base.add(alone, llm=Eyes(failing={90: ""}).model, context=READ)
    assert report.failed[0].code == "no_text"


def test_a_limit_on_the_cost_ends_the_run_and_the_next_one_goes_on(
    tmp_path: Path, scan: Path
) -> None:
    (tmp_path / "later.txt").write_text("Text that comes after the scan.")
    path, eyes = tmp_path / "a.kb", Eyes()
    eyes.model.concurrency = 1
    with KnowledgeBase(path, embedder=None, models=ModelOptions(max_cost=0.66)) as base:
        report = base.add(scan, tmp_path / "later.txt", llm=eyes.model, context=READ)
        assert [failure.code for failure in report.failed] == ["cost_limit", "cost_limit"]
        assert base.list() == []
        assert 0 < report.usage.cost <= 0.66  # type: ignore[operator]
    first = len(eyes.seen)
    assert 0 < first < 4
    with KnowledgeBase(path) as base:
        report = base.add(scan, tmp_path / "later.txt", llm=eyes.model, context=READ)
        assert len(report.added) == 2
    assert len(eyes.seen) == 4, "what was paid for is kept"


def test_a_dry_run_counts_the_pages_and_reads_none(base: KnowledgeBase, scan: Path) -> None:
    eyes = Eyes()
    context = ContextOptions(read_pages=True, headers=True)
    report = base.add(scan, llm=eyes.model, context=context, dry_run=True)
    assert report.added == ("scan.pdf",)
    usage = report.usage_by_task
    assert usage["pages"].calls - usage["pages"].repeated_calls == 4
    assert usage["summary"].calls - usage["summary"].repeated_calls == 1
    assert eyes.seen == []
    assert base.list() == []


def test_what_is_read_goes_on_to_sections_and_headers(base: KnowledgeBase, scan: Path) -> None:
    eyes = Eyes()

    def answer(request: ModelRequest) -> str:
        if request.images:
            return eyes.model.answer(request)
        return made_answer(request)

    context = ContextOptions(read_pages=True, headers=True)
    base.add(scan, llm=ScriptedModel(answer), context=context)
    assert base.record("scan.pdf").title == "Made title"


def test_a_member_of_an_archive_is_read(base: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "box.zip"
    path.write_bytes(build_zip({"in/scan.pdf": shaded_pdf([140, 190])}))
    report = base.add(path, llm=Eyes().model, context=READ)
    assert report.added == ("box.zip!/in/scan.pdf",)
    assert base.get("box.zip!/in/scan.pdf").text.endswith("Signed in Kiel.")


def test_documents_without_such_pages_ask_nothing(base: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(build_pdf(["Text of a page."]))
    (tmp_path / "b.md").write_text("# Text")
    eyes = Eyes()
    report = base.add(tmp_path, llm=eyes.model, context=READ)
    assert len(report.added) == 2
    assert report.usage == Usage()


def seen_over_http(received: Received) -> Reply:
    """Return what stands on the page that came with a chat request."""
    (url,) = [
        part["image_url"]["url"]
        for message in received.body["messages"]
        for part in message["content"]
        if isinstance(part, dict) and part.get("type") == "image_url"
    ]
    png = base64.b64decode(url.removeprefix("data:image/png;base64,"))
    return chat(json.dumps({"text": PAGES[shade_of(png)]}))


def test_the_command_reads_pages_over_http(scan: Path, tmp_path: Path) -> None:
    with ScriptedServer(seen_over_http) as server:
        asked = ("scan.pdf", "--read-pages", "--llm", f"compatible:eyes@{server.url}")
        foreseen = spanwise("add", *asked, "--dry-run", folder=tmp_path)
        assert (foreseen.returncode, foreseen.stderr) == (0, "")
        assert foreseen.stdout.splitlines()[1].startswith("pages: at most: 8 model calls (4 ")
        assert server.received == []
        report = read_json("add", *asked, folder=tmp_path)
        assert report["added"] == ["scan.pdf"]
        assert report["usage"]["calls"] == len(server.received) == 4
        assert read_json("add", *asked, folder=tmp_path)["unchanged"] == ["scan.pdf"]
        assert len(server.received) == 4
    shown = spanwise("show", "scan.pdf", folder=tmp_path)
    assert "The pilots are paid by the ship." in shown.stdout


def test_reading_pages_needs_a_model(scan: Path, tmp_path: Path) -> None:
    refused = spanwise("add", "scan.pdf", "--read-pages", folder=tmp_path)
    assert refused.returncode == 2
    assert "--read-pages needs a language model" in refused.stderr
    assert scan.is_file()


CHILD = """
import os, sys, time
from spanwise import ContextOptions, KnowledgeBase
from tests.integration.test_page_reading import Eyes

base, scan, log = sys.argv[1:]
file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
eyes = Eyes()
read = eyes.model.answer

def answer(request):
    if eyes.seen:
        time.sleep(0.2)
    text = read(request)
    os.write(file, b"call\\n")
    return text

eyes.model.answer = answer
eyes.model.concurrency = 1
with KnowledgeBase(base, embedder=None) as knowledge_base:
    knowledge_base.add(scan, llm=eyes.model, context=ContextOptions(read_pages=True))
"""


def test_pages_that_were_read_before_a_kill_are_not_read_again(tmp_path: Path, scan: Path) -> None:
    log = tmp_path / "log"
    root = Path(__file__).resolve().parents[2]
    arguments = [str(tmp_path / "a.kb"), str(scan), str(log)]
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=subprocess.PIPE,
    ) as process:
        until = time.monotonic() + 60
        while not log.exists() or log.read_text().count("call") < 2:
            assert process.poll() is None, "it ended too early"
            assert time.monotonic() < until
            time.sleep(0.002)
        process.kill()
    eyes = Eyes()
    with KnowledgeBase(tmp_path / "a.kb") as base:
        assert base.list() == []
        assert base.check().findings == ()
        report = base.add(scan, llm=eyes.model, context=READ)
        assert base.get("scan.pdf").status == "ok"
    assert report.usage_by_task["pages"].cached_calls in (1, 2, 3), "the second may be cut off"
    assert len(eyes.seen) == 4 - report.usage_by_task["pages"].cached_calls
