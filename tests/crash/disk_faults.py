"""Faults of storage in the middle of an operation: errors of calls, a full disk, no permission.

After a fault the operation may end well, or with an error of the library, but with no other
exception. What it left is checked, then it runs again without faults, and its final state must
equal that of a run that had none.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.crash.operation_child import REFUSED
from tests.crash.operation_kills import Runner, Workplace
from tests.crash.operations import final_state

ERRORS = ("EIO", "ENOSPC", "EROFS", "EDQUOT")
"""Errors that are injected."""
CALLS = ("pwrite64", "write", "fsync", "fdatasync", "ftruncate", "rename", "unlink", "pread64")
"""Calls that fail."""
_READS = ("pread64",)
_PIPES = ("write",)  # calls that are also for pipes, which never fail like a disk
_MOST_CALLS = 40  # of one kind, in one process
_MIN_RANGE_BYTES = 1 << 16
_MEBIBYTE = 1 << 20


@dataclass(slots=True)
class FaultReport:
    """Counts of the faults of one operation."""

    faults: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """Number of runs by outcome: "completed", or the name of the error."""


def _outcome(workplace: Workplace, status: int) -> str:
    """Return the outcome of a run.

    Raises:
        AssertionError: If it ended with an exception that is not of the library.
    """
    log = workplace.log.read_text(encoding="utf-8") if workplace.log.exists() else ""
    errors = Path(f"{workplace.log}.stderr")
    trace = errors.read_text(encoding="utf-8")[-3_000:] if errors.exists() else ""
    assert status in (0, REFUSED), f"the operation ended with {status}:\n{log}\n{trace}"
    if status == 0:
        return "completed"
    error = [line for line in log.splitlines() if line.startswith("error ")][-1]
    return error.split()[1].removesuffix(":")


def _continue(workplace: Workplace, runner: Runner, expected: object) -> None:
    """Check what is there, run the operation without faults, and compare its final state."""
    workplace.check()
    runner.finish()
    workplace.check()
    assert final_state(workplace.operation, workplace.place) == expected


def inject_errors(workplace: Workplace, *, faults: int, seed: int = 0) -> FaultReport:
    """Let calls of the system fail during an operation.

    Args:
        workplace: Workplace with an unused folder.
        faults: Number of runs with a fault.
        seed: Seed of the choices.

    Raises:
        AssertionError: If a check fails.
    """
    chooser = random.Random(f"{seed} {workplace.operation.name}")
    runner = Runner(workplace, chooser)
    workplace.make()
    expected = runner.measure()
    report = FaultReport()
    while report.faults < faults:
        call = chooser.choice(CALLS)
        error = "EIO" if call in _READS else chooser.choice(ERRORS)
        first = chooser.randint(1, _MOST_CALLS)
        when = f"{first}{chooser.choice(('', '' if call in _PIPES else '+'))}"
        workplace.reset()
        injected = ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}"]
        try:
            status, is_fault = _run_traced(runner, injected)
            if not is_fault:
                continue
            report.faults += 1
            report.outcomes[_outcome(workplace, status)] += 1
            _continue(workplace, runner, expected)
        except BaseException as failure:
            failure.add_note(f"after {error} of {call}, number {when}")
            raise
    return report


def _run_traced(runner: Runner, options: Sequence[str]) -> tuple[int, bool]:
    """Run an operation, traced from its beginning on but not while its process starts.

    Returns:
        Exit code of the operation, and whether calls failed, all of them for files of its folder.
    """
    folder = runner.workplace.folder
    trace = folder / "trace"
    process = runner.start_ready("traced")
    words = ["strace", "-f", "-y", "-p", str(process.pid), *options, "-o", str(trace)]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL):
        status = runner.wait(process)
    failed = [
        line
        for line in trace.read_text(encoding="latin-1").splitlines()
        if line.endswith("(INJECTED)")
    ]
    return status, bool(failed) and all(str(folder / "place") in line for line in failed)


@cache
def can_mount() -> bool:
    """Return whether a small file system can be mounted here."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    words = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a file system of 64 MiB in memory at a folder."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={64 * _MEBIBYTE}", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """Make a file or folder read-only during the block, also for root."""
    subprocess.run(["mount", "--bind", str(path), str(path)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(path)], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def meet_read_only(workplace: Workplace, name: str) -> str:
    """Run an operation while a file is read-only, then undisturbed; return the first outcome.

    Args:
        workplace: Workplace with an unused folder.
        name: Path of a file or folder in the place.

    Raises:
        AssertionError: If a check fails.
    """
    runner = Runner(workplace, random.Random(0))
    workplace.make()
    expected = runner.measure()
    workplace.reset()
    with read_only(workplace.place.folder / name):
        status = runner.join(runner.start(), (0, REFUSED))
        workplace.check()
    outcome = _outcome(workplace, status)
    _continue(workplace, runner, expected)
    return outcome


def fill_disk(workplace: Workplace, *, fills: int, seed: int = 0) -> FaultReport:
    """Run an operation on a disk that becomes full.

    Args:
        workplace: Workplace with a folder that `small_disk` mounted.
        fills: Number of runs, each with another amount of free space.
        seed: Seed of the amounts.
    """
    chooser = random.Random(f"{seed} {workplace.operation.name}")
    runner = Runner(workplace, chooser)
    workplace.make()
    expected = runner.measure()
    needed = _used(workplace.folder)
    report = FaultReport()
    for _ in range(fills):
        workplace.reset()
        free = chooser.randrange(0, max(needed, _MIN_RANGE_BYTES), 4_096)
        filler = workplace.folder / "filler"
        room = os.statvfs(workplace.folder)
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(room.f_bavail * room.f_frsize - free, 1))
        status = runner.join(runner.start(), (0, REFUSED))
        filler.unlink()
        report.faults += 1
        report.outcomes[_outcome(workplace, status)] += 1
        _continue(workplace, runner, expected)
    return report


def _used(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "place").rglob("*") if path.is_file())


def jump_clock(workplace: Workplace, *, runs: int, seed: int = 0) -> FaultReport:
    """Run an operation while the wall clock jumps, and compare its final state.

    Args:
        workplace: Workplace with an unused folder.
        runs: Number of runs.
        seed: Seed of the jumps.
    """
    runner = Runner(workplace, random.Random(seed))
    workplace.make()
    expected = runner.measure()
    report = FaultReport()
    for number in range(runs):
        workplace.reset()
        runner.finish(f"clock {seed + number}")
        workplace.check()
        assert final_state(workplace.operation, workplace.place) == expected
        report.faults += 1
        report.outcomes["completed"] += 1
    return report
