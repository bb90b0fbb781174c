"""Spanwise beside other frameworks at equal tokens: python -m benchmarks.peers DATASETS.

    python -m benchmarks.peers DATASETS --env llama_index=ENV/bin/python --env dsrag=...

Each peer runs in an environment of its own that holds Spanwise (for the embedder) and the peer; one
that is not named is looked for in this environment. `benchmarks/lib/peer_runs` holds what is run,
with the settings of each. All embed by the same static vectors and search them exactly, so that
what is compared is how documents are cut, found and put together; Spanwise searches words too, as
it does by default. Run `python -m benchmarks.train DATASETS` first: each set is searched with
weights that were trained on the other sets. Prints a table in Markdown and writes it to the output
folder.
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
from benchmarks.lib.scoring import Range, cut, interval, recall
from benchmarks.lib.training import build
from benchmarks.other_models import mean_difference
from benchmarks.quality import model_without, spanwise_search
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SegmentOptions

PEERS = {
    "llama_index": "llama_index.core",
    "langchain": "langchain_classic.retrievers",
    "dsrag": "dsrag.knowledge_base",
    "haiku": "haiku.rag.client",
}
"""What runs a peer, and what can be imported where it is installed."""
OURS = "Spanwise"
Recalls = NDArray[np.float64]
"""Of each question at each budget, (questions, budgets)."""


def installed(python: str, package: str) -> bool:
    """Return whether a package can be imported in an environment, with all that it needs."""
    command = [python, "-c", f"import {package}"]
    return not subprocess.run(command, capture_output=True, check=False).returncode


def run_peer(peer: str, python: str, folder: Path, out: Path, options: Sequence[str]) -> str:
    """Answer the questions of a set in the environment of a peer; return what went wrong."""
    command = [python, "-m", f"benchmarks.lib.peer_runs.{peer}", str(folder), str(out), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def read_answers(out: Path, dataset: Dataset) -> dict[str, Recalls]:
    """Return what each method that wrote its answers into a folder reached."""
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
    """Return what Spanwise reaches by its defaults."""
    with build(dataset, out) as base:
        search = spanwise_search(
            searcher_of(base, model_without(out, dataset.name)), SegmentOptions.BALANCED
        )
        return np.array(
            [[recall(q, cut(search(q, b), b)) for b in BUDGETS] for q in dataset.queries]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """Which peers are run, and how."""

    pythons: Mapping[str, str]
    """The interpreter of each."""
    queries: int | None = None
    """At most so many a set; None for all."""
    tokenizer: str = ""
    """Folder of the tokenizer that haiku.rag counts with; empty for the one it downloads."""

    def options(self, peer: str) -> list[str]:
        """Return what a peer is told."""
        limit = [] if self.queries is None else ["--queries", str(self.queries)]
        return limit + (["--tokenizer", self.tokenizer] if peer == "haiku" else [])


def run(datasets: Path, out: Path, names: Sequence[str], peers: Peers) -> None:
    """Measure the peers whose environments are given beside Spanwise; print and write the table."""
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
    """Return the table: recall of each method, and how much more Spanwise reaches."""
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
    """Return the environment of each peer that is installed, and say which are not."""
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
    """Read the command line and run."""
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
