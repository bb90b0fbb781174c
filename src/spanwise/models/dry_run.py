"""Dry runs: an operation runs with typical answers and estimated usage; no model is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spanwise.models.caller import MemoryOutputs, ModelCaller
from spanwise.models.ledger import Ledger
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest, WrappedModel
from spanwise.types.listener import Listener
from spanwise.types.output_cache import OutputCache


def dry_run_caller(
    model: LanguageModel, *, cache: OutputCache, listener: Listener | None = None
) -> ModelCaller:
    """Return a caller that uses cached answers, and estimates calls instead of making them.

    Args:
        model: Model whose calls are estimated.
        cache: Cache of earlier answers, which is read but not written.
        listener: Listener that is notified of each call; None for no listener.
    """
    return ModelCaller(
        model=DryRunModel(model=model),
        cache=MemoryOutputs(fallback=cache),
        answer_retries=0,
        ledger=Ledger(listener=listener),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunModel(WrappedModel):
    """Language model that answers each request with its typical answer, at an estimated usage.

    The estimate is an upper bound: the maximum number of output tokens is assumed.
    """

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the typical answer of a request, with the estimated usage."""
        usage = replace(self.model.estimate(request), calls=1)
        return ModelReply(text=request.typical, usage=usage, model=self.name)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the typical answer in one part, then the reply."""
        yield request.typical
        yield self.generate(request)
