"""Scoring of the chunks of a snapshot for a query: from words and vectors to shares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import distinct
from spanwise.core.ranking.bm25 import inverse_frequencies
from spanwise.core.ranking.comparisons import find_comparison
from spanwise.core.ranking.document_places import HITS, select_places
from spanwise.core.ranking.features import (
    build_rows,
    candidate_rows,
    feature_matrix,
    question_share,
    read_cosines,
)
from spanwise.core.ranking.periods import period_end
from spanwise.core.ranking.question import MAX_TERMS, informative_terms
from spanwise.core.ranking.relevance import (
    hedge_weight,
    lifted_candidates,
    lifted_scores,
    softmax_shares,
    spread_over_documents,
)
from spanwise.core.ranking.routing import route, select_ranges
from spanwise.core.ranking.scan import (
    ScanQuery,
    group_passage_terms,
    group_scan_terms,
    group_term_counts,
)
from spanwise.core.ranking.word_scores import (
    add_similar_scores,
    distinct_terms,
    exact_matches,
    exact_scores,
    similar_matches,
    similar_terms,
)
from spanwise.search.lifts import LiftReader
from spanwise.search.phrases import NO_PHRASES, PhraseFinder, PhraseMatches
from spanwise.types import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from numpy.typing import NDArray

    from spanwise.core.ranking.comparisons import Comparison
    from spanwise.core.ranking.features import Rows
    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.core.ranking.reranking import RerankerScores
    from spanwise.core.ranking.scan import PassageRange, Passages, Scan
    from spanwise.core.ranking.word_scores import SimilarTerms, WordScores
    from spanwise.filters import Filter
    from spanwise.models.ports import Embedder
    from spanwise.stores.port import Searchable
    from spanwise.types import DocumentRecord

_NO_VECTORS = np.zeros((0, 0), dtype=np.float32)


class SimilarMatches(NamedTuple):
    """Words of the documents that are similar to words of the question, and where they occur."""

    similar: SimilarTerms
    """The F similar terms, and the pairs of a question's term and a similar term."""
    impacts: NDArray[np.float32]
    """BM25 saturation of each similar term in each row, (F, n)."""


class _WordMatches(NamedTuple):
    scores: WordScores
    matched: SimilarMatches | None


@dataclass(frozen=True, slots=True)
class _WordMatcher:
    """Computes the scores of the chunks by the words of a question and by similar words."""

    snapshot: Searchable
    scan: Scan
    ranges: Sequence[PassageRange]
    rows: Rows

    def match(self, question: Question, passages: Passages) -> _WordMatches:
        """Return the word scores of all rows; similar words count if not all words are found."""
        exact = exact_matches(self.scan, passages, self.rows)
        scores = exact_scores(exact, scan=self.scan, rows=self.rows)
        if scores.found == 1:
            return _WordMatches(scores, None)
        similar = self._similar_terms(question)
        if not similar.pairs:
            return _WordMatches(scores, None)
        impacts = self.snapshot.passages(
            self.ranges, terms=similar.terms, vectors=_NO_VECTORS
        ).impacts
        matches = similar_matches(exact, similar, impacts, rows=self.rows, scan=self.scan)
        return _WordMatches(
            add_similar_scores(scores, matches, scan=self.scan, rows=self.rows),
            SimilarMatches(similar, impacts),
        )

    def _similar_terms(self, question: Question) -> SimilarTerms:
        handles = list(dict.fromkeys(span.handle for span in self.ranges))
        words = self.snapshot.similar_words(handles, question.term_words())
        holders, chunks = self.snapshot.term_counts(distinct_terms(words))
        return similar_terms(words, holders, chunks=chunks)


_MAX_VECTORS = 16  # with more distinct titles, the whole question is used


class Scope(NamedTuple):
    """Documents to search."""

    where: Filter | None = None
    """Metadata filter; None for no filter."""
    documents: Sequence[str] | None = None
    """Ids of documents; None for all."""


class ScoredChunks(NamedTuple):
    """Chunks that were read for a query, n rows, and the c candidates among them."""

    scan: Scan
    """Result of the store's search."""
    ranges: tuple[PassageRange, ...]
    """Ranges of chunks that were read."""
    rows: Rows
    """Layout of the chunks."""
    passages: Passages
    """Inputs of the features."""
    candidates: NDArray[np.int64]
    """Rows that were scored, ascending, (c,)."""
    features: NDArray[np.float64]
    """Features of the candidates, (c, features)."""
    lifts: Mapping[str, NDArray[np.float64]]
    """Additions to the scores by packs, known answers, MiniLM and a reranker, by label, (c,)."""
    scores: NDArray[np.float64]
    """Scores of the candidates: contributions of the features plus lifts, (c,)."""
    shares: NDArray[np.float64]
    """Shares of all rows, 0 if a chunk is not a candidate, (n,)."""
    found: float
    """How well the words of the question are found, in [0, 1] (`found_share`)."""
    matched: SimilarMatches | None
    """Matches of similar words; None if all words are found or there are no similar words."""
    phrases: PhraseMatches = NO_PHRASES
    """Quoted phrases and the rows that contain them."""
    deep_similarity: float | None = None
    """Greatest cosine by MiniLM of the candidates that were compared; None without MiniLM."""
    reranker: RerankerScores | None = None
    """Scores of the reranker; None if none was used or it failed."""


class QueryHits(NamedTuple):
    """One query and its scored chunks."""

    question: Question
    """The query with its search terms."""
    scored: ScoredChunks | None
    """Scored chunks; None if nothing in scope could contain evidence."""


class DeepResult(NamedTuple):
    """Hits of the queries after the comparison by MiniLM."""

    hits: tuple[QueryHits, ...]
    """Hits of each query."""
    chunks: int = 0
    """Number of different chunks that were compared."""
    warnings: tuple[str, ...] = ()
    """Warning about a failure of the model; empty for none."""


class RerankResult(NamedTuple):
    """Hits of the queries after reranking, with warnings and usage."""

    hits: tuple[QueryHits, ...]
    """Hits of each query."""
    warnings: tuple[str, ...] = ()
    """Warnings about failures and missing calibration."""
    usage: Usage = Usage()
    """Usage of the reranker."""
    finds_nothing: bool = False
    """Whether the reranker rates all candidates of all queries 0."""


def select_search_terms(question: Question, snapshot: Searchable) -> tuple[str, ...]:
    """Return the terms to search by: all, or the most informative ones of a long question."""
    if len(question.terms) <= MAX_TERMS:
        return question.terms
    forms, words = question.forms()
    counts, chunks = snapshot.term_counts(forms)
    holders = group_term_counts(counts, words, most=chunks)[: len(question.terms)]
    weights = np.where(holders > 0, inverse_frequencies(holders, chunks), 0.0)
    return informative_terms(question, weights)


class ScannedQuery(NamedTuple):
    """A query and the result of the store's search for it."""

    question: Question
    vector: NDArray[np.float32] | None
    """Vector of the query, of unit length; None for a keyword search."""
    scan: Scan
    """Result of the search, with a column for each term of the question."""
    comparison: Comparison
    """Things and documents that the question names."""


def scan_query(
    question: Question,
    *,
    snapshot: Searchable,
    embedder: Embedder | None,
    scope: Scope,
    record: Callable[[int], DocumentRecord] | None = None,
) -> ScannedQuery:
    """Return the result of the store's search for all terms of a question.

    Args:
        question: Question with its search terms.
        snapshot: Documents to search.
        embedder: Embedder of the query; None for a keyword search.
        scope: Documents to search.
        record: Function that returns the record of a document by its handle; without it, dates in
            the question select no documents.

    Raises:
        FilterError: If the filter does not fit the fields of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
    """
    vector = _unit(embedder.embed([question.text])[0]) if embedder is not None else None
    forms, words = question.forms()
    place = {term: number for number, term in enumerate(question.terms)}
    names = {
        name: [place[term] for term in terms]
        for name, terms in question.joined_names.items()
        if place.keys() >= set(terms)
    }
    if names:  # a joined name is another form of its first word
        words = words or tuple(range(len(forms)))
        words = (*words, *(columns[0] for columns in names.values()))
    query = ScanQuery(terms=(*forms, *names), words=words, vector=vector)
    scan = snapshot.scan(
        replace(query, hits=HITS) if question.by_document else query,
        where=scope.where,
        documents=scope.documents,
    )
    joined = scan.document_titles[:, len(forms) :]
    scan = group_scan_terms(scan, words)
    if joined.any():
        titles = scan.document_titles.copy()
        for column, columns in enumerate(names.values()):
            titles[:, columns] |= joined[:, [column]]
        scan = replace(scan, document_titles=titles)

    def period_ends(positions: Sequence[int]) -> list[date | None]:
        handles = scan.handles[list(positions)].tolist()
        return [None if record is None else period_end(record(at).metadata) for at in handles]

    comparison = find_comparison(question, scan, period_ends=period_ends)
    return ScannedQuery(question, vector, scan, comparison)


def score_chunks(
    question: Question,
    *,
    snapshot: Searchable,
    embedder: Embedder | None,
    model: RelevanceModel,
    scope: Scope,
    phrases: PhraseFinder | None = None,
) -> ScoredChunks | None:
    """Return the scored chunks of a query, or None if nothing in scope could contain evidence.

    All terms of the question are used as search terms. Quoted phrases are required only if
    `phrases` is given.

    Raises:
        FilterError: If the filter does not fit the fields of the documents.
        DocumentNotFoundError: If the scope names a document that does not exist.
    """
    scanned = scan_query(question, snapshot=snapshot, embedder=embedder, scope=scope)
    return score_scanned(
        scanned, snapshot=snapshot, embedder=embedder, model=model, phrases=phrases
    )


def score_scanned(
    scanned: ScannedQuery,
    *,
    snapshot: Searchable,
    embedder: Embedder | None,
    model: RelevanceModel,
    phrases: PhraseFinder | None = None,
) -> ScoredChunks | None:
    """Return the scored chunks of a query like `score_chunks`, given the result of its search."""
    question, vector, scan = scanned.question, scanned.vector, scanned.scan
    forms, words = question.forms()
    routing = route(scan)
    quoted = phrases.find(scan, routing) if phrases and phrases.phrases else NO_PHRASES
    choose = select_places if question.by_document else select_ranges
    selected = quoted.selected or choose(scan, routing)
    if not selected:
        return None
    ranges = tuple([span for _, span in selected])
    rows = build_rows(selected)
    vectors, residual = _residual_vectors(question, scan, rows, embedder, vector)
    passages = group_passage_terms(snapshot.passages(ranges, terms=forms, vectors=vectors), words)
    matches = _WordMatcher(snapshot, scan, ranges, rows).match(question, passages)
    words_share = question_share(model.keyword_share, found=matches.scores.found)
    features, fused_near = feature_matrix(
        question,
        routing=routing,
        rows=rows,
        passages=passages,
        words=matches.scores,
        cosines=read_cosines(scan, rows, passages, residual, words_share=words_share),
    )
    candidates = candidate_rows(features, fused_near)
    if question.by_document:
        candidates = np.arange(len(features))
    lifts = LiftReader(snapshot, ranges, rows, model, passages).lifts(question, scanned.comparison)
    if lifts:
        candidates = lifted_candidates(candidates, lifted_scores(model.scores(features), lifts))
    candidates = quoted.candidates(candidates)
    lifts = {name: lift[candidates] for name, lift in lifts.items()}
    scores = lifted_scores(model.scores(features[candidates]), lifts)
    return ScoredChunks(
        scan=scan,
        ranges=ranges,
        rows=rows,
        passages=passages,
        candidates=candidates,
        features=features[candidates],
        lifts=lifts,
        scores=scores,
        shares=_row_shares(scores, candidates, rows, compares=question.compares),
        found=matches.scores.found,
        matched=matches.matched,
        phrases=quoted,
    )


def add_lift(
    scored: ScoredChunks, lift: NDArray[np.float64], *, name: str, compares: bool
) -> ScoredChunks:
    """Return the scored chunks after an addition to the scores of the candidates.

    Args:
        scored: Scored chunks.
        lift: Addition to each candidate, (c,).
        name: Label of the addition.
        compares: Whether the question compares documents.
    """
    scores = scored.scores + lift
    shares = _row_shares(scores, scored.candidates, scored.rows, compares=compares)
    return scored._replace(lifts={**scored.lifts, name: lift}, scores=scores, shares=shares)


def _row_shares(
    scores: NDArray[np.float64], candidates: NDArray[np.int64], rows: Rows, *, compares: bool
) -> NDArray[np.float64]:
    """Return the share of each row, given the scores of the candidates, (n,)."""
    shares = np.zeros(len(rows.documents))
    shares[candidates] = spread_shares(scores, rows.documents[candidates], compares=compares)
    return shares


def spread_shares(
    scores: NDArray[np.float64], documents: NDArray[np.int64], *, compares: bool
) -> NDArray[np.float64]:
    """Return the share of each candidate, after the spread over documents for this question."""
    weight = 1.0 if compares else hedge_weight(softmax_shares(scores), documents)
    return softmax_shares(spread_over_documents(scores, documents, weight=weight))


def _residual_vectors(
    question: Question,
    scan: Scan,
    rows: Rows,
    embedder: Embedder | None,
    vector: NDArray[np.float32] | None,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the vectors of the question, and of the question without the words of titles.

    A residual vector is that of the question without the words of a document's title. Equal texts
    share one vector.

    Returns:
        The vectors, (m, dimension), the whole question first; and the index of the residual vector
        of each document of the scan, (documents,).
    """
    which = np.zeros(len(scan.handles), dtype=np.int64)
    if embedder is None or vector is None:
        return np.zeros((0, 0), dtype=np.float32), which
    texts: dict[str, int] = {}
    positions = distinct(rows.documents[rows.starts])
    for position in positions[scan.document_titles[positions].any(axis=1)].tolist():
        named = np.flatnonzero(scan.document_titles[position]).tolist()
        text = question.without(frozenset(question.terms[at] for at in named))
        if text is not None and (text in texts or len(texts) < _MAX_VECTORS):
            which[position] = texts.setdefault(text, len(texts) + 1)
    residual = [_unit(row) for row in embedder.embed(list(texts))] if texts else []
    return np.stack([vector, *residual]), which


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.sqrt(np.sum(vector.astype(np.float64) ** 2)))
    return (vector / length).astype(np.float32) if length > 0 else vector
