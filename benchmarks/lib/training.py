"""Train the relevance model listwise, and fit the relevance that a share stands for."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.lib.datasets import Dataset, Query
from spanwise.core.features import FEATURES
from spanwise.core.question import read_question
from spanwise.core.relevance import RelevanceModel
from spanwise.knowledge_base import KnowledgeBase
from spanwise.query.weigh import Scope, search_terms, spread_shares, weigh

Floats = NDArray[np.float64]

_L2 = 1e-3
_CLIP = 5.0
_CONSTANT = 1e-5  # a feature that deviates less says nothing
_BIN_EDGES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.3, 0.45, 0.6, 1.01)


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """Candidates of one question: their features, and the evidence characters of each."""

    features: NDArray[np.float32]
    evidence: NDArray[np.float32]
    documents: NDArray[np.int64]
    compares: bool


def build(dataset: Dataset, folder: Path) -> KnowledgeBase:
    """Return a new knowledge base with the documents of a dataset."""
    path = folder / f"{dataset.name}.kb"
    shutil.rmtree(path, ignore_errors=True)
    base = KnowledgeBase(path)
    for document in dataset.documents:
        base.add_text(document.text(), document_id=document.id, title=document.title)
    base.optimise()
    return base


def untrained_model() -> RelevanceModel:
    """Return a model to collect candidates with; which they are does not depend on it."""
    count = len(FEATURES)
    return RelevanceModel(
        features=tuple(FEATURES),
        means=np.zeros(count),
        deviations=np.ones(count),
        weights=np.zeros(count),
        table=np.array([[0.0, 1.0], [0.0, 1.0]]),
    )


def examples(base: KnowledgeBase, queries: Iterable[Query]) -> list[Example]:
    """Return the candidates of each question that has some evidence among them, without packs."""
    base.packs.remove(*(info.name for info in base.packs.list() if info.in_use))
    searcher = base.searcher(untrained_model())
    starts: dict[str, list[tuple[int, int]]] = {}
    found: list[Example] = []
    for query in queries:
        with searcher.store.snapshot() as snapshot:
            question = read_question(query.text)
            question = replace(question, terms=search_terms(question, snapshot))
            weighed = weigh(
                question,
                snapshot=snapshot,
                embedder=searcher.embedder,
                model=searcher.model,
                scope=Scope(documents=query.scope),
            )
            if weighed is None:
                continue
            ids = [snapshot.record(span.handle).id for span in weighed.ranges]
        for document_id in set(ids) - starts.keys():
            starts[document_id] = [(c.start, c.end) for c in base.chunks(document_id)]
        of_range = np.repeat(np.arange(len(ids)), weighed.rows.lengths)
        evidence = [
            _overlap(starts[ids[of_range[row]]][weighed.rows.chunks[row]],
                     query.evidence.get(ids[of_range[row]], []))
            for row in weighed.candidates.tolist()
        ]  # fmt: skip
        if any(evidence):
            found.append(
                Example(
                    weighed.features.astype(np.float32),
                    np.array(evidence, dtype=np.float32),
                    weighed.rows.documents[weighed.candidates],
                    question.compares,
                )
            )
    return found


def _overlap(chunk: tuple[int, int], ranges: Sequence[tuple[int, int]]) -> int:
    return sum(max(0, min(chunk[1], end) - max(chunk[0], start)) for start, end in ranges)


def train(sets: Mapping[str, Sequence[Example]]) -> RelevanceModel:
    """Return the model with the least listwise loss; each set and each question weigh the same.

    The target is the share of the evidence characters of each candidate, the loss the cross
    entropy of their softmax (Cao et al., Learning to rank: from pairwise to listwise, 2007).
    """
    chosen = [example for found in sets.values() for example in found]
    weight = np.concatenate([np.full(len(f), 1 / len(f) / len(sets)) for f in sets.values()])
    raw = np.concatenate([example.features for example in chosen]).astype(np.float64)
    target = np.concatenate([e.evidence / e.evidence.sum() for e in chosen]).astype(np.float64)
    ends = np.cumsum([len(example.features) for example in chosen])
    starts = np.concatenate(([0], ends[:-1]))
    of = np.repeat(np.arange(len(chosen)), np.diff(np.concatenate((starts, ends[-1:]))))
    means, deviations = raw.mean(axis=0), raw.std(axis=0)
    deviations[deviations < _CONSTANT] = 1.0
    standard = np.clip((raw - means) / deviations, -_CLIP, _CLIP)
    wanted = standard.T @ (target * weight[of])

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = standard @ weights
        top = np.maximum.reduceat(scores, starts)
        exponential = np.exp(scores - top[of])
        total = np.add.reduceat(exponential, starts)
        value = weight @ (np.log(total) + top) - wanted @ weights + _L2 * weights @ weights
        gradient = standard.T @ (exponential / total[of] * weight[of]) - wanted
        return float(value), gradient + 2 * _L2 * weights

    best = minimize(loss, np.zeros(raw.shape[1]), jac=True, method="L-BFGS-B")
    return RelevanceModel(
        features=tuple(FEATURES),
        means=means,
        deviations=deviations,
        weights=best.x,
        table=np.array([[0.0, 1.0], [0.0, 1.0]]),
    )


def relevance_table(
    models: Mapping[str, RelevanceModel], sets: Mapping[str, Sequence[Example]]
) -> Floats:
    """Return shares and the chance that a chunk with that share holds evidence, (2, k).

    Each set is judged by a model that was not trained on it, and weighs the same. The chance
    never falls as the share grows, and levels off above the last bin.
    """
    edges = np.array(_BIN_EDGES)
    count = len(edges) - 1
    share_sum, hits, mass = np.zeros(count), np.zeros(count), np.zeros(count)
    for name, found in sets.items():
        for example in found:
            scores = models[name].scores(example.features.astype(np.float64))
            shares = spread_shares(scores, example.documents, compares=example.compares)
            bins = np.clip(np.searchsorted(edges, shares, side="right") - 1, 0, count - 1)
            weight = 1 / len(found)
            share_sum += weight * np.bincount(bins, shares, count)
            hits += weight * np.bincount(bins, example.evidence > 0, count)
            mass += weight * np.bincount(bins, minlength=count)
    filled = mass > 0
    chance = np.maximum.accumulate(hits[filled] / mass[filled])
    return np.array(
        [
            np.concatenate(([0.0], share_sum[filled] / mass[filled], [1.0])),
            np.concatenate(([0.0], chance, chance[-1:])),
        ]
    )


def with_table(model: RelevanceModel, table: Floats) -> RelevanceModel:
    """Return a model with another table."""
    return RelevanceModel(
        features=model.features,
        means=model.means,
        deviations=model.deviations,
        weights=model.weights,
        table=table,
    )


__all__ = [
    "Example",
    "build",
    "examples",
    "relevance_table",
    "train",
    "untrained_model",
    "with_table",
]
