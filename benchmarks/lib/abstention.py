"""Unanswerable questions for the abstention model, and its training.

Rules:
    There are four kinds of unanswerable questions: questions of another set, questions asked of
    another document of their set, questions whose documents are removed, and questions labelled as
    unanswerable. Every second question of another set is asked of all documents.
    A model is evaluated on a set only if it was trained without the set and its questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

from benchmarks.lib.datasets import NEVER_TRAINED, Dataset, Query
from spanwise.core.ranking.abstention import SIGNALS, LogisticModel, is_assessable
from spanwise.core.ranking.question import read_question
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.knowledge_base import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of
from spanwise.search.pipeline import Searcher, query_signals
from spanwise.search.scoring import Scope, score_chunks, select_search_terms

Floats = NDArray[np.float64]

ANSWERABLE = "answerable"
KINDS = ("another topic", "wrong document", "documents removed", "no answer")
_FOREIGN = 12
_TOO_NEAR = frozenset({"financebench_txt", "kgrag_sec10q"})
"""Sets with filings of the same companies: one may answer questions of the other."""
_L2 = 1e-3
_MAX_FALSE_MISSING, _MEAN_FALSE_WEAK = 0.0125, 0.05


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


def ask_all(
    base: KnowledgeBase,
    dataset: Dataset,
    *,
    model: RelevanceModel,
    others: Mapping[str, Sequence[Query]],
    unanswerable: Sequence[Query],
) -> list[Asked]:
    """Return all questions asked of one set: answerable and unanswerable ones."""
    searcher = searcher_of(base, model)
    asked: list[Asked] = []
    questions = chain(
        ((ANSWERABLE, dataset.name, query) for query in dataset.queries),
        _foreign(dataset, others),
        (("wrong document", dataset.name, query) for query in _elsewhere(dataset)),
        (("documents removed", dataset.name, query) for query in _removed(dataset)),
        (("no answer", dataset.name, query) for query in unanswerable),
    )
    for kind, origin, query in questions:
        asked.append(_ask(searcher, dataset.name, kind, origin, query))
    return asked


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
            signals.append(
                np.full(len(SIGNALS), np.nan)
                if found is None
                else query_signals(question, found, model=searcher.model)
            )
    return Asked(
        dataset=dataset,
        kind=kind,
        origin=origin,
        query=query,
        is_judged=is_assessable(question),
        with_vectors=signals[0],
        keywords_alone=signals[1],
    )


def train(asked: Iterable[Asked], signals: Callable[[Asked], Floats]) -> LogisticModel:
    """Return the logistic model with the minimum loss, without thresholds.

    All sets have equal weight. In a set, answerable and unanswerable questions have equal weight,
    and so have all kinds of unanswerable questions.
    """
    rows = [row for row in asked if row.is_judged and not np.isnan(signals(row)).any()]
    weights = _weights(rows)
    raw = np.array([signals(row) for row in rows])
    signs = np.array([1.0 if row.kind == ANSWERABLE else -1.0 for row in rows])
    means = np.average(raw, axis=0, weights=weights)
    deviations = np.sqrt(np.average((raw - means) ** 2, axis=0, weights=weights))
    used = deviations > 0
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
    sets = {name for name, _ in sizes}
    kinds = {name: sum(name == of and kind != ANSWERABLE for of, kind in sizes) for name in sets}
    return np.array(
        [
            0.5
            / len(sets)
            / sizes[row.dataset, row.kind]
            / (1 if row.kind == ANSWERABLE else kinds[row.dataset])
            for row in rows
        ]
    )


def scored(model: LogisticModel, asked: Asked, signals: Callable[[Asked], Floats]) -> float:
    """Return the evidence score of a model for a question; 0.5 if it must not be evaluated."""
    if not asked.is_judged:
        return 0.5
    found = signals(asked)
    return 0.0 if np.isnan(found).any() else model.assess(found).evidence


def held_out(asked: Sequence[Asked], signals: Callable[[Asked], Floats]) -> Floats:
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


def thresholds(asked: Sequence[Asked], evidence: Floats) -> tuple[float, float]:
    """Return the loose and the strict threshold for the scores of `held_out`.

    The strict threshold refuses 1.25 % of the answerable questions of the worst set. The loose one
    warns about 5 % of them on average. Sets that are excluded from training are ignored.
    """
    answerable: dict[str, list[float]] = {}
    for row, value in zip(asked, evidence.tolist(), strict=True):
        if row.kind == ANSWERABLE and row.dataset not in NEVER_TRAINED:
            answerable.setdefault(row.dataset, []).append(value)
    missing = min(
        sorted(values)[int(_MAX_FALSE_MISSING * len(values))] for values in answerable.values()
    )
    steps = sorted(chain.from_iterable(answerable.values()))
    weak = max(
        (
            step
            for step in steps
            if np.mean([np.mean(np.array(v) < step) for v in answerable.values()])
            <= _MEAN_FALSE_WEAK
        ),
        default=missing,
    )
    return max(weak, missing), missing


def area_under_curve(answerable: Sequence[float], others: Sequence[float]) -> float:
    """Return the area under the ROC curve of answerable and unanswerable questions."""
    ranks = rankdata([*answerable, *others])
    count = len(answerable)
    return float((ranks[:count].sum() - count * (count + 1) / 2) / count / len(others))
