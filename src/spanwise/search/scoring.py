"""What packs, and answers that are known, add to the chunks that were read for a question.

Weigh the chunks of one snapshot for a question: from words and vectors to shares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.bm25 import inverse_frequencies
from spanwise.core.ranking.features import build_rows, candidate_rows, feature_matrix
from spanwise.core.ranking.known_answers import answer_lift
from spanwise.core.ranking.query_terms import (
    group_passage_terms,
    group_scan_terms,
    group_term_counts,
)
from spanwise.core.ranking.question import MAX_TERMS, informative_terms
from spanwise.core.ranking.relevance import hedge_weight, softmax_shares, spread_over_documents
from spanwise.core.ranking.routing import route, select_ranges
from spanwise.core.ranking.scan import ScanQuery
from spanwise.packs.intents import (
    Aim,
    glossary_lift,
    landmark_lifts,
    lifted_candidates,
    lifted_scores,
    read_aims,
)
from spanwise.packs.pack_file import recorded_packs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.features import Rows
    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import LiftWeights, RelevanceModel
    from spanwise.core.ranking.scan import PassageRange, Passages, Scan
    from spanwise.filters import Filter
    from spanwise.models.ports import Embedder
    from spanwise.stores.port import Searchable

_KNOWN = "words that answered such questions"
_NO_VECTORS = np.zeros((0, 0), dtype=np.float32)


def compute_lifts(
    question: Question,
    *,
    snapshot: Searchable,
    ranges: Sequence[PassageRange],
    rows: Rows,
    model: RelevanceModel,
) -> dict[str, NDArray[np.float64]]:
    """Return what is added to the score of each chunk, by a name for people, (n,) each.

    Nothing where no pack knows the question's words, or none of its landmarks is in what was read,
    and the question is like none whose answers are known.

    Args:
        question: The question.
        snapshot: What is searched.
        ranges: What was read of it.
        rows: Where the chunks belong, n of them.
        model: Has the weights of the parts of a lift, and the known answers.
    """
    packs = [named.pack for named in recorded_packs(snapshot.packs())]
    found: dict[str, NDArray[np.float64]] = {}
    for aim in read_aims(packs, question.text):
        found |= _lifts_of(
            aim, snapshot=snapshot, ranges=ranges, rows=rows, weights=model.lift_weights
        )
    return found | _known_lift(question, snapshot=snapshot, ranges=ranges, rows=rows, model=model)


def _known_lift(
    question: Question,
    *,
    snapshot: Searchable,
    ranges: Sequence[PassageRange],
    rows: Rows,
    model: RelevanceModel,
) -> dict[str, NDArray[np.float64]]:
    sought = model.known_answers.expansion(question.forms()[0])
    if sought is None:
        return {}
    holders, chunks = snapshot.term_counts(tuple(sought.shares))
    terms, worth = sought.best(np.where(holders > 0, inverse_frequencies(holders, chunks), 0.0))
    if not terms:
        return {}
    lift = answer_lift(
        snapshot.passages(ranges, terms=terms, vectors=_NO_VECTORS).impacts,
        worth=worth,
        rows=rows,
        weight=model.lift_weights.answers * sought.similarity,
    )
    return {_KNOWN: lift} if lift.any() else {}


def _lifts_of(
    aim: Aim,
    *,
    snapshot: Searchable,
    ranges: Sequence[PassageRange],
    rows: Rows,
    weights: LiftWeights,
) -> dict[str, NDArray[np.float64]]:
    keys = [landmark.key for landmark in aim.pack.landmarks]
    signals = snapshot.signals(ranges, [aim.pack.signal(key) for key in keys])
    # In a document that has a landmark its signal deviates; in one that has none, all are 0.
    known = np.logical_or.reduceat((signals != 0).any(axis=0), rows.starts)
    if not known.any():
        return {}
    found: dict[str, NDArray[np.float64]] = {}
    if aim.landmarks:
        wanted = [keys.index(landmark.key) for landmark in aim.landmarks]
        found |= landmark_lifts(aim, signals[wanted], weights=weights)
    if aim.terms:
        holders, chunks = snapshot.term_counts(aim.terms)
        found[f"{aim.pack.name}: words that say the same"] = glossary_lift(
            snapshot.passages(ranges, terms=aim.terms, vectors=_NO_VECTORS).impacts,
            terms=inverse_frequencies(holders, chunks),
            rows=rows,
            known=np.repeat(known, rows.lengths),
            weights=weights,
        )
    return found


_MAX_VECTORS = 16  # beyond so many kinds of titles the whole question does


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is searched of a knowledge base."""

    where: Filter | None = None
    """None for no filter."""
    documents: Sequence[str] | None = None
    """Ids; None for all."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredChunks:
    """The chunks that were read for a question, n rows, and the candidates among them, c."""

    scan: Scan
    ranges: tuple[PassageRange, ...]
    rows: Rows
    passages: Passages
    candidates: NDArray[np.int64]
    """Rows that were scored, ascending, (c,)."""
    features: NDArray[np.float64]
    """Of the candidates, (c, features)."""
    lifts: Mapping[str, NDArray[np.float64]]
    """What packs, known answers and a reranker add to the scores, by a name for people, (c,)."""
    scores: NDArray[np.float64]
    """Of the candidates: what the model makes of the features, and the lifts, (c,)."""
    shares: NDArray[np.float64]
    """Of all rows, 0 where a chunk is no candidate, (n,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryHits:
    """One query and what it found."""

    question: Question
    """With the terms that were searched by."""
    scored: ScoredChunks | None
    """None where nothing in scope could hold evidence."""


def search_queries(
    questions: Sequence[Question],
    *,
    snapshot: Searchable,
    embedder: Embedder | None,
    model: RelevanceModel,
    scope: Scope,
) -> tuple[QueryHits, ...]:
    """Return what each query of a question found.

    Raises:
        FilterError: If the filter does not fit the fields of the documents.
        DocumentNotFoundError: If `documents` names one that does not exist.
    """
    telling = [replace(one, terms=select_search_terms(one, snapshot)) for one in questions]
    return tuple(
        QueryHits(
            question=one,
            scored=score_chunks(
                one, snapshot=snapshot, embedder=embedder, model=model, scope=scope
            ),
        )
        for one in telling
    )


def select_search_terms(question: Question, snapshot: Searchable) -> tuple[str, ...]:
    """Return the terms to search by: all, or the most telling ones of a long question."""
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
) -> ScoredChunks | None:
    """Return the scored chunks of a question, or None where nothing in scope could hold evidence.

    The question's terms are those that are searched by.

    Raises:
        FilterError: If the filter does not fit the fields of the documents.
        DocumentNotFoundError: If `documents` names one that does not exist.
    """
    vector = _unit(embedder.embed([question.text])[0]) if embedder is not None else None
    forms, words = question.forms()
    scan = snapshot.scan(
        ScanQuery(terms=forms, words=words, vector=vector, keyword_share=model.keyword_share),
        where=scope.where,
        documents=scope.documents,
    )
    scan = group_scan_terms(scan, words)
    routing = route(scan, keyword_share=model.keyword_share)
    chosen = select_ranges(scan, routing)
    if not chosen:
        return None
    ranges = tuple(span for _, span in chosen)
    rows = build_rows(chosen)
    vectors, residual = _residual_vectors(question, scan, rows, embedder, vector)
    passages = group_passage_terms(snapshot.passages(ranges, terms=forms, vectors=vectors), words)
    features, fused_near = feature_matrix(
        question, scan=scan, routing=routing, rows=rows, passages=passages, residual=residual
    )
    candidates = candidate_rows(features, fused_near)
    lifts = compute_lifts(question, snapshot=snapshot, ranges=ranges, rows=rows, model=model)
    if lifts:
        candidates = lifted_candidates(candidates, lifted_scores(model.scores(features), lifts))
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
    )


def add_lift(
    scored: ScoredChunks, lift: NDArray[np.float64], *, name: str, compares: bool
) -> ScoredChunks:
    """Return what a question found, with something more added to the scores of its candidates.

    Args:
        scored: What it found.
        lift: What is added to each candidate, (c,).
        name: Of it, for people.
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
    """Return the share of each candidate, spread over documents as far as the question wants."""
    weight = 1.0 if compares else hedge_weight(softmax_shares(scores), documents)
    return softmax_shares(spread_over_documents(scores, documents, weight=weight))


def _residual_vectors(
    question: Question,
    scan: Scan,
    rows: Rows,
    embedder: Embedder | None,
    vector: NDArray[np.float32] | None,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the vectors of the question, whole and without the words of titles.

    One for each distinct set of question terms that the title of a document read holds, (m,
    dimension), and which of them each document of the scan takes, (documents,).
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
