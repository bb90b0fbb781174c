"""Compare the published method with dsRAG on random cases: python -m benchmarks.published.

Each case has one to six queries over one to eight documents, generated from fixed seeds. Our code
and `dsrag.rse` get the same rankings. Segments, their order and their values must be equal, and the
presets must have equal numbers. Relevance is drawn from a continuous distribution, so that no ties
occur: dsRAG breaks ties by an order that depends on the hash seed.

The comparison needs `pip install --no-deps dsrag==0.5.6`. Without it, our code is compared with a
slow reference implementation below. `--smoke` is a short run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spanwise.core.extraction.published import (
    RankedChunk,
    extract_greedily,
    extract_published,
    published_values,
)
from spanwise.options import PublishedOptions

PRESETS = ("dsrag-balanced", "dsrag-precision", "dsrag-find-all")
HELP = "dsRAG is missing: pip install --no-deps dsrag==0.5.6 (compares with our reference now)"
Place = tuple[int, int, int]
"""Document number, start and end of a segment."""
Found = list[tuple[Place, float]]
"""Segments with their values, in the order of selection."""
Greedy = Callable[[list[list[float]], list[int], int, int, float], tuple[list[Any], list[Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Rankings of one question, and the lengths of all chunks."""

    rankings: list[list[RankedChunk]]
    lengths: list[NDArray[np.int64]]
    options: PublishedOptions


def make_case(seed: int, options: PublishedOptions | None) -> Case:
    """Return a case, with random options unless options are given."""
    random = np.random.default_rng(seed)
    sizes = random.integers(3, 60, size=random.integers(1, 9))
    lengths = [random.integers(60, 1_600, size=size) for size in sizes]
    places = [(d, c) for d, size in enumerate(sizes) for c in range(size)]
    rankings = []
    for _ in range(random.integers(1, 7)):
        score = random.normal(size=len(places))
        for centre in random.choice(len(places), size=1 + len(places) // 60):
            width = int(random.integers(1, 9))
            score[max(0, centre - width) : centre + width] += random.uniform(1, 4)
        order = np.argsort(-score)[: random.integers(1, 201)]
        relevance = np.sort(random.beta(0.6, 0.8, size=len(order)))[::-1]
        rankings.append([(*places[at], float(p)) for at, p in zip(order, relevance, strict=True)])
    return Case(
        rankings=rankings, lengths=lengths, options=options or random_options(random, plain=True)
    )


def random_options(random: np.random.Generator, *, plain: bool) -> PublishedOptions:
    """Return random options; plain options are supported by dsRAG 0.5.6."""
    options = PublishedOptions(
        irrelevant_chunk_penalty=float(random.uniform(0.02, 0.5)),
        rank_decay=float(random.uniform(5, 300)),
        max_segment_chunks=int(random.integers(1, 40)),
        budget_chunks=int(random.integers(1, 120)),
        further_query_chunks=int(random.integers(0, 9)),
        min_segment_value=float(random.uniform(0, 1.2)),
        document_ranks=int(random.integers(1, 60)),
        length_adjustment="floor" if random.random() < 0.6 else "none",
    )
    if plain:
        return options
    return replace(
        options,
        length_adjustment=("proportional", "floor", "none")[random.integers(3)],
        unretrieved_length=("real", "reference", "zero")[random.integers(3)],
        floor_chars=(350, 700)[random.integers(2)],
        reference_chars=(400, 700)[random.integers(2)],
    )


def slow_greedy(
    values: list[list[float]], splits: list[int], longest: int, budget: int, least: float
) -> tuple[list[tuple[int, int]], list[float]]:
    """Reference implementation: try every range of chunks in every round."""
    owner = [sum(place >= split for split in splits) for place in range(len(values[0]))]
    taken: list[tuple[int, int]] = []
    worths: list[float] = []
    done: set[int] = set()
    for query in cycle(range(len(values))):
        left = budget - sum(end - start for start, end in taken)
        if not left or len(done) == len(values):
            return taken, worths
        if query in done:
            continue
        free = [
            (sum(values[query][start:end]), -start, -end)
            for start in range(len(owner))
            for end in range(start + 1, min(start + min(longest, left), len(owner)) + 1)
            if owner[start] == owner[end - 1]
            and min(values[query][start], values[query][end - 1]) >= 0
            and not any(start < other_end and end > other for other, other_end in taken)
        ]
        value, start, end = max(free, default=(-1.0, 0, 0))
        if not free or value < least:
            done.add(query)
        else:
            taken.append((-start, -end))
            worths.append(value)
    raise AssertionError("queries come in turn without end")


def own_values(case: Case, documents: Sequence[int]) -> list[list[float]]:
    """Return our chunk values of each query, with documents concatenated."""
    joined = []
    for ranking in case.rankings:
        rank = {(d, c): (place, p) for place, (d, c, p) in enumerate(ranking)}
        places = [(d, c) for d in documents for c in range(len(case.lengths[d]))]
        ranks, relevances = zip(*(rank.get(place, (-1, 0.0)) for place in places), strict=True)
        lengths = np.concatenate([case.lengths[d] for d in documents])
        joined.append(published_values(relevances, ranks, lengths, options=case.options).tolist())
    return joined


def chosen_documents(case: Case) -> list[int]:
    """Return the documents of the best chunks of the queries."""
    tops = (ranking[: case.options.document_ranks] for ranking in case.rankings)
    return sorted({document for top in tops for document, _, _ in top})


def by_values(case: Case, greedy: Greedy) -> Found:
    """Return the result of a greedy extraction with our chunk values."""
    documents = chosen_documents(case)
    sizes = [len(case.lengths[document]) for document in documents]
    splits = np.cumsum(sizes).tolist()
    segments, worths = greedy(own_values(case, documents), splits, *limits(case))
    return located(segments, worths, documents, [0, *splits[:-1]])


def limits(case: Case) -> tuple[int, int, float]:
    """Return maximum chunks per segment, maximum chunks in total, and minimum value."""
    options = case.options
    budget = options.budget_chunks + (len(case.rankings) - 1) * options.further_query_chunks
    return options.max_segment_chunks, budget, options.min_segment_value


def located(
    segments: Sequence[Any], worths: Sequence[Any], documents: Sequence[int], starts: Sequence[int]
) -> Found:
    """Return segments of concatenated documents as ranges of each document."""
    found: Found = []
    for (start, end), worth in zip(segments, worths, strict=True):
        at = int(np.searchsorted(starts, start, side="right")) - 1
        found.append(((documents[at], start - starts[at], end - starts[at]), float(worth)))
    return found


def dsrag_search(case: Case) -> Found:
    """Return the result of dsRAG for the rankings."""
    from dsrag import rse

    longest = max(int(row.max()) for row in case.lengths)
    text = "x" * longest  # only its length is looked at
    results = [
        [
            {
                "metadata": {
                    "doc_id": document,
                    "chunk_index": chunk,
                    "chunk_text": text[: case.lengths[document][chunk]],
                },
                "similarity": relevance,
            }
            for document, chunk, relevance in ranking
        ]
        for ranking in case.rankings
    ]
    options = case.options
    splits, first, documents = rse.get_meta_document(results, options.document_ranks)
    values = rse.get_relevance_values(
        results,
        splits[-1],
        first,
        documents,
        options.irrelevant_chunk_penalty,
        options.rank_decay,
        options.length_adjustment == "floor",
    )
    segments, worths = rse.get_best_segments(values, splits, *limits(case))
    return located(segments, worths, documents, [first[document] for document in documents])


def our_search(case: Case) -> Found:
    """Return our result for the rankings."""
    runs = extract_published(case.rankings, case.lengths, options=case.options)
    return [((run.document, run.start, run.end), run.value) for run in runs]


def same(one: Found, other: Found) -> bool:
    """Return whether segments and their order are equal, and values equal up to rounding."""
    return [place for place, _ in one] == [place for place, _ in other] and np.allclose(
        [worth for _, worth in one], [worth for _, worth in other], rtol=0, atol=1e-6
    )


def measure(name: str, cases: Sequence[Case], other: Callable[[Case], Found]) -> bool:
    """Print a row of the table; return whether all cases agree."""
    agreed = segments = 0
    own_seconds = other_seconds = 0.0
    for case in cases:
        started = time.perf_counter()
        ours = our_search(case)
        between = time.perf_counter()
        theirs = other(case)
        own_seconds += between - started
        other_seconds += time.perf_counter() - between
        agreed += same(ours, theirs)
        segments += len(ours)
    queries = sum(len(case.rankings) for case in cases)
    count = len(cases)
    print(
        f"| {name} | {count:,} | {queries:,} | {segments:,} | {agreed:,}/{count:,} "
        f"| {1e3 * own_seconds / count:.2f} | {1e3 * other_seconds / count:.2f} |",
        flush=True,
    )
    return agreed == count


def load_dsrag() -> Greedy | None:
    """Return the greedy extraction of dsRAG; None if it is not installed."""
    try:
        from dsrag.rse import get_best_segments
    except ImportError:
        return None
    best: Any = get_best_segments
    return best  # type: ignore[no-any-return]


def presets_agree() -> bool:
    """Return whether our presets have the same numbers as those of dsRAG."""
    from dsrag.rse import RSE_PARAMS_PRESETS

    for name in PRESETS:
        own = PublishedOptions.preset(name)
        numbers = {
            "max_length": own.max_segment_chunks,
            "overall_max_length": own.budget_chunks,
            "minimum_value": own.min_segment_value,
            "irrelevant_chunk_penalty": own.irrelevant_chunk_penalty,
            "overall_max_length_extension": own.further_query_chunks,
            "decay_rate": own.rank_decay,
            "top_k_for_document_selection": own.document_ranks,
            "chunk_length_adjustment": own.length_adjustment == "floor",
        }
        if numbers != RSE_PARAMS_PRESETS[name.removeprefix("dsrag-").replace("-", "_")]:
            return False
    return True


def worked_example() -> str:
    """Return our result for the published example in which the greedy method is not optimal."""
    runs = extract_greedily(
        [[0.9, -0.2, 0.9, 0.3, 0.3, 0.9]], max_segment_chunks=3, budget_chunks=4
    )
    return f"{sum(run.value for run in runs):g}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2_000, help="cases a row (default 2000)")
    parser.add_argument("--smoke", action="store_true", help="eight cases a row")
    asked = parser.parse_args(arguments)
    greedy = load_dsrag()
    if greedy is None:
        print(HELP, file=sys.stderr)
    other = "dsRAG 0.5.6" if greedy else "slow_greedy, our reference"
    count = 8 if asked.smoke else asked.cases
    print(f"Compared with {other}. Worked example, greedily: {worked_example()} (exactly: 3).\n")
    print(f"| case | cases | queries | segments | same as {other} | ours, ms | {other}, ms |")
    print("|---|---|---|---|---|---|---|")
    seeds = iter(range(1, 10 * count))
    rows: list[tuple[str, list[Case]]] = [
        (name, [make_case(seed, PublishedOptions.preset(name)) for seed in islice(seeds, count)])
        for name in PRESETS
    ]
    rows.append(("random options", [make_case(seed, None) for seed in islice(seeds, count)]))
    whole = (lambda case: by_values(case, slow_greedy)) if greedy is None else dsrag_search
    agreed = [measure(name, cases, whole) for name, cases in rows]
    agreed.append(greedy is None or presets_agree())
    formulas = []
    for seed in islice(seeds, count):
        options = random_options(np.random.default_rng(-seed % (1 << 32)), plain=False)
        formulas.append(make_case(seed, options))
    chosen = slow_greedy if greedy is None else greedy
    agreed.append(
        measure("every formula, from our values", formulas, lambda case: by_values(case, chosen))
    )
    return 0 if all(agreed) else 1


if __name__ == "__main__":
    sys.exit(main())
