"""Measure whether shown relevances are probabilities: python -m benchmarks.calibration DATASETS.

The relevance of a segment is the probability that it contains evidence. The script searches sets
with answerable questions (originals and reworded questions) and unanswerable questions. It compares
the relevances with the observed frequency of evidence, by bins. A segment contains evidence if it
overlaps a labelled piece of evidence.

Each cell of the table has the number of segments, the mean relevance and the frequency. In the
first columns, all questions are answerable, and the relevance does not include the probability that
there is an answer. In the last column, half of all questions are answerable, and the relevance is
that of the result. Run `python -m benchmarks.train DATASETS` first to search each set with weights
trained on the other sets; otherwise the shipped weights are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.abstention import ANSWERABLE, every, questions
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import TEXT_SETS, Query, read_dataset, read_unanswerable
from benchmarks.lib.training import build
from benchmarks.quality import model_for
from spanwise.core.ranking.abstention import UNASSESSED
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SearchOptions
from spanwise.search.pipeline import Searcher, SearchRequest
from spanwise.search.scoring import Scope
from spanwise.types import SearchResult, Segment

Floats = NDArray[np.float64]
_EDGES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_ALL = "half answerable, as shown"


@dataclass(slots=True)
class Predictions:
    """Relevances of segments, with the observed evidence and a weight for each."""

    relevances: list[float] = field(default_factory=list)
    hits: list[bool] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def add(self, relevance: float, *, hit: bool, weight: float) -> None:
        """Add one segment."""
        self.relevances.append(relevance)
        self.hits.append(hit)
        self.weights.append(weight)

    def cells(self) -> list[str]:
        """Return the cell of each bin, then the Brier score and the mean error of the bins."""
        relevances, hits = np.array(self.relevances), np.array(self.hits, dtype=np.float64)
        weights = np.array(self.weights)
        bins = np.clip(np.searchsorted(_EDGES, relevances, side="right") - 1, 0, len(_EDGES) - 2)
        cells, error = [], 0.0
        for number in range(len(_EDGES) - 1):
            mine = bins == number
            if not mine.any():
                cells.append("")
                continue
            shown = float(np.average(relevances[mine], weights=weights[mine]))
            seen = float(np.average(hits[mine], weights=weights[mine]))
            error += abs(shown - seen) * float(weights[mine].sum() / weights.sum())
            cells.append(f"{mine.sum()}: {shown:.2f}, {seen:.2f}")
        brier = float(np.average((relevances - hits) ** 2, weights=weights))
        return [*cells, f"{brier:.3f}", f"{error:.3f}"]


def run(datasets: Path, out: Path, names: Sequence[str], queries: int | None) -> None:
    """Search the questions of some sets, and print and write the table."""
    out.mkdir(parents=True, exist_ok=True)
    sets = {name: read_dataset(datasets / name, limit=queries, reworded=True) for name in names}
    tables = {name: Predictions() for name in (*ANSWERABLE, _ALL)}
    for name, dataset in sets.items():
        asked = list(
            questions(
                dataset,
                others={other: each.queries for other, each in sets.items()},
                unanswerable=every(read_unanswerable(datasets / name), queries or 10**9),
            )
        )
        kinds = [kind for kind, _, _ in asked]
        answerable = sum(kind in ANSWERABLE for kind in kinds)
        with build(dataset, out) as base:
            searcher = searcher_of(base, model_for(out, name))
            for kind, _, query in asked:
                is_answerable = kind in ANSWERABLE
                weight = 1 / (answerable if is_answerable else len(asked) - answerable)
                result = _search(searcher, query)
                chance = 1.0 if result.evidence == UNASSESSED.evidence else result.evidence
                for segment in result.segments:
                    hit = is_answerable and _holds(segment, query)
                    tables[_ALL].add(segment.relevance, hit=hit, weight=weight)
                    if is_answerable:
                        here = min(1.0, segment.relevance / chance)
                        tables[kind].add(here, hit=hit, weight=1.0)
        print(f"{name}: {len(asked)} questions", flush=True)
    report = render({name: table for name, table in tables.items() if table.hits})
    (out / "calibration.md").write_text(report + "\n", encoding="utf-8")
    print(report)


def _search(searcher: Searcher, query: Query) -> SearchResult:
    return searcher.search(
        SearchRequest(question=query.text, scope=Scope(documents=query.scope)),
        options=SearchOptions(budget_tokens=4_000, headers=False, tokenizer="chars:4"),
    )


def _holds(segment: Segment, query: Query) -> bool:
    """Return whether a segment overlaps a piece of evidence."""
    ranges = query.evidence.get(segment.document_id, [])
    return any(start < segment.end and segment.start < end for start, end in ranges)


def render(tables: dict[str, Predictions]) -> str:
    """Return the table, with a line for each bin, the Brier score and the mean error."""
    columns = {name: table.cells() for name, table in tables.items()}
    bins = [f"{low:g} to {high:g}" for low, high in pairwise(_EDGES)]
    lines = [
        f"| relevance | {' | '.join(columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for number, label in enumerate([*bins, "Brier score", "mean error"]):
        lines.append(f"| {label} | {' | '.join(cells[number] for cells in columns.values())} |")
    return "\n".join(lines)


def main() -> None:
    """Run the command line."""
    with given(command_line(__doc__, sets=TEXT_SETS, queries=120)) as arguments:
        run(arguments.datasets, arguments.out, arguments.sets, arguments.queries)


if __name__ == "__main__":
    main()
