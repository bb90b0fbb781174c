"""Parent side of one parsing process, with time limits that grow with the number of pages.

Rules of time limits
    1. A step (a page, or a whole document without pages) may take `base_seconds` and
       `page_seconds` per page of work in it, so that a hang is detected soon.
    2. A parse may take `base_seconds` and `page_seconds` per page of work in all.
    3. No document takes longer than `timeout_seconds`, including all attempts.

Rules of processes
    1. A child is started at first use and reused. It is killed at its time limit, with all
       processes that it started, and replaced after a crash.
    2. The child gets only the environment variables that a Python process needs to start and those
       by which a user restricts it. Variables that disable telemetry and downloads are set.
    3. The output of the child is protocol frames and a separate log, so that a library that
       prints cannot disturb the protocol.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import BinaryIO

from spanwise.errors import ParseError
from spanwise.options import ParseOptions
from spanwise.parsers.parsed import Step
from spanwise.parsers.plugins import OWN_PARSERS
from spanwise.parsers.process.child_processes import end_process, kill_group, start_module
from spanwise.parsers.process.protocol import Header, decode_error, read_frame, write_frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Time limits of one parse, on the monotonic clock."""

    options: ParseOptions
    started: float
    last: float
    """Deadline of the document, independent of its pages."""

    def end_of(self, step: Step | None, *, now: float) -> float:
        """Return the deadline of a step that begins now; `step` is None before the first one."""
        if step is None:
            return min(self.last, now + self.options.base_seconds)
        whole = self.started + self._seconds(max(step.of, step.pages))
        return min(self.last, whole, now + self._seconds(step.pages))

    def _seconds(self, pages: int) -> float:
        return self.options.base_seconds + pages * self.options.page_seconds


class Watch:
    """Timer on a separate thread, whose deadline can be moved."""

    def __init__(self, end: float, expire: Callable[[], None]) -> None:
        self._end = end
        self._expire = expire
        self._stopped = False
        self.expired = False
        """Whether the deadline passed before the timer was stopped."""
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._wait, name="spanwise-watch", daemon=True)
        self._thread.start()

    def move(self, end: float) -> None:
        """Set another deadline, later or earlier."""
        with self._changed:
            earlier = end < self._end
            self._end = end
            if earlier:  # the thread reads a later deadline when it wakes
                self._changed.notify()

    def stop(self) -> None:
        """Stop the timer; a callback that has started is finished when this returns."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _wait(self) -> None:
        with self._changed:
            while not self._stopped:
                left = self._end - time.monotonic()
                if left <= 0:
                    self.expired = True
                    self._expire()
                    return
                self._changed.wait(left)


_DOCUMENTS_PER_CHILD = 500
"""Number of documents after which a child is replaced, to free memory that libraries leak."""
_START_SECONDS = 60.0
_END_SECONDS = 1.0
_MAX_LOST_PAGES = 10
_MAX_HUNG_PAGES = 3
"""Number of pages on which a parser may crash or hang before the document fails."""
_HEADER_BYTES = 1 << 27
_LOG_BYTES = 1 << 16
"""Number of bytes that are read from the end of the log."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """Result of a request."""

    frame: tuple[Header, bytes] | None
    """Answer; None if the process crashed or was killed."""
    expired: bool
    """Whether the time limit was reached."""
    page: int | None
    """Number of the current page, if it was reported."""
    allowed_seconds: float
    """Time limit of its last step."""


class ParserChild:
    """Parsing process that is started at first use. Used by one thread at a time."""

    def __init__(
        self, options: ParseOptions, on_step: Callable[[Step], None] = lambda _: None
    ) -> None:
        """Create a parent of a process.

        Args:
            options: Limits.
            on_step: Callback before each step of a parser.
        """
        self._options = options
        self._on_step = on_step
        self._process: subprocess.Popen[bytes] | None = None
        self._log: BinaryIO | None = None
        self._served = 0
        self._abandoned = False

    def ask(self, header: Header, payload: bytes) -> tuple[Header, bytes]:
        """Return the answer to a request.

        A page on which the process hangs or crashes is skipped in another attempt, a few times, so
        that the rest of the document can be read.

        Raises:
            ParseError: If the source cannot be parsed, with the kind of the cause as `code`.
            FetchError: If it cannot be opened, or is larger than the limit.
        """
        last = time.monotonic() + self._options.timeout_seconds
        lost: dict[int, ParseError] = {}
        while True:
            request = {**header, "skipped_pages": sorted(lost)}
            reply = self._attempt(request, payload, last=last)
            if reply.frame is not None:
                try:
                    return self._read(reply.frame, header["name"])
                except ParseError as error:  # the remaining pages may have no text
                    if not lost:
                        raise
                    raise next(iter(lost.values())) from error
            death = self._crash_error(reply, header["name"])
            hung = sum(error.code == "timeout" for error in (*lost.values(), death))
            if hung > _MAX_HUNG_PAGES or len(lost) == _MAX_LOST_PAGES:
                raise death
            if reply.page is None or time.monotonic() >= last:
                raise death
            lost[reply.page] = death

    def _read(self, frame: tuple[Header, bytes], name: str) -> tuple[Header, bytes]:
        answer, _ = frame
        if self._served >= _DOCUMENTS_PER_CHILD:
            self.stop()
        if "error" in answer:
            raise decode_error(answer["error"], name)
        return frame

    def _attempt(self, header: Header, payload: bytes, *, last: float) -> _Reply:
        """Send a request to a running child and return its reply.

        A crash of a child that has served other requests may be their consequence: the request is
        repeated in a new child.
        """
        while True:
            process = self._running(header["name"])
            self._served += 1
            allowance = Allowance(options=self._options, started=time.monotonic(), last=last)
            try:
                reply = self._exchange(process, header=header, payload=payload, allowance=allowance)
            except ValueError as exc:
                raise ParseError(
                    f"{header['name']}: the parser's answer cannot be read: {exc}; leave it out",
                    source=header["name"],
                    code="crashed",
                ) from exc
            if reply.frame is None and self._abandoned:
                raise self._abandoned_error(header["name"])
            if reply.frame is not None or reply.expired or self._served == 1:
                return reply
            self.stop()

    def _crash_error(self, reply: _Reply, name: str) -> ParseError:
        """Stop the process and return the error with the cause of its end."""
        cause = self._crash_cause()
        self.stop()
        place = "" if reply.page is None else f" page {reply.page}"
        if not reply.expired:
            return ParseError(
                f"{name}: the parser died{place and f' on{place}'}: {cause}",
                source=name,
                code="crashed",
            )
        options = self._options
        return ParseError(
            f"{name}: parsing{place} took longer than {reply.allowed_seconds:.3g} seconds and was "
            f"stopped; raise the limits (timeout_seconds={options.timeout_seconds:g}, "
            f"base_seconds={options.base_seconds:g}, page_seconds={options.page_seconds:g}) or "
            "leave it out",
            source=name,
            code="timeout",
        )

    def stop(self) -> None:
        """Kill the process, if there is one, and release its resources."""
        process, self._process = self._process, None
        log, self._log = self._log, None
        self._served = 0
        if process is not None:
            end_process(process)
        if log is not None:
            log.close()

    def abandon(self) -> None:
        """End the process permanently, also from another thread; its current request raises."""
        self._abandoned = True
        process = self._process
        if process is not None:
            kill_group(process)

    def _abandoned_error(self, name: str) -> ParseError:
        self.stop()
        return ParseError(
            f"{name}: parsing was stopped, because its ParserPool was closed; parse it again",
            source=name,
            code="crashed",
        )

    def _running(self, name: str) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.stop()
        try:
            process = self._start()
            if self._abandoned:  # abandoned before the process was started
                kill_group(process)
            last = time.monotonic() + _START_SECONDS
            starting = replace(self._options, base_seconds=_START_SECONDS)
            allowance = Allowance(options=starting, started=time.monotonic(), last=last)
            reply = self._exchange(process, header=None, payload=b"", allowance=allowance)
            cause = None if reply.frame else self._crash_cause()
        except OSError as exc:
            cause = str(exc)
        if cause is not None and self._abandoned:
            raise self._abandoned_error(name)
        if cause is not None or self._process is None:
            self.stop()
            raise ParseError(
                f"{name}: the parsing process does not start: {cause}", source=name, code="crashed"
            )
        return self._process

    def _start(self) -> subprocess.Popen[bytes]:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        # Third-party parsers write caches, so they have no limit.
        folder = tempfile.gettempdir() if self._options.parser == OWN_PARSERS else ""
        self._process = start_module(
            "spanwise.parsers.process.worker",
            str(self._options.max_memory_bytes),
            folder,
            log=self._log,
        )
        return self._process

    def _exchange(
        self,
        process: subprocess.Popen[bytes],
        *,
        header: Header | None,
        payload: bytes,
        allowance: Allowance,
    ) -> _Reply:
        """Send a request (None to send nothing) and wait for the answer, step by step."""
        requests, answers = process.stdin, process.stdout
        if requests is None or answers is None:
            raise RuntimeError("the parsing process was started without pipes")
        begun = time.monotonic()
        end = allowance.end_of(None, now=begun)
        watch = Watch(end, lambda: kill_group(process))
        step: Step | None = None
        frame = None
        finished = False
        try:
            if header is not None:
                write_frame(requests, header=header, payload=payload)
            while (frame := read_frame(answers, max_bytes=_frame_limit(self._options))) is not None:
                if "step" not in frame[0]:
                    break
                step = Step(**frame[0]["step"])
                begun = time.monotonic()
                end = allowance.end_of(step, now=begun)
                watch.move(end)
                self._on_step(step)
            finished = True
        except OSError:  # the child crashed during the write
            finished = True
        finally:
            watch.stop()
            if not finished:  # interrupted: the rest of the answer is still unread
                self.stop()
        if frame is not None and watch.expired:
            self.stop()  # it answered while it was killed
        page = None if step is None else step.page
        return _Reply(frame, expired=watch.expired, page=page, allowed_seconds=end - begun)

    def _crash_cause(self) -> str:
        """Return the cause of a crash: the end of the log, or the signal."""
        memory = (
            f"it needed more than max_memory_bytes={self._options.max_memory_bytes}; raise that "
            "limit, or leave the file out"
        )
        if self._process is None or self._log is None:
            return "it was not started"
        with suppress(subprocess.TimeoutExpired):  # it closed its streams and is about to end
            self._process.wait(_END_SECONDS)
        kill_group(self._process)
        status = self._process.wait()
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - _LOG_BYTES))
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        message = next((line.strip() for line in reversed(lines) if line.strip()), "")
        if message.startswith("MemoryError"):
            return memory
        if status < 0:
            return f"it was killed by {_signal_name(-status)}; most often {memory}"
        return f"{message or f'it ended with status {status}'}; leave the file out and report this"


def _frame_limit(options: ParseOptions) -> int:
    """Return the maximum number of bytes of the header or payload of a frame."""
    return options.max_text_bytes + _HEADER_BYTES


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
