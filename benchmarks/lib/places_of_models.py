"""Train the weights of an embedder or a reranker for each set on all other sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.lib.datasets import NEVER_TRAINED
from benchmarks.lib.training import Example, relevance_table, train
from spanwise.core.ranking.relevance import RelevanceModel
from spanwise.evaluation.tuning.fit import Known, ListwiseLoss, example_scores, minimise
from spanwise.search.rerank import DEFAULT_WEIGHT

Sets = Mapping[str, Sequence[Example]]

_RIDGE = 1e-3  # so that a reranker that says nothing keeps the default weight


def weights_without(sets: Sets, *, keyword_share: float) -> dict[str, RelevanceModel]:
    """Return for each set the weights and the table trained on the other sets.

    Args:
        sets: Examples with the features of the embedder, at least two sets.
        keyword_share: Weight of the keyword score in the fused score of these features.
    """
    models = {
        name: replace(train(_others(sets, name)), keyword_share=keyword_share) for name in sets
    }
    table = relevance_table(models, sets)
    return {name: replace(model, table=table) for name, model in models.items()}


def reranked_without(sets: Sets, models: Mapping[str, RelevanceModel]) -> dict[str, RelevanceModel]:
    """Return for each set its model, with the reranker weight trained on the other sets.

    Args:
        sets: Examples with the standardised reranker score in the last column.
        models: Model of each set without the reranker.
    """
    return {
        name: replace(model, rerankers={_reranker(sets): _weight(_others(sets, name), models)})
        for name, model in models.items()
    }


def _others(sets: Sets, name: str) -> Sets:
    kept = {one: found for one, found in sets.items() if one != name and one not in NEVER_TRAINED}
    if not kept:
        raise SystemExit(f"nothing is left to train with for {name}; name more sets")
    return kept


def _reranker(sets: Sets) -> str:
    return next(one.reranker for found in sets.values() for one in found if one.reranker)


def _weight(sets: Sets, models: Mapping[str, RelevanceModel]) -> float:
    """Return the reranker weight with the minimum listwise loss; other weights are fixed."""
    alone, weights = [], []
    for name, found in sets.items():
        for one in found:
            assert one.reranker is not None
            without = replace(models[name], rerankers={one.reranker: 0.0})
            scores = example_scores(one, without)
            alone.append(replace(one, features=one.features[:, -1:], lifts=scores))
            weights.append(1 / len(found) / len(sets))
    loss = ListwiseLoss(alone, means=np.zeros(1), deviations=np.ones(1), weights=np.array(weights))
    known = Known(mean=np.array([DEFAULT_WEIGHT]), precision=_RIDGE * np.eye(1))
    return max(0.0, float(minimise(loss, known=known)[0]))
