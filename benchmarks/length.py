"""Measure how long results are, and how much evidence they have: python -m benchmarks.length DATA.

    python -m benchmarks.length DATASETS --out FOLDER --keep --save new.json --against old.json
    python -m benchmarks.length DATASETS --rankings first minilm 0.97 --prices 0.005 0.03

Every question is searched once for each ranking; the segments are selected from this evidence for
each setting. The settings are the presets and a list of prices with a budget of 4,000 tokens, and
the filled budgets (price 0) as the baseline. A ranking is "first" (no model), "minilm" (the
comparison of the best candidates by MiniLM), or the quality of a simulated reranker as its area
under the ROC curve (AUC).

The tables show the recall in per cent and the mean number of returned tokens (four characters a
token, without headers) for originals, reworded questions and facts, and the differences of each
setting to the filled budget of 4,000 tokens, with paired 95 % intervals. Another table has the
questions about one long report with a budget of 60,000 tokens (`--report`): the recall and the
tokens of each. `--against` compares with an earlier run.

Run `python -m benchmarks.train DATASETS` first to search each set with weights trained on the other
sets; otherwise, and with `--shipped`, the shipped weights are used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import train
from benchmarks.lib.baselines import Range
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import (
    FACTS,
    REWORDED_SETS,
    Dataset,
    Query,
    read_dataset,
    read_queries,
)
from benchmarks.lib.question_rows import Row, grouped, mean, of_kinds, read_rows, write_rows
from benchmarks.lib.sample import SAMPLE_FACTS, SAMPLE_SETS
from benchmarks.lib.scoring import CHARS_A_TOKEN, cut, mean_difference, recall, states_fact
from benchmarks.lib.simulated_rerankers import SimulatedReranker
from benchmarks.lib.training import build, use_packs
from benchmarks.quality import model_for
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.core.ranking.reranking import calibrated_lift
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of, store_of
from spanwise.models.embed_caller import make_embed_caller
from spanwise.models.providers import catalog, minilm
from spanwise.options import ModelOptions, SearchOptions, SegmentOptions
from spanwise.search.deep import DeepReader
from spanwise.search.evidence import merge_evidence
from spanwise.search.extract import Extractor
from spanwise.search.pipeline import question_segments
from spanwise.search.queries import search_queries
from spanwise.search.question_limits import read_questions
from spanwise.search.rendering import DocumentCache, SegmentRenderer, make_token_counter
from spanwise.search.rerank import top_candidates
from spanwise.search.scoring import QueryHits, Scope, add_lift
from spanwise.search.section_shares import add_named_section
from spanwise.search.shipped_model import shipped_model
from spanwise.search.trim import Trimmer
from spanwise.stores.port import Snapshot

SETS = (*REWORDED_SETS, FACTS)
"""Sets with reworded questions, and the set of one-line facts."""
REPORT = "seed_examples"
"""Set with one long report and questions about it."""
_OWN_QUESTIONS = Path(__file__).with_suffix(".jsonl")
FIRST, MINILM = "first", "minilm"
PRICES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
_BUDGETS = (500, 1_000, 1_500, 2_000, 3_000, 4_000)
_LARGE_BUDGET = 60_000
_RERANKED = 100
_METER = "chars:4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Options and budget of a selection of segments."""

    name: str
    """Name in the tables."""
    options: SegmentOptions
    """Options of the selection."""
    budget: int = _BUDGETS[-1]
    """Budget in tokens."""


def settings(prices: Sequence[float]) -> tuple[Setting, ...]:
    """Return the filled budgets, the presets and the prices."""
    fills, balanced = SegmentOptions.COMPREHENSIVE, SegmentOptions.BALANCED
    return (
        *(Setting(name=_filled(one), options=fills, budget=one) for one in _BUDGETS),
        *(
            Setting(name=f"price {one:g}", options=replace(balanced, token_price=one))
            for one in prices
        ),
        *presets(_BUDGETS[-1]),
        *(
            Setting(name=f"balanced, budget {one:,}", options=balanced, budget=one)
            for one in (500, 1_000, 1_500)
        ),
    )


def presets(budget: int) -> tuple[Setting, ...]:
    """Return the presets at a budget."""
    return tuple(
        Setting(name=name, options=SegmentOptions.preset(name), budget=budget)
        for name in ("precise", "balanced", "comprehensive")
    )


def _filled(budget: int) -> str:
    return f"budget {budget:,}, filled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Measures rankings on the questions of one set."""

    dataset: Dataset
    """The set."""
    base: KnowledgeBase
    """Knowledge base with its documents."""
    model: RelevanceModel
    """Relevance model."""
    texts: dict[str, str]
    """Texts of the documents that state facts."""
    chunks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Places of the chunks of documents, read on first use."""

    def rows(self, rankings: Sequence[str], chosen: Sequence[Setting]) -> Iterator[Row]:
        """Yield the results of some settings for each ranking."""
        use_packs(self.base)
        load = partial(minilm.make_embedder, catalog.MINILM, ModelOptions())
        reader = DeepReader(load=load, cache=store_of(self.base))
        with searcher_of(self.base).store.snapshot() as snapshot:
            for query in self.dataset.queries:
                hits = self._hits(query, snapshot)
                for ranking in rankings:
                    ranked = self._ranked(query, hits, ranking, reader, snapshot)
                    yield from self._results(query, ranked, ranking, chosen, snapshot)

    def _hits(self, query: Query, snapshot: Snapshot) -> tuple[QueryHits, ...]:
        searcher = searcher_of(self.base, self.model)
        return search_queries(
            read_questions([query.text], snapshot),
            snapshot=snapshot,
            embedder=make_embed_caller(searcher.embedder, "query", cache=searcher.store),
            model=self.model,
            scope=Scope(documents=query.scope),
        )

    def _ranked(
        self,
        query: Query,
        hits: tuple[QueryHits, ...],
        ranking: str,
        reader: DeepReader,
        snapshot: Snapshot,
    ) -> tuple[QueryHits, ...]:
        if ranking == FIRST:
            return hits
        if ranking == MINILM:
            return reader.read(hits, snapshot=snapshot, seconds=math.inf).hits
        return tuple(self._reranked(query, one, float(ranking), snapshot) for one in hits)

    def _reranked(self, query: Query, hits: QueryHits, auc: float, snapshot: Snapshot) -> QueryHits:
        """Return hits with the scores of a simulated reranker."""
        scored = hits.scored
        if scored is None:
            return hits
        best = top_candidates(scored.scores, _RERANKED)
        rows = scored.candidates[best]
        handles = scored.scan.handles[scored.rows.documents[rows]].tolist()
        places = zip(handles, scored.rows.chunks[rows].tolist(), strict=True)
        held = [self._has_evidence(query, *place, snapshot) for place in places]
        reranker = SimulatedReranker(name=f"AUC {auc:g}", auc=auc, slope=2.0, offset=-5.0)
        lift = calibrated_lift(
            reranker.simulated(
                np.array(held), rows=rows, count=len(scored.rows.chunks), seed=f"{query.text}0"
            ),
            at=best,
            candidates=scored.candidates,
            rows=scored.rows,
        )
        compares = hits.question.compares
        return hits._replace(scored=add_lift(scored, lift, name=reranker.name, compares=compares))

    def _has_evidence(self, query: Query, handle: int, chunk: int, snapshot: Snapshot) -> bool:
        name = snapshot.record(handle).id
        if name not in self.chunks:
            self.chunks[name] = [(one.start, one.end) for one in self.base.chunks(name)]
        start, end = self.chunks[name][chunk]
        return any(first < end and start < last for first, last in query.evidence.get(name, []))

    def _results(
        self,
        query: Query,
        hits: tuple[QueryHits, ...],
        ranking: str,
        chosen: Sequence[Setting],
        snapshot: Snapshot,
    ) -> Iterator[Row]:
        counter = make_token_counter(_METER, searcher_of(self.base).tokenizer)
        evidence = merge_evidence(hits, snapshot=snapshot, model=self.model, token_counter=counter)
        if evidence is not None:
            evidence = add_named_section(evidence, snapshot)
        score = partial(states_fact, texts=self.texts) if query.asks_fact else recall
        extractor = (
            None
            if evidence is None
            else Extractor(
                evidence=evidence,
                model=self.model,
                options=SearchOptions(headers=False, tokenizer=_METER),
                renderer=SegmentRenderer(DocumentCache(snapshot), counter, headers=False),
                is_one_document=len(set(query.scope or ())) == 1,
            )
        )
        for setting in chosen:
            started = time.perf_counter()
            found = [] if extractor is None else cut(_segments(extractor, setting), setting.budget)
            yield Row(
                method=f"{_RANKINGS.get(ranking, f'reranker, AUC {ranking}')}: {setting.name}",
                set=self.dataset.name,
                kind=query.kind,
                id=query.id,
                scores=(score(query, found),),
                tokens=(sum(end - start for _, start, end in found) / CHARS_A_TOKEN,),
                seconds=time.perf_counter() - started,
            )


_RANKINGS = {FIRST: "no model", MINILM: "MiniLM"}


def _segments(extractor: Extractor, setting: Setting) -> list[Range]:
    """Return the segments of a question, best first."""
    options = question_segments(setting.options, extractor.evidence)
    evidence = extractor.evidence
    trimmer = Trimmer.of(evidence, options) if evidence.named is None else None
    segments, _ = replace(
        extractor,
        options=replace(extractor.options, budget_tokens=setting.budget, segments=options),
        renderer=replace(extractor.renderer, trimmer=trimmer),
    ).extract()
    by_rank = sorted(segments, key=lambda segment: segment.rank)
    return [(one.document_id, one.start, one.end) for one in by_rank]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Arguments of a measurement."""

    out: Path
    """Folder of the trained weights and of the knowledge bases."""
    rankings: Sequence[str]
    """Rankings to measure."""
    limit: int | None = None
    """Maximum number of original questions per set; None for all."""
    keep: bool = True
    """Whether to reuse the knowledge bases of an earlier run."""
    shipped: bool = False
    """Whether the shipped weights are used."""

    def measure(self, folder: Path, chosen: Sequence[Setting]) -> list[Row]:
        """Return the results of some settings on one set."""
        dataset = read_dataset(folder, limit=self.limit, reworded=True)
        if dataset.name == REPORT:
            own = tuple(read_queries(_OWN_QUESTIONS))
            dataset = replace(dataset, queries=(*dataset.queries, *own))
        used = {name for query in dataset.queries if query.asks_fact for name in query.evidence}
        with build(dataset, self.out, keep=self.keep) as base:
            measured = Measured(
                dataset=dataset,
                base=base,
                model=shipped_model() if self.shipped else model_for(self.out, dataset.name),
                texts={one.id: one.text() for one in dataset.documents if one.id in used},
            )
            return list(measured.rows(self.rankings, chosen))


def render(rows: Sequence[Row], others: Sequence[Row] | None = None) -> list[str]:
    """Return a table of recall and tokens, with differences to the filled budget.

    Args:
        rows: Results.
        others: Results of an earlier run. With it, the differences are those to the same setting of
            the earlier run.
    """
    lines = ["| setting | questions | recall % at tokens | difference: recall, tokens |"]
    lines.append("|---|---|---|---|")
    known = {(row.method, row.set, row.kind, row.id): row for row in others or rows}
    for method, part in grouped(rows, "method").items():
        base = method if others else f"{method.partition(':')[0]}: {_filled(_BUDGETS[-1])}"
        for kind, group in of_kinds(part).items():
            if "," in kind:
                continue
            before = [known.get((base, row.set, row.kind, row.id)) for row in group]
            pairs = [(now, old) for now, old in zip(group, before, strict=True) if old]
            cell = f"{mean(group)} at {mean(group, 'tokens', scale=1)}"
            lines.append(f"| {method} | {kind} | {cell} | {_difference(pairs)} |")
    return lines


def _difference(pairs: Sequence[tuple[Row, Row]]) -> str:
    by_set: dict[str, list[NDArray[np.float64]]] = {}
    for now, old in pairs:
        change = np.subtract(
            (now.scores[0] * 100, now.tokens[0]), (old.scores[0] * 100, old.tokens[0])
        )
        by_set.setdefault(now.set, []).append(change)
    return mean_difference([np.array(part) for part in by_set.values()]) if by_set else ""


def render_report(rows: Sequence[Row]) -> list[str]:
    """Return a table with the recall and the tokens of each question."""
    methods = grouped(rows, "method")
    lines = [
        f"| budget {_LARGE_BUDGET:,} | {' | '.join(methods)} |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for name, part in grouped(rows, "id").items():
        cells = [f"{row.scores[0] * 100:.0f} at {row.tokens[0]:,.0f}" for row in part]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = [f"{mean(part)} at {mean(part, 'tokens', scale=1)}" for part in methods.values()]
    return [*lines, f"| mean | {' | '.join(means)} |"]


def smoke(folder: Path) -> None:
    """Run on samples, with weights trained on them, and compare the run with itself."""
    out, saved = folder / "out", folder / "rows.json"
    train.run(folder, out, SAMPLE_SETS, None)
    measured, chosen = Run(out=out, rankings=[FIRST, "0.97"]), settings([0.01])
    names = (*SAMPLE_SETS, SAMPLE_FACTS)
    rows = [row for name in names for row in measured.measure(folder / name, chosen)]
    write_rows(saved, rows)
    print("\n".join([*render(rows), *render(rows, read_rows(saved)), *render_report(rows[:6])]))


def main() -> None:
    """Run the command line."""
    parser = command_line(__doc__, sets=SETS, queries=60)
    parser.add_argument("--rankings", nargs="+", default=[FIRST], help="first, minilm, or an AUC")
    parser.add_argument("--prices", nargs="*", type=float, default=list(PRICES))
    parser.add_argument("--report", action="store_true", help=f"measure the set {REPORT} too")
    parser.add_argument("--shipped", action="store_true", help="use the shipped weights")
    parser.add_argument("--keep", action="store_true", help="reuse and keep the knowledge bases")
    parser.add_argument("--save", type=Path, help="file for the results by question")
    parser.add_argument("--against", type=Path, help="file of an earlier run to compare with")
    with given(parser) as arguments:
        if arguments.smoke:
            smoke(arguments.datasets)
            return
        run = Run(
            out=arguments.out,
            rankings=arguments.rankings,
            limit=arguments.queries,
            keep=arguments.keep,
            shipped=arguments.shipped,
        )
        rows: list[Row] = []
        for name in arguments.sets:
            rows += run.measure(arguments.datasets / name, settings(arguments.prices))
            print(f"{name}: {len(rows)} results", flush=True)
        lines = render(rows)
        if arguments.against is not None:
            lines += ["", f"Difference to {arguments.against.name}:", ""]
            lines += render(rows, read_rows(arguments.against))
        if arguments.report:
            lines += [
                "",
                *render_report(run.measure(arguments.datasets / REPORT, presets(_LARGE_BUDGET))),
            ]
        if arguments.save is not None:
            write_rows(arguments.save, rows)
        (arguments.out / "length.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print("\n".join(lines))


if __name__ == "__main__":
    main()
