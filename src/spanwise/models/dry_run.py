"""Dry runs: an operation is carried out with typical answers, and no model is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.models.caller import MemoryOutputs, ModelCaller
from spanwise.models.guards import model_version
from spanwise.models.ledger import Ledger
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest
from spanwise.types.listener import Listener
from spanwise.types.output_cache import OutputCache

if TYPE_CHECKING:
    from spanwise.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedModel:
    """Base of language models that wrap another one and share its name, limits and estimates."""

    model: LanguageModel

    @property
    def name(self) -> str:
        """Return the name of the wrapped model, so that both share cached answers."""
        return self.model.name

    @property
    def version(self) -> str:
        """Return the version of the wrapped model; empty if it has none."""
        return model_version(self.model)

    @property
    def concurrency(self) -> int:
        """Return the maximum number of concurrent calls of the wrapped model."""
        return self.model.concurrency

    def estimate(self, request: ModelRequest) -> Usage:
        """Return the estimate of the wrapped model."""
        return self.model.estimate(request)


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
