"""Numbers of chunks as callers hold them: of several documents, or of one in a flat list.

Segments: the runs of chunks worth most together inside a token budget, found exactly.

Rules:
    A run is one or more consecutive chunks of one document; runs share no chunk.
    Each run has at most `max_segment_tokens` and is worth at least `min_segment_value`; all runs
    together, with a header each, have at most `budget_tokens`. A run that holds a required chunk
    is worth enough by that alone.
    First the most required chunks are held, then the sum of chunk values less the charges is
    greatest, then the tokens are fewest, then the list of (start, -end) is lexicographically
    smallest, documents in the given order. So the answer is unique.
    Two runs touch only where their union would be too long: otherwise the union is better.
    Values are rounded to a billionth of a share. Shares reach down to a millionth, so a millionth
    would tie what differs; a billionth keeps those apart and is still coarse enough to swallow the
    last bits in which platforms differ. From there on all arithmetic is on integers.

Idea: a price per token replaces the budget and gives a bound on every answer (`prices`); runs that
cannot be part of an answer near the bound are dropped; the rest is searched exactly (`knapsack`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanwise.core.extraction.candidate_graph import (
    ChainGraph,
    RunGraph,
    Runs,
    allowed_runs,
    worths_with,
)
from spanwise.core.extraction.knapsack import TooMuchWorkError, best_path
from spanwise.core.extraction.lagrangian import (
    Chain,
    ChainBounder,
    DualBound,
    Terms,
    first_price,
    least_bound,
    prune_by_bound,
    runs_at,
    thin,
)
from spanwise.errors import OptionError

NumbersByDocument = ArrayLike | Sequence[ArrayLike]
"""A list or array for each document, or one of numbers for a single document."""


def by_document(numbers: NumbersByDocument) -> list[NDArray[Any]]:
    """Return one array for each document; a flat list of numbers is a single document.

    An empty list holds no document; an empty document is an empty list inside it.
    """
    rows: Any = numbers
    if len(rows) and np.ndim(rows[0]) == 0:
        rows = [rows]
    return [np.asarray(row) for row in rows]


Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Ends = tuple[int, int]
"""Positions of the first and the last chunk of a run, among all chunks."""

_UNITS = 1_000_000_000
"""Integer units in a value of 1."""
_WORTH_BITS = 59
"""A sum of two worths, and a worth less one that may not be, stay inside 63 bits."""
_MAX_SHIFT = 30
_MAX_TOKENS = 1 << 40
_MANY_RUNS = 2_000
"""Above this, runs that lose little are tried alone first: they give a better answer to beat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Consecutive chunks of one document."""

    document: int
    """Index among the documents given."""
    start: int
    """First chunk, an index into the document's values."""
    end: int
    """One past the last chunk."""
    value: float
    """Sum of the chunk values, before the charge."""
    tokens: int
    """Of the text, without a header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """Runs worth most together inside a budget."""

    runs: tuple[Run, ...]
    """By document, then start."""
    value: float
    """Sum of the chunk values less the charges."""
    tokens: int
    """Of all runs, a header each."""
    bound: float
    """No runs that hold as many required chunks are worth more; `value` where it is optimal."""
    optimal: bool
    """False only where proving it would have taken too much work."""


def chunk_values(
    shares: ArrayLike,
    lengths_tokens: ArrayLike,
    *,
    penalty_share: float,
    reference_length_tokens: int = 100,
) -> Floats:
    """Return the value of each chunk: its share less what its tokens must earn.

    Args:
        shares: Share of the question's evidence of each chunk, >= 0; 0 for a chunk that is no
            candidate.
        lengths_tokens: Length of each chunk in tokens, > 0. Same length as `shares`.
        penalty_share: Share at which a chunk of the reference length is worth nothing, >= 0.
        reference_length_tokens: Reference length, > 0.

    Returns:
        One value per chunk, negative where the chunk is not worth its tokens; empty for no chunks.

    Raises:
        OptionError: If the lengths differ, or a number is out of its range.
    """
    share_array = np.asarray(shares, dtype=np.float64)
    lengths = np.asarray(lengths_tokens, dtype=np.int64)
    if share_array.ndim != 1 or share_array.shape != lengths.shape:
        raise OptionError(
            f"shares have shape {share_array.shape!r} and lengths {lengths.shape!r}; "
            "give one length for each share"
        )
    if not penalty_share >= 0:
        raise OptionError(f"penalty_share is {penalty_share!r}; it must be at least 0")
    if reference_length_tokens < 1:
        raise OptionError(
            f"reference_length_tokens is {reference_length_tokens!r}; it must be at least 1"
        )
    return share_array - penalty_share * lengths / reference_length_tokens


# One argument for each term of the problem: a class for them would only repeat them.
def extract_segments(  # noqa: PLR0913
    values: NumbersByDocument,
    lengths_tokens: NumbersByDocument,
    *,
    budget_tokens: int,
    segment_charge: float = 0.0,
    min_segment_value: float = 0.0,
    max_segment_tokens: int | None = None,
    header_tokens: int = 0,
    required: Sequence[tuple[int, int]] = (),
) -> Extraction:
    """Return the runs worth most together inside a token budget.

    Args:
        values: Chunk values of each document, or of one document in a flat list; finite. Their
            sizes together, times one more than the number of required chunks, stay below 5e8.
        lengths_tokens: Lengths of the same chunks in tokens, >= 1; limits count what these do.
        budget_tokens: Tokens of all runs, a header each, at most; >= 0.
        segment_charge: What each run costs, >= 0.
        min_segment_value: What each run must be worth before the charge, >= 0.
        max_segment_tokens: Tokens of each run without its header, at most; >= 1. None for no limit.
        header_tokens: Tokens of a header, >= 0.
        required: Chunks to hold before anything else, as pairs of document and chunk. Any number
            may be missed where not all fit; a chunk given twice counts twice.

    Returns:
        The best runs under the rules of this module; none where nothing is worth its charge.

    Raises:
        OptionError: If arguments do not match or are out of range.
    """
    chunks = _Chunks.joined(by_document(values), by_document(lengths_tokens))
    _check_limits(
        budget_tokens=budget_tokens,
        header_tokens=header_tokens,
        segment_charge=segment_charge,
        min_segment_value=min_segment_value,
        max_segment_tokens=max_segment_tokens,
    )
    charge, least = round(segment_charge * _UNITS), round(min_segment_value * _UNITS)
    weights = chunks.weigh(required, charge=charge, least=least)
    fitting = budget_tokens - header_tokens
    terms = Terms(
        budget=budget_tokens,
        longest=fitting if max_segment_tokens is None else min(fitting, max_segment_tokens),
        charge=charge,
        header=header_tokens,
        shift=_shift(weights, charge=charge),
    )
    chain = chunks.chain(weights, longest=terms.longest)
    if not len(chain.positions):
        return Extraction(runs=(), value=0.0, tokens=0, bound=0.0, optimal=True)
    search = _Search(chain, terms, least=least, capped=terms.longest < fitting)
    return chunks.extraction(search.solve(), weights, terms)


def _shift(weights: Integers, *, charge: int) -> int:
    """Return the bits that are left for worths beside the sum of all sizes of values."""
    size = int(np.abs(weights).sum(dtype=np.float64)) + charge
    if size >= 1 << _WORTH_BITS:
        raise OptionError(
            f"the sizes of the values and the charge sum to {size / _UNITS!r}, required chunks "
            f"included; they must stay below {(1 << _WORTH_BITS) / _UNITS!r}: scale them down"
        )
    return min(_MAX_SHIFT, _WORTH_BITS - size.bit_length())


def _check_limits(
    *,
    budget_tokens: int,
    header_tokens: int,
    segment_charge: float,
    min_segment_value: float,
    max_segment_tokens: int | None,
) -> None:
    counts = [("budget_tokens", budget_tokens, 0), ("header_tokens", header_tokens, 0)]
    if max_segment_tokens is not None:
        counts.append(("max_segment_tokens", max_segment_tokens, 1))
    for name, count, low in counts:
        if not low <= count < _MAX_TOKENS:
            raise OptionError(
                f"{name} is {count!r}; it must be at least {low} and below {_MAX_TOKENS}"
            )
    amounts = [("segment_charge", segment_charge), ("min_segment_value", min_segment_value)]
    for name, amount in amounts:
        if not 0 <= amount < (1 << _WORTH_BITS) / _UNITS:
            raise OptionError(
                f"{name} is {amount!r}; it must be at least 0 and below "
                f"{(1 << _WORTH_BITS) / _UNITS!r}"
            )


@dataclass(frozen=True, slots=True)
class _Solution:
    runs: list[Ends]
    bound: int
    """Shifted as worths are."""
    optimal: bool


@dataclass(frozen=True, slots=True)
class _Chunks:
    """All documents, one after the other, values in integer units."""

    firsts: Integers
    """Position of the first chunk of each document."""
    documents: Integers
    values: Integers
    tokens: Integers

    @classmethod
    def joined(cls, values: Sequence[Floats], lengths_tokens: Sequence[Integers]) -> _Chunks:
        counts = [len(array) for array in values]
        lengths = [len(array) for array in lengths_tokens]
        if counts != lengths:
            raise OptionError(
                f"the documents have {counts!r} values and {lengths!r} lengths; "
                "give one length for each value"
            )
        joined = np.concatenate([np.zeros(0), *values]) * _UNITS
        if not np.all(np.abs(joined) < 1 << _WORTH_BITS):
            raise OptionError(
                "a value is not finite or too large; values must be finite, of a size below "
                f"{(1 << _WORTH_BITS) / _UNITS!r}"
            )
        filled = [array for array in lengths_tokens if len(array)]
        tokens = np.concatenate([np.zeros(0, dtype=np.int64), *filled])
        if tokens.dtype.kind not in "iu" or (len(tokens) and tokens.min() < 1):
            raise OptionError("a length is not a whole number of at least 1; count tokens")
        if len(tokens) and int(tokens.max()) >= _MAX_TOKENS // len(tokens):
            raise OptionError(f"a length is {int(tokens.max())!r} tokens; that is out of range")
        return cls(
            firsts=np.cumsum([0, *counts], dtype=np.int64),
            documents=np.repeat(np.arange(len(counts), dtype=np.int64), counts),
            values=np.rint(joined).astype(np.int64),
            tokens=tokens.astype(np.int64),
        )

    def weigh(self, required: Sequence[tuple[int, int]], *, charge: int, least: int) -> Integers:
        """Return the values, a bonus added to required chunks that nothing else can outweigh."""
        if not required:
            return self.values
        positions = []
        for document, chunk in required:
            inside = 0 <= document < len(self.firsts) - 1
            if not inside or not 0 <= chunk < self.firsts[document + 1] - self.firsts[document]:
                raise OptionError(f"required chunk {(document, chunk)!r} is none of the chunks")
            positions.append(int(self.firsts[document]) + chunk)
        size = np.abs(self.values).sum(dtype=np.float64) + float(charge) * len(required) + least
        if size * (len(required) + 1) >= 1 << _WORTH_BITS:
            raise OptionError(
                f"the sizes of the values sum to {size / _UNITS!r} with {len(required)} required "
                "chunks; that is out of range: scale values and charge down"
            )
        weights = self.values.copy()
        bonus = int(np.abs(self.values).sum()) + charge * len(required) + least + 1
        np.add.at(weights, positions, bonus)
        return weights

    def chain(self, weights: Integers, *, longest: int) -> Chain:
        """Return the chunks that are worth something and not too long, as a chain."""
        none = np.zeros_like(self.tokens)
        chain = Chain(
            positions=np.arange(len(self.tokens), dtype=np.int64),
            values=weights,
            tokens=self.tokens,
            gap_values=none,
            gap_tokens=none,
            fresh=np.diff(self.documents, prepend=-1) > 0,
            documents=self.documents,
            value_ends=np.cumsum(weights),
            token_ends=np.cumsum(self.tokens),
        )
        return thin(chain, (weights > 0) & (self.tokens <= longest), longest=longest)

    def extraction(self, solution: _Solution, weights: Integers, terms: Terms) -> Extraction:
        """Return the solution in the words of the caller, bonuses taken away again."""
        first, last = np.array(solution.runs, dtype=np.int64).reshape(-1, 2).T
        values, lengths = _sums(self.values, first, last), _sums(self.tokens, first, last)
        document = self.documents[first]
        start = first - self.firsts[document]
        runs = [
            Run(document=number, start=begin, end=begin + chunks, value=worth / _UNITS, tokens=size)
            for number, begin, chunks, worth, size in zip(
                document.tolist(),
                start.tolist(),
                (last + 1 - first).tolist(),
                values.tolist(),
                lengths.tolist(),
                strict=True,
            )
        ]
        value = int(values.sum()) - terms.charge * len(runs)
        tokens = int(lengths.sum()) + terms.header * len(runs)
        bound = value
        if not solution.optimal:
            bonus = int((_sums(weights, first, last) - values).sum())
            bound = (solution.bound >> terms.shift) - bonus
        return Extraction(
            runs=tuple(runs),
            value=value / _UNITS,
            tokens=tokens,
            bound=bound / _UNITS,
            optimal=solution.optimal,
        )


def _sums(array: Integers, first: Integers, last: Integers) -> Integers:
    """Return the sums of ranges, both ends held."""
    ends = np.cumsum(array)
    return ends[last] - ends[first] + array[first]


class _Search:
    """Search for the best runs of a chain.

    First without the limits of single runs, which is quick. Where its answer breaks them, among
    the runs that they allow.
    """

    def __init__(self, chain: Chain, terms: Terms, *, least: int, capped: bool) -> None:
        self._chain = chain
        self._terms = terms
        self._least = least
        # A run of the best answer is worth more than its charge, or it were better left out.
        self._limited = capped or least > terms.charge

    def solve(self) -> _Solution:
        """Return the best runs."""
        chain, terms = self._chain, self._terms
        quote = least_bound(ChainBounder(chain, terms), terms, first=first_price(chain, terms))
        if not self._limited:
            return self._solve_chain(quote)
        runs = self._known(quote)
        if self._allows(runs):
            solution = self._solve_chain(quote)
            if self._allows(solution.runs):
                return solution
            runs = solution.runs
        return self._solve_limited(quote, self._allowed(runs))

    def _sizes(self, runs: list[Ends]) -> tuple[Integers, Integers]:
        """Return values and tokens of runs."""
        chain = self._chain
        first, last = np.searchsorted(chain.positions, np.array(runs).reshape(-1, 2).T)
        return (
            chain.value_ends[last] - chain.value_ends[first] + chain.values[first],
            chain.token_ends[last] - chain.token_ends[first] + chain.tokens[first],
        )

    def _allowed(self, runs: list[Ends]) -> list[Ends]:
        values, tokens = self._sizes(runs)
        allowed = (values >= self._least) & (tokens <= self._terms.longest)
        return [run for run, keep in zip(runs, allowed.tolist(), strict=True) if keep]

    def _allows(self, runs: list[Ends]) -> bool:
        return len(self._allowed(runs)) == len(runs)

    def _worth(self, runs: list[Ends]) -> int:
        values, _ = self._sizes(runs)
        return (int(values.sum()) - self._terms.charge * len(runs)) << self._terms.shift

    def _solve_chain(self, quote: DualBound) -> _Solution:
        """Return the best runs, the limits of single runs apart."""
        if quote.free:
            return _Solution(self._known(quote), quote.value, optimal=True)
        worths = self._chain.worths(quote.price, shift=self._terms.shift)
        try:
            return _first(
                self._try_chain(quote, worths, limits)
                for limits in _limits(quote.bound - quote.value)
            )
        except TooMuchWorkError:
            return _Solution(self._known(quote), quote.bound, optimal=quote.bound == quote.value)

    def _try_chain(self, quote: DualBound, worths: Integers, limits: list[int]) -> _Solution | None:
        """Return the best runs if they lose at most the last limit."""
        terms, price = self._terms, quote.price
        keep = prune_by_bound(self._chain, worths, opening=terms.opening(price), loss=limits[-1])
        chain = thin(self._chain, keep, longest=terms.longest)
        graph = ChainGraph(chain, terms, price)
        # Items may bridge gaps to runs that are too long; without them the bound was lower.
        bound = graph.worth + price * terms.budget
        slack = bound - quote.bound
        path = best_path(
            graph.arcs, price=price, budget=terms.budget, limits=[slack + limit for limit in limits]
        )
        if path is None:
            return None
        return _Solution(graph.runs(path.arcs), bound - path.loss, optimal=True)

    def _known(self, quote: DualBound) -> list[Ends]:
        """Return the runs of the answer that a quote knows."""
        if quote.value_price is None:
            return []
        return runs_at(self._chain, self._terms, quote.value_price)

    def _solve_limited(self, quote: DualBound, known: list[Ends]) -> _Solution:
        """Return the best runs under the limits of single runs; the known runs keep them."""
        terms = self._terms
        value = self._worth(known)
        most = quote.bound - value
        runs, losses = self._list_runs(quote, most)
        limit = most >> 4 if len(losses) > _MANY_RUNS else most
        while True:
            graph = RunGraph(runs.chosen(losses <= limit), terms)
            found = least_bound(graph, terms, first=quote.price)
            if found.value_price is not None and found.value >= value:
                known, value = graph.runs(graph.choose(found.value_price)), found.value
            if quote.bound - value <= limit:
                break
            limit = quote.bound - value  # runs that lose more are worse than what is known now
        if found.free:
            return _Solution(known, value, optimal=True)
        try:
            return _first(
                self._try_runs(graph, found, limits) for limits in _limits(found.bound - value)
            )
        except TooMuchWorkError:
            return _Solution(known, found.bound, optimal=found.bound == value)

    def _list_runs(self, quote: DualBound, limit: int) -> tuple[Runs, Integers]:
        """Return the runs allowed that lose at most the limit, and what they lose."""
        terms, price = self._terms, quote.price
        worths = self._chain.worths(price, shift=terms.shift)
        keep = prune_by_bound(self._chain, worths, opening=terms.opening(price), loss=limit)
        chain = thin(self._chain, keep, longest=terms.longest)
        runs = allowed_runs(chain, terms, least=self._least)
        worth = quote.bound - price * terms.budget
        losses = worth - worths_with(chain, terms, price, runs=runs)
        keep = losses <= limit
        return runs.chosen(keep), losses[keep]

    def _try_runs(self, graph: RunGraph, quote: DualBound, limits: list[int]) -> _Solution | None:
        """Return the best allowed runs if they lose at most the last limit."""
        arcs, runs = graph.arcs_at(quote.price, limit=limits[-1])
        path = best_path(arcs, price=quote.price, budget=self._terms.budget, limits=limits)
        if path is None:
            return None
        chosen = [run for run in runs[path.arcs].tolist() if run >= 0]
        return _Solution(graph.runs(chosen), quote.bound - path.loss, optimal=True)


def _first(solutions: Iterator[_Solution | None]) -> _Solution:
    """Return the first solution there is; there is one, since one loses what is allowed at last."""
    return next(solution for solution in solutions if solution is not None)


def _limits(most: int) -> list[list[int]]:
    """Return the losses to allow, one after the other; the last is one that a known answer has.

    They come in two lists: a graph is made for the last of each.
    """
    return [sorted({most >> 6, most >> 4, most >> 2}), sorted({most >> 1, most})]
