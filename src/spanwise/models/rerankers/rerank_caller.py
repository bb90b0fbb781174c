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

from spanwise.models.guards import (
    check_model,
    check_type,
    model_version,
    translated_errors,
    unusable_answer,
)
from spanwise.models.ledger import Ledger
from spanwise.models.ports import GroupReranker, Reranker, RerankReply
from spanwise.types import Usage
from spanwise.types.output_cache import OutputCache, output_key

_TASK = "rerank"


@runtime_checkable
class PricedReranker(Reranker, Protocol):
    """A reranker whose cost is known before a call, so that a cost limit can be kept."""

    def estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """Return an upper bound on the usage of a call, without calling."""


@runtime_checkable
class ModelBackedReranker(Reranker, Protocol):
    """A reranker that calls a language model, and counts these calls in a ledger itself."""

    def with_ledger(self, ledger: Ledger) -> Reranker:
        """Return the same reranker with another ledger."""

    def check_price(self, ledger: Ledger) -> None:
        """Check that the cost limit of a ledger can be kept.

        Raises:
            OptionError: If a limit applies and the price of the model is unknown.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankCaller:
    """Calls a reranker. Thread-safe."""

    reranker: Reranker
    """The reranker; a user's own object is checked here."""
    cache: OutputCache | None = None
    """Cache of scores; None for none."""
    ledger: Ledger = field(default_factory=Ledger)
    """Ledger that counts the calls and holds the cost limit."""

    def __post_init__(self) -> None:
        check_model(self.reranker, ("rerank",), kind="reranker")

    def check_price(self) -> None:
        """Check that a cost limit can be kept.

        Raises:
            OptionError: If a limit applies and the price of the reranker is unknown.
        """
        if isinstance(self.reranker, ModelBackedReranker):
            self.reranker.check_price(self.ledger)
        else:
            self.ledger.check_price(self.reranker.name, partial(self._estimate, "price", ["price"]))

    def rerank(self, query: str, texts: Sequence[str], documents: Sequence[int]) -> RerankReply:
        """Return how well each text answers the query: one finite score per text.

        The same query with the same texts in the same order is sent once. A reranker that reads
        several texts in one call gets texts of one document at a time, so that no document can
        influence the scores of another one.

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
        cached = None if self.cache is None else self.cache.get_output(key)
        if cached is not None:
            self.ledger.count(_TASK, Usage(cached_calls=1))
            return RerankReply(scores=tuple(json.loads(cached)), usage=Usage(cached_calls=1))
        reply, order = self._counted(query, texts, documents)
        by_text = dict(zip(order, self._checked_scores(reply, len(texts)), strict=True))
        scores = tuple(by_text[at] for at in range(len(texts)))
        if self.cache is not None:
            output = json.dumps(scores)
            self.cache.put_output(key, output, task=_TASK, model=self.reranker.name)
        return RerankReply(scores=scores, usage=reply.usage)

    def _counted(
        self, query: str, texts: Sequence[str], documents: Sequence[int]
    ) -> tuple[RerankReply, list[int]]:
        """Return the result of `_request`, with the call in the ledger."""
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
        """Return an upper bound on the usage of a call, without a cost if there is no price."""
        name = self.reranker.name
        if not isinstance(self.reranker, PricedReranker):
            return Usage(cost=None)
        with translated_errors(name):
            usage = self.reranker.estimate(query, texts)
        return check_type(name, usage, Usage, what="estimate")

    def _request(
        self, query: str, texts: Sequence[str], documents: Sequence[int]
    ) -> tuple[RerankReply, list[int]]:
        """Return the reply of the reranker, and the positions of the texts that it scores."""
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
        """Return the scores of a reply, if they are as many finite numbers as there are texts."""
        name, fault = self.reranker.name, ""
        with translated_errors(name):
            scores = tuple(reply.scores)
            if len(scores) != count:
                fault = f"gave {len(scores)} scores for {count} texts"
            elif not all(map(math.isfinite, scores)):
                fault = "gave a score that is no finite number"
        if fault:
            raise unusable_answer(name, f"{fault}; try another reranker")
        return tuple(map(float, scores))

    def _key(self, query: str, texts: Sequence[str]) -> str:
        parts = [_TASK, self.reranker.name, query, list(texts)]
        version = model_version(self.reranker)
        if version:
            parts.append(version)
        return output_key(parts)
