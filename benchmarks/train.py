"""Train the shipped weights: python -m benchmarks.train DATASETS [--out FOLDER].

Writes `relevance-without-SET.json` for each set (trained on all other sets, for cross-validated
figures) and `relevance.json` (trained on all sets that may be shipped) to the output folder; copy
the latter to `src/spanwise/core/relevance.json`. FinanceBench is never used for training: its
licence permits evaluation only.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import NEVER_TRAINED, TEXT_SETS, read_dataset
from benchmarks.lib.training import Example, build, examples, relevance_table, train
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.models.providers.wordllama import WordLlama


def run(datasets: Path, out: Path, names: Sequence[str], queries: int | None) -> None:
    """Train on some sets and write the weights to a folder."""
    out.mkdir(parents=True, exist_ok=True)
    sets: dict[str, list[Example]] = {}
    for name in names:
        started = time.perf_counter()
        dataset = read_dataset(datasets / name, limit=queries)
        with build(dataset, out) as base:
            sets[name] = examples(base, dataset.queries)
        seconds = time.perf_counter() - started
        print(f"{name}: {len(sets[name])} questions, {seconds:.0f} s", flush=True)
    trained = {name: found for name, found in sets.items() if name not in NEVER_TRAINED}
    without = {
        name: train({other: found for other, found in trained.items() if other != name})
        for name in sets
    }
    table = relevance_table({name: without[name] for name in trained}, trained)
    for name, model in without.items():
        _write(out / f"relevance-without-{name}.json", replace(model, table=table))
    shipped = replace(train(trained), table=table)
    _write(out / "relevance.json", shipped)
    for feature, weight in zip(shipped.features, shipped.weights, strict=True):
        print(f"{feature:16s} {weight:6.2f}")
    print("share -> relevance:", " ".join(f"{s:.4f}:{r:.3f}" for s, r in table.T))


def _write(path: Path, model: RelevanceModel) -> None:
    curvature = np.zeros((0, 0)) if model.curvature is None else model.curvature
    data = {
        "embedder": WordLlama.name,  # which knowledge bases have that name none
        "features": list(model.features),
        "means": [round(float(x), 6) for x in model.means],
        "deviations": [round(float(x), 6) for x in model.deviations],
        "weights": [round(float(x), 5) for x in model.weights],
        "table": [[round(float(s), 6), round(float(r), 5)] for s, r in model.table.T],
        "curvature": [[round(float(x), 6) for x in row] for row in curvature],
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run the command line."""
    with given(command_line(__doc__, sets=TEXT_SETS, queries=400)) as arguments:
        run(arguments.datasets, arguments.out, arguments.sets, arguments.queries)


if __name__ == "__main__":
    main()
