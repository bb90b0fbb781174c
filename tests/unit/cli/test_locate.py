"""`spanwise locate`, `show`, `list` and `info`."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from spanwise import Document, KnowledgeBase
from spanwise.cli.failures import ExitCode
from spanwise.cli.main import main
from spanwise.knowledge_base.internals import add_parsed
from spanwise.types import Heading, Page

TEXT = (
    "# Leases\nThe lease of the plant in Austin ends in May 2031.\n"
    "# Freight\nMargins fell because freight cost more than planned.\n"
)
FREIGHT = TEXT.index("# Freight")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a knowledge base of a document with pages that could be read in part."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as knowledge_base:
        knowledge_base.add_text("All of it.", document_id="note")
        add_parsed(
            knowledge_base,
            Document(
                id="report.pdf",
                text=TEXT,
                title="Report",
                pages=(
                    Page(start=0, end=FREIGHT, label="F-1"),
                    Page(start=FREIGHT, end=len(TEXT)),
                ),
                headings=(
                    Heading(start=0, end=8, level=1, title="Leases"),
                    Heading(start=FREIGHT, end=FREIGHT + 9, level=1, title="Freight"),
                ),
                status="partial",
                warnings=("page 3 cannot be read",),
            ),
        )
    return tmp_path / "a.kb"


def run(path: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a command; return its exit code and what it wrote."""
    code = main([*arguments, "--kb", str(path)])
    written = capsys.readouterr()
    assert written.err == "" or code == ExitCode.USAGE
    return code, written.out + written.err


def result_of(path: Path, question: str) -> dict[str, Any]:
    with KnowledgeBase(path) as knowledge_base:
        plain = knowledge_base.search(question).to_dict()
    result: dict[str, Any] = json.loads(json.dumps(plain))
    return result


def replace_text(path: Path, old: str, new: str) -> None:
    with KnowledgeBase(path) as knowledge_base:
        knowledge_base.add_text(TEXT.replace(old, new), document_id="report.pdf", replace=True)


def test_what_a_search_wrote_is_followed(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a file, as long as the text stands; then the passage that stands in its place."""
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps(result_of(path, "Why did margins fall?")), encoding="utf-8")
    code, output = run(path, "locate", str(answer), capsys=capsys)
    assert code == ExitCode.OK
    assert "current  Report" in output
    replace_text(path, "# Leases", "More of it.\n# Leases")
    code, output = run(path, "locate", str(answer), capsys=capsys)
    assert code == ExitCode.OK
    assert "moved" in output
    replace_text(path, "freight cost", "shipping cost")
    code, output = run(path, "locate", str(answer), capsys=capsys)
    assert code == ExitCode.NOTHING_FOUND
    assert "changed" in output
    assert "because shipping cost more" in output
    with KnowledgeBase(path) as knowledge_base:
        knowledge_base.remove("report.pdf")
    code, output = run(path, "locate", str(answer), capsys=capsys)
    assert code == ExitCode.NOTHING_FOUND
    assert "no document 'report.pdf' any more" in output


@pytest.mark.parametrize("kind", ["result", "segments", "segment", "citation"])
def test_any_part_of_a_result_is_read_from_standard_input(
    kind: str,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = result_of(path, "Why did margins fall?")
    given = {
        "result": result,
        "segments": result["segments"],
        "segment": result["segments"][0],
        "citation": result["segments"][0]["citation"],
    }[kind]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(given).encode())))
    code, output = run(path, "locate", "-", "--json", capsys=capsys)
    assert code == ExitCode.OK
    located = json.loads(output)["citations"]
    assert [one["status"] for one in located] == ["current"]
    assert located[0]["text"] == result["segments"][0]["text"]
    assert located[0]["citation"] == result["segments"][0]["citation"]


@pytest.mark.parametrize(
    ("data", "output"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe\xfa", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"{}", "holds no citation"),
        (b'[["a"], 3, {"segments": []}]', "holds no citation"),
        (b'{"document_id": "report.pdf", "start": 0, "end": 5}', "does not hold the text"),
        (b'{"document_id": 7, "start": 0, "end": 5, "quote": "# Lea"}', "document_id of"),
        (b'{"document_id": "a", "start": 0, "end": 1e99, "quote": "x"}', "end of"),
        (b'{"document_id": "a", "start": 5, "end": 5, "quote": ""}', "no citation"),
        (b'{"document_id": "a", "start": 0, "end": 1, "quote": "\\ud800"}', "surrogate"),
        (
            b'{"document_id": "report.pdf", "start": 0, "end": 5, "quote": "# Lea",'
            b' "text_hash": "00"}',
            "its hash is another one",
        ),
    ],
)
def test_input_without_citations_is_refused(
    data: bytes, output: str, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what is wrong, whatever stands in the file."""
    (tmp_path / "given.json").write_bytes(data)
    code, written = run(path, "locate", str(tmp_path / "given.json"), capsys=capsys)
    assert code == ExitCode.USAGE
    assert output in written


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (["--text"], TEXT),
        (["--page", "1"], TEXT[:FREIGHT]),
        (["--page", "F-1"], TEXT[:FREIGHT]),
        (["--page", "2"], TEXT[FREIGHT:]),
        (["--start", "2", "--end", "8"], "Leases\n"),
    ],
)
def test_text_is_written_unchanged(
    arguments: Sequence[str], written: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(path, "show", "report.pdf", *arguments, capsys=capsys) == (ExitCode.OK, written)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["--page", "3"], "no page '3' among the 2 pages"),
        (["--page", "F-2"], "no page 'F-2'"),
        (["--page", "1", "--text"], "exclude each other"),
        (["--page", "1", "--sections"], "leave out --sections"),
        (["--start", "9", "--end", "4"], "is not inside"),
    ],
)
def test_a_part_that_is_none_is_refused(
    arguments: Sequence[str], output: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, written = run(path, "show", "report.pdf", *arguments, capsys=capsys)
    assert code == ExitCode.USAGE
    assert output in written


def test_a_range_comes_with_its_citation(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which `locate` takes."""
    _, output = run(path, "show", "report.pdf", "--page", "F-1", "--json", capsys=capsys)
    shown = json.loads(output)
    assert shown["text"] == TEXT[:FREIGHT]
    assert shown["citation"]["page_labels"] == ["F-1", "F-1"]
    with KnowledgeBase(path) as knowledge_base:
        assert knowledge_base.locate(shown["citation"]).status == "current"


def test_a_document_comes_whole_as_json(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, pages, headings, status, version and warnings."""
    _, output = run(path, "show", "report.pdf", "--json", capsys=capsys)
    shown = json.loads(output)
    document, record = shown["document"], shown["record"]
    assert document["text"] == TEXT
    assert [heading["title"] for heading in document["headings"]] == ["Leases", "Freight"]
    assert [page["label"] for page in document["pages"]] == ["F-1", None]
    assert (record["status"], document["warnings"]) == ("partial", ["page 3 cannot be read"])
    assert len(record["version"]) == 12


def test_incomplete_documents_are_reported(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By `list`, `show` and `info`; complete documents have no status."""
    _, listed = run(path, "list", capsys=capsys)
    assert listed.count("read in part") == 1
    _, shown = run(path, "show", "report.pdf", capsys=capsys)
    assert "read in part" in shown
    assert "page 3 cannot be read" in shown
    _, whole = run(path, "show", "note", capsys=capsys)
    assert "status" not in whole
    _, told = run(path, "info", capsys=capsys)
    assert "read in part" in told
    assert "needs OCR" not in told
    _, filtered = run(path, "list", "--where", 'status != "ok"', capsys=capsys)
    assert "report.pdf" in filtered
    assert "1 document" in filtered
