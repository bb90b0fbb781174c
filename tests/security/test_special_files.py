"""FIFOs, sockets and devices in a folder are skipped, and the report names them."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise import KnowledgeBase
from spanwise.ingest.folder_walk import UnreadablePath, walk

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no FIFOs")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a short path, as sockets need one."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "in")
        (folder / "sub").mkdir(parents=True)
        (folder / "note.txt").write_text("A note about tolls.")
        os.mkfifo(folder / "pipe.txt")
        (folder / "null.txt").symlink_to(os.devnull)
        (folder / "link.txt").symlink_to("pipe.txt")
        (folder / "plain.txt").symlink_to("note.txt")
        os.mkfifo(folder / ".hidden")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(folder / "sub" / "server.txt"))
        yield folder


SPECIAL = {"pipe.txt", "null.txt", "link.txt", "sub/server.txt"}


def test_they_are_skipped_and_named(folder: Path) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        for report in (base.add(folder), base.sync(folder), base.add(folder, dry_run=True)):
            assert report.failed == ()
            named = {
                said.partition(": ")[0].removeprefix(f"{folder}/")
                for said in report.warnings
                if "regular file" in said
            }
            assert named == SPECIAL
        assert [record.id for record in base.list()] == ["note.txt"]


def test_patterns_leave_them_out(folder: Path) -> None:
    found = list(walk(folder, include=["*.md"]))
    assert found == []
    assert [
        one for one in walk(folder, exclude=["*.txt", ".*"]) if isinstance(one, UnreadablePath)
    ] == []


def test_a_file_that_became_a_fifo_keeps_its_document(folder: Path) -> None:
    """Nobody waits for what will never be written to it."""
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add(folder)
        (folder / "note.txt").unlink()
        os.mkfifo(folder / "note.txt")
        report = base.sync(folder)
        assert (report.removed, report.failed) == ((), ())
        assert any("note.txt" in said for said in report.warnings)


def test_one_that_is_named_is_an_error(folder: Path) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        report = base.add(folder / "pipe.txt", os.devnull)
    assert [failure.code for failure in report.failed] == ["unreadable"] * 2
