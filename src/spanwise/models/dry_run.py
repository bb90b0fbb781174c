"""Dry runs: an operation runs with typical answers and estimated usage; no model is called.

Rules:
    The estimate is an upper bound. Each call has the maximum number of output tokens, and each
    answer is assumed to be unusable as often as it may be requested again.
    Input tokens are counted with the tokenizer of the model or a similar one. A share is added,
    because tokenizers differ.
    Two equal requests count twice: in the real run, earlier answers make them differ.
    Steps whose size depends on earlier answers assume the largest size (`ModelCaller.is_dry_run`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from spanwise.models.caller import ModelCaller, corrected, longest_fault
from spanwise.models.ledger import Ledger
from spanwise.models.ports import LanguageModel, ModelReply, ModelRequest, WrappedModel
from spanwise.types import Usage
from spanwise.types.listener import Listener
from spanwise.types.output_cache import CachedOutput, OutputCache

_OTHER_TOKENIZER = 1.15
"""Largest measured ratio of the tokens that a model reports to the estimate (`catalog.py`)."""


def dry_run_caller(
    model: LanguageModel,
    *,
    cache: OutputCache,
    answer_retries: int = 1,
    listener: Listener | None = None,
) -> ModelCaller:
    """Return a caller that uses cached answers, and estimates calls instead of making them.

    Args:
        model: Model whose calls are estimated.
        cache: Cache of earlier answers, which is read but not written.
        answer_retries: Maximum number of repeated requests for an unusable answer.
        listener: Listener that is notified of each call; None for no listener.
    """
    return ModelCaller(
        model=DryRunModel(model=model, answer_retries=answer_retries),
        cache=ReadOnlyOutputs(outputs=cache),
        answer_retries=0,
        ledger=Ledger(listener=listener),
        is_dry_run=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnlyOutputs:
    """Output cache that is read and never written."""

    outputs: OutputCache
    """Cache that is read."""

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached outputs of some keys, by key."""
        return self.outputs.get_outputs(keys)

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Discard outputs."""

    def remove_output(self, key: str) -> None:
        """Do nothing: the output stays in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunModel(WrappedModel):
    """Language model that answers each request with its typical answer, at the maximum usage."""

    answer_retries: int = 1
    """Maximum number of repeated requests for an unusable answer."""

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the typical answer of a request, with the maximum usage of all its calls."""
        usage = self._most(request) + self._repeated(request, self.answer_retries)
        return ModelReply(text=request.typical, usage=usage, model=self.name)

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the typical answer in one part, then the reply.

        An unusable stream is followed by a complete request, which may be repeated.
        """
        yield request.typical
        usage = self._most(request)
        again = replace(usage, repeated_calls=usage.calls)
        usage += again + self._repeated(request, self.answer_retries)
        yield ModelReply(text=request.typical, usage=usage, model=self.name)

    def _repeated(self, request: ModelRequest, count: int) -> Usage:
        """Return the maximum usage of repeated requests for unusable answers."""
        if not count:
            return Usage()
        usage = sum([self._most(corrected(request, longest_fault()))] * count, Usage())
        return replace(usage, repeated_calls=usage.calls)

    def _most(self, request: ModelRequest) -> Usage:
        """Return the maximum usage of one request."""
        usage = self.model.estimate(request)
        return replace(
            usage,
            calls=max(1, usage.calls),
            input_tokens=ceil(usage.input_tokens * _OTHER_TOKENIZER),
            cost=None if usage.cost is None else usage.cost * _OTHER_TOKENIZER,
        )
