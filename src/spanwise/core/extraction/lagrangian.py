"""The price of a token: how little an answer that respects the budget can be bettered.

Rules:
    An item is a chunk that is worth something; the gap before it reaches back to the item before.
    At a price, a chunk is worth its value less the price of its tokens, and the budget is free:
    the best runs are then found in one pass, and what they are worth, plus the price of the whole
    budget, is a bound on every answer inside the budget. The least such bound is sought.
    Worths are integers, values shifted left by `shift` bits so that a price may be an integer too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_FALLING = (1024, 768, 256, 32)
"""Prices to try while answers stay inside the budget, in 1,024ths of the first; then the lowest."""

NEVER = 1 << 61
"""More than any worth: what a step costs that may not be taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for every run; values are integers, lengths are in tokens."""

    budget: int
    """Of all runs, a header each."""
    longest: int
    """Of one run, without its header."""
    charge: int
    header: int
    shift: int
    """Bits between values and worths."""

    @property
    def lowest_price(self) -> int:
        """Price at which the most value is best, and of equal values the fewest tokens.

        It is one unit: all tokens that fit cost less than the least difference in value. Where
        the budget is too large for that it is 0, and tokens do not tell.
        """
        return 1 if self.budget < 1 << self.shift else 0

    def opening(self, price: int) -> int:
        """Return what a run costs beside its chunks, at a price."""
        return (self.charge << self.shift) + price * self.header


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Items in order, as arrays of one length."""

    positions: Integers
    """Of the chunk of each item, among all chunks."""
    values: Integers
    tokens: Integers
    gap_values: Integers
    """Of the chunks between the item and the one before, together; 0 where there is none."""
    gap_tokens: Integers
    fresh: NDArray[np.bool_]
    """Whether the gap before the item is never crossed."""
    documents: Integers
    """Number of the document of each item, ascending."""
    value_ends: Integers
    """Running sums of values and gap values."""
    token_ends: Integers
    """Running sums of tokens and gap tokens."""

    def worths(self, price: int, *, shift: int) -> Integers:
        """Return the worth of each item at a price."""
        return (self.values << shift) - price * self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class DualBound:
    """Price with the bound it gives, and the best answer met inside the budget."""

    price: int
    bound: int
    value: int
    """Of that answer, shifted as worths are; 0 for no run at all."""
    value_price: int | None
    """Price at which it is the best; None for no run at all."""
    free: bool
    """Whether it is the best of all, fewest tokens included, because the budget does not bind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Potentials:
    """Worth of the best answer through each state of a chain, at a price.

    Each list has one entry more than the chain has items: entry `i` is about the place between
    item `i - 1` and item `i`.
    """

    closed_before: list[int]
    """Best of the items before the place, no run open there."""
    open_before: list[int]
    """The same with a run that holds item `i - 1` still open."""
    closed_after: list[int]
    """Best of the items from the place on, no run open there."""
    open_after: list[int]
    """The same with a run still open."""


def thin(chain: Chain, keep: NDArray[np.bool_], *, longest: int) -> Chain:
    """Return a chain of the kept items; the others become part of the gaps.

    A gap of more than `longest` tokens is never crossed.
    """
    index = np.flatnonzero(keep)
    values, tokens = chain.values[index], chain.tokens[index]
    value_ends, token_ends = chain.value_ends[index], chain.token_ends[index]
    gap_values, gap_tokens = value_ends - values, token_ends - tokens
    gap_values[1:] -= value_ends[:-1]
    gap_tokens[1:] -= token_ends[:-1]
    documents = chain.documents[index]
    fresh = gap_tokens > longest
    fresh[:1] = True
    fresh[1:] |= documents[1:] != documents[:-1]
    return Chain(
        positions=chain.positions[index],
        values=values,
        tokens=tokens,
        gap_values=gap_values,
        gap_tokens=gap_tokens,
        fresh=fresh,
        documents=documents,
        value_ends=value_ends,
        token_ends=token_ends,
    )


def crossings_at(chain: Chain, price: int, *, shift: int) -> Integers:
    """Return the worth of the gap before each item; -NEVER where it is never crossed."""
    crossings = (chain.gap_values << shift) - price * chain.gap_tokens
    crossings[chain.fresh] = -NEVER
    return crossings


def prune_by_bound(chain: Chain, worths: Integers, *, opening: int, loss: int) -> NDArray[np.bool_]:
    """Return which items may begin or end a run of an answer that loses at most `loss`.

    Without the item, or without the run, the answer would lose less; so the item alone, and what
    is worth something in its document less the opening of a run, are worth at least `-loss`.
    """
    new = np.ones(len(worths), dtype=np.bool_)
    np.not_equal(chain.documents[1:], chain.documents[:-1], out=new[1:])
    sums = np.add.reduceat(np.maximum(worths, 0), np.flatnonzero(new))
    rich: NDArray[np.bool_] = (sums >= opening - loss)[np.cumsum(new) - 1]
    return rich & (worths >= -loss)


class ChainBounder:
    """Finds what the best runs of a chain are worth at a price.

    An item that is worth nothing at a price is worth nothing at a higher one: once a price is too
    low for the budget, the items are thinned for good.
    """

    def __init__(self, chain: Chain, terms: Terms) -> None:
        self._chain = chain
        self._terms = terms

    def __call__(self, price: int) -> tuple[int, int]:
        """Return worth and tokens, headers included, of the best runs, budget apart.

        They are the runs of `runs_at`. After an answer over the budget, prices must be higher.
        """
        terms = self._terms
        chain, worths, crossings = _worthy(self._chain, terms, price)
        opening, header = terms.opening(price), terms.header
        closed = closed_tokens = opened = open_tokens = 0  # of what follows an item
        for reduced_value, crossing, tokens, gap_tokens in zip(
            reversed(worths),
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
        if closed_tokens > terms.budget:
            self._chain = chain
        return closed, closed_tokens


def _worthy(chain: Chain, terms: Terms, price: int) -> tuple[Chain, list[int], list[int]]:
    """Return the items that may begin or end a run of a best answer, their worths and crossings."""
    worths = chain.worths(price, shift=terms.shift)
    keep = prune_by_bound(chain, worths, opening=terms.opening(price), loss=-1)
    chain = thin(chain, keep, longest=terms.longest)
    return chain, worths[keep].tolist(), crossings_at(chain, price, shift=terms.shift).tolist()


def runs_at(chain: Chain, terms: Terms, price: int) -> list[tuple[int, int]]:
    """Return the best runs at a price, budget apart, as positions of first and last chunk.

    Of answers of equal worth it is the one whose list of (start, -end) is lexicographically
    smallest.
    """
    chain, worths, crossings = _worthy(chain, terms, price)
    opening = terms.opening(price)
    closed = opened = 0
    begins, holds = [], []  # whether a run begins with an item, or goes on with it
    for reduced_value, crossing in zip(reversed(worths), reversed(crossings), strict=True):
        opened += reduced_value
        begins.append(opened - opening >= closed)
        closed = max(closed, opened - opening)
        holds.append(opened + crossing >= closed)
        opened = max(closed, opened + crossing)
    firsts, lasts, inside = [], [], False
    for item, (begin, hold) in enumerate(zip(reversed(begins), reversed(holds), strict=True)):
        if inside and not hold:
            lasts.append(item - 1)
        if begin and not (inside and hold):
            firsts.append(item)
        inside = begin or (inside and hold)
    if inside:
        lasts.append(len(worths) - 1)
    positions = chain.positions
    return list(zip(positions[firsts].tolist(), positions[lasts].tolist(), strict=True))


def potentials_at(chain: Chain, terms: Terms, price: int) -> Potentials:
    """Return the potentials of a chain at a price."""
    worths = chain.worths(price, shift=terms.shift).tolist()
    crossings = crossings_at(chain, price, shift=terms.shift).tolist()
    opening = terms.opening(price)
    closed, opened = 0, -NEVER
    closed_before, open_before = [closed], [opened]
    for reduced_value, crossing in zip(worths, crossings, strict=True):
        opened += crossing
        begun = closed - opening
        opened = reduced_value + (opened if opened > begun else begun)
        closed = opened if opened > closed else closed
        closed_before.append(closed)
        open_before.append(opened)
    closed, opened = 0, 0
    closed_after, open_after = [closed], [opened]
    for reduced_value, crossing in zip(reversed(worths), reversed(crossings), strict=True):
        held = reduced_value + opened
        begun = held - opening
        closed = begun if begun > closed else closed
        opened = held + crossing
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


def first_price(chain: Chain, terms: Terms) -> int:
    """Return a price to begin with: that of the item that fills the budget, densest items first."""
    order = np.argsort(-(chain.values / chain.tokens), kind="stable")
    place = int(np.searchsorted(np.cumsum(chain.tokens[order]), terms.budget))
    if place == len(order):
        return 0
    last = order[place]
    density = (int(chain.values[last]) << terms.shift) // int(chain.tokens[last])
    return min(density, (int(chain.values.sum()) << terms.shift) // terms.budget)


def least_bound(best: Callable[[int], tuple[int, int]], terms: Terms, *, first: int) -> DualBound:
    """Return the price whose bound is least.

    The bound is convex and piecewise linear in the price. Two answers, one over the budget and one
    inside it, are two of its lines; the next price is where they cross, until no line lies above.

    Args:
        best: Returns worth and tokens of the best answer at a price, budget apart. Once an answer
            was over the budget it is called with higher prices only.
        terms: Of the runs.
        first: Price to begin with.
    """
    lowest = terms.lowest_price
    price, tried = max(first, lowest), set[int]()
    over: tuple[int, int] | None = None
    inside, inside_price = (0, 0), None
    least = (2 * NEVER, first)
    while price not in tried:
        tried.add(price)
        reduced_value, tokens = best(price)
        line = (reduced_value + price * tokens, tokens)
        least = min(least, (reduced_value + price * terms.budget, price))
        if tokens <= terms.budget:
            inside, inside_price = line, price
        else:
            over = line
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
        free=lowest > 0 and inside_price == lowest,
    )
