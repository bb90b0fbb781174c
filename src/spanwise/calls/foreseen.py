"""What an operation would take: the same operation, with a model that is never called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spanwise.calls.caller import Caller
from spanwise.calls.outputs import MemoryOutputs
from spanwise.calls.wrapped import WrappedModel
from spanwise.ports import LanguageModel, Listener, ModelReply, ModelRequest, OutputCache

__all__ = ["ForeseeingModel", "foreseeing_caller"]


def foreseeing_caller(
    model: LanguageModel, *, cache: OutputCache, listener: Listener | None = None
) -> Caller:
    """Return a caller that foresees: what is kept is taken, what is missing is only counted.

    Args:
        model: Which would be called.
        cache: What was answered before; nothing is written to it.
        listener: Hears each call.
    """
    return Caller(
        model=ForeseeingModel(model=model),
        cache=MemoryOutputs(beneath=cache),
        answer_retries=0,
        listener=listener,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeseeingModel(WrappedModel):
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
