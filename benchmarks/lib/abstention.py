"""Unanswerable questions for the abstention model, and its training.

Rules:
    There are two kinds of answerable questions: originals and reworded questions. Both kinds have
    equal weight.
    There are four kinds of unanswerable questions: questions of another set, questions asked of
    another document of their set, questions whose documents are removed, and questions labelled as
    unanswerable. Every second question of another set is asked of all documents. The first three
    kinds include reworded questions.
    A model is evaluated on a set only if it was trained without the set and its questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

from benchmarks.lib.datasets import NEVER_TRAINED, ORIGINAL, REWORDED, Dataset, Query
from spanwise.core.ranking.abstention import SIGNALS, LogisticModel, is_assessable
from spanwise.core.ranking.question import Question, read_question
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.search.assessment import query_signals
from spanwise.search.pipeline import Searcher
from spanwise.search.scoring import (
    QueryHits,
    Scope,
    ScoredChunks,
    score_chunks,
    select_search_terms,
)
from spanwise.stores.port import Snapshot

Floats = NDArray[np.float64]

ANSWERABLE = (ORIGINAL, REWORDED)
KINDS = ("another topic", "wrong document", "documents removed", "no answer")
_FOREIGN = 12
_TOO_NEAR = frozenset({"financebench_txt", "kgrag_sec10q"})
"""Sets with filings of the same companies: one may answer questions of the other."""
_L2 = 1e-3
_DEEP_SECONDS = 3_600.0
_CONSTANT = 1e-6  # a signal that deviates less is constant except for rounding
MISSING = {ORIGINAL: 0.01, REWORDED: 0.03}
"""Highest mean share of the answerable questions of a set that may be refused, by kind."""
WEAK = {ORIGINAL: 0.05, REWORDED: 0.15}
"""Highest mean share of the answerable questions of a set with a false warning, by kind."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """Question asked of a set, with its signals."""

    dataset: str
    kind: str
    origin: str
    """Set to which the question belongs."""
    query: Query
    is_judged: bool
    with_vectors: Floats
    keywords_alone: Floats
    deep: Floats
    """With the cosines of MiniLM for the best candidates; as `with_vectors` without MiniLM."""


Signals = Callable[[Asked], Floats]
"""Function that returns the signals of a question, with or without vectors."""


def ask_all(
    base: KnowledgeBase,
    dataset: Dataset,
    *,
    model: RelevanceModel,
    others: Mapping[str, Sequence[Query]],
    unanswerable: Sequence[Query],
) -> list[Asked]:
    """Return all questions asked of one set, with their signals."""
    searcher = searcher_of(base, model)
    return [
        _ask(searcher, dataset.name, kind, origin, query)
        for kind, origin, query in questions(dataset, others=others, unanswerable=unanswerable)
    ]


def questions(
    dataset: Dataset, *, others: Mapping[str, Sequence[Query]], unanswerable: Sequence[Query]
) -> Iterator[tuple[str, str, Query]]:
    """Yield each question asked of one set, after its kind and its set of origin."""
    yield from ((query.kind, dataset.name, query) for query in dataset.queries)
    yield from _foreign(dataset, others)
    yield from (("wrong document", dataset.name, query) for query in _elsewhere(dataset))
    yield from (("documents removed", dataset.name, query) for query in _removed(dataset))
    yield from (("no answer", dataset.name, query) for query in unanswerable)


def _foreign(
    dataset: Dataset, others: Mapping[str, Sequence[Query]]
) -> Iterator[tuple[str, str, Query]]:
    scopes = [query.scope for query in dataset.queries]
    number = 0
    for name, queries in others.items():
        if name == dataset.name or {name, dataset.name} == _TOO_NEAR:
            continue
        for query in every(queries, _FOREIGN):
            scope = scopes[number * 7 % len(scopes)] if number % 2 else None
            yield "another topic", name, replace(query, scope=scope)
            number += 1


def _elsewhere(dataset: Dataset) -> Iterator[Query]:
    """Return the questions, each asked of one document that does not answer it."""
    ids = [document.id for document in dataset.documents]
    for number, query in enumerate(dataset.queries):
        wrong = [name for name in ids if name not in query.evidence]
        if wrong:
            yield replace(query, scope=(wrong[number * 7 % len(wrong)],))


def _removed(dataset: Dataset) -> Iterator[Query]:
    """Return the questions, asked of all documents except those that answer them."""
    for query in dataset.queries:
        left = tuple(d.id for d in dataset.documents if d.id not in query.evidence)
        if query.scope is None and left:
            yield replace(query, scope=left)


def every(queries: Sequence[Query], count: int) -> Sequence[Query]:
    """Return at most a number of items, evenly spaced."""
    if len(queries) <= count:
        return queries
    return [queries[at * len(queries) // count] for at in range(count)]


def _ask(searcher: Searcher, dataset: str, kind: str, origin: str, query: Query) -> Asked:
    with searcher.store.snapshot() as snapshot:
        question = read_question(query.text, languages=snapshot.languages())
        question = replace(question, terms=select_search_terms(question, snapshot))
        signals = []
        for embedder in (searcher.embedder, None):
            found = score_chunks(
                question,
                snapshot=snapshot,
                embedder=embedder,
                model=searcher.model,
                scope=Scope(documents=query.scope),
            )
            signals.append(_signals(question, found, searcher))
            if embedder is not None:
                deep = _signals(question, _compared(question, found, searcher, snapshot), searcher)
    return Asked(
        dataset=dataset,
        kind=kind,
        origin=origin,
        query=query,
        is_judged=is_assessable(question),
        with_vectors=signals[0],
        keywords_alone=signals[1],
        deep=deep,
    )


def _signals(question: Question, found: ScoredChunks | None, searcher: Searcher) -> Floats:
    if found is None:
        return np.full(len(SIGNALS), np.nan)
    return query_signals(question, found, model=searcher.model)


def _compared(
    question: Question, found: ScoredChunks | None, searcher: Searcher, snapshot: Snapshot
) -> ScoredChunks | None:
    """Return the scored chunks after the comparison by MiniLM, if it is installed."""
    if searcher.deep is None:
        return found
    hits = [QueryHits(question=question, scored=found)]
    return searcher.deep.read(hits, snapshot=snapshot, seconds=_DEEP_SECONDS).hits[0].scored


def train(asked: Iterable[Asked], signals: Signals) -> LogisticModel:
    """Return the logistic model with the minimum loss, without thresholds.

    All sets have equal weight. In a set, answerable and unanswerable questions have equal weight,
    and so do the kinds of answerable and the kinds of unanswerable questions.
    """
    rows = [row for row in asked if row.is_judged and not np.isnan(signals(row)).any()]
    weights = _weights(rows)
    raw = np.array([signals(row) for row in rows])
    signs = np.array([1.0 if row.kind in ANSWERABLE else -1.0 for row in rows])
    means = np.average(raw, axis=0, weights=weights)
    deviations = np.sqrt(np.average((raw - means) ** 2, axis=0, weights=weights))
    used = deviations > _CONSTANT
    standard = np.column_stack([(raw - means)[:, used] / deviations[used], np.ones(len(raw))])

    def loss(parameters: Floats) -> tuple[float, Floats]:
        margins = signs * (standard @ parameters)
        slopes = np.append(parameters[:-1], 0.0)
        value = weights @ np.logaddexp(0, -margins) + _L2 * slopes @ slopes
        gradient = standard.T @ (-weights * signs / (1 + np.exp(margins)))
        return float(value), gradient + 2 * _L2 * slopes

    best = minimize(loss, np.zeros(standard.shape[1]), jac=True, method="L-BFGS-B").x
    found = np.zeros(len(means))
    found[used] = best[:-1] / deviations[used]
    return LogisticModel(weights=found, bias=float(best[-1] - found @ means), weak=0.0, missing=0.0)


def _weights(rows: Sequence[Asked]) -> Floats:
    sizes: dict[tuple[str, str], int] = {}
    for row in rows:
        sizes[row.dataset, row.kind] = sizes.get((row.dataset, row.kind), 0) + 1
    kinds: dict[tuple[str, bool], int] = {}
    for name, kind in sizes:
        side = name, kind in ANSWERABLE
        kinds[side] = kinds.get(side, 0) + 1
    sets = len({name for name, _ in sizes})
    return np.array(
        [
            0.5 / sets / sizes[row.dataset, row.kind] / kinds[row.dataset, row.kind in ANSWERABLE]
            for row in rows
        ]
    )


def scored(model: LogisticModel, asked: Asked, signals: Signals) -> float:
    """Return the evidence score of a model for a question; 0.5 if it must not be evaluated."""
    if not asked.is_judged:
        return 0.5
    found = signals(asked)
    return 0.0 if np.isnan(found).any() else model.assess(found).evidence


def held_out(asked: Sequence[Asked], signals: Signals) -> Floats:
    """Return the evidence score of each question by a model trained without its set, (n,)."""
    out = np.zeros(len(asked))
    for name in sorted({row.dataset for row in asked}):
        seen = {row.origin for row in asked} | {row.dataset for row in asked}
        model = train(allowed(asked, seen - {name}), signals)
        for at, row in enumerate(asked):
            if row.dataset == name:
                out[at] = scored(model, row, signals)
    return out


def allowed(asked: Iterable[Asked], names: Iterable[str]) -> list[Asked]:
    """Return whether the set and the set of the question are both among the training sets."""
    kept = set(names) - set(NEVER_TRAINED)
    return [row for row in asked if row.dataset in kept and row.origin in kept]


def thresholds(
    asked: Sequence[Asked], evidence: Floats, *, without: str = ""
) -> tuple[float, float]:
    """Return the thresholds of weak and of missing evidence for the scores of `held_out`.

    Each is the highest threshold with which the mean share of answerable questions below it, over
    the sets, is under `WEAK` or `MISSING`. Sets that are excluded from training are ignored.

    Args:
        asked: Questions.
        evidence: Evidence score of each question.
        without: Another set to ignore, because its figures are cross-validated; "" for none.
    """
    values: dict[str, dict[str, list[float]]] = {kind: {} for kind in ANSWERABLE}
    for row, value in zip(asked, evidence.tolist(), strict=True):
        if row.kind in ANSWERABLE and row.dataset not in (*NEVER_TRAINED, without):
            values[row.kind].setdefault(row.dataset, []).append(value)
    missing, weak = (
        min(_highest(list(values[kind].values()), limit) for kind, limit in limits.items())
        for limits in (MISSING, WEAK)
    )
    return max(weak, missing), missing


def _highest(sets: Sequence[Sequence[float]], limit: float) -> float:
    """Return the highest threshold whose mean share of smaller values is under a limit."""
    values = np.unique(np.concatenate([np.array(found) for found in sets])) if sets else np.ones(1)
    below = np.mean(
        [np.searchsorted(np.sort(found), values) / len(found) for found in sets], axis=0
    )
    return float(values[np.flatnonzero(np.atleast_1d(below) < limit)[-1]]) if sets else 1.0


def area_under_curve(answerable: Sequence[float], others: Sequence[float]) -> float:
    """Return the area under the ROC curve of answerable and unanswerable questions.

    It is NaN if there are no answerable or no unanswerable questions.
    """
    if not answerable or not others:
        return float("nan")
    ranks = rankdata([*answerable, *others])
    count = len(answerable)
    return float((ranks[:count].sum() - count * (count + 1) / 2) / count / len(others))
