"""Train the shipped weights: python -m benchmarks.train DATASETS [--out FOLDER].

    python -m benchmarks.train DATASETS --embedder minilm --keep     # weights for another embedder

Writes `relevance-without-SET.json` for each set (trained on all other sets, for cross-validated
figures) and `relevance.json` (trained on all sets that may be shipped) to the output folder; copy
the latter to `src/spanwise/core/ranking/relevance.json`. With `--embedder NAME` the files are
`relevance-NAME-without-SET.json` and `relevance-NAME.json`.

Sets have equal weight. If a set has reworded questions, they have half of its weight. FinanceBench
is never used for training: its licence permits evaluation only.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks.lib.command_line import check_features, command_line, given, numbers
from benchmarks.lib.datasets import NEVER_TRAINED, TEXT_SETS, first_documents, read_dataset
from benchmarks.lib.training import (
    Example,
    build,
    examples,
    relevance_table,
    train,
    untrained_model,
    weights_path,
    write_weights,
)
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.knowledge_base.internals import settings_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the training."""

    embedder: str = "auto"
    """Name of the embedder."""
    keyword_share: float | None = None
    """Weight of words against vectors if all words are found; None for the default."""
    queries: int | None = None
    """Maximum number of original questions per set; None for all."""
    documents: int | None = None
    """Maximum number of documents per set; None for all."""
    ridges: Mapping[str, float] = field(default_factory=dict)
    """Ridge penalty of some features; others have the default."""
    keep: bool = False
    """Whether to reuse the knowledge bases of an earlier run."""
    processes: int = 1
    """Number of processes, each of which reads one set at a time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingSet:
    """Examples of one set."""

    name: str
    embedder: str
    """Name of the embedder in the settings of a knowledge base."""
    examples: list[Example]
    seconds: tuple[float, float]
    """Time to build the knowledge base, and to collect the examples."""

    def __str__(self) -> str:
        """Return the number of examples of each kind and the times as text."""
        counts = Counter(example.question.metadata["kind"] for example in self.examples)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items(), key=str))
        built, collected = self.seconds
        return f"{self.name}: {kinds}; built in {built:.0f} s, collected in {collected:.0f} s"


def run(
    datasets: Path,
    out: Path,
    names: Sequence[str],
    queries: int | None,
    settings: Settings | None = None,
) -> None:
    """Train on some sets and write the weights to a folder."""
    settings = replace(settings or Settings(), queries=queries)
    out.mkdir(parents=True, exist_ok=True)
    read = list(_read(datasets, out, [n for n in names if n not in NEVER_TRAINED], settings))
    started = time.perf_counter()
    sets = {one.name: one.examples for one in read}
    whole = train(sets, ridges=settings.ridges)
    without = {
        name: train({n: s for n, s in sets.items() if n != name}, ridges=settings.ridges)
        for name in sets
    }
    table = relevance_table(without, sets)
    for name in ("", *names):
        model = replace(
            without.get(name, whole),
            table=table,
            embedder=read[0].embedder,
            keyword_share=_model(settings).keyword_share,
        )
        write_weights(weights_path(out, embedder=settings.embedder, without=name), model)
    print(f"trained {len(sets) + 1} models in {time.perf_counter() - started:.0f} s")
    for feature, weight in zip(whole.features, whole.weights, strict=True):
        print(f"{feature:24s} {weight:6.2f}")
    print("share -> relevance:", " ".join(f"{s:.4f}:{r:.3f}" for s, r in table.T))


def _read(
    datasets: Path, out: Path, names: Sequence[str], settings: Settings
) -> Iterator[TrainingSet]:
    """Yield the examples of each set, and print a line about each."""
    read = partial(_training_set, datasets, out, settings)
    if settings.processes == 1:
        for one in map(read, names):
            print(one, flush=True)
            yield one
        return
    workers = get_context("spawn")  # a fork would copy the locks of running threads
    with ProcessPoolExecutor(settings.processes, mp_context=workers) as pool:
        for one in pool.map(read, names):
            print(one, flush=True)
            yield one


def _training_set(datasets: Path, out: Path, settings: Settings, name: str) -> TrainingSet:
    dataset = read_dataset(datasets / name, limit=settings.queries, reworded=True)
    dataset = first_documents(dataset, settings.documents)
    started = time.perf_counter()
    with build(dataset, out, embedder=settings.embedder, keep=settings.keep) as base:
        built = time.perf_counter()
        found = examples(base, dataset.queries, model=_model(settings))
        embedder = settings_of(base).embedder
    seconds = built - started, time.perf_counter() - built
    return TrainingSet(name=name, embedder=embedder, examples=found, seconds=seconds)


def _model(settings: Settings) -> RelevanceModel:
    """Return the model that collects the examples."""
    share = settings.keyword_share
    return untrained_model() if share is None else untrained_model(keyword_share=share)


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__, sets=TEXT_SETS, queries=400)
    parser.add_argument("--embedder", default="wordllama", help="name of the embedder")
    parser.add_argument(
        "--keyword-share", type=float, help="weight of words against vectors, in [0, 1]"
    )
    parser.add_argument("--documents", type=int, help="maximum number of documents per set")
    parser.add_argument(
        "--ridge", nargs="+", default=[], metavar="FEATURE=VALUE", help="ridge penalties"
    )
    parser.add_argument("--keep", action="store_true", help="reuse and keep the knowledge bases")
    parser.add_argument(
        "--processes", type=int, default=2, choices=(1, 2), help="sets to read at the same time"
    )
    with given(parser) as arguments:
        ridges = numbers(arguments.ridge)
        check_features(parser, ridges)
        settings = Settings(
            embedder=arguments.embedder,
            keyword_share=arguments.keyword_share,
            documents=arguments.documents,
            ridges=ridges,
            keep=arguments.keep,
            processes=arguments.processes,
        )
        run(arguments.datasets, arguments.out, arguments.sets, arguments.queries, settings)


if __name__ == "__main__":
    main()
