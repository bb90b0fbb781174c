"""Blocking calls on daemon threads that Ctrl-C can abandon."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from spanwise.models.dry_run import WrappedModel

if TYPE_CHECKING:
    from spanwise.models.ports import ModelReply, ModelRequest


_Result = TypeVar("_Result")
_POLL_SECONDS = 0.1


def run_until_stopped(action: Callable[[], _Result], *, stopped: threading.Event) -> _Result:
    """Return or raise the result of an action, unless an event is set first.

    The action runs in a thread that is never joined: a read from a socket cannot be interrupted,
    and neither Ctrl-C nor the end of the process should wait for its deadline.

    Raises:
        CancelledError: If `stopped` is set first; the result of the action is discarded.
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
        thread.join(_POLL_SECONDS)
        if outcome.done():
            return outcome.result()
    raise CancelledError


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppableModel(WrappedModel):
    """Language model that makes no further calls once an event is set."""

    stopped: threading.Event

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the reply of the model.

        Raises:
            CancelledError: If the model is stopped.
        """
        self._check()
        return self.model.generate(request)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the reply of the model.

        Raises:
            CancelledError: If the model is stopped.
        """
        self._check()
        yield from self.model.stream(request)

    def _check(self) -> None:
        if self.stopped.is_set():
            raise CancelledError
