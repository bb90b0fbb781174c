"""Questions to a knowledge base: segments, excerpts, and why they were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

from spanwise.knowledge_base.asking import asked, within
from spanwise.knowledge_base.opening import open_embedder
from spanwise.models.ledger import Ledger
from spanwise.models.registry import make_reranker
from spanwise.models.rerankers.rerank_caller import RerankCaller
from spanwise.options import ExcerptOptions, PublishedOptions, RerankOptions, SegmentOptions
from spanwise.search.chunk_weights import shipped_model
from spanwise.search.pipeline import Searcher
from spanwise.search.rerank import Reranking

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.filters import Filter
    from spanwise.knowledge_base.asking import SearchArguments, Within
    from spanwise.knowledge_base.settings import Settings
    from spanwise.models.ports import Embedder, Reranker
    from spanwise.options import ModelOptions
    from spanwise.search.explanation import Explanation
    from spanwise.search.tuned_options import Tuning
    from spanwise.stores.port import Store
    from spanwise.types import ExcerptResult, SearchResult
    from spanwise.types.listener import Listener


class Searching:
    """What a `KnowledgeBase` answers."""

    _store: Store
    _settings: Settings
    _path: Path
    _given_embedder: Embedder | None
    _listener: Listener | None
    _models: ModelOptions
    _budget: Ledger | None
    _tuning: Tuning | None

    def search(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        question: str,
        *,
        budget_tokens: int = 4_000,
        preset: str | None = None,
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
        segment_options: SegmentOptions | PublishedOptions | None = None,
        headers: bool = True,
        tokenizer: str | None = None,
        queries: Sequence[str] = (),
        method: str = "exact",
        abstain: bool = True,
        rerank: str | Reranker | None = None,
        rerank_options: RerankOptions | None = None,
    ) -> SearchResult:
        """Return the few contiguous segments that answer a question, inside a token budget.

        Args:
            question: What is asked, in any words.
            budget_tokens: Most tokens of `result.context`, headers included.
            preset: "precise", "balanced" or "comprehensive": from single sentences to long
                passages; of method "greedy" "dsrag-balanced", "dsrag-precision" or
                "dsrag-find-all". When None the balanced one.
            documents: Ids of the documents to search; all when None.
            where: Filter on metadata, as a tree or as text: 'year >= 2018 and company = "3M"'.
            segment_options: In place of a preset; of method "greedy" `PublishedOptions`.
            headers: Whether each segment stands under its header in the context.
            tokenizer: Whose tokens are counted; that of the knowledge base when None.
            queries: Further searches for the same question; what any of them finds counts.
            method: "exact", or "greedy" as published.
            abstain: Whether nothing is found where there is hardly any evidence; never by method
                "greedy".
            rerank: Reranker that reads the best candidates, such as "cohere:rerank-v3.5"; where it
                fails, the search goes on without it and `result.warnings` say so.
            rerank_options: How many it reads, and how much it counts.

        Raises:
            QueryError: If the question or a query is empty or too long, or there are too many.
            OptionError: If an option is out of range, or the budget holds no relevant chunk.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` names one that does not exist.
            ModelKeyError: If there is no key for the reranker, or it is refused.
        """
        return self._search(
            question,
            ledger=self._operation(),
            rerank=rerank,
            rerank_options=rerank_options,
            budget_tokens=budget_tokens,
            preset=preset,
            documents=documents,
            where=where,
            segment_options=segment_options,
            headers=headers,
            tokenizer=tokenizer,
            queries=queries,
            method=method,
            abstain=abstain,
        )

    def _search(
        self,
        question: str,
        *,
        ledger: Ledger,
        rerank: str | Reranker | None,
        rerank_options: RerankOptions | None,
        **arguments: Unpack[SearchArguments],
    ) -> SearchResult:
        """Search as `search` does, with the ledger of an operation."""
        return replace(self._searcher, ledger=ledger).search(
            question,
            reranking=self._reranking(rerank, rerank_options, ledger=ledger),
            **asked(**arguments),
        )

    def explain(
        self,
        question: str,
        *,
        rerank: str | Reranker | None = None,
        rerank_options: RerankOptions | None = None,
        **arguments: Unpack[SearchArguments],
    ) -> Explanation:
        """Return what `search` returns, and why: scores, values and decisions, chunk by chunk.

        Takes what `search` takes and raises what it raises. `to_html()` of what is returned is a
        page that draws it, with sliders.
        """
        ledger = self._operation()
        return replace(self._searcher, ledger=ledger).explain(
            question,
            reranking=self._reranking(rerank, rerank_options, ledger=ledger),
            **asked(**arguments),
        )

    def excerpts(  # noqa: PLR0913 - options are keywords, each with a default
        self,
        question: str,
        *,
        excerpts: int = 3,
        excerpt_tokens: int = 1_000,
        queries: Sequence[str] = (),
        preset: str = "balanced",
        documents: Sequence[str] | None = None,
        where: Filter | str | None = None,
        segment_options: SegmentOptions | None = None,
        headers: bool = True,
        tokenizer: str | None = None,
        abstain: bool = True,
        rerank: str | Reranker | None = None,
        rerank_options: RerankOptions | None = None,
    ) -> ExcerptResult:
        """Return a number of texts of a given size around what answers a question.

        Each excerpt is text of one document: evidence that is chosen as `search` does, and text
        between and around it until the tokens are spent. No text comes twice.

        Args:
            question: What is asked, in any words.
            excerpts: How many, at most; fewer where the documents hold no more evidence.
            excerpt_tokens: Most tokens of each, headers included.
            queries: Further searches for the same question; what any of them finds counts.
            preset: As `search`: how contiguous the evidence inside an excerpt is.
            documents: Ids of the documents to search; all when None.
            where: Filter on metadata, as `search`.
            segment_options: In place of a preset.
            headers: Whether document and sections stand above the text.
            tokenizer: Whose tokens are counted; that of the knowledge base when None.
            abstain: Whether nothing is found where there is hardly any evidence.
            rerank: As `search`.
            rerank_options: As `search`.

        Raises:
            OptionError: As `search`; or if an excerpt has no room for a relevant chunk.
            FilterError: If the filter does not fit the fields of the documents.
            DocumentNotFoundError: If `documents` names one that does not exist.
            ModelKeyError: As `search`.
        """
        return self._excerpts(
            question,
            ledger=self._operation(),
            rerank=rerank,
            rerank_options=rerank_options,
            options=ExcerptOptions(
                excerpts=excerpts,
                excerpt_tokens=excerpt_tokens,
                segments=segment_options or SegmentOptions.preset(preset),
                headers=headers,
                tokenizer=tokenizer,
                abstain=abstain,
            ),
            **within(queries=queries, documents=documents, where=where),
        )

    def _excerpts(
        self,
        question: str,
        *,
        ledger: Ledger,
        rerank: str | Reranker | None,
        rerank_options: RerankOptions | None,
        options: ExcerptOptions,
        **place: Unpack[Within],
    ) -> ExcerptResult:
        """Make excerpts as `excerpts` does, with the ledger of an operation."""
        return replace(self._searcher, ledger=ledger).excerpts(
            question,
            reranking=self._reranking(rerank, rerank_options, ledger=ledger),
            options=options,
            **place,
        )

    def _operation(self, budget: Ledger | None = None) -> Ledger:
        """Return the ledger of a new operation, inside a shared budget if there is one."""
        return Ledger(max_cost=self._models.max_cost, parent=budget or self._budget)

    def _reranking(
        self,
        rerank: str | Reranker | None,
        options: RerankOptions | None,
        *,
        ledger: Ledger,
    ) -> Reranking | None:
        """Return the reranking of one search. A reranker given by name is made once.

        Raises:
            OptionError: If a cost limit applies and the price of the reranker is unknown.
        """
        if rerank is None:
            return None
        if isinstance(rerank, str):
            if rerank not in self._rerankers:
                self._rerankers[rerank] = make_reranker(rerank, options=self._models)
            rerank = self._rerankers[rerank]
        caller = RerankCaller(reranker=rerank, cache=self._store, ledger=ledger)
        caller.check_price()
        return Reranking(caller=caller, options=options or RerankOptions())

    @cached_property
    def _rerankers(self) -> dict[str, Reranker]:
        return {}

    @cached_property
    def _untuned(self) -> Searcher:
        return Searcher(
            store=self._store,
            embedder=self._embedder,
            dimension=int(self._settings.recorded["dimension"]),
            tokenizer=self._settings.tokenizer,
            model=shipped_model(),
            listener=self._listener,
        )

    @cached_property
    def _searcher(self) -> Searcher:
        return self._untuned if self._tuning is None else self._untuned.tuned(self._tuning)

    @cached_property
    def _embedder(self) -> Embedder | None:
        return open_embedder(
            self._settings, given=self._given_embedder, path=self._path, models=self._models
        )
