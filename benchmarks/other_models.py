"""What a reranker or another embedder changes: python -m benchmarks.other_models DATASETS.

    python -m benchmarks.other_models DATASETS --rerank cohere:rerank-v3.5 [--rerank-weight 1]
    python -m benchmarks.other_models DATASETS --embedder voyage:voyage-3.5

Searches each set as by default, and once more with what is named; recall of evidence at equal
tokens, the difference paired by question, with its 95 % interval. Run `python -m benchmarks.train
DATASETS` first: each set is searched with weights that were trained on the other sets. Knowledge
bases stay in the output folder and keep what models answered: a repeated run is not paid again.
Prints a table in Markdown and writes it to the output folder.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import train
from benchmarks.lib.datasets import TEXT_SETS, Dataset, read_dataset
from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from benchmarks.lib.scoring import interval
from benchmarks.quality import Measured, cell, model_without, spanwise_search
from spanwise.calls.reranking import RerankCaller
from spanwise.knowledge_base import KnowledgeBase
from spanwise.options import ModelOptions, RerankOptions, SegmentOptions
from spanwise.ports import Embedder, Reranker
from spanwise.providers.local.running import LocalEmbedder
from spanwise.providers.wordllama import WordLlama
from spanwise.query.rerank import Reranking
from spanwise.registry import make_embedder, make_reranker
from spanwise.testing.models import ScriptedReranker
from spanwise.types import SearchResult, Usage

_SAMPLES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """What a set is searched with in place of, or beside, the default."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    options: RerankOptions = field(default_factory=RerankOptions)

    @property
    def name(self) -> str:
        """Return the names of both."""
        return " and ".join(one.name for one in (self.embedder, self.reranker) if one is not None)


@dataclass(slots=True)
class Heard:
    """What searches took, and how many went on without a model that failed."""

    usage: Usage = field(default_factory=Usage)
    failed: int = 0

    def hear(self, result: SearchResult) -> None:
        """Count a search."""
        self.usage += result.usage
        self.failed += any("failed:" in said for said in result.warnings)


def measure(dataset: Dataset, out: Path, models: Models) -> tuple[Measured, Heard]:
    """Return what was reached on a set, and what it took."""
    heard = Heard()
    used = WordLlama() if models.embedder is None else models.embedder
    path = out / f"{dataset.name}-{re.sub(r'[^a-zA-Z0-9.]+', '-', used.name)}.kb"
    with KnowledgeBase(path, embedder=used) as base:
        for document in dataset.documents:
            added = base.add_text(document.text(), document_id=document.id, title=document.title)
            heard.usage += added.usage
        base.optimise()
        searcher = base.searcher(model_without(out, dataset.name))
        reranking = None
        if models.reranker is not None:
            caller = RerankCaller(reranker=models.reranker, cache=searcher.store)
            reranking = Reranking(caller=caller, options=models.options)
        search = spanwise_search(
            searcher, SegmentOptions.BALANCED, reranking=reranking, hear=heard.hear
        )
        return Measured(search, dataset.queries), heard


def run(
    datasets: Path, out: Path, names: Sequence[str], queries: int | None, models: Models
) -> None:
    """Measure some sets twice; print and write the table."""
    columns = ("recall % at 1,000/4,000 tokens", "default", models.name, "difference", "failed")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    differences, total = [], Usage()
    for name in names:
        dataset = read_dataset(datasets / name, limit=queries)
        plain, _ = measure(dataset, out, Models())
        other, heard = measure(dataset, out, models)
        differences.append((other.recall - plain.recall) * 100)
        total += heard.usage
        said = " / ".join(
            f"{column.mean():+.1f} [{', '.join(f'{x:.1f}' for x in interval(column))}]"
            for column in differences[-1].T
        )
        lines.append(f"| {name} | {cell(plain)} | {cell(other)} | {said} | {heard.failed} |")
        print(lines[-1], flush=True)
    cost = "price not known" if total.cost is None else f"${total.cost:.4f}"
    lines += [
        f"| mean of sets | | | {mean_difference(differences)} | |",
        "",
        f"{models.name}: {total.calls:,} calls, {total.cached_calls:,} kept from before, "
        f"{total.input_tokens:,} tokens in, {cost}",
    ]
    report = "\n".join(lines) + "\n"
    (out / "other_models.md").write_text(report, encoding="utf-8")
    print(report)


def mean_difference(differences: Sequence[NDArray[np.float64]]) -> str:
    """Return the mean over sets, with the interval of questions drawn anew inside each set."""
    random = np.random.default_rng(0)
    drawn = np.array(
        [
            np.mean([d[random.integers(0, len(d), len(d))].mean(axis=0) for d in differences], 0)
            for _ in range(_SAMPLES)
        ]
    )
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    mean = np.mean([difference.mean(axis=0) for difference in differences], axis=0)
    return " / ".join(
        f"{m:+.1f} [{a:.1f}, {b:.1f}]" for m, a, b in zip(mean, low, high, strict=True)
    )


def smoke(folder: Path) -> None:
    """Run both kinds of models on samples of our own, without a provider."""
    write_samples(folder)
    out = folder / "out"
    train.run(folder, out, SAMPLE_SETS, None)
    static = WordLlama()
    whole = LocalEmbedder(
        "scripted:whole",
        dimension=static.dimension,
        embed_documents=static.embed,
        embed_queries=static.embed,
    )
    words = ScriptedReranker(
        lambda query, text: float(len({*query.lower().split()} & {*text.lower().split()}))
    )
    for models in (Models(reranker=words), Models(embedder=whole)):
        run(folder, out, SAMPLE_SETS, None, models)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path, nargs="?", help="folder with a folder for each set")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out"))
    parser.add_argument("--queries", type=int, help="at most so many a set; all when not given")
    parser.add_argument("--sets", nargs="+", default=list(TEXT_SETS))
    parser.add_argument("--rerank", default="", help='such as "cohere:rerank-v3.5"')
    parser.add_argument("--rerank-weight", type=float, help="of a deviation of its scores")
    parser.add_argument("--rerank-chunks", type=int, default=100, help="that it reads of a query")
    parser.add_argument("--embedder", default="", help='such as "voyage:voyage-3.5"')
    parser.add_argument("--smoke", action="store_true", help="a tiny run on samples of our own")
    given = parser.parse_args()
    if given.smoke:
        with tempfile.TemporaryDirectory() as folder:
            smoke(Path(folder))
        return
    if given.datasets is None or not (given.rerank or given.embedder):
        parser.error("name the folder of the datasets and --rerank or --embedder, or --smoke")
    called = ModelOptions()
    models = Models(
        embedder=make_embedder(given.embedder, options=called) if given.embedder else None,
        reranker=make_reranker(given.rerank, options=called) if given.rerank else None,
        options=RerankOptions(chunks=given.rerank_chunks, weight=given.rerank_weight),
    )
    run(given.datasets, given.out, given.sets, given.queries, models)


if __name__ == "__main__":
    main()
