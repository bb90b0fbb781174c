"""Spanwise's own ways to search, as retrievers: what a reader of the library gets, text alone.

A search refuses a budget in which not even one relevant chunk fits. Here the best one stands in, to
be cut as the last text of every retriever is: so all are compared at small budgets too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.question import read_question
from spanwise.errors import OptionError, QueryError
from spanwise.evaluation.retrieval import Retrieval, Retrieved
from spanwise.models.embed_caller import embedding_usage, make_embed_caller
from spanwise.options import ExcerptOptions, SearchOptions
from spanwise.search.rerank import rerank
from spanwise.search.scoring import Scope, search_all

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
    """What `search` returns, chosen exactly or greedily, by rank."""

    name: str
    searcher: Searcher
    tokenizer: str
    segments: SegmentOptions
    published: PublishedOptions | None
    """For the greedy method."""
    chunk_tokens: float
    """Of a chunk on the mean."""
    reranking: Reranking | None
    best: BestChunks
    """Stands in where no chunk fits."""

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the segments of a question."""
        try:
            result = self.searcher.search(
                question,
                options=self._options(budget_tokens),
                documents=documents,
                reranking=self.reranking,
            )
        except QueryError:
            raise
        except OptionError as error:
            return self.best.standing_in(error, question, budget_tokens, documents)
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
        """Return why these segments are chosen.

        Raises:
            OptionError: If no relevant chunk fits, so that the best one stood in.
            ModelError: If the embedder or the reranker fails.
        """
        return self.searcher.explain(
            question,
            options=self._options(budget_tokens),
            documents=documents,
            reranking=self.reranking,
        )

    def _options(self, budget_tokens: int) -> SearchOptions:
        """Return the options for a budget; the published method knows none but a number of chunks.

        It gets as many chunks as fill the budget, or those of its preset where these are more; what
        exceeds the budget is cut off as for all retrievers.
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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptsRetriever:
    """What `excerpts` returns: as many of about 1,000 tokens as the budget holds, best first."""

    name: str
    searcher: Searcher
    tokenizer: str
    segments: SegmentOptions
    reranking: Reranking | None
    best: BestChunks
    """Stands in where no chunk fits."""

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the spans of the excerpts of a question, those of one in order."""
        number = min(max(1, round(budget_tokens / _EXCERPT_TOKENS)), 32)
        options = ExcerptOptions(
            excerpts=number,
            excerpt_tokens=max(1, budget_tokens // number),
            segments=self.segments,
            headers=False,
            tokenizer=self.tokenizer,
        )
        try:
            result = self.searcher.excerpts(
                question, options=options, documents=documents, reranking=self.reranking
            )
        except QueryError:
            raise
        except OptionError as error:
            return self.best.standing_in(error, question, budget_tokens, documents)
        return Retrieval(
            found=tuple(
                Retrieved(document_id=one.document_id, start=span.start, end=span.end)
                for one in result.excerpts
                for span in one.spans
            ),
            usage=result.usage,
            warnings=result.warnings,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BestChunks:
    """The chunks of greatest relevance, one by one: what `search` chooses from."""

    name: str
    searcher: Searcher
    count: Count
    reranking: Reranking | None

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
        )
        with searcher.store.snapshot() as snapshot:
            asked = read_question(question, languages=snapshot.languages())
            searched = search_all(
                [asked],
                snapshot=snapshot,
                embedder=embedder,
                model=searcher.model,
                scope=Scope(documents=documents),
            )
            reranked = rerank(
                searched, snapshot=snapshot, model=searcher.model, reranking=self.reranking
            )
            (best,) = reranked.found
            weighed = best.weighed
            found = () if weighed is None else tuple(self._fill(weighed, snapshot, budget_tokens))
        return Retrieval(
            found=found,
            usage=reranked.usage + embedding_usage(embedder),
            warnings=reranked.warnings,
        )

    def standing_in(
        self,
        error: OptionError,
        question: str,
        budget_tokens: int,
        documents: Sequence[str] | None,
    ) -> Retrieval:
        """Return the best chunks where a search refuses a budget, and say so."""
        found = self.retrieve(question, budget_tokens=budget_tokens, documents=documents)
        warning = f"no chunk fits whole, and the best one is cut: {error}"
        return replace(found, warnings=(*found.warnings, warning))

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
