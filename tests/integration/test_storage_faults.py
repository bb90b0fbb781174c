"""Full disks, failing disks, loss of power and clocks that jump, in the middle of operations."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from tests.crash.disk_faults import (
    can_mount,
    fill_disk,
    inject_errors,
    jump_clock,
    meet_read_only,
    small_disk,
)
from tests.crash.operation_kills import Store, Workplace
from tests.crash.operations import FAST, OPERATIONS, check_after_fault
from tests.crash.power_loss import Call, Disk, lose_power
from tests.crash.traced import can_trace

from spanwise.server.job_file import JobFile
from spanwise.server.jobs import MAX_ATTEMPTS, NewJob
from spanwise.server.keys import add_key, read_keys
from spanwise.stores import disk as disk_functions
from spanwise.stores.disk import replace_file

posix_only = pytest.mark.skipif(os.name != "posix", reason="needs calls of POSIX")
traced = pytest.mark.skipif(not can_trace(), reason="needs strace")


def workplace(tmp_path: Path, name: str) -> Workplace:
    return Workplace(tmp_path / "work", OPERATIONS[name], Store())


@traced
@pytest.mark.slow
@pytest.mark.parametrize("name", ["create", "delete", "tune"])
def test_a_loss_of_power_leaves_what_was_acknowledged(name: str, tmp_path: Path) -> None:
    place = workplace(tmp_path, name)
    place.make()
    assert lose_power(place, losses=12).flushes


@traced
@pytest.mark.slow
def test_a_failing_disk_loses_nothing(tmp_path: Path) -> None:
    assert inject_errors(workplace(tmp_path, "sync"), faults=3).outcomes


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs the right to mount a file system")
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "work"):
        report = fill_disk(workplace(tmp_path, "replace"), fills=3)
    assert report.outcomes["StoreFullError"]


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs the right to mount a file system")
@pytest.mark.parametrize(
    ("name", "outcome"),
    [("a.kb", "StoreError"), ("a.kb/truth.db", "StoreError"), ("a.kb/index", "completed")],
)
def test_a_read_only_file_loses_nothing(tmp_path: Path, name: str, outcome: str) -> None:
    assert meet_read_only(workplace(tmp_path, "replace"), name) == outcome


@posix_only
@pytest.mark.slow
def test_a_clock_that_jumps_changes_nothing(tmp_path: Path) -> None:
    assert jump_clock(workplace(tmp_path, "sync"), runs=2).outcomes.keys() == {"completed"}


@traced
@pytest.mark.slow
def test_a_commit_that_is_not_flushed_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulated loss of power finds the lack of a flush before an acknowledgement."""
    monkeypatch.setenv(FAST, "1")
    place = workplace(tmp_path, "delete")
    place.make()
    with pytest.raises(AssertionError, match="older version than acknowledged"):
        lose_power(place, losses=4)


def test_an_unflushed_write_may_be_lost_and_a_flushed_one_not(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    root.mkdir()
    (root / "a").write_bytes(b"old")
    disk, chooser = Disk(root), random.Random(1)
    calls = [
        Call("pwrite64", f"{root}/a", 0, data=b"new", offset=0),
        Call("openat", f"{root}/b", 1, flags="O_CREAT"),
        Call("write", f"{root}/b", 2, data=b"text"),
        Call("fsync", f"{root}/b", 3),
    ]
    for call in calls:
        disk.apply(call)
    disk.lose_power(tmp_path / "1", "nothing", chooser)
    assert [path.name for path in (tmp_path / "1").iterdir()] == ["a"]
    assert (tmp_path / "1" / "a").read_bytes() == b"old"
    disk.lose_power(tmp_path / "2", "all", chooser)
    assert (tmp_path / "2" / "a").read_bytes() == b"new"
    disk.apply(Call("fsync", str(root), 4))
    disk.lose_power(tmp_path / "3", "nothing", chooser)
    assert (tmp_path / "3" / "b").read_bytes() == b"text"


@pytest.fixture
def jobs(tmp_path: Path) -> JobFile:
    """Return a job file with one job, which a process that was killed has claimed."""
    made = JobFile(tmp_path / "jobs.db")
    made.add(NewJob(id="a", url="", names=("a.md",), replace=False, options={}), max_waiting=9)
    assert made.claim("killed", lease_seconds=30) is not None
    return made


@pytest.mark.parametrize("hours", [-1, 1, -24 * 365, 24 * 365])
def test_a_job_of_a_killed_process_is_continued_after_the_clock_was_set(
    jobs: JobFile, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if its lease seems to end far in the future."""
    moment = time.time() + hours * 3_600
    monkeypatch.setattr(time, "time", lambda: moment)
    claimed = jobs.claim("next", lease_seconds=30)
    assert claimed is not None
    assert claimed.id == "a"
    assert jobs.claim("another", lease_seconds=30) is None, "it has an owner again"


def test_a_job_that_kills_its_process_ends_after_the_clock_was_set_back(
    jobs: JobFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = time.time()
    monkeypatch.setattr(time, "time", lambda: moment)
    for attempt in range(MAX_ATTEMPTS + 1):
        moment -= 3_600
        jobs.claim(f"owner {attempt}", lease_seconds=30)
    job = jobs.get("a")
    assert job is not None
    assert job.state == "failed"


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk fail when a file is flushed."""

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_functions, "force_to_disk", fail)


@pytest.mark.usefixtures("failing")
def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(OSError, match="No space left"):
        replace_file(tmp_path / "a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_replaced_file_is_flushed_before_its_name_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loss of power after the rename would leave an empty file otherwise."""
    steps = list[str]()
    real = disk_functions.force_to_disk

    def force(descriptor: int) -> None:
        steps.append("named too early" if (tmp_path / "keys.json").exists() else "flushed")
        real(descriptor)

    monkeypatch.setattr(disk_functions, "force_to_disk", force)
    monkeypatch.setattr(disk_functions, "sync_folder", lambda _: steps.append("named"))
    add_key(tmp_path / "keys.json", "admin", role="admin")
    assert steps == ["flushed", "named"]
    assert [key.name for key in read_keys(tmp_path / "keys.json")] == ["admin"]


@posix_only
def test_a_tuning_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    place = workplace(tmp_path, "tune")
    place.make()
    place.reset()
    tuning = place.place.tuning
    tuning.chmod(0o640)
    real = tuning.rename(tuning.with_name("real.toml"))
    tuning.symlink_to(real)
    OPERATIONS["tune"].run(place.place, lambda _: None)
    assert tuning.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    check_after_fault(place.operation, place.place, [])
