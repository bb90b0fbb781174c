"""Second linear model: scores of candidates after a transformer has compared the best ones.

The transformer gives the cosine of the question and a chunk with its header, for the candidates
with the best scores. The model combines the first score with this cosine and with the cosines of
neighbouring chunks, because evidence is contiguous. Their weights depend on how well the words of
the question are found. `benchmarks/second_stage.py` fits the weights.

Additions to the first scores, of packs or of named documents, are added to the new scores as well.
They are no part of the features, which are limited.

The differences between the scores are multiplied by the certainty of the cosines. A high best
cosine means that a text answers the question, so the others get smaller shares and the result is
shorter. Without such a text, the shares are more even and the result is longer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Self

import numpy as np

from spanwise.core.ranking.features import NARROW, NEAR
from spanwise.core.ranking.relevance import CLIP
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.features import Rows

    Floats = NDArray[np.float64]

DEEP_FEATURES = (
    "score",
    "score_found",
    "meaning",
    "meaning_smooth",
    "meaning_smooth_found",
    "meaning_near",
    "meaning_best",
    "read",
)
"""Names of the features, in the order of the columns of `deep_features`."""
_NEIGHBOURS = 3  # chunks on either side
_UNREAD = -3.0  # standardised cosine of a neighbour that was not compared
_MIN_DEVIATION = 1e-6
_CERTAINTIES = 0.5, 2.0  # limits
_LIFTED_CERTAINTY = 0.8  # upper limit with additions to the scores
_RATE = 2.0  # chosen by recall less the price of the tokens; 1.4 gives nearly the same
_USUAL = 0.53  # mean of the best cosine over the training questions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeepModel:
    """Weights of the standardised features of the second linear model."""

    means: Floats
    """Mean of each feature in the training data."""
    deviations: Floats
    """Standard deviation of each feature in the training data."""
    weights: Floats
    """Weight of each standardised feature."""

    def scores(self, features: Floats) -> Floats:
        """Return the score of each candidate, (c,)."""
        standard = np.clip((features - self.means) / self.deviations, -CLIP, CLIP)
        total = np.zeros(len(features))
        for column in (standard * self.weights).T:  # fixed order: equal sums on every machine
            total += column
        return total

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a model from JSON.

        Raises:
            OptionError: If the text is not a model with the features `DEEP_FEATURES`.
        """
        names = ("means", "deviations", "weights")
        try:
            data = json.loads(text)
            features = tuple(data["features"])
            columns = {name: np.array(data[name], dtype=np.float64) for name in names}
        except (KeyError, TypeError, ValueError) as error:
            raise OptionError(f"the second linear model cannot be read: {error!r}") from error
        sizes = {column.shape for column in columns.values()}
        if features != DEEP_FEATURES or sizes != {(len(DEEP_FEATURES),)}:
            raise OptionError(
                f"the second linear model is for the features {features!r}, but this version uses "
                f"{DEEP_FEATURES!r}; train it again"
            )
        return cls(**columns)


@lru_cache(maxsize=1)
def load_deep_model() -> DeepModel:
    """Return the model that comes with the package."""
    text = resources.files("spanwise.core.ranking").joinpath("deep.json").read_text("utf-8")
    return DeepModel.from_json(text)


def certainty(cosines: Floats, *, is_lifted: bool = False) -> float:
    """Return the factor on the differences between scores, 1 for the usual best cosine.

    Args:
        cosines: Cosine of each candidate to the question, (c,); NaN if it was not compared. At
            least one is not NaN.
        is_lifted: Whether some scores have additions, of packs or of named documents. They make the
            differences greater already.
    """
    low, high = _CERTAINTIES
    high = _LIFTED_CERTAINTY if is_lifted else high
    return min(max(float(np.exp(_RATE * (np.nanmax(cosines) - _USUAL))), low), high)


def scaled_scores(scores: Floats, factor: float) -> Floats:
    """Return scores with the differences to the best one multiplied by a factor, (c,).

    Args:
        scores: Score of each candidate, (c,), c > 0.
        factor: Factor, > 0.
    """
    best = scores.max()
    return np.asarray(best + factor * (scores - best))


def deep_features(
    scores: Floats,
    cosines: Floats,
    *,
    candidates: NDArray[np.int64],
    rows: Rows,
    found: float,
) -> Floats:
    """Return the features of the second linear model, (c, DEEP_FEATURES).

    Args:
        scores: Score of each candidate, (c,).
        cosines: Cosine of each candidate to the question, (c,); NaN if it was not compared. At
            least one is not NaN.
        candidates: Row of each candidate, (c,).
        rows: Layout of the rows.
        found: How well the words of the question are found, in [0, 1].
    """
    is_read = ~np.isnan(cosines)
    mean, deviation = float(cosines[is_read].mean()), float(cosines[is_read].std())
    meaning, read = np.zeros(len(rows.chunks)), np.zeros(len(rows.chunks))
    chosen = candidates[is_read]
    meaning[chosen] = (cosines[is_read] - mean) / max(deviation, _MIN_DEVIATION)
    read[chosen] = 1.0

    def smoothed(kernel: Floats) -> Floats:
        """Return the weighted mean over the neighbours that were compared."""
        total, mass = rows.smooth(meaning, kernel), rows.smooth(read, kernel)
        return read * total / np.maximum(mass, 1e-9)

    smooth = smoothed(NARROW)
    best = read * rows.best_near(np.where(read > 0, meaning, _UNREAD), _NEIGHBOURS)
    columns = [meaning, smooth, smooth * found, smoothed(NEAR), best, read]
    return np.stack([scores, scores * found, *(column[candidates] for column in columns)], axis=1)
