"""What cannot be interrupted is waited for, until it is done or not wanted any more."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError

import pytest

from spanwise.ingest.stoppable import run_until_stopped


def test_what_it_returns_or_raises_comes_through() -> None:
    def fail() -> None:
        raise TimeoutError("late")

    assert run_until_stopped(lambda: 5, stopped=threading.Event()) == 5
    with pytest.raises(TimeoutError, match="late"):
        run_until_stopped(fail, stopped=threading.Event())


def test_when_stopped_nobody_waits() -> None:
    stopped, released = threading.Event(), threading.Event()
    threading.Timer(0.05, stopped.set).start()
    started = time.monotonic()
    with pytest.raises(CancelledError):
        run_until_stopped(lambda: released.wait(30), stopped=stopped)
    assert time.monotonic() - started < 5
    released.set()
