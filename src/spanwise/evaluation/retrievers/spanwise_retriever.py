"""Searches of Spanwise as retrievers; texts are returned without headers.

A search fails if the budget is smaller than every relevant chunk. These retrievers return the best
chunk instead, which is truncated to the budget like the last text of any retriever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from spanwise.errors import OptionError, QueryError
from spanwise.evaluation.retrieval import Retrieval, Retrieved
from spanwise.models.embed_caller import embedding_usage, make_embed_caller
from spanwise.models.ledger import Ledger
from spanwise.options import ExcerptOptions, SearchOptions
from spanwise.search.pipeline import SearchRequest
from spanwise.search.queries import search_whole
from spanwise.search.question_limits import read_questions
from spanwise.search.rerank import rerank
from spanwise.search.scoring import Scope
from spanwise.stores.port import repeated_read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.evaluation.metrics import Count
    from spanwise.options import PublishedOptions, SegmentOptions
    from spanwise.search.explanation import Explanation
    from spanwise.search.pipeline import Searcher
    from spanwise.search.rerank import Reranking
    from spanwise.search.scoring import ScoredChunks
    from spanwise.stores.port import Snapshot


_EXCERPT_TOKENS = 1_000
_UNLIMITED = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Retriever of segments, selected exactly or greedily, best first."""

    name: str
    searcher: Searcher
    tokenizer: str
    segments: SegmentOptions
    published: PublishedOptions | None
    """Options of the greedy method; None for the exact one."""
    chunk_tokens: float
    """Mean number of tokens per chunk."""
    reranking: Reranking | None
    best: BestChunks
    """Retriever to use instead if no chunk fits into the budget."""

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the segments that answer a question."""
        try:
            result = self.searcher.search(
                _request(question, documents, self.reranking), options=self._options(budget_tokens)
            )
        except QueryError:
            raise
        except OptionError as error:
            return self.best.retrieve_instead(error, question, budget_tokens, documents)
        by_rank = sorted(result.segments, key=lambda segment: segment.rank)
        return Retrieval(
            found=tuple(
                Retrieved(document_id=one.document_id, start=one.start, end=one.end)
                for one in by_rank
            ),
            usage=result.usage,
            warnings=result.warnings,
        )

    def explain(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Explanation:
        """Return the explanation of a search.

        Raises:
            OptionError: If no relevant chunk fits into the budget.
            ModelError: If the embedder or the reranker fails.
        """
        return self.searcher.explain(
            _request(question, documents, self.reranking), options=self._options(budget_tokens)
        )

    def _options(self, budget_tokens: int) -> SearchOptions:
        """Return the search options for a token budget.

        The greedy (published) method is limited by a number of chunks, not tokens. The limit is the
        number of average chunks in the budget, or the number of its preset if that is greater. Text
        beyond the budget is discarded later.
        """
        published = self.published
        if published is not None:
            filling = ceil(budget_tokens / self.chunk_tokens)
            published = replace(published, budget_chunks=max(published.budget_chunks, filling))
            budget_tokens = _UNLIMITED
        return SearchOptions(
            budget_tokens=budget_tokens,
            segments=self.segments,
            published=published,
            headers=False,
            tokenizer=self.tokenizer,
            deep_seconds=_DEEP_SECONDS,
        )


_DEEP_SECONDS = 3_600.0  # long enough for all candidates: results do not depend on the machine


def _request(
    question: str, documents: Sequence[str] | None, reranking: Reranking | None
) -> SearchRequest:
    return SearchRequest(question=question, scope=Scope(documents=documents), reranking=reranking)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptsRetriever:
    """Retriever of excerpts of about 1,000 tokens each, up to the budget, best first."""

    name: str
    searcher: Searcher
    tokenizer: str
    segments: SegmentOptions
    reranking: Reranking | None
    best: BestChunks
    """Retriever to use instead if no chunk fits into the budget."""

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the spans of the excerpts: best excerpt first, spans in text order."""
        number = min(max(1, round(budget_tokens / _EXCERPT_TOKENS)), 32)
        options = ExcerptOptions(
            excerpts=number,
            excerpt_tokens=max(1, budget_tokens // number),
            segments=self.segments,
            headers=False,
            tokenizer=self.tokenizer,
            deep_seconds=_DEEP_SECONDS,
        )
        try:
            result = self.searcher.excerpts(
                _request(question, documents, self.reranking), options=options
            )
        except QueryError:
            raise
        except OptionError as error:
            return self.best.retrieve_instead(error, question, budget_tokens, documents)
        return Retrieval(
            found=tuple(
                Retrieved(document_id=excerpt.document_id, start=span.start, end=span.end)
                for excerpt in result.excerpts
                for span in excerpt.spans
            ),
            usage=result.usage,
            warnings=result.warnings,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BestChunks:
    """Retriever of single chunks, most relevant first: the candidates of `search`."""

    name: str
    searcher: Searcher
    count: Count
    reranking: Reranking | None

    @repeated_read
    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the best chunks of a question until the budget is full."""
        searcher = self.searcher
        embedder = make_embed_caller(
            searcher.embedder,
            "query",
            cache=searcher.store,
            recorded_dimension=searcher.dimension,
            ledger=Ledger(parent=searcher.ledger),
        )
        with searcher.store.snapshot() as snapshot:
            (query,) = read_questions([question], snapshot)
            hits = search_whole(
                query,
                snapshot=snapshot,
                embedder=embedder,
                model=searcher.model,
                scope=Scope(documents=documents),
            )
            reranked = rerank(
                [hits],
                snapshot=snapshot,
                model=searcher.model,
                reranking=self.reranking,
                budget_tokens=budget_tokens,
            )
            (best,) = reranked.hits
            weighed = best.scored
            found = () if weighed is None else tuple(self._fill(weighed, snapshot, budget_tokens))
        return Retrieval(
            found=found,
            usage=reranked.usage + embedding_usage(embedder),
            warnings=reranked.warnings,
        )

    def retrieve_instead(
        self,
        error: OptionError,
        question: str,
        budget_tokens: int,
        documents: Sequence[str] | None,
    ) -> Retrieval:
        """Return the best chunks after a search failed because of its budget, with a warning."""
        result = self.retrieve(question, budget_tokens=budget_tokens, documents=documents)
        warning = f"no chunk fits into the budget, so the best one is truncated: {error}"
        return replace(result, warnings=(*result.warnings, warning))

    def _fill(
        self, weighed: ScoredChunks, snapshot: Snapshot, budget_tokens: int
    ) -> Iterator[Retrieved]:
        """Yield the best chunks until the budget is full; the last one may exceed it."""
        left = float(budget_tokens)
        candidates = weighed.candidates
        order = np.argsort(-weighed.shares[candidates], kind="stable")
        for row in candidates[order].tolist():
            if left <= 0:
                return
            handle = int(weighed.scan.handles[weighed.rows.documents[row]])
            position = int(weighed.rows.chunks[row])
            (chunk,) = snapshot.chunks(handle, position, position + 1)
            document_id = snapshot.record(handle).id
            yield Retrieved(document_id=document_id, start=chunk.start, end=chunk.end)
            left -= self.count(chunk.text)
