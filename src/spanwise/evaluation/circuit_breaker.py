"""Circuit breaker: ends a run whose model cannot be reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from spanwise.errors import ModelAnswerError, ModelError
from spanwise.threads import map_bounded

if TYPE_CHECKING:
    from spanwise.models.caller import ModelCaller
    from spanwise.models.ports import ModelRequest

FAILURES_IN_A_ROW = 5
"""Number of consecutive failed calls that ends a run."""

_Read = TypeVar("_Read")


class CircuitBreaker:
    """Raises the error of a call after several consecutive failures.

    An answer that cannot be read and a refusal are no failures: the model was reached. Safe for use
    by several threads.
    """

    def __init__(self) -> None:
        """Begin with no failures."""
        self._failures = 0
        self._lock = Lock()

    def check(self, outcome: object) -> None:
        """Record the outcome of a call: an error, or anything else for a success.

        Raises:
            ModelError: The outcome, if it is the last of `FAILURES_IN_A_ROW` failures.
        """
        with self._lock:
            if not isinstance(outcome, ModelError) or isinstance(outcome, ModelAnswerError):
                self._failures = 0
                return
            self._failures += 1
            if self._failures == FAILURES_IN_A_ROW:
                raise outcome


def call_with_breaker(
    caller: ModelCaller, requests: Sequence[ModelRequest], *, read: Callable[[int, str], _Read]
) -> list[_Read | ModelError]:
    """Return the results of requests in their order, an error in place of a failed one.

    Args:
        caller: Caller of the model.
        requests: The requests.
        read: Reads and checks an answer, as for `ModelCaller.call_all`.

    Raises:
        CostLimitError: If a call may cost more than is left.
        ModelError: If several consecutive calls fail for another reason than their answers, or the
            key is refused.
    """
    breaker = CircuitBreaker()

    def call(position: int) -> _Read | ModelError:
        (outcome,) = caller.call_all(
            [requests[position]], read=lambda _, text: read(position, text)
        )
        breaker.check(outcome)
        return outcome

    return map_bounded(call, range(len(requests)), limit=caller.model.concurrency)
