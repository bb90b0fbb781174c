"""Exact search for the best path inside the token budget, by label setting or a table.

Rules:
    A path from the first node to the last is a solution. Each arc has tokens and a loss, its
    reduced cost: the difference between the dual bound and the best path through the arc.
    A path that loses at most a limit uses only arcs that lose at most that limit. Small limits are
    therefore tried first, because few arcs remain. The best path inside the budget is optimal if it
    loses at most the limit.
    Two exact methods: label setting (a label is the tokens and value of a partial path; dominated
    labels are dropped) for few labels, and a dynamic programming table over all token counts for
    many. The choice depends on counted work, never on time, so results are reproducible.
    Among paths of equal value, the one with fewer tokens is best, then the one whose first
    differing arc is earlier among the arcs of its node.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_FEW_LABELS = 500
"""Number of labels up to which label setting is always tried first; one takes about 0.5 µs."""
_SOME_LABELS = 2_000
"""Number of labels up to which label setting is tried before a table of many cells."""
_MANY_LABELS = 500_000
"""Number of labels up to which label setting is tried if the table has too many cells."""
_FEW_CELLS = 1 << 18
"""Number of cells up to which the table is filled without trying more labels."""
_MANY_CELLS = 1 << 27
"""Maximum number of cells of a table over all nodes; one takes about 4 ns and 2 bytes."""


class WorkLimitError(Exception):
    """The search needs more labels and cells than allowed; the caller returns its incumbent."""


class Arcs(NamedTuple):
    """Arcs of a graph as arrays of one length, by ascending tail, preferred arcs first.

    Each tail is less than its head. The least tail is the first node, the greatest head the last.
    """

    tails: Integers
    """Node that each arc leaves."""
    heads: Integers
    """Node that each arc leads to."""
    tokens: Integers
    """Tokens of each arc."""
    losses: Integers
    """Reduced cost of each arc at the price, >= 0; unused tokens are not included."""


class Path(NamedTuple):
    """Best path inside a budget."""

    arcs: list[int]
    """Indexes of the arcs, in order."""
    loss: int
    """Difference between dual bound and value of the path; unused tokens count at their price."""


def best_path(arcs: Arcs, *, price: int, budget: int, limits: list[int]) -> Path | None:
    """Return the best path inside the budget, if it loses at most the last limit.

    Args:
        arcs: All arcs that lose at most the last limit; additional arcs are ignored.
        price: Price at which the losses were computed.
        budget: Token budget.
        limits: Loss limits to try in order, ascending; unused tokens count towards a loss.

    Returns:
        The path, or None if every path loses more. Without arcs the path is empty.

    Raises:
        WorkLimitError: If both methods exceed their work limits.
    """
    # Nodes without a choice are contracted, then the limits are tried from the smallest.
    graph = _contract_arcs(arcs, limits[-1])
    for limit in limits:
        tightened = _tighten(graph, limit)
        path = _search(_Subproblem(tightened, price, budget, limit))
        if path is not None:
            return Path(arcs=graph.trace(tightened.trace(path.arcs)), loss=path.loss)
    return None


def _search(subproblem: _Subproblem) -> Path | None:
    """Return the best path of a subproblem, by the method that is expected to need less work."""
    windows = _windows(subproblem)
    labels = _LabelSetting(subproblem, windows)
    if labels.fill(_FEW_LABELS):
        return labels.path()
    table = _TokenTable(subproblem, windows)
    if table.cells > _FEW_CELLS and labels.fill(_SOME_LABELS):
        return labels.path()
    if table.cells <= _MANY_CELLS:
        table.fill()
        return table.path()
    if labels.fill(_MANY_LABELS):
        return labels.path()
    raise WorkLimitError


class _ContractedGraph(NamedTuple):
    """Graph of the nodes that have several arcs; chains of nodes with one arc are contracted."""

    nodes: list[tuple[int, int, int, int]]
    """Branching nodes: (node, first arc, index after its last arc, least loss of its arcs)."""
    heads: list[int]
    """Branching node at the end of each contracted arc, or the last node."""
    tokens: list[int]
    """Tokens of each contracted arc."""
    losses: list[int]
    """Reduced cost of each arc."""
    entry: int
    """Branching node that the first node leads to, or the last node."""
    entry_tokens: int
    """Tokens before the entry node."""
    last_node: int
    """Last node of every path."""
    forced: dict[int, int]
    """The arc of each node that has only one."""
    indexes: list[int]
    """Index of each arc among the arcs of the uncontracted graph."""
    first_node: int
    """First node of every path."""
    next_nodes: list[int]
    """Node that each arc leads to before contraction."""

    def trace(self, chosen: list[int]) -> list[int]:
        """Return the indexes of all arcs of a path, given its arcs at branching nodes."""
        choices = iter(chosen)
        node, indexes = self.first_node, []
        while node != self.last_node:
            arc = self.forced[node] if node in self.forced else next(choices)
            indexes.append(self.indexes[arc])
            node = self.next_nodes[arc]
        return indexes


def _contract_arcs(arcs: Arcs, limit: int) -> _ContractedGraph:
    """Return the contracted graph of the arcs that lose at most a limit."""
    within = (arcs.losses <= limit).nonzero()[0]
    tails = arcs.tails[within].tolist()
    last_node = int(arcs.heads.max(initial=0))
    return _contract(
        indexes=within.tolist(),
        tails=tails,
        heads=arcs.heads[within].tolist(),
        tokens=arcs.tokens[within].tolist(),
        losses=arcs.losses[within].tolist(),
        ends=(tails[0] if tails else last_node, 0, last_node),
    )


def _tighten(graph: _ContractedGraph, limit: int) -> _ContractedGraph:
    """Return the contracted graph under a lower limit; its arcs are a subset of the given graph."""
    within = [
        (arc, node)
        for node, first, end, _ in graph.nodes
        for arc in range(first, end)
        if graph.losses[arc] <= limit
    ]
    return _contract(
        indexes=[arc for arc, _ in within],
        tails=[node for _, node in within],
        heads=[graph.heads[arc] for arc, _ in within],
        tokens=[graph.tokens[arc] for arc, _ in within],
        losses=[graph.losses[arc] for arc, _ in within],
        ends=(graph.entry, graph.entry_tokens, graph.last_node),
    )


def _contract(
    *,
    indexes: list[int],
    tails: list[int],
    heads: list[int],
    tokens: list[int],
    losses: list[int],
    ends: tuple[int, int, int],
) -> _ContractedGraph:
    """Return a contracted graph; `ends` are first node, tokens before it, and last node."""
    first_node, entry_tokens, last_node = ends
    goals = {last_node: (last_node, 0)}
    nodes, forced, next_nodes = [], {}, heads.copy()
    end = len(tails)
    # From the last node back: a node with one arc is contracted into that arc.
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
    return _ContractedGraph(
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


class _Subproblem(NamedTuple):
    """Search for a path inside the budget that loses at most a limit."""

    graph: _ContractedGraph
    price: int
    budget: int
    limit: int


_Windows = dict[int, tuple[int, int]]
"""Least and greatest number of tokens from each node to the end, for paths that may be optimal."""


def _windows(subproblem: _Subproblem) -> _Windows:
    """Return the windows allowed by arcs, budget and limit; least > greatest if there are none."""
    graph = subproblem.graph
    arcs = list(zip(graph.heads, graph.tokens, strict=True))
    # Forwards: the least and most tokens that a path to each node can have.
    before_least = {graph.entry: graph.entry_tokens}
    before_most = before_least.copy()
    for node, first, end, _ in graph.nodes:
        least, most = before_least[node], before_most[node]
        for head, tokens in arcs[first:end]:
            if head not in before_least or least + tokens < before_least[head]:
                before_least[head] = least + tokens
            if head not in before_most or most + tokens > before_most[head]:
                before_most[head] = most + tokens
    # Unused tokens cost the price, so a path within the limit uses at least `needed` tokens.
    needed = subproblem.budget - (
        subproblem.limit // subproblem.price if subproblem.price else subproblem.budget
    )
    after = {graph.last_node: (0, 0)}
    for node, first, end, _ in reversed(graph.nodes):
        least, most = subproblem.budget, 0
        for head, tokens in arcs[first:end]:
            low, high = after[head]
            least = low + tokens if low + tokens < least else least
            most = high + tokens if high + tokens > most else most
        low, high = needed - before_most[node], subproblem.budget - before_least[node]
        after[node] = (low if low > least else least, high if high < most else most)
    return after


class _LabelSetting:
    """Label-setting search: tokens and value of the partial paths that no other dominates.

    The value of a label is relative: the price of its tokens less the loss of the partial path. A
    label with more tokens than another must also have a greater value, otherwise it is dominated.
    """

    def __init__(self, subproblem: _Subproblem, windows: _Windows) -> None:
        self._subproblem = subproblem
        self._windows = windows
        self._fronts: dict[int, list[tuple[int, int]]] = {}
        self._choices: dict[int, list[tuple[int, int]]] = {}

    def fill(self, most: int) -> bool:
        """Return whether all labels were created; False if there are more than `most`."""
        graph = self._subproblem.graph
        self._fronts = {graph.last_node: [(0, 0)]}
        count = 0
        for node, first, end, before in reversed(graph.nodes):
            merged: list[tuple[int, int, int, int]] = []
            for arc in range(first, end):
                self._extend(node, arc, before, merged)
            count += len(merged)
            if count > most:
                return False
            self._prune(node, merged)
        return True

    def _extend(
        self, node: int, arc: int, before: int, merged: list[tuple[int, int, int, int]]
    ) -> None:
        """Append (tokens, negative value, arc, label index) of each partial path through an arc."""
        graph, price = self._subproblem.graph, self._subproblem.price
        low, high = self._windows[node]
        spare = self._subproblem.limit - before
        more_tokens = graph.tokens[arc]
        more_value = price * more_tokens - (graph.losses[arc] - before)
        for index, (tokens, value) in enumerate(self._fronts[graph.heads[arc]]):
            new_tokens, new_value = tokens + more_tokens, value + more_value
            if low <= new_tokens <= high and price * new_tokens - new_value <= spare:
                merged.append((new_tokens, -new_value, arc, index))

    def _prune(self, node: int, merged: list[tuple[int, int, int, int]]) -> None:
        """Keep the labels of a node that no other dominates."""
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
        """Return the best path found, or None if none loses at most the limit."""
        subproblem, graph = self._subproblem, self._subproblem.graph
        node, room = graph.entry, subproblem.budget - graph.entry_tokens
        labels = self._fronts[node]
        fitting = [index for index, (tokens, _) in enumerate(labels) if tokens <= room]
        if not fitting:
            return None
        index = fitting[-1]  # the greatest value
        loss = subproblem.price * room - labels[index][1]
        if loss > subproblem.limit:
            return None
        chosen = []
        while node != graph.last_node:
            arc, index = self._choices[node][index]
            chosen.append(arc)
            node = graph.heads[arc]
        return Path(arcs=chosen, loss=loss)


class _TokenTable:
    """Dynamic programming table: the least loss from each node to the end, for each token count.

    Token counts are in steps of the greatest common divisor of all tokens.
    """

    def __init__(self, subproblem: _Subproblem, windows: _Windows) -> None:
        self._subproblem = subproblem
        tokens = np.array(subproblem.graph.tokens, dtype=np.int64)
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
        graph = self._subproblem.graph
        rows = {graph.last_node: np.zeros(1, dtype=np.int64)}
        uses = Counter(graph.heads)
        for node, first, end, before in reversed(graph.nodes):
            rows[node] = self._fill_row(node, range(first, end), before, rows)
            for head in graph.heads[first:end]:
                uses[head] -= 1
                if not uses[head]:
                    del rows[head]
        self._row = rows[graph.entry]

    def _fill_row(self, node: int, arcs: range, before: int, rows: dict[int, Integers]) -> Integers:
        graph, width = self._subproblem.graph, self._widths[node]
        row = np.full(width, self._subproblem.limit - before + 1, dtype=np.int64)
        choices = np.zeros(width, dtype=np.uint16)
        for arc in arcs:
            source = rows[graph.heads[arc]]
            shift = self._lowest[graph.heads[arc]] - self._lowest[node]
            shift += graph.tokens[arc] // self._step
            begin, stop = max(0, shift), min(width, shift + len(source))
            if begin >= stop:
                continue
            lost = source[begin - shift : stop - shift] + (graph.losses[arc] - before)
            choices[begin:stop][lost < row[begin:stop]] = arc - arcs.start
            np.minimum(row[begin:stop], lost, out=row[begin:stop])
        self._choices[node] = choices
        return row

    def path(self) -> Path | None:
        """Return the best path found, or None if none loses at most the limit."""
        subproblem, graph = self._subproblem, self._subproblem.graph
        node, room = graph.entry, subproblem.budget - graph.entry_tokens
        if not len(self._row):
            return None
        steps = self._lowest[node] + np.arange(len(self._row), dtype=np.int64)
        lost = self._row + subproblem.price * (room - self._step * steps)
        place = int(np.argmin(lost))  # the first minimum has the fewest tokens
        if lost[place] > subproblem.limit:
            return None
        remaining = int(steps[place])
        firsts = {start: first for start, first, _, _ in graph.nodes}
        chosen = []
        while node != graph.last_node:
            arc = firsts[node] + int(self._choices[node][remaining - self._lowest[node]])
            chosen.append(arc)
            remaining -= graph.tokens[arc] // self._step
            node = graph.heads[arc]
        return Path(arcs=chosen, loss=int(lost[place]))
