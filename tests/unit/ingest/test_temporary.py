"""Temporary files are gone when an ingest ends, and those of a killed one at the next."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

import pytest

from spanwise.errors import FetchError
from spanwise.ingest.local_files import TemporarySpace


@pytest.fixture(name="place", autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_nothing_is_made_where_nothing_is_needed(place: Path) -> None:
    with TemporarySpace():
        assert list(place.iterdir()) == []


def test_folders_and_files_are_gone_afterwards(place: Path) -> None:
    """A folder when it is left, a file with the space; also after an interruption."""
    with TemporarySpace() as space:
        with space.folder() as folder:
            (folder / "deep").mkdir()
            (folder / "deep" / "a").write_text("x")
        assert not folder.exists()
        assert space.file().stat().st_size == 0
    assert list(place.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), TemporarySpace() as space, space.folder():
        raise KeyboardInterrupt
    assert list(place.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells nothing of killed processes")
def test_what_a_killed_process_left_is_removed(place: Path) -> None:
    """What belongs to one that runs is not."""
    script = (
        "import os, tempfile\n"
        f"tempfile.tempdir = {str(place)!r}\n"
        "from spanwise.ingest.local_files import TemporarySpace\n"
        "with TemporarySpace() as space, space.folder() as folder:\n"
        "    (folder / 'a').write_text('x')\n"
        "    os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    assert len(list(place.iterdir())) == 1
    with TemporarySpace() as running, running.folder() as theirs:
        with TemporarySpace() as space, space.folder():
            assert len(list(place.iterdir())) == 2
        assert theirs.exists()
    assert list(place.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with TemporarySpace() as space, pytest.raises(FetchError) as caught, space.folder():
        pass
    assert "TMPDIR" in str(caught.value)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_an_ingest_that_starts_at_the_same_time_removes_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts between the creation of the lock file and the lock."""
    import fcntl

    lock = fcntl.flock

    def lock_later(stream: BinaryIO, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        with TemporarySpace() as other, other.folder():
            lock(stream, operation)

    monkeypatch.setattr(fcntl, "flock", lock_later)
    with TemporarySpace() as space, space.folder() as folder:
        assert folder.exists()
    assert list(place.iterdir()) == []
