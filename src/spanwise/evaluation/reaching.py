"""Calls of a model that may not be there: a run ends early, and does not wait for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

from spanwise.calls.bounded import map_bounded
from spanwise.calls.caller import Caller
from spanwise.errors import ModelAnswerError, ModelError
from spanwise.ports import ModelRequest

__all__ = ["FAILURES_IN_A_ROW", "Reached", "call_while_reached"]

FAILURES_IN_A_ROW = 5
"""So many calls that fail one after the other end a run."""

_Read = TypeVar("_Read")


class Reached:
    """Ends a run whose model fails for several calls in a row. Safe for use by several threads.

    An answer that cannot be read, or a refusal, is no such failure: the model was there.
    """

    def __init__(self) -> None:
        """Begin with none that failed."""
        self._failures = 0
        self._lock = Lock()

    def check(self, said: object) -> None:
        """Take what came of a call, an error or anything else.

        Raises:
            ModelError: What came, if it is the last of several failures.
        """
        with self._lock:
            if not isinstance(said, ModelError) or isinstance(said, ModelAnswerError):
                self._failures = 0
                return
            self._failures += 1
            if self._failures == FAILURES_IN_A_ROW:
                raise said


def call_while_reached(
    caller: Caller, requests: Sequence[ModelRequest], *, read: Callable[[int, str], _Read]
) -> list[_Read | ModelError]:
    """Return what is read from the answers to requests, an error in place of one that failed.

    Args:
        caller: Calls the model.
        requests: The requests.
        read: As `Caller.call_all` takes it.

    Raises:
        CostLimitError: If a call may cost more than is left.
        ModelError: If several calls in a row fail for another reason than their answers, or the
            key is refused.
    """
    reached = Reached()

    def one(position: int) -> _Read | ModelError:
        (said,) = caller.call_all([requests[position]], read=lambda _, text: read(position, text))
        reached.check(said)
        return said

    return map_bounded(one, range(len(requests)), limit=caller.model.concurrency)
