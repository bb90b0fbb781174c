"""Operations that are killed leave whole documents, and end as if they had not been killed."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.crash.operation_kills import PostgresStore, Store, Workplace, run_kills
from tests.crash.operations import NAMES, OPERATIONS, check_after_fault, opened
from tests.crash.server_kills import ServerKills
from tests.servers.postgres import postgres

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

FOLDER = ("create", "sync", "set", "backup", "index", "tune")
POSTGRES = ("replace", "delete", "compact", "copy", "rebuild")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Return the address of a server of its own, because databases are replaced by force."""
    with postgres() as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize("name", FOLDER)
def test_a_killed_operation_is_continued(name: str, tmp_path: Path) -> None:
    report = run_kills(Workplace(tmp_path / "work", OPERATIONS[name], Store()), kills=2)
    assert report.kills >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", POSTGRES)
def test_a_killed_operation_is_continued_on_postgresql(
    name: str, tmp_path: Path, server: str
) -> None:
    store = PostgresStore(server)
    report = run_kills(Workplace(tmp_path / "work", OPERATIONS[name], store), kills=2)
    assert report.kills >= 2


@pytest.mark.slow
def test_a_killed_server_continues_its_jobs(tmp_path: Path) -> None:
    report = ServerKills(tmp_path, str(tmp_path / "notes.kb"), random.Random(5)).run(2)
    assert report.kills == 2


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    """Return the documents before they are deleted."""
    made = Workplace(tmp_path / "work", OPERATIONS["delete"], Store())
    made.make()
    made.reset()
    return made


def test_the_check_finds_a_lost_deletion(workplace: Workplace) -> None:
    check_after_fault(workplace.operation, workplace.place, [])
    with pytest.raises(AssertionError, match="half there, or in an older version"):
        check_after_fault(workplace.operation, workplace.place, [NAMES[0]])


def test_the_check_finds_a_lost_document(workplace: Workplace) -> None:
    with opened(workplace.place.base) as base:
        base.remove(NAMES[1])
    with pytest.raises(AssertionError, match=rf"{NAMES[1]} is lost"):
        check_after_fault(workplace.operation, workplace.place, [])


def test_the_check_finds_half_a_document(workplace: Workplace) -> None:
    with closing(sqlite3.connect(Path(workplace.place.base) / "truth.db")) as base, base:
        base.execute("delete from chunk where key = (select max(key) from chunk)")
    with pytest.raises(AssertionError):
        check_after_fault(workplace.operation, workplace.place, [])
