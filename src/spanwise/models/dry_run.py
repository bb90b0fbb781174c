"""A model through which another one is asked.

What an operation would take: the same operation, with a model that is never called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.models.caller import Caller, MemoryOutputs
from spanwise.models.ledger import Ledger
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest, OutputCache
from spanwise.types.listener import Listener

if TYPE_CHECKING:
    from spanwise.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedModel:
    """Stands for another model: it has its name, its limits and its estimates."""

    model: LanguageModel

    @property
    def name(self) -> str:
        """Return the name of the other model, so that its kept answers are found."""
        return self.model.name

    @property
    def concurrency(self) -> int:
        """Return how many calls at once the other model takes."""
        return self.model.concurrency

    def estimate(self, request: ModelRequest) -> Usage:
        """Return what the other model says."""
        return self.model.estimate(request)


def dry_run_caller(
    model: LanguageModel, *, cache: OutputCache, listener: Listener | None = None
) -> Caller:
    """Return a caller that foresees: what is kept is taken, what is missing is only counted.

    Args:
        model: Which would be called.
        cache: What was answered before; nothing is written to it.
        listener: Hears each call.
    """
    return Caller(
        model=DryRunModel(model=model),
        cache=MemoryOutputs(beneath=cache),
        answer_retries=0,
        ledger=Ledger(listener=listener),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunModel(WrappedModel):
    """Answers each request as is typical, and says what another model would have taken for it.

    Input is as that model counts it. Output is as much as a request allows: an upper bound.
    """

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the typical answer of a request."""
        usage = replace(self.model.estimate(request), calls=1)
        return ModelReply(text=request.typical, usage=usage, model=self.name)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the typical answer, whole."""
        yield request.typical
        yield self.generate(request)
