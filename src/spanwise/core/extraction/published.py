"""Segments as published: one after the other the best that is left, in turn for each query.

Rules:
    A run is one or more consecutive chunks of one document that starts and ends with a chunk worth
    at least 0. Its value is the sum of its chunk values for the query whose turn it is.
    Runs share no chunk; each has at most `max_segment_chunks`, all together `budget_chunks`.
    A query has had its last turn when its best run is worth less than `min_segment_value`.
    Ties go to the first document, the first start, then the shorter run.
    Values are rounded to a billionth, as `core.segments` does: their sums are the same everywhere.

Idea: for each start the best end is known. A choice only shortens how far a run may reach, so an
end that can still be reached stays the best one; only the others are looked for again.

The published method: values from relevance, rank and length, segments chosen greedily.

Rules:
    A chunk's value for a query is `(relevance * exp(-rank / decay) - penalty) * length /
    reference`; a chunk that the query did not find has relevance 0.
    Only documents that hold one of the best chunks of some query are looked at.
    Each query values chunks by itself; a chunk that several queries find counts once for each.

This is relevant segment extraction as dsRAG 0.5.6 does it. Earlier versions took the length as it
is ("proportional"), without any for chunks that were not found, and then with a floor of 350.

The beta distribution: rerankers' scores spread over [0, 1], as the published method reads them.

A reranker bunches its scores; the published method passes them through the cumulative distribution
function of a beta distribution whose shape belongs to the reranker. What comes out is taken for
relevance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, lgamma, log, log1p
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spanwise.core.extraction.segments import NumbersByDocument, by_document
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from spanwise.options import PublishedOptions

Integers = NDArray[np.int64]

_UNITS = 1_000_000_000
"""Integer units in a value of 1."""
_MAX_SUM = 5e8
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyRun:
    """Consecutive chunks of one document, chosen for one query."""

    document: int
    """Index among the documents given."""
    start: int
    """First chunk."""
    end: int
    """One past the last chunk."""
    value: float
    """Sum of the chunk values for its query."""
    query: int
    """Index of the query that chose it."""


def extract_greedily(
    values: Sequence[NumbersByDocument],
    *,
    max_segment_chunks: int,
    budget_chunks: int,
    min_segment_value: float = 0.0,
) -> list[GreedyRun]:
    """Return the runs that the published method chooses.

    Args:
        values: For each query the chunk values of each document, finite, or of one document in a
            flat list; every query has all chunks. Sizes of a query's values sum to less than 5e8.
        max_segment_chunks: Chunks of a run at most, >= 1.
        budget_chunks: Chunks of all runs at most, >= 0.
        min_segment_value: What each run must be worth.

    Returns:
        Runs in the order of their choice; none where nothing is worth the minimum.

    Raises:
        OptionError: If queries have different chunks, or a number is out of its range.
    """
    if max_segment_chunks < 1 or budget_chunks < 0:
        raise OptionError(
            f"max_segment_chunks is {max_segment_chunks!r} and budget_chunks {budget_chunks!r}; "
            "they must be at least 1 and 0"
        )
    joined, ends = _join(values)
    least = round(min_segment_value * _UNITS)
    starts = np.concatenate([[0], ends])[:-1]
    reach = np.repeat(ends, ends - starts)
    turns = [_Turns(row, reach) for row in joined]
    waiting = list(range(len(turns)))
    runs: list[GreedyRun] = []
    left = budget_chunks
    while left and waiting:
        query = waiting.pop(0)
        start, end, value = turns[query].best(reach, longest=min(max_segment_chunks, left))
        if start < 0 or value < least:
            continue
        waiting.append(query)
        left -= end - start
        reach = _blocked(reach, start, end)
        document = int(np.searchsorted(ends, start, side="right"))
        first = int(starts[document])
        runs.append(
            GreedyRun(
                document=document,
                start=start - first,
                end=end - first,
                value=value / _UNITS,
                query=query,
            )
        )
    return runs


def _join(values: Sequence[NumbersByDocument]) -> tuple[list[Integers], Integers]:
    """Return the values of each query in one row, in units, and where documents end in it."""
    rows = [by_document(query) for query in values]
    counts = [[len(document) for document in query] for query in rows]
    if any(count != counts[0] for count in counts):
        raise OptionError(f"queries have documents of {counts!r} chunks; give all the same chunks")
    joined = [np.concatenate([np.zeros(0), *query]) for query in rows]
    for row in joined:
        if not np.abs(row).sum() < _MAX_SUM:
            raise OptionError(
                f"the sizes of the values sum to {float(np.abs(row).sum())!r}; they must be finite "
                f"and sum to less than {_MAX_SUM:g}"
            )
    ends = np.cumsum(np.array(counts[0] if counts else [], dtype=np.int64))
    return [np.rint(row * _UNITS).astype(np.int64) for row in joined], ends


def _blocked(reach: Integers, start: int, end: int) -> Integers:
    """Return how far a run from each place may reach when a further run is taken."""
    blocked = reach.copy()
    blocked[:start] = np.minimum(blocked[:start], start)
    blocked[start:end] = -1
    return blocked


class _Turns:
    """The best run from each start, for one query."""

    def __init__(self, values: Integers, reach: Integers) -> None:
        totals: Integers = np.cumsum(values)
        self._before = totals - values
        self._up_to = np.where(values >= 0, totals, _NEVER)
        self._starts = np.flatnonzero(values >= 0)
        self._ends = reach[self._starts] + 1  # not looked for yet: further than any run reaches
        self._values = np.full(len(self._starts), _NEVER, dtype=np.int64)

    def best(self, reach: Integers, *, longest: int) -> tuple[int, int, int]:
        """Return start, end and value of the best run, -1 for a start where there is none.

        Args:
            reach: One past the last chunk that a run from each place may hold; -1 where none may
                start. Never further than at the call before.
            longest: Chunks of a run; never more than at the call before.
        """
        limits = np.minimum(reach[self._starts], self._starts + longest)
        for at in np.flatnonzero(self._ends > limits).tolist():
            start, limit = int(self._starts[at]), int(limits[at])
            if limit <= start:
                self._ends[at], self._values[at] = -1, _NEVER
                continue
            end = start + int(np.argmax(self._up_to[start:limit]))
            self._ends[at] = end + 1
            self._values[at] = self._up_to[end] - self._before[start]
        if not len(self._starts):
            return -1, -1, 0
        best = int(np.argmax(self._values))
        if self._values[best] == _NEVER:
            return -1, -1, 0
        return int(self._starts[best]), int(self._ends[best]), int(self._values[best])


RankedChunk = tuple[int, int, float]
"""Index of a document, index of a chunk in it, and relevance in [0, 1]."""


def published_values(
    relevances: ArrayLike,
    ranks: ArrayLike,
    lengths_chars: ArrayLike,
    *,
    options: PublishedOptions,
) -> NDArray[np.float64]:
    """Return the value of each chunk for one query, (n,).

    Args:
        relevances: Of each chunk, in [0, 1]; of one that was not found it does not count.
        ranks: Rank of each, from 0, which is best; -1 for one that was not found.
        lengths_chars: Length of each in characters.
        options: Penalty, decay and formula of length.

    Raises:
        OptionError: If the lengths of the lists differ.
    """
    relevance = np.asarray(relevances, dtype=np.float64)
    rank = np.asarray(ranks, dtype=np.int64)
    length = np.asarray(lengths_chars, dtype=np.float64)
    if not relevance.shape == rank.shape == length.shape:
        raise OptionError(
            f"there are {relevance.shape!r} relevances, {rank.shape!r} ranks and {length.shape!r} "
            "lengths; give one of each for each chunk"
        )
    decayed = np.where(
        rank >= 0, relevance * np.exp(-np.maximum(rank, 0) / options.rank_decay), 0.0
    )
    values = decayed - options.irrelevant_chunk_penalty
    if options.length_adjustment == "none":
        return values
    if options.unretrieved_length != "real":
        absent = options.reference_chars if options.unretrieved_length == "reference" else 0
        length = np.where(rank >= 0, length, absent)
    if options.length_adjustment == "floor":
        length = np.maximum(length, options.floor_chars)
    return np.asarray(values * (length / options.reference_chars))


def extract_published(
    rankings: Sequence[Sequence[RankedChunk]],
    lengths_chars: NumbersByDocument,
    *,
    options: PublishedOptions,
) -> list[GreedyRun]:
    """Return the segments that the published method gives for one question.

    Args:
        rankings: For each query the chunks it found, best first: document, chunk, relevance.
        lengths_chars: Length in characters of every chunk of each document, or of one document in
            a flat list.
        options: Limits, penalty, decay and formula of length; presets are its constants.

    Returns:
        Runs in the order of their choice, queries in turn; none where nothing is worth the minimum.

    Raises:
        OptionError: If a ranking names a chunk that there is not, or one twice, or a relevance is
            outside [0, 1].
    """
    lengths = by_document(lengths_chars)
    for ranking in rankings:
        _check_ranking(ranking, [len(row) for row in lengths])
    tops = [ranking[: options.document_ranks] for ranking in rankings]
    documents = sorted({document for top in tops for document, _, _ in top})
    found = {document: lengths[document] for document in documents}
    runs = extract_greedily(
        [_document_values(ranking, found, options) for ranking in rankings],
        max_segment_chunks=options.max_segment_chunks,
        budget_chunks=options.budget_chunks + options.further_query_chunks * (len(rankings) - 1),
        min_segment_value=options.min_segment_value,
    )
    return [replace(run, document=documents[run.document]) for run in runs]


def _check_ranking(ranking: Sequence[RankedChunk], counts: Sequence[int]) -> None:
    seen: set[tuple[int, int]] = set()
    for document, chunk, relevance in ranking:
        if not 0 <= document < len(counts) or not 0 <= chunk < counts[document]:
            raise OptionError(
                f"a ranking names chunk {chunk!r} of document {document!r}, which there is not; "
                "give the length of every chunk"
            )
        if not 0 <= relevance <= 1:
            raise OptionError(
                f"chunk {chunk!r} of document {document!r} has relevance {relevance!r}; it must be "
                "in [0, 1]"
            )
        if (document, chunk) in seen:
            raise OptionError(f"a ranking names chunk {chunk!r} of document {document!r} twice")
        seen.add((document, chunk))


def _document_values(
    ranking: Sequence[RankedChunk],
    lengths: Mapping[int, NDArray[np.int64]],
    options: PublishedOptions,
) -> list[NDArray[np.float64]]:
    """Return the chunk values of some documents for one query."""
    relevances = {document: np.zeros(len(row)) for document, row in lengths.items()}
    ranks = {document: np.full(len(row), -1) for document, row in lengths.items()}
    for rank, (document, chunk, relevance) in enumerate(ranking):
        if document in lengths:
            relevances[document][chunk] = relevance
            ranks[document][chunk] = rank
    return [
        published_values(relevances[document], ranks[document], row, options=options)
        for document, row in lengths.items()
    ]


RERANKER_SHAPES: Mapping[str, tuple[float, float]] = {"cohere": (0.4, 0.4), "voyage": (0.5, 1.8)}
"""Published shape (a, b) of each vendor's scores."""

_TINY = 1e-300  # in place of 0 in a denominator
_PRECISION = 1e-15
_MAX_STEPS = 1_000


def beta_relevance(scores: ArrayLike, *, shape: str | tuple[float, float]) -> NDArray[np.float64]:
    """Return reranker scores as relevance: the regularised incomplete beta function.

    Args:
        scores: In [0, 1].
        shape: Name of a reranker ("cohere", "voyage"), or a and b, each from 0.01 to 100.

    Returns:
        Relevance in [0, 1], as many as scores, in the same order: 0 for 0, 1 for 1, rising.

    Raises:
        OptionError: If a score is outside [0, 1], or there is no such shape.
    """
    a, b = _shape(shape)
    given = np.asarray(scores, dtype=np.float64)
    if not np.all((given >= 0) & (given <= 1)):
        outside = given[~((given >= 0) & (given <= 1))]
        raise OptionError(f"a score is {float(outside.flat[0])!r}; scores must be in [0, 1]")
    return np.array([_incomplete_beta(x, a, b) for x in given.flat]).reshape(given.shape)


def _shape(shape: str | tuple[float, float]) -> tuple[float, float]:
    if isinstance(shape, str):
        if shape not in RERANKER_SHAPES:
            raise OptionError(
                f"shape is {shape!r}; name one of {', '.join(RERANKER_SHAPES)}, or give a and b"
            )
        return RERANKER_SHAPES[shape]
    a, b = shape
    if not (0.01 <= a <= 100 and 0.01 <= b <= 100):
        raise OptionError(f"shape is {shape!r}; a and b must each be from 0.01 to 100")
    return a, b


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function of a number in [0, 1]."""
    if x in (0.0, 1.0):
        return float(x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):  # where the fraction converges quickly
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the function, up to where it changes no more.

    NIST Digital Library of Mathematical Functions, 8.17.22, evaluated as Lentz did: its
    denominator is a product of quotients, of which `c` and `d` are the two halves.
    """
    denominator, c, d = 1.0, 1.0, 0.0
    for step in range(1, _MAX_STEPS):
        half = step // 2
        if step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        d = 1.0 / ((1.0 + term * d) or _TINY)
        c = (1.0 + term / c) or _TINY
        denominator *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            break
    return 1.0 / denominator
