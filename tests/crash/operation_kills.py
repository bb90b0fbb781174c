"""Rounds of the crash test of operations: an operation is killed, checked, continued and compared.

A round starts from the state before the operation. Its process is killed (SIGKILL), and what it
left is checked. The next process continues. At the end of a round the operation runs undisturbed,
and the final state must equal that of a run that was never killed.

Half of the kills come at a random time, the others at a random call of a function of Spanwise, so
that short steps are hit too. Processes are forked from a server that has imported everything.
"""

from __future__ import annotations

import multiprocessing
import random
import shutil
import signal
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.crash.operation_child import REFUSED, run_operation
from tests.crash.operations import Operation, Place, check_after_fault, final_state

_SECONDS = 300.0
_POLL_SECONDS = 0.001
_CHANCE_OF_ANOTHER = 0.8


@dataclass(slots=True)
class Workplace:
    """Folder and store of the runs of one operation."""

    folder: Path
    """Folder of everything. The place of each run has the same path."""
    operation: Operation
    store: Store

    @property
    def place(self) -> Place:
        """Place of the runs."""
        return Place(self.folder / "place", self.store.base(self.folder / "place"))

    @property
    def log(self) -> Path:
        """Log of the processes of a round; next to the folder, whose disk may be full."""
        return self.folder.with_name(f"{self.folder.name}.log")

    def make(self) -> None:
        """Make the state before the operation."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.store.clear()
        self.operation.make(self.place)
        self.place.folder.rename(self.folder / "template")
        self.store.save()

    def reset(self) -> None:
        """Restore the state before the operation."""
        shutil.rmtree(self.place.folder, ignore_errors=True)
        shutil.copytree(self.folder / "template", self.place.folder)
        self.store.restore()
        self.log.unlink(missing_ok=True)

    @contextmanager
    def as_left(self) -> Iterator[Place]:
        """Yield a copy of the place, if it can be copied, which a check may change."""
        copy = self.folder / "checked"
        shutil.copytree(self.place.folder, copy)
        try:
            yield Place(copy, self.store.base(copy))
        finally:
            shutil.rmtree(copy)

    def acknowledged(self) -> list[str]:
        """Return the acknowledgements since the last reset."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [line.removeprefix("done ") for line in lines if line.startswith("done ")]

    def check(self) -> None:
        """Check what the last process left."""
        with self.as_left() as place:
            check_after_fault(self.operation, place, self.acknowledged())


class Store:
    """Knowledge bases in folders: they are in the place itself."""

    name: Literal["folder", "postgres"] = "folder"

    def base(self, folder: Path) -> str:
        """Return the knowledge base of a place."""
        return str(folder / "a.kb")

    def clear(self) -> None:
        """Delete what an earlier operation left."""

    def save(self) -> None:
        """Save the state for `restore`."""

    def restore(self) -> None:
        """Restore the saved state."""


class PostgresStore(Store):
    """Knowledge base in a database of a server; a second database holds the saved state."""

    name = "postgres"

    def __init__(self, server: str) -> None:
        """Use two databases of a server.

        Args:
            server: Address of the server without the name of a database.
        """
        self._server = server

    def base(self, folder: Path) -> str:
        """Return the address."""
        _ = folder
        return f"{self._server}/crash"

    def clear(self) -> None:
        """Delete both databases, and create an empty one."""
        self._run("drop database if exists crash with (force)")
        self._run("drop database if exists crash_saved with (force)")
        self._run("create database crash encoding 'UTF8' template template0")

    def save(self) -> None:
        """Copy the database."""
        self._run("alter database crash rename to crash_saved")

    def restore(self) -> None:
        """Replace the database by a copy of the saved one.

        The copy is of files, because PostgreSQL logs no further values of sequences that it has
        copied by its log. After a crash of the server, they would return the same values again.
        """
        self._run("drop database if exists crash with (force)")
        self._run("create database crash template crash_saved strategy file_copy")

    def _run(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(f"{self._server}/postgres", autocommit=True) as connection:
            connection.execute(statement)


@dataclass(slots=True)
class KillReport:
    """Counts of the kills of one operation."""

    kills: int = 0
    rounds: int = 0
    """Number of runs that were continued to their end and compared with an undisturbed run."""
    acknowledged: int = 0
    """Number of acknowledgements before kills."""
    most: int = 0
    """Largest number of kills of one round."""


def _fork_server() -> multiprocessing.context.ForkServerContext:
    """Return the context of a server that has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.crash.operation_preload"])
    return context


@dataclass(slots=True)
class Runner:
    """Starts processes, and knows how long the operation takes undisturbed."""

    workplace: Workplace
    chooser: random.Random
    seconds: float = 0.0
    calls: int = 0
    context: multiprocessing.context.ForkServerContext = field(default_factory=_fork_server)

    def start(self, mode: str = "") -> multiprocessing.context.ForkServerProcess:
        place, log = self.workplace.place, self.workplace.log
        name = self.workplace.operation.name
        process = self.context.Process(
            target=run_operation, args=(name, str(place.folder), place.base, str(log), mode)
        )
        process.start()
        return process

    def start_ready(self, mode: str = "") -> multiprocessing.context.ForkServerProcess:
        """Start the operation, and return when its process begins with it."""
        started = self._starts()
        process = self.start(mode)
        self._await_ready(started)
        return process

    def join(
        self, process: multiprocessing.context.ForkServerProcess, allowed: Container[int] = (0,)
    ) -> int:
        """Wait for the end of a process, check its exit code, and return it."""
        code = self.wait(process)
        assert code in allowed, self._failure(process)
        return code

    def wait(self, process: multiprocessing.context.ForkServerProcess) -> int:
        """Wait for the end of a process, kill it after five minutes, and return its exit code."""
        process.join(_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
            raise AssertionError(f"the operation did not end in {_SECONDS:.0f} seconds")
        code = process.exitcode
        assert code is not None
        return code

    def finish(self, mode: str = "") -> None:
        """Run the operation to its end."""
        self.join(self.start(mode))

    def measure(self) -> object:
        """Measure an undisturbed run, and return its final state."""
        self.workplace.reset()
        self.finish("count")
        self.calls = int(self.workplace.log.read_text(encoding="utf-8").split()[-1])
        self.workplace.reset()
        process = self.start_ready()
        began = time.monotonic()
        self.join(process)
        self.seconds = time.monotonic() - began
        self.workplace.check()
        return final_state(self.workplace.operation, self.workplace.place)

    def kill(self) -> bool:
        """Run and kill a process; return False if it ended before."""
        if self.chooser.random() < 0.5:
            process = self.start(f"kill {self.chooser.randint(1, self.calls)}")
        else:
            process = self.start_ready()
            time.sleep(self.chooser.uniform(0, self.seconds))
            process.kill()
        return self.join(process, (0, -signal.SIGKILL)) != 0

    def _starts(self) -> int:
        log = self.workplace.log
        return log.read_bytes().count(b"ready\n") if log.exists() else 0

    def _await_ready(self, starts: int) -> None:
        until = time.monotonic() + _SECONDS
        while self._starts() <= starts:
            assert time.monotonic() < until, "a process does not start"
            time.sleep(_POLL_SECONDS)

    def _failure(self, process: multiprocessing.context.ForkServerProcess) -> str:
        errors = Path(f"{self.workplace.log}.stderr")
        kind = "was refused" if process.exitcode == REFUSED else "failed"
        return (
            f"the operation {self.workplace.operation.name} {kind} ({process.exitcode}):\n"
            f"{self.workplace.log.read_text(encoding='utf-8')[-500:]}\n"
            f"{errors.read_text(encoding='utf-8')[-3_000:]}"
        )


def run_kills(workplace: Workplace, *, kills: int, seed: int = 0) -> KillReport:
    """Kill an operation many times, and check what it leaves.

    Args:
        workplace: Workplace with an unused folder.
        kills: Minimum number of kills.
        seed: Seed of the chosen moments; the timing of the processes stays random.

    Raises:
        AssertionError: If a check fails.
    """
    runner = Runner(workplace, random.Random(f"{seed} {workplace.operation.name}"))
    workplace.make()
    expected = runner.measure()
    report = KillReport()
    while report.kills < kills:
        _run_round(workplace, runner, report)
        found = final_state(workplace.operation, workplace.place)
        assert found == expected, (
            f"{workplace.operation.name} ends in another state: {_difference(found, expected)}"
        )
    return report


def _difference(found: object, expected: object, *path: int) -> str:
    """Return the first values that differ inside lists of the same length, and their place."""
    if isinstance(found, list | tuple) and isinstance(expected, list | tuple):
        pairs = list(zip(found, expected, strict=False))
        different = [at for at, (one, other) in enumerate(pairs) if one != other]
        is_nested = different and isinstance(pairs[different[0]][0], list | tuple)
        if is_nested and len(found) == len(expected):
            return _difference(*pairs[different[0]], *path, different[0])
    return f"at {list(path)} {found!r:.1000} instead of {expected!r:.1000}"


def _run_round(workplace: Workplace, runner: Runner, report: KillReport) -> None:
    workplace.reset()
    killed = 0
    while True:
        if not runner.kill():
            break
        killed += 1
        workplace.check()
        if runner.chooser.random() > _CHANCE_OF_ANOTHER:
            break
    report.acknowledged += len(workplace.acknowledged())
    report.kills += killed
    report.most = max(report.most, killed)
    report.rounds += 1
    runner.finish()
    workplace.check()
