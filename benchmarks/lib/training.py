"""Listwise training of the relevance model, and calibration of its table."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.datasets import Dataset, Query
from spanwise.core.ranking.features import FEATURES
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.tuning.examples import Example, collect_examples
from spanwise.evaluation.tuning.fit import Known, ListwiseLoss, example_shares, minimise
from spanwise.knowledge_base import KnowledgeBase
from spanwise.models.providers.wordllama import WordLlama

Floats = NDArray[np.float64]

_KIND = "kind"
_RIDGE = 1e-3
RIDGES = {"section_best": 0.1, "section_coverage": 0.1}
"""Ridge penalty of features that differ from the default.

Section structure differs between kinds of documents, so these weights transfer less and stay
nearer to 0. Tuning is not affected.
"""
_CONSTANT = 1e-5  # a feature that deviates less says nothing
_BIN_EDGES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.3, 0.45, 0.6, 1.01)


def embedder_label(embedder: str) -> str:
    """Return the part of file names that identifies an embedder; "" for the default embedder."""
    default = embedder in ("auto", WordLlama.name.partition(":")[0])
    return "" if default else "-" + re.sub(r"[^a-zA-Z0-9.]+", "-", embedder)


def weights_path(out: Path, *, embedder: str = "auto", without: str = "") -> Path:
    """Return the file of the weights for an embedder, trained on all sets or without one."""
    ending = f"-without-{without}" if without else ""
    return out / f"relevance{embedder_label(embedder)}{ending}.json"


def read_weights(path: Path) -> RelevanceModel:
    """Return the model in a file of `write_weights`."""
    text = path.read_text("utf-8")
    model = RelevanceModel.from_json(text, features=tuple(FEATURES))
    return replace(model, keyword_share=json.loads(text).get("keyword_share", model.keyword_share))


def write_weights(path: Path, model: RelevanceModel) -> None:
    """Write a model with its embedder, keyword share and curvature."""
    curvature = np.zeros((0, 0)) if model.curvature is None else model.curvature
    data = {
        "embedder": model.embedder,
        "keyword_share": model.keyword_share,
        "features": list(model.features),
        "means": [round(float(x), 6) for x in model.means],
        "deviations": [round(float(x), 6) for x in model.deviations],
        "weights": [round(float(x), 5) for x in model.weights],
        "table": [[round(float(s), 6), round(float(r), 5)] for s, r in model.table.T],
        "curvature": [[round(float(x), 6) for x in row] for row in curvature],
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def build(
    dataset: Dataset, folder: Path, *, embedder: str = "auto", keep: bool = False
) -> KnowledgeBase:
    """Return a knowledge base with the documents of a dataset.

    Args:
        dataset: Documents to add.
        folder: Folder of the knowledge base.
        embedder: Name of the embedder.
        keep: Whether to reuse the knowledge base of an earlier run instead of building a new one.
    """
    path = folder / f"{dataset.source or dataset.name}{embedder_label(embedder)}.kb"
    if keep:  # a knowledge base with fewer documents has another folder
        path = path.with_name(f"{path.stem}-{len(dataset.documents)}.kb")
    else:
        shutil.rmtree(path, ignore_errors=True)
    base = KnowledgeBase(path, embedder=embedder)
    for document in dataset.documents:
        base.add_text(document.text(), document_id=document.id, title=document.title)
    base.compact()
    return base


def use_packs(base: KnowledgeBase) -> None:
    """Use all shipped packs, as a new knowledge base does."""
    packs = base.packs.list()
    if not all(info.in_use for info in packs):
        base.packs.use(*(info.name for info in packs))


def remove_packs(base: KnowledgeBase) -> None:
    """Remove all packs."""
    used = [info.name for info in base.packs.list() if info.in_use]
    if used:
        base.packs.remove(*used)


def untrained_model(**fields: Any) -> RelevanceModel:
    """Return a model for collecting candidates; the candidates do not depend on its weights.

    Args:
        **fields: Fields that differ from the defaults, such as `keyword_share`.
    """
    count = len(FEATURES)
    return RelevanceModel(
        features=tuple(FEATURES),
        means=np.zeros(count),
        deviations=np.ones(count),
        weights=np.zeros(count),
        table=np.array([[0.0, 1.0], [0.0, 1.0]]),
        **fields,
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
            metadata={_KIND: query.kind},
        )
        for query in queries
    ]


def examples(
    base: KnowledgeBase, queries: Iterable[Query], *, model: RelevanceModel | None = None
) -> list[Example]:
    """Return the training examples of questions with evidence among their candidates.

    Args:
        base: Knowledge base; its packs are removed.
        queries: Questions.
        model: Model with the settings of the search; None for `untrained_model`.
    """
    remove_packs(base)
    return collect_examples(base, labelled(queries), model=model or untrained_model())


def example_weights(found: Sequence[Example]) -> Floats:
    """Return the weight of each example of a set; the sum is 1.

    All kinds of questions have equal weight: in a set with reworded questions, half of the weight
    is on originals and half on reworded questions.
    """
    kinds = [example.question.metadata.get(_KIND) for example in found]
    counts = Counter(kinds)
    return np.array([1 / counts[kind] / len(counts) for kind in kinds])


def train(
    sets: Mapping[str, Sequence[Example]], *, ridges: Mapping[str, float] | None = None
) -> RelevanceModel:
    """Return the model with the minimum listwise loss; sets have equal weight.

    The prior is a ridge penalty. The curvature of the loss per question is stored in the model as
    the prior for later tunings.

    Args:
        sets: Examples of each set.
        ridges: Ridge penalties of some features, which replace those of `RIDGES`; None for none.
    """
    chosen = [example for found in sets.values() for example in found]
    weights = np.concatenate([example_weights(found) / len(sets) for found in sets.values()])
    raw = np.concatenate([example.features for example in chosen]).astype(np.float64)
    means, deviations = raw.mean(axis=0), raw.std(axis=0)
    deviations[deviations < _CONSTANT] = 1.0
    loss = ListwiseLoss(chosen, means=means, deviations=deviations, weights=weights)
    count = raw.shape[1]
    penalties = {**RIDGES, **(ridges or {})}
    precision = 2 * np.diag([penalties.get(name, _RIDGE) for name in FEATURES])
    best = minimise(loss, known=Known(mean=np.zeros(count), precision=precision))
    return replace(
        untrained_model(),
        means=means,
        deviations=deviations,
        weights=best,
        curvature=loss(best)[2],
    )


def relevance_table(
    models: Mapping[str, RelevanceModel], sets: Mapping[str, Sequence[Example]]
) -> Floats:
    """Return shares and the probability that a chunk with that share has evidence, (2, k).

    Each set is evaluated by a model trained without it. Sets have equal weight, and so do the kinds
    of questions in a set. The probability never decreases with the share, and is constant
    above the last bin.
    """
    edges = np.array(_BIN_EDGES)
    count = len(edges) - 1
    share_sum, hits, mass = np.zeros(count), np.zeros(count), np.zeros(count)
    for name, found in sets.items():
        for example, weight in zip(found, example_weights(found), strict=True):
            shares = example_shares(example, models[name])
            bins = np.clip(np.searchsorted(edges, shares, side="right") - 1, 0, count - 1)
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


__all__ = [
    "Example",
    "build",
    "embedder_label",
    "example_weights",
    "examples",
    "labelled",
    "read_weights",
    "relevance_table",
    "remove_packs",
    "train",
    "untrained_model",
    "use_packs",
    "weights_path",
    "write_weights",
]
