"""Closing the gap between the best answer known and the bound of a price, exactly.

Rules:
    A path from the first node to the last is an answer; an arc has tokens, and a loss: how far
    below the bound the best path through it stays at least.
    All paths that lose at most some limit use arcs that lose at most that limit. So small limits
    are tried first; a path inside the budget that loses no more than the limit is the best of all.
    Few cases go by labels (tokens and worth of the path ends that may matter), many by a table
    over all token counts. Work is counted, never timed.
    Of paths of equal value the one of fewer tokens is best, then the one whose first differing arc
    stands first among the arcs of its node.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_FEW_LABELS = 500
"""Up to this many, labels are tried before any table; one costs about half a microsecond."""
_SOME_LABELS = 2_000
"""Up to this many, before a table of more than a few cells."""
_MANY_LABELS = 500_000
"""Up to this many, where a table has too many cells."""
_FEW_CELLS = 1 << 18
_MANY_CELLS = 1 << 27
"""Of a table, all nodes together; one costs about four nanoseconds and two bytes."""


class TooMuchWorkError(Exception):
    """The search would take more labels and cells than allowed; the caller has another answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arcs:
    """Arcs of a graph as arrays of one length, by ascending tail, the preferred first.

    Each tail is less than its head. The least tail is the first node, the greatest head the last.
    """

    tails: Integers
    heads: Integers
    tokens: Integers
    losses: Integers
    """At least 0, against the bound of a price without the tokens left over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Best path inside a budget."""

    arcs: list[int]
    """Indexes, in order."""
    loss: int
    """Against the bound, tokens left over counted."""


def best_path(arcs: Arcs, *, price: int, budget: int, limits: list[int]) -> Path | None:
    """Return the best path inside the budget, if it loses at most the last limit.

    Args:
        arcs: All arcs that lose at most the last limit; others do no harm.
        price: Price at which the losses were computed.
        budget: In tokens.
        limits: Losses to allow, tokens left over counted, one after the other; ascending.

    Returns:
        The path, or None where every path loses more. Without arcs the path is empty.

    Raises:
        TooMuchWorkError: If neither way of searching is small enough.
    """
    branches = _branches(arcs, limits[-1])
    for limit in limits:
        fewer = _fewer_branches(branches, limit)
        path = _search(_Task(fewer, price, budget, limit))
        if path is not None:
            return Path(arcs=branches.trace(fewer.trace(path.arcs)), loss=path.loss)
    return None


def _search(task: _Task) -> Path | None:
    windows = _windows(task)
    labels = _Labels(task, windows)
    if labels.fill(_FEW_LABELS):
        return labels.path()
    table = _Table(task, windows)
    if table.cells > _FEW_CELLS and labels.fill(_SOME_LABELS):
        return labels.path()
    if table.cells <= _MANY_CELLS:
        table.fill()
        return table.path()
    if labels.fill(_MANY_LABELS):
        return labels.path()
    raise TooMuchWorkError


@dataclass(frozen=True, slots=True)
class _Branches:
    """Nodes with several arcs under a limit; nodes with one arc are passed over."""

    nodes: list[tuple[int, int, int, int]]
    """Node, its first arc, one past its last arc, what all paths to it lose; ascending."""
    heads: list[int]
    """Branching node that an arc leads to at last, or the last node."""
    tokens: list[int]
    """Of the arc and of what is passed over."""
    losses: list[int]
    entry: int
    """Branching node that the first node leads to, or the last node."""
    entry_tokens: int
    last_node: int
    forced: dict[int, int]
    """The arc of each node that has one."""
    indexes: list[int]
    """Of the arcs, among all."""
    first_node: int
    next_nodes: list[int]
    """Node that an arc leads to at once."""

    def trace(self, chosen: list[int]) -> list[int]:
        """Return the indexes of all arcs of a path, given those at its branching nodes."""
        choices = iter(chosen)
        node, indexes = self.first_node, []
        while node != self.last_node:
            arc = self.forced[node] if node in self.forced else next(choices)
            indexes.append(self.indexes[arc])
            node = self.next_nodes[arc]
        return indexes


def _branches(arcs: Arcs, limit: int) -> _Branches:
    kept = np.flatnonzero(arcs.losses <= limit)
    tails = arcs.tails[kept].tolist()
    last_node = int(arcs.heads.max(initial=0))
    return _contract(
        indexes=kept.tolist(),
        tails=tails,
        heads=arcs.heads[kept].tolist(),
        tokens=arcs.tokens[kept].tolist(),
        losses=arcs.losses[kept].tolist(),
        ends=(tails[0] if tails else last_node, 0, last_node),
    )


def _fewer_branches(branches: _Branches, limit: int) -> _Branches:
    """Return the branches under a lower limit; their arcs are among those of the given branches."""
    kept = [
        (arc, node)
        for node, first, end, _ in branches.nodes
        for arc in range(first, end)
        if branches.losses[arc] <= limit
    ]
    return _contract(
        indexes=[arc for arc, _ in kept],
        tails=[node for _, node in kept],
        heads=[branches.heads[arc] for arc, _ in kept],
        tokens=[branches.tokens[arc] for arc, _ in kept],
        losses=[branches.losses[arc] for arc, _ in kept],
        ends=(branches.entry, branches.entry_tokens, branches.last_node),
    )


def _contract(
    *,
    indexes: list[int],
    tails: list[int],
    heads: list[int],
    tokens: list[int],
    losses: list[int],
    ends: tuple[int, int, int],
) -> _Branches:
    """Return the branches of a graph; `ends` are first node, tokens before it, and last node."""
    first_node, entry_tokens, last_node = ends
    goals = {last_node: (last_node, 0)}
    nodes, forced, next_nodes = [], {}, heads.copy()
    end = len(tails)
    while end:
        node, first = tails[end - 1], end - 1
        while first and tails[first - 1] == node:
            first -= 1
        for arc in range(first, end):
            heads[arc], more_tokens = goals[heads[arc]]
            tokens[arc] += more_tokens
        if end == first + 1:
            forced[node] = first
            goals[node] = (heads[first], tokens[first])
        else:
            goals[node] = (node, 0)
            nodes.append((node, first, end, min(losses[first:end])))
        end = first
    nodes.reverse()
    entry, more_tokens = goals[first_node]
    return _Branches(
        nodes=nodes,
        heads=heads,
        tokens=tokens,
        losses=losses,
        entry=entry,
        entry_tokens=entry_tokens + more_tokens,
        last_node=last_node,
        forced=forced,
        indexes=indexes,
        first_node=first_node,
        next_nodes=next_nodes,
    )


@dataclass(frozen=True, slots=True)
class _Task:
    branches: _Branches
    price: int
    budget: int
    limit: int


_Windows = dict[int, tuple[int, int]]
"""Least and greatest number of tokens from each node on, of paths that may matter."""


def _windows(task: _Task) -> _Windows:
    """Return the windows that arcs, budget and limit leave; least above greatest for none."""
    branches = task.branches
    arcs = list(zip(branches.heads, branches.tokens, strict=True))
    before_least = {branches.entry: branches.entry_tokens}
    before_most = before_least.copy()
    for node, first, end, _ in branches.nodes:
        least, most = before_least[node], before_most[node]
        for head, tokens in arcs[first:end]:
            if head not in before_least or least + tokens < before_least[head]:
                before_least[head] = least + tokens
            if head not in before_most or most + tokens > before_most[head]:
                before_most[head] = most + tokens
    needed = task.budget - (task.limit // task.price if task.price else task.budget)
    after = {branches.last_node: (0, 0)}
    for node, first, end, _ in reversed(branches.nodes):
        least, most = task.budget, 0
        for head, tokens in arcs[first:end]:
            low, high = after[head]
            least = low + tokens if low + tokens < least else least
            most = high + tokens if high + tokens > most else most
        low, high = needed - before_most[node], task.budget - before_least[node]
        after[node] = (low if low > least else least, high if high < most else most)
    return after


class _Labels:
    """Search by labels: tokens and worth of the path ends that no other beats.

    The worth is relative: the price of the tokens less what the path end loses. So a label has
    lost `price * tokens - worth`, and a label that has more tokens must be worth more.
    """

    def __init__(self, task: _Task, windows: _Windows) -> None:
        self._task = task
        self._windows = windows
        self._fronts: dict[int, list[tuple[int, int]]] = {}
        self._choices: dict[int, list[tuple[int, int]]] = {}

    def fill(self, most: int) -> bool:
        """Return whether all labels were made; False when they are more than `most`."""
        branches = self._task.branches
        self._fronts = {branches.last_node: [(0, 0)]}
        made = 0
        for node, first, end, before in reversed(branches.nodes):
            merged: list[tuple[int, int, int, int]] = []
            for arc in range(first, end):
                self._extend(node, arc, before, merged)
            made += len(merged)
            if made > most:
                return False
            self._prune(node, merged)
        return True

    def _extend(
        self, node: int, arc: int, before: int, merged: list[tuple[int, int, int, int]]
    ) -> None:
        """Add tokens, negative worth, arc and label index of all that an arc gives."""
        branches, price = self._task.branches, self._task.price
        low, high = self._windows[node]
        spare = self._task.limit - before
        more_tokens = branches.tokens[arc]
        more_worth = price * more_tokens - (branches.losses[arc] - before)
        for index, (tokens, worth) in enumerate(self._fronts[branches.heads[arc]]):
            new_tokens, new_worth = tokens + more_tokens, worth + more_worth
            if low <= new_tokens <= high and price * new_tokens - new_worth <= spare:
                merged.append((new_tokens, -new_worth, arc, index))

    def _prune(self, node: int, merged: list[tuple[int, int, int, int]]) -> None:
        merged.sort()
        best: int | None = None
        labels, choices = [], []
        for tokens, negative, arc, index in merged:
            if best is None or negative < best:
                best = negative
                labels.append((tokens, -negative))
                choices.append((arc, index))
        self._fronts[node], self._choices[node] = labels, choices

    def path(self) -> Path | None:
        """Return the best path found, or None where none loses at most the limit."""
        task, branches = self._task, self._task.branches
        node, room = branches.entry, task.budget - branches.entry_tokens
        labels = self._fronts[node]
        fitting = [index for index, (tokens, _) in enumerate(labels) if tokens <= room]
        if not fitting:
            return None
        index = fitting[-1]  # worth most
        loss = task.price * room - labels[index][1]
        if loss > task.limit:
            return None
        chosen = []
        while node != branches.last_node:
            arc, index = self._choices[node][index]
            chosen.append(arc)
            node = branches.heads[arc]
        return Path(arcs=chosen, loss=loss)


class _Table:
    """Search by a table: for each node and each count of tokens from there on, the least loss.

    Counts are in steps, the greatest common divisor of all tokens.
    """

    def __init__(self, task: _Task, windows: _Windows) -> None:
        self._task = task
        tokens = np.array(task.branches.tokens, dtype=np.int64)
        self._step = step = int(np.gcd.reduce(tokens)) or 1
        self._lowest = {node: -(-low // step) for node, (low, _) in windows.items()}
        self._widths = {
            node: max(0, high // step - self._lowest[node] + 1)
            for node, (_, high) in windows.items()
        }
        self._choices: dict[int, NDArray[np.uint16]] = {}
        self._row = np.zeros(0, dtype=np.int64)
        self.cells = sum(self._widths.values())

    def fill(self) -> None:
        """Fill the table from the last node to the first."""
        branches = self._task.branches
        rows = {branches.last_node: np.zeros(1, dtype=np.int64)}
        uses = Counter(branches.heads)
        for node, first, end, before in reversed(branches.nodes):
            rows[node] = self._fill_row(node, range(first, end), before, rows)
            for head in branches.heads[first:end]:
                uses[head] -= 1
                if not uses[head]:
                    del rows[head]
        self._row = rows[branches.entry]

    def _fill_row(self, node: int, arcs: range, before: int, rows: dict[int, Integers]) -> Integers:
        branches, width = self._task.branches, self._widths[node]
        row = np.full(width, self._task.limit - before + 1, dtype=np.int64)
        choices = np.zeros(width, dtype=np.uint16)
        for arc in arcs:
            source = rows[branches.heads[arc]]
            shift = self._lowest[branches.heads[arc]] - self._lowest[node]
            shift += branches.tokens[arc] // self._step
            begin, stop = max(0, shift), min(width, shift + len(source))
            if begin >= stop:
                continue
            lost = source[begin - shift : stop - shift] + (branches.losses[arc] - before)
            choices[begin:stop][lost < row[begin:stop]] = arc - arcs.start
            np.minimum(row[begin:stop], lost, out=row[begin:stop])
        self._choices[node] = choices
        return row

    def path(self) -> Path | None:
        """Return the best path found, or None where none loses at most the limit."""
        task, branches = self._task, self._task.branches
        node, room = branches.entry, task.budget - branches.entry_tokens
        if not len(self._row):
            return None
        steps = self._lowest[node] + np.arange(len(self._row), dtype=np.int64)
        lost = self._row + task.price * (room - self._step * steps)
        place = int(np.argmin(lost))  # the first of equals, which has the fewest tokens
        if lost[place] > task.limit:
            return None
        left = int(steps[place])
        firsts = {start: first for start, first, _, _ in branches.nodes}
        chosen = []
        while node != branches.last_node:
            arc = firsts[node] + int(self._choices[node][left - self._lowest[node]])
            chosen.append(arc)
            left -= branches.tokens[arc] // self._step
            node = branches.heads[arc]
        return Path(arcs=chosen, loss=int(lost[place]))
