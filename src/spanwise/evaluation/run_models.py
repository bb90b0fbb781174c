"""Models of one evaluation run, which share one ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from spanwise.models.ledger import Ledger

if TYPE_CHECKING:
    from spanwise.models.ports import LanguageModel
    from spanwise.options import ModelOptions
    from spanwise.types.output_cache import OutputCache


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
    from spanwise.models.registry import make_checked_model

    return make_checked_model(llm, options=models, cache=cache, ledger=ledger)


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
