"""Which documents a question is about, and which of their chunks are read to weigh them.

A document counts by its own score, by what its title names and by its best hit. The chunks of the
best documents are read whole until `MAX_CHUNKS`; of a document that does not fit, what stands
around its hits. Reading 3,000 or 24,000 chunks made no difference on the dev datasets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.bm25 import document_scores, inverse_frequencies
from spanwise.core.ranking.scan import PassageRange
from spanwise.core.ranking.score_statistics import KEYWORD_SHARE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.scan import Moments, Scan


MAX_CHUNKS = 4_000
_MAX_DOCUMENTS = 256
_AROUND_HIT = 12  # chunks read on either side of a hit: the widest smoothing sees no further


@dataclass(frozen=True, slots=True, eq=False)
class Routing:
    """What is known of each document of a scan, in its order."""

    score: NDArray[np.float64]
    """z of the document's BM25 over the documents in scope; 0 when there is one alone."""
    title_coverage: NDArray[np.float64]
    """Weight of the terms its title holds, over the best title's; 1 when one is in scope."""
    best_hit: NDArray[np.float64]
    """Best fused score of its hits less the best of all, <= 0; the lowest where it has none."""
    order: NDArray[np.int64]
    """Positions, best first; ties go to the older document."""
    keyword_share: float = KEYWORD_SHARE
    """Weight of keywords where they are fused with the cosine, in [0, 1]."""


def z(values: NDArray[np.float64], moments: Moments) -> NDArray[np.float64]:
    """Return values in deviations from the mean; zeros where nothing deviates."""
    if moments.deviation <= 1e-12:
        return np.zeros_like(values)
    standard: NDArray[np.float64] = (values - moments.mean) / moments.deviation
    return standard


def fused(
    keyword: NDArray[np.float64],
    similarity: NDArray[np.float64],
    scan: Scan,
    *,
    keyword_share: float = KEYWORD_SHARE,
) -> NDArray[np.float64]:
    """Return `0.7 z(keyword) + 0.3 z(cosine)`, without the cosine where there are no vectors."""
    score = keyword_share * z(keyword, scan.keyword)
    if scan.vector is not None:
        score += (1 - keyword_share) * z(similarity, scan.vector)
    return score


def keyword_weights(scan: Scan) -> NDArray[np.float64]:
    """Return the weight of each term: over chunks, or over titles where no chunk holds it."""
    over_chunks = inverse_frequencies(scan.term_chunks, scan.all_chunks)
    over_titles = inverse_frequencies(scan.title_documents, scan.all_documents)
    return np.where(scan.term_chunks > 0, over_chunks, over_titles)


def route(scan: Scan, *, keyword_share: float = KEYWORD_SHARE) -> Routing:
    """Return how well each document of a scan matches the question.

    Args:
        scan: What the searches saw.
        keyword_share: Weight of keywords where they are fused with the cosine, in [0, 1].
    """
    count = len(scan.handles)
    alone = scan.documents <= 1
    titles = scan.document_titles
    if alone:
        score, coverage = np.zeros(count), np.ones(count)
    else:
        score = _document_z(scan)
        weights = inverse_frequencies(scan.title_documents, scan.all_documents)
        coverage = _weighted(titles, weights)
        if coverage.max(initial=0.0) > 0:
            coverage = coverage / coverage.max()
    best = _best_hits(scan, keyword_share)
    rank = 0.7 * score + 5 * coverage + 0.5 * best
    return Routing(
        score=score,
        title_coverage=coverage,
        best_hit=best,
        order=np.argsort(-rank, kind="stable"),
        keyword_share=keyword_share,
    )


def _weighted(held: NDArray[np.bool_], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of weights of the terms held, (documents,), added in the order of terms."""
    total = np.zeros(len(held))
    for column, weight in zip(held.T, weights, strict=True):
        total += weight * column
    return total


def _document_z(scan: Scan) -> NDArray[np.float64]:
    holders = ((scan.document_terms > 0) | scan.document_titles).sum(axis=0)
    scores = document_scores(
        scan.document_terms,
        scan.document_titles,
        scan.document_chunks,
        weights=inverse_frequencies(holders, scan.documents),
        mean_chunks=scan.all_chunks / max(scan.all_documents, 1),
    )
    # Documents in scope that are not in the scan hold no term: their score is 0.
    mean = scores.sum() / scan.documents
    variance = max((scores**2).sum() / scan.documents - mean**2, 0.0)
    return np.asarray((scores - mean) / max(float(np.sqrt(variance)), 1e-9))


def _best_hits(scan: Scan, keyword_share: float) -> NDArray[np.float64]:
    score = fused(scan.hit_keywords, scan.hit_vectors, scan, keyword_share=keyword_share)
    best = np.full(len(scan.handles), score.min(initial=0.0))
    np.maximum.at(best, scan.hit_documents, score)
    return np.asarray(best - best.max()) if len(best) else best


def chosen_ranges(
    scan: Scan, routing: Routing, *, max_chunks: int = MAX_CHUNKS
) -> list[tuple[int, PassageRange]]:
    """Return the ranges to read, each with the position of its document in the scan.

    Ordered by document position, then start; disjoint, and not touching inside a document.
    """
    left = max_chunks
    chosen: list[tuple[int, PassageRange]] = []
    for position in routing.order[:_MAX_DOCUMENTS].tolist():
        if left <= _AROUND_HIT:
            break
        length = int(scan.document_chunks[position])
        handle = int(scan.handles[position])
        whole = length <= left
        spans = [(0, length)] if whole else _around_hits(scan, routing, position, room=left)
        chosen += [(position, PassageRange(handle, start, end)) for start, end in spans]
        left -= sum(end - start for start, end in spans)
    return sorted(chosen, key=lambda item: (item[0], item[1].start))


def _around_hits(
    scan: Scan, routing: Routing, position: int, *, room: int
) -> list[tuple[int, int]]:
    """Return what stands around the hits of a document, best hit first until `room` is full."""
    length = int(scan.document_chunks[position])
    mine = np.flatnonzero(scan.hit_documents == position)
    score = fused(
        scan.hit_keywords[mine],
        scan.hit_vectors[mine],
        scan,
        keyword_share=routing.keyword_share,
    )
    wanted: set[int] = set()
    for hit in mine[np.argsort(-score, kind="stable")].tolist():
        chunk = int(scan.hit_chunks[hit])
        around = set(range(max(0, chunk - _AROUND_HIT), min(length, chunk + _AROUND_HIT + 1)))
        if len(wanted) + len(around - wanted) > room:
            break
        wanted |= around
    if not wanted:
        return []
    rows = np.array(sorted(wanted))
    breaks = np.flatnonzero(np.diff(rows) > 1) + 1
    return [(int(run[0]), int(run[-1]) + 1) for run in np.split(rows, breaks)]
