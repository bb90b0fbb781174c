"""Rounds of the crash test: processes of an embedded store are killed, and the folder is checked.

Two writers put, replace, delete and compact; a reader checks every search. All of them are killed
(SIGKILL) at a random moment: a round waits until one writer is in the phase with the fewest kills,
and a little longer. The other processes are killed at once or shortly after. The checks run on a
copy of the folder, so the next round continues with exactly what the crash left.
"""

from __future__ import annotations

import mmap
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.crash_check import Allowed, check_knowledge_base, read_log
from tests.crash.crash_child import CONTROL_BYTES, Phase

from spanwise.stores.embedded import open_embedded
from spanwise.testing.store_entries import SETTINGS

WANTED_PHASES = (Phase.TRANSACTION, Phase.DELETE, Phase.FLUSH, Phase.MERGE, Phase.MANIFEST)
"""Phases that need a minimum number of kills."""

_CHILD = "tests.crash.crash_child"
_ROOT = Path(__file__).parents[2]
_WRITERS = ("left", "right")
_VERSIONS = 100_000  # of one round
_PHASE_SECONDS = 120.0
_HEAD_START_SECONDS = 0.3
_DELAY_SECONDS = 0.003
_SURVIVAL_SECONDS = 0.15  # how long the others may go on, in half of the rounds
_POLL_SECONDS = 0.00005


@dataclass(slots=True)
class CrashReport:
    """Counts of one run of the crash test."""

    landed: Counter[Phase] = field(default_factory=Counter)
    """Number of writers killed in each phase."""
    rounds: int = 0
    searches: int = 0
    """Number of searches that the readers checked."""
    acknowledged: int = 0
    """Number of writes that were acknowledged before a kill."""

    @property
    def kills(self) -> int:
        """Number of writers killed."""
        return self.landed.total()


class _Child:
    """A process with its control file."""

    def __init__(self, control: Path, arguments: list[str]) -> None:
        control.write_bytes(bytes(CONTROL_BYTES))
        with control.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), CONTROL_BYTES)
        self._errors = control.with_suffix(".stderr")
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _CHILD, *arguments], stderr=errors, cwd=_ROOT
            )

    @property
    def phase(self) -> Phase:
        return Phase(self._control[0])

    @property
    def searches(self) -> int:
        count: int = struct.unpack_from("<q", self._control, 8)[0]
        return count

    def check_alive(self) -> None:
        """Raise an AssertionError if the process has ended."""
        if self._process.poll() is not None:
            self.finish()

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)

    def finish(self) -> None:
        """Wait for the end of the process, which must be by SIGKILL.

        Raises:
            AssertionError: If the process ended by itself; the message holds its stderr.
        """
        status = self._process.wait()
        assert status == -signal.SIGKILL, (
            f"a process ended by itself with {status}:\n{self._errors.read_text()}"
        )


def run_crashes(
    folder: Path,
    *,
    kills: int,
    kills_each: int = 1,
    seed: int = 0,
) -> CrashReport:
    """Run rounds of kills and checks until there were enough kills.

    Args:
        folder: Empty folder for the knowledge base, logs and control files.
        kills: Minimum number of killed writers, two per round.
        kills_each: Minimum number of kills in each of `WANTED_PHASES`.
        seed: Seed of the chosen moments; the timing of the processes stays random.

    Raises:
        AssertionError: If a check fails after a round.
    """
    store = open_embedded(folder / "crash.kb")
    store.ensure_settings(SETTINGS)
    store.close()
    report = CrashReport()
    chooser = random.Random(seed)
    allowed: Allowed = {}
    while report.kills < kills or min(report.landed[p] for p in WANTED_PHASES) < kills_each:
        wanted = min(WANTED_PHASES, key=lambda phase: report.landed[phase])
        _run_round(folder, report, chooser, wanted)
        for writer in _WRITERS:
            log = folder / f"{writer}.log"
            report.acknowledged += log.read_bytes().count(b'"done"')
            allowed = read_log(log, allowed)
            log.unlink()
        copy = folder / "copy.kb"
        shutil.copytree(folder / "crash.kb", copy)
        allowed = check_knowledge_base(copy, allowed)
        shutil.rmtree(copy)
    return report


def _run_round(folder: Path, report: CrashReport, chooser: random.Random, wanted: Phase) -> None:
    """Start all processes, kill them in the wanted phase of one writer, and count the kills."""
    report.rounds += 1
    knowledge_base = str(folder / "crash.kb")
    writers: list[_Child] = []
    for number, writer in enumerate(_WRITERS):
        control, log = folder / f"{writer}.control", folder / f"{writer}.log"
        log.touch()
        first = (report.rounds * len(_WRITERS) + number) * _VERSIONS
        arguments = ["writer", knowledge_base, str(control), str(log), writer, str(first)]
        writers.append(_Child(control, arguments))
    control = folder / "reader.control"
    reader = _Child(control, ["reader", knowledge_base, str(control)])
    children = [*writers, reader]
    try:
        _await_start(children, writers)
        time.sleep(chooser.uniform(0, _HEAD_START_SECONDS))
        victim = chooser.choice(writers)
        _await_phase(children, victim, wanted)
        time.sleep(chooser.choice((0, 0, 0.1, 1)) * chooser.uniform(0, _DELAY_SECONDS))
        victim.kill()
        time.sleep(chooser.choice((0, _SURVIVAL_SECONDS)))
        for child in children:
            if child is not victim:
                child.check_alive()
    finally:
        for child in children:
            child.kill()
    for child in children:
        child.finish()
    report.landed.update(writer.phase for writer in writers)
    report.searches += reader.searches


def _await_start(children: list[_Child], writers: list[_Child]) -> None:
    until = time.monotonic() + _PHASE_SECONDS
    while any(writer.phase == Phase.STARTING for writer in writers):
        for child in children:
            child.check_alive()
        assert time.monotonic() < until, "a writer does not start"
        time.sleep(0.005)


def _await_phase(children: list[_Child], victim: _Child, wanted: Phase) -> None:
    until = time.monotonic() + _PHASE_SECONDS
    while victim.phase != wanted:
        time.sleep(_POLL_SECONDS)
        if time.monotonic() > until:
            for child in children:
                child.check_alive()
            raise AssertionError(f"a writer never is in the phase {wanted.name}")
