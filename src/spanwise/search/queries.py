"""Search of the queries of one question: its own, those of compared things, and additional ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.search.phrases import PhraseFinder
from spanwise.search.question_limits import read_questions
from spanwise.search.scoring import (
    QueryHits,
    Scope,
    scan_query,
    score_scanned,
    select_search_terms,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwise.core.ranking.comparisons import ComparedThing
    from spanwise.core.ranking.phrases import Phrase
    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.models.ports import Embedder
    from spanwise.search.scoring import ScannedQuery
    from spanwise.stores.port import Snapshot


def search_queries(
    questions: Sequence[Question],
    *,
    snapshot: Snapshot,
    embedder: Embedder | None,
    model: RelevanceModel,
    scope: Scope,
    strict: bool = False,
) -> tuple[QueryHits, ...]:
    """Return the hits of each query of a question.

    Every query requires the quoted phrases of the question, or its own if the question has none.
    If the question compares things, the question itself is not scored, and the query of each thing
    follows it (`core.ranking.comparisons`). An additional query that equals one of these is left
    out.

    Args:
        questions: The question, then its additional queries.
        snapshot: Snapshot to search.
        embedder: Embedder of the knowledge base; None for a keyword search.
        model: Relevance model.
        scope: Documents to search.
        strict: Whether only chunks that contain a quoted phrase count as evidence.

    Raises:
        FilterError: If the filter does not fit the fields of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
    """
    first, *others = questions
    searcher = _QuerySearcher(snapshot, embedder, model, scope, first.phrases, strict)
    hits = list(searcher.search_question(first))
    things = {query.question.text for query in hits if query.question.thing}
    hits += [searcher.search(query) for query in others if query.text not in things]
    return tuple(hits)


def search_whole(
    question: Question,
    *,
    snapshot: Snapshot,
    embedder: Embedder | None,
    model: RelevanceModel,
    scope: Scope,
) -> QueryHits:
    """Return the hits of a question as one query, even if it compares things.

    Raises:
        FilterError: If the filter does not fit the fields of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
    """
    searcher = _QuerySearcher(snapshot, embedder, model, scope, question.phrases, strict=False)
    return searcher.search(question)


@dataclass(frozen=True, slots=True)
class _QuerySearcher:
    """Search for the queries of one question."""

    snapshot: Snapshot
    embedder: Embedder | None
    model: RelevanceModel
    scope: Scope
    required: tuple[Phrase, ...]
    """Quoted phrases of the question."""
    strict: bool

    def search(self, query: Question) -> QueryHits:
        """Return the hits of a query."""
        return self._score(self._scan(query))

    def search_question(self, question: Question) -> Iterator[QueryHits]:
        """Yield the hits of a question, or of each of the things that it compares."""
        scanned = self._scan(question)
        comparison = scanned.comparison
        question = scanned.question
        if question.by_document:  # the documents of all named things are preferred
            things = {at for thing in comparison.things for at in thing.documents}
            named = tuple(sorted({*comparison.named, *things}))
            yield self._score(scanned._replace(comparison=comparison._replace(named=named)))
            return
        question = replace(question, unmatched=comparison.unmatched, uncovered=comparison.uncovered)
        if question.phrases or not comparison.things:
            yield self._score(scanned._replace(question=question))
            return
        yield QueryHits(question=replace(question, compares=True), scored=None)
        for thing in comparison.things:
            yield self._search_thing(thing, scanned)

    def _search_thing(self, thing: ComparedThing, scanned: ScannedQuery) -> QueryHits:
        """Return the hits of the query of a compared thing in its own documents."""
        (query,) = read_questions([thing.query], self.snapshot)
        handles = scanned.scan.handles[list(thing.documents)].tolist()
        documents = tuple(self.snapshot.record(handle).id for handle in handles)
        searcher = replace(self, scope=self.scope._replace(documents=documents))
        return searcher.search(replace(query, thing=thing.name))

    def _scan(self, query: Question) -> ScannedQuery:
        """Return the result of the store's search for the most informative terms of a query."""
        terms = select_search_terms(query, self.snapshot)
        if len(terms) < len(query.terms):
            count = query.original_words or len(query.terms)
            query = replace(query, terms=terms, original_words=count)
        return scan_query(
            query,
            snapshot=self.snapshot,
            embedder=self.embedder,
            scope=self.scope,
            record=self.snapshot.record,
        )

    def _score(self, scanned: ScannedQuery) -> QueryHits:
        """Return the hits of a query, given the result of the store's search."""
        query = scanned.question
        phrases = PhraseFinder(
            phrases=self.required or query.phrases,
            snapshot=self.snapshot,
            where=self.scope.where,
            documents=self.scope.documents,
            strict=self.strict or query.by_document,
        )
        scored = score_scanned(
            scanned,
            snapshot=self.snapshot,
            embedder=self.embedder,
            model=self.model,
            phrases=phrases,
        )
        return QueryHits(question=query, scored=scored)
