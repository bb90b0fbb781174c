"""Process that writes the index of a knowledge base while another process adds documents.

The owner sends a line for each flush, and gets a line when it is done. The process takes the flush
lock like any other, so a crash of either side leaves a valid index.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from spanwise.loading import fast_imports
from spanwise.parsers.process.child_processes import end_process, kill_group, start_module
from spanwise.parsers.process.streams import take_streams

_DONE = b"\n"
_WAIT_SECONDS = 60.0


class FlushProcess:
    """Owner's side of a process that flushes the index of a knowledge base."""

    def __init__(self, start_process: Callable[[], subprocess.Popen[bytes]]) -> None:
        """Create the owner's side.

        Args:
            start_process: Function that starts the process; called for the first flush.
        """
        self._start_process = start_process
        self._process: subprocess.Popen[bytes] | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._failed = False

    @property
    def failed(self) -> bool:
        """Whether the process could not be started, or died."""
        return self._failed

    def start(self) -> bool:
        """Start a flush in the background; return False if one is running, or the process died."""
        if self._failed or not self._idle.is_set():
            return False
        try:
            stdin = self._running().stdin
            if stdin is not None:
                stdin.write(_DONE)
                stdin.flush()
        except OSError:
            self._failed = True
            return False
        self._idle.clear()
        threading.Thread(target=self._wait, name="spanwise-flush", daemon=True).start()
        return True

    def finish(self) -> bool:
        """Flush all documents and wait for it; return False if the process died."""
        self._idle.wait()
        if self._process is None or not self.start():
            return False
        self._idle.wait()
        return not self._failed

    def close(self) -> None:
        """Kill the process."""
        process, self._process = self._process, None
        if process is not None:
            kill_group(process)
            self._idle.wait()  # its answer is read by another thread
            end_process(process)

    def _wait(self) -> None:
        process = self._process
        answer = b""
        if process is not None and process.stdout is not None:
            answer = process.stdout.read(len(_DONE))
        self._failed = self._failed or not answer
        self._idle.set()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = self._start_process()
        return self._process


def folder_flush_process(path: Path) -> FlushProcess:
    """Return the owner's side of a process for a folder.

    Args:
        path: Folder of the knowledge base.
    """
    return FlushProcess(partial(start_module, "spanwise.stores.flush_process", str(path)))


def serve_flushes(requests: BinaryIO, answers: BinaryIO, flush: Callable[[], object]) -> None:
    """Flush for each request of the owner, until its stream ends."""
    while requests.read(len(_DONE)):
        flush()
        answers.write(_DONE)
        answers.flush()


def main(path: str) -> None:
    """Flush the index for each line of the input, until it ends.

    Args:
        path: Folder of the knowledge base.
    """
    with fast_imports():
        from spanwise.stores.embedded import open_embedded

    requests, answers = take_streams()
    store = open_embedded(Path(path), create=False)
    serve_flushes(requests, answers, partial(store.flush_index, wait_seconds=_WAIT_SECONDS))


if __name__ == "__main__":
    main(sys.argv[1])
