"""One parsing process that can be killed: the parent's side.

Rules
    1. A child is started when it is first needed and used again; it is killed when it takes too
       long, and replaced when it died.
    2. The child gets the environment variables that a Python process needs to start, no others.
    3. Everything that the child says is an answer or the log of its last words; a library that
       prints cannot disturb the protocol.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from spanwise.errors import DocumentError, DocumentErrorCode, FetchError, ParseError
from spanwise.options import ParseOptions
from spanwise.parsers.parsed import Parsed
from spanwise.parsers.protocol import Header, decode_parsed, read_frame, write_frame

__all__ = ["ParserChild"]

_DOCUMENTS_PER_CHILD = 500
"""A child is replaced after so many documents: what its libraries leak ends with it."""
_START_SECONDS = 60.0
_PASSED_VARIABLES = frozenset(
    "PATH SYSTEMROOT WINDIR TEMP TMP TMPDIR HOME USERPROFILE APPDATA LOCALAPPDATA LANG LC_ALL "
    "LC_CTYPE LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONHOME PYTHONUSERBASE".split()
)


class ParserChild:
    """One parsing process, started when it is needed. Used by one thread at a time."""

    def __init__(self, options: ParseOptions) -> None:
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._log: BinaryIO | None = None
        self._served = 0
        self._abandoned = False

    def ask(self, header: Header, payload: bytes) -> tuple[Parsed, str]:
        """Return the answer to a request, and the hash of the bytes that were parsed.

        Raises:
            ParseError: If the source cannot be parsed, with the kind of the cause as `code`.
            FetchError: If it cannot be opened, or is larger than the limit.
        """
        name = header["name"]
        seconds = self._options.timeout_seconds
        frame, expired = self._attempt(header, payload)
        if frame is None and self._abandoned:
            raise self._abandoned_error(name)
        if frame is None and not expired and self._served > 1:
            self.stop()  # what earlier documents left may have killed it: a new child decides
            frame, expired = self._attempt(header, payload)
        if frame is None:
            cause = self._last_words()
            self.stop()
            if expired:
                raise ParseError(
                    f"{name}: parsing took longer than {seconds:g} seconds and was stopped; "
                    "raise timeout_seconds or leave it out",
                    source=name,
                    code="timeout",
                )
            raise ParseError(f"{name}: the parser died: {cause}", source=name, code="crashed")
        if expired or self._served >= _DOCUMENTS_PER_CHILD:
            self.stop()
        answer, text = frame
        if "error" in answer:
            raise _error(answer["error"], name)
        return decode_parsed(answer, text.decode("utf-8")), answer["content_hash"]

    def _attempt(self, header: Header, payload: bytes) -> tuple[tuple[Header, bytes] | None, bool]:
        """Send a request to a living child; return as `_exchange`."""
        process = self._running(header["name"])
        self._served += 1
        seconds = self._options.timeout_seconds
        return self._exchange(process, header=header, payload=payload, seconds=seconds)

    def stop(self) -> None:
        """Kill the process, if there is one, and release what belongs to it."""
        process, self._process = self._process, None
        log, self._log = self._log, None
        self._served = 0
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):  # what was not sent cannot be flushed
                        stream.close()
        if log is not None:
            log.close()

    def abandon(self) -> None:
        """End the process for good, from another thread too; what it parses raises."""
        self._abandoned = True
        process = self._process
        if process is not None:
            process.kill()

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
            if self._abandoned:  # before there was a process that could be ended
                process.kill()
            frame, _ = self._exchange(process, header=None, payload=b"", seconds=_START_SECONDS)
            cause = None if frame else self._last_words()
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
        self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
            _command(self._options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is the parent's to handle
        )
        return self._process

    def _exchange(
        self,
        process: subprocess.Popen[bytes],
        *,
        header: Header | None,
        payload: bytes,
        seconds: float,
    ) -> tuple[tuple[Header, bytes] | None, bool]:
        """Send a request (None to send nothing) and wait for the answer.

        Returns:
            The answer, None where the process died or was killed; and whether the time was up.
        """
        requests, answers = process.stdin, process.stdout
        if requests is None or answers is None:
            raise RuntimeError("the parsing process was started without pipes")
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            process.kill()

        timer = threading.Timer(seconds, expire)
        timer.daemon = True
        timer.start()
        frame = None
        finished = False
        try:
            if header is not None:
                write_frame(requests, header=header, payload=payload)
            frame = read_frame(answers)
            finished = True
        except OSError:  # it died while it was written to
            finished = True
        finally:
            timer.cancel()
            timer.join()
            if not finished:  # interrupted: the rest of the answer must not meet the next request
                self.stop()
        return frame, expired.is_set()

    def _last_words(self) -> str:
        """Return why the process died: the end of its log, or the signal that ended it."""
        memory = (
            f"it needed more than max_memory_bytes={self._options.max_memory_bytes}; raise that "
            "limit, or leave the file out"
        )
        if self._process is None or self._log is None:
            return "it was not started"
        self._process.kill()
        status = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        if said.startswith("MemoryError"):
            return memory
        if status < 0:
            return f"it was ended by {_signal_name(-status)}; most often {memory}"
        return f"{said or f'it ended with status {status}'}; leave the file out and report this"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _command(options: ParseOptions) -> list[str]:
    limit = str(options.max_memory_bytes)
    return [sys.executable, "-P", "-m", "spanwise.parsers.worker", limit]


def _environment() -> dict[str, str]:
    """Return the variables of the child: what starts Python, and where we import from."""
    passed = {
        name: value
        for name, value in os.environ.items()  # noqa: TID251 - passed on by name, not read
        if name.upper() in _PASSED_VARIABLES
    }
    return passed | {"PYTHONPATH": os.pathsep.join(_import_path())}


def _import_path() -> list[str]:
    """Return our import path, without the folders of the user's script and of the moment.

    A file beside a script that is called like one of our dependencies would be imported.
    """
    root = str(Path(__file__).resolve().parents[2])
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    left_out = {"", str(Path.cwd())} | ({str(Path(script).resolve().parent)} if script else set())
    return [path for path in sys.path if path == root or path not in left_out] + [root]


def _error(answer: Mapping[str, str], name: str) -> DocumentError:
    kind = FetchError if answer["kind"] == "fetch" else ParseError
    return kind(answer["message"], source=name, code=cast("DocumentErrorCode", answer["code"]))
