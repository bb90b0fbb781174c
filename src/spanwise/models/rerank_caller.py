"""Calls of a reranker: cached, checked, and counted in a ledger."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Protocol, runtime_checkable

from spanwise.errors import ModelAnswerError
from spanwise.models.ledger import Ledger
from spanwise.models.ports import GroupReranker, OutputCache, Reranker, RerankReply
from spanwise.types import Usage

_TASK = "rerank"


@runtime_checkable
class PricedReranker(Reranker, Protocol):
    """A reranker whose cost is known before a call, so that a cost limit can be kept."""

    def estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """Return the greatest usage of a call, without calling."""


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
    """Calls a reranker. Safe for use by several threads."""

    reranker: Reranker
    cache: OutputCache | None = None
    """Cache of the scores; None for no cache."""
    ledger: Ledger = field(default_factory=Ledger)
    """Ledger that counts the calls and holds the cost limit."""

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
        """Return a finite score for each text: how well it answers the query.

        The same query with the same texts in the same order is sent once. A reranker that reads
        several texts together gets those of one document at a time, so that a document cannot
        influence the scores of another one.

        Args:
            query: The query.
            texts: The texts.
            documents: Number of the document of each text.

        Raises:
            ModelAnswerError: If the scores are too few, too many or not finite.
            CostLimitError: If the call may cost more than is left, or its price is unknown.
            ModelError: If the reranker fails.
        """
        if not texts:
            return RerankReply(scores=(), usage=Usage())
        key = _key(self.reranker.name, query, texts)
        kept = None if self.cache is None else self.cache.get_output(key)
        if kept is not None:
            self.ledger.count(_TASK, Usage(cached_calls=1))
            return RerankReply(scores=tuple(json.loads(kept)), usage=Usage(cached_calls=1))
        started = time.perf_counter()
        if isinstance(self.reranker, ModelBackedReranker):
            counted = replace(self, reranker=self.reranker.with_ledger(self.ledger))
            reply = counted._asked(query, texts, documents)
            usage = replace(reply.usage, seconds=time.perf_counter() - started)
        else:
            estimate = partial(self._estimate, query, texts)
            with self.ledger.reserved(self.reranker.name, estimate) as at_most:
                reply = self._asked(query, texts, documents)
                usage = replace(reply.usage, seconds=time.perf_counter() - started)
                self.ledger.count(_TASK, usage, at_most=at_most)
        self._check(reply.scores, len(texts))
        if self.cache is not None:
            scores = json.dumps(reply.scores)
            self.cache.put_output(key, scores, task=_TASK, model=self.reranker.name)
        return RerankReply(scores=reply.scores, usage=usage)

    def _estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """Return the greatest usage of a call; its cost is unknown if the reranker has no price."""
        if isinstance(self.reranker, PricedReranker):
            return self.reranker.estimate(query, texts)
        return Usage(cost=None)

    def _asked(self, query: str, texts: Sequence[str], documents: Sequence[int]) -> RerankReply:
        if not isinstance(self.reranker, GroupReranker):
            return self.reranker.rerank(query, texts)
        order = sorted(range(len(texts)), key=lambda at: documents[at])
        groups = [
            [texts[at] for at in group] for _, group in groupby(order, key=lambda at: documents[at])
        ]
        reply = self.reranker.rerank_groups(query, groups)
        self._check(reply.scores, len(texts))
        scores = dict(zip(order, reply.scores, strict=True))
        return replace(reply, scores=tuple(scores[at] for at in range(len(texts))))

    def _check(self, scores: Sequence[float], texts: int) -> None:
        provider, _, model = self.reranker.name.partition(":")
        fault = ""
        if len(scores) != texts:
            fault = f"gave {len(scores)} scores for {texts} texts"
        elif not all(math.isfinite(score) for score in scores):
            fault = "gave a score that is no finite number"
        if fault:
            raise ModelAnswerError(
                f"{self.reranker.name} {fault}; try another reranker",
                provider=provider,
                model=model,
            )


def _key(model: str, query: str, texts: Sequence[str]) -> str:
    parts = json.dumps([_TASK, model, query, list(texts)], ensure_ascii=True)
    return hashlib.sha256(parts.encode()).hexdigest()
