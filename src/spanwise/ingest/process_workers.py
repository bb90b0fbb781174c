"""Workers of an ingest in processes of this machine.

Rules:
    A process is started when it gets its first request, and replaced if it dies.
    A process has up to two requests, so that it never waits for the owner. When it dies, the first
    of them may be the cause, and is repeated once; the others are repeated in any case.
    If processes do not start at all, the owner prepares all documents.
"""

from __future__ import annotations

import logging
import subprocess
import threading
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from spanwise.ingest.worker_frames import decode_prepared, encode_request
from spanwise.ingest.workers import Prepared, PrepareRequest
from spanwise.parsers.process.child_processes import end_process, start_module
from spanwise.parsers.process.protocol import read_frame, write_frame
from spanwise.threads import result_of

if TYPE_CHECKING:
    from spanwise.types import Document

_logger = logging.getLogger("spanwise")

_AHEAD_PER_PROCESS = 4
"""Requests that are taken ahead, per process."""
_MAX_AHEAD_CHARS = 20_000_000
"""Total length of the texts of these requests; a single request may be longer."""
_WINDOW = 2
_MAX_ATTEMPTS = 2
_ONE_THREAD = {
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""Environment variables that keep libraries from starting threads: each core has a process."""


@dataclass(slots=True, eq=False)
class _Task:
    request: PrepareRequest
    document: Document
    result: Future[Prepared] = field(default_factory=Future)
    deaths: int = 0
    """Number of processes that died while they prepared it."""


class _Started(NamedTuple):
    """A request that was passed on."""

    chars: int
    """Length of its text."""
    result: Future[Prepared]


def _refused() -> Future[Prepared]:
    result: Future[Prepared] = Future()
    result.set_result(Prepared(outcome="refused"))
    return result


class ProcessWorkers:
    """Worker processes of this machine; implements `Workers`."""

    def __init__(self, count: int) -> None:
        """Create the workers; their processes are started by the first requests.

        Args:
            count: Number of processes, at least 1.
        """
        self._count = count
        self._tasks: deque[_Task] = deque()
        self._changed = threading.Condition()
        self._processes: list[WorkerProcess] = []
        self._closed = False
        self._has_started = False
        self._broken = False

    def map(self, requests: Iterable[PrepareRequest]) -> Generator[Prepared]:
        """Yield the result of each request, see `Workers.map`."""
        ahead = self._count * _AHEAD_PER_PROCESS
        waiting: deque[_Started] = deque()
        try:
            for request in requests:
                waiting.append(self._started(request))
                while waiting and (_is_full(waiting, ahead) or waiting[0].result.done()):
                    yield result_of(waiting.popleft().result)
            while waiting:
                yield result_of(waiting.popleft().result)
        finally:
            with self._changed:
                self._tasks.clear()

    def close(self) -> None:
        """Kill all processes."""
        with self._changed:
            self._closed = True
            self._tasks.clear()
            self._changed.notify_all()
            processes = list(self._processes)
        for process in processes:
            process.end()

    @property
    def process_ids(self) -> list[int]:
        """Ids of the running processes."""
        with self._changed:
            return [process.id for process in self._processes]

    def _started(self, request: PrepareRequest) -> _Started:
        """Pass a request on to the processes."""
        if request.document is None:
            return _Started(request.chars, _refused())
        task = _Task(request, request.document)
        with self._changed:
            if self._broken:
                return _Started(request.chars, _refused())
            self._tasks.append(task)
            self._changed.notify()
            if self._count > len(self._processes):
                process = WorkerProcess()
                self._processes.append(process)
                threading.Thread(
                    target=self._serve, args=(process,), name="spanwise-worker", daemon=True
                ).start()
        return _Started(request.chars, task.result)

    def _take(self, *, wait: bool) -> _Task | None:
        """Return the next task; None if the workers are closed, or if `wait` is False."""
        with self._changed:
            while wait and not self._tasks and not self._closed:
                self._changed.wait()
            return self._tasks.popleft() if self._tasks and not self._closed else None

    def _serve(self, process: WorkerProcess) -> None:
        """Pass tasks to a process until the workers are closed."""
        sent: deque[_Task] = deque()
        while (task := self._take(wait=not sent)) is not None or sent:
            try:
                if task is not None:
                    _send(process, task, sent)
                if not sent or (task is not None and len(sent) < _WINDOW):
                    continue
                prepared = process.receive(sent[0].request, sent[0].document)
            except Exception:  # noqa: BLE001 - also an answer that cannot be read
                self._recover(process, sent)
                continue
            self._has_started = True
            sent.popleft().result.set_result(prepared)
        process.end()

    def _recover(self, process: WorkerProcess, sent: deque[_Task]) -> None:
        """Put the tasks of a process that died back; its next task starts it again."""
        process.kill()
        with self._changed:
            if self._closed:
                sent.clear()
                return
            first = sent[0]
            first.deaths += 1
            if first.deaths < _MAX_ATTEMPTS or self._has_started:
                if first.deaths == _MAX_ATTEMPTS:
                    sent.popleft().result.set_result(Prepared(outcome="lost"))
                self._tasks.extendleft(reversed(sent))
                sent.clear()
                self._changed.notify_all()
                return
            self._broken = True
            failed = [*sent, *self._tasks]
            sent.clear()
            self._tasks.clear()
        _logger.warning("the worker processes do not start; documents are prepared without them")
        for task in failed:
            task.result.set_result(Prepared(outcome="refused"))


def _send(process: WorkerProcess, task: _Task, sent: deque[_Task]) -> None:
    """Send a task; it is refused if JSON cannot represent it.

    Raises:
        OSError: If the process cannot be started, or has died.
    """
    sent.append(task)
    try:
        process.send(task.request, task.document)
    except (TypeError, RecursionError):  # nothing was sent
        sent.pop().result.set_result(Prepared(outcome="refused"))


def _is_full(waiting: deque[_Started], ahead: int) -> bool:
    """Return whether no more requests are taken before the first result."""
    chars = sum(started.chars for started in waiting)
    return len(waiting) >= ahead or (chars > _MAX_AHEAD_CHARS and len(waiting) > 1)


class WorkerProcess:
    """A worker process, which is started when it is first used. Used by one thread at a time."""

    def __init__(self) -> None:
        """Create the owner's side of a process."""
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._packs: str | None = None
        """Packs of the last request; None for no request."""
        self._is_ended = False
        self._lock = threading.Lock()

    @property
    def id(self) -> int:
        """Id of the process; 0 if it is not running."""
        process = self._process
        return 0 if process is None else process.pid

    def send(self, request: PrepareRequest, document: Document) -> None:
        """Send a request.

        Raises:
            OSError: If the process cannot be started, or has died.
        """
        process = self._running()
        header, payload = encode_request(request, document, known_packs=self._packs)
        if process.stdin is None:
            raise OSError("the worker process was started without pipes")
        write_frame(process.stdin, header=header, payload=payload)
        self._packs = request.packs

    def receive(self, request: PrepareRequest, document: Document) -> Prepared:
        """Wait for the result of the oldest request; results are in the order of the requests.

        Raises:
            OSError: If the process has died.
        """
        process = self._running()
        frame = None
        if process.stdout is not None:
            frame = read_frame(process.stdout)
            if frame is not None and not self._is_ready:
                self._is_ready = True
                frame = read_frame(process.stdout)
        if frame is None:
            raise OSError("the worker process has died")
        return decode_prepared(*frame, document, known_packs=request.packs)

    def _running(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_ended:
                raise OSError("the worker process was ended")
            if self._process is None:
                self._process = start_module(
                    "spanwise.ingest.worker_process", variables=_ONE_THREAD
                )
            return self._process

    def end(self) -> None:
        """Kill the process; later requests fail."""
        with self._lock:
            self._is_ended = True
        self.kill()

    def kill(self) -> None:
        """Kill the process; the next request starts another one."""
        with self._lock:
            process, self._process = self._process, None
            self._is_ready, self._packs = False, None
        if process is not None:
            end_process(process)
