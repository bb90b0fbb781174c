"""Choose which documents give excerpts, and the evidence that each excerpt holds.

Rules:
    ExcerptSet are chosen one after the other; the next one goes to the document that gains most by
    it. What a document with n excerpts shows is solved exactly for the tokens of n excerpts
    together. So a document gives a second excerpt where that is worth more than the first of any
    other.
    Most is what holds the best chunks of queries that are not held yet, then what is worth most,
    then the older document. The first run of an excerpt costs no charge: its place is paid for.
    A document that fits whole gives one excerpt.
    Several excerpts of one document follow each other: each shows one stretch of it, cut where
    the least is lost (`core.bins`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spanwise.core.extraction.bins import Bins, next_fit, split_units
from spanwise.core.extraction.context_expansion import Part, merge_parts
from spanwise.core.extraction.segments import chunk_values, extract_segments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.options import ExcerptOptions
    from spanwise.search.evidence import Evidence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExcerptEvidence:
    """The evidence of one excerpt."""

    handle: int
    """Of its document."""
    runs: tuple[Part, ...]
    """Ranges of chunks, in order."""
    rows: NDArray[np.int64]
    """Rows of the evidence, ascending."""
    value: float
    """Sum of the chunk values, in share."""


_MOST_STRETCHES = 16
"""More excerpts of one document are cut as soon as they are full: time."""
_UNITS = 16
"""Places at which an excerpt may be cut, at least, where its chunks allow so many."""
_STEPS = 16
"""Steps in which less is chosen, while what is chosen finds no room."""

Cutter = Callable[[Sequence[Part], Sequence[int], Bins], Sequence[Part]]


class ExcerptSizes(Protocol):
    """Says what evidence costs once it is rendered."""

    def overhead(self, handle: int, chunk: int) -> tuple[int, int]:
        """Return the tokens of an excerpt besides its runs, and of a run besides its text."""

    def chunks(self, handle: int) -> int:
        """Return how many chunks a document has."""

    def count_evidence(self, handle: int, runs: Sequence[Part]) -> int:
        """Return the tokens of an excerpt that shows these runs of chunks alone."""

    def fits_whole(self, handle: int) -> bool:
        """Return whether the whole document fits into an excerpt."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Selection:
    """What a document shows in some excerpts."""

    net: float
    """Value of the chunks less the charges of all runs, in share."""
    value: float
    """The same, but that one run an excerpt costs no charge."""
    count: int
    """ExcerptSet that it was chosen for."""
    budget_tokens: int
    """Tokens with which it found room."""
    picks: tuple[ExcerptEvidence, ...]
    """One for each excerpt; fewer where it found room in fewer."""
    rows: frozenset[int]


class ExcerptSelector:
    """Chooses excerpts among the chunks of one question."""

    def __init__(
        self,
        evidence: Evidence,
        *,
        model: RelevanceModel,
        options: ExcerptOptions,
        scales: ExcerptSizes,
    ) -> None:
        """Value the chunks.

        Args:
            evidence: What was found.
            model: Knows the share that a penalty stands for.
            options: Sizes, and how evidence is chosen.
            scales: What evidence costs.
        """
        self._evidence = evidence
        self._options = options
        self._scales = scales
        self._values = chunk_values(
            evidence.shares,
            evidence.lengths,
            penalty_share=model.share_at(options.segments.irrelevant_chunk_penalty),
            reference_length_tokens=options.segments.reference_length,
        )
        self._worthy = self._values > 0
        self._worthy &= self._values >= options.segments.min_segment_value
        self._wanted = frozenset(row for row in evidence.best_rows() if self._worthy[row])
        self._stretches = _stretches(evidence)
        self._weights: dict[tuple[int, tuple[Part, ...]], int] = {}
        self.tokens_needed: dict[int, int] = {}
        """Of documents whose best chunk finds no room in an excerpt: tokens it needs."""

    def choose(self) -> list[ExcerptEvidence]:
        """Return the evidence of each excerpt, by document; none where nothing fits."""
        chosen: dict[int, _Selection] = {}
        heap = [self._bound(handle, _NOTHING) for handle in self._stretches]
        heapq.heapify(heap)
        left = self._options.excerpts
        while heap and left > 0:
            _, gain, handle, selection = heapq.heappop(heap)
            before = chosen.get(handle, _NOTHING)
            if gain >= 0:
                continue
            if selection is None:
                selection = self._select(handle, before)
                if selection is not None and selection.net > before.net:
                    heapq.heappush(heap, (*self._gain(before, selection), handle, selection))
                continue
            if len(selection.picks) - len(before.picks) > left:
                continue
            chosen[handle] = selection
            left -= len(selection.picks) - len(before.picks)
            if not self._scales.fits_whole(handle):
                heapq.heappush(heap, self._bound(handle, selection))
        return [pick for one in chosen.values() for pick in self._well_cut(one.picks)]

    def guess(self) -> ExcerptEvidence:
        """Return the best chunk alone, whatever it is worth."""
        row = int(np.argmax(self._evidence.shares))
        return self._pick([(row, row + 1)])

    def _bound(self, handle: int, before: _Selection) -> tuple[int, float, int, _Selection | None]:
        """Return what a document can gain at most by one more excerpt, to be looked at first."""
        rows = _rows(self._stretches[handle])
        held = self._wanted.intersection(rows.tolist()) - before.rows
        values = self._values[rows]
        most = float(values[values > 0].sum())
        if most > 0:
            most += self._options.segments.segment_charge * before.count
        return -len(held), before.value - most, handle, None

    def _gain(self, before: _Selection, after: _Selection) -> tuple[int, float]:
        """Return what one more excerpt gains, lowest first."""
        held = len(self._wanted & after.rows) - len(self._wanted & before.rows)
        return -held, before.value - after.value

    def _select(self, handle: int, before: _Selection) -> _Selection | None:
        """Return what a document shows in one more excerpt, None where nothing fits."""
        rows = _rows(self._stretches[handle])
        best = int(rows[np.argmax(self._values[rows])])
        frame_tokens, run_tokens = self._scales.overhead(handle, self._chunk(best))
        bins = Bins(
            count=before.count + 1,
            capacity_tokens=max(0, self._options.excerpt_tokens - frame_tokens),
            run_tokens=run_tokens,
            chunks=self._scales.chunks(handle),
        )
        budget = before.budget_tokens + bins.capacity_tokens
        selection = self._fitting(handle, bins, best, budget)
        needed = frame_tokens + run_tokens + int(self._evidence.lengths[best])
        is_left_out = selection is None or best not in selection.rows
        if bins.count == 1 and is_left_out and needed > self._options.excerpt_tokens:
            self.tokens_needed[handle] = needed
        return selection

    def _fitting(self, handle: int, bins: Bins, best: int, budget: int) -> _Selection | None:
        """Return the runs worth most that fit once they are rendered, None where none do.

        Args:
            handle: Of the document.
            bins: The excerpts.
            best: Row of its best chunk.
            budget: Tokens with which they may fit.
        """
        while budget > 0:
            value, runs = self._extract(handle, budget, bins.run_tokens, best)
            if not runs:
                return None
            picks = self._cut(runs, bins, cut=next_fit)
            over = self._over(picks, bins)
            if not over:
                charge = self._options.segments.segment_charge
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
        """Return by how many tokens less must be chosen, at least; 0 where all fits."""
        if not picks:
            return max(1, bins.capacity_tokens // _STEPS)
        limit = self._options.excerpt_tokens
        over = max(self._weigh(pick) - limit for pick in picks)
        rows = [row for pick in picks[bins.count :] for row in pick.rows.tolist()]
        # Half of what found no room: with fewer runs there may be less waste between excerpts.
        beyond = -(-int(self._evidence.lengths[rows].sum()) // 2)
        return max(beyond, over, 0)

    def _weigh(self, pick: ExcerptEvidence) -> int:
        """Return the tokens of an excerpt with this evidence; most come again and again."""
        key = (pick.handle, pick.runs)
        if key not in self._weights:
            self._weights[key] = self._scales.count_evidence(*key)
        return self._weights[key]

    def _extract(
        self, handle: int, budget_tokens: int, run_tokens: int, best: int
    ) -> tuple[float, list[Part]]:
        """Return the runs of a document worth most, as ranges of rows, and their net value."""
        options = self._options.segments
        stretches = self._stretches[handle]
        required = self._wanted.intersection(_rows(stretches).tolist())
        if self._worthy[best]:
            required |= {best}
        found = extract_segments(
            [self._values[start:end] for start, end in stretches],
            [self._evidence.lengths[start:end] for start, end in stretches],
            budget_tokens=budget_tokens,
            segment_charge=options.segment_charge,
            min_segment_value=options.min_segment_value,
            max_segment_tokens=options.max_segment_tokens,
            header_tokens=run_tokens,
            required=[_place(stretches, row) for row in sorted(required)],
        )
        firsts = [stretches[run.document][0] for run in found.runs]
        return found.value, [
            (first + run.start, first + run.end)
            for first, run in zip(firsts, found.runs, strict=True)
        ]

    def _well_cut(self, picks: tuple[ExcerptEvidence, ...]) -> tuple[ExcerptEvidence, ...]:
        """Return the picks of a document, cut where the least is lost, where they fit so."""
        if not 1 < len(picks) <= _MOST_STRETCHES:
            return picks
        handle = picks[0].handle
        rows = np.sort(np.concatenate([pick.rows for pick in picks]))
        frame_tokens, run_tokens = self._scales.overhead(handle, self._chunk(int(rows[0])))
        bins = Bins(
            count=len(picks),
            capacity_tokens=self._options.excerpt_tokens - frame_tokens,
            run_tokens=run_tokens,
            chunks=self._scales.chunks(handle),
        )
        runs = [(int(run[0]), int(run[-1]) + 1) for run in _consecutive(rows)]
        cut = self._cut(runs, bins, cut=split_units)
        fits = all(self._weigh(pick) <= self._options.excerpt_tokens for pick in cut)
        return cut if cut and fits else picks

    def _cut(self, runs: Sequence[Part], bins: Bins, *, cut: Cutter) -> tuple[ExcerptEvidence, ...]:
        """Return a pick for each stretch of some runs, none where they do not fit."""
        units = self._units(runs, least_tokens=bins.capacity_tokens // _UNITS)
        groups = cut(
            [(self._chunk(start), self._chunk(end - 1) + 1) for start, end in units],
            [int(self._evidence.lengths[start:end].sum()) for start, end in units],
            bins,
        )
        return tuple(self._pick(units[start:end]) for start, end in groups)

    def _units(self, runs: Sequence[Part], *, least_tokens: int) -> list[Part]:
        """Return runs of rows, cut where one is so long."""
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
        at, _ = self._evidence.place(int(rows[0]))
        return ExcerptEvidence(
            handle=self._evidence.ranges[at].handle,
            runs=tuple(
                merge_parts([(self._chunk(start), self._chunk(end - 1) + 1) for start, end in runs])
            ),
            rows=rows,
            value=float(self._values[rows].sum()),
        )

    def _chunk(self, row: int) -> int:
        at, position = self._evidence.place(row)
        return self._evidence.ranges[at].start + position


_NOTHING = _Selection(net=-inf, value=0.0, count=0, budget_tokens=0, picks=(), rows=frozenset())


def _rows(runs: Sequence[Part]) -> NDArray[np.int64]:
    return np.concatenate([np.arange(start, end) for start, end in runs])


def _consecutive(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)


def _stretches(evidence: Evidence) -> dict[int, list[Part]]:
    """Return the rows of each document, as ranges of consecutive chunks."""
    found: dict[int, list[Part]] = {}
    for span, start in zip(evidence.ranges, evidence.starts.tolist(), strict=True):
        found.setdefault(span.handle, []).append((start, start + span.end - span.start))
    return found


def _place(stretches: Sequence[Part], row: int) -> tuple[int, int]:
    """Return the stretch that holds a row, and its place in it."""
    at = next(at for at, (start, end) in enumerate(stretches) if start <= row < end)
    return at, row - stretches[at][0]
