"""Export of a knowledge base to files, and import of such files."""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet
import pytest
from tests.integration.commands import spanwise

from spanwise import ChunkOptions, GivenParts, KnowledgeBase, Section
from spanwise.errors import FormatError, OptionError
from spanwise.types import IngestProgress

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
QUESTION = "Why did the gross margin fall in 2023?"
Format = Literal["jsonl", "parquet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a knowledge base of files, and of a text with given parts."""
    folder = tmp_path_factory.mktemp("exchange")
    shutil.copytree(REPORTS, folder / "reports")
    with KnowledgeBase(folder / "full.kb") as kb:
        kb.add(folder / "reports", metadata={"company": "Harrow", "year": 2023, "draft": False})
        text = "First part about freight.\n\nSecond part about the mill."
        sections = (
            Section(start=0, end=27, title="Freight", path=("Freight",), summary="On costs."),
            Section(start=27, end=len(text), title="Mill", path=("Mill",)),
        )
        given = GivenParts(title="Given title", summary="A summary.", sections=sections)
        kb.add_text(text, document_id="given", given=given, metadata={"=field": "=1+1"})
    return folder


@pytest.fixture
def full(folder: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(folder / "full.kb") as kb:
        yield kb


def _content(kb: KnowledgeBase) -> list[object]:
    """Return everything that a knowledge base holds of its documents."""
    return [
        (record, kb.get(record.id), kb.sections(record.id), kb.chunks(record.id))
        for record in kb.list()
    ]


@pytest.mark.parametrize("table_format", ["jsonl", "parquet"])
def test_an_import_gives_the_same_knowledge_base(
    full: KnowledgeBase, tmp_path: Path, table_format: Format
) -> None:
    exported = full.export_to(tmp_path / "out", table_format=table_format)
    assert (exported.documents, exported.chunks) == (5, full.info().chunks)
    with KnowledgeBase(tmp_path / "copy.kb") as copy:
        report = copy.import_from(tmp_path / "out")
        assert (len(report.added), report.failed, report.embedded_chunks) == (5, (), 0)
        assert _content(copy) == _content(full)
        assert len(copy.import_from(tmp_path / "out").unchanged) == 5
    with KnowledgeBase(tmp_path / "copy.kb") as copy:  # its index is complete now
        assert copy.search(QUESTION).context == full.search(QUESTION).context


def test_files_of_an_import_are_recognised_by_add(full: KnowledgeBase, tmp_path: Path) -> None:
    full.export_to(tmp_path / "out")
    source = Path(full.record("supply-agreement.txt").source_root)
    with KnowledgeBase(tmp_path / "copy.kb") as copy:
        copy.import_from(tmp_path / "out")
        assert len(copy.add(source).unchanged) == 4


def test_without_fitting_vectors_the_chunks_are_embedded(
    full: KnowledgeBase, tmp_path: Path
) -> None:
    full.export_to(tmp_path / "out", vectors=False)
    with KnowledgeBase(tmp_path / "copy.kb") as copy:
        report = copy.import_from(tmp_path / "out")
        assert report.embedded_chunks == report.chunks > 0
    with KnowledgeBase(tmp_path / "copy.kb") as copy:
        assert copy.search(QUESTION).context == full.search(QUESTION).context


def test_other_chunk_options_divide_the_documents_again(
    full: KnowledgeBase, tmp_path: Path
) -> None:
    full.export_to(tmp_path / "out")
    with KnowledgeBase(
        ":memory:", embedder=None, chunks=ChunkOptions(target=200, paragraph_min=40)
    ) as copy:
        copy.import_from(tmp_path / "out")
        assert len(copy.chunks("handbook.md")) > len(full.chunks("handbook.md"))
        assert copy.sections("given") != ()
        assert copy.record("given").title == "Given title"


def test_parquet_has_vectors_and_metadata(full: KnowledgeBase, tmp_path: Path) -> None:
    full.export_to(tmp_path / "out", table_format="parquet")
    chunks: list[dict[str, Any]] = pyarrow.parquet.read_table(
        tmp_path / "out" / "chunks.parquet"
    ).to_pylist()
    assert all(math.isclose(math.hypot(*row["vector"]), 1, abs_tol=0.01) for row in chunks)
    documents = pyarrow.parquet.read_table(tmp_path / "out" / "documents.parquet").to_pylist()
    metadata = {row["id"]: json.loads(row["metadata"]) for row in documents}
    assert metadata["handbook.md"]["year"] == 2023
    assert metadata["handbook.md"]["draft"] is False


def test_an_import_during_a_rebuild_keeps_all_parts(full: KnowledgeBase, tmp_path: Path) -> None:
    full.export_to(tmp_path / "out")
    with (
        KnowledgeBase(tmp_path / "copy.kb") as copy,
        KnowledgeBase(tmp_path / "copy.kb") as other,
    ):
        rebuilt: list[object] = []

        def rebuild_once(_: IngestProgress) -> None:
            if not rebuilt:
                rebuilt.append(other.rebuild(tokenizer="chars:4"))

        copy.import_from(tmp_path / "out", on_document=rebuild_once)
        for record in full.list():
            assert [s.title for s in copy.sections(record.id)] == [
                s.title for s in full.sections(record.id)
            ]
        assert copy.record("given").summary == "A summary."


def test_a_filter_selects_the_documents(full: KnowledgeBase, tmp_path: Path) -> None:
    assert full.export_to(tmp_path / "out", where="year = 2023").documents == 4


def test_cells_of_csv_are_no_formulas(tmp_path: Path) -> None:
    with KnowledgeBase(":memory:", embedder=None) as kb:
        kb.add_text(
            "=HYPERLINK(1)\n\n-2 and @x",
            document_id="+a",
            title="=cmd|' /C calc'!A0",
            metadata={"=x": "=1+1"},
        )
        kb.add_text("Text; more text.", document_id="b", title="\uff1d1+1")
        kb.export_to(tmp_path / "out", table_format="csv")
    cells = []
    for file in sorted((tmp_path / "out").glob("*.csv")):
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.reader(stream, quoting=csv.QUOTE_NONNUMERIC)  # other cells are numbers
            cells += [cell for row in rows for cell in row]
    assert all(isinstance(cell, str) for cell in cells)
    assert "'=cmd|' /C calc'!A0" in cells
    assert "'\uff1d1+1" in cells
    assert "'+a" in cells
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []
    with KnowledgeBase(":memory:") as kb, pytest.raises(OptionError, match="csv"):
        kb.import_from(tmp_path / "out")


def test_an_existing_folder_is_not_overwritten(full: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(OptionError, match="exists"):
        full.export_to(tmp_path / "out")
    with pytest.raises(OptionError, match="does not exist"):
        full.export_to(tmp_path / "no" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def _damaged_line(folder: Path, table: str, **values: object) -> None:
    """Replace values in the first row of a table of JSON Lines."""
    path = folder / f"{table}.jsonl"
    first, *others = path.read_text("utf-8").splitlines()
    lines = [json.dumps({**json.loads(first), **values}), *others]
    path.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("documents", {"text": 3}),
        ("documents", {"text": "\ud800"}),
        ("documents", {"pages": [{"start": 5, "end": 2}]}),
        ("sections", {"end": 10_000_000}),
        ("sections", {"document_id": "zzz"}),
        ("chunks", {"vector": [1.0, "x"]}),
        ("chunks", {"document_id": 7}),
    ],
)
def test_a_damaged_export_is_refused(
    full: KnowledgeBase, tmp_path: Path, table: str, values: dict[str, object]
) -> None:
    full.export_to(tmp_path / "out")
    _damaged_line(tmp_path / "out", table, **values)
    with KnowledgeBase(":memory:", embedder=None) as copy, pytest.raises(FormatError):
        copy.import_from(tmp_path / "out")


def test_vectors_that_do_not_fit_are_refused(full: KnowledgeBase, tmp_path: Path) -> None:
    full.export_to(tmp_path / "out")
    _damaged_line(tmp_path / "out", "chunks", vector=[1.0, 0.0])
    with KnowledgeBase(":memory:") as copy, pytest.raises(FormatError):
        copy.import_from(tmp_path / "out")


def test_a_folder_that_is_no_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text("{}")
    with KnowledgeBase(":memory:") as kb, pytest.raises(OptionError, match="is not an export"):
        kb.import_from(tmp_path)


def test_the_commands_export_and_import(folder: Path, tmp_path: Path) -> None:
    kb = str(folder / "full.kb")
    done = spanwise("export", "out", "--kb", kb, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 documents" in " ".join(done.stdout.split())
    done = spanwise("import", "out", "--kb", "copy.kb", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 added" in done.stdout
    refused = spanwise("import", ".", "--kb", "other.kb", folder=tmp_path)
    assert refused.returncode == 2
    assert not (tmp_path / "other.kb").exists()


def test_a_filter_that_no_document_passes_leaves_no_folder(folder: Path, tmp_path: Path) -> None:
    command = ("export", "out", "--where", "year = 1900", "--kb", str(folder / "full.kb"))
    done = spanwise(*command, folder=tmp_path)
    assert done.returncode == 4
    assert done.stderr.startswith("warning: ")
    data = json.loads(spanwise(*command, "--json", folder=tmp_path).stdout)
    assert (data["path"], data["documents"]) == (None, 0)
    assert list(tmp_path.iterdir()) == []


def test_the_next_export_removes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "own.kb", embedder=None) as own:
        own.add_text("The pier is long.", document_id="pier")
    target = tmp_path / "exports" / "out"
    target.parent.mkdir()
    script = (
        "import os, sys\n"
        "from spanwise import KnowledgeBase\n"
        "base = KnowledgeBase(sys.argv[1], embedder=None)\n"
        "base.export_to(sys.argv[2], on_progress=lambda *_: os._exit(9))\n"
    )
    words = [sys.executable, "-c", script, str(tmp_path / "own.kb"), str(target)]
    assert subprocess.run(words, check=False).returncode == 9
    (left,) = target.parent.iterdir()
    assert left.name.endswith(".tmp")
    other = left.with_name("other.00000000.tmp")
    other.mkdir()
    with KnowledgeBase(tmp_path / "own.kb", embedder=None) as own:
        own.export_to(target)
    assert sorted(path.name for path in target.parent.iterdir()) == [other.name, "out"]
    assert "lock.db" not in {path.name for path in target.iterdir()}
