"""Selection of the documents with excerpts, and of the evidence in each excerpt.

Rules:
    Excerpts are chosen one by one; the next one goes to the document with the greatest gain
    (greedy with lazy upper bounds). The content of a document with n excerpts is solved exactly for
    the tokens of n excerpts. A document therefore gets a second excerpt if it is worth more than
    the first excerpt of any other document.
    Gains are compared by the number of best chunks of queries that are newly covered, then by
    value, then by the age of the document. The first run of an excerpt has no charge.
    A document that fits into one excerpt gets only one.
    Several excerpts of one document are consecutive ranges, divided with the least loss
    (`core.extraction.bins`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.extraction.bins import Bins, next_fit, split_units
from spanwise.core.extraction.context_expansion import Part, merge_parts
from spanwise.core.extraction.exact import extract_segments
from spanwise.search.section_shares import border_costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.options import ExcerptOptions
    from spanwise.search.evidence import Evidence
    from spanwise.search.excerpts import ExcerptRenderer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExcerptEvidence:
    """Evidence of one excerpt."""

    handle: int
    """Handle of its document."""
    runs: tuple[Part, ...]
    """Ranges of chunks, in order."""
    rows: NDArray[np.int64]
    """Rows of the evidence, ascending."""
    value: float
    """Sum of the chunk values, in the unit of shares."""


_MAX_DIVIDED = 16
"""Maximum number of excerpts of one document whose partition is optimised."""
_UNITS = 16
"""Minimum number of units per excerpt, if there are enough chunks."""
_STEPS = 16
"""Divisor of an excerpt's capacity: the step by which the budget falls if a unit is too long."""

Cutter = Callable[[Sequence[Part], Sequence[int], Bins], Sequence[Part]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Selection:
    """Evidence selected for a number of excerpts of one document."""

    net: float
    """Value of the chunks less the charges of all runs, in the unit of shares."""
    value: float
    """Value of the chunks less the charges of all runs except the first one of each excerpt."""
    count: int
    """Number of excerpts available to the document."""
    budget_tokens: int
    """Token budget at which the content fits after rendering."""
    picks: tuple[ExcerptEvidence, ...]
    """Evidence of each excerpt, at most `count` entries."""
    rows: frozenset[int]
    """Rows of all evidence."""


class ExcerptSelector:
    """Chooses excerpts among the chunks of one question."""

    def __init__(
        self,
        evidence: Evidence,
        *,
        options: ExcerptOptions,
        sizes: ExcerptRenderer,
    ) -> None:
        """Compute the chunk values.

        Args:
            evidence: Evidence of the question.
            options: Number and size of excerpts, and segment options.
            sizes: Token counts of rendered evidence.
        """
        self._evidence = evidence
        self._options = options
        self._sizes = sizes
        self._values = evidence.values(options.segments)
        self._border_costs = border_costs(evidence, options.segments)
        self._worthy = self._values > 0
        self._worthy &= self._values >= options.segments.min_segment_value
        best = evidence.best_rows().values()
        self._required = frozenset(row for row in best if self._worthy[row])
        self._document_ranges = _document_ranges(evidence)
        self._counts: dict[tuple[int, tuple[Part, ...]], int] = {}
        self.tokens_needed: dict[int, int] = {}
        """Tokens that the best chunk needs, by handle of the documents in which it does not fit."""

    def select(self) -> list[ExcerptEvidence]:
        """Return the evidence of each excerpt, by document; empty if nothing fits."""
        chosen: dict[int, _Selection] = {}
        heap = [self._bound(handle, _NOTHING) for handle in self._document_ranges]
        heapq.heapify(heap)
        excerpts_left = self._options.excerpts
        while heap and excerpts_left > 0:
            _, gain, handle, selection = heapq.heappop(heap)
            before = chosen.get(handle, _NOTHING)
            if gain >= 0:
                continue
            if selection is None:
                selection = self._select(handle, before)
                if selection is not None and selection.net > before.net:
                    heapq.heappush(heap, (*self._gain(before, selection), handle, selection))
                continue
            if len(selection.picks) - len(before.picks) > excerpts_left:
                continue
            chosen[handle] = selection
            excerpts_left -= len(selection.picks) - len(before.picks)
            if not self._sizes.fits_whole(handle):
                heapq.heappush(heap, self._bound(handle, selection))
        return [
            pick for selection in chosen.values() for pick in self._divide_best(selection.picks)
        ]

    def pick_rows(self, rows: Sequence[int]) -> list[ExcerptEvidence]:
        """Return one excerpt with each row, for the first rows that fit."""
        picks = []
        for row in rows:
            pick = self._pick([(row, row + 1)])
            tokens = self._sizes.count_evidence(pick.handle, pick.runs)
            if tokens <= self._options.excerpt_tokens:
                picks.append(pick)
            else:
                self.tokens_needed[pick.handle] = tokens
            if len(picks) == self._options.excerpts:
                break
        return picks

    def guess(self) -> ExcerptEvidence:
        """Return the best chunk as evidence, whatever its value."""
        row = int(np.argmax(self._evidence.shares))
        return self._pick([(row, row + 1)])

    def _bound(self, handle: int, before: _Selection) -> tuple[int, float, int, _Selection | None]:
        """Return an upper bound on the gain from one more excerpt of a document, for the heap."""
        rows = _rows(self._document_ranges[handle])
        missing = self._required.intersection(rows.tolist()) - before.rows
        values = self._values[rows]
        most = float(values[values > 0].sum())
        if most > 0:
            most += self._options.segments.fixed_charge * before.count
        return -len(missing), before.value - most, handle, None

    def _gain(self, before: _Selection, after: _Selection) -> tuple[int, float]:
        """Return the gain from one more excerpt, negated for the heap."""
        covered = len(self._required & after.rows) - len(self._required & before.rows)
        return -covered, before.value - after.value

    def _select(self, handle: int, before: _Selection) -> _Selection | None:
        """Return the selection for a document with one more excerpt; None if nothing fits."""
        rows = _rows(self._document_ranges[handle])
        best = int(rows[np.argmax(self._values[rows])])
        frame_tokens, run_tokens = self._sizes.overhead(handle, self._chunk(best))
        bins = Bins(
            count=before.count + 1,
            capacity_tokens=max(0, self._options.excerpt_tokens - frame_tokens),
            run_tokens=run_tokens,
            chunks=self._sizes.chunks(handle),
        )
        budget = before.budget_tokens + bins.capacity_tokens
        selection = self._fitting(handle, bins, best, budget)
        needed = frame_tokens + run_tokens + int(self._evidence.lengths[best])
        is_left_out = selection is None or best not in selection.rows
        if bins.count == 1 and is_left_out and needed > self._options.excerpt_tokens:
            self.tokens_needed[handle] = needed
        return selection

    def _fitting(self, handle: int, bins: Bins, best: int, budget: int) -> _Selection | None:
        """Return the most valuable runs that fit after rendering; None if there are none.

        Args:
            handle: Handle of the document.
            bins: Number and size of the excerpts.
            best: Row of its best chunk.
            budget: Token budget to start with.
        """
        while budget > 0:
            value, runs = self._extract(handle, budget, bins.run_tokens, best)
            if not runs:
                return None
            picks = self._divide(runs, bins, cut=next_fit)
            over = self._over(picks, bins)
            if not over:
                charge = self._options.segments.fixed_charge
                return _Selection(
                    net=value,
                    value=value + charge * len(picks),
                    count=bins.count,
                    budget_tokens=budget,
                    picks=picks,
                    rows=frozenset(row for pick in picks for row in pick.rows.tolist()),
                )
            budget -= over
        return None

    def _over(self, picks: Sequence[ExcerptEvidence], bins: Bins) -> int:
        """Return the minimum number of tokens to remove; 0 if everything fits."""
        if not picks:
            return max(1, bins.capacity_tokens // _STEPS)
        limit = self._options.excerpt_tokens
        over = max(self._count(pick) - limit for pick in picks)
        rows = [row for pick in picks[bins.count :] for row in pick.rows.tolist()]
        # Half of the excess: fewer runs may leave less unused space between excerpts.
        beyond = -(-int(self._evidence.lengths[rows].sum()) // 2)
        return max(beyond, over, 0)

    def _count(self, pick: ExcerptEvidence) -> int:
        """Return the tokens of an excerpt with this evidence, cached."""
        key = (pick.handle, pick.runs)
        if key not in self._counts:
            self._counts[key] = self._sizes.count_evidence(*key)
        return self._counts[key]

    def _extract(
        self, handle: int, budget_tokens: int, run_tokens: int, best: int
    ) -> tuple[float, list[Part]]:
        """Return the net value and the most valuable runs of a document, as ranges of rows."""
        options = self._options.segments
        ranges = self._document_ranges[handle]
        required = self._required.intersection(_rows(ranges).tolist())
        if self._worthy[best]:
            required |= {best}
        extraction = extract_segments(
            [self._values[start:end] for start, end in ranges],
            [self._evidence.lengths[start:end] for start, end in ranges],
            budget_tokens=budget_tokens,
            segment_charge=options.fixed_charge,
            min_segment_value=options.min_segment_value,
            max_segment_tokens=options.max_segment_tokens,
            header_tokens=run_tokens,
            required=[_place(ranges, row) for row in sorted(required)],
            border_costs=[self._border_costs[start:end] for start, end in ranges],
        )
        firsts = [ranges[run.document][0] for run in extraction.runs]
        return extraction.value, [
            (first + run.start, first + run.end)
            for first, run in zip(firsts, extraction.runs, strict=True)
        ]

    def _divide_best(self, picks: tuple[ExcerptEvidence, ...]) -> tuple[ExcerptEvidence, ...]:
        """Return the evidence of a document divided with the least loss, if it still fits."""
        if not 1 < len(picks) <= _MAX_DIVIDED:
            return picks
        handle = picks[0].handle
        rows = np.sort(np.concatenate([pick.rows for pick in picks]))
        frame_tokens, run_tokens = self._sizes.overhead(handle, self._chunk(int(rows[0])))
        bins = Bins(
            count=len(picks),
            capacity_tokens=self._options.excerpt_tokens - frame_tokens,
            run_tokens=run_tokens,
            chunks=self._sizes.chunks(handle),
        )
        groups = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
        runs = [(int(group[0]), int(group[-1]) + 1) for group in groups]
        cut = self._divide(runs, bins, cut=split_units)
        fits = all(self._count(pick) <= self._options.excerpt_tokens for pick in cut)
        return cut if cut and fits else picks

    def _divide(
        self, runs: Sequence[Part], bins: Bins, *, cut: Cutter
    ) -> tuple[ExcerptEvidence, ...]:
        """Return the evidence of each excerpt, given all runs; empty if they do not fit."""
        units = self._units(runs, least_tokens=bins.capacity_tokens // _UNITS)
        groups = cut(
            [(self._chunk(start), self._chunk(end - 1) + 1) for start, end in units],
            [int(self._evidence.lengths[start:end].sum()) for start, end in units],
            bins,
        )
        return tuple(self._pick(units[start:end]) for start, end in groups)

    def _units(self, runs: Sequence[Part], *, least_tokens: int) -> list[Part]:
        """Return runs divided into units of `least_tokens` or more; the last may be shorter."""
        units: list[Part] = []
        for start, end in runs:
            tokens = least_tokens
            for row in range(start, end):
                if tokens < least_tokens:
                    units[-1] = (units[-1][0], row + 1)
                else:
                    units.append((row, row + 1))
                    tokens = 0
                tokens += int(self._evidence.lengths[row])
        return units

    def _pick(self, runs: Sequence[Part]) -> ExcerptEvidence:
        rows = _rows(runs)
        return ExcerptEvidence(
            handle=self._evidence.chunk(int(rows[0]))[0],
            runs=tuple(
                merge_parts([(self._chunk(start), self._chunk(end - 1) + 1) for start, end in runs])
            ),
            rows=rows,
            value=float(self._values[rows].sum()),
        )

    def _chunk(self, row: int) -> int:
        return self._evidence.chunk(row)[1]


_NOTHING = _Selection(net=-inf, value=0.0, count=0, budget_tokens=0, picks=(), rows=frozenset())


def _rows(runs: Sequence[Part]) -> NDArray[np.int64]:
    return np.concatenate([np.arange(start, end) for start, end in runs])


def _document_ranges(evidence: Evidence) -> dict[int, list[Part]]:
    """Return the rows of each document, as ranges of consecutive chunks."""
    by_handle: dict[int, list[Part]] = {}
    for span, start in zip(evidence.ranges, evidence.starts.tolist(), strict=True):
        by_handle.setdefault(span.handle, []).append((start, start + span.end - span.start))
    return by_handle


def _place(ranges: Sequence[Part], row: int) -> tuple[int, int]:
    """Return the range that contains a row, and the row's position in it."""
    at = next(at for at, (start, end) in enumerate(ranges) if start <= row < end)
    return at, row - ranges[at][0]
