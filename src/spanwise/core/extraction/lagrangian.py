"""Lagrangian relaxation of the token budget: dual bound and reduced costs of a chain.

Rules:
    An item is a chunk of positive value. The gap before an item consists of the chunks between it
    and the item before.
    At a price per token, the reduced value of a chunk is its value less the price of its tokens,
    and the budget no longer applies. The best runs at a price are found in one pass. Their reduced
    value plus the price of the whole budget is an upper bound on every solution inside the budget
    (weak duality). The dual problem is to find the price with the least bound.
    Reduced values are integers: values shifted left by `shift` bits, so that prices can be
    integers too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_FALLING = (1024, 768, 256, 32)
"""Prices to try in turn until a solution exceeds the budget, in 1,024ths of the first price."""

INFINITY = 1 << 61
"""Cost of a step that is not allowed; greater than any reduced value."""


class Problem(NamedTuple):
    """Limits and charges of one extraction; values are integers, lengths are in tokens."""

    budget: int
    """Maximum tokens of all runs, including one header each."""
    longest: int
    """Maximum tokens of one run, without its header."""
    charge: int
    """Cost of each run, in units of value."""
    header: int
    """Tokens of one header."""
    shift: int
    """Fraction bits of a reduced value."""

    @property
    def lowest_price(self) -> int:
        """Lowest price: the most valuable solution is best, and the shortest one of equal value.

        It is one unit: the price of all tokens that fit is less than the smallest difference in
        value. If the budget is too large for that, the price is 0, and the number of tokens does
        not break ties.
        """
        return 1 if self.budget < 1 << self.shift else 0

    def opening(self, price: int) -> int:
        """Return the fixed cost of a run at a price: its charge and the tokens of its header."""
        return (self.charge << self.shift) + price * self.header


class Chain(NamedTuple):
    """Items in order, as arrays of one length."""

    positions: Integers
    """Position of the chunk of each item, among all chunks."""
    values: Integers
    """Value of each item."""
    tokens: Integers
    """Tokens of each item."""
    gap_values: Integers
    """Sum of the values of the chunks between the item and the item before, less the costs of the
    borders between these two."""
    gap_tokens: Integers
    """Tokens of the chunks between the item and the item before."""
    blocked: NDArray[np.bool_]
    """Whether no run may bridge the gap before the item (other document, or too long)."""
    documents: Integers
    """Index of the document of each item, ascending."""
    value_ends: Integers
    """Running sums of values and gap values."""
    token_ends: Integers
    """Running sums of tokens and gap tokens."""

    def reduced_values(self, price: int, *, shift: int) -> Integers:
        """Return the reduced value of each item at a price."""
        return (self.values << shift) - price * self.tokens


class DualBound(NamedTuple):
    """Solution of the dual problem, and the best feasible solution found by the search."""

    price: int
    """Price per token with the least bound."""
    bound: int
    """Dual bound: upper bound on the shifted value of every solution."""
    value: int
    """Shifted value of the best feasible solution; 0 for the empty one."""
    value_price: int | None
    """Price at which the best feasible solution was found; None for the empty solution."""
    unconstrained: bool
    """Whether the best feasible solution is optimal because the budget does not bind."""


class Potentials(NamedTuple):
    """Best reduced values of the items before and after each place of a chain, at a price.

    Each list has one entry more than the chain has items: entry `i` is the place between item
    `i - 1` and item `i`. Left and right values together give the best path through an arc, and
    with it the reduced cost of that arc.
    """

    closed_before: list[int]
    """Best value of the items before the place, with no run open there."""
    open_before: list[int]
    """Best value of the items before the place, with a run open that contains item `i - 1`."""
    closed_after: list[int]
    """Best value of the items from the place on, with no run open there."""
    open_after: list[int]
    """Best value of the items from the place on, with a run open there."""


def keep_items(chain: Chain, keep: NDArray[np.bool_], *, longest: int) -> Chain:
    """Return a chain of the selected items; the other items become part of the gaps.

    A gap of more than `longest` tokens is blocked.
    """
    (index,) = keep.nonzero()
    values, tokens = chain.values[index], chain.tokens[index]
    value_ends, token_ends = chain.value_ends[index], chain.token_ends[index]
    gap_values, gap_tokens = value_ends - values, token_ends - tokens
    gap_values[1:] -= value_ends[:-1]
    gap_tokens[1:] -= token_ends[:-1]
    documents = chain.documents[index]
    blocked = gap_tokens > longest
    blocked[:1] = True
    blocked[1:] |= documents[1:] != documents[:-1]
    return Chain(
        positions=chain.positions[index],
        values=values,
        tokens=tokens,
        gap_values=gap_values,
        gap_tokens=gap_tokens,
        blocked=blocked,
        documents=documents,
        value_ends=value_ends,
        token_ends=token_ends,
    )


def crossings_at(chain: Chain, price: int, *, shift: int) -> Integers:
    """Return the reduced value of the gap before each item; -INFINITY if the gap is blocked."""
    crossings = (chain.gap_values << shift) - price * chain.gap_tokens
    crossings[chain.blocked] = -INFINITY
    return crossings


def prune_by_bound(
    chain: Chain, reduced: Integers, *, opening: int, loss: int
) -> NDArray[np.bool_]:
    """Return whether each item can be the first or last of a run, given the maximum `loss`.

    `loss` is the maximum loss of a solution against the dual bound. Removing an item or a whole run
    from such a solution must not gain more than `loss`. So each item is worth at least `-loss`, and
    the positive items of its document are worth at least the opening cost less `loss`.
    """
    new = np.ones(len(reduced), dtype=np.bool_)
    np.not_equal(chain.documents[1:], chain.documents[:-1], out=new[1:])
    sums = np.add.reduceat(np.maximum(reduced, 0), new.nonzero()[0])
    rich: NDArray[np.bool_] = (sums >= opening - loss)[new.cumsum() - 1]
    return rich & (reduced >= -loss)


class ChainRelaxation:
    """The relaxed problem of a chain: the value of its best runs at a price.

    An item without a positive reduced value at one price has none at a higher price. Once a
    solution exceeds the budget, only higher prices follow, so such items are removed permanently.
    """

    def __init__(self, chain: Chain, problem: Problem) -> None:
        self._chain = chain
        self._problem = problem

    def __call__(self, price: int) -> tuple[int, int]:
        """Return reduced value and tokens, headers included, of the best runs without the budget.

        The runs are those of `relaxed_runs`. After a solution over the budget, later prices must be
        higher.
        """
        problem = self._problem
        chain, reduced, crossings = _useful_items(self._chain, problem, price)
        opening, header = problem.opening(price), problem.header
        # Dynamic programming from the last item to the first. `closed` and `opened` are the best
        # reduced values of the rest of the chain, without and with a run open.
        closed = closed_tokens = opened = open_tokens = 0
        for reduced_value, crossing, tokens, gap_tokens in zip(
            reversed(reduced),
            reversed(crossings),
            reversed(chain.tokens.tolist()),
            reversed(chain.gap_tokens.tolist()),
            strict=True,
        ):
            opened += reduced_value
            open_tokens += tokens
            if opened - opening >= closed:
                closed, closed_tokens = opened - opening, open_tokens + header
            opened += crossing
            open_tokens += gap_tokens
            if opened < closed:
                opened, open_tokens = closed, closed_tokens
        if closed_tokens > problem.budget:
            self._chain = chain
        return closed, closed_tokens


def _useful_items(chain: Chain, problem: Problem, price: int) -> tuple[Chain, list[int], list[int]]:
    """Return the items that may begin or end a run, with reduced values and crossings."""
    reduced = chain.reduced_values(price, shift=problem.shift)
    keep = prune_by_bound(chain, reduced, opening=problem.opening(price), loss=-1)
    chain = keep_items(chain, keep, longest=problem.longest)
    return chain, reduced[keep].tolist(), crossings_at(chain, price, shift=problem.shift).tolist()


def relaxed_runs(chain: Chain, problem: Problem, price: int) -> list[tuple[int, int]]:
    """Return the best runs at a price without the budget, as positions of first and last chunk.

    Among solutions of equal value, it returns the one whose list of (start, -end) is
    lexicographically smallest.
    """
    chain, reduced, crossings = _useful_items(chain, problem, price)
    opening = problem.opening(price)
    closed = opened = 0
    # Backward pass: whether it is best to begin a run at each item, and to go on with an open one.
    begins, holds = [], []
    for reduced_value, crossing in zip(reversed(reduced), reversed(crossings), strict=True):
        opened += reduced_value
        begins.append(opened - opening >= closed)
        closed = max(closed, opened - opening)
        holds.append(opened + crossing >= closed)
        opened = max(closed, opened + crossing)
    # Forward pass: follow the decisions and read off the runs.
    firsts, lasts, inside = [], [], False
    for item, (begin, hold) in enumerate(zip(reversed(begins), reversed(holds), strict=True)):
        if inside and not hold:
            lasts.append(item - 1)
        if begin and not (inside and hold):
            firsts.append(item)
        inside = begin or (inside and hold)
    if inside:
        lasts.append(len(reduced) - 1)
    positions = chain.positions
    return list(zip(positions[firsts].tolist(), positions[lasts].tolist(), strict=True))


def potentials_at(chain: Chain, problem: Problem, price: int) -> Potentials:
    """Return the potentials of a chain at a price: one pass forwards, one backwards."""
    reduced = chain.reduced_values(price, shift=problem.shift).tolist()
    crossings = crossings_at(chain, price, shift=problem.shift).tolist()
    opening = problem.opening(price)
    closed, opened = 0, -INFINITY
    closed_before, open_before = [closed], [opened]
    for reduced_value, crossing in zip(reduced, crossings, strict=True):
        opened += crossing
        begin = closed - opening
        opened = reduced_value + (opened if opened > begin else begin)
        closed = opened if opened > closed else closed
        closed_before.append(closed)
        open_before.append(opened)
    closed, opened = 0, 0
    closed_after, open_after = [closed], [opened]
    for reduced_value, crossing in zip(reversed(reduced), reversed(crossings), strict=True):
        with_item = reduced_value + opened
        begin = with_item - opening
        closed = begin if begin > closed else closed
        opened = with_item + crossing
        opened = opened if opened > closed else closed
        closed_after.append(closed)
        open_after.append(opened)
    closed_after.reverse()
    open_after.reverse()
    return Potentials(
        closed_before=closed_before,
        open_before=open_before,
        closed_after=closed_after,
        open_after=open_after,
    )


def initial_price(chain: Chain, problem: Problem) -> int:
    """Return the first price to try: the value per token of the item that fills the budget.

    The items are added in order of value per token, as in the fractional knapsack problem.
    """
    order = np.argsort(-(chain.values / chain.tokens), kind="stable")
    place = int(np.searchsorted(np.cumsum(chain.tokens[order]), problem.budget))
    if place == len(order):
        return 0
    last = order[place]
    density = (int(chain.values[last]) << problem.shift) // int(chain.tokens[last])
    return min(density, (int(chain.values.sum()) << problem.shift) // problem.budget)


def minimize_dual(
    best: Callable[[int], tuple[int, int]], problem: Problem, *, first: int
) -> DualBound:
    """Return the price with the least dual bound.

    The bound is convex and piecewise linear in the price; each solution is one of its lines. Of two
    solutions, one over the budget and one inside it, the next price is the intersection of their
    lines. The search ends when no solution lies above the intersection.

    Args:
        best: Returns reduced value and tokens of the best relaxed solution at a price. After a
            solution over the budget it is called with higher prices only.
        problem: Limits and charges.
        first: First price to try.
    """
    lowest = problem.lowest_price
    price, tried = max(first, lowest), set[int]()
    over: tuple[int, int] | None = None
    inside, inside_price = (0, 0), None
    least = (2 * INFINITY, first)
    while price not in tried:
        tried.add(price)
        reduced_value, tokens = best(price)
        line = (reduced_value + price * tokens, tokens)
        least = min(least, (reduced_value + price * problem.budget, price))
        if tokens <= problem.budget:
            inside, inside_price = line, price
        else:
            over = line
        # Choose the next price: lower while all solutions fit, higher while none does, and then
        # the intersection of the lines of the last solution on each side.
        if over is None:
            falling = first * _FALLING[len(tried)] >> 10 if len(tried) < len(_FALLING) else 0
            price = max(falling, lowest)
        elif inside_price is None and len(tried) < 4:
            price += max(price >> 2, 1)
        else:
            price = (over[0] - inside[0]) // (over[1] - inside[1])
    return DualBound(
        price=least[1],
        bound=least[0],
        value=inside[0],
        value_price=inside_price,
        unconstrained=lowest > 0 and inside_price == lowest,
    )
