"""Compare Spanwise with other frameworks at equal tokens: python -m benchmarks.peers DATASETS.

    python -m benchmarks.peers DATASETS --env llama_index=ENV/bin/python --env dsrag=...

Each peer runs in a separate environment with Spanwise (for the embedder) and the peer; by default,
in this environment. `benchmarks/lib/peer_runs` has the code and the settings of each peer. All use
the same static vectors, so the comparison is about chunking, retrieval and assembly; Spanwise,
Haystack and haiku.rag also search keywords, as they do by default or in their documentation.
Spanwise does not use MiniLM here, also if it is installed. Run
`python -m benchmarks.train DATASETS` first: each set is searched with weights trained on the other
sets; otherwise, with the shipped weights, which were trained on most of these sets.

`--reworded` adds the reworded questions of the sets. The tables have the recall of evidence at
equal tokens, the number of returned texts, the share of the pieces of evidence that one text
contains as a whole, CPU times, and paired differences with 95 % intervals. They are printed as
Markdown and written to the output folder.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import train
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import TEXT_SETS, Dataset, Query, read_dataset
from benchmarks.lib.peer_runs.task import BUDGETS
from benchmarks.lib.question_rows import Row, grouped, mean, of_kinds
from benchmarks.lib.scoring import (
    CHARS_A_TOKEN,
    Differences,
    Range,
    cut,
    interval,
    mean_difference,
    recall,
)
from benchmarks.lib.training import build
from benchmarks.quality import model_for, spanwise_search
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SegmentOptions

PEERS = {
    "llama_index": "llama_index.core",
    "langchain": "langchain_classic.retrievers",
    "haystack": "haystack.components.retrievers",
    "chroma": "chromadb",
    "dsrag": "dsrag.knowledge_base",
    "haiku": "haiku.rag.client",
}
"""Module that is imported to check whether a peer is installed, by peer."""
OURS = "Spanwise"


@dataclass(frozen=True, slots=True)
class Method:
    """Results of one method on one set."""

    rows: tuple[Row, ...]
    """Results by question."""
    seconds: tuple[float, float]
    """CPU time of the ingest, and of one search."""
    package: str = ""
    """Package and version."""


def installed(python: str, package: str) -> bool:
    """Return whether a package and its dependencies can be imported in an environment."""
    command = [python, "-c", f"import {package}"]
    return not subprocess.run(command, capture_output=True, check=False).returncode


def run_peer(peer: str, python: str, folder: Path, out: Path, options: Sequence[str]) -> str:
    """Run a peer on the questions of a set in its environment; return its error output."""
    command = [python, "-m", f"benchmarks.lib.peer_runs.{peer}", str(folder), str(out), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def read_answers(out: Path, dataset: Dataset) -> dict[str, Method]:
    """Return the results of each method with answers in a folder."""
    methods = {}
    for path in sorted(out.glob("*.json")):
        name, took = path.stem, json.loads(path.read_text("utf-8"))
        found = [_ranges(out / f"{name}-{budget}.jsonl") for budget in BUDGETS]
        rows = [
            _row(name, dataset, query, [ranges[query.id] for ranges in found])
            for query in dataset.queries
        ]
        seconds = took["ingest_seconds"], took["search_seconds"]
        methods[name] = Method(tuple(rows), seconds, took["package"])
    return methods


def _ranges(path: Path) -> dict[str, list[Range]]:
    with path.open(encoding="utf-8") as stream:
        return {
            row["query_id"]: [(s["doc_id"], s["start"], s["end"]) for s in row["segments"]]
            for row in map(json.loads, stream)
        }


def _row(method: str, dataset: Dataset, query: Query, found: Sequence[Sequence[Range]]) -> Row:
    """Return the result of a question, given the returned ranges for each budget."""
    shown = [cut(ranges, budget) for ranges, budget in zip(found, BUDGETS, strict=True)]
    return Row(
        method=method,
        set=dataset.name,
        kind=query.kind,
        id=query.id,
        scores=tuple(recall(query, ranges) for ranges in shown),
        tokens=tuple(sum(e - s for _, s, e in ranges) / CHARS_A_TOKEN for ranges in shown),
        seconds=0.0,
        texts=tuple(float(len(ranges)) for ranges in shown),
        whole=tuple(_whole(query, ranges) for ranges in shown),
    )


def _whole(query: Query, ranges: Sequence[Range]) -> float:
    """Return the share of the pieces of evidence that lie in one of the ranges."""
    pieces = [(name, *piece) for name, held in query.evidence.items() for piece in held]
    inside = [
        any(name == d and s <= start and end <= e for d, s, e in ranges)
        for name, start, end in pieces
    ]
    return sum(inside) / len(pieces)


def ours(dataset: Dataset, out: Path) -> Method:
    """Return the results of Spanwise with default settings, without MiniLM."""
    started = time.process_time()
    with build(dataset, out) as base:
        built = time.process_time()
        search = spanwise_search(
            searcher_of(base, model_for(out, dataset.name)), SegmentOptions.BALANCED, deep=False
        )
        found = [[search(query, budget) for budget in BUDGETS] for query in dataset.queries]
        searched = time.process_time() - built
    rows = [
        _row(OURS, dataset, query, ranges)
        for query, ranges in zip(dataset.queries, found, strict=True)
    ]
    each = searched / max(len(rows), 1) / len(BUDGETS)
    return Method(tuple(rows), (built - started, each))


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """Peers to run, with their options."""

    pythons: Mapping[str, str]
    """Path of the Python interpreter, by peer."""
    queries: int | None = None
    """Maximum number of original questions per set; None for all."""
    reworded: bool = False
    """Whether to add the reworded questions."""
    tokenizer: str = ""
    """Folder of the tokenizer for haiku.rag; empty to download it."""

    def options(self, peer: str) -> list[str]:
        """Return the command-line options of a peer."""
        chosen = [] if self.queries is None else ["--queries", str(self.queries)]
        chosen += ["--reworded"] if self.reworded else []
        return chosen + (["--tokenizer", self.tokenizer] if peer == "haiku" else [])


def run(datasets: Path, out: Path, names: Sequence[str], peers: Peers) -> None:
    """Measure Spanwise and the peers with an environment; print and write the tables."""
    measured: list[Method] = []
    failures: list[str] = []
    for name in names:
        dataset = read_dataset(datasets / name, limit=peers.queries, reworded=peers.reworded)
        of_set = {OURS: ours(dataset, out)}
        for peer, python in peers.pythons.items():
            answers = out / "peers" / name / peer
            failure = run_peer(peer, python, datasets / name, answers, peers.options(peer))
            if failure:
                failures.append(f"{peer} did not finish {name}: {failure}")
            else:
                of_set |= read_answers(answers, dataset)
        for method, found in of_set.items():
            print(f"{name:18s} {method:36s} {mean(found.rows)}", flush=True)
        measured += of_set.values()
    report = "\n".join([*render(measured), *failures, ""])
    (out / "peers.md").write_text(report, encoding="utf-8")
    print(report)


def render(measured: Sequence[Method]) -> list[str]:
    """Return the tables: recall, differences to Spanwise, and times."""
    lines: list[str] = []
    for kind, rows in of_kinds([row for method in measured for row in method.rows]).items():
        lines += [*_recalls(kind, rows), "", *_differences(kind, rows), ""]
    return [*lines, *_times(measured)]


def _recalls(kind: str, rows: Sequence[Row]) -> list[str]:
    sets = list(grouped(rows, "set"))
    columns = [f"{kind}: recall %", *sets, "mean", "whole evidence %", "texts", "tokens"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for method, part in grouped(rows, "method").items():
        by_set = grouped(part, "set")
        cells = [mean(by_set[name]) if name in by_set else "not finished" for name in sets]
        if len(by_set) == len(sets):  # means over fewer sets cannot be compared
            cells += [mean(part), mean(part, "whole")]
            cells += [mean(part, "texts", scale=1), mean(part, "tokens", scale=1)]
        else:
            cells += [""] * 4
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return lines


def _differences(kind: str, rows: Sequence[Row]) -> list[str]:
    methods = grouped(rows, "method")
    mine = grouped(methods.pop(OURS), "set")
    columns = [f"{kind}: {OURS} less", *mine, "mean"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for method, part in methods.items():
        theirs = {row.id: row.scores for row in part}
        gaps = {
            name: np.array([np.subtract(row.scores, theirs[row.id]) for row in group]) * 100
            for name, group in mine.items()
            if all(row.id in theirs for row in group)
        }
        cells = [_intervals(gaps.get(name)) for name in mine]
        cells.append(mean_difference(list(gaps.values())) if len(gaps) == len(mine) else "")
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return lines


def _intervals(gaps: Differences | None) -> str:
    if gaps is None:
        return ""
    cells = []
    for column in gaps.T:
        low, high = interval(column)
        cells.append(f"{column.mean():+.1f} [{low:.1f}, {high:.1f}]")
    return " / ".join(cells)


def _times(measured: Sequence[Method]) -> list[str]:
    by_method: dict[str, list[Method]] = {}
    for method in measured:
        by_method.setdefault(method.rows[0].method, []).append(method)
    lines = ["| CPU time | package | ingest of all sets, s | one search, ms |", "|---|---|---|---|"]
    for name, of_sets in by_method.items():
        ingest = sum(one.seconds[0] for one in of_sets)
        search = float(np.mean([one.seconds[1] for one in of_sets])) * 1_000
        lines.append(f"| {name} | {of_sets[0].package} | {ingest:.1f} | {search:.1f} |")
    return lines


def environments(given: Sequence[str]) -> dict[str, str]:
    """Return the environment of each installed peer, and print the missing peers."""
    named = dict(one.split("=", 1) for one in given)
    found = {}
    for peer, package in PEERS.items():
        python = named.get(peer, sys.executable)
        if installed(python, package):
            found[peer] = python
        else:
            print(f"{peer} is not installed in the environment of {python}: left out")
    return found


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__, sets=TEXT_SETS)
    parser.add_argument("--tokenizer", default="", help="folder of the one haiku.rag counts with")
    parser.add_argument("--reworded", action="store_true", help="add the reworded questions")
    parser.add_argument("--env", action="append", default=[], help="PEER=PYTHON of its environment")
    with given(parser) as arguments:
        peers = Peers(
            pythons=environments(arguments.env),
            queries=arguments.queries,
            reworded=arguments.reworded,
            tokenizer=arguments.tokenizer,
        )
        if arguments.smoke:
            train.run(arguments.datasets, arguments.out, arguments.sets, None)
        run(arguments.datasets, arguments.out, arguments.sets, peers)


if __name__ == "__main__":
    main()
