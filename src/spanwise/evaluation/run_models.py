"""Models of one evaluation run: shared ledger, call counter and circuit breaker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from spanwise.errors import ModelAnswerError, ModelError
from spanwise.models.ledger import Ledger
from spanwise.threads import map_bounded

if TYPE_CHECKING:
    from spanwise.models.caller import ModelCaller
    from spanwise.models.ports import LanguageModel, ModelRequest
    from spanwise.options import ModelOptions
    from spanwise.types.output_cache import OutputCache


FAILURES_IN_A_ROW = 5
"""Number of consecutive failed calls that ends a run."""

_Read = TypeVar("_Read")


class CircuitBreaker:
    """Thread-safe circuit breaker: it ends a run whose model cannot be reached.

    An invalid answer or a refusal is not a failure, because the model was reached.
    """

    def __init__(self) -> None:
        """Create a breaker without failures."""
        self._failures = 0
        self._lock = Lock()

    def check(self, outcome: object) -> None:
        """Record the outcome of a call: an exception object, or any other object for a success.

        Raises:
            ModelError: If the last `FAILURES_IN_A_ROW` calls failed; the error of the last call.
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
    """Return the result of each request, in order; for a failed request, its error.

    Args:
        caller: Caller of the model.
        requests: Requests to send.
        read: Function that parses and checks an answer, given the index of its request.

    Raises:
        CostLimitError: If a call could exceed the cost limit.
        ModelError: If the model cannot be reached for several calls in a row, or the API key is
            rejected.
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
    """Return the ledger of a run, limited by `max_cost` and by a budget shared with other runs."""
    return Ledger(max_cost=models.max_cost, parent=budget)


def make_model(
    llm: str | LanguageModel, *, models: ModelOptions, cache: OutputCache, ledger: Ledger
) -> LanguageModel:
    """Return a language model that was checked without a call.

    Args:
        llm: "vendor:model", such as "openai:gpt-5-mini", or an object.
        models: Options of the calls.
        cache: Cache that records the submitted batches.
        ledger: Ledger with the cost limit.

    Raises:
        OptionError: If no installed package provides the model, the model lacks a batch API and
            `models.batch` is set, or there is a cost limit and its price is unknown.
        ModelKeyError: If the API key of the model is missing.
    """
    from spanwise.models.registry import make_checked_model

    return make_checked_model(llm, options=models, cache=cache, ledger=ledger)


class CallCounter:
    """Listener that counts model calls, including cached ones."""

    def __init__(self, on_call: Callable[[int], None]) -> None:
        """Set the function that is called with the number of calls so far, after each call."""
        self._on_call = on_call
        self._calls = 0

    def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
        """Count a call."""
        del name, seconds
        self._calls += counts["calls"] + counts["cached_calls"]
        self._on_call(self._calls)
