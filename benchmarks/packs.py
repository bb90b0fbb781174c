"""Measure packs: python -m benchmarks.packs DATASETS [--sets NAMES] [--packs PACKS].

Shows recall at equal tokens with and without packs, paired, by kind of question, and the change
on other sets. For questions that name a company, it also shows the recall with pack weights chosen
on the questions of all other companies. Run `python -m benchmarks.train DATASETS` first: each set
is searched with weights trained on the other sets; without that run, with the shipped weights. The
tables are printed as Markdown and written to the output folder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import DOCUMENT_SETS, TEXT_SETS, Dataset, Query, read_dataset
from benchmarks.lib.sample_filings import SAMPLE_FILINGS, write_sample_filings
from benchmarks.lib.scoring import interval
from benchmarks.lib.training import build, remove_packs
from benchmarks.quality import Measured, model_for, spanwise_search
from spanwise.core.ranking.relevance import LiftWeights, RelevanceModel
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SegmentOptions
from spanwise.packs.pack_file import shipped_packs

Fields = Mapping[str, Mapping[str, str]]
Floats = NDArray[np.float64]
GRID = [
    LiftWeights(landmark=landmark, glossary=glossary)
    for landmark, glossary in product((0.3, 0.4, 0.5, 0.65, 0.8), (0.0, 0.125, 0.25, 0.4))
]
CHOSEN_SETS = ("financebench_txt", SAMPLE_FILINGS)
"""Sets for the choice of weights by company."""


def measure(base: KnowledgeBase, model: RelevanceModel, queries: Sequence[Query]) -> Measured:
    """Return the recall with the default preset."""
    return Measured(spanwise_search(searcher_of(base, model), SegmentOptions.BALANCED), queries)


def read_fields(folder: Path) -> dict[str, dict[str, str]]:
    """Return the kind and the company of each question by id, if the set has them."""
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]
    return {str(row["query_id"]): row.get("meta") or {} for row in rows}


def points(values: Floats) -> str:
    """Return the recall at both budgets, in points."""
    low, high = values.mean(axis=0) * 100
    return f"{low:.1f}/{high:.1f}"


def change(difference: Floats) -> str:
    """Return the mean change at both budgets in points, with its interval."""
    parts = []
    for column in (difference * 100).T:
        low, high = interval(column)
        parts.append(f"{column.mean():+.1f} [{low:.1f}, {high:.1f}]")
    return " / ".join(parts)


def compare(
    base: KnowledgeBase,
    dataset: Dataset,
    *,
    model: RelevanceModel,
    packs: Sequence[str],
    fields: Fields,
) -> list[str]:
    """Return a table row for the set, and for each kind of its questions."""
    remove_packs(base)
    without = measure(base, model, dataset.queries)
    started = time.perf_counter()
    used = [one for one in base.packs.use(*packs) if one.in_use]
    seconds = time.perf_counter() - started
    found = measure(base, model, dataset.queries)
    asked = without.recall, found.recall
    kinds = [fields[query.id].get("question_type", "") for query in dataset.queries]
    on = ", ".join(f"{one.name} {one.documents}" for one in used if one.documents)
    on = f"{on or 'none'} of {len(dataset.documents)}"
    times = (
        f"{without.seconds * 1_000:.1f} -> {found.seconds * 1_000:.1f} ms, made in {seconds:.1f} s"
    )
    return [
        _row(dataset.name, on, asked, np.ones(len(kinds), dtype=bool), times),
        *(
            _row(f"- {kind}", "", asked, np.array([one == kind for one in kinds]), "")
            for kind in sorted(set(kinds) - {""})
        ),
    ]


def _row(
    name: str, on: str, asked: tuple[Floats, Floats], chosen: NDArray[np.bool_], times: str
) -> str:
    without, found = (values[chosen] for values in asked)
    cells = (name, len(found), on, points(without), points(found), change(found - without), times)
    return f"| {' | '.join(map(str, cells))} |"


def cross_validate(
    base: KnowledgeBase, dataset: Dataset, *, model: RelevanceModel, fields: Fields
) -> list[str]:
    """Return the recall for each company with weights chosen on all others."""
    companies = np.array([fields[query.id].get("company", "") for query in dataset.queries])
    tried = np.array(
        [
            measure(base, replace(model, lift_weights=weights), dataset.queries).recall
            for weights in GRID
        ]
    )
    remove_packs(base)
    without = measure(base, model, dataset.queries).recall
    found = np.zeros_like(without)
    lines = []
    for company in sorted(set(companies.tolist())):
        own = companies == company
        best = int(np.argmax(tried[:, ~own].mean(axis=(1, 2))))
        found[own] = tried[best][own]
        weights = GRID[best]
        lines.append(
            f"| {company} | {own.sum()} | {weights.landmark}, {weights.glossary} "
            f"| {points(without[own])} | {points(found[own])} |"
        )
    total = f"| all | {len(found)} | | {points(without)} | {points(found)} |"
    spread = [points(values) for values in tried]
    return [
        f"\nWeights of landmark and glossary chosen on the other companies, {dataset.name}:\n",
        "| company | questions | weights | without | with |",
        "|---|---|---|---|---|",
        *lines,
        total,
        f"\nDifference of all: {change(found - without)}. All {len(GRID)} pairs of weights reach "
        f"from {min(spread)} to {max(spread)}.",
    ]


def run(
    datasets: Path, out: Path, names: Sequence[str], *, packs: Sequence[str], queries: int | None
) -> None:
    """Measure packs on some sets; print and write the tables."""
    out.mkdir(parents=True, exist_ok=True)
    lines = [
        "| recall % at 1,000/4,000 tokens | questions | documents in which packs are on | without "
        "| with | change | a search |",
        "|---|---|---|---|---|---|---|",
    ]
    chosen: list[str] = []
    for name in names:
        dataset = read_dataset(datasets / name, limit=queries)
        fields = read_fields(datasets / name)
        model = model_for(out, name)
        with build(dataset, out) as base:
            lines += compare(base, dataset, model=model, packs=packs, fields=fields)
            print("\n".join(lines), flush=True)
            if name in CHOSEN_SETS:
                chosen += cross_validate(base, dataset, model=model, fields=fields)
    report = "\n".join([*lines, *chosen]) + "\n"
    (out / "packs.md").write_text(report, encoding="utf-8")
    print(report)


def main() -> None:
    """Run the command line."""
    names = [named.pack.name for named in shipped_packs()]
    parser = command_line(__doc__, sets=[*TEXT_SETS, *DOCUMENT_SETS], queries=300)
    parser.add_argument("--packs", nargs="+", default=names, help="names or files")
    with given(parser, write=write_sample_filings, sets=[SAMPLE_FILINGS]) as arguments:
        run(
            arguments.datasets,
            arguments.out,
            arguments.sets,
            packs=arguments.packs,
            queries=arguments.queries,
        )


if __name__ == "__main__":
    main()
