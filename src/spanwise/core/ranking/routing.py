"""Choice of the documents that a question is about, and of their chunks to read.

A document is ranked by its own BM25 score, by the question terms in its title, and by its best hit.
The best documents are read whole, up to `MAX_CHUNKS` chunks. Of a document that does not fit, only
the chunks around its hits are read. Limits from 3,000 to 24,000 chunks gave the same quality on the
development datasets.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.ranking.bm25 import (
    document_scores,
    inverse_frequencies,
    term_weights,
    weighted_sum,
)
from spanwise.core.ranking.scan import PassageRange
from spanwise.core.ranking.score_statistics import KEYWORD_SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.scan import Moments, Scan


MAX_CHUNKS = 4_000
"""Maximum number of chunks read for one query."""
_MAX_DOCUMENTS = 256
AROUND_HIT = 12
"""Number of chunks read on either side of a hit: the reach of the widest smoothing."""


class Routing(NamedTuple):
    """Scores of each document of a scan, in the order of the scan."""

    score: NDArray[np.float64]
    """z-score of the document's BM25 over the documents in scope; 0 for a single document."""
    title_coverage: NDArray[np.float64]
    """Weight of the terms in the title, as a fraction of the best title; 1 for one document."""
    best_hit: NDArray[np.float64]
    """Best fused score of the document's hits less the best of all hits, <= 0."""
    rank: NDArray[np.float64]
    """Sum of the three scores, with weights."""
    hit_scores: NDArray[np.float64]
    """Fused score of each hit of the scan."""

    def best(self, count: int | None = None) -> NDArray[np.int64]:
        """Return the positions of the best documents, best first; ties go to the older document.

        Args:
            count: Maximum number of documents; None for all.
        """
        size = len(self.rank)
        if count is None or count >= size:
            return np.argsort(-self.rank, kind="stable")
        least = np.partition(self.rank, size - count)[size - count]
        best = np.flatnonzero(self.rank >= least)  # ascending, so the sort keeps older ones first
        return best[np.argsort(-self.rank[best], kind="stable")][:count]


def z_scores(values: NDArray[np.float64], moments: Moments) -> NDArray[np.float64]:
    """Return values in standard deviations from the mean; zeros if the deviation is 0."""
    if moments.deviation <= 1e-12:
        return np.zeros_like(values)
    standard: NDArray[np.float64] = (values - moments.mean) / moments.deviation
    return standard


def fuse_z_scores(
    keyword: NDArray[np.float64],
    similarity: NDArray[np.float64],
    scan: Scan,
    *,
    keyword_share: float = KEYWORD_SHARE,
) -> NDArray[np.float64]:
    """Return `s z(keyword) + (1 - s) z(cosine)`, without the cosine if there are no vectors."""
    score = keyword_share * z_scores(keyword, scan.keyword)
    if scan.vector is not None:
        score += (1 - keyword_share) * z_scores(similarity, scan.vector)
    return score


def keyword_weights(scan: Scan) -> NDArray[np.float64]:
    """Return the inverse frequency of each term among chunks, or titles if no chunk contains it."""
    return term_weights(
        scan.term_chunks,
        scan.title_documents,
        all_chunks=scan.all_chunks,
        all_documents=scan.all_documents,
    )


def route(scan: Scan, *, keyword_share: float = KEYWORD_SHARE) -> Routing:
    """Return the scores of each document of a scan.

    Args:
        scan: Result of the search.
        keyword_share: Weight of the keyword score in the fused score, in [0, 1].
    """
    count = len(scan.handles)
    alone = scan.documents <= 1
    if alone:
        score, coverage = np.zeros(count), np.ones(count)
    else:
        score = _document_z(scan)
        weights = inverse_frequencies(scan.title_documents, scan.all_documents)
        coverage = weighted_sum(scan.document_titles.T, weights)
        if coverage.max(initial=0.0) > 0:
            coverage = coverage / coverage.max()
    hits = fuse_z_scores(scan.hit_keywords, scan.hit_vectors, scan, keyword_share=keyword_share)
    best = _best_hits(scan, hits)
    return Routing(
        score=score,
        title_coverage=coverage,
        best_hit=best,
        rank=0.7 * score + 5 * coverage + 0.5 * best,
        hit_scores=hits,
    )


def _document_z(scan: Scan) -> NDArray[np.float64]:
    holders = ((scan.document_terms > 0) | scan.document_titles).sum(axis=0)
    scores = document_scores(
        scan.document_terms,
        scan.document_titles,
        scan.document_chunks,
        weights=inverse_frequencies(holders, scan.documents),
        mean_chunks=scan.all_chunks / max(scan.all_documents, 1),
    )
    # Documents in scope that are not in the scan contain no term: their score is 0.
    mean = scores.sum() / scan.documents
    variance = max((scores**2).sum() / scan.documents - mean**2, 0.0)
    return np.asarray((scores - mean) / max(float(np.sqrt(variance)), 1e-9))


def _best_hits(scan: Scan, score: NDArray[np.float64]) -> NDArray[np.float64]:
    best = np.full(len(scan.handles), score.min(initial=0.0))
    np.maximum.at(best, scan.hit_documents, score)
    return np.asarray(best - best.max()) if len(best) else best


def select_ranges(
    scan: Scan, routing: Routing, *, max_chunks: int = MAX_CHUNKS
) -> list[tuple[int, PassageRange]]:
    """Return the ranges to read, each with the position of its document in the scan.

    They are ordered by document position, then start. They do not overlap or touch.
    """
    remaining = max_chunks
    chosen: list[tuple[int, PassageRange]] = []
    best = routing.best(_MAX_DOCUMENTS)
    lengths, handles = scan.document_chunks[best].tolist(), scan.handles[best].tolist()
    for position, length, handle in zip(best.tolist(), lengths, handles, strict=True):
        if remaining <= AROUND_HIT:
            break
        if length <= remaining:
            chosen.append((position, PassageRange(handle, 0, length)))
            remaining -= length
            continue
        hits = np.flatnonzero(scan.hit_documents == position)
        hits = hits[np.argsort(-routing.hit_scores[hits], kind="stable")]
        spans = around_hits(scan.hit_chunks[hits].tolist(), length, room=remaining)
        chosen += [(position, PassageRange(handle, start, end)) for start, end in spans]
        remaining -= sum(end - start for start, end in spans)
    return sorted(chosen, key=itemgetter(0))  # the ranges of a document are in order


def around_hits(hits: Sequence[int], length: int, *, room: int) -> list[tuple[int, int]]:
    """Return the ranges of chunks around the best hits of a document, at most `room` chunks.

    Args:
        hits: Chunks that are hits, best first.
        length: Number of chunks of the document.
        room: Maximum number of chunks.
    """
    selected: set[int] = set()
    for chunk in hits:
        around = range(max(0, chunk - AROUND_HIT), min(length, chunk + AROUND_HIT + 1))
        added = set(around) - selected
        if len(selected) + len(added) > room:
            break
        selected |= added
    starts = sorted(chunk for chunk in selected if chunk - 1 not in selected)
    ends = sorted(chunk + 1 for chunk in selected if chunk + 1 not in selected)
    return list(zip(starts, ends, strict=True))
