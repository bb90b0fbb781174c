"""Reranking: a reranker scores the best candidates, and its scores are added to theirs.

Rules:
    A reranker scores each chunk with its header.
    A reranker that calls a language model reads the best candidates up to the tokens of the budget
    and 2,500 more, because it is paid by the token. Recall rises slowly beyond that
    (`docs/benchmarks.md`).
    Its scores are calibrated on the candidates of one query (`core.ranking.reranking`), because
    rerankers have different scales.
    If it rates all candidates of all queries 0, nothing is relevant: the order of the candidates is
    unchanged, the evidence is weak, and the result has a warning.
    If a reranker fails, the scores are unchanged and the result has a warning.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Self

import numpy as np

from spanwise.core.documents.headers import headed_text, searched_text
from spanwise.core.ranking.reranking import RerankerScores, calibrated_lift
from spanwise.core.ranking.scan import PassageRange
from spanwise.errors import ModelError, ModelKeyError
from spanwise.models.rerankers.rerank_caller import ModelBackedReranker
from spanwise.search.rendering import DocumentCache
from spanwise.search.scoring import RerankResult, add_lift
from spanwise.threads import map_bounded, without_turn
from spanwise.types import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.models.ports import RerankReply
    from spanwise.models.rerankers.rerank_caller import RerankCaller
    from spanwise.options import RerankOptions
    from spanwise.search.scoring import QueryHits
    from spanwise.stores.port import Snapshot
    from spanwise.types import Chunk


def top_candidates(scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the positions of the greatest scores, greatest first; ties go to the earlier one."""
    return np.argsort(-scores, kind="stable")[:count]


DEFAULT_WEIGHT = 1.0
"""Factor on the calibrated scores of a reranker without a trained weight."""
_MORE_TOKENS = 2_500  # tokens that a language model reads in addition to those of the budget
_MIN_READ = 20  # candidates that it reads at least
_AT_ONCE = 8  # queries of one question that are reranked concurrently


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """Reranker and its options."""

    caller: RerankCaller
    """Calls the reranker."""
    options: RerankOptions
    """Number of candidates and weight."""
    falls_back: bool = True
    """Whether a search continues, with a warning, if the reranker fails."""

    def score(self, candidates: CandidateTexts) -> RerankReply | ModelError:
        """Return the reply of the reranker, or its error if `falls_back` is True.

        Raises:
            ModelKeyError: If the provider rejects the key.
            ModelError: If it fails and `falls_back` is False.
        """
        try:
            return self.caller.rerank(candidates.query, candidates.texts, candidates.documents)
        except ModelKeyError:
            raise
        except ModelError as error:
            if not self.falls_back:
                raise
            return error


def rerank(
    hits: Sequence[QueryHits],
    *,
    snapshot: Snapshot,
    model: RelevanceModel,
    reranking: Reranking | None,
    budget_tokens: int,
) -> RerankResult:
    """Return the hits of the queries of one question, reranked query by query.

    Args:
        hits: Hits of each query.
        snapshot: Snapshot that was searched.
        model: Relevance model with the trained weights of rerankers.
        reranking: Reranker and its options; None for no reranking.
        budget_tokens: Budget of the result; it determines how many candidates are scored.

    Raises:
        ModelKeyError: If the provider rejects the key.
        ModelError: If the reranker fails and `falls_back` is False.
    """
    if reranking is None:
        return RerankResult(hits=tuple(hits))
    name, options = reranking.caller.reranker.name, reranking.options
    trained = model.rerankers.get(name) if options.weight is None else options.weight
    weight = DEFAULT_WEIGHT if trained is None else trained
    reader = CandidateReader.of(snapshot)
    count = options.count(budget_tokens)
    inputs = [reader.read(query, count) for query in hits]
    if options.chunks is None and isinstance(reranking.caller.reranker, ModelBackedReranker):
        inputs = [candidates.within(budget_tokens + _MORE_TOKENS) for candidates in inputs]
    with without_turn():
        replies = map_bounded(reranking.score, inputs, limit=_AT_ONCE)
    is_reranked = not all(isinstance(reply, ModelError) for reply in replies)
    warnings = []
    if is_reranked and trained is None:
        warnings.append(
            f"uncalibrated: no weight was trained for the reranker {name}; the default weight of "
            f"{DEFAULT_WEIGHT:g} is used, and relevances may be too high or too low"
        )
    reranked, usage = [], Usage()
    for query, candidates, reply in zip(hits, inputs, replies, strict=True):
        if isinstance(reply, ModelError):
            query_text = candidates.query[:80]
            warnings.append(f"not reranked for {query_text!r}, as the reranker failed: {reply}")
            reranked.append(query)
        else:
            usage += reply.usage
            reranked.append(_with_scores(query, candidates, reply, weight=weight, name=name))
    finds_nothing = bool(weight) and _finds_nothing(replies)
    if finds_nothing:
        passages = sum(len(candidates.texts) for candidates in inputs)
        warnings.append(
            f"the reranker {name} rates all {passages} passages that it read 0: the documents may "
            "not hold an answer"
        )
    return RerankResult(
        hits=tuple(reranked),
        warnings=tuple(warnings),
        usage=usage,
        finds_nothing=finds_nothing,
    )


def _finds_nothing(replies: Sequence[RerankReply | ModelError]) -> bool:
    """Return whether all scores of all replies are 0; False without scores or after a failure."""
    if any(isinstance(reply, ModelError) for reply in replies):
        return False
    scores = [
        score for reply in replies if not isinstance(reply, ModelError) for score in reply.scores
    ]
    return bool(scores) and not any(scores)


def _with_scores(
    query: QueryHits, candidates: CandidateTexts, reply: RerankReply, *, weight: float, name: str
) -> QueryHits:
    """Return the hits of a query with the scores of the reranker."""
    if query.scored is None:
        return query
    scored = query.scored
    given = RerankerScores(name, at=candidates.candidates, scores=np.array(reply.scores))
    lift = weight * calibrated_lift(
        given.scores, at=given.at, candidates=scored.candidates, rows=scored.rows
    )
    scored = add_lift(scored, lift, name=f"reranker {name}", compares=query.question.compares)
    if weight:
        scored = scored._replace(reranker=given)
    return query._replace(scored=scored)


@dataclass(frozen=True, slots=True, eq=False)
class CandidateTexts:
    """Texts of the best candidates of one query, best first."""

    query: str
    """Text of the query."""
    candidates: NDArray[np.int64]
    """Position of each text among the candidates of the query, (k,)."""
    texts: tuple[str, ...]
    """Text of each candidate with its header, (k,)."""
    documents: tuple[int, ...]
    """Handle of the document of each candidate, (k,)."""
    tokens: tuple[int, ...]
    """Length of each candidate without its header, in tokens, (k,)."""

    def within(self, budget_tokens: int) -> Self:
        """Return the best candidates within a number of tokens, at least `_MIN_READ`."""
        count = max(_MIN_READ, bisect_right(list(accumulate(self.tokens)), budget_tokens))
        return replace(
            self,
            candidates=self.candidates[:count],
            texts=self.texts[:count],
            documents=self.documents[:count],
            tokens=self.tokens[:count],
        )


@dataclass(frozen=True, slots=True)
class CandidateReader:
    """Reads the texts of candidates."""

    documents: DocumentCache
    """Cache of documents and sections of a snapshot."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Return a reader of the candidates of a snapshot."""
        return cls(DocumentCache(snapshot))

    def read(self, query: QueryHits, count: int) -> CandidateTexts:
        """Return the best `count` candidates of a query with their texts."""
        scored = query.scored
        if scored is None:
            return CandidateTexts(query.question.text, np.zeros(0, dtype=np.int64), (), (), ())
        best = top_candidates(scored.scores, count)
        rows = scored.candidates[best]
        handles = scored.scan.handles[scored.rows.documents[rows]].tolist()
        places = list(zip(handles, scored.rows.chunks[rows].tolist(), strict=True))
        chunks = self._chunks(places)
        return CandidateTexts(
            query.question.text,
            best,
            tuple(self._text(handle, chunks[handle, index]) for handle, index in places),
            tuple(handles),
            tuple(chunks[place].tokens for place in places),
        )

    def _chunks(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Chunk]:
        """Return chunks by handle and index."""
        ranges = [PassageRange(handle, index, index + 1) for handle, index in places]
        read = self.documents.snapshot.chunk_ranges(ranges)
        return {place: chunk for place, (chunk,) in zip(places, read, strict=True)}

    def _text(self, handle: int, chunk: Chunk) -> str:
        header = self.documents.header(handle, self.documents.section(handle, chunk.section))
        text = searched_text(chunk.text, table_head=chunk.table_head, context=chunk.context)
        return headed_text(text, header=header)
