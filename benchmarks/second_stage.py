"""Train the second stage of a search: python -m benchmarks.second_stage DATASETS [--out FOLDER].

Writes `reranking.json`, the weights of rerankers, to the output folder, and `deep.json`, the second
linear model, if MiniLM is installed. Copy them to `src/spanwise/core/ranking/`. Run `python -m
benchmarks.train DATASETS` first to compute the first scores with weights trained on the other sets;
otherwise the shipped weights are used.

The weights of rerankers are trained with simulated rerankers. The scores of chunks with and without
evidence have Gaussian distributions, whose distance gives a certain area under the ROC curve (AUC).
Errors of neighbours are correlated, and a logistic function maps the scores to [0, 1]. The report
has the recall with each simulated reranker and with MiniLM, with weights trained on the other sets,
and paired differences to the search without it. The scores with MiniLM are those of the linear
model, without the certainty factor of a search. `--parts rerankers` or `--parts minilm` trains one
part only. `--parts counts` trains nothing: it reports how the recall with a simulated reranker
depends on the number of candidates that it reads. Knowledge bases with the vectors of MiniLM are
kept in the output folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import NEVER_TRAINED, REWORDED_SETS
from benchmarks.lib.scoring import interval
from benchmarks.lib.second_stage import (
    Candidates,
    Floats,
    cosine_features,
    fit,
    read_candidates,
    recalls,
    with_features,
)
from benchmarks.lib.simulated_rerankers import (
    REPORTED,
    RERANKERS,
    SimulatedReranker,
    reranker_features,
)
from spanwise.core.ranking.deep import DEEP_FEATURES, DeepModel, load_deep_model
from spanwise.core.ranking.reranking import (
    PARTS,
    RerankerWeights,
    calibrated_lift,
    load_reranker_weights,
)
from spanwise.models.providers import minilm

_PARTS = ("rerankers", "minilm")  # parts with weights
_COUNTS = (20, 40, 60, 80, 100, 200)  # numbers of candidates in the part "counts"
_READ = (50, 100, 200)  # numbers of candidates to rerank, in turn
_COUNTED_AUC = 0.97
_TURNS = 3  # each question is used with every third reranker
Sets = Mapping[str, Sequence[Candidates]]
Method = Callable[[str, Candidates], Floats]
"""Function that returns scores, given the name of a set and the candidates of a question."""


def reranker_weights(sets: Sets) -> RerankerWeights:
    """Return the weights of the parts of a reranker's score, relative to the first score."""
    examples, weights = [], []
    for found in sets.values():
        for number, one in enumerate(found):
            for turn in range(number % _TURNS, len(RERANKERS), _TURNS):
                reranker, count = RERANKERS[turn], _READ[(number + turn) % len(_READ)]
                columns = reranker_features(one, reranker, count=count, seed=1)
                if columns is not None:
                    examples.append(with_features(one.example, columns))
                    weights.append(one.weight * reranker.weight / len(sets))
    best, _, deviations = fit(examples, weights)
    raw = best / deviations
    by_name = {name: float(x / raw[0]) for name, x in zip(PARTS, raw[1:], strict=True)}
    return RerankerWeights(**by_name)


def reranked(
    one: Candidates, reranker: SimulatedReranker, weights: RerankerWeights, *, count: int = 100
) -> Floats:
    """Return the scores of candidates after a reranker has scored the best `count`."""
    at = one.best(count)
    lift = calibrated_lift(
        reranker.scores(one, at, seed=0),
        at=at,
        candidates=one.example.candidates,
        rows=one.rows,
        weights=weights,
    )
    return one.scores + lift


def report(sets: Sets, methods: Mapping[str, Method]) -> str:
    """Return the recall of each method as a table, with paired differences to the first scores."""
    plain = {name: [recalls(one, one.scores) for one in found] for name, found in sets.items()}
    lines = [
        "| method | questions | recall % at 1,000 / 4,000 | difference to none |",
        "|---|---|---|---|",
    ]
    for label, method in {"none": _first_scores, **methods}.items():
        for kind in ("original", "reworded"):
            levels, gains = [], []
            for name, found in sets.items():
                for one, before in zip(found, plain[name], strict=True):
                    if one.kind == kind:
                        levels.append(recalls(one, method(name, one)) * 100)
                        gains.append(levels[-1] - before * 100)
            if levels:
                lines.append(f"| {label} | {kind} | {_cells(levels, gains)} |")
    return "\n".join(lines) + "\n"


def count_report(sets: Sets) -> str:
    """Return the recall by the number of candidates that a simulated reranker reads, as a table."""
    weights = load_reranker_weights()
    (reranker,) = (one for one in REPORTED if one.auc == _COUNTED_AUC)
    lines = [
        f"| candidates | {' | '.join(sets)} |",
        f"|---|{'---|' * len(sets)}",
    ]
    for count in (0, *_COUNTS):
        cells = []
        for found in sets.values():
            levels = [
                recalls(one, reranked(one, reranker, weights, count=count) if count else one.scores)
                for one in found
            ]
            cells.append(" / ".join(f"{x * 100:.1f}" for x in np.mean(levels, axis=0).tolist()))
        lines.append(f"| {count} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _first_scores(_name: str, one: Candidates) -> Floats:
    return one.scores


def _cells(levels: list[Floats], gains: list[Floats]) -> str:
    recall = " / ".join(f"{x:.1f}" for x in np.mean(levels, axis=0).tolist())
    parts = []
    for column in np.array(gains).T:
        low, high = interval(column)
        parts.append(f"{column.mean():+.1f} [{low:.1f}, {high:.1f}]")
    return f"{recall} | {' / '.join(parts)}"


def _without(sets: Sets, name: str) -> Sets:
    """Return the other sets; all if there is no other."""
    return {other: found for other, found in sets.items() if other != name} or sets


def reranker_methods(sets: Sets) -> dict[str, Method]:
    """Return a method for each simulated reranker, with weights trained on the other sets."""
    trained = {name: reranker_weights(_without(sets, name)) for name in sets}

    def method(reranker: SimulatedReranker) -> Method:
        return lambda name, one: reranked(one, reranker, trained[name])

    return {reranker.name: method(reranker) for reranker in REPORTED}


def deep_methods(sets: Sets) -> dict[str, Method]:
    """Return the methods with MiniLM: with weights trained on the other sets, and as shipped."""
    trained = {
        name: DeepModel.from_json(json.dumps(deep_model(_without(sets, name)))) for name in sets
    }
    return {
        "MiniLM": lambda name, one: trained[name].scores(cosine_features(one)),
        "MiniLM, shipped": lambda _, one: load_deep_model().scores(cosine_features(one)),
    }


def deep_model(sets: Sets) -> dict[str, object]:
    """Return the second linear model as JSON: features, means, deviations and weights."""
    chosen = [one for found in sets.values() for one in found]
    weights, means, deviations = fit(
        [with_features(one.example, cosine_features(one)) for one in chosen],
        [one.weight for one in chosen],
    )
    return {
        "features": list(DEEP_FEATURES),
        "means": [round(float(x), 6) for x in means],
        "deviations": [round(float(x), 6) for x in deviations],
        "weights": [round(float(x), 5) for x in weights],
    }


def run(
    datasets: Path, out: Path, names: Sequence[str], queries: int | None, parts: Sequence[str]
) -> None:
    """Train the parts on some sets and write their weights to a folder."""
    out.mkdir(parents=True, exist_ok=True)
    reads = "minilm" in parts and minilm.is_available()
    sets = {
        name: read_candidates(datasets / name, out, limit=queries, reads=reads)
        for name in names
        if name not in NEVER_TRAINED
    }
    if "counts" in parts:
        print(count_report(sets))
    if not set(_PARTS) & set(parts):
        return
    methods: dict[str, Method] = {}
    if "rerankers" in parts:
        weights = reranker_weights(sets)
        rounded = {name: round(getattr(weights, name), 3) for name in PARTS}
        _write(out / "reranking.json", {"weights": rounded})
        methods |= reranker_methods(sets)
        print(rounded)
    if reads:
        model = deep_model(sets)
        _write(out / "deep.json", model)
        methods |= deep_methods(sets)
        print(model)
    table = report(sets, methods)
    (out / "second_stage.md").write_text(table, encoding="utf-8")
    print(table)


def _write(path: Path, data: Mapping[str, object]) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__, sets=REWORDED_SETS, queries=40)
    parser.add_argument("--parts", nargs="+", choices=(*_PARTS, "counts"), default=list(_PARTS))
    with given(parser) as arguments:
        run(
            arguments.datasets,
            arguments.out,
            arguments.sets,
            arguments.queries,
            arguments.parts,
        )


if __name__ == "__main__":
    main()
