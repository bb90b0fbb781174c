"""Train and measure the abstention model: python -m benchmarks.abstention DATASETS.

The model estimates the probability that the documents answer a question. It is trained with
questions in the words of the documents and with reworded questions. Run `python -m benchmarks.train
DATASETS` first to search each set with weights trained on the other sets; otherwise the shipped
weights are used.

The script writes `abstention.json`, trained on all sets that may be shipped, into the output
folder; copy the file to `src/spanwise/core/ranking/abstention.json`. Shipped models of other
embedders are kept: `--embedder minilm` adds a model. All printed figures are cross-validated: the
model and its thresholds were not fitted to the set or its questions. The table is also written to
`abstention.md`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.abstention import (
    ANSWERABLE,
    KINDS,
    Asked,
    Signals,
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
    LANGUAGE_SETS,
    TEXT_SETS,
    read_dataset,
    read_unanswerable,
)
from benchmarks.lib.training import build
from benchmarks.quality import model_for
from spanwise.core.ranking.abstention import DEEP, NO_EMBEDDER, SIGNALS, LogisticModel
from spanwise.search.assessment import shipped_abstention_text

Floats = NDArray[np.float64]


def run(datasets: Path, out: Path, names: Sequence[str], queries: int | None, name: str) -> None:
    """Search the questions of some sets, train and write the models, and print the figures.

    Args:
        datasets: Folder of the sets.
        out: Output folder.
        names: Names of the sets.
        queries: Maximum number of original questions of a set; None for all.
        name: Name of the embedder.
    """
    out.mkdir(parents=True, exist_ok=True)
    sets = {each: read_dataset(datasets / each, limit=queries, reworded=True) for each in names}
    asked: list[Asked] = []
    embedder = ""
    for each, dataset in sets.items():
        started = time.perf_counter()
        with build(dataset, out, embedder=name, keep=True) as base:
            found = ask_all(
                base,
                dataset,
                model=model_for(out, each, embedder=name),
                others={other: others.queries for other, others in sets.items()},
                unanswerable=every(read_unanswerable(datasets / each), queries or 10**9),
            )
            embedder = base.info().settings["embedder"]
        asked += found
        seconds = time.perf_counter() - started
        print(f"{each}: {len(found)} questions, {seconds:.0f} s", flush=True)
    ways: dict[str, Signals] = {embedder: lambda row: row.with_vectors}
    if name == "auto":
        ways[NO_EMBEDDER] = lambda row: row.keywords_alone
        ways[DEEP] = lambda row: row.deep
    models: dict[str, LogisticModel] = {}
    text = ""
    for way, signals in ways.items():
        models[way], table = _fit(asked, names, signals)
        text += f"\n{way}\n\n{table}\n"
    print(text)
    (out / "abstention.md").write_text(text, encoding="utf-8")
    _write(out / "abstention.json", models)


def _fit(
    asked: Sequence[Asked], names: Sequence[str], signals: Signals
) -> tuple[LogisticModel, str]:
    """Return the model trained on all sets that may be shipped, and the cross-validated table."""
    evidence = held_out(asked, signals)
    weak, missing = thresholds(asked, evidence)
    trained = train(allowed(asked, names), signals)
    model = trained._replace(weak=round(weak, 4), missing=round(missing, 4))
    weights = " ".join(f"{s} {w:.2f}" for s, w in zip(SIGNALS, model.weights, strict=True))
    facts = f"weak below {weak:.3f}, missing below {missing:.3f}; weights: {weights}"
    return model, f"{facts}\n\n{report(asked, evidence)}"


def report(asked: Sequence[Asked], evidence: Floats) -> str:
    """Return the table: false refusals, false warnings, and unanswerable questions without either.

    The figures of a set use thresholds from the other sets. The last line has the means with the
    shipped thresholds, which are those of all sets.
    """
    lines = [
        "| set | "
        + " | ".join(f"{kind}: refused %, warned %" for kind in ANSWERABLE)
        + " | "
        + " | ".join(f"{kind}: AUC, not refused %, no warning %" for kind in KINDS)
        + " |",
        "|---" * (1 + len(ANSWERABLE) + len(KINDS)) + "|",
    ]
    names = list(dict.fromkeys(row.dataset for row in asked))
    rows = [_numbers(asked, evidence, name, without=name) for name in names]
    lines += [_line(name, row) for name, row in zip(names, rows, strict=True)]
    lines.append(_line("mean", _means(rows)))
    rows = [_numbers(asked, evidence, name, without="") for name in names]
    lines.append(_line("mean, thresholds of all sets", _means(rows)))
    return "\n".join(lines)


def _numbers(asked: Sequence[Asked], evidence: Floats, name: str, *, without: str) -> list[float]:
    """Return the figures of a set, with thresholds from all sets but `without`."""
    weak, missing = thresholds(asked, evidence, without=without)
    found = {
        kind: evidence[np.array([row.dataset == name and row.kind == kind for row in asked])]
        for kind in (*ANSWERABLE, *KINDS)
    }
    answerable = np.concatenate([found[kind] for kind in ANSWERABLE]).tolist()
    numbers: list[float] = []
    for kind in ANSWERABLE:
        numbers += [_percent(found[kind] < limit) for limit in (missing, weak)]
    for kind in KINDS:
        others = found[kind]
        area = area_under_curve(answerable, others.tolist())
        numbers += [area, _percent(others >= missing), _percent(others >= weak)]
    return numbers


def _means(rows: Sequence[Sequence[float]]) -> list[float]:
    return [_mean(np.array(column)) for column in zip(*rows, strict=True)]


def _percent(values: NDArray[np.bool_]) -> float:
    return float(values.mean() * 100) if len(values) else float("nan")


def _mean(values: Floats) -> float:
    """Return the mean of the values that are numbers."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _line(name: str, numbers: Sequence[float]) -> str:
    split = 2 * len(ANSWERABLE)
    rates, kinds = numbers[:split], numbers[split:]
    cells = [_cell(rates[at : at + 2], ".1f") for at in range(0, len(rates), 2)]
    for at in range(0, len(kinds), 3):
        area, *missed = kinds[at : at + 3]
        cells.append("" if np.isnan(area) else f"{area:.3f}, {_cell(missed, '.0f')}")
    return f"| {name} | {' | '.join(cells)} |"


def _cell(rates: Sequence[float], form: str) -> str:
    return "" if np.isnan(rates[0]) else ", ".join(f"{rate:{form}}" for rate in rates)


def _write(path: Path, models: Mapping[str, LogisticModel]) -> None:
    """Write models by embedder, together with the shipped models of other embedders."""
    data = json.loads(shipped_abstention_text())
    kept = data["embedders"] if data["signals"] == list(SIGNALS) else {}
    for name, model in models.items():
        kept[name] = {
            "weights": [round(float(weight), 4) for weight in model.weights],
            "bias": round(model.bias, 4),
            "weak": model.weak,
            "missing": model.missing,
        }
    text = json.dumps({"signals": list(SIGNALS), "embedders": kept}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__, sets=[*TEXT_SETS, *LANGUAGE_SETS], queries=120)
    parser.add_argument("--embedder", default="auto", help="name of the embedder")
    with given(parser) as arguments:
        run(
            arguments.datasets,
            arguments.out,
            arguments.sets,
            arguments.queries,
            arguments.embedder,
        )


if __name__ == "__main__":
    main()
