"""Measure a reranker or another embedder: python -m benchmarks.other_models DATASETS.

    python -m benchmarks.other_models DATASETS --rerank cohere:rerank-v3.5 [--rerank-weight 1]
    python -m benchmarks.other_models DATASETS --embedder voyage:voyage-3.5 --train
    python -m benchmarks.other_models DATASETS --oracle-noise 1 --train

Each set is searched with the default models, and again with the named model. The report shows the
recall of evidence at equal tokens, and paired differences with 95 % intervals. Run `python -m
benchmarks.train DATASETS` first: each set is searched with weights trained on the other sets.
`--train` adds a third search with weights for the embedder or the reranker trained on the other
sets. `--oracle-noise` uses a simulated reranker that knows the evidence and adds noise. Knowledge
bases and model outputs are kept in the output folder, so a repeated run costs nothing. The table
is printed as Markdown and written to the output folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks import train
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import TEXT_SETS, Dataset, read_dataset
from benchmarks.lib.oracle import oracle, oracle_name
from benchmarks.lib.places_of_models import reranked_without, weights_without
from benchmarks.lib.sample import SAMPLE_SETS
from benchmarks.lib.scoring import Differences, interval, mean_difference
from benchmarks.lib.training import Example, labelled, untrained_model
from benchmarks.quality import Measured, cell, model_without, spanwise_search
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.evaluation.tuning.examples import collect_examples
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of, store_of
from spanwise.models.ports import Embedder, Reranker
from spanwise.models.providers.local_model import LocalEmbedder
from spanwise.models.providers.wordllama import WordLlama
from spanwise.models.registry import make_embedder, make_reranker
from spanwise.models.rerankers.rerank_caller import RerankCaller
from spanwise.options import ModelOptions, RerankOptions, SegmentOptions
from spanwise.search.rerank import Reranking
from spanwise.testing.models import ScriptedReranker
from spanwise.types import SearchResult, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Embedder and reranker of a run."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    oracle_noise: float | None = None
    """Standard deviation of the noise of the simulated reranker; None without one."""
    options: RerankOptions = field(default_factory=RerankOptions)
    keyword_share: float = 0.7
    """Weight of the keyword score in fused scores, if weights are trained with the embedder."""

    @property
    def name(self) -> str:
        """Return the names of the embedder and the reranker."""
        names = [one.name for one in (self.embedder, self.reranker) if one is not None]
        oracle = [] if self.oracle_noise is None else [oracle_name(self.oracle_noise)]
        return " and ".join(names + oracle)

    @property
    def reranks(self) -> bool:
        """Return whether there is a reranker."""
        return self.reranker is not None or self.oracle_noise is not None

    def reranking(self, base: KnowledgeBase, dataset: Dataset) -> Reranking | None:
        """Return the reranking of a set; None without a reranker."""
        reranker = self.reranker
        if self.oracle_noise is not None:
            reranker = oracle(dataset, self.oracle_noise)
        if reranker is None:
            return None
        cache = store_of(base)
        return Reranking(caller=RerankCaller(reranker=reranker, cache=cache), options=self.options)


@dataclass(slots=True)
class Heard:
    """Usage and failures of the searches of a run."""

    usage: Usage = field(default_factory=Usage)
    failed: int = 0

    def hear(self, result: SearchResult) -> None:
        """Count a search."""
        self.usage += result.usage
        self.failed += any("failed:" in said for said in result.warnings)


@contextmanager
def opened(dataset: Dataset, out: Path, models: Models, heard: Heard) -> Iterator[KnowledgeBase]:
    """Yield the knowledge base of a set with an embedder; an existing one is reused."""
    used = WordLlama() if models.embedder is None else models.embedder
    path = out / f"{dataset.name}-{re.sub(r'[^a-zA-Z0-9.]+', '-', used.name)}.kb"
    with KnowledgeBase(path, embedder=used) as base:
        for document in dataset.documents:
            added = base.add_text(document.text(), document_id=document.id, title=document.title)
            heard.usage += added.usage
        base.compact()
        yield base


def measure(
    dataset: Dataset, out: Path, models: Models, model: RelevanceModel
) -> tuple[Measured, Heard]:
    """Return the results of a set, with usage and failures."""
    heard = Heard()
    with opened(dataset, out, models, heard) as base:
        search = spanwise_search(
            searcher_of(base, model),
            SegmentOptions.BALANCED,
            reranking=models.reranking(base, dataset),
            hear=heard.hear,
        )
        return Measured(search, dataset.queries), heard


def trained(datasets: Sequence[Dataset], out: Path, models: Models) -> dict[str, RelevanceModel]:
    """Return the model of each set, with the weights trained on the other sets."""
    found = {one.name: model_without(out, one.name) for one in datasets}
    if models.embedder is not None:
        share = replace(untrained_model(), keyword_share=models.keyword_share)
        sets = {one.name: _examples(one, out, models, share) for one in datasets}
        found = weights_without(sets, keyword_share=models.keyword_share)
    if models.reranks:
        sets = {
            one.name: _examples(one, out, models, found[one.name], rerank=True) for one in datasets
        }
        found = reranked_without(sets, found)
    return found


def _examples(
    dataset: Dataset, out: Path, models: Models, model: RelevanceModel, *, rerank: bool = False
) -> list[Example]:
    questions = labelled(dataset.queries)
    with opened(dataset, out, models, Heard()) as base:
        reranking = models.reranking(base, dataset) if rerank else None
        return collect_examples(base, questions, model=model, reranking=reranking)


def run(datasets: Sequence[Dataset], out: Path, models: Models, *, train: bool) -> None:
    """Measure some sets; print and write the table."""
    columns = ["recall % at 1,000/4,000 tokens", "default", models.name, "difference", "failed"]
    columns += ["trained", "trained less default", "trained less untrained"] if train else []
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    own = trained(datasets, out, models) if train else {}
    differences: list[list[Differences]] = []
    total = Usage()
    for dataset in datasets:
        model = model_without(out, dataset.name)
        plain, _ = measure(dataset, out, Models(), model)
        other, heard = measure(dataset, out, models, model)
        total += heard.usage
        pairs = [(other.recall - plain.recall) * 100]
        cells = [cell(plain), cell(other), said(pairs[0]), str(heard.failed)]
        if train:
            best, heard = measure(dataset, out, models, own[dataset.name])
            total += heard.usage
            pairs += [(best.recall - plain.recall) * 100, (best.recall - other.recall) * 100]
            cells += [cell(best), said(pairs[1]), said(pairs[2])]
        differences.append(pairs)
        lines.append(f"| {dataset.name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    means = [mean_difference(column) for column in zip(*differences, strict=True)]
    ends = ["", "", means[0], ""] + (["", *means[1:]] if train else [])
    cost = "price not known" if total.cost is None else f"${total.cost:.4f}"
    lines += [
        f"| mean of sets | {' | '.join(ends)} |",
        "",
        f"{models.name}: {total.calls:,} calls, {total.cached_calls:,} kept from before, "
        f"{total.input_tokens:,} tokens in, {cost}",
    ]
    for name, model in own.items():
        lines += [f"- weight without {name}: {one:.2f}" for one in model.rerankers.values()]
    report = "\n".join(lines) + "\n"
    (out / "other_models.md").write_text(report, encoding="utf-8")
    print(report)


def said(difference: Differences) -> str:
    """Return the mean difference at each budget with its interval, as text."""
    return " / ".join(
        f"{column.mean():+.1f} [{', '.join(f'{x:.1f}' for x in interval(column))}]"
        for column in difference.T
    )


def smoke(folder: Path) -> None:
    """Run both kinds of models on sample sets, without a provider."""
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
    datasets = [read_dataset(folder / name) for name in SAMPLE_SETS]
    run(datasets, out, Models(reranker=words), train=False)
    for models in (Models(oracle_noise=1.0), Models(embedder=whole)):
        run(datasets, out, models, train=True)


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__, sets=TEXT_SETS)
    parser.add_argument("--rerank", default="", help='such as "cohere:rerank-v3.5"')
    parser.add_argument("--rerank-weight", type=float, help="of a deviation of its scores")
    parser.add_argument("--rerank-chunks", type=int, default=100, help="that it reads of a query")
    parser.add_argument("--embedder", default="", help='such as "voyage:voyage-3.5"')
    parser.add_argument("--oracle-noise", type=float, help="rerank by what is known, and chance")
    parser.add_argument("--train", action="store_true", help="search with a trained place too")
    parser.add_argument("--keyword-share", type=float, default=0.7, help="of what is trained")
    with given(parser) as arguments:
        if arguments.smoke:
            smoke(arguments.datasets)
            return
        called, named = ModelOptions(), (arguments.embedder, arguments.rerank)
        if not any(named) and arguments.oracle_noise is None:
            parser.error("name what is to be measured, or --smoke")
        embedder, reranker = named
        models = Models(
            embedder=make_embedder(embedder, options=called) if embedder else None,
            reranker=make_reranker(reranker, options=called) if reranker else None,
            oracle_noise=arguments.oracle_noise,
            options=RerankOptions(chunks=arguments.rerank_chunks, weight=arguments.rerank_weight),
            keyword_share=arguments.keyword_share,
        )
        folder, queries = arguments.datasets, arguments.queries
        datasets = [read_dataset(folder / name, limit=queries) for name in arguments.sets]
        run(datasets, arguments.out, models, train=arguments.train)


if __name__ == "__main__":
    main()
