"""The relevance that a share stands for, fitted to the questions of some documents.

Train the weights of the relevance model listwise, from what an earlier training knew.

Rules:
    The target of a question is the share of its evidence that each candidate holds, the loss the
    cross entropy of that and of the softmax of the scores (Cao et al., Learning to rank: from
    pairwise to listwise approach, 2007). It is convex, and its Hessian is the covariance of the
    features under the softmax, so that Newton's method needs few steps.
    What was known before is a Gaussian: its mean are earlier weights, its precision the curvature
    of the loss that they were trained with (Laplace's approximation), as if that many questions of
    that kind had been seen. So few questions move the weights a little, in the directions that the
    earlier training left open first, and many questions move them where they want.

What segments of one example would hold: a search again, from what is known of its candidates.

It leaves out what a search does beside the choice: copies of a text are not united, and text alone
is counted. So it serves to choose settings; what is said of them is measured by searches.

Fit weights, table and settings to some questions: all that a part of them can say.

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

from spanwise.core.extraction.segments import chunk_values, extract_segments
from spanwise.core.ranking.relevance import CLIP, RelevanceModel
from spanwise.evaluation.tuning.folds import fold_questions
from spanwise.options import SegmentOptions
from spanwise.search.pipeline import COMPARISON_CHARGE
from spanwise.search.rerank import DEFAULT_WEIGHT
from spanwise.search.scoring import spread_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.evaluation.tuning.examples import Example

if TYPE_CHECKING:
    Floats = NDArray[np.float64]


_KNOWN_HITS = 20.0
"""So many chunks with evidence at each share are what the earlier table counts for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judged:
    """Shares of the candidates of one question, by weights that were not trained on it."""

    shares: Floats
    """(c,)."""
    holds: NDArray[np.bool_]
    """Whether each holds evidence, (c,)."""


def fitted_table(table: Floats, judged: Sequence[Judged]) -> Floats:
    """Return a table of shares and relevances that fits some questions better, (2, k).

    At each share of the earlier table, the chance of evidence is multiplied by how many chunks
    around that share hold evidence, over how many were expected to; both sides begin at the same
    number, so that few questions change little. Then the chances are made to ascend, by isotonic
    regression (pool adjacent violators).

    Args:
        table: Shares ascending from 0 to 1, and their chances ascending from 0, (2, k), k >= 2.
        judged: What the questions say.
    """
    shares, chances = table[:, 1:-1]
    if not len(shares) or not judged:
        return table
    edges = np.sqrt(shares[:-1] * shares[1:])  # the middle of two shares, in their logarithms
    hits, expected = np.zeros(len(shares)), np.zeros(len(shares))
    for one in judged:
        at = np.searchsorted(edges, one.shares, side="right")
        hits += np.bincount(at, one.holds, len(shares))
        expected += np.bincount(at, np.interp(one.shares, *table), len(shares))
    changed = chances * (hits + _KNOWN_HITS) / (expected + _KNOWN_HITS)
    fitted = np.minimum(_ascending(changed, weights=expected + _KNOWN_HITS), 1.0)
    return np.array([table[0], np.concatenate(([0.0], fitted, fitted[-1:]))])


def _ascending(values: Floats, *, weights: Floats) -> Floats:
    """Return the nearest values that never fall, in the mean of weighted squares, (n,)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, count = value, weight, 1
        while pools and pools[-1][0] > mean:
            above, more, others = pools.pop()
            mean = (above * more + mean * mass) / (more + mass)
            mass, count = mass + more, count + others
        pools.append((mean, mass, count))
    return np.concatenate([np.full(count, mean) for mean, _, count in pools])


_MOST_STEPS = 100
_DONE = 1e-12  # decrease that a further Newton step promises, against the loss
_HALVINGS = 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """What is known of the weights before: a Gaussian."""

    mean: Floats
    """(features,)."""
    precision: Floats
    """Symmetric, not negative in any direction, (features, features)."""


class ListwiseLoss:
    """Loss of weights over some questions, with its gradient and Hessian."""

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        means: Floats,
        deviations: Floats,
        weights: Floats | None = None,
    ) -> None:
        """Lay out the candidates of all questions.

        Args:
            examples: At least one.
            means: Of the features, (features,).
            deviations: Of the features, > 0, (features,).
            weights: Of each question in the loss, >= 0, (examples,); 1 when None.
        """
        counts = np.array([len(one.features) for one in examples])
        raw = np.concatenate([one.features for one in examples]).astype(np.float64)
        self._standard = np.clip((raw - means) / deviations, -CLIP, CLIP)
        self._lifts = np.concatenate([one.lifts for one in examples])
        self._starts = np.cumsum(counts) - counts
        self._of = np.repeat(np.arange(len(examples)), counts)
        self._weights = np.ones(len(examples)) if weights is None else weights
        target = np.concatenate([one.target for one in examples]) * self._weights[self._of]
        self._wanted = self._standard.T @ target
        self._fixed = float(target @ self._lifts)

    def __call__(self, weights: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss of weights, its gradient and its Hessian."""
        scores = self._standard @ weights + self._lifts
        top = np.maximum.reduceat(scores, self._starts)
        exponential = np.exp(scores - top[self._of])
        total = np.add.reduceat(exponential, self._starts)
        loss = self._weights @ (np.log(total) + top) - self._wanted @ weights - self._fixed
        chance = exponential / total[self._of]
        weighted = self._standard * (chance * self._weights[self._of])[:, None]
        gradient = weighted.sum(axis=0) - self._wanted
        means = np.add.reduceat(self._standard * chance[:, None], self._starts)
        hessian = self._standard.T @ weighted - means.T @ (means * self._weights[:, None])
        return float(loss), gradient, hessian


def minimise(loss: ListwiseLoss, *, known: Known) -> Floats:
    """Return the weights with the least loss, what was known before included, (features,).

    Newton's method; a step that does not lessen the loss is halved. Where the Hessian leaves a
    direction open, the shortest step is taken.

    Args:
        loss: Of the questions.
        known: What was known before; its precision is in the unit of the loss.
    """

    def whole(weights: Floats) -> tuple[float, Floats, Floats]:
        value, gradient, hessian = loss(weights)
        away = weights - known.mean
        pull = known.precision @ away
        return value + float(away @ pull) / 2, gradient + pull, hessian + known.precision

    weights = known.mean.copy()
    value, gradient, hessian = whole(weights)
    for _ in range(_MOST_STEPS):
        step = -np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        promised = -float(gradient @ step)
        if promised <= _DONE * max(1.0, abs(value)):
            break
        for _ in range(_HALVINGS):
            next_value, next_gradient, next_hessian = whole(weights + step)
            if next_value <= value - promised / 1e4:
                break
            step, promised = step / 2, promised / 2
        else:
            break  # rounding leaves nothing to gain
        weights, value = weights + step, next_value
        gradient, hessian = next_gradient, next_hessian
    return weights


def example_scores(example: Example, model: RelevanceModel) -> NDArray[np.float64]:
    """Return the scores of the candidates, (c,); a reranker's column counts by its weight."""
    count = len(model.features)
    features = example.features.astype(np.float64)
    scores = model.scores(features[:, :count]) + example.lifts
    if example.reranker is not None:
        scores += model.rerankers[example.reranker] * features[:, count]
    return scores


def listwise_loss(example: Example, model: RelevanceModel) -> float:
    """Return the cross entropy of the evidence and of the softmax of the scores, >= 0."""
    scores = example_scores(example, model)
    top = float(scores.max())
    return float(np.log(np.exp(scores - top).sum()) + top - example.target @ scores)


def example_shares(example: Example, model: RelevanceModel) -> NDArray[np.float64]:
    """Return the shares of the candidates, (c,)."""
    scores = example_scores(example, model)
    return spread_shares(scores, example.documents, compares=example.compares)


def recall_of_choice(
    example: Example,
    *,
    shares: NDArray[np.float64],
    segments: SegmentOptions,
    penalty_share: float,
    budgets: Sequence[int],
) -> float:
    """Return the mean share of the evidence that segments hold, over some budgets, in [0, 1].

    Args:
        example: The question.
        shares: Of its candidates, (c,).
        segments: How segments are chosen.
        penalty_share: The share at its penalty.
        budgets: In tokens.
    """
    rows = example.rows
    held = np.zeros(len(rows.tokens))
    held[example.candidates] = shares
    values = chunk_values(
        held,
        rows.tokens,
        penalty_share=penalty_share,
        reference_length_tokens=segments.reference_length,
    )
    edges = rows.starts[1:]
    best = int(held.argmax())
    at = int(np.searchsorted(rows.starts, best, side="right")) - 1
    reached = 0.0
    for budget in budgets:
        runs = extract_segments(
            np.split(values, edges),
            np.split(rows.tokens, edges),
            budget_tokens=budget,
            segment_charge=segments.segment_charge
            * (COMPARISON_CHARGE if example.compares else 1.0),
            min_segment_value=segments.min_segment_value,
            required=[(at, best - int(rows.starts[at]))],
        ).runs
        for run in runs:
            first = int(rows.starts[run.document])
            reached += float(rows.evidence[first + run.start : first + run.end].sum())
    return reached / rows.all_evidence / len(budgets)


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
