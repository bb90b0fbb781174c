"""Fit weights, table and settings to some questions: all that a part of them can say.

Rules:
    Weights first, by their loss; how much the earlier training counts is chosen by the loss on
    questions that were left out, part by part: as much as these allow.
    Then settings, one after the other, by recall under weights that were not trained on the
    question. A setting leaves its default only if it gains more than two standard errors: most
    differences are chance, and the defaults were chosen on more questions than anybody labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.relevance import RelevanceModel
from spanwise.evaluation.tuning.choosing import (
    example_shares,
    listwise_loss,
    recall_of_choice,
)
from spanwise.evaluation.tuning.folds import fold_questions
from spanwise.evaluation.tuning.tables import Judged, fitted_table
from spanwise.evaluation.tuning.training import Known, ListwiseLoss, minimise
from spanwise.options import SegmentOptions
from spanwise.query.rerank import DEFAULT_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.evaluation.tuning.examples import Example

    Floats = NDArray[np.float64]

__all__ = ["Fitted", "Start", "fit", "fit_weights", "gains"]

_STRENGTHS = (20.0, 80.0, 320.0, 1280.0)
"""Questions that the earlier training counts for."""
_FOLDS = 4
_Change = Callable[[SegmentOptions], SegmentOptions]
_TRIES: tuple[tuple[_Change, ...], ...] = (
    tuple(partial(replace, segment_charge=one) for one in (0.005, 0.01, 0.03, 0.05)),
    tuple(partial(replace, irrelevant_chunk_penalty=one) for one in (0.0, 0.005, 0.01)),
    tuple(partial(replace, min_segment_value=one) for one in (0.01, 0.03)),
)
"""What is tried beside the defaults, one setting after the other."""
_RIDGE = 1e-3  # so that no direction is open
_HELD = 1e6  # precision of a weight that stays as it is, to a millionth


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a fit starts from."""

    model: RelevanceModel
    reranker: str | None = None
    """Name of the reranker whose scores are the last column of the features; None for none."""
    budgets: tuple[int, ...] = (1_000, 4_000)
    """In tokens; settings are chosen by the mean recall at them."""
    places_alone: bool = False
    """Whether weights of features and settings stay as they are, and only the place of embedder and
    reranker, and the table, are fitted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """What some questions say."""

    model: RelevanceModel
    segments: SegmentOptions
    recalls: Mapping[str, float]
    """Of each question by id, as far as it can be told before a search: with weights and table
    that were not trained on it."""


def fit(examples: Mapping[float, Sequence[Example]], start: Start) -> Fitted:
    """Return weights, table and settings for some questions.

    Args:
        examples: For each share of keywords that may be taken, that of `start` among them.
        start: What it starts from; that is returned where examples are too few for parts.
    """
    usual = start.model.keyword_share
    if len(examples[usual]) < _FOLDS:
        return Fitted(model=start.model, segments=SegmentOptions.BALANCED, recalls={})
    best = _crossed(examples[usual], start)
    recalls = best.recalls(SegmentOptions.BALANCED)
    segments = SegmentOptions.BALANCED
    for tries in () if start.places_alone else _TRIES:
        for change in tries:
            tried = change(segments)
            reached = best.recalls(tried)
            if gains(reached, recalls):
                segments, recalls = tried, reached
    for share in sorted(set(examples) - {usual}):
        if len(examples[share]) < _FOLDS:
            continue
        model = replace(start.model, keyword_share=share)
        tried_weights = _crossed(
            examples[share], replace(start, model=model), strengths=(best.strength,)
        )
        reached = tried_weights.recalls(segments)
        if gains(reached, recalls):
            best, recalls = tried_weights, reached
    return Fitted(model=best.whole(), segments=segments, recalls=recalls)


def fit_weights(examples: Sequence[Example], start: Start, *, segments: SegmentOptions) -> Fitted:
    """Return weights and table for some questions, under settings that stay as they are.

    Args:
        examples: With the share of keywords of `start`; too few for parts change nothing.
        start: What it starts from.
        segments: The settings.
    """
    if len(examples) < _FOLDS:
        return Fitted(model=start.model, segments=segments, recalls={})
    crossed = _crossed(examples, start)
    return Fitted(model=crossed.whole(), segments=segments, recalls=crossed.recalls(segments))


def gains(reached: Mapping[str, float], before: Mapping[str, float]) -> bool:
    """Return whether a setting gains more than two standard errors of its differences."""
    ids = sorted(reached.keys() | before.keys())
    if not ids:
        return False
    differences = np.array([reached.get(one, 0.0) - before.get(one, 0.0) for one in ids])
    error = float(differences.std()) / np.sqrt(len(ids))
    return bool(differences.mean() > max(2 * error, 1e-9))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Crossed:
    """Weights that were trained part by part, each on all other parts."""

    examples: Sequence[Example]
    start: Start
    strength: float
    shares: tuple[Floats, ...]
    """Of each example, by weights that were not trained on it."""
    table: Floats

    def recalls(self, segments: SegmentOptions) -> dict[str, float]:
        """Return what each question reaches with some settings, by its id."""
        model = replace(self.start.model, table=self.table)
        penalty = model.share_at(segments.irrelevant_chunk_penalty)
        return {
            one.question.id: recall_of_choice(
                one,
                shares=shares,
                segments=segments,
                penalty_share=penalty,
                budgets=self.start.budgets,
            )
            for one, shares in zip(self.examples, self.shares, strict=True)
        }

    def whole(self) -> RelevanceModel:
        """Return the model of all examples."""
        model = _trained(self.examples, self.start, self.strength)
        return replace(model, table=self.table)


def _crossed(
    examples: Sequence[Example], start: Start, *, strengths: Sequence[float] = _STRENGTHS
) -> _Crossed:
    """Return weights that were trained part by part, with the strength that suits them."""
    folds = fold_questions([one.question for one in examples], folds=_FOLDS)
    models: dict[float, list[RelevanceModel]] = {}
    losses: dict[float, Floats] = {}
    for strength in strengths:
        models[strength] = [
            _trained(
                [one for one, part in zip(examples, folds.of, strict=True) if part != number],
                start,
                strength,
            )
            for number in folds.numbers
        ]
        losses[strength] = np.array(
            [
                listwise_loss(one, models[strength][part])
                for one, part in zip(examples, folds.of, strict=True)
            ]
        )
    strength = _strongest(losses)
    shares = tuple(
        example_shares(one, models[strength][part])
        for one, part in zip(examples, folds.of, strict=True)
    )
    judged = [
        Judged(shares=own, holds=one.evidence > 0)
        for own, one in zip(shares, examples, strict=True)
    ]
    return _Crossed(
        examples=examples,
        start=start,
        strength=strength,
        shares=shares,
        table=fitted_table(start.model.table, judged),
    )


def _strongest(losses: Mapping[float, Floats]) -> float:
    """Return the greatest strength that is as good as the best, but for one standard error.

    So few questions, which cannot tell, stay near the earlier training (Breiman et al.,
    Classification and Regression Trees, 1984, take the simplest of equals by the same rule).

    Args:
        losses: Of each question that was left out, by strength.
    """
    least = min(losses.values(), key=lambda one: float(one.sum()))
    equals = [
        strength
        for strength, found in losses.items()
        if (found - least).mean() <= (found - least).std() / np.sqrt(len(found))
    ]
    return max(equals)


def _weights(model: RelevanceModel, start: Start) -> Floats:
    """Return the weights of all columns: those of the features, and the reranker's."""
    if start.reranker is None:
        return model.weights
    return np.append(model.weights, model.rerankers.get(start.reranker, DEFAULT_WEIGHT))


def _loss(examples: Sequence[Example], start: Start) -> ListwiseLoss:
    model, more = start.model, int(start.reranker is not None)
    return ListwiseLoss(
        examples,  # a reranker's column comes in deviations already
        means=np.append(model.means, np.zeros(more)),
        deviations=np.append(model.deviations, np.ones(more)),
    )


def _trained(examples: Sequence[Example], start: Start, strength: float) -> RelevanceModel:
    """Return the model with the weights that suit some questions."""
    loss, mean = _loss(examples, start), _weights(start.model, start)
    known = start.model.curvature
    # Where nothing is known of an earlier training, and of a reranker, these questions say which
    # directions they see at all.
    curvature = loss(mean)[2] / len(examples)
    if known is not None:
        inner = len(known)
        curvature[:inner, :inner] = known
        curvature[inner:, :inner] = curvature[:inner, inner:] = 0.0
    precision = strength * curvature + _RIDGE * np.eye(len(mean))
    if start.places_alone:
        features = np.arange(len(start.model.weights))
        precision[features, features] += _HELD
    weights = minimise(loss, known=Known(mean=mean, precision=precision))
    count = len(start.model.weights)
    rerankers = dict(start.model.rerankers)
    if start.reranker is not None:
        rerankers[start.reranker] = max(0.0, float(weights[count]))
    return replace(start.model, weights=weights[:count], rerankers=rerankers)
