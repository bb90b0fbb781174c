"""Time exact extraction, and compare it with the greedy extraction of dsRAG on the same cases.

Run `python benchmarks/extraction.py`; `--smoke` runs a tiny version. All cases are generated from
fixed seeds. The comparison needs `pip install --no-deps dsrag==0.5.6`; without this package, only
our extraction is timed.

The greedy extraction has a limit in chunks, not in tokens, and no charge per segment. It gets the
same chunk values, all queries joined, and as many chunks as fill the budget at the mean chunk
length. Its segments are taken in order, and the last one is truncated to the budget. Their value
is computed like ours: the sum of the chunk values minus the charge per segment. It is run on the
first tenth of the cases, once.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spanwise.core.extraction.exact import Extraction, chunk_values, extract_segments

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Greedy = Callable[..., tuple[list[tuple[int, int]], list[float]]]

MEAN_TOKENS = 150
DSRAG_HELP = "dsRAG is missing: pip install --no-deps dsrag==0.5.6 (runs our side alone now)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Chunk values and lengths of the documents of one question."""

    values: list[Floats]
    lengths: list[Integers]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the table."""

    name: str
    make: Callable[[int], Case]
    budget_tokens: int
    segment_charge: float
    min_segment_value: float = 0.0
    max_segment_tokens: int | None = None
    header_tokens: int = 0
    greedy: bool = False
    """Whether the greedy extraction has equivalent limits."""

    def extract(self, case: Case) -> Extraction:
        """Run the exact extraction."""
        return extract_segments(
            case.values,
            case.lengths,
            budget_tokens=self.budget_tokens,
            segment_charge=self.segment_charge,
            min_segment_value=self.min_segment_value,
            max_segment_tokens=self.max_segment_tokens,
            header_tokens=self.header_tokens,
        )


def published_case(seed: int, *, documents: int, chunks: int, queries: int) -> Case:
    """Return relevance minus a penalty of 0.18: clusters of evidence among 200 found chunks."""
    random = np.random.default_rng(seed)
    count = documents * chunks
    missed = np.ones(count)
    for _ in range(queries):
        score = random.normal(size=count) + np.repeat(random.normal(size=documents), chunks)
        for centre in random.choice(count, size=max(2, count // 120), replace=False):
            width = int(random.integers(2, 14))
            score[max(0, centre - width) : centre + width] += random.uniform(0.5, 3.0)
        found = np.argsort(-score, kind="stable")[:200]
        relevance = np.zeros(count)
        ordered = np.sort(random.beta(0.8, 0.8, size=len(found)))[::-1]
        relevance[found] = ordered * np.exp(-np.arange(len(found)) / 200)
        missed *= 1 - relevance
    lengths = random.integers(60, 2 * MEAN_TOKENS - 60, size=count)
    return Case(
        values=np.split(1 - missed - 0.18, documents),
        lengths=np.split(lengths, documents),
    )


def share_case(seed: int, *, candidates: int, documents: int, token_price: float) -> Case:
    """Return chunk values from candidate shares, as documents around the candidates."""
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.full(documents, 0.5))
    counts = np.maximum(1, np.rint(weights * candidates).astype(np.int64))
    scores = random.normal(scale=1.5, size=counts.sum())
    scores += np.repeat(random.normal(scale=1.2, size=documents), counts)
    shares = np.exp(scores) / np.exp(scores).sum()
    values, lengths = [], []
    for part in np.split(shares, np.cumsum(counts)[:-1]):
        size = int(len(part) * random.uniform(1.2, 6)) + 3
        places = np.sort(random.choice(size, len(part), replace=False))
        row = np.zeros(size)
        row[places] = part
        tokens = random.integers(40, 125, size=size)
        piece = slice(places[0], places[-1] + 1)
        values.append(chunk_values(row[piece], tokens[piece], token_price=token_price))
        lengths.append(tokens[piece])
    return Case(values=values, lengths=lengths)


def hard_case(seed: int, *, equal: bool) -> Case:
    """Return 1,000 chunks; every second one has a positive value, equal or equal to its length."""
    random = np.random.default_rng(seed)
    lengths = np.full(1_000, 100) if equal else random.integers(40, 160, size=1_000)
    values = np.where(np.arange(1_000) % 2 == 0, lengths / 10_000, -1.0)
    return Case(values=[values], lengths=[lengths])


def published_rows() -> Iterator[Row]:
    """Yield the sizes of the published extraction with the balanced and the widest preset."""
    sizes = [("1 query, 1 document x 500", 1, 500, 1), ("1 query, 10 documents x 500", 10, 500, 1)]
    for size, documents, chunks, queries in [*sizes, ("6 queries, 80 documents x 60", 80, 60, 6)]:

        def make(
            seed: int, documents: int = documents, chunks: int = chunks, queries: int = queries
        ) -> Case:
            return published_case(seed, documents=documents, chunks=chunks, queries=queries)

        presets = [("middle", 30, 15, 0.5), ("widest", 200, 40, 0.4)]
        for preset, budget, longest, least in presets:
            for charge in (0.0, 0.2, 0.4):
                yield Row(
                    name=f"{size}, {preset}",
                    make=make,
                    budget_tokens=budget * MEAN_TOKENS,
                    segment_charge=charge,
                    min_segment_value=least,
                    max_segment_tokens=longest * MEAN_TOKENS,
                    greedy=True,
                )
        yield Row(
            name=f"{size}, no run limits",
            make=make,
            budget_tokens=200 * MEAN_TOKENS,
            segment_charge=0.2,
            header_tokens=20,
        )


def share_rows() -> Iterator[Row]:
    """Yield cases like those of the pipeline: 1,600 candidates in 200 documents."""
    for token_price in (0.0, 0.002):
        for budget in (500, 1_000, 4_000, 32_000):
            for charge in (0.005, 0.02, 0.05):

                def make(seed: int, token_price: float = token_price) -> Case:
                    return share_case(
                        seed, candidates=1_600, documents=200, token_price=token_price
                    )

                yield Row(
                    name=f"shares, price {token_price}, budget {budget}",
                    make=make,
                    budget_tokens=budget,
                    segment_charge=charge,
                    header_tokens=30,
                )


def hard_rows() -> Iterator[Row]:
    """Yield hard cases, in which many solutions have nearly equal values."""
    for name, equal in (("values proportional to tokens", False), ("chunks all equal", True)):

        def make(seed: int, *, equal: bool = equal) -> Case:
            return hard_case(seed, equal=equal)

        for charge in (0.0, 0.001):
            yield Row(name=name, make=make, budget_tokens=16_000, segment_charge=charge)


def load_greedy() -> Greedy | None:
    """Return the greedy extraction of dsRAG; None if it is not installed."""
    try:
        from dsrag.rse import get_best_segments
    except ImportError:
        return None
    best: Any = get_best_segments
    return best  # type: ignore[no-any-return]


def greedy_value(row: Row, case: Case, segments: Sequence[tuple[int, int]]) -> float:
    """Return the value of segments, taken in order, with the last one truncated to the budget."""
    values, lengths = np.concatenate(case.values), np.concatenate(case.lengths)
    worth, left = 0.0, row.budget_tokens
    for start, end in segments:
        fitting = np.cumsum(lengths[start:end]) + row.header_tokens <= left
        held = slice(start, start + int(fitting.sum()))
        if fitting.any():
            left -= int(lengths[held].sum()) + row.header_tokens
            worth += float(values[held].sum()) - row.segment_charge
        if not fitting.all():
            break
    return worth


def measure(row: Row, cases: int, repeats: int, greedy: Greedy | None) -> list[str]:
    """Return the cells of a row."""
    own_ms, greedy_ms, gains, runs, optimal = [], [], [], [], 0
    for seed in range(cases):
        case = row.make(seed)
        times = []
        for _ in range(repeats):
            begin = time.perf_counter()
            extraction = row.extract(case)
            times.append(1e3 * (time.perf_counter() - begin))
        own_ms.append(min(times))
        runs.append(len(extraction.runs))
        optimal += extraction.optimal
        if greedy is None or not row.greedy or seed >= max(3, cases // 10):
            continue
        splits = np.cumsum([len(part) for part in case.values]).tolist()
        joined = [np.concatenate(case.values).tolist()]
        begin = time.perf_counter()
        segments, _ = greedy(
            joined,
            splits,
            (row.max_segment_tokens or row.budget_tokens) // MEAN_TOKENS,
            row.budget_tokens // MEAN_TOKENS,
            row.min_segment_value,
        )
        greedy_ms.append(1e3 * (time.perf_counter() - begin))
        if extraction.value > 0:
            gains.append(greedy_value(row, case, segments) / extraction.value - 1)
    own_ms.sort()
    return [
        row.name,
        f"{row.segment_charge:g}",
        f"{statistics.median(own_ms):.2f}",
        f"{own_ms[min(len(own_ms) - 1, int(0.95 * len(own_ms)))]:.2f}",
        f"{own_ms[-1]:.2f}",
        f"{statistics.mean(runs):.1f}",
        f"{optimal}/{cases}",
        f"{statistics.median(greedy_ms):.1f}" if greedy_ms else "",
        f"{100 * statistics.median(gains):+.0f} %" if gains else "",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=50, help="questions a row (default 50)")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest counts (default 3)")
    parser.add_argument("--smoke", action="store_true", help="two questions a row, no dsRAG")
    options = parser.parse_args(arguments)
    greedy = None if options.smoke else load_greedy()
    if greedy is None and not options.smoke:
        print(DSRAG_HELP, file=sys.stderr)
    cases, repeats = (2, 1) if options.smoke else (options.cases, options.repeats)
    titles = ("case", "charge", "median ms", "p95", "worst", "runs", "optimal", "dsRAG ms", "value")
    print("| " + " | ".join(titles) + " |")
    print("|" + "---|" * len(titles))
    for row in (*published_rows(), *share_rows(), *hard_rows()):
        print("| " + " | ".join(measure(row, cases, repeats, greedy)) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
