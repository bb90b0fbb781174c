"""Results of methods by question: files, tables of means, and paired differences."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.lib.datasets import ORIGINAL, REWORDED
from benchmarks.lib.scoring import mean_difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Result of one method for one question."""

    method: str
    set: str
    kind: str
    """Kind of the question (`datasets.Query.kind`)."""
    id: str
    scores: tuple[float, ...]
    """Recall at each budget; for a fact, 1 if it was found, otherwise 0."""
    tokens: tuple[float, ...]
    """Number of tokens returned at each budget."""
    seconds: float
    """Mean time of a search."""
    weak: bool = False
    """Whether the evidence is weak."""
    refused: bool = False
    """Whether nothing is returned with `abstain=True`."""
    texts: tuple[float, ...] = ()
    """Number of returned texts at each budget, if it was measured."""
    whole: tuple[float, ...] = ()
    """Share of the pieces of evidence that one of these texts contains as a whole."""


_KINDS: Mapping[str, Callable[[str], bool]] = {
    "originals": lambda kind: kind == ORIGINAL,
    "reworded": lambda kind: kind == REWORDED,
    "facts": lambda kind: kind not in (ORIGINAL, REWORDED),
    "facts, the text's words": lambda kind: kind == "own",
    "facts, other words": lambda kind: kind == "other",
}


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write results to a JSON file."""
    path.write_text(json.dumps([asdict(row) for row in rows]) + "\n", encoding="utf-8")


def read_rows(path: Path) -> list[Row]:
    """Return the results in a file of `write_rows`."""
    found = json.loads(path.read_text("utf-8"))
    sized = ("scores", "tokens", "texts", "whole")
    return [Row(**{**row, **{name: tuple(row[name]) for name in sized}}) for row in found]


def grouped(rows: Sequence[Row], column: str) -> dict[str, list[Row]]:
    """Return the rows by the value of a column."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(getattr(row, column), []).append(row)
    return found


def of_kinds(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each group of kinds, without empty groups; groups of facts overlap."""
    groups = {name: [row for row in rows if holds(row.kind)] for name, holds in _KINDS.items()}
    return {name: group for name, group in groups.items() if group}


def mean(rows: Sequence[Row], column: str = "scores", *, scale: float = 100) -> str:
    """Return the mean of a column over the sets, for each budget if the column has several."""
    means = [
        np.mean([getattr(row, column) for row in part], axis=0)
        for part in grouped(rows, "set").values()
    ]
    return "/".join(f"{x * scale:.1f}" for x in np.atleast_1d(np.mean(means, axis=0)))


def render(rows: Sequence[Row]) -> list[str]:
    """Return a table for each group of kinds: recall by set, refused, weak, tokens and time."""
    lines: list[str] = []
    for name, group in of_kinds(rows).items():
        sets = list(grouped(group, "set"))
        lines += [
            f"| {name} | {' | '.join(sets)} | mean | refused % | weak % | tokens | ms |",
            "|---" * (len(sets) + 6) + "|",
        ]
        for method, part in grouped(group, "method").items():
            cells = [mean(one) for one in grouped(part, "set").values()]
            cells += [mean(part), mean(part, "refused"), mean(part, "weak")]
            cells += [mean(part, "tokens", scale=1), mean(part, "seconds", scale=1_000)]
            lines.append(f"| {method} | {' | '.join(cells)} |")
        lines.append("")
    return lines


def render_differences(
    rows: Sequence[Row], others: Sequence[Row], *, by: str | None = None
) -> list[str]:
    """Return a table of paired differences in points, with 95 % intervals.

    Questions are resampled inside each set. Sets have equal weight.

    Args:
        rows: Results.
        others: Results of the same questions to compare with.
        by: Method to compare with every other method; None to compare each method with its other
            results.
    """
    names = [name for name in grouped(others, "method") if name != by]
    pairs = (
        [(f"{by} less {name}", by, name) for name in names] if by else [(n, n, n) for n in names]
    )
    mine, theirs = grouped(rows, "method"), grouped(others, "method")
    lines = [f"| difference | {' | '.join(_KINDS)} |", "|---" * (len(_KINDS) + 1) + "|"]
    for label, method, other in pairs:
        if method not in mine:
            continue
        at = {(row.set, row.kind, row.id): row.scores for row in theirs[other]}
        shared = [row for row in mine[method] if (row.set, row.kind, row.id) in at]
        groups = of_kinds(shared)
        cells = [_difference(groups.get(name, []), at) for name in _KINDS]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def _difference(rows: Sequence[Row], others: dict[tuple[str, str, str], tuple[float, ...]]) -> str:
    if not rows:
        return ""
    differences = [
        np.array([np.subtract(r.scores, others[r.set, r.kind, r.id]) for r in part]) * 100
        for part in grouped(rows, "set").values()
    ]
    return f"{mean_difference(differences)}, n = {len(rows)}"
