"""Train and measure the abstention model: python -m benchmarks.abstention DATASETS.

The model decides whether a question is unanswerable. Run `python -m benchmarks.train DATASETS`
first: each set is searched with weights trained on the other sets. The script writes
`abstention.json`, trained on all sets that may be shipped, into the output folder; copy the file
to `src/spanwise/core/abstention.json`. All printed figures are cross-validated: the model was not
trained on the set or its questions. The shipped thresholds are used.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import train as relevance
from benchmarks.lib.abstention import (
    ANSWERABLE,
    KINDS,
    Asked,
    allowed,
    area_under_curve,
    ask_all,
    every,
    held_out,
    thresholds,
    train,
)
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import (
    DOCUMENT_SETS,
    LANGUAGE_SETS,
    TEXT_SETS,
    Dataset,
    read_dataset,
    read_unanswerable,
)
from benchmarks.lib.scoring import cut, document_recall, recall
from benchmarks.lib.training import build
from benchmarks.quality import model_without, spanwise_search
from spanwise.core.ranking.abstention import SIGNALS, LogisticModel
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SegmentOptions

Floats = NDArray[np.float64]
Signals = Callable[[Asked], Floats]
BUDGET = 4_000
WAYS: Mapping[str, Signals] = {
    "with_vectors": lambda asked: asked.with_vectors,
    "keywords_alone": lambda asked: asked.keywords_alone,
}


def run(datasets: Path, out: Path, names: Sequence[str], queries: int | None) -> None:
    """Search the questions of some sets, train and write the model, and print the figures."""
    sets = {name: read_dataset(datasets / name) for name in names}
    asked: list[Asked] = []
    recalls: dict[str, Floats] = {}
    embedder = ""
    for name, dataset in sets.items():
        started = time.perf_counter()
        part = replace(dataset, queries=tuple(every(dataset.queries, queries or 10**9)))
        with build(dataset, out) as base:
            found = ask_all(
                base,
                part,
                model=model_without(out, name),
                others={other: each.queries for other, each in sets.items()},
                unanswerable=read_unanswerable(datasets / name),
            )
            asked += found
            recalls[name] = _recalls(base, part, out)
            embedder = base.info().settings["embedder"]
        seconds = time.perf_counter() - started
        print(f"{name}: {len(found)} questions, {seconds:.0f} s", flush=True)
    models: dict[str, LogisticModel] = {}
    for way, signals in WAYS.items():
        evidence = held_out(asked, signals)
        weak, missing = thresholds(asked, evidence)
        trained = train(allowed(asked, names), signals)
        models[way] = replace(trained, weak=round(weak, 4), missing=round(missing, 4))
        print(f"\n{way.replace('_', ' ')}: weak below {weak:.3f}, missing below {missing:.3f}")
        print(" ".join(f"{s} {w:.2f}" for s, w in zip(SIGNALS, trained.weights, strict=True)))
        print(report(asked, evidence, models[way], recalls))
    _write(out / "abstention.json", models, embedder)


def _recalls(base: KnowledgeBase, dataset: Dataset, out: Path) -> Floats:
    """Return the recall of each question, ignoring the evidence score."""
    search = spanwise_search(
        searcher_of(base, model_without(out, dataset.name)), SegmentOptions.BALANCED, abstain=False
    )
    return np.array(
        [
            (recall if query.evidence_chars else document_recall)(
                query, cut(search(query, BUDGET), BUDGET)
            )
            for query in dataset.queries
        ]
    )


def report(
    asked: Sequence[Asked], evidence: Floats, model: LogisticModel, recalls: Mapping[str, Floats]
) -> str:
    """Return the table: wrong refusals and warnings per set, and separation of the kinds."""
    found: dict[tuple[str, str], Floats] = {}
    for name, kind in dict.fromkeys((row.dataset, row.kind) for row in asked):
        mine = [row.dataset == name and row.kind == kind for row in asked]
        found[name, kind] = evidence[np.array(mine)]
    lines = [
        "| set | falsely missing % | falsely weak % | recall at 4,000: lost, weak / others | "
        + " | ".join(f"{kind}: AUC, missing %, weak %" for kind in KINDS)
        + " |",
        "|---" * (4 + len(KINDS)) + "|",
    ]
    columns: list[list[float]] = []
    for name, recalled in recalls.items():
        answerable = found[name, ANSWERABLE]
        weak, lost = answerable < model.weak, recalled * (answerable < model.missing)
        numbers = _rates(answerable, model)
        numbers += [_mean(lost), _mean(recalled[weak]), _mean(recalled[~weak])]
        for kind in KINDS:
            others = found.get((name, kind))
            if others is None:
                numbers += [float("nan")] * 3
            else:
                numbers += [area_under_curve(answerable.tolist(), others.tolist())]
                numbers += _rates(others, model)
        columns.append(numbers)
        lines.append(_line(name, numbers))
    means = [_mean(np.array(column)) for column in zip(*columns, strict=True)]
    lines.append(_line("mean", means))
    lines.append(_pooled(found))
    return "\n".join(lines)


def _rates(evidence: Floats, model: LogisticModel) -> list[float]:
    return [
        float((evidence < model.missing).mean() * 100),
        float((evidence < model.weak).mean() * 100),
    ]


def _mean(values: Floats) -> float:
    """Return the mean of the values that are numbers; None without numbers."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _line(name: str, numbers: Sequence[float]) -> str:
    missing, weak, lost, of_weak, of_others, *kinds = numbers
    shown = ["none" if np.isnan(part) else f"{part * 100:.0f}" for part in (of_weak, of_others)]
    cells = [f"{missing:.1f}", f"{weak:.1f}", f"{lost * 100:.1f}, {' / '.join(shown)}"]
    for at in range(0, len(kinds), 3):
        area, *rates = kinds[at : at + 3]
        known = not np.isnan(area)
        cells.append(f"{area:.3f}, {rates[0]:.0f}, {rates[1]:.0f}" if known else "")
    return f"| {name} | {' | '.join(cells)} |"


def _pooled(found: Mapping[tuple[str, str], Floats]) -> str:
    """Return the areas under the curve over all sets that have a kind of question."""
    cells = []
    for kind in KINDS:
        names = [name for name, of in found if of == kind]
        answerable = [value for name in names for value in found[name, ANSWERABLE].tolist()]
        others = [value for name in names for value in found[name, kind].tolist()]
        cells.append(f"{area_under_curve(answerable, others):.3f}" if others else "")
    return f"| all questions together | | | | {' | '.join(cells)} |"


def _write(path: Path, models: Mapping[str, LogisticModel], embedder: str) -> None:
    data: dict[str, object] = {"signals": list(SIGNALS), "embedder": embedder}
    for way, model in models.items():
        data[way] = {
            "weights": [round(float(weight), 4) for weight in model.weights],
            "bias": round(model.bias, 4),
            "weak": model.weak,
            "missing": model.missing,
        }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run the command line."""
    sets = [*TEXT_SETS, *DOCUMENT_SETS, *LANGUAGE_SETS]
    with given(command_line(__doc__, sets=sets, queries=400)) as arguments:
        if arguments.smoke:
            relevance.run(arguments.datasets, arguments.out, arguments.sets, None)
        run(arguments.datasets, arguments.out, arguments.sets, arguments.queries)


if __name__ == "__main__":
    main()
