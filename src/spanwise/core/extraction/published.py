"""The published method (relevant segment extraction, dsRAG 0.5.6): chunk values and greedy search.

Chunk values:
    The value of a chunk for a query is `(relevance * exp(-rank / decay) - penalty) * length /
    reference`; a chunk that the query did not retrieve has relevance 0.
    Only documents that contain one of the best chunks of some query are considered.
    Each query has its own value of every chunk; a chunk retrieved by several queries counts for
    each.
    Older versions of the method used the plain length ("proportional"): the first ones treated
    chunks that were not retrieved as empty, later ones had a minimum length of 350 characters
    ("floor").

Greedy search:
    A run is one or more consecutive chunks of one document whose first and last chunk are worth
    at least 0. Its value is the sum of its chunk values for one query.
    Queries take turns; in its turn, a query takes its best remaining run.
    Runs share no chunk. Each has at most `max_segment_chunks` chunks, all together at most
    `budget_chunks`.
    A query stops when its best run is worth less than `min_segment_value`.
    Ties go to the first document, then the first start, then the shorter run.
    Values are rounded to a billionth, as in `core.extraction.exact`, so that sums do not depend
    on the platform.
    The best end of each start is cached. A run that is taken can only shorten others, so a cached
    end stays the best one as long as it is reachable. Other ends are computed again.

Reranker scores are concentrated in a narrow range. The method maps them to relevance by the
cumulative distribution function of a beta distribution whose shape depends on the reranker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, lgamma, log, log1p
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spanwise.core.extraction.exact import NumbersByDocument, by_document
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from spanwise.options import PublishedOptions

Integers = NDArray[np.int64]

_UNITS = 1_000_000_000
"""Number of integer units in a value of 1."""
_MAX_SUM = 5e8
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyRun:
    """Run of consecutive chunks of one document, chosen for one query."""

    document: int
    """Index of the document among the documents given."""
    start: int
    """Index of the first chunk in the document."""
    end: int
    """Index after the last chunk in the document."""
    value: float
    """Sum of the chunk values for its query."""
    query: int
    """Index of the query that chose the run."""


def extract_greedily(
    values: Sequence[NumbersByDocument],
    *,
    max_segment_chunks: int,
    budget_chunks: int,
    min_segment_value: float = 0.0,
) -> list[GreedyRun]:
    """Return the runs that the published method chooses.

    Args:
        values: Chunk values of each document for each query, finite (a flat list for one document);
            every query has all chunks. The absolute values of a query sum to less than 5e8.
        max_segment_chunks: Maximum chunks of a run, >= 1.
        budget_chunks: Maximum chunks of all runs, >= 0.
        min_segment_value: Minimum value of each run.

    Returns:
        Runs in the order in which they are chosen; empty if no run reaches the minimum.

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
    turns = [_QueryTurns(row, reach) for row in joined]
    active = list(range(len(turns)))
    runs: list[GreedyRun] = []
    free_chunks = budget_chunks
    while free_chunks and active:
        query = active.pop(0)
        start, end, value = turns[query].best(reach, longest=min(max_segment_chunks, free_chunks))
        if start < 0 or value < least:
            continue
        active.append(query)
        free_chunks -= end - start
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
    """Return one row of integer values per query, and the end of each document in the row."""
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
    """Return the maximum end of a run from each position after `[start, end)` was taken."""
    blocked = reach.copy()
    blocked[:start] = np.minimum(blocked[:start], start)
    blocked[start:end] = -1
    return blocked


class _QueryTurns:
    """Best run from each start, for one query."""

    def __init__(self, values: Integers, reach: Integers) -> None:
        totals: Integers = np.cumsum(values)
        self._before = totals - values
        self._up_to = np.where(values >= 0, totals, _NEVER)
        self._starts = np.flatnonzero(values >= 0)
        self._ends = reach[self._starts] + 1  # beyond any reach: not computed yet
        self._values = np.full(len(self._starts), _NEVER, dtype=np.int64)

    def best(self, reach: Integers, *, longest: int) -> tuple[int, int, int]:
        """Return start, end and value of the best run; start is -1 if there is none.

        Args:
            reach: Index after the last chunk that a run from each position may contain; -1 if no
                run may start there. Never greater than in the previous call.
            longest: Maximum chunks of a run; never greater than in the previous call.
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
"""Index of a document, index of a chunk in it, and its relevance in [0, 1]."""


def published_values(
    relevances: ArrayLike,
    ranks: ArrayLike,
    lengths_chars: ArrayLike,
    *,
    options: PublishedOptions,
) -> NDArray[np.float64]:
    """Return the value of each chunk for one query, (n,).

    Args:
        relevances: Relevance of each chunk in [0, 1]; ignored for a chunk that was not retrieved.
        ranks: Rank of each chunk, 0 for the best; -1 for a chunk that was not retrieved.
        lengths_chars: Length of each chunk in characters.
        options: Penalty, decay and length adjustment.

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
    """Return the segments that the published method selects for one question.

    Args:
        rankings: Retrieved chunks of each query, best first: document, chunk, relevance.
        lengths_chars: Length in characters of every chunk of each document, or of one document in
            a flat list.
        options: Limits, penalty, decay and length adjustment; presets are class constants.

    Returns:
        Runs in the order in which they are chosen, queries in turn; empty if no run reaches the
        minimum.

    Raises:
        OptionError: If a ranking contains a chunk that does not exist, or one twice, or a relevance
            outside [0, 1].
    """
    lengths = by_document(lengths_chars)
    for ranking in rankings:
        _check_ranking(ranking, [len(row) for row in lengths])
    best_chunks = [ranking[: options.document_ranks] for ranking in rankings]
    documents = sorted({document for top in best_chunks for document, _, _ in top})
    considered = {document: lengths[document] for document in documents}
    runs = extract_greedily(
        [_document_values(ranking, considered, options) for ranking in rankings],
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
                f"a ranking names chunk {chunk!r} of document {document!r}, which does not exist; "
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
    """Return the chunk values of the given documents for one query."""
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
"""Published shape (a, b) of each vendor's score distribution."""

_TINY = 1e-300  # in place of 0 in a denominator
_PRECISION = 1e-15
_MAX_STEPS = 1_000


def beta_relevance(scores: ArrayLike, *, shape: str | tuple[float, float]) -> NDArray[np.float64]:
    """Return the relevance for reranker scores, by the regularised incomplete beta function.

    Args:
        scores: Scores in [0, 1].
        shape: Name of a reranker ("cohere", "voyage"), or a and b, each from 0.01 to 100.

    Returns:
        Relevance in [0, 1], one per score in the same order; increasing from 0 at 0 to 1 at 1.

    Raises:
        OptionError: If a score is outside [0, 1], or the shape is unknown.
    """
    a, b = _shape(shape)
    values = np.asarray(scores, dtype=np.float64)
    if not np.all((values >= 0) & (values <= 1)):
        outside = values[~((values >= 0) & (values <= 1))]
        raise OptionError(f"a score is {float(outside.flat[0])!r}; scores must be in [0, 1]")
    return np.array([_incomplete_beta(x, a, b) for x in values.flat]).reshape(values.shape)


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
    if x < (a + 1) / (a + b + 2):  # here the fraction converges quickly
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, evaluated to convergence.

    NIST Digital Library of Mathematical Functions, 8.17.22, by the modified Lentz method: the
    denominator is a product of quotients whose two parts are `c` and `d`.
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
