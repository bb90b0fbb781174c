"""Compare our metrics with the benchmark's scorer: python -m benchmarks.scoring DATASETS.

DATASETS has score.py next to the folders of the sets. Results of BM25, random ranges (overlapping,
repeated, empty, in wrong documents, adjacent to evidence) and random pages are scored by both at
several budgets. The script prints the maximum difference of each metric over all questions, which
must be a rounding error, and our time. Without score.py (`--smoke`), a slow reference that counts
characters in sets is used.
"""

from __future__ import annotations

import importlib.util
import json
import math
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from benchmarks.lib.baselines import PlainBm25, fixed_chunks
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import DOCUMENT_SETS, LANGUAGE_SETS, TEXT_SETS, read_dataset
from spanwise.evaluation.dataset import DocumentText, Evidence, LabelledQuestion
from spanwise.evaluation.metrics import METRICS, counter, cut, score
from spanwise.evaluation.retrieval import Retrieved
from spanwise.evaluation.statistics import mean_interval
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.types import Page

PAGE_SETS = ("financebench",)
"""Sets of PDFs with evidence in pages."""
BUDGETS = (None, 100, 1_000, 4_000)
MOST_DIFFERENCE = 1e-12
TIMED_TOKENIZERS = ("chars:4", "o200k_base")

Row = dict[str, Any]
"""JSON object of the benchmark."""
Predictions = Mapping[str, Sequence[Row]]
"""Ranges by question, best first."""
Figures = dict[str, dict[str, float]]
"""Metrics by question."""
Chunks = Mapping[str, Sequence[tuple[int, int]]]


@dataclass(slots=True)
class Loaded:
    """Set in the form of its files, and in our form."""

    folder: Path
    queries: list[Row]
    questions: dict[str, LabelledQuestion]
    texts: dict[str, DocumentText]
    has_characters: bool


class Reference(Protocol):
    """Interface of a reference scorer."""

    def figures(
        self, loaded: Loaded, predictions: Predictions, budget: int | None, chunks: Chunks
    ) -> Figures:
        """Return the metrics of each question; names that begin with "_" are not metrics."""

    def bootstrap(self, values: list[float], groups: list[str] | None) -> tuple[float, float]:
        """Return the 95 % interval of a mean."""


@dataclass(slots=True)
class PublishedScorer:
    """The benchmark's score.py, imported from its folder."""

    module: ModuleType
    _datasets: dict[Path, Any] = field(default_factory=dict)

    def figures(
        self, loaded: Loaded, predictions: Predictions, budget: int | None, chunks: Chunks
    ) -> Figures:
        """Return what `evaluate` gives, questions without evidence among them."""
        if loaded.folder not in self._datasets:
            self._datasets[loaded.folder] = self.module.Dataset(str(loaded.folder), loaded.queries)
        rows, unanswerable = self.module.evaluate(
            self._datasets[loaded.folder], predictions, budget=budget, chunks=chunks or None
        )
        empty = [query["query_id"] for query in loaded.queries if not query["evidence"]]
        without = zip(empty, unanswerable, strict=True)
        return {
            **{row["_q"]["query_id"]: row for row in rows},
            **{query: {"chars_without_evidence": chars} for query, chars in without},
        }

    def bootstrap(self, values: list[float], groups: list[str] | None) -> tuple[float, float]:
        """Return what `boot` gives."""
        low, high = self.module.boot(values, groups)
        return low, high


@dataclass(slots=True)
class CharacterSets:
    """Slow reference scorer that uses sets of characters."""

    def figures(
        self, loaded: Loaded, predictions: Predictions, budget: int | None, chunks: Chunks
    ) -> Figures:
        """Return what follows from sets of characters; chunks are not looked at."""
        del chunks
        out: Figures = {}
        for query in loaded.queries:
            kept = self._cut(predictions.get(query["query_id"], ()), budget)
            evidence = _characters(query["evidence"])
            returned = _characters(kept)
            shared = len(evidence & returned)
            documents = {piece["doc_id"] for piece in query["evidence"]}
            out[query["query_id"]] = {
                "recall": shared / len(evidence),
                "precision": shared / len(returned) if returned else 0.0,
                "iou": shared / len(evidence | returned),
                "f1": 2 * shared / (len(evidence) + len(returned)),
                "chars_union": len(returned),
                "chars": sum(row["end"] - row["start"] for row in kept),
                "segments": len(kept),
                "doc_recall": len(documents & {row["doc_id"] for row in kept}) / len(documents),
            }
        return out

    def _cut(self, rows: Sequence[Row], budget: int | None) -> list[Row]:
        left = float("inf") if budget is None else 4 * budget
        kept = []
        for row in rows:
            end = min(row["end"], row["start"] + left)
            if end > row["start"]:
                kept.append({**row, "end": end})
                left -= end - row["start"]
        return kept

    def bootstrap(self, values: list[float], groups: list[str] | None) -> tuple[float, float]:
        """Return the percentiles of the means of samples, drawn one by one."""
        held: dict[str, list[float]] = {}
        for place, value in enumerate(values):
            held.setdefault(groups[place] if groups else f"{place:06}", []).append(value)
        clusters = [held[name] for name in sorted(held)]
        choose = np.random.default_rng(0)
        means = []
        for _ in range(2_000):
            drawn = [clusters[at] for at in choose.integers(0, len(clusters), len(clusters))]
            means.append(np.mean([value for cluster in drawn for value in cluster]))
        low, high = np.percentile(means, [2.5, 97.5])
        return float(low), float(high)


def _characters(rows: Sequence[Row]) -> set[tuple[str, int]]:
    return {(row["doc_id"], at) for row in rows for at in range(row["start"], row["end"])}


def load(folder: Path, limit: int | None) -> Loaded:
    """Read a set: all its questions, or every n-th."""
    queries = _rows(folder / "queries.jsonl")
    if limit is not None and len(queries) > limit:
        queries = [queries[at * len(queries) // limit] for at in range(limit)]
    pages: dict[str, list[Row]] = defaultdict(list)
    if (folder / "pages.jsonl").exists():
        for row in _rows(folder / "pages.jsonl"):
            pages[row["doc_id"]].append(row)
    texts = {}
    for row in _rows(folder / "documents.jsonl"):
        texts[row["doc_id"]] = _document(folder / row["path"], pages[row["doc_id"]])
    return Loaded(
        folder=folder,
        queries=queries,
        questions={query["query_id"]: _question(query) for query in queries},
        texts=texts,
        has_characters=any("start" in e for query in queries for e in query["evidence"]),
    )


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream if line.strip()]


def _document(path: Path, pages: list[Row]) -> DocumentText:
    """Return a text with its pages; for a PDF, a placeholder text of the right length."""
    if path.suffix != ".pdf":
        with path.open(encoding="utf-8", newline="") as stream:
            text = stream.read()
        return DocumentText(
            text=text, pages=tuple(Page(start=page["start"], end=page["end"]) for page in pages)
        )
    made, at = [], 0
    for page in pages:
        made.append(Page(start=at, end=at + page["n_chars"]))
        at = made[-1].end
    return DocumentText(text="x" * at, pages=tuple(made))


def _question(query: Row) -> LabelledQuestion:
    evidence = tuple(
        Evidence(
            document_id=row["doc_id"],
            start=row.get("start"),
            end=row.get("end"),
            page=row["page"] + 1 if "page" in row else None,
            text=row.get("text") or "",
        )
        for row in query["evidence"]
    )
    return LabelledQuestion(id=query["query_id"], text=query["query"], evidence=evidence)


def predictions_of(loaded: Loaded) -> Iterator[tuple[str, Predictions]]:
    """Yield the predictions to score, by name."""
    if loaded.has_characters:
        kept = {query["query_id"] for query in loaded.queries}
        dataset = read_dataset(loaded.folder)
        search = PlainBm25(dataset).search
        found = {query.id: search(query) for query in dataset.queries if query.id in kept}
        yield (
            "bm25",
            {
                query: [{"doc_id": d, "start": start, "end": end} for d, start, end in ranges]
                for query, ranges in found.items()
            },
        )
        yield "random places", _random_places(loaded)
    if any(document.pages for document in loaded.texts.values()):
        yield "random pages", _random_pages(loaded, with_text=False)
        yield "random pages with text", _random_pages(loaded, with_text=True)


def _random_places(loaded: Loaded) -> Predictions:
    choose = random.Random(1)
    names = sorted(name for name, document in loaded.texts.items() if document.text)
    out = {}
    for query in loaded.queries:
        rows: list[Row] = []
        for _ in range(choose.randrange(12)):
            row = choose.choice(query["evidence"]) if query["evidence"] else None
            name = row["doc_id"] if row and choose.random() < 0.8 else choose.choice(names)
            chars = len(loaded.texts[name].text)
            near = [row["start"], row["end"]] if row and name == row["doc_id"] else [chars // 2]
            start = choose.choice([*near, choose.randrange(chars), max(0, near[0] - 300)])
            length = choose.choice([0, 1, 50, 400, 3_000, max(0, near[-1] - start)])
            rows.append({"doc_id": name, "start": start, "end": min(chars, start + length)})
        rows += rows[:1]
        out[query["query_id"]] = choose.sample(rows, len(rows))
    return out


def _random_pages(loaded: Loaded, *, with_text: bool) -> Predictions:
    choose = random.Random(2)
    names = sorted(name for name, document in loaded.texts.items() if document.pages)
    out = {}
    for query in loaded.queries:
        rows: list[Row] = []
        for _ in range(choose.randrange(1, 8)):
            piece = choose.choice(query["evidence"])
            name = piece["doc_id"] if choose.random() < 0.8 else choose.choice(names)
            pages = len(loaded.texts[name].pages)
            page = piece.get("page", 0) if name == piece["doc_id"] else 0
            first = choose.choice([min(pages - 1, page), choose.randrange(pages)])
            last = min(pages - 1, first + choose.choice([0, 0, 1, 4]))
            row: Row = {"doc_id": name, "page_start": first, "page_end": last}
            if with_text:
                words = str(piece.get("text")).split() + ["other", "words"] * choose.randrange(400)
                row["text"] = " ".join(words[choose.randrange(3) :])
            rows.append(row)
        out[query["query_id"]] = rows
    return out


def ours(loaded: Loaded, predictions: Predictions, budget: int | None, chunks: Chunks) -> Figures:
    """Return our metrics of each question."""
    count = counter(make_tokenizer("chars:4"))
    room = float("inf") if budget is None else float(budget)
    out = {}
    for name, question in loaded.questions.items():
        found = [_retrieved(row) for row in predictions.get(name, ())]
        seen = cut(found, budget_tokens=room, count=count, texts=loaded.texts)
        out[name] = score(question, seen, loaded.texts, count=count, chunks=chunks or None)
    return out


def _retrieved(row: Row) -> Retrieved:
    if "start" in row:
        return Retrieved(document_id=row["doc_id"], start=row["start"], end=row["end"])
    pages = (row["page_start"] + 1, row["page_end"] + 1)
    return Retrieved(document_id=row["doc_id"], pages=pages, text=row.get("text"))


@dataclass(slots=True)
class Differences:
    """Maximum difference of each metric, and the number of compared values."""

    greatest: dict[str, float] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    intervals: float = 0.0

    def add(self, expected: Figures, found: Figures) -> None:
        """Add the metrics of one run; a metric missing in ours is an error."""
        for query, figures in expected.items():
            for name, value in figures.items():
                if name.startswith("_"):
                    continue
                difference = abs(float(value) - found[query][name])
                difference = difference if math.isfinite(difference) else math.inf
                self.greatest[name] = max(self.greatest.get(name, 0.0), difference)
                self.values[name] += 1

    def add_intervals(self, reference: Reference, loaded: Loaded, expected: Figures) -> None:
        """Compare the intervals of recall and document recall, by question and by document."""
        for metric in ("recall", "doc_recall"):
            asked = [name for name in expected if metric in expected[name]]
            values = [expected[name][metric] for name in asked]
            documents = [loaded.questions[name].evidence[0].document_id for name in asked]
            for groups in (None, documents) if values else ():
                interval = mean_interval(values, clusters=groups)
                low, high = reference.bootstrap(values, groups)
                off = max(abs(interval.low - low), abs(interval.high - high))
                self.intervals = max(self.intervals, off)

    def table(self) -> str:
        """Return one line per metric, in display order."""
        lines = ["| metric | values | greatest difference |", "|---|---|---|"]
        lines += [
            f"| {name} | {self.values[name]:,} | {self.greatest[name]:.1e} |"
            for name in METRICS
            if name in self.values
        ]
        return "\n".join([*lines, f"| intervals | | {self.intervals:.1e} |"])


def timed(loaded: Loaded, predictions: Predictions) -> dict[str, float]:
    """Return the CPU seconds for 1,000 questions at 4,000 tokens, including truncation."""
    asked = [
        (question, [_retrieved(row) for row in predictions.get(name, ())])
        for name, question in loaded.questions.items()
    ]
    out = {}
    for tokenizer in TIMED_TOKENIZERS:
        count = counter(make_tokenizer(tokenizer))
        began = time.process_time()
        for question, found in asked:
            seen = cut(found, budget_tokens=4_000, count=count, texts=loaded.texts)
            score(question, seen, loaded.texts, count=count)
        out[tokenizer] = (time.process_time() - began) / len(asked) * 1_000
    return out


def run(reference: Reference, folder: Path, names: Sequence[str], limit: int | None) -> bool:
    """Compare on all sets, print the table, and return whether all metrics agree."""
    differences = Differences()
    times: dict[str, list[float]] = defaultdict(list)
    for name in names:
        loaded = load(folder / name, limit)
        chunks = {
            document_id: fixed_chunks(text.text, 800) for document_id, text in loaded.texts.items()
        }
        for kind, predictions in predictions_of(loaded):
            for budget in BUDGETS:
                of_set = chunks if loaded.has_characters else {}
                expected = reference.figures(loaded, predictions, budget, of_set)
                differences.add(expected, ours(loaded, predictions, budget, of_set))
                differences.add_intervals(reference, loaded, expected)
            for tokenizer, seconds in timed(loaded, predictions).items():
                times[tokenizer].append(seconds)
            print(f"{name}: {kind}, {len(loaded.queries):,} questions", file=sys.stderr)
    print(differences.table())
    for tokenizer, seconds_of in times.items():
        print(
            f"1,000 questions, 4,000 tokens by {tokenizer}: {min(seconds_of):.2f} to "
            f"{max(seconds_of):.2f} s of a processor"
        )
    return max(*differences.greatest.values(), differences.intervals) <= MOST_DIFFERENCE


def published_scorer(path: Path) -> PublishedScorer:
    """Return the benchmark's scorer."""
    if not path.is_file():
        raise SystemExit(f"there is no {path}: name the folder that holds the scorer")
    spec = importlib.util.spec_from_file_location("published_scorer", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return PublishedScorer(module)


def main() -> None:
    """Run the command line."""
    sets = [*TEXT_SETS, *LANGUAGE_SETS, *PAGE_SETS, *DOCUMENT_SETS]
    with given(command_line(__doc__, sets=sets, writes=False)) as arguments:
        datasets = arguments.datasets
        scorer = CharacterSets() if arguments.smoke else published_scorer(datasets / "score.py")
        equal = run(scorer, datasets, arguments.sets, arguments.queries)
    if not equal:
        raise SystemExit("the metrics differ")


if __name__ == "__main__":
    main()
