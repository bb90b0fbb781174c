"""Graphs whose paths are the answers that may still be best.

Two forms. In a chain graph a run is opened, carried over items and closed, an arc each; it has few
arcs, but cannot know how long a run is or what it is worth. In a run graph each run that its limits
allow is an arc of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spanwise.core.extraction.knapsack import Arcs
from spanwise.core.extraction.lagrangian import (
    NEVER,
    Chain,
    Potentials,
    Terms,
    crossings_at,
    potentials_at,
)

Integers = NDArray[np.int64]

_HOLD, _CLOSE, _OPEN, _SKIP = range(4)
_COLUMNS = 16


class ChainGraph:
    """Graph of a chain at a price.

    Nodes, at the place before each item and after the last: `2 * item` with a run open, and
    `2 * item + 1` without. An open run holds the item or closes, then a run may open: so the first
    arc of a node leads to the run that starts first and ends last.
    """

    def __init__(self, chain: Chain, terms: Terms, price: int) -> None:
        self._chain = chain
        potentials = potentials_at(chain, terms, price)
        self.worth = potentials.closed_after[0]
        """Of the best path."""
        items = len(chain.positions)
        places = 2 * np.arange(items + 1)[:, None]
        tokens = np.zeros((items + 1, 4), dtype=np.int64)
        tokens[:-1, _HOLD] = chain.gap_tokens + chain.tokens
        tokens[:-1, _OPEN] = chain.tokens + terms.header
        through = _worths_through(chain, terms, price=price, potentials=potentials)
        self.arcs = Arcs(
            tails=(places + np.array([0, 0, 1, 1])).ravel(),
            heads=np.minimum(places + np.array([2, 1, 2, 3]), 2 * items + 1).ravel(),
            tokens=tokens.ravel(),
            losses=(self.worth - through).ravel(),
        )

    def runs(self, arcs: list[int]) -> list[tuple[int, int]]:
        """Return the runs of a path, as positions of first and last chunk."""
        positions = self._chain.positions
        opened = [arc // 4 for arc in arcs if arc % 4 == _OPEN]
        closed = [arc // 4 - 1 for arc in arcs if arc % 4 == _CLOSE]
        return list(zip(positions[opened].tolist(), positions[closed].tolist(), strict=True))


def _worths_through(chain: Chain, terms: Terms, *, price: int, potentials: Potentials) -> Integers:
    """Return the worth of the best path through each arc, as places x arcs; -NEVER for none."""
    closed_before = np.array(potentials.closed_before, dtype=np.int64)
    open_before = np.array(potentials.open_before, dtype=np.int64)
    closed_after = np.array(potentials.closed_after, dtype=np.int64)
    held = chain.worths(price, shift=terms.shift)
    held += np.array(potentials.open_after[1:], dtype=np.int64)
    through = np.full((len(held) + 1, 4), -NEVER, dtype=np.int64)
    hold = open_before[:-1] + crossings_at(chain, price, shift=terms.shift) + held
    through[:-1, _HOLD] = np.where(chain.fresh, -NEVER, hold)
    through[1:, _CLOSE] = open_before[1:] + closed_after[1:]
    through[:-1, _OPEN] = closed_before[:-1] + held - terms.opening(price)
    through[:-1, _SKIP] = closed_before[:-1] + closed_after[1:]
    return through


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs of items, as arrays of one length, by start, then longest first."""

    firsts: Integers
    lasts: Integers
    """Item that ends the run, itself held."""
    starts: Integers
    """Position of the first chunk."""
    ends: Integers
    """Position of the last chunk."""
    values: Integers
    tokens: Integers
    """Of the chunks alone."""

    def chosen(self, keep: NDArray[np.bool_]) -> Runs:
        """Return the runs to keep."""
        return Runs(
            firsts=self.firsts[keep],
            lasts=self.lasts[keep],
            starts=self.starts[keep],
            ends=self.ends[keep],
            values=self.values[keep],
            tokens=self.tokens[keep],
        )


def allowed_runs(chain: Chain, terms: Terms, *, least: int) -> Runs:
    """Return the runs of a chain that may be part of the best answer.

    Left out are runs longer than allowed or worth less than `least`, and those that are beaten: by
    themselves without a worthless beginning or end, or by two runs that leave out a stretch of them
    whose loss outweighs the charge and whose tokens outweigh the header.
    """
    frame = _Frame(chain, terms, least)
    starts = np.arange(len(chain.positions))
    found = [(starts[:0], starts[:0])]
    top = np.full(len(starts), -NEVER, dtype=np.int64)
    cut = np.full(len(starts), NEVER, dtype=np.int64)
    offset = 0
    while len(starts):
        firsts, lasts, alive, top, cut = frame.extend(starts, offset, top, cut)
        found.append((firsts, lasts))
        starts, top, cut = starts[alive], top[alive], cut[alive]
        offset += _COLUMNS
    firsts = np.concatenate([first for first, _ in found])
    lasts = np.concatenate([last for _, last in found])
    order = np.lexsort((-lasts, firsts))
    firsts, lasts = firsts[order], lasts[order]
    return Runs(
        firsts=firsts,
        lasts=lasts,
        starts=chain.positions[firsts],
        ends=chain.positions[lasts],
        values=frame.levels[lasts] - frame.bases[firsts],
        tokens=frame.token_ends[lasts] - frame.token_starts[firsts],
    )


def worths_with(chain: Chain, terms: Terms, price: int, *, runs: Runs) -> Integers:
    """Return what the best runs of a chain are worth together with each run, at a price."""
    potentials = potentials_at(chain, terms, price)
    before = np.array(potentials.closed_before, dtype=np.int64)
    after = np.array(potentials.closed_after, dtype=np.int64)
    worths = (runs.values << terms.shift) - price * runs.tokens - terms.opening(price)
    return before[runs.firsts] + worths + after[runs.lasts + 1]


class _Frame:
    """Running sums of a chain, and the runs of many starts, some columns of lengths at a time."""

    def __init__(self, chain: Chain, terms: Terms, least: int) -> None:
        self._chain = chain
        self._terms = terms
        self._least = least
        self.levels = np.cumsum(chain.values + np.where(chain.fresh, 0, chain.gap_values))
        self.bases = self.levels - chain.values
        self.token_ends = chain.token_ends
        self.token_starts = chain.token_ends - chain.tokens

    def extend(
        self, starts: Integers, offset: int, top: Integers, cut: Integers
    ) -> tuple[Integers, Integers, NDArray[np.bool_], Integers, Integers]:
        """Return the runs of `offset` more items and up, and what to go on with.

        Args:
            starts: First items.
            offset: Items after the first that were seen before.
            top: Highest level seen of each start.
            cut: Lowest level seen after a stretch that may be left out.

        Returns:
            First and last items of the runs, which starts may have longer runs, and their new
            `top` and `cut`.
        """
        chain, terms = self._chain, self._terms
        wanted = starts[:, None] + np.arange(offset, offset + _COLUMNS)
        items = np.minimum(wanted, len(chain.positions) - 1)
        base = self.bases[starts][:, None]
        foot = self.bases[items]  # level after the gap before the item
        alive = (
            (wanted == items)
            & (chain.documents[items] == chain.documents[starts][:, None])
            & (self.token_ends[items] - self.token_starts[starts][:, None] <= terms.longest)
            & ((foot > base) | (items == starts[:, None]))
        )
        alive = np.logical_and.accumulate(alive, axis=1)
        level = self.levels[items]
        tops = np.maximum.accumulate(np.concatenate([top[:, None], level], axis=1), axis=1)
        before = tops[:, :-1]
        gaps = chain.gap_tokens[items]
        cuttable = (
            (items > starts[:, None])
            & (before - base >= self._least)
            & (gaps >= terms.header)
            & (before - foot >= terms.charge)
            & ((gaps > terms.header) | (before - foot > terms.charge))
        )
        lows = np.where(cuttable, foot, NEVER)
        cuts = np.minimum.accumulate(np.concatenate([cut[:, None], lows], axis=1), axis=1)
        good = alive & (level > before) & (level - base >= self._least)
        good &= level - cuts[:, 1:] < self._least
        rows, columns = np.nonzero(good)
        return starts[rows], items[rows, columns], alive[:, -1], tops[:, -1], cuts[:, -1]


class RunGraph:
    """Graph of allowed runs: a node is an item that starts one, an arc takes a run or skips."""

    def __init__(self, runs: Runs, terms: Terms) -> None:
        self._runs = runs
        self._terms = terms
        starts, tails = np.unique(runs.firsts, return_inverse=True)
        self._tails = tails.astype(np.int64)
        self._heads = np.searchsorted(starts, runs.lasts, side="right").astype(np.int64)
        self._nodes = len(starts)
        self._tokens = runs.tokens + terms.header

    def __call__(self, price: int) -> tuple[int, int]:
        """Return worth and tokens, headers included, of the best runs, budget apart."""
        worth, chosen = self._solve(price)
        return worth, sum(int(self._tokens[run]) for run in chosen)

    def choose(self, price: int) -> list[int]:
        """Return the indexes of the runs that a call weighs.

        Of answers of equal worth, they are those that start first and end last.
        """
        return self._solve(price)[1]

    def runs(self, indexes: list[int]) -> list[tuple[int, int]]:
        """Return runs as positions of first and last chunk."""
        starts, ends = self._runs.starts[indexes], self._runs.ends[indexes]
        return list(zip(starts.tolist(), ends.tolist(), strict=True))

    def _worths(self, price: int) -> Integers:
        return ((self._runs.values - self._terms.charge) << self._terms.shift) - (
            price * self._tokens
        )

    def _solve(self, price: int) -> tuple[int, list[int]]:
        worths = self._worths(price)
        kept = np.flatnonzero(worths > 0)
        after = [0] * (self._nodes + 1)
        choice = [-1] * (self._nodes + 1)
        heads = self._heads[kept].tolist()
        tails = self._tails[kept].tolist()
        gains = worths[kept].tolist()
        node = self._nodes
        for arc in range(len(tails) - 1, -1, -1):
            tail = tails[arc]
            while node > tail:
                node -= 1
                after[node] = after[node + 1]
            worth = gains[arc] + after[heads[arc]]
            if worth >= after[tail]:
                after[tail] = worth
                choice[tail] = arc
        best = after[node]
        chosen = []
        while node < self._nodes:
            arc = choice[node]
            if arc >= 0:
                chosen.append(int(kept[arc]))
                node = heads[arc]
            else:
                node += 1
        return best, chosen

    def arcs_at(self, price: int, *, limit: int) -> tuple[Arcs, Integers]:
        """Return the arcs that lose at most about `limit` at a price, and the run of each.

        The run of an arc that skips is -1.
        """
        worths = self._worths(price)
        kept = np.flatnonzero(worths >= -limit)
        skips = np.arange(self._nodes)
        tails = np.concatenate([self._tails[kept], skips])
        heads = np.concatenate([self._heads[kept], skips + 1])
        runs = np.concatenate([kept, np.full(self._nodes, -1)])
        order = np.argsort(tails, kind="stable")  # runs longest first, the skip last
        tails, heads, runs = tails[order], heads[order], runs[order]
        skip = runs < 0
        worth = np.where(skip, 0, worths[runs])
        before, after = _sums(self._nodes, tails.tolist(), heads.tolist(), worth.tolist())
        arcs = Arcs(
            tails=tails,
            heads=heads,
            tokens=np.where(skip, 0, self._tokens[runs]),
            losses=after[0] - (before[tails] + worth + after[heads]),
        )
        return arcs, runs


def _sums(
    nodes: int, tails: list[int], heads: list[int], worths: list[int]
) -> tuple[Integers, Integers]:
    """Return the worth of the best path to each node, and of the best from it."""
    before, after = [0] * (nodes + 1), [0] * (nodes + 1)
    steps = list(zip(tails, heads, worths, strict=True))
    for tail, head, worth in steps:
        before[head] = max(before[head], before[tail] + worth)
    for tail, head, worth in reversed(steps):
        after[tail] = max(after[tail], worth + after[head])
    return np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)
