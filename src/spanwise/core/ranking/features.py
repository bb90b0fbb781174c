"""Features of the chunks that were read for a question.

Terms in a document's title identify the document, not a passage in it. They have a low weight in
every feature of a passage ("residual"). Scores are smoothed over neighbouring chunks at three
widths, because evidence is contiguous. The best passage nearby and the best passage of the section
are features too: a chunk next to a good passage may be evidence without repeating the words.

The weight of words against vectors depends on the question: the fewer of its words are found, the
more the vectors and the similar words count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from spanwise.core.ranking.bm25 import weighted_sum
from spanwise.core.ranking.routing import keyword_weights, z_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.routing import Routing
    from spanwise.core.ranking.scan import PassageRange, Passages, Scan
    from spanwise.core.ranking.word_scores import WordScores


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
    "similar_coverage": "words of the question or similar words found here",
    "section_similar_coverage": "words of the question or similar words in its section",
}
"""Display label of each feature by its name, in the order of the columns."""

FEATURE_GROUPS = {
    "document matches the question": ("document", "best_chunk"),
    "title names it": ("title",),
    "words and meaning, here or near": (
        "words",
        "words_near",
        "words_wide",
        "words_rare_here",
        "words_best_near",
        "section_best",
    ),
    "words of the question found here": (
        "coverage",
        "section_coverage",
        "similar_coverage",
        "section_similar_coverage",
    ),
    "asks for numbers and has them": ("numbers",),
}
"""Groups of features that are explained together, by label.

The model weighs scores smoothed at several widths against each other: the contribution of one may
be negative although their sum is positive.
"""

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


NEAR = _gaussian(1.5)
"""Kernel of the smoothing over a few neighbours."""
_WIDE = _gaussian(3.0)
_PADDING = len(_WIDE) // 2
_Value = TypeVar("_Value", bound=np.generic)
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
        padded = self._pad(values, between=0.0)
        size = len(padded) - 2 * _PADDING
        out = np.zeros(size)
        for start, weight in enumerate(weights.tolist(), _PADDING - len(weights) // 2):
            out += weight * padded[start : start + size]
        return out[self.padded]

    def best_near(self, values: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
        """Return the maximum over up to `reach` rows on either side in the same range, (n,)."""
        padded = self._pad(values, between=-np.inf)
        size = len(padded) - 2 * _PADDING
        best = np.full(size, -np.inf)
        for start in range(_PADDING - reach, _PADDING + reach + 1):
            np.maximum(best, padded[start : start + size], out=best)
        return best[self.padded]

    def near(self, values: NDArray[_Value]) -> NDArray[_Value]:
        """Return the maximum of each row and its two neighbours in the same range, (..., n).

        Args:
            values: Value of each row, >= 0, (..., n).
        """
        near = values.copy()
        is_next = np.diff(self.padded) == 1
        np.maximum(near[..., 1:], values[..., :-1] * is_next, out=near[..., 1:])
        np.maximum(near[..., :-1], values[..., 1:] * is_next, out=near[..., :-1])
        return near

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
        best = np.maximum.reduceat(values, np.flatnonzero(begins))
        return np.asarray(best[np.cumsum(begins) - 1])


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


_SHARE_NOT_FOUND = 0.4  # factor on the weight of words if none of them is found


def question_share(keyword_share: float, *, found: float) -> float:
    """Return the weight of words against vectors for one question, in [0, 1].

    Args:
        keyword_share: Weight if all words of the question are found.
        found: How well the words are found, in [0, 1] (`core.ranking.word_scores.found_share`).
    """
    return keyword_share * (_SHARE_NOT_FOUND + (1 - _SHARE_NOT_FOUND) * found)


def feature_matrix(
    question: Question,
    *,
    routing: Routing,
    rows: Rows,
    passages: Passages,
    words: WordScores,
    cosines: Cosines,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the features of all rows, (n, FEATURES), and their smoothed fused score, (n,).

    Args:
        question: The question.
        routing: Scores of each document of the scan.
        rows: Layout of the chunks of `passages`.
        passages: Inputs of the features.
        words: Scores of the rows by words.
        cosines: Cosines of the rows to the question.
    """
    share = cosines.words_share
    cosine = (1 - share) * cosines.residual
    passage = share * words.residual + cosine
    local = share * words.local + cosine
    fused_near = rows.smooth(share * words.whole + (1 - share) * cosines.whole, NARROW)
    columns = [
        routing.score[rows.documents],
        routing.title_coverage[rows.documents],
        best_of_documents(fused_near, rows) - fused_near.max(),
        rows.smooth(passage, NARROW),
        rows.smooth(passage, NEAR),
        rows.smooth(passage, _WIDE),
        rows.smooth(local, NEAR),
        words.coverage,
        passages.digits.astype(np.float64) * question.asks_number,
        rows.best_near(passage, _NEIGHBOURS),
        rows.best_of_sections(passage, passages.openings),
        rows.best_of_sections(words.coverage, passages.openings),
        words.similar_coverage,
        rows.best_of_sections(words.similar_coverage, passages.openings),
    ]
    return np.stack(columns).T, fused_near  # each feature contiguous, for the sums over features


class Cosines(NamedTuple):
    """Cosines of n chunks to a question, in standard deviations; zeros without vectors."""

    whole: NDArray[np.float64]
    """Cosine to the whole question, (n,)."""
    residual: NDArray[np.float64]
    """Cosine to the question without the words of the document's title, (n,)."""
    words_share: float
    """Weight of the words against the cosines for this question, in [0, 1]."""


def read_cosines(
    scan: Scan,
    rows: Rows,
    passages: Passages,
    residual: NDArray[np.int64],
    *,
    words_share: float,
) -> Cosines:
    """Return the cosines of all rows.

    Args:
        scan: Result of the search.
        rows: Layout of the chunks of `passages`.
        passages: Passages; `similarities[0]` is the cosine to the whole question.
        residual: For each document of the scan, the row of `similarities` with the cosine to the
            question without the words of the document's title.
        words_share: Weight of the words against the cosines for this question.
    """
    n = len(rows.chunks)
    if not len(passages.similarities) or scan.vector is None:
        return Cosines(np.zeros(n), np.zeros(n), words_share=1.0)
    without_title = passages.similarities[residual[rows.documents], np.arange(n)]
    return Cosines(
        whole=z_scores(passages.similarities[0].astype(np.float64), scan.vector),
        residual=z_scores(without_title.astype(np.float64), scan.vector),
        words_share=words_share,
    )


def keyword_scores(scan: Scan, rows: Rows, passages: Passages) -> NDArray[np.float64]:
    """Return the keyword score of all rows, body and title, (n,), summed in the order of terms."""
    titles = scan.document_titles[rows.documents].T
    return weighted_sum(passages.impacts.astype(np.float64) + titles, keyword_weights(scan))


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
