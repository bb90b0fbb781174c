"""Measure questions in other words than the documents: python -m benchmarks.reworded DATASETS.

    python -m benchmarks.reworded DATASETS --keep --save new.json --against old.json
    python -m benchmarks.reworded DATASETS --embedder minilm --keep
    python -m benchmarks.reworded DATASETS --drop similar_coverage --field keyword_share=0.3

The tables have the recall of evidence at equal tokens for original questions, reworded questions
and one-line facts. A fact counts as found if one of the places that state it is returned whole. The
tables also have the percentage of questions that are refused (with `abstain=True`), the percentage
with weak evidence, and the returned tokens. A set may lack some kinds of questions.

Run `python -m benchmarks.train DATASETS` first to search each set with weights trained on the other
sets; otherwise, and with `--shipped`, the shipped weights are used. `--save` writes the results by
question. `--against` reads such a file and reports paired differences of each method with 95 %
intervals. The file may come from another commit, another embedder, or a run without a feature
(`--drop`) or with another value in the relevance model (`--field`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import train
from benchmarks.lib.baselines import EmbedderAlone, Fusion, PlainBm25
from benchmarks.lib.command_line import check_features, command_line, given, numbers
from benchmarks.lib.datasets import (
    FACTS,
    TEXT_SETS,
    Dataset,
    Query,
    first_documents,
    read_dataset,
)
from benchmarks.lib.question_rows import (
    Row,
    grouped,
    mean,
    read_rows,
    render,
    render_differences,
    write_rows,
)
from benchmarks.lib.sample import SAMPLE_FACTS, SAMPLE_SETS
from benchmarks.lib.scoring import CHARS_A_TOKEN, cut, recall, states_fact
from benchmarks.lib.training import build, embedder_label, remove_packs, use_packs
from benchmarks.quality import Search, chunk_ranges, model_for, spanwise_search
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of, store_of
from spanwise.models.registry import make_reranker
from spanwise.models.rerankers.rerank_caller import RerankCaller
from spanwise.options import ModelOptions, RerankOptions, SegmentOptions
from spanwise.search.rerank import Reranking
from spanwise.search.shipped_model import shipped_model
from spanwise.types import SearchResult

BUDGETS, FACT_BUDGETS = (1_000, 4_000), (500, 1_500, 4_000)
BM25, ALONE = "BM25 of 800 characters, with titles", "embedder alone"
SPANWISE, NO_PACKS = "Spanwise", "Spanwise without packs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the measured searches."""

    embedder: str = "auto"
    """Name of the embedder."""
    weights: Path | None = None
    """Folder of the trained weights; None for the shipped weights."""
    queries: int | None = None
    """Maximum number of original questions per set; None for all."""
    documents: int | None = None
    """Maximum number of documents per set; None for all."""
    keep: bool = False
    """Whether to reuse the knowledge bases of an earlier run."""
    drop: Sequence[str] = ()
    """Features with weight 0."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Other values in the relevance model."""
    rerank: str = ""
    """Name of a reranker; "" for none."""
    rerank_chunks: int = 100
    """Number of chunks that the reranker reads."""
    only: str = ""
    """Text that the names of the measured methods contain; "" for all methods."""

    def model(self, name: str) -> RelevanceModel:
        """Return the relevance model for a set."""
        if self.weights is None:
            model = shipped_model()
        else:
            model = model_for(self.weights, name, embedder=self.embedder)
        kept = [name not in self.drop for name in model.features]
        return replace(model, weights=np.where(kept, model.weights, 0.0), **self.fields)

    def reranking(self, base: KnowledgeBase) -> Reranking | None:
        """Return the reranking of a knowledge base; None without a reranker."""
        if not self.rerank:
            return None
        caller = RerankCaller(
            reranker=make_reranker(self.rerank, options=ModelOptions()), cache=store_of(base)
        )
        return Reranking(caller=caller, options=RerankOptions(chunks=self.rerank_chunks))


class Measured:
    """Measures methods on the questions of one set."""

    def __init__(self, dataset: Dataset, base: KnowledgeBase, settings: Settings) -> None:
        self._dataset = dataset
        self._base = base
        self._settings = settings
        used = {name for query in dataset.queries if query.asks_fact for name in query.evidence}
        self._texts = {one.id: one.text() for one in dataset.documents if one.id in used}

    def rows(self) -> Iterator[Row]:
        """Yield the results of the chosen methods."""
        methods: dict[str, Callable[[str], Iterator[Row]]] = {
            BM25: self._bm25,
            ALONE: self._alone,
            SPANWISE: self._spanwise,
            NO_PACKS: self._spanwise,
        }
        for method, measure in methods.items():
            if self._settings.only in method:
                yield from measure(method)

    def _bm25(self, method: str) -> Iterator[Row]:
        plain = PlainBm25(self._dataset)
        for query in self._dataset.queries:
            yield self._row(method, query, lambda query, _: plain.search(query))

    def _alone(self, method: str) -> Iterator[Row]:
        search = EmbedderAlone(self._base).search
        if not embedder_label(self._settings.embedder):  # the default embedder
            ranges = chunk_ranges(self._base, self._dataset)
            static = Fusion(self._dataset, ranges, neighbours=True)
            search = partial(static.search, dense=1)
        for query in self._dataset.queries:
            yield self._row(method, query, lambda query, _: search(query))

    def _spanwise(self, method: str) -> Iterator[Row]:
        (remove_packs if method == NO_PACKS else use_packs)(self._base)
        results: list[SearchResult] = []
        search, refusing = (
            spanwise_search(
                searcher_of(self._base, self._settings.model(self._dataset.name)),
                SegmentOptions.BALANCED,
                abstain=abstain,
                reranking=self._settings.reranking(self._base),
                hear=results.append,
            )
            for abstain in (False, True)
        )
        for query in self._dataset.queries:
            row = self._row(method, query, search)
            weak = results[-1].weak_evidence
            refused = not refusing(query, max(budgets(query)))
            yield replace(row, weak=weak, refused=refused)

    def _row(self, method: str, query: Query, search: Search) -> Row:
        started = time.perf_counter()
        found = [cut(search(query, budget), budget) for budget in budgets(query)]
        seconds = (time.perf_counter() - started) / len(found)
        score = recall if not query.asks_fact else self._stated
        return Row(
            method=method,
            set=self._dataset.name,
            kind=query.kind,
            id=query.id,
            scores=tuple(score(query, ranges) for ranges in found),
            tokens=tuple(sum(e - s for _, s, e in ranges) / CHARS_A_TOKEN for ranges in found),
            seconds=seconds,
        )

    def _stated(self, query: Query, ranges: Sequence[tuple[str, int, int]]) -> float:
        return states_fact(query, ranges, self._texts)


def budgets(query: Query) -> tuple[int, ...]:
    """Return the budgets of a question."""
    return FACT_BUDGETS if query.asks_fact else BUDGETS


def measure(datasets: Path, out: Path, names: Sequence[str], settings: Settings) -> list[Row]:
    """Return the results of all methods on some sets, and print a line about each set."""
    out.mkdir(parents=True, exist_ok=True)
    found: list[Row] = []
    for name in names:
        started = time.perf_counter()
        dataset = read_dataset(datasets / name, limit=settings.queries, reworded=True)
        dataset = first_documents(dataset, settings.documents)
        with build(dataset, out, embedder=settings.embedder, keep=settings.keep) as base:
            rows = list(Measured(dataset, base, settings).rows())
        found += rows
        for method, part in grouped(rows, "method").items():
            cells = [f"{kind} {mean(of_kind)}" for kind, of_kind in grouped(part, "kind").items()]
            print(f"{name}: {method}: {', '.join(cells)}", flush=True)
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    return found


def run(
    datasets: Path, out: Path, names: Sequence[str], settings: Settings, against: Path | None = None
) -> list[Row]:
    """Measure some sets; print and write the tables."""
    rows = measure(datasets, out, names, settings)
    lines = [*render(rows), "", *render_differences(rows, rows, by=SPANWISE)]
    if against is not None:
        lines += ["", f"Difference to the results in {against.name}:", ""]
        lines += render_differences(rows, read_rows(against))
    report = "\n".join(lines) + "\n"
    (out / "reworded.md").write_text(report, encoding="utf-8")
    print(f"\n{report}")
    return rows


def smoke(folder: Path) -> None:
    """Run on samples, with weights trained on them, and compare the run with itself."""
    out, saved = folder / "out", folder / "rows.json"
    train.run(folder, out, SAMPLE_SETS, None)
    settings = Settings(weights=out, keep=True)
    names = (*SAMPLE_SETS, SAMPLE_FACTS)
    write_rows(saved, run(folder, out, names, settings))
    run(folder, out, names, replace(settings, only=SPANWISE, drop=["coverage"]), saved)


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__, sets=[*TEXT_SETS, FACTS])
    parser.add_argument("--embedder", default="wordllama", help="name of the embedder")
    parser.add_argument("--rerank", default="", help="name of a reranker; default: none")
    parser.add_argument(
        "--rerank-chunks", type=int, default=100, help="candidates to rerank per query"
    )
    parser.add_argument("--shipped", action="store_true", help="use the shipped weights")
    parser.add_argument("--documents", type=int, help="maximum number of documents per set")
    parser.add_argument("--keep", action="store_true", help="reuse and keep the knowledge bases")
    parser.add_argument(
        "--only", default="", help="measure only methods whose name contains this text"
    )
    parser.add_argument("--drop", nargs="+", default=[], help="features to give the weight 0")
    parser.add_argument(
        "--field", nargs="+", default=[], help="fields of the relevance model, as NAME=VALUE"
    )
    parser.add_argument("--save", type=Path, help="file for the results by question")
    parser.add_argument("--against", type=Path, help="file of an earlier run to compare with")
    with given(parser) as arguments:
        if arguments.smoke:
            smoke(arguments.datasets)
            return
        check_features(parser, arguments.drop)
        settings = Settings(
            embedder=arguments.embedder,
            weights=None if arguments.shipped else arguments.out,
            queries=arguments.queries,
            documents=arguments.documents,
            keep=arguments.keep,
            drop=arguments.drop,
            fields=numbers(arguments.field),
            rerank=arguments.rerank,
            rerank_chunks=arguments.rerank_chunks,
            only=arguments.only,
        )
        rows = run(arguments.datasets, arguments.out, arguments.sets, settings, arguments.against)
        if arguments.save is not None:
            write_rows(arguments.save, rows)


if __name__ == "__main__":
    main()
