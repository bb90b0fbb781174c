"""Recall of documents with the titles that stand in the files: python -m benchmarks.own_titles SET.

The other tables give each document the title of its dataset. Here the folder of files is added as a
person adds it. The baseline is the same search with the titles given.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.lib.datasets import Dataset, read_dataset
from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from benchmarks.lib.scoring import cut, document_recall
from benchmarks.lib.training import build
from spanwise.knowledge_base import KnowledgeBase

BUDGETS = (1_000, 4_000)


def measure(base: KnowledgeBase, dataset: Dataset) -> str:
    """Return recall of documents in points at both budgets; ids may be names of files."""
    means = []
    for budget in BUDGETS:
        found = 0.0
        for query in dataset.queries:
            result = base.search(
                query.text, budget_tokens=budget, headers=False, tokenizer="chars:4"
            )
            by_rank = sorted(result.segments, key=lambda segment: segment.rank)
            names = {document.path.name: document.id for document in dataset.documents}
            ranges = [(names.get(s.document_id, s.document_id), s.start, s.end) for s in by_rank]
            found += document_recall(query, cut(ranges, budget))
        means.append(f"{100 * found / len(dataset.queries):.1f}")
    return "/".join(means)


def run(folder: Path) -> None:
    """Measure both and print them."""
    dataset = read_dataset(folder)
    with tempfile.TemporaryDirectory() as place:
        with build(dataset, Path(place)) as given:
            print(f"titles of the dataset: {measure(given, dataset)}", flush=True)
        with KnowledgeBase(Path(place) / "files.kb") as own:
            own.add(folder / "documents")
            print(f"titles of the files:   {measure(own, dataset)}")


def main() -> None:
    """Read the command line and run."""
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
