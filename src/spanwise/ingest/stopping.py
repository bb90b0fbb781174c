"""Waiting for what cannot be interrupted, until it is done or nobody wants it any more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import TypeVar

__all__ = ["run_until_stopped"]

_Result = TypeVar("_Result")
_LOOK_SECONDS = 0.1


def run_until_stopped(action: Callable[[], _Result], *, stopped: threading.Event) -> _Result:
    """Return what an action returns, or raise what it raises.

    The action runs in a thread that nobody joins: a read from a socket cannot be interrupted, and
    neither Ctrl-C nor the end of the process shall wait for its deadline.

    Raises:
        CancelledError: If `stopped` is set first; what the action still does is dropped.
    """
    outcome: Future[_Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(action())
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name="spanwise-fetch", daemon=True)
    thread.start()
    while not stopped.is_set():
        thread.join(_LOOK_SECONDS)
        if outcome.done():
            return outcome.result()
    raise CancelledError
