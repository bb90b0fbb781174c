"""Scoring of the chunks of a snapshot for a query: from words and vectors to shares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.ranking.bm25 import inverse_frequencies
from spanwise.core.ranking.features import (
    build_rows,
    candidate_rows,
    feature_matrix,
    question_share,
    read_cosines,
)
from spanwise.core.ranking.known_answers import answer_lift
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
from spanwise.packs.intents import (
    Aim,
    glossary_lift,
    landmark_lifts,
    read_aims,
)
from spanwise.packs.pack_file import recorded_packs
from spanwise.search.phrases import NO_PHRASES, PhraseFinder, PhraseMatches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.features import Rows
    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.core.ranking.reranking import RerankerScores
    from spanwise.core.ranking.scan import PassageRange, Passages, Scan
    from spanwise.core.ranking.word_scores import SimilarTerms, WordScores
    from spanwise.filters import Filter
    from spanwise.models.ports import Embedder
    from spanwise.stores.port import Searchable, Snapshot

_KNOWN = "words that answered such questions"
_NO_VECTORS = np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _LiftReader:
    """Computes lifts: additions of packs and known answers to scores."""

    snapshot: Searchable
    ranges: Sequence[PassageRange]
    """Ranges of chunks that were read."""
    rows: Rows
    """Layout of the chunks in the ranges, n rows."""
    model: RelevanceModel

    def lifts(self, question: Question) -> dict[str, NDArray[np.float64]]:
        """Return the lifts of the chunks, (n,) each, by label; empty if nothing applies."""
        packs = [named.pack for named in recorded_packs(self.snapshot.packs())]
        lifts: dict[str, NDArray[np.float64]] = {}
        for aim in read_aims(packs, question.text):
            lifts |= self._pack_lifts(aim)
        return lifts | self._known_lift(question)

    def _impacts(self, terms: tuple[str, ...]) -> NDArray[np.float32]:
        return self.snapshot.passages(self.ranges, terms=terms, vectors=_NO_VECTORS).impacts

    def _known_lift(self, question: Question) -> dict[str, NDArray[np.float64]]:
        expansion = self.model.known_answers.expansion(question.forms()[0])
        if expansion is None:
            return {}
        holders, chunks = self.snapshot.term_counts(tuple(expansion.shares))
        rarities = np.where(holders > 0, inverse_frequencies(holders, chunks), 0.0)
        terms, weights = expansion.best(rarities)
        if not terms:
            return {}
        lift = answer_lift(
            self._impacts(terms),
            term_weights=weights,
            rows=self.rows,
            weight=self.model.lift_weights.answers * expansion.similarity,
        )
        return {_KNOWN: lift} if lift.any() else {}

    def _pack_lifts(self, aim: Aim) -> dict[str, NDArray[np.float64]]:
        weights = self.model.lift_weights
        keys = [landmark.key for landmark in aim.pack.landmarks]
        signals = self.snapshot.signals(self.ranges, [aim.pack.signal(key) for key in keys])
        # The signals of a document without any landmark are all 0.
        known = np.logical_or.reduceat((signals != 0).any(axis=0), self.rows.starts)
        if not known.any():
            return {}
        lifts: dict[str, NDArray[np.float64]] = {}
        if aim.landmarks:
            rows_of_aim = [keys.index(landmark.key) for landmark in aim.landmarks]
            lifts |= landmark_lifts(aim, signals[rows_of_aim], weights=weights)
        if aim.terms:
            holders, chunks = self.snapshot.term_counts(aim.terms)
            lifts[f"{aim.pack.name}: words that say the same"] = glossary_lift(
                self._impacts(aim.terms),
                terms=inverse_frequencies(holders, chunks),
                rows=self.rows,
                known=np.repeat(known, self.rows.lengths),
                weights=weights,
            )
        return lifts


@dataclass(frozen=True, slots=True, eq=False)
class SimilarMatches:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Documents to search."""

    where: Filter | None = None
    """Metadata filter; None for no filter."""
    documents: Sequence[str] | None = None
    """Ids of documents; None for all."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredChunks:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryHits:
    """One query and its scored chunks."""

    question: Question
    """The query with its search terms."""
    scored: ScoredChunks | None
    """Scored chunks; None if nothing in scope could contain evidence."""


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
    searchable = [replace(query, terms=select_search_terms(query, snapshot)) for query in questions]
    return tuple(
        QueryHits(
            question=query,
            scored=score_chunks(
                query,
                snapshot=snapshot,
                embedder=embedder,
                model=model,
                scope=scope,
                phrases=PhraseFinder(
                    phrases=questions[0].phrases or query.phrases,
                    snapshot=snapshot,
                    where=scope.where,
                    documents=scope.documents,
                    strict=strict,
                ),
            ),
        )
        for query in searchable
    )


def select_search_terms(question: Question, snapshot: Searchable) -> tuple[str, ...]:
    """Return the terms to search by: all, or the most informative ones of a long question."""
    if len(question.terms) <= MAX_TERMS:
        return question.terms
    forms, words = question.forms()
    counts, chunks = snapshot.term_counts(forms)
    holders = group_term_counts(counts, words, most=chunks)[: len(question.terms)]
    weights = np.where(holders > 0, inverse_frequencies(holders, chunks), 0.0)
    return informative_terms(question, weights)


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
    vector = _unit(embedder.embed([question.text])[0]) if embedder is not None else None
    forms, words = question.forms()
    scan = snapshot.scan(
        ScanQuery(terms=forms, words=words, vector=vector),
        where=scope.where,
        documents=scope.documents,
    )
    scan = group_scan_terms(scan, words)
    routing = route(scan)
    quoted = phrases.find(scan, routing) if phrases and phrases.phrases else NO_PHRASES
    selected = quoted.selected or select_ranges(scan, routing)
    if not selected:
        return None
    ranges = tuple(span for _, span in selected)
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
    lifts = _LiftReader(snapshot, ranges, rows, model).lifts(question)
    if lifts:
        candidates = lifted_candidates(candidates, lifted_scores(model.scores(features), lifts))
    candidates = quoted.candidates(candidates)
    lifts = {name: lift[candidates] for name, lift in lifts.items()}
    scores = lifted_scores(model.scores(features[candidates]), lifts)
    shares = np.zeros(len(features))
    shares[candidates] = spread_shares(
        scores, rows.documents[candidates], compares=question.compares
    )
    return ScoredChunks(
        scan=scan,
        ranges=ranges,
        rows=rows,
        passages=passages,
        candidates=candidates,
        features=features[candidates],
        lifts=lifts,
        scores=scores,
        shares=shares,
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
    shares = np.zeros(len(scored.shares))
    documents = scored.rows.documents[scored.candidates]
    shares[scored.candidates] = spread_shares(scores, documents, compares=compares)
    return replace(scored, lifts={**scored.lifts, name: lift}, scores=scores, shares=shares)


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
    for position in np.unique(rows.documents).tolist():
        named = np.flatnonzero(scan.document_titles[position]).tolist()
        text = question.without(frozenset(question.terms[at] for at in named))
        if text is not None and (text in texts or len(texts) < _MAX_VECTORS):
            which[position] = texts.setdefault(text, len(texts) + 1)
    residual = [_unit(row) for row in embedder.embed(list(texts))] if texts else []
    return np.stack([vector, *residual]), which


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.sqrt(np.sum(vector.astype(np.float64) ** 2)))
    return (vector / length).astype(np.float32) if length > 0 else vector
