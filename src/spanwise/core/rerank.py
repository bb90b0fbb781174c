"""What a reranker adds to the scores of candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["best_candidates", "rerank_lift"]

_MOST = 5.0  # deviations; what lies further out says no more
_SAME = 1e-9  # deviation, against the greatest score, of scores that are equal but for rounding


def best_candidates(scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the positions of the greatest scores, greatest first; ties go to the earlier one."""
    return np.argsort(-scores, kind="stable")[:count]


def rerank_lift(
    scores: NDArray[np.float64], *, at: NDArray[np.int64], count: int, weight: float
) -> NDArray[np.float64]:
    """Return what a reranker adds to each candidate, (count,).

    Each score counts by its deviation from their mean; where all are the same, nothing is added.
    A candidate that was not read has the lowest of those that were.

    Args:
        scores: Of the candidates that were read, finite, (k,), k > 0.
        at: Which candidates these are, (k,).
        count: How many candidates there are, at least k.
        weight: Of a deviation, >= 0.
    """
    largest = float(np.abs(scores).max())
    scaled = scores / (
        largest if largest > 0 else 1.0
    )  # so that squares neither overflow nor vanish
    centred = scaled - scaled.mean()
    deviation = float(centred.std())
    if deviation <= _SAME:
        return np.zeros(count)
    standard = np.clip(centred / deviation, -_MOST, _MOST)
    lift = np.full(count, weight * standard.min())
    lift[at] = weight * standard
    return lift
