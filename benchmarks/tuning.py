"""Measure the gain of tuning: python -m benchmarks.tuning DATASETS [--sets NAMES] [--queries N].

The questions of each set are split by document into halves. Search is tuned on one half and
measured on the other, in both directions, from weights trained without the set
(`benchmarks.train`). Four ways are measured: all questions of a half; the same without known
answers; twenty questions; and questions made of section titles. The paired recall at 1,000 and
4,000 tokens is printed as Markdown and written to the output folder.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import train
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import TEXT_SETS, read_dataset
from benchmarks.lib.training import build, labelled, remove_packs
from benchmarks.quality import BUDGETS, model_without
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.errors import OptionError
from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.statistics import document_clusters, mean_interval
from spanwise.evaluation.tuning import TuneOptions, made_questions, tune
from spanwise.evaluation.tuning.examples import fold_questions
from spanwise.evaluation.tuning.tuner import Measure
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.search.tuned_options import Tuning

PACKED = ("financebench_txt", "cuad", "lbr_contractnli")
"""Sets that are measured with the built-in packs."""
WAYS = ("all", "weights", "few", "made")
FEW = 20
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Knowledge base, initial weights and questions of one set."""

    base: KnowledgeBase
    model: RelevanceModel
    questions: Sequence[LabelledQuestion]

    def recalls(
        self, asked: Sequence[LabelledQuestion], tuning: Tuning | None, *, model: RelevanceModel
    ) -> Floats:
        """Return the recall of questions at each budget."""
        searcher = searcher_of(self.base, model)
        if tuning is not None:
            searcher = replace(searcher, model=tuning.model, balanced=tuning.segments)
        measure = Measure(budgets=BUDGETS, tokenizer="chars:4", reranking=None)
        return np.array(measure.recalls(asked, base=self.base, searcher=searcher))

    def tuned(self, asked: Sequence[LabelledQuestion], *, way: str) -> Tuning | None:
        """Return the tuning on questions in one of the `WAYS`; None if there are too few."""
        try:
            report = tune(
                self.base,
                asked,
                options=TuneOptions(
                    budgets=BUDGETS, tokenizer="chars:4", known_answers=way != "weights"
                ),
                model=self.model,
                source="made" if way == "made" else "labelled",
            )
        except OptionError as error:
            print(f"  not tuned: {error}", flush=True)
            return None
        print(f"  {report.tuning.words}", flush=True)
        return report.tuning


def spread(questions: Sequence[LabelledQuestion], count: int) -> list[LabelledQuestion]:
    """Return some questions, evenly spaced."""
    count = min(count, len(questions))
    return [questions[at * len(questions) // count] for at in range(count)]


def measure_set(setting: Setting, *, ways: Sequence[str]) -> dict[str, tuple[Floats, Floats]]:
    """Return the recall before and after tuning, by way."""
    questions = setting.questions
    before = setting.recalls(questions, None, model=setting.model)
    found: dict[str, tuple[Floats, Floats]] = {}
    halves = fold_questions(questions, folds=2)
    for way in ways:
        after = before.copy()
        if way == "made":
            tuning = setting.tuned(made_questions(setting.base), way=way)
            after = setting.recalls(questions, tuning, model=setting.model)
        else:
            for half in halves.numbers:
                inside = [at for at, part in enumerate(halves.of) if part == half]
                others = [q for q, part in zip(questions, halves.of, strict=True) if part != half]
                tuning = setting.tuned(spread(others, FEW) if way == "few" else others, way=way)
                asked = [questions[at] for at in inside]
                after[inside] = setting.recalls(asked, tuning, model=setting.model)
        found[way] = before, after
    return found


def row(name: str, way: str, recalls: tuple[Floats, Floats], groups: Sequence[str]) -> str:
    """Return a row of the table."""
    before, after = (one * 100 for one in recalls)
    clusters = document_clusters(groups).ids
    cells = []
    for at in range(len(BUDGETS)):
        difference = mean_interval((after - before)[:, at].tolist(), clusters=clusters)
        cells.append(
            f"{before[:, at].mean():.1f} -> {after[:, at].mean():.1f}, {difference.mean:+.1f} "
            f"[{difference.low:.1f}, {difference.high:.1f}]"
        )
    return f"| {name} | {way} | {len(before)} | {' | '.join(cells)} |"


def measured_rows(setting: Setting, name: str, ways: Sequence[str]) -> list[str]:
    """Return the rows of a set."""
    started = time.perf_counter()
    groups = [one.evidence[0].document_id for one in setting.questions]
    rows = [
        row(name, way, recalls, groups) for way, recalls in measure_set(setting, ways=ways).items()
    ]
    print("\n".join([*rows, f"  {time.perf_counter() - started:.0f} s"]), flush=True)
    return rows


def run(
    datasets: Path, out: Path, names: Sequence[str], queries: int | None, ways: Sequence[str]
) -> None:
    """Measure some sets; print and write the table."""
    rows = []
    for name in names:
        dataset = read_dataset(datasets / name, limit=queries)
        with build(dataset, out) as base:
            if name not in PACKED:
                remove_packs(base)
            setting = Setting(
                base=base,
                model=model_without(out, name),
                questions=labelled(dataset.queries),
            )
            rows += measured_rows(setting, name, ways)
    heads = " | ".join(f"recall % at {budget:,}" for budget in BUDGETS)
    head = [f"| set | tuned on | questions | {heads} |", "|---" * (3 + len(BUDGETS)) + "|"]
    report = "\n".join([*head, *rows]) + "\n"
    (out / "tuning.md").write_text(report, encoding="utf-8")
    print(report)


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__, sets=TEXT_SETS, queries=600)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    with given(parser) as arguments:
        if arguments.smoke:
            train.run(arguments.datasets, arguments.out, arguments.sets, None)
            arguments.ways = ["all", "made"]
        run(
            arguments.datasets,
            arguments.out,
            arguments.sets,
            arguments.queries,
            arguments.ways,
        )


if __name__ == "__main__":
    main()
