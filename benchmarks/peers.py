"""Compare Spanwise with other frameworks at equal tokens: python -m benchmarks.peers DATASETS.

    python -m benchmarks.peers DATASETS --env llama_index=ENV/bin/python --env dsrag=...

Each peer runs in a separate environment with Spanwise (for the embedder) and the peer; by default,
in this environment. `benchmarks/lib/peer_runs` has the code and the settings of each peer. All use
the same static vectors and exact search, so the comparison is about chunking, retrieval and
assembly; Spanwise also searches keywords, its default. Run `python -m benchmarks.train DATASETS`
first: each set is searched with weights trained on the other sets. The table is printed as
Markdown and written to the output folder.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import train
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import TEXT_SETS, Dataset, read_dataset
from benchmarks.lib.peer_runs.task import BUDGETS
from benchmarks.lib.scoring import Range, cut, interval, mean_difference, recall
from benchmarks.lib.training import build
from benchmarks.quality import model_without, spanwise_search
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SegmentOptions

PEERS = {
    "llama_index": "llama_index.core",
    "langchain": "langchain_classic.retrievers",
    "dsrag": "dsrag.knowledge_base",
    "haiku": "haiku.rag.client",
}
"""Module that is imported to check whether a peer is installed, by peer."""
OURS = "Spanwise"
Recalls = NDArray[np.float64]
"""Recall of each question at each budget, (questions, budgets)."""


def installed(python: str, package: str) -> bool:
    """Return whether a package and its dependencies can be imported in an environment."""
    command = [python, "-c", f"import {package}"]
    return not subprocess.run(command, capture_output=True, check=False).returncode


def run_peer(peer: str, python: str, folder: Path, out: Path, options: Sequence[str]) -> str:
    """Run a peer on the questions of a set in its environment; return its error output."""
    command = [python, "-m", f"benchmarks.lib.peer_runs.{peer}", str(folder), str(out), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def read_answers(out: Path, dataset: Dataset) -> dict[str, Recalls]:
    """Return the recall of each method with answers in a folder."""
    return {
        path.stem: np.column_stack(
            [_recalls(out / f"{path.stem}-{budget}.jsonl", budget, dataset) for budget in BUDGETS]
        )
        for path in sorted(out.glob("*.json"))
    }


def _recalls(path: Path, budget: int, dataset: Dataset) -> list[float]:
    found: dict[str, list[Range]] = {}
    with path.open(encoding="utf-8") as stream:
        for row in map(json.loads, stream):
            segments = row["segments"]
            found[row["query_id"]] = [(s["doc_id"], s["start"], s["end"]) for s in segments]
    return [recall(query, cut(found[query.id], budget)) for query in dataset.queries]


def ours(dataset: Dataset, out: Path) -> Recalls:
    """Return the recall of Spanwise with default settings."""
    with build(dataset, out) as base:
        search = spanwise_search(
            searcher_of(base, model_without(out, dataset.name)), SegmentOptions.BALANCED
        )
        return np.array(
            [[recall(q, cut(search(q, b), b)) for b in BUDGETS] for q in dataset.queries]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """Peers to run, with their options."""

    pythons: Mapping[str, str]
    """Path of the Python interpreter, by peer."""
    queries: int | None = None
    """Maximum number of questions per set; None for all."""
    tokenizer: str = ""
    """Folder of the tokenizer for haiku.rag; empty to download it."""

    def options(self, peer: str) -> list[str]:
        """Return the command-line options of a peer."""
        limit = [] if self.queries is None else ["--queries", str(self.queries)]
        return limit + (["--tokenizer", self.tokenizer] if peer == "haiku" else [])


def run(datasets: Path, out: Path, names: Sequence[str], peers: Peers) -> None:
    """Measure Spanwise and the peers with an environment; print and write the table."""
    reached: dict[str, dict[str, Recalls]] = {}
    failures: list[str] = []
    for name in names:
        dataset = read_dataset(datasets / name, limit=peers.queries)
        reached[name] = {OURS: ours(dataset, out)}
        for peer, python in peers.pythons.items():
            answers = out / "peers" / name / peer
            failure = run_peer(peer, python, datasets / name, answers, peers.options(peer))
            if failure:
                failures.append(f"{peer} did not finish {name}: {failure}")
            else:
                reached[name] |= read_answers(answers, dataset)
        for method, found in reached[name].items():
            print(f"{name:18s} {method:36s} {_cell(found)}", flush=True)
    report = render(reached) + "".join(f"\n{failure}\n" for failure in failures)
    (out / "peers.md").write_text(report, encoding="utf-8")
    print(report)


def _cell(found: Recalls | None) -> str:
    if found is None:
        return "not finished"
    return "/".join(f"{value:.1f}" for value in found.mean(axis=0) * 100)


def _difference(ours: Recalls, theirs: Recalls | None) -> str:
    if theirs is None:
        return ""
    parts = []
    for column in ((ours - theirs) * 100).T:
        low, high = interval(column)
        parts.append(f"{column.mean():+.1f} [{low:.1f}, {high:.1f}]")
    return " / ".join(parts)


def render(reached: Mapping[str, Mapping[str, Recalls]]) -> str:
    """Return the table: recall of each method, and its difference to Spanwise."""
    methods = list(dict.fromkeys(method for found in reached.values() for method in found))
    lines = [
        f"| recall % at 1,000/4,000 tokens | {' | '.join(reached)} | mean |",
        "|---" * (len(reached) + 2) + "|",
    ]
    for method in methods:
        cells = [_cell(found.get(method)) for found in reached.values()]
        means = [f[method].mean(axis=0) for f in reached.values() if method in f]
        lines.append(f"| {method} | {' | '.join(cells)} | {_cell(np.array(means))} |")
    for method in methods[1:]:
        both = [(found[OURS], found.get(method)) for found in reached.values()]
        cells = [_difference(one, other) for one, other in both]
        pairs = [(one - other) * 100 for one, other in both if other is not None]
        mean = mean_difference(pairs)
        lines.append(f"| {OURS} less {method} | {' | '.join(cells)} | {mean} |")
    return "\n".join(lines) + "\n"


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
    parser.add_argument("--env", action="append", default=[], help="PEER=PYTHON of its environment")
    with given(parser) as arguments:
        peers = Peers(
            pythons=environments(arguments.env),
            queries=arguments.queries,
            tokenizer=arguments.tokenizer,
        )
        if arguments.smoke:
            train.run(arguments.datasets, arguments.out, arguments.sets, None)
        run(arguments.datasets, arguments.out, arguments.sets, peers)


if __name__ == "__main__":
    main()
