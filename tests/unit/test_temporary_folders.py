"""Temporary folders: those of killed processes are removed, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from spanwise.temporary_folders import LockedFolder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
PREFIX = "spanwise-server-"


@pytest.fixture(name="place", autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def leave_folder(place: Path, prefix: str) -> None:
    """Create a folder in a process that ends without removing it."""
    script = (
        "import os, tempfile\n"
        f"tempfile.tempdir = {str(place)!r}\n"
        "from spanwise.temporary_folders import LockedFolder\n"
        f"(LockedFolder({prefix!r}).path / 'a').write_text('x')\n"
        "os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9


def test_a_folder_of_a_killed_process_is_removed_and_that_of_a_running_one_stays(
    place: Path,
) -> None:
    leave_folder(place, PREFIX)
    leave_folder(place, "other-")
    with closing(LockedFolder(PREFIX)) as first:
        assert {path.name[:6] for path in place.iterdir()} == {first.path.name[:6], "other-"}
        with closing(LockedFolder(PREFIX)) as second:
            assert first.path.exists()
            assert second.path != first.path
    assert [path.name[:6] for path in place.iterdir()] == ["other-"]


def test_links_are_not_followed(place: Path, tmp_path: Path) -> None:
    """A link to a folder, and a folder whose lock is a link, stay with their targets."""
    leave_folder(place, "kept-")
    (kept,) = place.iterdir()
    target = tmp_path / "target"
    kept.rename(target)
    (place / f"{PREFIX}link").symlink_to(target)
    odd = place / f"{PREFIX}odd"
    odd.mkdir()
    (odd / "lock").symlink_to(target / "new")
    LockedFolder(PREFIX).close()
    assert sorted(path.name for path in place.iterdir()) == [f"{PREFIX}link", f"{PREFIX}odd"]
    assert sorted(path.name for path in target.iterdir()) == ["a", "lock"]


def test_a_folder_of_another_user_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_folder(place, PREFIX)
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    with closing(LockedFolder(PREFIX)):
        assert len(list(place.iterdir())) == 2
