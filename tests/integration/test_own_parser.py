"""Parser functions of the caller (`ParseOptions.parser`)."""

import io
import json
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.documents import build_zip

from spanwise import IngestReport, KnowledgeBase, ParseOptions, parse
from spanwise.errors import OptionError, ParseError
from spanwise.parsers.parsed import Parsed, Source
from spanwise.types import Heading

BINARY = b"\x00\x01\x02NOTE Freight\x00By barge it costs half.\xff"


class Notes:
    """Parser of a binary format: a title and a text, divided by a zero byte."""

    name = "notes"

    def __init__(self, version: str = "1") -> None:
        self.version = version
        self.calls: list[str] = []

    def __call__(self, source: Source) -> Parsed:
        """Return the note."""
        self.calls.append(source.name)
        title, _, text = source.data[8:-1].decode().partition("\x00")
        whole = f"{title}\n\n{text} (version {self.version})"
        heading = Heading(start=0, end=len(title), level=1, title=title)
        return Parsed(text=whole, media_type="text/x-note", title=title, headings=(heading,))


def upper(source: Source) -> Parsed:
    """Return the text in upper case."""
    return Parsed(text=source.data.decode(errors="replace").upper(), media_type="text/plain")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.notes").write_bytes(BINARY)
    (folder / "b.md").write_text("# Freight\n\nRoad transport.\n", encoding="utf-8")
    return folder


def add(
    path: Path, folder: Path, parser: object, call: Callable[..., IngestReport] = KnowledgeBase.sync
) -> IngestReport:
    options = ParseOptions(parser=parser)  # type: ignore[arg-type]
    with KnowledgeBase(path, parse=options, embedder=None) as base:
        return call(base, folder)


def test_a_function_parses_the_files_of_its_extension(tmp_path: Path, folder: Path) -> None:
    """Others go to the built-in parsers; the process of the caller runs the function."""
    notes = Notes()
    with KnowledgeBase(tmp_path / "a.kb", parse=ParseOptions(parser={".NOTES": notes})) as base:
        assert base.add(folder).added == ("a.notes", "b.md")
        assert notes.calls == [str(folder / "a.notes")]
        document = base.get("a.notes")
        assert (document.title, document.media_type) == ("Freight", "text/x-note")
        assert base.sections("a.notes")[0].path == ("Freight",)
        assert base.get("b.md").media_type == "text/markdown"
        assert base.search("What does a barge cost?").segments[0].document_id == "a.notes"
        assert base.add(folder).unchanged == ("a.notes", "b.md")
    parsed = parse(folder / "a.notes", options=ParseOptions(parser={".notes": Notes()}))
    assert replace(parsed, source_root=str(folder)) == document


def test_a_function_for_all_documents_gets_no_containers(tmp_path: Path, folder: Path) -> None:
    """Archives are opened, and their members are parsed by the function; e-mails are not."""
    (folder / "c.zip").write_bytes(build_zip({"d.txt": b"inside", "e.notes": b"\x00\x01note"}))
    (folder / "f.eml").write_bytes(b"From: a@example.org\nSubject: Freight\n\nRates rose.\n")
    with KnowledgeBase(tmp_path / "a.kb", parse=ParseOptions(parser=upper), embedder=None) as base:
        report = base.add(folder)
        assert report.failed == ()
        assert set(report.added) == {"a.notes", "b.md", "c.zip!/d.txt", "c.zip!/e.notes", "f.eml"}
        assert base.get("c.zip!/d.txt").text == "INSIDE"
        assert base.get("b.md").text.startswith("# FREIGHT")
        assert "Rates rose." in base.get("f.eml").text
        assert set(base.add(folder).unchanged) == set(report.added)


def test_a_function_may_claim_the_extension_of_a_container(tmp_path: Path, folder: Path) -> None:
    (folder / "c.pack").write_bytes(build_zip({"text": b"packed"}))

    def unpack(source: Source) -> Parsed:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            return Parsed(text=archive.read("text").decode(), media_type="text/x-pack")

    report = add(tmp_path / "a.kb", folder, {".pack": unpack, ".notes": Notes()})
    assert report.added == ("a.notes", "b.md", "c.pack")
    with KnowledgeBase(tmp_path / "a.kb", parse=ParseOptions(parser={".pack": unpack})) as base:
        assert base.get("c.pack").text == "packed"
        assert base.add(folder / "c.pack", dry_run=True).unchanged == ("c.pack",)


@pytest.mark.parametrize("call", [KnowledgeBase.add, KnowledgeBase.sync])
def test_another_version_parses_again(
    tmp_path: Path, folder: Path, call: Callable[..., IngestReport]
) -> None:
    """Only the documents of the changed function are parsed again."""
    path = tmp_path / "a.kb"
    add(path, folder, {".notes": Notes("1")}, call)
    assert add(path, folder, {".notes": Notes("1")}, call).unchanged == ("a.notes", "b.md")
    report = add(path, folder, {".notes": Notes("2")}, call)
    assert (report.replaced, report.unchanged) == (("a.notes",), ("b.md",))
    with KnowledgeBase(path) as base:
        assert base.get("a.notes").text.endswith("(version 2)")
        assert json.loads(base.record("a.notes").recipe)["parser"] == "notes 2"
        assert base.record("b.md").recipe == ""
        base.add_text("A text of a program.", document_id="text")
    assert add(path, folder, upper, call).replaced == ("a.notes", "b.md")
    with KnowledgeBase(path, parse=ParseOptions(parser=upper)) as base:
        assert base.add_text("A text of a program.", document_id="text").unchanged == ("text",)


def test_without_the_function_documents_stay(tmp_path: Path, folder: Path) -> None:
    """Nothing is requested, so nothing changes; a changed file needs the function again."""
    path = tmp_path / "a.kb"
    add(path, folder, {".notes": Notes()})
    assert add(path, folder, "spanwise").unchanged == ("a.notes", "b.md")
    (folder / "a.notes").write_bytes(BINARY.replace(b"half", b"less"))
    (folder / "b.md").write_text("# Freight\n\nRail.\n", encoding="utf-8")
    report = add(path, folder, "spanwise")
    assert report.replaced == ("b.md",)
    assert [failure.source for failure in report.failed] == [str(folder / "a.notes")]
    assert not any("parts made by a model" in warning for warning in report.warnings)


def fails(source: Source) -> Parsed:
    raise RuntimeError("out of ink")


def exits(source: Source) -> Parsed:
    raise SystemExit(3)


def refuses(source: Source) -> Parsed:
    raise source.error("encrypted", "it needs a password; save a copy without one")


def returning(**fields: Any) -> Callable[[Source], Parsed]:
    return lambda source: Parsed(**{"text": "a text", "media_type": "text/plain", **fields})


FAILURES: dict[str, tuple[Callable[[Source], object], str, str]] = {
    "error": (fails, "crashed", "the parser 'fails' failed: RuntimeError: out of ink"),
    "exit": (exits, "crashed", "the parser 'exits' failed: SystemExit: 3"),
    "own error": (refuses, "encrypted", "it needs a password"),
    "type": (lambda source: "text", "crashed", "returned a str, not a Parsed"),
    "no text": (returning(text=" \n"), "no_text", "found no text"),
    "surrogate": (returning(text="a\ud800"), "crashed", "lone surrogate at character 1"),
    "title": (returning(title=3), "crashed", "the title 3"),
    "odd title": (returning(title="\ud800"), "crashed", "not valid text"),
    "field": (returning(metadata={"a": [1]}), "crashed", "the metadata field 'a'"),
    "status": (returning(status="good"), "crashed", "the status 'good'"),
    "size": (returning(text="a" * 2_000), "too_large", "max_text_bytes"),
}


@pytest.mark.parametrize(("parser", "code", "message"), FAILURES.values(), ids=FAILURES)
def test_a_failure_names_the_parser(
    folder: Path, parser: Callable[[Source], object], code: str, message: str
) -> None:
    options = ParseOptions(parser={".notes": parser}, max_text_bytes=1_000)
    with KnowledgeBase(":memory:", parse=options, embedder=None) as base:
        base.add_text("Before.", document_id="before")
        report = base.add(folder / "a.notes")
        assert (report.added, len(base.list())) == ((), 1)
        (failure,) = report.failed
        assert failure.code == code
        assert message in failure.message
        assert failure.message.startswith(str(folder / "a.notes"))


def test_a_failure_stops_no_other_document(tmp_path: Path, folder: Path) -> None:
    report = add(tmp_path / "a.kb", folder, {".notes": fails})
    assert report.added == ("b.md",)
    assert len(report.failed) == 1


def test_the_cause_of_a_failure_is_kept(folder: Path) -> None:
    with pytest.raises(ParseError) as caught:
        parse(folder / "a.notes", options=ParseOptions(parser=fails))
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_function_is_called_for_one_file_at_a_time(tmp_path: Path) -> None:
    """It need not be safe for use by several threads."""
    most: list[int] = []
    for number in range(6):
        (tmp_path / f"{number}.notes").write_bytes(BINARY)
    count = 0

    def slow(source: Source) -> Parsed:
        nonlocal count
        count += 1
        most.append(count)
        time.sleep(0.02)
        count -= 1
        return upper(source)

    with KnowledgeBase(":memory:", parse=ParseOptions(parser=slow), embedder=None) as base:
        assert len(base.add(tmp_path).added) == 6
    assert max(most) == 1


@pytest.mark.parametrize(
    "parser", [3, {"notes": upper}, {".": upper}, {".notes": "docling"}, {3: upper}, None]
)
def test_other_values_are_refused(parser: object) -> None:
    with pytest.raises(OptionError, match=r"parser is .*a name, a function, or a mapping"):
        ParseOptions(parser=parser)  # type: ignore[arg-type]


def test_a_function_in_a_package_needs_no_attributes(tmp_path: Path, folder: Path) -> None:
    """Its name is recorded; without a version it is never parsed again."""
    add(tmp_path / "a.kb", folder, upper)
    with KnowledgeBase(tmp_path / "a.kb") as base:
        assert json.loads(base.record("b.md").recipe)["parser"] == "upper"
