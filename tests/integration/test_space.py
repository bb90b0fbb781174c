"""Removed documents do not keep their space on disk."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from spanwise import KnowledgeBase
from spanwise.cli.program import cli
from spanwise.stores.folder import folder_bytes

_WORDS = "margin lease goodwill covenant revenue dividend segment freight"


def text_of(number: int, *, sentences: int = 60) -> str:
    """Return a text whose sentences differ from those of all other numbers."""
    return "".join(
        f"Report {number} says in line {line} that {_WORDS} is {number * line}.\n"
        for line in range(sentences)
    )


def fill(base: KnowledgeBase, documents: int, *, sentences: int = 60) -> None:
    """Add documents `0`, `1` and so on."""
    for number in range(documents):
        base.add_text(text_of(number, sentences=sentences), document_id=str(number))


@contextmanager
def opened(path: Path) -> Iterator[KnowledgeBase]:
    """Open a knowledge base that is searched by keywords, which is fastest."""
    with KnowledgeBase(path, embedder=None, durability="fast") as base:
        yield base


def without_reclaiming(path: Path) -> None:
    """Make a database like those of earlier versions, which cannot be truncated in steps."""
    with closing(sqlite3.connect(path / "truth.db", isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = delete")
        connection.execute("pragma auto_vacuum = none")
        connection.execute("vacuum")


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
def test_a_large_removal_shrinks_the_folder_by_itself(tmp_path: Path, *, is_old: bool) -> None:
    path = tmp_path / "space.kb"
    with opened(path) as base:
        fill(base, 80)
    if is_old:
        without_reclaiming(path)
    full = folder_bytes(path)
    with opened(path) as base:
        base.remove(*map(str, range(1, 80)))
        assert base.search("What says report 0?").segments
    assert folder_bytes(path) < full / 4
    with opened(path) as base:
        assert [record.id for record in base.list()] == ["0"]
        assert base.check().sound


def test_a_small_removal_copies_nothing(tmp_path: Path) -> None:
    path = tmp_path / "space.kb"
    with opened(path) as base:
        fill(base, 80)
    before = (path / "truth.db").stat().st_size
    with opened(path) as base:
        base.remove("7")
    assert (path / "truth.db").stat().st_size == before


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
def test_compact_returns_all_free_space(tmp_path: Path, *, is_old: bool) -> None:
    path = tmp_path / "space.kb"
    with opened(path) as base:
        fill(base, 80)
    if is_old:
        without_reclaiming(path)
    with opened(path) as base:
        base.remove(*map(str, range(0, 80, 6)))
        assert base.info().reclaimable_bytes > 100_000
        report = base.compact()
        assert report.bytes_after < report.bytes_before
        assert report.bytes_after == folder_bytes(path)
        assert base.info().reclaimable_bytes == 0
        assert base.search("What says report 5?").segments
        assert base.check().sound


def test_readers_keep_their_state_while_another_handle_compacts(tmp_path: Path) -> None:
    path = tmp_path / "space.kb"
    with opened(path) as base, opened(path) as other:
        fill(base, 40)
        wrong: list[str] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                found = other.search("What says report 3 in line 5?").segments
                if not found or found[0].document_id != "3":
                    wrong.append(str(found))

        thread = threading.Thread(target=read)
        thread.start()
        for number in range(10, 40, 10):
            base.remove(*map(str, range(number, number + 10)))
            base.compact()
        done.set()
        thread.join()
        assert not wrong
        assert [record.id for record in other.list()] == sorted(map(str, range(10)))


_KILLED = """
import os, signal, sys
from spanwise import KnowledgeBase
from spanwise.stores import space

left = int(sys.argv[2])
real = space._truncate

def truncate(connection, pages):
    global left
    real(connection, 5)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

space._truncate = truncate
with KnowledgeBase(sys.argv[1], create=False) as base:
    base.compact()
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("steps", [1, 2])
def test_a_killed_compact_loses_nothing(tmp_path: Path, steps: int) -> None:
    path = tmp_path / "space.kb"
    with opened(path) as base:
        fill(base, 60)
        base.remove(*map(str, range(0, 60, 6)))
    child = subprocess.run([sys.executable, "-c", _KILLED, str(path), str(steps)], check=False)
    assert child.returncode == -9
    with opened(path) as base:
        assert len(base.list()) == 50
        assert base.search("What says report 7?").segments
        assert base.check().sound
        base.compact()
        assert base.info().reclaimable_bytes == 0


def test_the_commands_show_and_return_the_space(tmp_path: Path) -> None:
    path = tmp_path / "space.kb"
    with opened(path) as base:
        fill(base, 80, sentences=120)
        base.remove(*map(str, range(0, 80, 5)))
    shown = CliRunner().invoke(cli, ["info", "--kb", str(path)])
    assert "spanwise compact" in shown.output
    compacted = CliRunner().invoke(cli, ["compact", "--kb", str(path)], standalone_mode=False)
    assert "before" in compacted.output
    assert "spanwise compact" not in CliRunner().invoke(cli, ["info", "--kb", str(path)]).output


def test_a_knowledge_base_in_memory_has_nothing_to_return() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        fill(base, 2)
        assert base.info().reclaimable_bytes == 0
        assert base.compact().bytes_after == 0
