"""A rebuild that is killed at any moment leaves a searchable state, and continues."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crash.rebuild_child import CHUNKS, opened
from tests.rebuilds import HashEmbedder, fill, found_ids

from spanwise import KnowledgeBase
from spanwise.knowledge_base.internals import settings_of, store_of
from spanwise.testing.store_entries import make_output
from spanwise.types import DocumentRecord

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

_ROOT = Path(__file__).parents[2]
_DOCUMENTS = 6
_ROUNDS = 3


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[DocumentRecord]]]:
    """Return a knowledge base, and the records that it has after a rebuild."""
    folder = tmp_path_factory.mktemp("states")
    with KnowledgeBase(folder / "old.kb", embedder=None) as base:
        fill(base, _DOCUMENTS)
        store_of(base).put_outputs([make_output("key", "kept")])
    with KnowledgeBase(folder / "new.kb", embedder=HashEmbedder(), chunks=CHUNKS) as base:
        fill(base, _DOCUMENTS)
        yield folder / "old.kb", base.list()


def child(path: Path, point: str = "", number: int = 0) -> subprocess.Popen[bytes]:
    """Start a process that rebuilds."""
    arguments = [sys.executable, "-m", "tests.crash.rebuild_child", str(path), point, str(number)]
    return subprocess.Popen(arguments, cwd=_ROOT)


def check(path: Path, new: list[DocumentRecord]) -> bool:
    """Check that the state is whole and searchable, and return whether it is the new one."""
    with opened(path) as base:
        is_new = settings_of(base).chunks == CHUNKS
        assert (base.list() == new) == is_new
        assert [record.id for record in base.list()] == [record.id for record in new]
        for number in range(_DOCUMENTS):
            assert str(number) in found_ids(base, number)
        report = base.check()
        assert report.sound, report.findings
        assert store_of(base).get_outputs(["key"]) == {"key": "kept"}
    return is_new


def test_kills_before_the_switch_leave_the_present_state(
    states: tuple[Path, list[DocumentRecord]], tmp_path: Path
) -> None:
    """Each run continues the one before it."""
    path = tmp_path / "a.kb"
    shutil.copytree(states[0], path)
    for point, number in (
        ("prepare", 3),
        ("put", 2),
        ("rows", 2),
        ("parts", 2),
    ):
        assert child(path, point, number).wait() == -signal.SIGKILL
        assert not check(path, states[1])
    assert child(path).wait() == 0
    assert check(path, states[1])
    assert [entry.name for entry in (path / "rebuild").iterdir()] == ["lock.db"]


@pytest.mark.parametrize(("point", "number"), [("committed", 1), ("manifest", 2), ("compact", 1)])
def test_a_kill_after_the_switch_leaves_the_new_state(
    point: str, number: int, states: tuple[Path, list[DocumentRecord]], tmp_path: Path
) -> None:
    path = tmp_path / "a.kb"
    shutil.copytree(states[0], path)
    assert child(path, point, number).wait() == -signal.SIGKILL
    assert check(path, states[1])
    with opened(path) as base:
        base.compact()
    assert [entry.name for entry in (path / "rebuild").iterdir()] == ["lock.db"]
    if point == "committed":
        assert child(path).wait() == 0
        assert check(path, states[1])


def test_kills_at_random_moments(states: tuple[Path, list[DocumentRecord]], tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    shutil.copytree(states[0], path)
    chooser = random.Random(3)
    for _ in range(_ROUNDS):
        process = child(path)
        time.sleep(chooser.uniform(0.3, 1.2))
        process.kill()
        assert process.wait() in (-signal.SIGKILL, 0)
        check(path, states[1])
    assert child(path).wait() == 0
    assert check(path, states[1])
