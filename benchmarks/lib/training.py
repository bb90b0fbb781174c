"""Listwise training of the relevance model, and calibration of its table."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.datasets import Dataset, Query
from spanwise.core.ranking.features import FEATURES
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.tuning.examples import Example, collect_examples
from spanwise.evaluation.tuning.fit import Known, ListwiseLoss, example_shares, minimise
from spanwise.knowledge_base import KnowledgeBase

Floats = NDArray[np.float64]

_RIDGE = 1e-3
_SECTIONS_RIDGE = 0.1
"""Ridge penalty of section features.

Section structure differs between kinds of documents, so these weights transfer less and stay
nearer to 0. Tuning is not affected.
"""
_CONSTANT = 1e-5  # a feature that deviates less says nothing
_BIN_EDGES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.3, 0.45, 0.6, 1.01)


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
    """Return a model for collecting candidates; the candidates do not depend on its weights."""
    count = len(FEATURES)
    return RelevanceModel(
        features=tuple(FEATURES),
        means=np.zeros(count),
        deviations=np.ones(count),
        weights=np.zeros(count),
        table=np.array([[0.0, 1.0], [0.0, 1.0]]),
    )


def labelled(queries: Iterable[Query]) -> list[LabelledQuestion]:
    """Return the queries of a benchmark as labelled questions."""
    return [
        LabelledQuestion(
            id=query.id,
            text=query.text,
            scope=query.scope,
            evidence=tuple(
                Evidence(document_id=document, start=start, end=end)
                for document, ranges in query.evidence.items()
                for start, end in ranges
            ),
        )
        for query in queries
    ]


def examples(base: KnowledgeBase, queries: Iterable[Query]) -> list[Example]:
    """Return the training examples of questions with evidence among their candidates."""
    base.packs.remove(*(info.name for info in base.packs.list() if info.in_use))
    return collect_examples(base, labelled(queries), model=untrained_model())


def train(sets: Mapping[str, Sequence[Example]]) -> RelevanceModel:
    """Return the model with the minimum listwise loss; sets and questions have equal weight.

    The prior is a ridge penalty. The curvature of the loss per question is stored in the model as
    the prior for later tunings.
    """
    chosen = [example for found in sets.values() for example in found]
    weights = np.concatenate([np.full(len(f), 1 / len(f) / len(sets)) for f in sets.values()])
    raw = np.concatenate([example.features for example in chosen]).astype(np.float64)
    means, deviations = raw.mean(axis=0), raw.std(axis=0)
    deviations[deviations < _CONSTANT] = 1.0
    loss = ListwiseLoss(chosen, means=means, deviations=deviations, weights=weights)
    count = raw.shape[1]
    best = minimise(loss, known=Known(mean=np.zeros(count), precision=2 * np.diag(_ridge())))
    return replace(
        untrained_model(),
        means=means,
        deviations=deviations,
        weights=best,
        curvature=loss(best)[2],
    )


def _ridge() -> Floats:
    """Return the ridge penalty of each weight, (features,)."""
    return np.array(
        [_SECTIONS_RIDGE if name.startswith("section_") else _RIDGE for name in FEATURES]
    )


def relevance_table(
    models: Mapping[str, RelevanceModel], sets: Mapping[str, Sequence[Example]]
) -> Floats:
    """Return shares and the probability that a chunk with that share has evidence, (2, k).

    Each set is evaluated by a model trained without it; sets have equal weight. The probability
    never decreases with the share, and is constant above the last bin.
    """
    edges = np.array(_BIN_EDGES)
    count = len(edges) - 1
    share_sum, hits, mass = np.zeros(count), np.zeros(count), np.zeros(count)
    for name, found in sets.items():
        for example in found:
            shares = example_shares(example, models[name])
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


__all__ = ["Example", "build", "examples", "labelled", "relevance_table", "train"]
