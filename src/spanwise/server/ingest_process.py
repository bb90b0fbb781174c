"""The process of a server that runs ingest jobs, so that they do not slow down its requests.

Rules:
    1. The server starts it, and restarts it when it dies, after a wait that doubles.
    2. Its standard input is a pipe from the server. The first line has its settings; the end of the
       pipe asks it to stop. The system closes the pipe of a killed server, so no process is left
       behind.
    3. A process that is asked to stop puts its running job back to the queue. The leases of a
       process that has died are ended at once, so that the next process takes its job over.
    4. It has a lower priority than the server where the platform allows it.
    5. It is started once a knowledge base has had a job. A server without jobs has no such process.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from spanwise.config import fetch_options, model_options, parse_options
from spanwise.errors import StoreError
from spanwise.loading import fast_imports
from spanwise.server.jobs import STOP_SECONDS
from spanwise.server.log import log_to_stderr
from spanwise.server.options import QueueOptions
from spanwise.types.plain import from_plain, to_plain

if TYPE_CHECKING:
    from spanwise.server.jobs import JobStore

_logger = logging.getLogger("spanwise.server")
_NICENESS = 10
_FIRST_WAIT_SECONDS, _MAX_WAIT_SECONDS = 0.5, 30.0
_HEALTHY_SECONDS = 60.0  # time after which the wait before a restart begins small again
_LOOK_SECONDS = 0.5  # between two looks for a first job
_KILL_SECONDS = STOP_SECONDS + 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSettings:
    """Settings of an ingest process."""

    knowledge_bases: Mapping[str, str] = field(repr=False)
    """Paths and addresses of the knowledge bases by name; an address may contain a password."""
    queue: QueueOptions
    """Options of the queues."""
    llm: str = ""
    """Language model of the server; empty for none."""
    max_cost: float | None = None
    """Maximum total cost of model calls of the process, in US dollars."""
    allow_private: bool = False
    """Whether URLs on private networks and on this machine may be added."""
    owner: str = ""
    """Unique name of the process as the owner of leases."""


class IngestProcess:
    """Starts an ingest process when there are jobs, and restarts it when it dies.

    A context manager.
    """

    def __init__(self, settings: IngestSettings, jobs: Sequence[JobStore]) -> None:
        """Create the supervisor; nothing is started before the block is entered.

        The first look for jobs is after a moment, so that the server itself starts first.

        Args:
            settings: Settings of the process; its owner is ignored.
            jobs: Jobs of the knowledge bases.
        """
        self._settings = settings
        self._jobs = jobs
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._is_replacing = False
        self._thread = threading.Thread(target=self._watch, name="spanwise-ingest", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ask the process to stop, and wait; kill it if it takes too long."""
        self._stopping.set()
        self._close_pipe()
        self._thread.join(_KILL_SECONDS)
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.kill()
        self._thread.join(1)

    def replace(self) -> None:
        """Ask the process, if there is one, to stop; another one continues its job."""
        if self._process is None:
            return
        self._is_replacing = True
        self._close_pipe()

    def _close_pipe(self) -> None:
        with self._lock:
            if self._process is not None and self._process.stdin is not None:
                with suppress(OSError):
                    self._process.stdin.close()

    def _watch(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            if any(map(_is_used, self._jobs)):
                self._supervise()
                return

    def _supervise(self) -> None:
        wait_seconds = _FIRST_WAIT_SECONDS
        while not self._stopping.is_set():
            started = time.monotonic()
            outcome = self._run_once()
            if self._is_replacing or self._stopping.is_set():
                self._is_replacing = False
                continue
            if time.monotonic() - started > _HEALTHY_SECONDS:
                wait_seconds = _FIRST_WAIT_SECONDS
            _logger.error(
                "the ingest process %s; it is started again in %g s", outcome, wait_seconds
            )
            self._stopping.wait(wait_seconds)
            wait_seconds = min(2 * wait_seconds, _MAX_WAIT_SECONDS)

    def _run_once(self) -> str:
        """Start a process and wait for its end; return what happened to it."""
        owner = secrets.token_hex(16)
        try:
            process = self._start(owner)
        except OSError as error:  # no memory, processes or file handles are left, perhaps for long
            return f"cannot be started ({error})"
        if process is None:
            return "is not started"
        code = process.wait()
        self._end_leases(owner)
        return f"has ended with code {code}"

    def _start(self, owner: str) -> subprocess.Popen[bytes] | None:
        """Start a process; None if the server stops."""
        settings = json.dumps(to_plain(replace(self._settings, owner=owner)))
        with self._lock:
            if self._stopping.is_set():
                return None
            self._process = subprocess.Popen(
                [sys.executable, "-m", "spanwise.server.ingest_process"],
                stdin=subprocess.PIPE,
                creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),
            )
            stdin = self._process.stdin
            if stdin is not None:
                with suppress(OSError):  # it has died already
                    stdin.write(f"{settings}\n".encode())
                    stdin.flush()
            return self._process

    def _end_leases(self, owner: str) -> None:
        """End the leases of a process that has ended, and count its end if it has died."""
        for jobs in self._jobs:
            try:
                jobs.abandon(owner)
                if not (self._is_replacing or self._stopping.is_set()):
                    jobs.count("restarts")
            except StoreError as error:  # the leases expire by themselves
                _logger.error("the leases of a dead process cannot be ended: %s", error)  # noqa: TRY400 - the error says enough


def _is_used(jobs: JobStore) -> bool:
    """Return whether there was a job; False while the jobs cannot be read."""
    try:
        return jobs.is_used()
    except StoreError:  # the next look tries again, and readiness reports it
        return False


def main() -> None:
    """Run jobs until the standard input ends or SIGTERM arrives."""
    log_to_stderr()
    settings = from_plain(IngestSettings, json.loads(sys.stdin.buffer.readline()))
    stopping = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the server, which closes the pipe
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICENESS)
    threading.Thread(target=_follow_pipe, args=(stopping,), daemon=True).start()
    try:
        _run_jobs(settings, stopping)
    except StoreError as error:  # the server starts the process again
        _logger.error("the ingest process cannot open a knowledge base: %s", error)  # noqa: TRY400 - the error says enough
        sys.exit(1)


def _run_jobs(settings: IngestSettings, stopping: threading.Event) -> None:
    """Run jobs until the process is asked to stop.

    Raises:
        StoreError: If a knowledge base cannot be opened.
    """
    with fast_imports():  # not in the server, which only starts the process
        from spanwise.knowledge_base import KnowledgeBase
        from spanwise.server.queue import queues_of, running
    with ExitStack() as stack:
        bases = {
            name: stack.enter_context(
                KnowledgeBase(
                    path,
                    create=False,
                    models=model_options(max_cost=settings.max_cost),
                    parse=parse_options(),
                    fetch=fetch_options(allow_private=settings.allow_private),
                )
            )
            for name, path in settings.knowledge_bases.items()
        }
        queues = queues_of(bases, settings.queue, llm=settings.llm or None, owner=settings.owner)
        with running(queues):
            stopping.wait()


def _follow_pipe(stopping: threading.Event) -> None:
    """Stop when the standard input ends, in the last resort without waiting for other threads."""
    # A thread that waits in `sys.stdin` would hold its lock, and Python aborts if it ends then.
    while os.read(sys.stdin.fileno(), 1):
        pass
    stopping.set()
    time.sleep(STOP_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
