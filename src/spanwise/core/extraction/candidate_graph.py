"""Graphs of candidate runs whose paths are the solutions that may still be optimal.

There are two forms. A `ChainGraph` has an arc for each of: opening a run, adding an item, closing a
run, skipping an item. It has few arcs, but cannot limit the length or the value of a run. In a
`RunGraph`, each run that meets the limits is one arc.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanwise.core.extraction.knapsack import Arcs
from spanwise.core.extraction.lagrangian import (
    INFINITY,
    Chain,
    Potentials,
    Problem,
    crossings_at,
    potentials_at,
)

Integers = NDArray[np.int64]

_HOLD, _CLOSE, _OPEN, _SKIP = range(4)
_COLUMNS = 16


class ChainGraph:
    """Graph of a chain at a price, with the reduced cost of each arc.

    There is a place before each item and one after the last. Node `2 * place` has a run open, node
    `2 * place + 1` has none. The arcs of a node are ordered by the tie rule: continuing or opening
    a run comes first, so that runs start as early and end as late as possible.
    """

    def __init__(self, chain: Chain, problem: Problem, price: int) -> None:
        self._chain = chain
        potentials = potentials_at(chain, problem, price)
        self.best_value = potentials.closed_after[0]
        """Reduced value of the best path."""
        items = len(chain.positions)
        places = 2 * np.arange(items + 1)[:, None]
        tokens = np.zeros((items + 1, 4), dtype=np.int64)
        tokens[:-1, _HOLD] = chain.gap_tokens + chain.tokens
        tokens[:-1, _OPEN] = chain.tokens + problem.header
        through = _arc_values(chain, problem, price=price, potentials=potentials)
        self.arcs = Arcs(
            tails=(places + np.array([0, 0, 1, 1])).ravel(),
            heads=np.minimum(places + np.array([2, 1, 2, 3]), 2 * items + 1).ravel(),
            tokens=tokens.ravel(),
            losses=(self.best_value - through).ravel(),
        )

    def runs(self, arcs: list[int]) -> list[tuple[int, int]]:
        """Return the runs of a path, as positions of first and last chunk."""
        positions = self._chain.positions
        opened = [arc // 4 for arc in arcs if arc % 4 == _OPEN]
        closed = [arc // 4 - 1 for arc in arcs if arc % 4 == _CLOSE]
        return list(zip(positions[opened].tolist(), positions[closed].tolist(), strict=True))


def _arc_values(chain: Chain, problem: Problem, *, price: int, potentials: Potentials) -> Integers:
    """Return the value of the best path through each arc, (places, arcs); -INFINITY for none."""
    closed_before = np.array(potentials.closed_before, dtype=np.int64)
    open_before = np.array(potentials.open_before, dtype=np.int64)
    closed_after = np.array(potentials.closed_after, dtype=np.int64)
    with_item = chain.reduced_values(price, shift=problem.shift)
    with_item += np.array(potentials.open_after[1:], dtype=np.int64)
    through = np.full((len(with_item) + 1, 4), -INFINITY, dtype=np.int64)
    hold = open_before[:-1] + crossings_at(chain, price, shift=problem.shift) + with_item
    through[:-1, _HOLD] = np.where(chain.blocked, -INFINITY, hold)
    through[1:, _CLOSE] = open_before[1:] + closed_after[1:]
    through[:-1, _OPEN] = closed_before[:-1] + with_item - problem.opening(price)
    through[:-1, _SKIP] = closed_before[:-1] + closed_after[1:]
    return through


class CandidateRuns(NamedTuple):
    """Runs of items, as arrays of one length, ordered by start, then longest first."""

    firsts: Integers
    """Index of the first item."""
    lasts: Integers
    """Index of the last item."""
    starts: Integers
    """Position of the first chunk."""
    ends: Integers
    """Position of the last chunk."""
    values: Integers
    """Sum of the chunk values, before the charge."""
    tokens: Integers
    """Tokens of the chunks, without a header."""

    def where(self, keep: NDArray[np.bool_]) -> CandidateRuns:
        """Return the runs selected by a mask."""
        return CandidateRuns(*(values[keep] for values in self))


def candidate_runs(chain: Chain, problem: Problem, *, least: int) -> CandidateRuns:
    """Return the runs of a chain that may be part of an optimal solution.

    Three kinds are excluded:
    - runs longer than the limit or worth less than `least`;
    - runs that a shorter run dominates: a prefix or suffix has a value of 0 or less;
    - runs that two runs dominate: cutting out a gap saves at least the charge in value and at least
      the header in tokens, one of them strictly, and both remaining parts meet the minimum value.
    """
    enumerator = _RunEnumerator(chain, problem, least)
    starts = np.arange(len(chain.positions))
    blocks = [(starts[:0], starts[:0])]
    top = np.full(len(starts), -INFINITY, dtype=np.int64)
    cut = np.full(len(starts), INFINITY, dtype=np.int64)
    offset = 0
    while len(starts):
        firsts, lasts, alive, top, cut = enumerator.extend(starts, offset, top, cut)
        blocks.append((firsts, lasts))
        starts, top, cut = starts[alive], top[alive], cut[alive]
        offset += _COLUMNS
    firsts = np.concatenate([first for first, _ in blocks])
    lasts = np.concatenate([last for _, last in blocks])
    order = np.lexsort((-lasts, firsts))
    firsts, lasts = firsts[order], lasts[order]
    return CandidateRuns(
        firsts=firsts,
        lasts=lasts,
        starts=chain.positions[firsts],
        ends=chain.positions[lasts],
        values=enumerator.levels[lasts] - enumerator.bases[firsts],
        tokens=enumerator.token_ends[lasts] - enumerator.token_starts[firsts],
    )


def values_through_runs(
    chain: Chain, problem: Problem, price: int, *, runs: CandidateRuns
) -> Integers:
    """Return the reduced value of the best solution that contains each run, at a price."""
    potentials = potentials_at(chain, problem, price)
    before = np.array(potentials.closed_before, dtype=np.int64)
    after = np.array(potentials.closed_after, dtype=np.int64)
    reduced = (runs.values << problem.shift) - price * runs.tokens - problem.opening(price)
    return before[runs.firsts] + reduced + after[runs.lasts + 1]


class _RunEnumerator:
    """Enumerates the runs of a chain for many starts at once, from running sums.

    Each step extends the runs of all starts by a block of `_COLUMNS` items (numpy columns).
    """

    def __init__(self, chain: Chain, problem: Problem, least: int) -> None:
        self._chain = chain
        self._problem = problem
        self._least = least
        self.levels = np.cumsum(chain.values + np.where(chain.blocked, 0, chain.gap_values))
        self.bases = self.levels - chain.values
        self.token_ends = chain.token_ends
        self.token_starts = chain.token_ends - chain.tokens

    def extend(
        self, starts: Integers, offset: int, top: Integers, cut: Integers
    ) -> tuple[Integers, Integers, NDArray[np.bool_], Integers, Integers]:
        """Return the candidate runs that end within the next block of items, and the new state.

        Args:
            starts: First items of the runs.
            offset: Number of items after the first that earlier blocks covered.
            top: Highest running sum that each start has reached.
            cut: Lowest running sum after a gap at which the run may be split, for each start.

        Returns:
            First and last items of the candidate runs, a mask of the starts that may have longer
            runs, and the new `top` and `cut` of each start.
        """
        chain, problem = self._chain, self._problem
        targets = starts[:, None] + np.arange(offset, offset + _COLUMNS)
        items = np.minimum(targets, len(chain.positions) - 1)
        # Base: running sum before the run. Foot: running sum before the item, after its gap.
        base = self.bases[starts][:, None]
        foot = self.bases[items]
        # A run continues while the item is in the same document, within the length limit, and every
        # prefix has a positive value.
        alive = (
            (targets == items)
            & (chain.documents[items] == chain.documents[starts][:, None])
            & (self.token_ends[items] - self.token_starts[starts][:, None] <= problem.longest)
            & ((foot > base) | (items == starts[:, None]))
        )
        alive = np.logical_and.accumulate(alive, axis=1)
        # Top: the highest running sum before the item. A run must end above it, otherwise one
        # that ends earlier is at least as good.
        level = self.levels[items]
        tops = np.maximum.accumulate(np.concatenate([top[:, None], level], axis=1), axis=1)
        before = tops[:, :-1]
        # Cut: a run may be split at the gap before the item if the left part keeps the minimum
        # value and the gap costs at least a charge and a header, one of them strictly more.
        gaps = chain.gap_tokens[items]
        cuttable = (
            (items > starts[:, None])
            & (before - base >= self._least)
            & (gaps >= problem.header)
            & (before - foot >= problem.charge)
            & ((gaps > problem.header) | (before - foot > problem.charge))
        )
        lows = np.where(cuttable, foot, INFINITY)
        cuts = np.minimum.accumulate(np.concatenate([cut[:, None], lows], axis=1), axis=1)
        # Keep runs that meet the minimum value and that no such split dominates.
        good = alive & (level > before) & (level - base >= self._least)
        good &= level - cuts[:, 1:] < self._least
        rows, columns = np.nonzero(good)
        return starts[rows], items[rows, columns], alive[:, -1], tops[:, -1], cuts[:, -1]


class RunGraph:
    """Graph of candidate runs: each node starts a run, each arc takes a run or skips its node."""

    def __init__(self, runs: CandidateRuns, problem: Problem) -> None:
        self._runs = runs
        self._problem = problem
        starts, tails = np.unique(runs.firsts, return_inverse=True)
        self._tails = tails.astype(np.int64)
        self._heads = np.searchsorted(starts, runs.lasts, side="right").astype(np.int64)
        self._nodes = len(starts)
        self._tokens = runs.tokens + problem.header

    def __call__(self, price: int) -> tuple[int, int]:
        """Return reduced value and tokens (with headers) of the best runs, ignoring the budget."""
        value, chosen = self._solve(price)
        return value, sum(int(self._tokens[run]) for run in chosen)

    def choose(self, price: int) -> list[int]:
        """Return the indexes of the best runs at a price, without the budget.

        Among solutions of equal value, it returns the one whose runs start first and end last.
        """
        return self._solve(price)[1]

    def runs(self, indexes: list[int]) -> list[tuple[int, int]]:
        """Return runs as positions of first and last chunk."""
        starts, ends = self._runs.starts[indexes], self._runs.ends[indexes]
        return list(zip(starts.tolist(), ends.tolist(), strict=True))

    def _reduced_values(self, price: int) -> Integers:
        return ((self._runs.values - self._problem.charge) << self._problem.shift) - (
            price * self._tokens
        )

    def _solve(self, price: int) -> tuple[int, list[int]]:
        """Solve the relaxed problem by dynamic programming from the last node to the first."""
        reduced = self._reduced_values(price)
        used = np.flatnonzero(reduced > 0)
        after = [0] * (self._nodes + 1)
        choice = [-1] * (self._nodes + 1)
        heads = self._heads[used].tolist()
        tails = self._tails[used].tolist()
        gains = reduced[used].tolist()
        node = self._nodes
        for arc in range(len(tails) - 1, -1, -1):
            tail = tails[arc]
            while node > tail:
                node -= 1
                after[node] = after[node + 1]
            value = gains[arc] + after[heads[arc]]
            if value >= after[tail]:
                after[tail] = value
                choice[tail] = arc
        best = after[node]
        chosen = []
        while node < self._nodes:
            arc = choice[node]
            if arc >= 0:
                chosen.append(int(used[arc]))
                node = heads[arc]
            else:
                node += 1
        return best, chosen

    def arcs_at(self, price: int, *, limit: int) -> tuple[Arcs, Integers]:
        """Return the arcs of runs with a reduced value of at least `-limit`, and their runs.

        The run of an arc that skips a node is -1. The losses of the arcs are their reduced costs.
        """
        reduced = self._reduced_values(price)
        used = np.flatnonzero(reduced >= -limit)
        skips = np.arange(self._nodes)
        tails = np.concatenate([self._tails[used], skips])
        heads = np.concatenate([self._heads[used], skips + 1])
        runs = np.concatenate([used, np.full(self._nodes, -1)])
        order = np.argsort(tails, kind="stable")  # runs longest first, the skip last
        tails, heads, runs = tails[order], heads[order], runs[order]
        skip = runs < 0
        value = np.where(skip, 0, reduced[runs])
        before, after = _sums(self._nodes, tails.tolist(), heads.tolist(), value.tolist())
        arcs = Arcs(
            tails=tails,
            heads=heads,
            tokens=np.where(skip, 0, self._tokens[runs]),
            losses=after[0] - (before[tails] + value + after[heads]),
        )
        return arcs, runs


def _sums(
    nodes: int, tails: list[int], heads: list[int], reduced: list[int]
) -> tuple[Integers, Integers]:
    """Return the value of the best path to each node, and of the best path from it."""
    before, after = [0] * (nodes + 1), [0] * (nodes + 1)
    steps = list(zip(tails, heads, reduced, strict=True))
    for tail, head, value in steps:
        before[head] = max(before[head], before[tail] + value)
    for tail, head, value in reversed(steps):
        after[tail] = max(after[tail], value + after[head])
    return np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)
