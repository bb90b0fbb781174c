"""Measure document recall of questions with several documents: python -m benchmarks.documents SET.

Counts documents with a segment in the result, and documents listed as near duplicates of a
segment, for all questions and for questions that compare documents. Measured once with the titles
of the dataset, and once with titles extracted from the files.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.datasets import Dataset, read_dataset
from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from benchmarks.lib.scoring import cut, document_recall
from benchmarks.lib.training import build
from spanwise.core.ranking.question import read_question
from spanwise.knowledge_base import KnowledgeBase

BUDGETS = (1_000, 4_000)


def measure(base: KnowledgeBase, dataset: Dataset) -> str:
    """Return a table row with recall in points at both budgets; ids may be file names."""
    names = {document.path.name: document.id for document in dataset.documents}
    compares = np.array([read_question(query.text).compares for query in dataset.queries])
    shown, named = (np.zeros((len(BUDGETS), len(dataset.queries))) for _ in range(2))
    for at, budget in enumerate(BUDGETS):
        for number, query in enumerate(dataset.queries):
            result = base.search(
                query.text, budget_tokens=budget, headers=False, tokenizer="chars:4"
            )
            by_rank = sorted(result.segments, key=lambda segment: segment.rank)
            ranges = [(names.get(s.document_id, s.document_id), s.start, s.end) for s in by_rank]
            others = [(names.get(i, i), 0, 0) for s in by_rank for i in s.also_in]
            shown[at, number] = document_recall(query, cut(ranges, budget))
            named[at, number] = document_recall(query, [*cut(ranges, budget), *others])
    cells = [_points(shown), _points(named)]
    cells.append(_points(shown[:, compares]) if compares.any() else "")
    return " | ".join(cells)


def _points(found: NDArray[np.float64]) -> str:
    return "/".join(f"{100 * row.mean():.1f}" for row in found)


def run(folder: Path) -> None:
    """Measure with both kinds of titles and print the table."""
    dataset = read_dataset(folder)
    print("| recall at 1,000/4,000 tokens | shown | shown or named | comparisons, shown |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        with build(dataset, Path(place)) as given:
            print(f"| titles of the dataset | {measure(given, dataset)} |", flush=True)
        with KnowledgeBase(Path(place) / "files.kb") as own:
            own.add(folder / "documents")
            print(f"| titles of the files | {measure(own, dataset)} |")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path, nargs="?", help="folder of one dataset")
    parser.add_argument("--smoke", action="store_true", help="a tiny run on a sample of our own")
    arguments = parser.parse_args()
    if arguments.smoke:
        with tempfile.TemporaryDirectory() as folder:
            write_samples(Path(folder))
            run(Path(folder) / SAMPLE_SETS[0])
    elif arguments.dataset is None:
        parser.error("name the folder of a dataset, or --smoke")
    else:
        run(arguments.dataset)


if __name__ == "__main__":
    main()
