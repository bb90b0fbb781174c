"""Standard streams of a child process that answers requests of its parent."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import BinaryIO

_PARENT_SECONDS = 1.0


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the streams for requests and answers; this process ends soon after its parent.

    The standard output is redirected to the standard error stream, so that a library that prints
    cannot disturb the answers.
    """
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    threading.Thread(target=_follow_parent, args=(os.getppid(),), daemon=True).start()
    return requests, answers


def _follow_parent(parent: int) -> None:
    """End this process and its children soon after the end of the parent.

    Otherwise a hanging parser would outlive a killed parent until its alarm. On Windows the end of
    the parent is only noticed when the input is read.
    """
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
