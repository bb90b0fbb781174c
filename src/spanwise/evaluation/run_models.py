"""Models of one evaluation run, which share one ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from spanwise.errors import ModelAnswerError, ModelError
from spanwise.models.ledger import Ledger
from spanwise.models.threads import map_bounded

if TYPE_CHECKING:
    from spanwise.models.caller import ModelCaller
    from spanwise.models.ports import LanguageModel, ModelRequest, OutputCache
    from spanwise.options import ModelOptions


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


def run_ledger(models: ModelOptions, budget: Ledger | None) -> Ledger:
    """Return the ledger of a run: `max_cost` of the options, inside a shared budget."""
    return Ledger(max_cost=models.max_cost, parent=budget)


def make_model(
    llm: str | LanguageModel, *, models: ModelOptions, cache: OutputCache, ledger: Ledger
) -> LanguageModel:
    """Return a language model, checked before any call.

    Args:
        llm: Vendor and model, such as "openai:gpt-5-mini", or an object.
        models: Options of the calls.
        cache: Cache that records the batches that were sent.
        ledger: Ledger that holds the cost limit.

    Raises:
        OptionError: If no installed package offers the model, `models.batch` is set and the model
            has no batch interface, or a cost limit applies and its price is unknown.
        ModelKeyError: If there is no key for it.
    """
    from spanwise.knowledge_base.enriching import called_model
    from spanwise.models.registry import make_language_model

    model = make_language_model(llm, options=models) if isinstance(llm, str) else llm
    return called_model(model, models=models, kept=cache, ledger=ledger)


class CallCounter:
    """Listener that reports the number of calls so far, cached ones included."""

    def __init__(self, on_call: Callable[[int], None]) -> None:
        """Set the function that receives the number of calls after each call."""
        self._on_call = on_call
        self._calls = 0

    def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
        """Count a call."""
        del name, seconds
        self._calls += counts["calls"] + counts["cached_calls"]
        self._on_call(self._calls)
