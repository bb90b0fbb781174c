"""Choose the default settings: python -m benchmarks.defaults DATASETS [--out FOLDER].

Every charge and price of a grid, and the presets, are measured on all sets, next to BM25 and
the fusion baseline at equal tokens. Run `python -m benchmarks.train DATASETS` first: each set is
searched with weights trained on the other sets. A setting is allowed if it is at most one point
of recall behind BM25 on every set. The report names the allowed setting with the best mean, and
the loss of the shipped default against it. To measure the choice itself, each set is also searched
with the setting that the other sets choose. Questions that compare documents are left out, because
they have a separate charge. The report is printed as Markdown and written to the output folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import train
from benchmarks.lib.baselines import Fusion, PlainBm25, Range
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import TEXT_SETS, Dataset, Query, read_dataset
from benchmarks.lib.scoring import cut, recall
from benchmarks.lib.training import build
from benchmarks.quality import BUDGETS, chunk_ranges, model_without
from spanwise.core.ranking.question import read_question
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.options import SearchOptions, SegmentOptions
from spanwise.search.evidence import merge_evidence
from spanwise.search.extract import Extractor
from spanwise.search.pipeline import Searcher, question_segments
from spanwise.search.queries import search_queries
from spanwise.search.rendering import DocumentCache, SegmentRenderer, make_token_counter
from spanwise.search.scoring import Scope
from spanwise.stores.port import Snapshot

Floats = NDArray[np.float64]

CHARGES = (None, 0.005, 0.0175, 0.04)
PRICES = (0.0, 0.015, 0.05)
GRID = [
    SegmentOptions(segment_charge=charge, token_price=price)
    for charge, price in product(CHARGES, PRICES)
]
BEST_CHUNKS = SegmentOptions(segment_charge=0.0, token_price=0.0)
PRESETS = (SegmentOptions.BALANCED, SegmentOptions.COMPREHENSIVE)
"""Presets for several passages; `benchmarks.chroma` measures the preset "precise"."""
SETTINGS = [*dict.fromkeys([BEST_CHUNKS, *GRID, *PRESETS])]
"""All settings without duplicates: the grid and the presets."""
HAIR = 1.0
"""Maximum loss in recall against BM25 on a set, in points."""
BM25, FUSION = "BM25 of 800 characters, with titles", "the fusion baseline"
_SAMPLES = 2_000
_METER = "chars:4"


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Results of one setting or baseline on one set."""

    recall: Floats
    """Recall in points, (questions, budgets)."""
    segments: Floats
    """Number of segments, (questions, budgets)."""
    tokens: Floats
    """Number of tokens of text, (questions, budgets)."""

    @classmethod
    def of(cls, queries: Sequence[Query], found: Sequence[Sequence[Sequence[Range]]]) -> Reached:
        """Return the results of ranges found for each question at each budget."""
        taken = [
            [cut(ranges, budget) for ranges, budget in zip(row, BUDGETS, strict=True)]
            for row in found
        ]
        return cls(
            recall=np.array(
                [
                    [100 * recall(query, ranges) for ranges in row]
                    for query, row in zip(queries, taken, strict=True)
                ]
            ),
            segments=np.array([[float(len(ranges)) for ranges in row] for row in taken]),
            tokens=np.array(
                [[sum(end - start for _, start, end in r) / 4 for r in row] for row in taken]
            ),
        )


Measured = Mapping[SegmentOptions | str, Mapping[str, Reached]]


def segments_of(searcher: Searcher, query: Query, snapshot: Snapshot) -> list[list[Range]]:
    """Return the segments of one question for all settings and budgets, best first.

    The question is scored once, because only the selection depends on settings and budgets.
    """
    token_counter = make_token_counter(_METER, searcher.tokenizer)
    searched = search_queries(
        [read_question(query.text, languages=snapshot.languages())],
        snapshot=snapshot,
        embedder=searcher.embedder,
        model=searcher.model,
        scope=Scope(documents=query.scope),
    )
    evidence = merge_evidence(
        searched, snapshot=snapshot, model=searcher.model, token_counter=token_counter
    )
    if evidence is None:
        return [[] for _ in product(SETTINGS, BUDGETS)]
    renderer = SegmentRenderer(DocumentCache(snapshot), token_counter, headers=False)
    extractor = Extractor(
        evidence=evidence,
        model=searcher.model,
        options=SearchOptions(headers=False, tokenizer=_METER),
        renderer=renderer,
        is_one_document=len(set(query.scope or ())) == 1,
    )
    found = []
    for setting, budget in product(SETTINGS, BUDGETS):
        options = replace(
            extractor.options, budget_tokens=budget, segments=question_segments(setting, evidence)
        )
        segments, _ = replace(extractor, options=options).extract()
        by_rank = sorted(segments, key=lambda segment: segment.rank)
        found.append([(s.document_id, s.start, s.end) for s in by_rank])
    return found


def measure(
    base: KnowledgeBase, dataset: Dataset, out: Path
) -> dict[SegmentOptions | str, Reached]:
    """Return the results of every setting and both baselines on a set."""
    searcher = searcher_of(base, model_without(out, dataset.name))
    queries = [q for q in dataset.queries if not read_question(q.text).compares]
    with searcher.store.snapshot() as snapshot:
        found = [segments_of(searcher, query, snapshot) for query in queries]
    size = len(BUDGETS)
    plain = PlainBm25(dataset)
    fusion = Fusion(dataset, chunk_ranges(base, dataset), neighbours=True)
    return {
        BM25: Reached.of(queries, [[plain.search(query)] * size for query in queries]),
        FUSION: Reached.of(queries, [[fusion.search(query)] * size for query in queries]),
        **{
            setting: Reached.of(queries, [row[at * size : (at + 1) * size] for row in found])
            for at, setting in enumerate(SETTINGS)
        },
    }


def worst(measured: Measured, setting: SegmentOptions, names: Sequence[str]) -> tuple[float, str]:
    """Return the smallest lead over BM25 at any budget, in points, and its set."""
    leads = {
        name: float(
            (measured[setting][name].recall - measured[BM25][name].recall).mean(axis=0).min()
        )
        for name in names
    }
    name = min(leads, key=lambda one: leads[one])
    return leads[name], name


def mean(measured: Measured, way: SegmentOptions | str, names: Sequence[str]) -> Floats:
    """Return the mean recall of the sets at each budget, (budgets,)."""
    return np.asarray(np.mean([measured[way][name].recall.mean(axis=0) for name in names], axis=0))


def choose(measured: Measured, names: Sequence[str]) -> SegmentOptions:
    """Return the allowed setting with the best mean over sets and budgets.

    If no setting is allowed, the settings with the smallest loss against BM25 are candidates.
    """
    least = {setting: worst(measured, setting, names)[0] for setting in SETTINGS}
    floor = min(-HAIR, max(least.values()))
    allowed = [setting for setting in SETTINGS if least[setting] >= floor]
    return max(allowed, key=lambda setting: float(mean(measured, setting, names).mean()))


def difference(
    first: Mapping[str, Reached], second: Mapping[str, Reached], names: Sequence[str]
) -> str:
    """Return the mean over sets of paired differences at each budget, with 95 % intervals.

    Questions are resampled inside each set; the sets are fixed.
    """
    random = np.random.default_rng(0)
    pairs = [first[name].recall - second[name].recall for name in names]
    drawn = np.mean(
        [p[random.integers(0, len(p), (_SAMPLES, len(p)))].mean(axis=1) for p in pairs], axis=0
    )
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    middle = np.mean([p.mean(axis=0) for p in pairs], axis=0)
    return " / ".join(
        f"{m:+.2f} [{a:.2f}, {b:.2f}]" for m, a, b in zip(middle, low, high, strict=True)
    )


def label(way: SegmentOptions | str) -> str:
    """Return the name of a setting in the table."""
    if isinstance(way, str):
        return way
    names = {
        BEST_CHUNKS: " (best chunks)",
        SegmentOptions.BALANCED: " (balanced, the default)",
        SegmentOptions.COMPREHENSIVE: " (comprehensive)",
    }
    charge = "from the shares" if way.segment_charge is None else f"{way.segment_charge:g}"
    numbers = f"charge {charge}, price {way.token_price:g}"
    return numbers + names.get(way, "")


def render(measured: Measured, names: Sequence[str]) -> str:
    """Return the table of all settings, the choice for each set, and the decision."""
    default = SegmentOptions.BALANCED
    lines = [
        "| | recall % at 1,000/4,000 | least lead over BM25 | segments | tokens at 4,000 "
        "| less the default, at 1,000 / 4,000 |",
        "|---|---|---|---|---|---|",
    ]
    for way in measured:
        found = [measured[way][name] for name in names]
        low, high = mean(measured, way, names)
        lead, where = (0.0, "") if isinstance(way, str) else worst(measured, way, names)
        few, many = np.mean([reached.segments.mean(axis=0) for reached in found], axis=0)
        tokens = np.mean([reached.tokens.mean(axis=0)[-1] for reached in found])
        lines.append(
            f"| {label(way)} | {low:.1f}/{high:.1f} | {lead:+.1f} {where} | {few:.1f}/{many:.1f} "
            f"| {tokens:,.0f} | {difference(measured[way], measured[default], names)} |"
        )
    return "\n".join([*lines, "", *decision(measured, names)]) + "\n"


def decision(measured: Measured, names: Sequence[str]) -> list[str]:
    """Return the choice of all sets together, and the choice of the other sets for each set."""
    default, best = SegmentOptions.BALANCED, choose(measured, names)
    chosen = {
        name: choose(measured, [other for other in names if other != name] or names)
        for name in names
    }
    by_others = {name: measured[setting][name] for name, setting in chosen.items()}
    (lead, where), (own, own_where) = (worst(measured, one, names) for one in (default, best))
    how = f"Best on the mean of those at most {HAIR:g} point behind BM25 anywhere"
    if own < -HAIR:
        how = f"Each setting is more than {HAIR:g} point behind BM25 somewhere; best of the least"
    return [
        "| set | chosen by the other sets | recall % with it | with the default |",
        "|---|---|---|---|",
        *(
            f"| {name} | {label(chosen[name])} | {_points(by_others[name])} "
            f"| {_points(measured[default][name])} |"
            for name in names
        ),
        "",
        f"{how}: {label(best)}, least lead {own:+.1f} points on {own_where}. The default less it: "
        f"{difference(measured[default], measured[best], names)}; its least lead is {lead:+.1f} "
        f"points on {where}. Settings chosen by the other sets, less the default: "
        f"{difference(by_others, measured[default], names)}.",
    ]


def _points(reached: Reached) -> str:
    low, high = reached.recall.mean(axis=0)
    return f"{low:.1f}/{high:.1f}"


def run(datasets: Path, out: Path, names: Sequence[str], queries: int | None) -> str:
    """Measure all settings on some sets; write and return the report."""
    measured: dict[SegmentOptions | str, dict[str, Reached]] = {}
    for name in names:
        dataset = read_dataset(datasets / name, limit=queries)
        with build(dataset, out) as base:
            for way, reached in measure(base, dataset, out).items():
                measured.setdefault(way, {})[name] = reached
        print(f"{name}: {_points(measured[SegmentOptions.BALANCED][name])}", flush=True)
    report = render(measured, names)
    (out / "defaults.md").write_text(report, encoding="utf-8")
    return report


def main() -> None:
    """Run the command line."""
    with given(command_line(__doc__, sets=TEXT_SETS, queries=100)) as arguments:
        if arguments.smoke:
            train.run(arguments.datasets, arguments.out, arguments.sets, None)
        print(run(arguments.datasets, arguments.out, arguments.sets, arguments.queries))


if __name__ == "__main__":
    main()
