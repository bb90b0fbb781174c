"""Killed processes leave a knowledge base that is whole; and the check would see if it were not."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.crash.crash_check import Allowed, check_knowledge_base, read_log
from tests.crash.crash_child import crash_entry
from tests.crash.crash_rounds import WANTED_PHASES, run_crashes

from spanwise.errors import FormatError
from spanwise.stores.embedded import open_embedded
from spanwise.testing.store_entries import SETTINGS

VERSIONS: dict[str, int] = {"left/1": 1, "left/2": 2, "right/1": 3, "right/2": 4}
ALLOWED: Allowed = {**{name: {version} for name, version in VERSIONS.items()}, "left/3": {None}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a knowledge base as it is after an ordinary end, half of it in the index."""
    path = tmp_path / "crash.kb"
    store = open_embedded(path)
    store.ensure_settings(SETTINGS)
    for number, (name, version) in enumerate(VERSIONS.items()):
        store.put_document(crash_entry(name, version))
        if number == 1:
            store.compact()
    store.close()
    return path


@pytest.mark.slow
def test_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """One kill and more in each phase, each time followed by all checks."""
    report = run_crashes(tmp_path, kills=8, seed=1)
    assert report.kills >= 8
    assert all(report.landed[phase] for phase in WANTED_PHASES)
    assert report.acknowledged > 0
    assert report.searches > 0


def test_what_is_whole_passes(folder: Path) -> None:
    """The check finds what was put."""
    found = check_knowledge_base(folder, {**ALLOWED, "left/1": {None, 1}})
    assert found == ALLOWED


def test_steps_of_a_log_say_what_may_be_found(tmp_path: Path) -> None:
    """What was acknowledged must be there; what was begun may have happened or not."""
    log = tmp_path / "log"
    steps = [
        ("try", "a", 5), ("done", "a", 5), ("try", "b", None), ("done", "b", None), ("try", "a", 6)
    ]  # fmt: skip
    log.write_text("".join(json.dumps(step) + "\n" for step in steps))
    assert read_log(log, {"b": {1}, "c": {2}}) == {"a": {5, 6}, "b": {None}, "c": {2}}


@pytest.mark.parametrize(
    ("document_id", "versions", "message"),
    [
        ("left/1", {7}, r"left/1 is there in version 1, not in \{7\}"),
        ("left/1", {None}, r"left/1 is there in version 1"),
        ("left/3", {8}, "left/3 is not there"),
    ],
)
def test_a_lost_write_is_found(
    folder: Path, document_id: str, versions: set[int | None], message: str
) -> None:
    """A document in another version, one that is gone, and one that came back."""
    with pytest.raises(AssertionError, match=message):
        check_knowledge_base(folder, {**ALLOWED, document_id: versions})


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    """Lend the database of a knowledge base, to be damaged."""
    with closing(sqlite3.connect(folder / "truth.db")) as connection, connection:
        yield connection


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("delete from chunk where key = (select max(key) from chunk)", "of its chunks"),
        ("update chunk set text = text || ' '", "of its chunks"),
        ("update vector set data = substr(data, 1, 32)", "half its vectors"),
        ("insert into page values (999, 0, 0, 1, null)", "rows of page belong to no document"),
        (
            "insert into chunk values (999 << 32, 0, 0, 1, 'x', '', '', 0)",
            "chunks belong to no document",
        ),
        ("update chunk set text = replace(text, 'part 0', 'part 9')", "'left/1' is damaged"),
        ("update chunk set tokens = tokens + 1", "'left/1' is damaged"),
        ("update vector set data = zeroblob(length(data))", "finds itself damaged"),
    ],
)
def test_a_damaged_document_is_found(folder: Path, statement: str, message: str) -> None:
    """Rows that are missing, left over or changed."""
    with database(folder) as connection:
        connection.execute(statement)
    with pytest.raises((AssertionError, FormatError), match=message):
        check_knowledge_base(folder, ALLOWED)


def test_a_wrong_index_is_found(folder: Path, tmp_path: Path) -> None:
    """An index that belongs to other texts under the same numbers."""
    other = tmp_path / "other.kb"
    store = open_embedded(other)
    store.ensure_settings(SETTINGS)
    for name, version in VERSIONS.items():
        store.put_document(crash_entry(name, version + 100))
    store.compact()
    store.close()
    with database(folder) as connection:
        connection.execute("attach ? as other", (str(other / "truth.db"),))
        connection.execute("delete from change")
        connection.execute("insert into change select * from other.change")
    shutil.rmtree(folder / "index")
    shutil.copytree(other / "index", folder / "index")
    with pytest.raises(AssertionError, match="other numbers of chunks"):
        check_knowledge_base(folder, ALLOWED)
