"""Calls of a reranker: cache, checks and usage."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from spanwise.models.guards import (
    check_model,
    check_type,
    model_version,
    translated_errors,
    unusable_answer,
)
from spanwise.models.ports import GroupReranker, OutputCache, Reranker, RerankReply
from spanwise.types import Usage

_TASK = "rerank"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankCaller:
    """Calls a reranker. Thread-safe."""

    reranker: Reranker
    """The reranker; a user's own object is checked here."""
    cache: OutputCache | None = None
    """Cache of scores; None for none."""

    def __post_init__(self) -> None:
        check_model(self.reranker, ("rerank",), kind="reranker")

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
            ModelError: If the reranker fails.
        """
        if not texts:
            return RerankReply(scores=(), usage=Usage())
        key = self._key(query, texts)
        cached = None if self.cache is None else self.cache.get_output(key)
        if cached is not None:
            return RerankReply(scores=tuple(json.loads(cached)), usage=Usage(cached_calls=1))
        started = time.perf_counter()
        with translated_errors(self.reranker.name):
            reply = self._rerank(query, texts, documents)
        if self.cache is not None:
            scores = json.dumps(reply.scores)
            self.cache.put_output(key, scores, task=_TASK, model=self.reranker.name)
        usage = replace(reply.usage, seconds=time.perf_counter() - started)
        return RerankReply(scores=reply.scores, usage=usage)

    def _rerank(self, query: str, texts: Sequence[str], documents: Sequence[int]) -> RerankReply:
        if not isinstance(self.reranker, GroupReranker):
            return self._checked(self.reranker.rerank(query, texts), len(texts))
        order = sorted(range(len(texts)), key=lambda at: documents[at])
        groups = [
            [texts[at] for at in group] for _, group in groupby(order, key=lambda at: documents[at])
        ]
        reply = self._checked(self.reranker.rerank_groups(query, groups), len(texts))
        scores = dict(zip(order, reply.scores, strict=True))
        return replace(reply, scores=tuple(scores[at] for at in range(len(texts))))

    def _checked(self, reply: object, count: int) -> RerankReply:
        """Return the reply of the reranker, if it has as many finite scores as there are texts."""
        name, fault = self.reranker.name, ""
        reply = check_type(name, reply, RerankReply, what="reply")
        check_type(name, reply.usage, Usage, what="usage of the reply")
        scores = tuple(reply.scores)
        if len(scores) != count:
            fault = f"gave {len(scores)} scores for {count} texts"
        elif not all(math.isfinite(score) for score in scores):
            fault = "gave a score that is no finite number"
        if fault:
            raise unusable_answer(name, f"{fault}; try another reranker")
        return replace(reply, scores=tuple(map(float, scores)))

    def _key(self, query: str, texts: Sequence[str]) -> str:
        parts = [_TASK, self.reranker.name, query, list(texts)]
        version = model_version(self.reranker)
        if version:
            parts.append(version)
        return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()
