"""Measure Spanwise and the chunkers of Chroma's study: python -m benchmarks.chroma DATASETS.

    python -m benchmarks.chroma DATASETS --embedder sentence-transformers:MODEL

For each chunker of the study, the five nearest chunks are retrieved. Spanwise searches with the
preset "precise" at several budgets, with segments trimmed to sentences and in whole chunks, and
with the default preset. Metrics are those of the study: recall, precision and IoU over all
returned text; overlaps count twice. Run `python -m benchmarks.train DATASETS` first: Spanwise
uses weights trained on the other sets. Another embedder applies to the chunkers only. The table
is printed as Markdown and written to the output folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import train
from benchmarks.lib.chroma_chunks import Embed, cluster, fixed, recursive
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import Dataset, Query, read_dataset
from benchmarks.lib.sample import SAMPLE_SETS
from benchmarks.lib.scoring import CHARS_A_TOKEN, Range, interval
from benchmarks.lib.training import build
from benchmarks.quality import Search, model_without, spanwise_search
from spanwise.evaluation.metrics.ranges import Place
from spanwise.evaluation.metrics.scores import chroma_metrics
from spanwise.knowledge_base.internals import searcher_of
from spanwise.models.providers.wordllama import WordLlama
from spanwise.models.registry import make_embedder
from spanwise.options import ModelOptions, SegmentOptions

_SET = "chroma"
_RETURNED = 5
_TOKENS = 200
_BUDGETS = (200, 300, 400, 500, 600, 750, 1_000, 4_000)
_WAYS = {
    "precise": SegmentOptions.PRECISE,
    "precise in whole chunks": replace(SegmentOptions.PRECISE, trim=False),
    "balanced": SegmentOptions.BALANCED,
}
_BATCH = 512
Find = Callable[[Query], list[Range]]


def in_batches(embed: Embed) -> Embed:
    """Return a function that embeds any number of texts in batches."""

    def embed_all(texts: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        starts = range(0, len(texts), _BATCH)
        return np.concatenate([embed(texts[at : at + _BATCH]) for at in starts])

    return embed_all


def nearest(dataset: Dataset, chunks: Sequence[Range], embed: Embed) -> Find:
    """Return a function that returns the chunks with the nearest vectors."""
    texts = {document.id: document.text() for document in dataset.documents}
    vectors = embed([texts[document][start:end] for document, start, end in chunks])
    vectors = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)

    def find(query: Query) -> list[Range]:
        order = np.argsort(-(vectors @ embed([query.text])[0]), kind="stable")
        return [chunks[at] for at in order[:_RETURNED].tolist()]

    return find


def chunkings(dataset: Dataset, embed: Embed) -> dict[str, list[Range]]:
    """Return the chunks of all documents, by name of the chunker."""
    cuts: dict[str, Callable[[str], list[tuple[int, int]]]] = {
        f"fixed {_TOKENS}": lambda text: fixed(text, _TOKENS),
        f"recursive {_TOKENS}": lambda text: recursive(text, _TOKENS),
        f"cluster {_TOKENS}": lambda text: cluster(text, _TOKENS, embed),
    }
    return {
        name: [(d.id, start, end) for d in dataset.documents for start, end in cut(d.text())]
        for name, cut in cuts.items()
    }


def _at(search: Search, budget: int) -> Find:
    return lambda query: search(query, budget)


def row(name: str, dataset: Dataset, find: Find) -> str:
    """Return the table row of one method."""
    figures, tokens, texts = [], [], []
    for query in dataset.queries:
        found = find(query)
        ((document, ranges),) = query.evidence.items()
        places = [
            Place(document_id=d, characters=(start, end), pages=range(0), text="")
            for d, start, end in found
        ]
        got = chroma_metrics([(document, one) for one in ranges], places)
        figures.append([got["chroma_recall"], got["chroma_precision"], got["chroma_iou"]])
        tokens.append(sum(end - start for _, start, end in found) / CHARS_A_TOKEN)
        texts.append(len(found))
    values = np.array(figures) * 100
    cells = []
    for column in values.T:
        low, high = interval(column)
        cells.append(f"{column.mean():.1f} [{low:.1f}, {high:.1f}]")
    said = f"| {name} | {' | '.join(cells)} | {np.mean(tokens):.0f} | {np.mean(texts):.1f} |"
    print(said, flush=True)
    return said


def run(folder: Path, out: Path, embedder: str) -> None:
    """Measure the chunkers with one embedder, and Spanwise; print and write the table."""
    dataset = read_dataset(folder)
    columns = ("", "recall %", "precision %", "IoU %", "tokens of text", "texts")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    embeds: dict[str, Embed] = {"static vectors": in_batches(WordLlama().embed)}
    if embedder:
        embeds[embedder] = in_batches(make_embedder(embedder, options=ModelOptions()).embed)
    for name, embed in embeds.items():
        for chunking, chunks in chunkings(dataset, embed).items():
            lines.append(row(f"{chunking}, {name}", dataset, nearest(dataset, chunks, embed)))
    with build(dataset, out) as base:
        searcher = searcher_of(base, model_without(out, dataset.name))
        for way, options in _WAYS.items():
            search = spanwise_search(searcher, options)
            for budget in _BUDGETS:
                name = f"Spanwise, {way}, {budget} tokens"
                lines.append(row(name, dataset, _at(search, budget)))
    report = "\n".join(lines) + "\n"
    (out / "chroma.md").write_text(report, encoding="utf-8")


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__)
    parser.add_argument("--embedder", default="", help="of the chunkers, beside the static one")
    with given(parser) as arguments:
        if arguments.smoke:
            train.run(arguments.datasets, arguments.out, arguments.sets, None)
        name = SAMPLE_SETS[0] if arguments.smoke else _SET
        run(arguments.datasets / name, arguments.out, arguments.embedder)


if __name__ == "__main__":
    main()
