"""Questions that ask for documents: python -m benchmarks.which_documents DATASETS.

    python -m benchmarks.which_documents DATASETS --out FOLDER
    python -m benchmarks.which_documents DATASETS --excerpts
    python -m benchmarks.which_documents DATASETS --fit
    python -m benchmarks.which_documents DATASETS --names

Asks the questions of which_documents.jsonl ("Which contracts ...?") over every fourth contract of
`cuad`, with a budget of 8,000 tokens. Half of the questions use other words than the contracts. The
questions of the part "blind" were not used to choose rules or thresholds. The tables have the
percentage of the labelled documents that are shown, of those with a segment that overlaps a
labelled place, and of the shown documents that are labelled, with 95 % intervals over questions.
The methods are the search for documents, with and without the topics of packs, and the search for
passages, with and without MiniLM.

The script uses the weights of `benchmarks.train` in `--out` that were trained without `cuad`, or
else the shipped weights. `--fit` fits the calibrations of `core.ranking.document_places` to the
questions of the part "tuned", and reports the search with calibrations that were fitted without the
topic of the question. With `--excerpts`, each contract is replaced by a short one: its opening and
one labelled place of each question, with the text around it. `--names` asks which filings of
`financebench_txt` mention a name, and compares the result with the filings that contain it.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import Dataset, SourceDocument, read_dataset
from benchmarks.lib.training import build, remove_packs, use_packs
from benchmarks.quality import model_for
from spanwise.core.ranking.document_places import LEAST_CHANCE, Calibration, place_chances
from spanwise.evaluation.statistics import mean_interval
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SearchOptions
from spanwise.search import documents_spread
from spanwise.search.pipeline import Searcher, SearchRequest

SET, BUDGET, STEP = "cuad", 8_000, 4
_QUESTIONS = Path(__file__).with_suffix(".jsonl")
_MEASURES = ("documents found", "places found", "right among shown")
_NAMED_SET = "financebench_txt"
_NAMES = (
    "Amazon Netflix Starbucks Toyota Huawei Brexit Nevada Macau Singapore Hungary Frito-Lay"
    " Cheerios Moderna Kirkland Pentagon Visa Sikorsky Zoom Verizon Cracker Oracle Siemens Alaska"
    " Iceland Pinterest Rolex Lego Sherlock Gandalf Everest Patagonia Picasso Mozart Zanzibar Volvo"
    " Heineken"
).split()
_RIDGE = 1.0
_OPENING_CHARS, _AROUND_CHARS, _BETWEEN = 1_200, 250, "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A question with the documents that answer it."""

    id: str
    topic: str
    half: str
    """"tuned" if rules were chosen with it, otherwise "blind"."""
    wording: str
    """"own" for the words of the contracts, otherwise "other"."""
    question: str
    documents: Mapping[str, Sequence[tuple[int, int]]]
    """Ranges with evidence by document."""


def read_labelled(known: frozenset[str] | None = None) -> list[Labelled]:
    """Return the questions of which_documents.jsonl, with the labels of known documents."""
    rows = [json.loads(line) for line in _QUESTIONS.read_text("utf-8").splitlines()]
    for row in rows:
        row["documents"] = {
            name: [(start, end) for start, end in places]
            for name, places in row["documents"].items()
            if known is None or name in known
        }
    return [Labelled(**row) for row in rows]


Shown = Mapping[str, Sequence[tuple[int, int]]]


def excerpt_spans(length: int, asked: Sequence[Labelled], name: str) -> list[tuple[int, int]]:
    """Return the parts of a contract that its excerpt consists of, in order.

    Args:
        length: Length of the contract in characters.
        asked: Questions with their labelled places.
        name: Id of the contract.
    """
    first = [one.documents[name][0] for one in asked if one.documents.get(name)]
    wanted = [(start - _AROUND_CHARS, end + _AROUND_CHARS) for start, end in first]
    spans: list[tuple[int, int]] = []
    for before, after in sorted([(0, _OPENING_CHARS), *wanted]):
        start, end = max(0, before), min(length, after)
        if spans and start <= spans[-1][1]:
            first_start, first_end = spans.pop()
            start, end = first_start, max(first_end, end)
        spans.append((start, end))
    return spans


def with_excerpts(
    dataset: Dataset, asked: Sequence[Labelled], folder: Path
) -> tuple[Dataset, list[Labelled]]:
    """Return a dataset of excerpts, and the questions with the labelled places in the excerpts."""
    documents: list[SourceDocument] = []
    places: dict[str, list[tuple[int, int]]] = {}
    for document in dataset.documents:
        text = document.text()
        spans = excerpt_spans(len(text), asked, document.id)
        path = folder / f"{len(documents)}.txt"
        parts = (text[start:end] for start, end in spans)
        path.write_text(_BETWEEN.join(parts), encoding="utf-8", newline="")
        documents.append(replace(document, path=path))
        places[document.id] = spans
    return replace(dataset, documents=tuple(documents)), [
        replace(
            one,
            documents={
                name: list(_moved(labelled, places[name]))
                for name, labelled in one.documents.items()
            },
        )
        for one in asked
    ]


def _moved(
    labelled: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the parts of labelled places that are in an excerpt, with their places there."""
    before = 0
    for start, end in spans:
        for first, last in labelled:
            if first < end and start < last:
                yield before + max(first, start) - start, before + min(last, end) - start
        before += end - start + len(_BETWEEN)


def shown_places(searcher: Searcher, question: str, options: SearchOptions) -> Shown:
    """Return the shown ranges by document."""
    shown: dict[str, list[tuple[int, int]]] = {}
    for segment in searcher.search(SearchRequest(question=question), options=options).segments:
        shown.setdefault(segment.document_id, []).append((segment.start, segment.end))
    return shown


def measures(asked: Labelled, shown: Shown) -> tuple[float, float, float]:
    """Return the measures in percent; NaN without labelled or without shown documents."""
    right = [name for name in asked.documents if name in shown]
    places = [name for name in right if _overlaps(asked.documents[name], shown[name])]
    count = len(asked.documents)
    return (
        100 * len(right) / count if count else np.nan,
        100 * len(places) / count if count else np.nan,
        100 * len(right) / len(shown) if shown else np.nan,
    )


def _overlaps(labelled: Sequence[tuple[int, int]], shown: Sequence[tuple[int, int]]) -> bool:
    return any(start < last and first < end for start, end in labelled for first, last in shown)


def methods(base: KnowledgeBase, out: Path) -> Iterator[tuple[str, Callable[[str], Shown]]]:
    """Yield the measured methods; each is valid until the next one is requested."""
    searcher = replace(searcher_of(base), model=model_for(out, SET))
    passages = SearchOptions(
        budget_tokens=BUDGET,
        tokenizer="chars:4",
        headers=False,
        spread="passages",
        deep_seconds=60.0,
    )
    documents = replace(passages, spread="documents", max_documents=10_000)
    use_packs(base)
    yield "passages", lambda text: shown_places(searcher, text, replace(passages, deep=False))
    if searcher.deep is not None:
        yield "passages, MiniLM", lambda text: shown_places(searcher, text, passages)
    yield "documents", lambda text: shown_places(searcher, text, documents)
    remove_packs(base)
    yield "documents, without packs", lambda text: shown_places(searcher, text, documents)
    use_packs(base)


_PARTS: dict[str, Callable[[Labelled], bool]] = {
    "all": lambda asked: bool(asked.id),
    "own words": lambda asked: asked.wording == "own",
    "other words": lambda asked: asked.wording == "other",
    "blind": lambda asked: asked.half == "blind",
}


def table(
    results: Mapping[str, Sequence[tuple[float, float, float]]], asked: Sequence[Labelled]
) -> Iterator[str]:
    """Yield the lines of the table of all methods."""
    yield f"| questions | method | {' | '.join(_MEASURES)} |\n|---|---|---|---|---|"
    for part, is_in in _PARTS.items():
        chosen = [at for at, one in enumerate(asked) if is_in(one)]
        for method, rows in results.items():
            values = np.array([rows[at] for at in chosen]).T
            yield f"| {part} | {method} | {' | '.join(map(_cell, values))} |"
    first, *others = results
    for method in others:
        difference = np.array(results[method]) - np.array(results[first])
        cells = " | ".join(map(_cell, difference.T))
        yield f"| difference | {method} less {first} | {cells} |"


def _cell(values: np.ndarray) -> str:
    """Return a mean with its interval."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return "none" if not len(known) else f"{known[0]:.1f}"
    interval = mean_interval(known.tolist())
    return f"{interval.mean:.1f} ({interval.low:.1f} to {interval.high:.1f})"


Scored = tuple[Labelled, list[tuple[str, float]]]
"""A question, and the score of the best place of each document."""


def scored_documents(base: KnowledgeBase, out: Path, asked: Sequence[Labelled]) -> list[Scored]:
    """Return the scores of the best places: log-odds under a calibration without bias."""
    searcher = replace(searcher_of(base), model=model_for(out, SET))
    options = SearchOptions(
        budget_tokens=10_000_000, tokenizer="chars:4", spread="documents", max_documents=10_000
    )
    plain = Calibration(slope=1.0, bias=0.0)
    with patch.multiple(documents_spread, PLAIN=plain, WITH_TOPIC=plain, LEAST_CHANCE=0.0):
        rows: list[Scored] = []
        for one in asked:
            result = searcher.search(SearchRequest(question=one.question), options=options)
            scores = [
                (s.document_id, float(np.log(s.relevance / (1 - s.relevance))))
                for s in result.segments
            ]
            rows.append((one, scores))
        return rows


def fitted(rows: Sequence[Scored]) -> Calibration:
    """Return the logistic function that fits the labels best, each question with equal weight."""
    scores = np.array([score for _, documents in rows for _, score in documents])
    labels = np.array([name in one.documents for one, documents in rows for name, _ in documents])
    weights = np.concatenate([np.full(len(d), 1 / len(d)) for _, d in rows]) * 40
    mean, deviation = float(scores.mean()), max(float(scores.std()), 1e-9)
    standard = (scores - mean) / deviation
    inputs = np.stack([standard, np.ones(len(scores))], axis=1)
    solution = np.zeros(2)
    ridge = np.diag([_RIDGE, _RIDGE])
    for _ in range(30):
        chances = place_chances(standard, Calibration(*solution.tolist()))
        hessian = inputs.T @ (inputs * (weights * chances * (1 - chances))[:, None]) + ridge
        gradient = inputs.T @ (weights * (chances - labels)) + ridge @ solution
        solution -= np.linalg.solve(hessian, gradient)
    slope = float(solution[0]) / deviation
    return Calibration(slope=slope, bias=float(solution[1]) - slope * mean)


def fit(base: KnowledgeBase, out: Path, asked: Sequence[Labelled]) -> Iterator[str]:
    """Yield the fitted calibrations, and the measures with a topic left out of the fit."""
    for name, set_packs in (("PLAIN", remove_packs), ("WITH_TOPIC", use_packs)):
        set_packs(base)
        tuned = [one for one in asked if one.half == "tuned"]
        rows = scored_documents(base, out, tuned)
        calibration = fitted(rows)
        yield f"{name} = Calibration(slope={calibration.slope:.3f}, bias={calibration.bias:.3f})"
        for least in (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, LEAST_CHANCE):
            found = []
            for one, documents in rows:
                others = [row for row in rows if row[0].topic != one.topic] or rows
                without = fitted(others)
                chances = place_chances(np.array([score for _, score in documents]), without)
                names = [name for name, _ in documents]
                shown = {n: () for n, p in zip(names, chances, strict=True) if p >= least}
                found.append(measures(one, shown))
            cells = " | ".join(_cell(column) for column in np.array(found).T[[0, 2]])
            yield f"| {name}, from {least} | {cells} |"
    use_packs(base)


def names_table(dataset: Dataset, base: KnowledgeBase, out: Path) -> Iterator[str]:
    """Yield the lines of a table about questions for the filings that mention a name."""
    searcher = replace(searcher_of(base), model=model_for(out, _NAMED_SET))
    options = SearchOptions(budget_tokens=1_000_000, max_documents=10_000)
    texts = {document.id: document.text() for document in dataset.documents}
    rows, wrong = [], []
    for name in _NAMES:
        pattern = re.compile(rf"\b{name}\b", re.IGNORECASE)
        holders = {key: () for key, text in texts.items() if pattern.search(text)}
        request = SearchRequest(question=f"Which filings mention {name}?")
        result = searcher.search(request, options=options)
        shown = {} if result.weak_evidence else {s.document_id: () for s in result.segments}
        if holders:
            asked = Labelled(
                id=name,
                topic=name,
                half="blind",
                wording="own",
                question=request.question,
                documents=holders,
            )
            rows.append(measures(asked, shown))
        else:
            wrong.append(len(shown))
    found, _, right = np.array(rows or [(np.nan, np.nan, np.nan)]).T
    yield "| names | number | filings found | right among shown |\n|---|---|---|---|"
    yield f"| in a filing | {len(rows)} | {_cell(found)} | {_cell(right)} |"
    yield "\n| names | number | with evidence in a filing | filings shown as evidence, mean |"
    yield "|---|---|---|---|"
    mean = float(np.mean(wrong))
    yield f"| in no filing | {len(wrong)} | {np.count_nonzero(wrong)} | {mean:.1f} |"


def run_names(datasets: Path, name: str, out: Path) -> None:
    """Measure the questions for filings that mention a name, and print the results."""
    dataset = read_dataset(datasets / name)
    with tempfile.TemporaryDirectory() as folder, build(dataset, Path(folder)) as base:
        print("\n".join(names_table(dataset, base, out)), flush=True)


def run(datasets: Path, name: str, out: Path, *, fits: bool, excerpts: bool) -> None:
    """Measure all methods, or fit the calibrations, and print the results."""
    dataset = read_dataset(datasets / name)
    chosen: Dataset = replace(dataset, documents=dataset.documents[::STEP])
    asked = read_labelled(frozenset(document.id for document in chosen.documents))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if excerpts:
            chosen, asked = with_excerpts(chosen, asked, Path(folder))
        base = stack.enter_context(build(chosen, Path(folder)))
        if fits:
            print("\n".join(fit(base, out, asked)), flush=True)
            return
        results = {}
        for method, search in methods(base, out):
            results[method] = [measures(one, search(one.question)) for one in asked]
        print("\n".join(table(results, asked)), flush=True)


def main() -> None:
    """Read the command line and run."""
    parser = command_line(__doc__, sets=[SET, _NAMED_SET])
    parser.add_argument("--fit", action="store_true", help="fit the calibrations")
    parser.add_argument("--excerpts", action="store_true", help="use excerpts of the contracts")
    parser.add_argument("--names", action="store_true", help="ask for filings that mention a name")
    with given(parser) as arguments:
        if arguments.names or arguments.smoke:
            run_names(arguments.datasets, arguments.sets[1], arguments.out)
        if arguments.names:
            return
        run(
            arguments.datasets,
            arguments.sets[0],
            arguments.out,
            fits=arguments.fit,
            excerpts=arguments.excerpts,
        )


if __name__ == "__main__":
    main()
