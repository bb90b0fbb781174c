"""Calls of a reranker: cache, checks, usage and cost limit."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Protocol, runtime_checkable

from spanwise.models.ledger import Ledger
from spanwise.models.model_checks import (
    check_model,
    check_type,
    model_version,
    translated_errors,
    unusable_answer,
)
from spanwise.models.ports import GroupReranker, Reranker, RerankReply
from spanwise.types import Usage
from spanwise.types.output_cache import CachedOutput, OutputCache, output_key

_TASK = "rerank"
_KEY_VERSION = 2  # increased if texts must be scored again, such as for a changed prompt


@runtime_checkable
class PricedReranker(Reranker, Protocol):
    """Reranker that can estimate the cost of a call, as a cost limit requires."""

    def estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """Return an upper bound of the usage of a call, without calling the model."""


@runtime_checkable
class ModelBackedReranker(Reranker, Protocol):
    """Reranker that calls a language model, and counts these calls in a ledger itself."""

    def with_ledger(self, ledger: Ledger) -> Reranker:
        """Return a reranker with the same model and another ledger."""

    def check_price(self, ledger: Ledger) -> None:
        """Check that the cost limit of a ledger can be applied to the model.

        Raises:
            OptionError: If there is a limit, and the price of the model is unknown.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankCaller:
    """Calls a reranker. Thread-safe."""

    reranker: Reranker
    """Reranker, whose attributes are checked on creation."""
    cache: OutputCache | None = None
    """Cache of scores; None to cache nothing."""
    ledger: Ledger = field(default_factory=Ledger)
    """Ledger with the usage and the cost limit of the calls."""

    def __post_init__(self) -> None:
        check_model(self.reranker, ("rerank",), kind="reranker")

    def check_price(self) -> None:
        """Check that the cost limit can be applied to the reranker.

        Raises:
            OptionError: If there is a limit, and the price of the reranker is unknown.
        """
        if isinstance(self.reranker, ModelBackedReranker):
            self.reranker.check_price(self.ledger)
        else:
            self.ledger.check_price(self.reranker.name, partial(self._estimate, "price", ["price"]))

    def rerank(self, query: str, texts: Sequence[str], documents: Sequence[int]) -> RerankReply:
        """Return the score of each text for the query, a finite number.

        Scores are cached by query and texts, in their order. A reranker that reads several texts at
        once gets the texts of each document as a group, so that no document can influence the
        scores of another one.

        Args:
            query: The query.
            texts: The texts.
            documents: Number of the document of each text.

        Raises:
            ModelAnswerError: If the number of scores is wrong, or a score is not finite.
            CostLimitError: If the call could exceed the cost limit, or its price is unknown.
            ModelError: If the reranker fails.
        """
        if not texts:
            return RerankReply(scores=(), usage=Usage())
        key = self._key(query, texts)
        cached = None if self.cache is None else self.cache.get_outputs([key]).get(key)
        if cached is not None:
            self.ledger.count(_TASK, Usage(cached_calls=1))
            return RerankReply(scores=tuple(json.loads(cached)), usage=Usage(cached_calls=1))
        reply, order = self._counted(query, texts, documents)
        by_text = dict(zip(order, self._checked_scores(reply, len(texts)), strict=True))
        scores = tuple(by_text[at] for at in range(len(texts)))
        if self.cache is not None:
            cached_scores = CachedOutput(
                key=key, output=json.dumps(scores), task=_TASK, model=self.reranker.name
            )
            self.cache.put_outputs([cached_scores])
        return RerankReply(scores=scores, usage=reply.usage)

    def _counted(
        self, query: str, texts: Sequence[str], documents: Sequence[int]
    ) -> tuple[RerankReply, list[int]]:
        """Return the result of `_request`, and count the call in the ledger."""
        started = time.perf_counter()
        if isinstance(self.reranker, ModelBackedReranker):
            backed = replace(self, reranker=self.reranker.with_ledger(self.ledger))
            reply, order = backed._request(query, texts, documents)
            usage = replace(reply.usage, seconds=time.perf_counter() - started)
        else:
            estimate = partial(self._estimate, query, texts)
            with self.ledger.reserve(self.reranker.name, estimate) as at_most:
                reply, order = self._request(query, texts, documents)
                usage = replace(reply.usage, seconds=time.perf_counter() - started)
                self.ledger.count(_TASK, usage, at_most=at_most)
        return replace(reply, usage=usage), order

    def _estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """Return an upper bound of the usage of a call; the cost is None if it is unknown."""
        name = self.reranker.name
        if not isinstance(self.reranker, PricedReranker):
            return Usage(cost=None)
        with translated_errors(name):
            usage = self.reranker.estimate(query, texts)
        return check_type(name, usage, Usage, what="estimate")

    def _request(
        self, query: str, texts: Sequence[str], documents: Sequence[int]
    ) -> tuple[RerankReply, list[int]]:
        """Return the reply of the reranker, and the position of the text of each score."""
        name, order = self.reranker.name, list(range(len(texts)))
        with translated_errors(name):
            if isinstance(self.reranker, GroupReranker):
                order.sort(key=lambda at: documents[at])
                groups = [
                    [texts[at] for at in group]
                    for _, group in groupby(order, key=lambda at: documents[at])
                ]
                reply = self.reranker.rerank_groups(query, groups)
            else:
                reply = self.reranker.rerank(query, texts)
        reply = check_type(name, reply, RerankReply, what="reply")
        check_type(name, reply.usage, Usage, what="usage of the reply")
        return reply, order

    def _checked_scores(self, reply: RerankReply, count: int) -> tuple[float, ...]:
        """Return the scores of a reply, after a check that there is a finite one for each text."""
        name, fault = self.reranker.name, ""
        with translated_errors(name):
            scores = tuple(reply.scores)
            if len(scores) != count:
                fault = f"gave {len(scores)} scores for {count} texts"
            elif not all(map(math.isfinite, scores)):
                fault = "gave a score that is not a finite number"
        if fault:
            raise unusable_answer(name, f"{fault}; try another reranker")
        return tuple(map(float, scores))

    def _key(self, query: str, texts: Sequence[str]) -> str:
        parts = [_TASK, _KEY_VERSION, self.reranker.name, query, list(texts)]
        version = model_version(self.reranker)
        if version:
            parts.append(version)
        return output_key(parts)
