"""Child process of the crash tests of operations.

It runs one operation, and writes a line to a log for each acknowledgement. The log is written by
`writev`, which the fault injection leaves alone. The process is killed by its parent, or it kills
itself at a given call of a function of Spanwise.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from tests.crash.operations import OPERATIONS, Place

import spanwise
from spanwise.errors import SpanwiseError

REFUSED = 3
"""Exit code of an operation that ended with an error of the library."""

_PR_SET_PTRACER = 0x59616D61
_ANY_PROCESS = 2**64 - 1
_TRACER_SECONDS = 60.0
_PACKAGE = str(Path(spanwise.__file__).parent)


class Log:
    """Log of one process: "ready", a line for each acknowledgement, and "end"."""

    def __init__(self, path: Path) -> None:
        """Open the log, to append to it."""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def write(self, line: str) -> None:
        """Append a line."""
        os.writev(self._file, [line.encode() + b"\n"])


def count_calls(at_call: Callable[[int], None]) -> None:
    """Call a function with the number of each call of a function of Spanwise, in all threads."""
    count = 0
    watched: dict[object, bool] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        if event != "call":
            return
        code = frame.f_code
        is_watched = watched.get(code)
        if is_watched is None:
            is_watched = watched[code] = code.co_filename.startswith(_PACKAGE)
        if is_watched:
            count += 1
            at_call(count)

    threading.setprofile(watch)
    sys.setprofile(watch)


def _kill_at(number: int) -> Callable[[int], None]:
    def kill(count: int) -> None:
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return kill


def jumping_clock(seed: int) -> Callable[[int], None]:
    """Replace the wall clock by one that jumps up to ten years, forward and backward."""
    chooser = random.Random(seed)
    offset = 0.0
    real, real_gmtime = time.time, time.gmtime

    def jump(count: int) -> None:
        nonlocal offset
        if count % 200 == 0:
            scale = chooser.choice((1, 60, 3_600, 86_400, 86_400 * 365))
            offset = chooser.uniform(-10, 10) * scale

    time.time = lambda: real() + offset
    time.time_ns = lambda: int((real() + offset) * 1e9)
    time.gmtime = lambda at=None: real_gmtime(real() + offset if at is None else at)
    return jump


def _await_tracer() -> None:
    """Return when another process traces this one."""
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(_ANY_PROCESS))
    until = time.monotonic() + _TRACER_SECONDS
    while "TracerPid:\t0\n" in Path("/proc/self/status").read_text(encoding="ascii"):
        assert time.monotonic() < until, "strace was not attached"
        time.sleep(0.001)


def run_operation(name: str, folder: str, base: str, log_path: str, mode: str) -> None:
    """Run an operation of `OPERATIONS`.

    Args:
        name: Name of the operation.
        folder: Folder of the place.
        base: Folder or address of the knowledge base.
        log_path: File of the log.
        mode: "" for none, "count" to log the number of calls at the end, "kill N" to end at call
            N, "clock N" for a clock that jumps, with the seed N, "record" to copy files by calls
            that strace shows with their data, "traced" to wait for strace to be attached.
    """
    errors = os.open(f"{log_path}.stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(errors, sys.stderr.fileno())
    log = Log(Path(log_path))
    log.write("ready")
    kind, _, number = mode.partition(" ")
    calls = [0]
    if kind == "kill":
        count_calls(_kill_at(int(number)))
    elif kind == "clock":
        count_calls(jumping_clock(int(number)))
    elif kind == "traced":
        _await_tracer()
    elif kind == "record":
        vars(shutil)["_USE_CP_SENDFILE"] = False
    elif kind == "count":
        count_calls(lambda count: calls.__setitem__(0, count))
    place = Place(Path(folder), base)
    try:
        OPERATIONS[name].run(place, lambda document_id: log.write(f"done {document_id}"))
    except SpanwiseError as error:
        sys.setprofile(None)
        log.write(f"error {type(error).__name__}: {error}")
        sys.exit(REFUSED)
    sys.setprofile(None)
    log.write(f"end {calls[0]}")


if __name__ == "__main__":
    run_operation(*sys.argv[1:])
