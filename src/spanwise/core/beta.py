"""The beta distribution: rerankers' scores spread over [0, 1], as the published method reads them.

A reranker bunches its scores; the published method passes them through the cumulative distribution
function of a beta distribution whose shape belongs to the reranker. What comes out is taken for
relevance.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, lgamma, log, log1p
from typing import TYPE_CHECKING

import numpy as np

from spanwise.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["RERANKER_SHAPES", "beta_relevance"]

RERANKER_SHAPES: Mapping[str, tuple[float, float]] = {"cohere": (0.4, 0.4), "voyage": (0.5, 1.8)}
"""Published shape (a, b) of each vendor's scores."""

_TINY = 1e-300  # in place of 0 in a denominator
_PRECISION = 1e-15
_MAX_STEPS = 1_000


def beta_relevance(scores: ArrayLike, *, shape: str | tuple[float, float]) -> NDArray[np.float64]:
    """Return reranker scores as relevance: the regularised incomplete beta function.

    Args:
        scores: In [0, 1].
        shape: Name of a reranker ("cohere", "voyage"), or a and b, each from 0.01 to 100.

    Returns:
        Relevance in [0, 1], as many as scores, in the same order: 0 for 0, 1 for 1, rising.

    Raises:
        OptionError: If a score is outside [0, 1], or there is no such shape.
    """
    a, b = _shape(shape)
    given = np.asarray(scores, dtype=np.float64)
    if not np.all((given >= 0) & (given <= 1)):
        outside = given[~((given >= 0) & (given <= 1))]
        raise OptionError(f"a score is {float(outside.flat[0])!r}; scores must be in [0, 1]")
    return np.array([_incomplete_beta(x, a, b) for x in given.flat]).reshape(given.shape)


def _shape(shape: str | tuple[float, float]) -> tuple[float, float]:
    if isinstance(shape, str):
        if shape not in RERANKER_SHAPES:
            raise OptionError(
                f"shape is {shape!r}; name one of {', '.join(RERANKER_SHAPES)}, or give a and b"
            )
        return RERANKER_SHAPES[shape]
    a, b = shape
    if not (0.01 <= a <= 100 and 0.01 <= b <= 100):
        raise OptionError(f"shape is {shape!r}; a and b must each be from 0.01 to 100")
    return a, b


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function of a number in [0, 1]."""
    if x in (0.0, 1.0):
        return float(x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):  # where the fraction converges quickly
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the function, up to where it changes no more.

    NIST Digital Library of Mathematical Functions, 8.17.22, evaluated as Lentz did: its
    denominator is a product of quotients, of which `c` and `d` are the two halves.
    """
    denominator, c, d = 1.0, 1.0, 0.0
    for step in range(1, _MAX_STEPS):
        half = step // 2
        if step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        d = 1.0 / ((1.0 + term * d) or _TINY)
        c = (1.0 + term / c) or _TINY
        denominator *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            break
    return 1.0 / denominator
