"""Dry runs: an operation is carried out with typical answers, and no model is called."""

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
    """Return a caller that uses cached answers and estimates the calls that are missing.

    Args:
        model: The model whose calls are estimated.
        cache: Cache of earlier answers; it is not written.
        listener: Listener that is notified of each call.
    """
    return ModelCaller(
        model=DryRunModel(model=model),
        cache=MemoryOutputs(fallback=cache),
        answer_retries=0,
        ledger=Ledger(listener=listener),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunModel(WrappedModel):
    """Returns the typical answer of each request, with the estimated usage of the wrapped model.

    Input tokens are counted; output tokens are the maximum that the request allows (upper bound).
    """

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the typical answer of a request."""
        usage = replace(self.model.estimate(request), calls=1)
        return ModelReply(text=request.typical, usage=usage, model=self.name)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the typical answer in one part, then the reply."""
        yield request.typical
        yield self.generate(request)
