"""Segment extraction: the most valuable runs of chunks inside a token budget, found exactly.

Rules:
    A run is one or more consecutive chunks of one document. Runs share no chunk.
    Each run has at most `max_segment_tokens` tokens and a value of at least `min_segment_value`.
    All runs together, with one header each, have at most `budget_tokens` tokens. The minimum value
    does not apply to a run that contains a required chunk.
    The value of a run is the sum of its chunk values minus the costs of the borders inside it. A
    border is a place before a chunk. Its cost is at most the charge of a run.
    The objective is lexicographic: most required chunks, then the greatest sum of values of runs
    minus the charges, then the fewest tokens, then the lexicographically smallest list of
    (start, -end), with documents in the given order. The solution is therefore unique.
    Two runs touch only where their union would be too long: otherwise the union is better.
    Values are rounded to a billionth of a share, and all later arithmetic is on integers. Shares
    can be as small as a millionth, so a coarser unit would make different values equal. A billionth
    is coarse enough to hide floating-point differences between platforms.

Method: exact optimisation by Lagrangian relaxation and branch and bound.
    1. Relax the token budget. A price per token replaces it, and the best runs at a price are
       found in one pass (`lagrangian`). The best price gives the dual bound: an upper bound on
       the value of every solution. The best feasible solution seen is the incumbent.
    2. Prune. The reduced cost of a run is the minimum loss of a solution with that run against the
       dual bound. Runs that lose more than the gap between bound and incumbent are dropped
       (`candidate_graph`).
    3. Solve the remaining knapsack exactly by dynamic programming over the chain (`knapsack`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spanwise.core.extraction.candidate_graph import (
    CandidateRuns,
    ChainGraph,
    RunGraph,
    candidate_runs,
    values_through_runs,
)
from spanwise.core.extraction.knapsack import WorkLimitError, best_path
from spanwise.core.extraction.lagrangian import (
    Chain,
    ChainRelaxation,
    DualBound,
    Problem,
    initial_price,
    keep_items,
    minimize_dual,
    prune_by_bound,
    relaxed_runs,
)
from spanwise.errors import OptionError
from spanwise.options.checks import check
from spanwise.options.search import PRICED_TOKENS

NumbersByDocument = ArrayLike | Sequence[ArrayLike]
"""One sequence of numbers for each document, or one flat sequence for a single document."""


def by_document(numbers: NumbersByDocument) -> list[NDArray[Any]]:
    """Return one array for each document; a flat list of numbers is a single document.

    An empty list has no documents. An empty document is an empty list inside it.
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
"""Number of integer units in a value of 1."""
_VALUE_BITS = 59
"""Maximum number of bits of any value, so that the sum of two values fits into 63 bits."""
_MAX_SHIFT = 30
_MAX_TOKENS = 1 << 40
_MANY_RUNS = 2_000
"""Number of candidate runs above which the runs of low loss are solved first.

They usually improve the incumbent, and a better incumbent prunes most of the others.
"""


class Run(NamedTuple):
    """One run: consecutive chunks of one document."""

    document: int
    """Index of the document among the documents given."""
    start: int
    """Index of the first chunk in the document."""
    end: int
    """Index after the last chunk in the document."""
    value: float
    """Sum of the chunk values minus the costs of the borders inside, before the charge."""
    tokens: int
    """Tokens of the text, without a header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """Result of an extraction."""

    runs: tuple[Run, ...]
    """Chosen runs, ordered by document, then start."""
    value: float
    """Sum of the values of all runs minus their charges."""
    tokens: int
    """Tokens of all runs, including one header each."""
    bound: float
    """Upper bound on the value of any solution with as many required chunks.

    Equal to `value` if the solution is optimal.
    """
    optimal: bool
    """Whether the solution is proven optimal; False only if the proof exceeded the work limit."""


def chunk_values(
    shares: ArrayLike,
    lengths_tokens: ArrayLike,
    *,
    token_price: float,
) -> Floats:
    """Return the value of each chunk: its share minus the price of its tokens.

    Args:
        shares: Share of the query's evidence in each chunk, >= 0; 0 for a chunk that is not a
            candidate.
        lengths_tokens: Length of each chunk in tokens, > 0. Same length as `shares`.
        token_price: Price of 1,000 tokens, in shares, >= 0. The value of a chunk is 0 if it has
            exactly this share for every 1,000 of its tokens.

    Returns:
        One value per chunk, negative if its share does not cover the price; empty if there are no
        chunks.

    Raises:
        OptionError: If the lengths differ, or a number is out of its range.
    """
    share_array = np.asarray(shares, dtype=np.float64)
    lengths = np.asarray(lengths_tokens)
    if share_array.ndim != 1 or share_array.shape != lengths.shape:
        raise OptionError(
            f"shares have shape {share_array.shape!r} and lengths {lengths.shape!r}; "
            "give one length for each share"
        )
    invalid = share_array[~((share_array >= 0) & (share_array < np.inf))]
    if len(invalid):
        raise OptionError(f"a share is {float(invalid[0])!r}; shares must be finite, at least 0")
    _check_lengths(lengths)
    check(token_price >= 0, "token_price", token_price, "at least 0")
    return share_array - token_price * lengths / PRICED_TOKENS


def _check_lengths(tokens: NDArray[Any]) -> None:
    if len(tokens) and (tokens.dtype.kind not in "iu" or tokens.min() < 1):
        raise OptionError("a length is not a whole number of at least 1; count tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits and charges of an extraction; see `extract_segments`.

    Raises:
        OptionError: If a number is out of its range.
    """

    budget_tokens: int
    """Maximum tokens of all runs, including one header each."""
    segment_charge: float = 0.0
    """Cost of each run, in units of value."""
    min_segment_value: float = 0.0
    """Minimum value of each run before the charge."""
    max_segment_tokens: int | None = None
    """Maximum tokens of each run without its header; None for no limit."""
    header_tokens: int = 0
    """Tokens of a header."""

    def __post_init__(self) -> None:
        names = ["budget_tokens", "header_tokens"]
        names += ["max_segment_tokens"] if self.max_segment_tokens is not None else []
        for name in names:
            count, low = getattr(self, name), int(name == "max_segment_tokens")
            is_valid = low <= count < _MAX_TOKENS
            check(is_valid, name, count, f"at least {low} and below {_MAX_TOKENS}")
        limit = (1 << _VALUE_BITS) / _UNITS
        for name in ("segment_charge", "min_segment_value"):
            amount = getattr(self, name)
            check(0 <= amount < limit, name, amount, f"at least 0 and below {limit!r}")


# One argument per parameter of the problem; an options class would only repeat them.
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
    border_costs: NumbersByDocument | None = None,
) -> Extraction:
    """Return the most valuable runs inside a token budget.

    Args:
        values: Chunk values of each document, or of one document in a flat list; finite. The sum of
            their absolute values, times one more than the number of required chunks, must be below
            5e8.
        lengths_tokens: Lengths of the same chunks in tokens, >= 1.
        budget_tokens: Maximum tokens of all runs, including one header each; >= 0.
        segment_charge: Cost of each run, in units of value; >= 0.
        min_segment_value: Minimum value of each run before the charge, >= 0.
        max_segment_tokens: Maximum tokens of each run without its header, >= 1; None for no limit.
        header_tokens: Tokens of a header, >= 0.
        required: Chunks that have priority over everything else, as pairs of document and chunk. If
            not all fit, as many as possible are covered; a chunk given twice counts twice.
        border_costs: Cost of the border before each chunk, which is subtracted from the value of a
            run that contains the chunk and the one before it; in [0, `segment_charge`], in units of
            value. None for no costs.

    Returns:
        The best runs under the rules of this module; empty if no run is worth its charge.

    Raises:
        OptionError: If arguments do not match or are out of range.
    """
    costs = None if border_costs is None else by_document(border_costs)
    chunks = ChunkArrays.joined(by_document(values), by_document(lengths_tokens), costs)
    limits = Limits(
        budget_tokens=budget_tokens,
        segment_charge=segment_charge,
        min_segment_value=min_segment_value,
        max_segment_tokens=max_segment_tokens,
        header_tokens=header_tokens,
    )
    return extract_runs(chunks, limits, required=required)


def extract_runs(
    chunks: ChunkArrays, limits: Limits, *, required: Sequence[tuple[int, int]] = ()
) -> Extraction:
    """Return the most valuable runs of chunks; see `extract_segments`."""
    budget_tokens, header_tokens = limits.budget_tokens, limits.header_tokens
    segment_charge, max_segment_tokens = limits.segment_charge, limits.max_segment_tokens
    charge, least = round(segment_charge * _UNITS), round(limits.min_segment_value * _UNITS)
    most = int(chunks.borders.max(initial=0))
    check(most <= charge, "border_costs", most / _UNITS, f"at most the charge of {segment_charge}")
    weights = chunks.add_required_bonus(required, charge=charge, least=least)
    fitting = budget_tokens - header_tokens
    problem = Problem(
        budget=budget_tokens,
        longest=fitting if max_segment_tokens is None else min(fitting, max_segment_tokens),
        charge=charge,
        header=header_tokens,
        shift=_reduced_value_shift(weights, charge=charge + int(chunks.borders.sum())),
    )
    chain = chunks.chain(weights, longest=problem.longest)
    if not len(chain.positions):
        return Extraction(runs=(), value=0.0, tokens=0, bound=0.0, optimal=True)
    search = _Solver(chain, problem, least=least, capped=problem.longest < fitting)
    return chunks.extraction(search.solve(), weights, problem)


def _reduced_value_shift(weights: Integers, *, charge: int) -> int:
    """Return the number of fraction bits that reduced values may have without overflow."""
    size = int(np.abs(weights).sum(dtype=np.float64)) + charge
    if size >= 1 << _VALUE_BITS:
        raise OptionError(
            f"the sizes of the values and the charge sum to {size / _UNITS!r}, required chunks "
            f"included; they must stay below {(1 << _VALUE_BITS) / _UNITS!r}: scale them down"
        )
    return min(_MAX_SHIFT, _VALUE_BITS - size.bit_length())


class _Solution(NamedTuple):
    """Runs chosen by the solver."""

    runs: list[Ends]
    bound: int
    """Upper bound in reduced-value units (shifted left by `Problem.shift`)."""
    optimal: bool


@dataclass(frozen=True, slots=True)
class ChunkArrays:
    """Chunks of all documents, one document after the other, with values in integer units."""

    firsts: Integers
    """Position of the first chunk of each document."""
    documents: Integers
    values: Integers
    tokens: Integers
    borders: Integers
    """Cost of a run that contains the chunk and the chunk before it."""

    @classmethod
    def joined(
        cls,
        values: Sequence[Floats],
        lengths_tokens: Sequence[Integers],
        border_costs: Sequence[Floats] | None,
    ) -> ChunkArrays:
        """Return the chunks of all documents, given one array for each document."""
        counts = [len(array) for array in values]
        lengths = [len(array) for array in lengths_tokens]
        if counts != lengths:
            raise OptionError(
                f"the documents have {counts!r} values and {lengths!r} lengths; "
                "give one length for each value"
            )
        costs = None
        if border_costs is not None:
            if [len(array) for array in border_costs] != counts:
                raise OptionError("give one border cost for each value")
            costs = np.concatenate([np.zeros(0), *border_costs])
        filled = [array for array in lengths_tokens if len(array)]
        return cls.of(
            np.concatenate([np.zeros(0), *values]),
            np.concatenate([np.zeros(0, dtype=np.int64), *filled]),
            costs,
            counts=np.array(counts, dtype=np.int64),
        )

    @classmethod
    def of(
        cls, values: Floats, tokens: Integers, border_costs: Floats | None, *, counts: Integers
    ) -> ChunkArrays:
        """Return the chunks of all documents, given one document after the other.

        Args:
            values: Value of each chunk.
            tokens: Tokens of each chunk.
            border_costs: Cost of the border before each chunk; None for no costs.
            counts: Number of chunks of each document.
        """
        joined = values * _UNITS
        if not np.all(np.abs(joined) < 1 << _VALUE_BITS):
            raise OptionError(
                "a value is not finite or too large; values must be finite, of a size below "
                f"{(1 << _VALUE_BITS) / _UNITS!r}"
            )
        _check_lengths(tokens)
        if len(tokens) and int(tokens.max()) >= _MAX_TOKENS // len(tokens):
            raise OptionError(f"a length is {int(tokens.max())!r} tokens; that is out of range")
        costs = np.zeros(len(joined)) if border_costs is None else border_costs * _UNITS
        invalid = costs[~((costs >= 0) & (costs < 1 << _VALUE_BITS))]
        if len(invalid):
            cost = float(invalid[0]) / _UNITS
            raise OptionError(f"a border cost is {cost!r}; costs must be finite, at least 0")
        return cls(
            borders=np.rint(costs).astype(np.int64),
            firsts=np.concatenate([[0], np.cumsum(counts)]),
            documents=np.repeat(np.arange(len(counts), dtype=np.int64), counts),
            values=np.rint(joined).astype(np.int64),
            tokens=tokens.astype(np.int64),
        )

    def add_required_bonus(
        self, required: Sequence[tuple[int, int]], *, charge: int, least: int
    ) -> Integers:
        """Return the values with a bonus on required chunks.

        The bonus exceeds any possible difference in the remaining value, so covering one more
        required chunk is always better. This makes the lexicographic objective an ordinary sum.
        """
        if not required:
            return self.values
        positions = []
        for document, chunk in required:
            inside = 0 <= document < len(self.firsts) - 1
            if not inside or not 0 <= chunk < self.firsts[document + 1] - self.firsts[document]:
                raise OptionError(f"required chunk {(document, chunk)!r} does not exist")
            positions.append(int(self.firsts[document]) + chunk)
        sizes = np.abs(self.values) + self.borders
        size = sizes.sum(dtype=np.float64) + float(charge) * len(required) + least
        if size * (len(required) + 1) >= 1 << _VALUE_BITS:
            raise OptionError(
                f"the sizes of the values sum to {size / _UNITS!r} with {len(required)} required "
                "chunks; that is out of range: scale values and charge down"
            )
        weights = self.values.copy()
        bonus = int(sizes.sum()) + charge * len(required) + least + 1
        np.add.at(weights, positions, bonus)
        return weights

    def chain(self, weights: Integers, *, longest: int) -> Chain:
        """Return the chunks of positive value that are not too long, as a chain."""
        none = np.zeros_like(self.tokens)
        chain = Chain(
            positions=np.arange(len(self.tokens), dtype=np.int64),
            values=weights,
            tokens=self.tokens,
            gap_values=none,
            gap_tokens=none,
            blocked=np.diff(self.documents, prepend=-1) > 0,
            documents=self.documents,
            value_ends=(weights - self.borders).cumsum(),
            token_ends=self.tokens.cumsum(),
        )
        return keep_items(chain, (weights > 0) & (self.tokens <= longest), longest=longest)

    def extraction(self, solution: _Solution, weights: Integers, problem: Problem) -> Extraction:
        """Return the solution as an `Extraction` without the bonuses of required chunks."""
        first, last = np.array(solution.runs, dtype=np.int64).reshape(-1, 2).T
        values = _sums(self.values - self.borders, first, last) + self.borders[first]
        lengths = _sums(self.tokens, first, last)
        document = self.documents[first]
        start = first - self.firsts[document]
        runs = [
            Run(
                document=number,
                start=begin,
                end=begin + chunks,
                value=run_value / _UNITS,
                tokens=size,
            )
            for number, begin, chunks, run_value, size in zip(
                document.tolist(),
                start.tolist(),
                (last + 1 - first).tolist(),
                values.tolist(),
                lengths.tolist(),
                strict=True,
            )
        ]
        value = int(values.sum()) - problem.charge * len(runs)
        tokens = int(lengths.sum()) + problem.header * len(runs)
        bound = value
        if not solution.optimal:
            bonus = int(_sums(weights - self.values, first, last).sum())
            bound = (solution.bound >> problem.shift) - bonus
        return Extraction(
            runs=tuple(runs),
            value=value / _UNITS,
            tokens=tokens,
            bound=bound / _UNITS,
            optimal=solution.optimal,
        )


def _sums(array: Integers, first: Integers, last: Integers) -> Integers:
    """Return the sums of ranges; both ends are included."""
    ends: Integers = array.cumsum()
    return ends[last] - ends[first] + array[first]


class _Solver:
    """Solver that finds the optimal runs of a chain.

    The limits of single runs (longest, least value) are relaxed first, because the chain without
    them is much faster to solve. If that solution violates a limit, the solver enumerates the runs
    that meet the limits and solves over them.
    """

    def __init__(self, chain: Chain, problem: Problem, *, least: int, capped: bool) -> None:
        self._chain = chain
        self._problem = problem
        self._least = least
        # A run in an optimal solution is worth more than its charge: otherwise dropping it would
        # be better. A minimum value up to the charge is therefore no extra limit.
        self._limited = capped or least > problem.charge

    def solve(self) -> _Solution:
        """Return the optimal runs, or the incumbent if the proof exceeds the work limit."""
        chain, problem = self._chain, self._problem
        # Step 1: Lagrangian relaxation. The least dual bound over all prices, and an incumbent.
        dual = minimize_dual(
            ChainRelaxation(chain, problem), problem, first=initial_price(chain, problem)
        )
        if not self._limited:
            return self._solve_chain(dual)
        # Step 2: solve without the limits of single runs, unless the incumbent violates them.
        runs = self._incumbent(dual)
        if self._allows(runs):
            solution = self._solve_chain(dual)
            if self._allows(solution.runs):
                return solution
            runs = solution.runs
        # Step 3: solve over the enumerated runs that meet the limits.
        return self._solve_limited(dual, self._allowed(runs))

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
        within_limits = (values >= self._least) & (tokens <= self._problem.longest)
        return [run for run, keep in zip(runs, within_limits.tolist(), strict=True) if keep]

    def _allows(self, runs: list[Ends]) -> bool:
        return len(self._allowed(runs)) == len(runs)

    def _objective(self, runs: list[Ends]) -> int:
        values, _ = self._sizes(runs)
        return (int(values.sum()) - self._problem.charge * len(runs)) << self._problem.shift

    def _solve_chain(self, dual: DualBound) -> _Solution:
        """Return the best runs, ignoring the limits of single runs."""
        # The budget does not bind: the relaxed solution is optimal.
        if dual.unconstrained:
            return _Solution(self._incumbent(dual), dual.value, optimal=True)
        reduced = self._chain.reduced_values(dual.price, shift=self._problem.shift)
        try:
            return _first(
                self._try_chain(dual, reduced, limits)
                for limits in _limits(dual.bound - dual.value)
            )
        except WorkLimitError:
            return _Solution(self._incumbent(dual), dual.bound, optimal=dual.bound == dual.value)

    def _try_chain(self, dual: DualBound, reduced: Integers, limits: list[int]) -> _Solution | None:
        """Return the best runs if their loss is at most the last limit, else None."""
        problem, price = self._problem, dual.price
        # Prune by reduced cost: drop items that no solution within the loss limit can use.
        keep = prune_by_bound(self._chain, reduced, opening=problem.opening(price), loss=limits[-1])
        chain = keep_items(self._chain, keep, longest=problem.longest)
        graph = ChainGraph(chain, problem, price)
        # The dual was computed on items of positive reduced value alone. With more items, runs may
        # bridge gaps that were blocked as too long, so the bound of this graph can be higher. The
        # limits are raised by the difference.
        bound = graph.best_value + price * problem.budget
        slack = bound - dual.bound
        path = best_path(
            graph.arcs,
            price=price,
            budget=problem.budget,
            limits=[slack + limit for limit in limits],
        )
        if path is None:
            return None
        return _Solution(graph.runs(path.arcs), bound - path.loss, optimal=True)

    def _incumbent(self, dual: DualBound) -> list[Ends]:
        """Return the runs of the best feasible solution found by the dual search."""
        if dual.value_price is None:
            return []
        return relaxed_runs(self._chain, self._problem, dual.value_price)

    def _solve_limited(self, dual: DualBound, incumbent: list[Ends]) -> _Solution:
        """Return the best runs under the limits of single runs; the incumbent meets them."""
        problem = self._problem
        value = self._objective(incumbent)
        # Enumerate the runs whose loss does not exceed the gap between bound and incumbent.
        most = dual.bound - value
        runs, losses = self._list_runs(dual, most)
        limit = most >> 4 if len(losses) > _MANY_RUNS else most
        # Solve the dual over these runs. A better incumbent narrows the gap; if the gap exceeds
        # the limit, the runs up to the gap are added and the dual is solved again.
        while True:
            graph = RunGraph(runs.where(losses <= limit), problem)
            tightened = minimize_dual(graph, problem, first=dual.price)
            if tightened.value_price is not None and tightened.value >= value:
                incumbent, value = graph.runs(graph.choose(tightened.value_price)), tightened.value
            if dual.bound - value <= limit:
                break
            limit = dual.bound - value
        # Close the remaining gap exactly, with small loss limits first.
        if tightened.unconstrained:
            return _Solution(incumbent, value, optimal=True)
        try:
            return _first(
                self._try_runs(graph, tightened, limits)
                for limits in _limits(tightened.bound - value)
            )
        except WorkLimitError:
            return _Solution(incumbent, tightened.bound, optimal=tightened.bound == value)

    def _list_runs(self, dual: DualBound, limit: int) -> tuple[CandidateRuns, Integers]:
        """Return the candidate runs whose loss is at most the limit, and their losses."""
        problem, price = self._problem, dual.price
        reduced = self._chain.reduced_values(price, shift=problem.shift)
        keep = prune_by_bound(self._chain, reduced, opening=problem.opening(price), loss=limit)
        chain = keep_items(self._chain, keep, longest=problem.longest)
        runs = candidate_runs(chain, problem, least=self._least)
        best_value = dual.bound - price * problem.budget
        losses = best_value - values_through_runs(chain, problem, price, runs=runs)
        keep = losses <= limit
        return runs.where(keep), losses[keep]

    def _try_runs(self, graph: RunGraph, dual: DualBound, limits: list[int]) -> _Solution | None:
        """Return the best candidate runs if their loss is at most the last limit, else None."""
        arcs, runs = graph.arcs_at(dual.price, limit=limits[-1])
        path = best_path(arcs, price=dual.price, budget=self._problem.budget, limits=limits)
        if path is None:
            return None
        chosen = [run for run in runs[path.arcs].tolist() if run >= 0]
        return _Solution(graph.runs(chosen), dual.bound - path.loss, optimal=True)


def _first(solutions: Iterator[_Solution | None]) -> _Solution:
    """Return the first solution; one exists, because the incumbent meets the last limit."""
    return next(solution for solution in solutions if solution is not None)


def _limits(most: int) -> list[list[int]]:
    """Return ascending loss limits in two lists; the last limit is the gap to the incumbent.

    Small limits prune most and usually suffice. A graph is built for the last limit of each list.
    """
    return [sorted({most >> 6, most >> 4, most >> 2}), sorted({most >> 1, most})]
