"""Hostile exports: an import accepts only what `add` accepts, and its memory is limited."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from spanwise import KnowledgeBase, ParseOptions
from spanwise.errors import FormatError
from spanwise.ingest import exchange


def export(path: Path, **options: Any) -> Path:
    """Write an export with one document and return its folder."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("The lease ends in May.", document_id="lease", metadata={"team": "hr"})
        base.export_to(path, **options)
    return path


def edit(folder: Path, table: str, **values: object) -> None:
    """Set values of each row of a table of JSON Lines."""
    path = folder / f"{table}.jsonl"
    rows = [{**json.loads(line), **values} for line in path.read_text("utf-8").splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def refused(folder: Path, *, match: str | None = None, parse: ParseOptions | None = None) -> None:
    """Check that the import of a folder is refused, and nothing is stored."""
    with KnowledgeBase(":memory:", embedder=None, parse=parse) as base:
        with pytest.raises(FormatError, match=match):
            base.import_from(folder)
        assert base.list() == []


@pytest.mark.parametrize(
    "document_id", ["", "  ", "a\x00b", "a\x1b[2Jb", "a\nb", "x" * 1_001, "x" * 1_000_000]
)
def test_an_id_that_add_text_refuses_is_refused(tmp_path: Path, document_id: str) -> None:
    folder = export(tmp_path / "out")
    edit(folder, "documents", id=document_id)
    for table in ("sections", "chunks"):
        edit(folder, table, document_id=document_id)
    refused(folder)


def test_the_id_of_a_file_may_have_control_characters(tmp_path: Path) -> None:
    """A file may have such a name, and its export can be imported."""
    (tmp_path / "in").mkdir()
    try:
        (tmp_path / "in" / "a\x01b.md").write_text("# A\n\nText.")
    except OSError:
        pytest.skip("this file system has no such names")
    with (
        KnowledgeBase(":memory:", embedder=None) as base,
        KnowledgeBase(":memory:", embedder=None) as copy,
    ):
        base.add(tmp_path / "in")
        base.export_to(tmp_path / "out")
        assert copy.import_from(tmp_path / "out").added == ("a\x01b.md",)
    edit(tmp_path / "out", "documents", id="x" * 20_000)
    refused(tmp_path / "out")


def test_a_long_row_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit follows the limit of texts."""
    monkeypatch.setattr(exchange, "_MIN_ROW_BYTES", 10_000)
    folder = export(tmp_path / "out")
    edit(folder, "documents", padding="x" * 50_000)
    refused(folder, match="max_text_bytes", parse=ParseOptions(max_text_bytes=10_000))
    with KnowledgeBase(
        ":memory:", embedder=None, parse=ParseOptions(max_text_bytes=20_000)
    ) as base:
        assert base.import_from(folder).added == ("lease",)


def test_many_chunks_of_a_document_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_MAX_PARTS", 100)
    folder = export(tmp_path / "out")
    (row,) = (folder / "chunks.jsonl").read_text("utf-8").splitlines()
    (folder / "chunks.jsonl").write_text(f"{row}\n" * 101)
    refused(folder, match="100 sections or chunks")


def rewrite(folder: Path, table: str, values: Mapping[str, object]) -> None:
    """Set values of each row of a Parquet table."""
    path = folder / f"{table}.parquet"
    old = pyarrow.parquet.read_table(path)
    rows = [{**row, **values} for row in old.to_pylist()]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=old.schema), path)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("metadata", '{"team": "\\ud800"}'),
        ("metadata", '{"\\uDFFF": 1}'),
        ("headings", '[{"start": 0}]'),
        ("metadata", "[" * 100_000),
    ],
)
def test_a_damaged_value_in_parquet_is_refused(tmp_path: Path, column: str, value: object) -> None:
    """A lone surrogate in a JSON text is valid UTF-8 in the file."""
    folder = export(tmp_path / "out", table_format="parquet")
    rewrite(folder, "documents", {column: value})
    refused(folder)


def test_a_compressed_row_in_parquet_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes in the file can be a long text."""
    monkeypatch.setattr(exchange, "_MIN_ROW_BYTES", 1_000_000)
    folder = export(tmp_path / "out", table_format="parquet")
    rewrite(folder, "documents", {"text": "x" * 2_000_000})
    assert (folder / "documents.parquet").stat().st_size < 500_000
    refused(folder, match="more than", parse=ParseOptions(max_text_bytes=1_000))
