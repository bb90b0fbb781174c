"""Task of a peer: answer the questions of a dataset, and write the returned ranges.

    python -m benchmarks.lib.peer_runs.PEER DATASET OUT [--queries N] [--reworded]

Writes `METHOD-BUDGET.jsonl` in the format of predictions (`{"query_id", "segments"}`, best first,
each with `doc_id`, `start` and `end` in characters) and `METHOD.json` with version and CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

from benchmarks.lib.datasets import Dataset, Query, read_dataset

Range = tuple[str, int, int]
Search = Callable[[Query, int], list[Range]]
"""Function from a question and a budget in tokens to ranges, best first."""
Build = Callable[[Dataset], Search]
"""Function that adds the documents and returns the search function."""

BUDGETS = (1_000, 4_000)


def answer(methods: Mapping[str, Build], *, package: str) -> None:
    """Run the command line: run each method, and write the returned ranges."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--queries", type=int)
    parser.add_argument("--reworded", action="store_true")
    given = parser.parse_args()
    dataset = read_dataset(given.dataset, limit=given.queries, reworded=given.reworded)
    given.out.mkdir(parents=True, exist_ok=True)
    for method, build in methods.items():
        started = time.process_time()
        search = build(dataset)
        built = time.process_time()
        for budget in BUDGETS:
            rows = [_row(query, search(query, budget)) for query in dataset.queries]
            path = given.out / f"{method}-{budget}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        searches = max(len(dataset.queries), 1) * len(BUDGETS)
        took = {
            "package": f"{package} {version(package)}",
            "ingest_seconds": built - started,
            "search_seconds": (time.process_time() - built) / searches,
        }
        (given.out / f"{method}.json").write_text(json.dumps(took), encoding="utf-8")


def _row(query: Query, ranges: list[Range]) -> dict[str, object]:
    segments = [{"doc_id": d, "start": start, "end": end} for d, start, end in ranges]
    return {"query_id": query.id, "segments": segments}
