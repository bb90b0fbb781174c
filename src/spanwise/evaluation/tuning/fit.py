"""Fit of the weights, calibration table and settings of the relevance model to questions.

Rules of the weights:
    The target of a question is the share of its evidence in each candidate. The loss is the cross
    entropy of this target and the softmax of the scores (listwise learning to rank: Cao et al.,
    Learning to rank: from pairwise to listwise approach, 2007). It is convex, and its Hessian is
    the covariance of the features under the softmax, so Newton's method needs few steps.
    The prior is a Gaussian (Laplace approximation): its mean is the shipped weights, its precision
    the curvature of their training loss. With few questions, the weights change little, and mostly
    in directions that the earlier training did not determine.
    The strength of the prior is chosen by cross-validation.

Rules of the settings:
    Settings are chosen one after the other, by the recall minus the default price of the returned
    tokens, with weights that were not trained on the question. A default is replaced only if the
    gain exceeds two standard errors: most differences are chance, and the defaults were chosen on
    many more questions.
    Recall is estimated from the known candidates, without a search and without merging duplicate
    texts. The reported recall is measured by searches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.extraction.exact import chunk_values, extract_segments
from spanwise.core.ranking.relevance import CLIP, RelevanceModel, share_around_best
from spanwise.evaluation.tuning.examples import fold_questions
from spanwise.options import SegmentOptions
from spanwise.options.search import PRICED_TOKENS
from spanwise.search.rerank import DEFAULT_WEIGHT
from spanwise.search.scoring import spread_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.evaluation.tuning.examples import Example

if TYPE_CHECKING:
    Floats = NDArray[np.float64]


_KNOWN_HITS = 20.0
"""Weight of the original table at each share, as a number of chunks with evidence."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOutShares:
    """Predicted evidence shares of the candidates of a question.

    The weights were not trained on this question.
    """

    shares: Floats
    """Share of each candidate, (c,)."""
    holds: NDArray[np.bool_]
    """Whether each candidate contains evidence, (c,)."""


def fitted_table(table: Floats, held_out: Sequence[HeldOutShares]) -> Floats:
    """Return a calibration table (shares, relevances) fitted to questions, (2, k).

    A share is the predicted share of a question's evidence in a chunk. Each relevance is multiplied
    by the ratio of observed to expected chunks with evidence near its share. A prior count is added
    to both numbers, so few questions change the table little.
    Isotonic regression (pool adjacent violators) then makes the relevances ascending.

    Args:
        table: Original table: ascending shares from 0 to 1, and ascending relevances from 0,
            (2, k), k >= 2.
        held_out: Predicted evidence shares of the candidates of each question.
    """
    shares, chances = table[:, 1:-1]
    if not len(shares) or not held_out:
        return table
    edges = np.sqrt(shares[:-1] * shares[1:])  # geometric mean of adjacent shares
    hits, expected = np.zeros(len(shares)), np.zeros(len(shares))
    for one in held_out:
        at = np.searchsorted(edges, one.shares, side="right")
        hits += np.bincount(at, one.holds, len(shares))
        expected += np.bincount(at, np.interp(one.shares, *table), len(shares))
    changed = chances * (hits + _KNOWN_HITS) / (expected + _KNOWN_HITS)
    fitted = np.minimum(_ascending(changed, weights=expected + _KNOWN_HITS), 1.0)
    return np.array([table[0], np.concatenate(([0.0], fitted, fitted[-1:]))])


def _ascending(values: Floats, *, weights: Floats) -> Floats:
    """Return the isotonic regression of values by weighted least squares, (n,)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, count = value, weight, 1
        while pools and pools[-1][0] > mean:
            above, more, others = pools.pop()
            mean = (above * more + mean * mass) / (more + mass)
            mass, count = mass + more, count + others
        pools.append((mean, mass, count))
    return np.concatenate([np.full(count, mean) for mean, _, count in pools])


_MAX_STEPS = 100
_DONE = 1e-12  # relative decrease of the loss below which Newton's method stops
_HALVINGS = 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """Gaussian prior of the weights."""

    mean: Floats
    """Mean of the weights, (features,)."""
    precision: Floats
    """Precision matrix, symmetric and positive semi-definite, (features, features)."""


class ListwiseLoss:
    """Listwise loss of weights over questions, with gradient and Hessian."""

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        means: Floats,
        deviations: Floats,
        weights: Floats | None = None,
    ) -> None:
        """Create the loss; the candidates of all questions are concatenated to arrays.

        Args:
            examples: At least one example.
            means: Means of the features, (features,).
            deviations: Standard deviations of the features, > 0, (features,).
            weights: Weight of each question in the loss, >= 0, (examples,); None for 1.
        """
        counts = np.array([len(example.features) for example in examples])
        raw = np.concatenate([example.features for example in examples]).astype(np.float64)
        self._standard = np.clip((raw - means) / deviations, -CLIP, CLIP)
        self._lifts = np.concatenate([example.lifts for example in examples])
        self._starts = np.cumsum(counts) - counts
        self._of = np.repeat(np.arange(len(examples)), counts)
        self._weights = np.ones(len(examples)) if weights is None else weights
        target = np.concatenate([example.target for example in examples]) * self._weights[self._of]
        self._wanted = self._standard.T @ target
        self._fixed = float(target @ self._lifts)

    def __call__(self, weights: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss, its gradient and its Hessian at the given weights."""
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
    """Return the weights that minimise the loss plus the negative log prior, (features,).

    Newton's method with step halving. If the Hessian is singular, the minimum-norm step is taken.

    Args:
        loss: Loss of the questions.
        known: Prior of the weights.
    """

    def whole(weights: Floats) -> tuple[float, Floats, Floats]:
        value, gradient, hessian = loss(weights)
        away = weights - known.mean
        pull = known.precision @ away
        return value + float(away @ pull) / 2, gradient + pull, hessian + known.precision

    weights = known.mean.copy()
    value, gradient, hessian = whole(weights)
    for _ in range(_MAX_STEPS):
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
            break  # no further decrease within rounding errors
        weights, value = weights + step, next_value
        gradient, hessian = next_gradient, next_hessian
    return weights


def example_scores(example: Example, model: RelevanceModel) -> NDArray[np.float64]:
    """Return the scores of the candidates, including the weighted reranker score, (c,)."""
    count = len(model.features)
    features = example.features.astype(np.float64)
    scores = model.scores(features[:, :count]) + example.lifts
    if example.reranker is not None:
        scores += model.rerankers[example.reranker] * features[:, count]
    return scores


def listwise_loss(example: Example, model: RelevanceModel) -> float:
    """Return the cross entropy of the target and the softmax of the scores, >= 0."""
    scores = example_scores(example, model)
    top = float(scores.max())
    return float(np.log(np.exp(scores - top).sum()) + top - example.target @ scores)


def example_shares(example: Example, model: RelevanceModel) -> NDArray[np.float64]:
    """Return the predicted share of the evidence in each candidate, (c,)."""
    scores = example_scores(example, model)
    return spread_shares(scores, example.documents, compares=example.compares)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceResult:
    """Result of a selection of segments, averaged over budgets."""

    recall: float
    """Share of the evidence in the segments, in [0, 1]."""
    tokens: float
    """Tokens of the segments."""

    @property
    def worth(self) -> float:
        """Recall minus the default price of the tokens."""
        return self.recall - SegmentOptions.BALANCED.token_price * self.tokens / PRICED_TOKENS


def result_of_choice(
    example: Example,
    *,
    shares: NDArray[np.float64],
    segments: SegmentOptions,
    budgets: Sequence[int],
) -> ChoiceResult:
    """Return the result of a selection of segments.

    Args:
        example: Training example of the question.
        shares: Predicted share of the evidence in each candidate, (c,).
        segments: Options of the segment selection.
        budgets: Budgets in tokens.
    """
    rows = example.rows
    held = np.zeros(len(rows.tokens))
    held[example.candidates] = shares
    values = chunk_values(held, rows.tokens, token_price=segments.token_price)
    edges = rows.starts[1:]
    best = int(held.argmax())
    at = int(np.searchsorted(rows.starts, best, side="right")) - 1
    charge = segments.charge(share_around_best(held, rows.starts), compares=example.compares)
    reached, tokens = 0.0, 0
    for budget in budgets:
        runs = extract_segments(
            np.split(values, edges),
            np.split(rows.tokens, edges),
            budget_tokens=budget,
            segment_charge=charge,
            min_segment_value=segments.min_segment_value,
            required=[(at, best - int(rows.starts[at]))],
        ).runs
        for run in runs:
            first = int(rows.starts[run.document])
            reached += float(rows.evidence[first + run.start : first + run.end].sum())
            tokens += run.tokens
    return ChoiceResult(
        recall=reached / rows.all_evidence / len(budgets), tokens=tokens / len(budgets)
    )


_STRENGTHS = (20.0, 80.0, 320.0, 1280.0)
"""Candidate strengths of the prior, as numbers of questions."""
_FOLDS = 4
_Change = Callable[[SegmentOptions], SegmentOptions]
_TRIES: tuple[tuple[_Change, ...], ...] = (
    tuple(partial(replace, segment_charge=one) for one in (0.002, 0.005, 0.01, 0.03)),
    tuple(partial(replace, token_price=one) for one in (0.0, 0.005, 0.03, 0.05)),
    tuple(partial(replace, min_segment_value=one) for one in (0.01, 0.03)),
)
"""Alternatives for each setting, in the order in which settings are chosen."""
_RIDGE = 1e-3  # makes the precision matrix positive definite
_HELD = 1e6  # precision of a weight that must not change by more than about a millionth


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Initial model and options of a fit."""

    model: RelevanceModel
    """Relevance model before the fit."""
    reranker: str | None = None
    """Name of the reranker whose score is the last feature column; None without a reranker."""
    budgets: tuple[int, ...] = (1_000, 4_000)
    """Budgets in tokens. Settings are chosen by the mean over these budgets."""
    places_alone: bool = False
    """Whether only the table and the weights of embedder and reranker are fitted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """Result of a fit."""

    model: RelevanceModel
    """Fitted relevance model."""
    segments: SegmentOptions
    """Chosen segment options."""
    worths: Mapping[str, float]
    """Estimated recall minus the default price of the returned tokens, by question id, with weights
    that were not trained on the question."""


def fit(examples: Mapping[float, Sequence[Example]], start: Start) -> Fitted:
    """Return the weights, table and settings fitted to questions.

    Args:
        examples: Training examples for each keyword share to try, including the share of `start`.
        start: Initial model and options. With fewer examples than folds, the model is returned
            unchanged.
    """
    usual = start.model.keyword_share
    if len(examples[usual]) < _FOLDS:
        return Fitted(model=start.model, segments=SegmentOptions.BALANCED, worths={})
    best = _crossed(examples[usual], start)
    worths = best.worths(SegmentOptions.BALANCED)
    segments = SegmentOptions.BALANCED
    for tries in () if start.places_alone else _TRIES:
        for change in tries:
            tried = change(segments)
            reached = best.worths(tried)
            if gains(reached, worths):
                segments, worths = tried, reached
    for share in sorted(set(examples) - {usual}):
        if len(examples[share]) < _FOLDS:
            continue
        model = replace(start.model, keyword_share=share)
        tried_weights = _crossed(
            examples[share], replace(start, model=model), strengths=(best.strength,)
        )
        reached = tried_weights.worths(segments)
        if gains(reached, worths):
            best, worths = tried_weights, reached
    return Fitted(model=best.whole(), segments=segments, worths=worths)


def fit_weights(examples: Sequence[Example], start: Start, *, segments: SegmentOptions) -> Fitted:
    """Return the weights and the table fitted to questions, with fixed settings.

    Args:
        examples: Training examples for the keyword share of `start`.
        start: Initial model and options. With fewer examples than folds, the model is returned
            unchanged.
        segments: Segment options.
    """
    if len(examples) < _FOLDS:
        return Fitted(model=start.model, segments=segments, worths={})
    crossed = _crossed(examples, start)
    return Fitted(model=crossed.whole(), segments=segments, worths=crossed.worths(segments))


def gains(reached: Mapping[str, float], before: Mapping[str, float]) -> bool:
    """Return whether the mean gain exceeds two standard errors of the differences."""
    ids = sorted(reached.keys() | before.keys())
    if not ids:
        return False
    differences = np.array([reached.get(one, 0.0) - before.get(one, 0.0) for one in ids])
    error = float(differences.std()) / np.sqrt(len(ids))
    return bool(differences.mean() > max(2 * error, 1e-9))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Crossed:
    """Result of a cross-validation: for each fold, weights trained on the other folds."""

    examples: Sequence[Example]
    start: Start
    strength: float
    shares: tuple[Floats, ...]
    """Predicted evidence shares of each example, from weights not trained on the example."""
    table: Floats

    def worths(self, segments: SegmentOptions) -> dict[str, float]:
        """Return the worth of the result with the given segment options, by question id."""
        return {
            example.question.id: result_of_choice(
                example, shares=shares, segments=segments, budgets=self.start.budgets
            ).worth
            for example, shares in zip(self.examples, self.shares, strict=True)
        }

    def whole(self) -> RelevanceModel:
        """Return the model trained on all examples."""
        model = _trained(self.examples, self.start, self.strength)
        return replace(model, table=self.table)


def _crossed(
    examples: Sequence[Example], start: Start, *, strengths: Sequence[float] = _STRENGTHS
) -> _Crossed:
    """Return the result of a cross-validation with the best strength of the prior."""
    folds = fold_questions([example.question for example in examples], folds=_FOLDS)
    models: dict[float, list[RelevanceModel]] = {}
    losses: dict[float, Floats] = {}
    for strength in strengths:
        models[strength] = [
            _trained(folds.split(examples, number)[1], start, strength) for number in folds.numbers
        ]
        losses[strength] = np.array(
            [
                listwise_loss(example, models[strength][part])
                for example, part in zip(examples, folds.of, strict=True)
            ]
        )
    strength = _strongest(losses)
    shares = tuple(
        example_shares(example, models[strength][part])
        for example, part in zip(examples, folds.of, strict=True)
    )
    held_out = [
        HeldOutShares(shares=own, holds=example.evidence > 0)
        for own, example in zip(shares, examples, strict=True)
    ]
    return _Crossed(
        examples=examples,
        start=start,
        strength=strength,
        shares=shares,
        table=fitted_table(start.model.table, held_out),
    )


def _strongest(losses: Mapping[float, Floats]) -> float:
    """Return the greatest strength with a loss within one standard error of the minimum.

    If the questions do not distinguish strengths, the weights stay close to the prior (one standard
    error rule: Breiman et al., Classification and Regression Trees, 1984).

    Args:
        losses: Loss of each held-out question, by strength of the prior.
    """
    least = min(losses.values(), key=lambda one: float(one.sum()))
    equals = [
        strength
        for strength, found in losses.items()
        if (found - least).mean() <= (found - least).std() / np.sqrt(len(found))
    ]
    return max(equals)


def _weights(model: RelevanceModel, start: Start) -> Floats:
    """Return the weights of all feature columns, including the reranker column if any."""
    if start.reranker is None:
        return model.weights
    return np.append(model.weights, model.rerankers.get(start.reranker, DEFAULT_WEIGHT))


def _loss(examples: Sequence[Example], start: Start) -> ListwiseLoss:
    model, more = start.model, int(start.reranker is not None)
    return ListwiseLoss(
        examples,  # the reranker column is already standardised
        means=np.append(model.means, np.zeros(more)),
        deviations=np.append(model.deviations, np.ones(more)),
    )


def _trained(examples: Sequence[Example], start: Start, strength: float) -> RelevanceModel:
    """Return the model with weights trained on examples, for one strength of the prior."""
    loss, mean = _loss(examples, start), _weights(start.model, start)
    known = start.model.curvature
    # Without a stored curvature, and for the reranker column, the curvature of these questions is
    # used.
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
