"""Train the weights of the relevance model listwise, from what an earlier training knew.

Rules:
    The target of a question is the share of its evidence that each candidate holds, the loss the
    cross entropy of that and of the softmax of the scores (Cao et al., Learning to rank: from
    pairwise to listwise approach, 2007). It is convex, and its Hessian is the covariance of the
    features under the softmax, so that Newton's method needs few steps.
    What was known before is a Gaussian: its mean are earlier weights, its precision the curvature
    of the loss that they were trained with (Laplace's approximation), as if that many questions of
    that kind had been seen. So few questions move the weights a little, in the directions that the
    earlier training left open first, and many questions move them where they want.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.relevance import CLIP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.evaluation.tuning.examples import Example

    Floats = NDArray[np.float64]

__all__ = ["Known", "ListwiseLoss", "minimise"]

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
