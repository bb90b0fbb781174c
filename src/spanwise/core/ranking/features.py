"""Features of the chunks that were read for a question.

Terms in a document's title identify the document, not a passage in it. They have a low weight in
every feature of a passage ("residual"). Scores are smoothed over neighbouring chunks at three
widths, because evidence is contiguous. The best passage nearby and the best passage of the section
are features too: a chunk next to a good passage may be evidence without repeating the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.bm25 import inverse_frequencies, weighted_sum
from spanwise.core.ranking.routing import fuse_z_scores, keyword_weights, z_scores
from spanwise.core.ranking.scan import Moments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.routing import Routing
    from spanwise.core.ranking.scan import PassageRange, Passages, Scan


FEATURES = {
    "document": "document matches the question",
    "title": "title names it",
    "best_chunk": "best place in the document",
    "words": "words in this passage",
    "words_near": "words around it",
    "words_wide": "words in the pages around it",
    "words_rare_here": "words rare in this document",
    "coverage": "words of the question found here",
    "numbers": "asks for numbers and has them",
    "words_best_near": "best passage near it",
    "section_best": "best passage of its section",
    "section_coverage": "words of the question in its section",
}
"""Display label of each feature by its name, in the order of the columns."""

FEATURE_GROUPS = {
    "document matches the question": ("document", "best_chunk"),
    "title names it": ("title",),
    "words and meaning here, and near": (
        "words",
        "words_near",
        "words_wide",
        "words_rare_here",
        "words_best_near",
        "section_best",
    ),
    "words of the question found here": ("coverage", "section_coverage"),
    "asks for numbers and has them": ("numbers",),
}
"""Groups of features that are explained together, by label.

The model weighs scores smoothed at several widths against each other: the contribution of one may
be negative although their sum is positive.
"""

_TITLE_WORD = 0.15  # weight of a term in a passage if the title of its document contains it
NARROW = np.array([0.3, 1.0, 0.3])
"""Kernel of the narrowest smoothing: a chunk and its two neighbours."""
_ROUGH = {
    "document": 0.7,
    "title": 5.0,
    "best_chunk": 0.3,
    "words": 0.3,
    "words_wide": 0.15,
    "words_rare_here": 0.5,
}
_BY_ROUGH, _BY_FUSED = 1_200, 400


def _gaussian(sigma: float) -> NDArray[np.float64]:
    reach = int(np.ceil(3 * sigma))
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma * sigma))
    return np.asarray(weights / weights.sum())


_NEAR = _gaussian(1.5)
_WIDE = _gaussian(3.0)
_PADDING = len(_WIDE) // 2
_NEIGHBOURS = 3  # chunks on either side that are searched for the best passage


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Layout of the chunks of r ranges, one range after the other: n rows."""

    starts: NDArray[np.int64]
    """First row of each range, (r,)."""
    lengths: NDArray[np.int64]
    """Number of rows of each range, (r,)."""
    documents: NDArray[np.int64]
    """Position in the scan of the document of each row, (n,)."""
    chunks: NDArray[np.int64]
    """Chunk index of each row inside its document, (n,)."""
    padded: NDArray[np.int64]
    """Index of each row in an array with padding between ranges, (n,)."""

    def smooth(
        self, values: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return weighted sums over neighbouring rows of the same range; rows outside are 0."""
        reach = len(weights) // 2
        padded = self._pad(values, between=0.0)
        size = len(padded)
        out = np.zeros(size)
        for offset, weight in zip(range(-reach, reach + 1), weights, strict=True):
            low, high = max(0, -offset), min(size, size - offset)
            out[low:high] += weight * padded[low + offset : high + offset]
        return out[self.padded + _PADDING]

    def best_near(self, values: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
        """Return the maximum over up to `reach` rows on either side in the same range, (n,)."""
        padded = self._pad(values, between=-np.inf)
        places = self.padded + _PADDING
        best = values.copy()
        for offset in range(-reach, reach + 1):
            np.maximum(best, padded[places + offset], out=best)
        return best

    def _pad(self, values: NDArray[np.float64], *, between: float) -> NDArray[np.float64]:
        padded = np.full(int(self.padded[-1]) + 1 + 2 * _PADDING, between)
        padded[self.padded + _PADDING] = values
        return padded

    def best_of_sections(
        self, values: NDArray[np.float64], openings: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the maximum over the section of each row, (n,).

        A section goes from one opening to the next and never continues into another range.
        """
        begins = openings.copy()
        begins[self.starts] = True
        firsts = np.flatnonzero(begins)
        best = np.maximum.reduceat(values, firsts)
        return np.repeat(best, np.diff(firsts, append=len(values)))


def build_rows(chosen: Sequence[tuple[int, PassageRange]]) -> Rows:
    """Return the layout of ranges, each given with the position of its document in the scan."""
    lengths = np.array([span.end - span.start for _, span in chosen], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    within = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
    first = np.array([span.start for _, span in chosen], dtype=np.int64)
    ordinal = np.repeat(np.arange(len(chosen)), lengths)
    return Rows(
        starts=starts,
        lengths=lengths,
        documents=np.repeat(np.array([at for at, _ in chosen], dtype=np.int64), lengths),
        chunks=np.repeat(first, lengths) + within,
        padded=np.arange(int(lengths.sum())) + ordinal * _PADDING,
    )


def feature_matrix(
    question: Question,
    *,
    scan: Scan,
    routing: Routing,
    rows: Rows,
    passages: Passages,
    residual: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the features of all rows, (n, FEATURES), and their smoothed fused score, (n,).

    Args:
        question: The question.
        scan: Result of the search.
        routing: Scores of each document of the scan.
        rows: Layout of the chunks of `passages`.
        passages: Inputs of the features; `similarities[0]` is the cosine to the whole question.
        residual: For each document of the scan, the row of `similarities` with the cosine to the
            question without the words of the document's title.
    """
    weights = keyword_weights(scan)
    titles = scan.document_titles[rows.documents]
    text = _text_scores(scan, rows, passages, weights, titles)
    if len(passages.similarities):
        whole = passages.similarities[0].astype(np.float64)
        residual_cosine = passages.similarities[residual[rows.documents], np.arange(len(whole))]
        cosine = (
            z_scores(residual_cosine.astype(np.float64), scan.vector)
            if scan.vector
            else np.zeros(len(whole))
        )
    else:
        whole = cosine = np.zeros(len(rows.chunks))
    share = routing.keyword_share
    cosine *= 1 - share
    passage = share * z_scores(text.residual, scan.body) + cosine
    moments = Moments(float(text.local.mean()), float(text.local.std()))
    local = share * z_scores(text.local, moments) + cosine
    keywords = keyword_scores(scan, rows, passages)
    fused_near = rows.smooth(fuse_z_scores(keywords, whole, scan, keyword_share=share), NARROW)
    columns = [
        routing.score[rows.documents],
        routing.title_coverage[rows.documents],
        best_of_documents(fused_near, rows) - fused_near.max(),
        rows.smooth(passage, NARROW),
        rows.smooth(passage, _NEAR),
        rows.smooth(passage, _WIDE),
        rows.smooth(local, _NEAR),
        text.coverage,
        passages.digits.astype(np.float64) * question.asks_number,
        rows.best_near(passage, _NEIGHBOURS),
        rows.best_of_sections(passage, passages.openings),
        rows.best_of_sections(text.coverage, passages.openings),
    ]
    return np.stack(columns, axis=1), fused_near


def keyword_scores(scan: Scan, rows: Rows, passages: Passages) -> NDArray[np.float64]:
    """Return the keyword score of all rows, body and title, (n,), summed in the order of terms."""
    titles = scan.document_titles[rows.documents].T
    return weighted_sum(passages.impacts.astype(np.float64) + titles, keyword_weights(scan))


@dataclass(frozen=True, slots=True, eq=False)
class _TextScores:
    """Keyword scores of the text of each row, (n,)."""

    residual: NDArray[np.float64]
    """BM25 score with a low weight on the words of the title."""
    local: NDArray[np.float64]
    """BM25 score with inverse frequencies counted inside the document."""
    coverage: NDArray[np.float64]
    """Weighted share of the terms in the row or its neighbours."""


def _text_scores(
    scan: Scan,
    rows: Rows,
    passages: Passages,
    weights: NDArray[np.float64],
    titles: NDArray[np.bool_],
) -> _TextScores:
    """Return the scores of the text of all rows, summed in the order of terms."""
    n = len(rows.chunks)
    residual, local, covered = np.zeros(n), np.zeros(n), np.zeros(n)
    possible = np.zeros(n)
    rare = inverse_frequencies(scan.document_terms, scan.document_chunks[:, None])
    for t, weight in enumerate(weights):
        impact = passages.impacts[t].astype(np.float64)
        keep = np.where(titles[:, t], _TITLE_WORD, 1.0)
        if scan.term_chunks[t] == 0:  # no passage contains it
            possible += float(np.log1p(scan.all_chunks))
            continue
        residual += weight * keep * impact
        local += rare[rows.documents, t] * keep * impact
        near = rows.smooth((impact > 0).astype(np.float64), np.ones(3)) > 0
        covered += weight * keep * near
        possible += weight * keep
    return _TextScores(residual, local, covered / np.maximum(possible, 1e-9))


def best_of_documents(scores: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
    """Return the highest score in the document of each row, (n,)."""
    best = np.full(int(rows.documents.max()) + 1, -np.inf)
    np.maximum.at(best, rows.documents, scores)
    return np.asarray(best[rows.documents])


def candidate_rows(
    features: NDArray[np.float64], fused_near: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the rows to score, ascending: the best ones by a rough score or by the fused score."""
    rough = np.zeros(len(features))
    for column, name in zip(features.T, FEATURES, strict=True):
        if name in _ROUGH:
            rough += _ROUGH[name] * column
    return np.flatnonzero(_top(rough, _BY_ROUGH) | _top(fused_near, _BY_FUSED))


def _top(values: NDArray[np.float64], count: int) -> NDArray[np.bool_]:
    """Return whether each value is among the `count` greatest, (n,); ties go to the earlier one."""
    if len(values) <= count:
        return np.ones(len(values), dtype=bool)
    least = np.partition(values, len(values) - count)[len(values) - count]
    chosen = np.asarray(values > least)
    chosen[np.flatnonzero(values == least)[: count - np.count_nonzero(chosen)]] = True
    return chosen
