"""Calibration of a reranker's scores on the candidates of one query.

Rules:
    The addition depends on both the rank and the value of a score. The rank is converted to a
    normal score (van der Waerden), which is robust for any distribution. The value is scaled to
    the range of the scores of the query and transformed by the distribution function of the
    arcsine law, the beta distribution with both parameters 1/2. It separates certain scores, near
    0 and 1, from undecided ones. An increasing transform of the scores leaves the rank part
    unchanged; an increasing linear one of scores outside [0, 1] leaves the whole addition
    unchanged.
    The addition is multiplied by the certainty of the scores. A reranker that separates evidence
    from other text has outliers among its scores; one that does not has none.
    Evidence is contiguous, so the best value within three chunks counts too, also for chunks
    without a score.
    A candidate without a score gets a fixed addition, a little above the lowest one by rank and
    value.
    `benchmarks/second_stage.py` fits the four weights with simulated rerankers of known quality.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Self

import numpy as np

from spanwise.core.extraction.published import RERANKER_SHAPES, beta_relevance
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.features import Rows

    Floats = NDArray[np.float64]

MOST_LIFT = 9.0
"""Largest addition to a score, at weight 1."""
_NEIGHBOURS = 3  # chunks on either side
_CERTAINTIES = 0.5, 2.0  # limits
_RATE, _USUAL = 0.5, 0.22  # chosen with simulated rerankers of an AUC from .5 to .99
_MIN_CHANCE = 1e-6
_SAME = 1e-9  # relative range of scores that are equal except for rounding
PARTS = ("rank", "value", "near", "unread")
"""Names of the parts of the addition, in the order of the columns of `score_parts`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerWeights:
    """Weights of the parts of a reranker's addition."""

    rank: float
    """Weight of the normal score of the rank."""
    value: float
    """Weight of the transformed value, in [0, 1]."""
    near: float
    """Weight of the best transformed value within three chunks."""
    unread: float
    """Addition to a chunk without a score, above the lowest addition by rank and value."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read weights from JSON.

        Raises:
            OptionError: If the text does not contain a number for each part.
        """
        try:
            data = json.loads(text)["weights"]
            return cls(**{name: float(data[name]) for name in PARTS})
        except (KeyError, TypeError, ValueError) as error:
            raise OptionError(f"the weights of rerankers cannot be read: {error!r}") from error


@lru_cache(maxsize=1)
def load_reranker_weights() -> RerankerWeights:
    """Return the weights that come with the package."""
    text = resources.files("spanwise.core.ranking").joinpath("reranking.json").read_text("utf-8")
    return RerankerWeights.from_json(text)


@dataclass(frozen=True, slots=True, eq=False)
class RerankerScores:
    """Scores of a reranker for some candidates of a query."""

    name: str
    """Name of the reranker."""
    at: NDArray[np.int64]
    """Position of each score among the candidates of the query, (k,)."""
    scores: Floats
    """Scores, finite, (k,)."""

    @property
    def is_probability(self) -> bool:
        """Whether all scores are in [0, 1]."""
        return bool(((self.scores >= 0) & (self.scores <= 1)).all())

    @property
    def chance(self) -> float | None:
        """Probability of an answer: the best score by the published transform.

        None if scores are not in [0, 1], because their scale is unknown, and without scores.
        """
        if not len(self.scores) or not self.is_probability:
            return None
        return float(beta_relevance([self.scores.max()], shape=self._shape)[0])

    def relevances(self) -> Floats:
        """Return the relevance of each score by the published transform, (k,).

        If scores are not in [0, 1], they are interpreted as log-odds.
        """
        scores = self.scores
        if not self.is_probability:
            scores = 1 / (1 + np.exp(-np.clip(scores, -50.0, 50.0)))
        return beta_relevance(scores, shape=self._shape)

    @property
    def _shape(self) -> str:
        vendor = self.name.partition(":")[0]
        return vendor if vendor in RERANKER_SHAPES else "cohere"


def score_parts(
    scores: Floats, *, at: NDArray[np.int64], candidates: NDArray[np.int64], rows: Rows
) -> Floats:
    """Return the parts of the addition to each candidate, in the order of `PARTS`, (c, 4).

    Args:
        scores: Scores of the reranker, finite, (k,), k > 0, not all equal.
        at: Position of the candidate of each score, (k,).
        candidates: Row of each candidate, (c,).
        rows: Layout of the rows.
    """
    ranks, values = _normal_scores(scores), _transformed(scores)
    parts = np.zeros((len(candidates), len(PARTS)))
    parts[:, 0], parts[:, 3] = ranks.min(), 1.0
    parts[at, 0], parts[at, 1], parts[at, 3] = ranks, values, 0.0
    of_rows = np.zeros(len(rows.chunks))
    of_rows[candidates[at]] = values
    parts[:, 2] = rows.best_near(of_rows, _NEIGHBOURS)[candidates]
    return parts


def calibrated_lift(
    scores: Floats,
    *,
    at: NDArray[np.int64],
    candidates: NDArray[np.int64],
    rows: Rows,
    weights: RerankerWeights | None = None,
) -> Floats:
    """Return the addition of a reranker to the score of each candidate at weight 1, (c,).

    The addition is 0 if all scores are equal.

    Args:
        scores: Scores of the reranker, finite, (k,).
        at: Position of the candidate of each score, (k,).
        candidates: Row of each candidate, (c,).
        rows: Layout of the rows.
        weights: Weights of the parts; None for those of the package.
    """
    if not len(scores) or _is_constant(scores):
        return np.zeros(len(candidates))
    weights = load_reranker_weights() if weights is None else weights
    columns = score_parts(scores, at=at, candidates=candidates, rows=rows).T
    total = np.zeros(len(candidates))
    for name, column in zip(PARTS, columns, strict=True):  # a fixed order of addition
        total += getattr(weights, name) * column
    total *= certainty(scores)
    return np.clip(total, -MOST_LIFT, MOST_LIFT)


def certainty(scores: Floats) -> float:
    """Return how clearly the best score stands out, about 1 for a reranker with an AUC of 0.9.

    The standard score of the best one is compared with that expected of as many normal variates.
    Probabilities are converted to log-odds first.

    Args:
        scores: Scores of the reranker, finite, (k,), not all equal.
    """
    from statistics import NormalDist

    values = scores / float(np.abs(scores).max())
    if bool(((scores >= 0) & (scores <= 1)).all()):
        chances = np.clip(scores, _MIN_CHANCE, 1 - _MIN_CHANCE)
        values = np.log(chances / (1 - chances))
    deviation = float(values.std())
    if deviation == 0:
        return 1.0
    expected = NormalDist().inv_cdf(1 - 0.5 / len(scores))
    excess = (float(values.max()) - float(values.mean())) / deviation - expected
    low, high = _CERTAINTIES
    return min(max(float(np.exp(_RATE * (excess - _USUAL))), low), high)


def _is_constant(scores: Floats) -> bool:
    largest = float(np.abs(scores).max())
    return largest == 0 or float(np.ptp(scores / largest)) <= _SAME


def _normal_scores(scores: Floats) -> Floats:
    """Return the normal quantile of the rank of each score; equal scores share their mean rank."""
    from statistics import NormalDist

    _, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    quantile = NormalDist().inv_cdf
    normal = np.array([quantile(rank / len(scores)) for rank in middle.tolist()])
    return np.asarray(normal[which])


def _transformed(scores: Floats) -> Floats:
    """Return the arcsine distribution function of the scores, scaled to their range, in [0, 1]."""
    largest = float(np.abs(scores).max())
    scaled = scores / largest  # prevents an overflow of the range
    scaled = (scaled - scaled.min()) / np.ptp(scaled)
    return np.asarray(2 / np.pi * np.arcsin(np.sqrt(scaled)))
