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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spanwise.core.nesting import NumbersByDocument, by_document
from spanwise.errors import OptionError

__all__ = ["GreedyRun", "extract_greedily"]

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
