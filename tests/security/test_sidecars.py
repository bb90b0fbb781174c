"""Hostile sidecar files: they are untrusted, and never harm more than their own folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from spanwise import KnowledgeBase
from spanwise.ingest import sidecar

CSV = "spanwise.metadata.csv"
JSON_LINES = "spanwise.metadata.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text("A note about tolls.")
    (tmp_path / "in" / "sub" / "b.txt").write_text("A note about rails.")
    return tmp_path / "in"


def fields(folder: Path) -> tuple[dict[str, dict[str, object]], tuple[str, ...], list[str]]:
    """Return the metadata of the documents of a folder, the warnings, and codes of failures."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        report = base.sync(folder)
        assert len(report.added) == 2
        metadata = {record.id: dict[str, object](record.metadata) for record in base.list()}
    own = tuple(warning for warning in report.warnings if "spanwise.metadata" in warning)
    return metadata, own, [failure.code for failure in report.failed]


@pytest.mark.parametrize(
    "path",
    ["../a.txt", "/etc/passwd", "sub/../a.txt", "", ".", "x" * 2_000, "a\x00.txt", 7, None, ["a"]],
)
def test_a_path_never_leaves_the_folder(folder: Path, path: object) -> None:
    (folder / "sub" / JSON_LINES).write_text(json.dumps({"path": path, "team": "x"}))
    metadata, warnings, _ = fields(folder)
    assert metadata == {"a.txt": {}, "sub/b.txt": {}}
    assert len(warnings) == 1


@pytest.mark.parametrize(
    "row",
    [
        '{"path": "a.txt", "team": {"a": 1}}',
        '{"path": "a.txt", "team": [[1]]}',
        '{"path": "a.txt", "team": NaN}',
        '{"path": "a.txt", "team": 1e999}',
        '{"path": "a.txt", "team": ' + "9" * 1_000 + "}",
        '{"path": "a.txt", "team": ' + "9" * 10_000 + "}",
        '{"path": "a.txt", "team": "\\ud800"}',
        '{"path": "a.txt", "\\ud800": 1}',
        '{"path": "a.txt", "": 1}',
        '{"path": "a.txt", "title": 7}',
        '{"path": "a.txt", "team": "' + "x" * 20_000 + '"}',
        '{"path": "a.txt", "' + "x" * 300 + '": 1}',
        json.dumps({"path": "a.txt", **{f"f{number}": 1 for number in range(300)}}),
        "[" * 100_000,
        "[1]",
        "{",
    ],
    ids=range(16),
)
def test_a_row_that_cannot_be_stored_is_reported(folder: Path, row: str) -> None:
    (folder / JSON_LINES).write_text(f'{row}\n{{"path": "sub/b.txt", "ok": true}}')
    metadata, warnings, failures = fields(folder)
    assert metadata == {"a.txt": {}, "sub/b.txt": {"ok": True}}
    assert len(warnings) == 1
    assert "line 1: bad row" in warnings[0]
    assert len(warnings[0]) < 600
    assert failures == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"team\nx\n",
        b"path,team,team\na.txt,1,2\n",
        b"path,,team\na.txt,1,2\n",
        b"path,team\na.txt,\xff\n",
        b"path,team\na.txt," + b"x" * 200_000,
        b'path,team\n"a.txt,x\n' * 20_000,
    ],
    ids=range(7),
)
def test_an_unusable_table_leaves_the_documents_alone(folder: Path, data: bytes) -> None:
    (folder / CSV).write_bytes(data)
    metadata, warnings, failures = fields(folder)
    assert metadata == {"a.txt": {}, "sub/b.txt": {}}
    assert bool(warnings or failures) == bool(data)


def test_an_unusable_file_keeps_the_earlier_fields(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / CSV).write_text("path,team\na.txt,x\n")
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.sync(folder)
        monkeypatch.setattr(sidecar, "_MAX_BYTES", 10)
        report = base.sync(folder)
        assert [failure.code for failure in report.failed] == ["too_large"]
        assert (report.unchanged, report.updated) == (("a.txt", "sub/b.txt"), ())
        assert base.record("a.txt").metadata == {"team": "x"}


def test_many_bad_rows_are_counted(folder: Path) -> None:
    (folder / CSV).write_text("path,team\n" + "../x,1\n" * 5_000 + "gone,1\n" + "a.txt,y\n")
    metadata, warnings, _ = fields(folder)
    assert metadata["a.txt"] == {"team": "y"}
    assert len(warnings) < 20
    assert any("4990 more" in warning for warning in warnings)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no FIFOs")
def test_a_fifo_is_not_opened(folder: Path) -> None:
    os.mkfifo(folder / CSV)
    (folder / "sub" / JSON_LINES).symlink_to(os.devnull)
    metadata, _, failures = fields(folder)
    assert (metadata, failures) == ({"a.txt": {}, "sub/b.txt": {}}, [])


def test_a_link_out_of_the_folder_is_not_read(folder: Path, tmp_path: Path) -> None:
    """Documents keep the fields of the last run, and links are followed on request."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        (folder / CSV).write_text("path,team\na.txt,x\n")
        base.sync(folder)
        (tmp_path / "secret.csv").write_text("path,password\na.txt,hunter2\n")
        (folder / CSV).unlink()
        (folder / CSV).symlink_to(tmp_path / "secret.csv")
        report = base.sync(folder)
        assert base.record("a.txt").metadata == {"team": "x"}
        (warning,) = report.warnings[1:]
        assert CSV in warning
        assert "outside of the folder" in warning
        base.sync(folder, follow_links=True)
        assert base.record("a.txt").metadata == {"password": "hunter2"}


def test_a_link_inside_of_the_folder_is_read(folder: Path) -> None:
    (folder / "sub" / "rows.txt").write_text("path,team\na.txt,x\n")
    (folder / CSV).symlink_to(folder / "sub" / "rows.txt")
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.sync(folder)
        assert base.record("a.txt").metadata == {"team": "x"}
