"""Recall at equal tokens, against named baselines: python -m benchmarks.quality DATASETS.

Run `python -m benchmarks.train DATASETS` first: each set is searched with weights that were
trained on the other sets. Without them, the shipped weights are used. Prints a table in Markdown
and writes it to the output folder. MiniLM is used if it is installed, unless SPANWISE_DEEP is off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import train
from benchmarks.lib.baselines import Fusion, PlainBm25, Range
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import (
    DOCUMENT_SETS,
    LANGUAGE_SETS,
    TEXT_SETS,
    Dataset,
    Query,
    read_dataset,
)
from benchmarks.lib.scoring import cut, document_recall, interval, recall
from benchmarks.lib.training import build, read_weights, weights_path
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SearchOptions, SegmentOptions
from spanwise.search.pipeline import Searcher, SearchRequest
from spanwise.search.rerank import Reranking
from spanwise.search.scoring import Scope
from spanwise.search.shipped_model import shipped_model
from spanwise.types import SearchResult

BUDGETS = (1_000, 4_000)
Search = Callable[[Query, int], list[Range]]
Floats = NDArray[np.float64]


class Measured:
    """Results of one method on one set, or on the questions in one language."""

    def __init__(self, search: Search, queries: Sequence[Query]) -> None:
        started = time.perf_counter()
        found = [[search(query, budget) for budget in BUDGETS] for query in queries]
        self.seconds = (time.perf_counter() - started) / max(len(queries), 1) / len(BUDGETS)
        self.recall = np.array(
            [
                [
                    (recall if q.evidence_chars else document_recall)(q, cut(ranges, b))
                    for ranges, b in zip(row, BUDGETS, strict=True)
                ]
                for q, row in zip(queries, found, strict=True)
            ]
        )
        self.segments = np.array(
            [[len(cut(ranges, b)) for ranges, b in zip(row, BUDGETS, strict=True)] for row in found]
        )

    def __str__(self) -> str:
        """Return recall, number of segments and time per search as text."""
        low, high = self.segments.mean(axis=0)
        return f"{cell(self)}  segments {low:.1f}/{high:.1f}  {self.seconds * 1000:.1f} ms"


def spanwise_search(  # noqa: PLR0913 - options of a search
    searcher: Searcher,
    options: SegmentOptions,
    *,
    headers: bool = False,
    abstain: bool = True,
    deep: bool = True,
    reranking: Reranking | None = None,
    hear: Callable[[SearchResult], object] = lambda _: None,
) -> Search:
    """Return a search for segments; headers count towards the budget only if requested.

    `deep` compares the best candidates by MiniLM if it is installed.
    """

    def search(query: Query, budget: int) -> list[Range]:
        result = searcher.search(
            SearchRequest(
                question=query.text, scope=Scope(documents=query.scope), reranking=reranking
            ),
            options=SearchOptions(
                budget_tokens=budget,
                segments=options,
                headers=headers,
                tokenizer="chars:4",
                abstain=abstain,
                deep=deep,
            ),
        )
        hear(result)
        by_rank = sorted(result.segments, key=lambda segment: segment.rank)
        return [(s.document_id, s.start, s.end) for s in by_rank]

    return search


def model_without(out: Path, name: str, *, embedder: str = "auto") -> RelevanceModel:
    """Return the weights trained on the other sets, or on all training sets."""
    path = weights_path(out, embedder=embedder, without=name)
    path = path if path.exists() else weights_path(out, embedder=embedder)
    return read_weights(path)


def model_for(out: Path, name: str, *, embedder: str = "auto") -> RelevanceModel:
    """Return the weights trained without a set; the shipped weights if there are none."""
    trained = weights_path(out, embedder=embedder).exists()
    return model_without(out, name, embedder=embedder) if trained else shipped_model()


def chunk_ranges(base: KnowledgeBase, dataset: Dataset) -> list[Range]:
    """Return the chunks of a knowledge base as ranges."""
    return [
        (document.id, chunk.start, chunk.end)
        for document in dataset.documents
        for chunk in base.chunks(document.id)
    ]


def methods(base: KnowledgeBase, dataset: Dataset, out: Path) -> dict[str, Search]:
    """Return the methods to compare; each adds one feature to the method before it."""
    searcher = searcher_of(base, model_for(out, dataset.name))
    ranges = chunk_ranges(base, dataset)
    plain = PlainBm25(dataset)
    alone = Fusion(dataset, ranges, neighbours=False)
    near = Fusion(dataset, ranges, neighbours=True)
    return {
        "BM25 of 800 characters, with titles": lambda query, _: plain.search(query),
        "BM25 of our chunks, stemmed": lambda query, _: alone.search(query, dense=0),
        "+ embeddings": lambda query, _: alone.search(query),
        "+ neighbours (the fusion baseline)": lambda query, _: near.search(query),
        "+ all features, best chunks first": spanwise_search(
            searcher, SegmentOptions(segment_charge=0.0, token_price=0.0)
        ),
        "+ segments: precise": spanwise_search(searcher, SegmentOptions.PRECISE),
        "+ segments: balanced (default)": spanwise_search(searcher, SegmentOptions.BALANCED),
        "+ segments: comprehensive": spanwise_search(searcher, SegmentOptions.COMPREHENSIVE),
        "default, headers counted": spanwise_search(
            searcher, SegmentOptions.BALANCED, headers=True
        ),
    }


def cell(measured: Measured) -> str:
    """Return the recall at both budgets, in points."""
    low, high = measured.recall.mean(axis=0) * 100
    return f"{low:.1f}/{high:.1f}"


def run(datasets: Path, out: Path, names: Sequence[str], queries: int | None, only: str) -> None:
    """Measure the methods whose name contains `only` on some sets; print and write the table."""
    table: dict[str, dict[str, Measured]] = {}
    for name in names:
        dataset = read_dataset(datasets / name, limit=queries)
        with build(dataset, out) as base:
            for method, search in methods(base, dataset, out).items():
                if only not in method:
                    continue
                for part, asked in parts(dataset).items():
                    measured = Measured(search, asked)
                    table.setdefault(method, {})[part] = measured
                    print(f"{part:18s} {method:38s} {measured}", flush=True)
    report = render(table)
    (out / "quality.md").write_text(report, encoding="utf-8")
    print(report)


def parts(dataset: Dataset) -> dict[str, list[Query]]:
    """Return the queries of a set by name; of a multilingual set, by language."""
    found: dict[str, list[Query]] = {}
    for query in dataset.queries:
        language = f" {query.language}" if dataset.name in LANGUAGE_SETS else ""
        found.setdefault(dataset.name + language, []).append(query)
    return found


def render(table: dict[str, dict[str, Measured]]) -> str:
    """Return the table, the means over English sets with evidence, and paired differences."""
    sets = list(dict.fromkeys(name for found in table.values() for name in found))
    others = {*DOCUMENT_SETS, *LANGUAGE_SETS}
    placed = [name for name in sets if name.split()[0] not in others] or sets
    lines = [
        f"| recall % at 1,000/4,000 tokens | {' | '.join(sets)} | mean | segments |",
        "|---" * (len(sets) + 3) + "|",
    ]
    for method, found in table.items():
        means = np.mean([found[name].recall.mean(axis=0) for name in placed], axis=0) * 100
        segments = np.mean([found[name].segments.mean(axis=0) for name in placed], axis=0)
        cells = " | ".join(cell(found[name]) for name in sets)
        lines.append(
            f"| {method} | {cells} | {means[0]:.1f}/{means[1]:.1f} "
            f"| {segments[0]:.1f}/{segments[1]:.1f} |"
        )
    default = next((m for m in table if "(default)" in m), "")
    for baseline in [m for m in table if default and ("800" in m or "baseline" in m)]:
        differences = []
        for name in sets:
            difference = (table[default][name].recall - table[baseline][name].recall) * 100
            parts = [
                f"{column.mean():+.1f} [{', '.join(f'{x:.1f}' for x in interval(column))}]"
                for column in difference.T
            ]
            differences.append(" / ".join(parts))
        lines.append(f"| default less {baseline} | {' | '.join(differences)} | | |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__, sets=[*TEXT_SETS, *LANGUAGE_SETS, *DOCUMENT_SETS])
    parser.add_argument("--only", default="", help="methods whose name holds this")
    with given(parser) as arguments:
        if arguments.smoke:
            train.run(arguments.datasets, arguments.out, arguments.sets, None)
        run(
            arguments.datasets,
            arguments.out,
            arguments.sets,
            arguments.queries,
            arguments.only,
        )


if __name__ == "__main__":
    main()
