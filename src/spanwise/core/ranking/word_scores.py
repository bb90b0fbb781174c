"""Scores of chunks by the words of a question, and by similar words if these are not found.

A question in other words than its documents shares few terms with its evidence. Therefore a similar
word in a chunk counts as an occurrence of the question's term, weighted by the cosine of the two
words. The weight of similar words depends on how well the question's own words are found
(`found_share`). If they occur together in the text, similar words are not used.

Both kinds of scores use one formula. Its inputs are an impact and a presence for each term and
chunk. `exact_matches` computes them from the terms themselves, `similar_matches` from the best
match among each term and its similar words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import run_indexes
from spanwise.core.ranking.bm25 import inverse_frequencies, weighted_sum
from spanwise.core.ranking.routing import keyword_weights, z_scores
from spanwise.core.ranking.scan import Moments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.features import Rows
    from spanwise.core.ranking.scan import Passages, Scan
    from spanwise.core.ranking.similar_words import SimilarWord


_TITLE_WORD = 0.15  # weight of a term in a passage if the title of its document contains it
_BEST = 5  # number of best chunks whose coverage determines the found share
_NOT_FOUND, _ALL_FOUND = 0.25, 0.6  # coverage at which the found share is 0 and 1


class TermMatches(NamedTuple):
    """Matches of the T terms of a question in n chunks of some documents."""

    impacts: NDArray[np.float64]
    """Weighted BM25 saturation of each term in each chunk, (T, n)."""
    presence: NDArray[np.float64]
    """Degree to which each chunk contains each term, in [0, 1], (T, n)."""
    near: NDArray[np.float64]
    """Maximum of the presence in each chunk and its two neighbours, (T, n)."""
    weights: NDArray[np.float64]
    """Weight of each term, (T,); 0 if no chunk of the knowledge base matches it."""
    document_chunks: NDArray[np.float64]
    """Number of chunks with each term in each document of the scan, (documents, T)."""
    document_sizes: NDArray[np.int64]
    """Number of chunks of each document in which the terms were counted, (documents,)."""


class SimilarTerms(NamedTuple):
    """F terms of words that are similar to words of a question."""

    terms: tuple[str, ...]
    """Distinct terms, (F,)."""
    weights: NDArray[np.float64]
    """Inverse document frequency of each term, (F,)."""
    pairs: tuple[tuple[int, int, SimilarWord], ...]
    """Index of the question's term, index of the similar term, and the similar word; P pairs."""
    pair_terms: NDArray[np.int64]
    """Index of the question's term of each pair, (P,)."""
    pair_forms: NDArray[np.int64]
    """Index of the similar term of each pair, (P,)."""
    similarities: NDArray[np.float64]
    """Similarity of the two words of each pair, (P,)."""


class WordScores(NamedTuple):
    """Scores of n chunks by the words of a question."""

    residual: NDArray[np.float64]
    """Score of the text in standard deviations, with a low weight on words of the title, (n,)."""
    local: NDArray[np.float64]
    """Like `residual`, with inverse frequencies counted inside the document, (n,)."""
    whole: NDArray[np.float64]
    """Score of text and title in standard deviations, (n,)."""
    coverage: NDArray[np.float64]
    """Weighted share of the terms in each chunk or its neighbours, in [0, 1], (n,)."""
    similar_coverage: NDArray[np.float64]
    """Coverage in which similar words count by their similarity, in [0, 1], (n,); equal to
    `coverage` if all words are found."""
    found: float
    """How well the words are found, in [0, 1] (`found_share`)."""


def exact_matches(scan: Scan, passages: Passages, rows: Rows) -> TermMatches:
    """Return the matches of the terms themselves."""
    weights = np.where(scan.term_chunks > 0, keyword_weights(scan), 0.0)
    impacts = passages.impacts.astype(np.float64)
    is_present = impacts > 0
    return TermMatches(
        impacts=weights[:, None] * impacts,
        presence=is_present.astype(np.float64),
        near=rows.near(is_present).astype(np.float64),
        weights=weights,
        document_chunks=scan.document_terms.astype(np.float64),
        document_sizes=scan.document_chunks,
    )


def similar_matches(
    exact: TermMatches,
    similar: SimilarTerms,
    impacts: NDArray[np.float32],
    *,
    scan: Scan,
    rows: Rows,
) -> TermMatches:
    """Return the best match among each term and its similar words.

    A similar word is weighted by its cosine and by its inverse document frequency, which is limited
    to the weight of the term. A term that no chunk contains has the weight of its best similar
    word.

    Args:
        exact: Matches of the terms themselves.
        similar: Similar terms.
        impacts: BM25 saturation of each similar term in each chunk, (F, n).
        scan: Result of the search.
        rows: Layout of the chunks.
    """
    scores, presence = exact.impacts.copy(), exact.presence.copy()
    weights = exact.weights.copy()
    terms, forms, similarity = similar.pair_terms, similar.pair_forms, similar.similarities
    own, other = exact.weights[terms], similar.weights[forms]
    is_known = own > 0
    weight = similarity * np.where(is_known, np.minimum(own, other), other)
    ratio = np.divide(other, own, out=np.ones(len(own)), where=is_known)
    share = similarity * np.minimum(ratio, 1.0)
    np.maximum.at(weights, terms[~is_known], weight[~is_known])
    n = impacts.shape[1]
    cells = np.flatnonzero(impacts > 0)  # much faster than np.nonzero on two axes
    ends = np.searchsorted(cells, np.arange(len(impacts) + 1) * n)
    sizes = np.diff(ends)[forms]  # number of chunks with the similar word of each pair
    here = cells[run_indexes(ends[forms], sizes)]
    values = impacts.ravel()[here].astype(np.float64)
    places = here + np.repeat((terms - forms) * n, sizes)
    np.maximum.at(scores.reshape(-1), places, np.repeat(weight, sizes) * values)
    np.maximum.at(presence.reshape(-1), places, np.repeat(share, sizes))
    documents = len(scan.handles)
    counts = [np.bincount(rows.documents, row, documents) for row in presence]
    return TermMatches(
        impacts=scores,
        presence=presence,
        near=rows.near(presence),
        weights=weights,
        document_chunks=np.stack(counts, axis=1) if counts else np.zeros((documents, 0)),
        document_sizes=np.bincount(rows.documents, minlength=documents),
    )


def found_share(exact: TermMatches, *, scan: Scan) -> float:
    """Return how well the words of a question are found in the chunks, in [0, 1].

    It is 1 if the five best places contain on average 60 % or more of the weight of the question's
    words, and 0 if they contain a quarter or less. A place is a chunk with its neighbours.
    """
    unknown = float(np.log1p(scan.all_chunks))
    possible = sum(weight or unknown for weight in exact.weights.tolist())
    covered = weighted_sum(exact.near, exact.weights)
    if not possible:
        return 1.0
    best = np.sort(covered)[-_BEST:].mean() / possible  # faster than a partition with many ties
    return float(np.clip((best - _NOT_FOUND) / (_ALL_FOUND - _NOT_FOUND), 0.0, 1.0))


def exact_scores(matches: TermMatches, *, scan: Scan, rows: Rows) -> WordScores:
    """Return the scores by the words themselves.

    Args:
        matches: Matches of the terms themselves.
        scan: Result of the search.
        rows: Layout of the chunks.
    """
    found = found_share(matches, scan=scan)
    sums = _sum_terms(matches, scan=scan, rows=rows)
    return WordScores(
        residual=z_scores(sums.residual, scan.body),
        local=z_scores(sums.local, _moments(sums.local)),
        whole=z_scores(sums.whole, scan.keyword),
        coverage=sums.coverage,
        similar_coverage=sums.coverage,
        found=found,
    )


def add_similar_scores(
    exact: WordScores, matches: TermMatches, *, scan: Scan, rows: Rows
) -> WordScores:
    """Return the scores by words and similar words.

    They are a weighted mean of the scores by the words themselves, with the weight `exact.found`,
    and of the scores with similar words.

    Args:
        exact: Scores by the words themselves.
        matches: Best matches of the terms and their similar words.
        scan: Result of the search.
        rows: Layout of the chunks.
    """
    sums = _sum_terms(matches, scan=scan, rows=rows)
    found = exact.found

    def mixed(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
        return found * first + (1 - found) * second

    return WordScores(
        residual=mixed(exact.residual, z_scores(sums.residual, _moments(sums.text))),
        local=mixed(exact.local, z_scores(sums.local, _moments(sums.local))),
        whole=mixed(exact.whole, z_scores(sums.whole, _moments(sums.whole))),
        coverage=exact.coverage,
        similar_coverage=sums.coverage,
        found=found,
    )


class _Sums(NamedTuple):
    """Sums over the terms for n chunks, (n,) each."""

    text: NDArray[np.float64]
    residual: NDArray[np.float64]
    local: NDArray[np.float64]
    whole: NDArray[np.float64]
    coverage: NDArray[np.float64]


def _sum_terms(matches: TermMatches, *, scan: Scan, rows: Rows) -> _Sums:
    """Return the sums over the terms, in the order of the terms."""
    read, lengths = rows.documents[rows.starts], rows.lengths  # the document of each range
    is_title = scan.document_titles[read].T
    titles = weighted_sum(is_title, keyword_weights(scan))
    unknown = float(np.log1p(scan.all_chunks))
    sizes = matches.document_sizes[read, None]
    holders = np.minimum(matches.document_chunks[read], sizes)
    kept = np.where(is_title, _TITLE_WORD, 1.0)
    rare = inverse_frequencies(holders, sizes).T * kept
    text, residual, local, covered = (np.zeros(len(rows.chunks)) for _ in range(4))
    possible = np.zeros(len(read))
    for t, weight in enumerate(matches.weights.tolist()):
        if not weight:
            possible += unknown
            continue
        impact, keep = matches.impacts[t], kept[t]
        text += impact
        residual += keep.repeat(lengths) * impact
        local += rare[t].repeat(lengths) * impact / weight
        covered += (weight * keep).repeat(lengths) * matches.near[t]
        possible += weight * keep
    return _Sums(
        text=text,
        residual=residual,
        local=local,
        whole=text + titles.repeat(lengths),
        coverage=covered / np.maximum(possible, 1e-9).repeat(lengths),
    )


def _moments(values: NDArray[np.float64]) -> Moments:
    return Moments(float(values.mean()), float(values.std()))


def similar_terms(
    words: Sequence[Sequence[SimilarWord]], holders: NDArray[np.int64], *, chunks: int
) -> SimilarTerms:
    """Return the similar terms of the words of a question.

    Args:
        words: Similar words of each term of the question.
        holders: Number of chunks that contain each distinct term, in order of first occurrence.
        chunks: Number of chunks in the knowledge base.
    """
    index = {term: at for at, term in enumerate(distinct_terms(words))}
    pairs = tuple(
        (term, index[word.term], word) for term, similar in enumerate(words) for word in similar
    )
    return SimilarTerms(
        terms=tuple(index),
        weights=inverse_frequencies(holders, chunks),
        pairs=pairs,
        pair_terms=np.array([term for term, _, _ in pairs], dtype=np.int64),
        pair_forms=np.array([form for _, form, _ in pairs], dtype=np.int64),
        similarities=np.array([word.similarity for _, _, word in pairs], dtype=np.float64),
    )


def distinct_terms(words: Sequence[Sequence[SimilarWord]]) -> tuple[str, ...]:
    """Return the distinct terms of similar words in order of first occurrence."""
    return tuple(dict.fromkeys(word.term for similar in words for word in similar))
