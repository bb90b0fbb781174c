"""From features to share and relevance: a linear model, trained listwise.

The model learns which chunks of a question hold more of its evidence than others, not how much
evidence there is: pointwise probabilities do not carry over from one kind of document to another,
shares do. `benchmarks/train.py` makes the weights and the table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.known_answers import KnownAnswers
from spanwise.core.ranking.score_statistics import KEYWORD_SHARE
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


CLIP = 5.0
"""Deviations of a feature; what lies further out says no more."""
_HEDGE, _HEDGE_UNSURE = 0.2, 0.5


@dataclass(frozen=True, slots=True)
class LiftWeights:
    """What packs and known answers count in the score, a deviation of each part."""

    landmark: float = 0.5
    glossary: float = 0.25
    answers: float = 0.75


@dataclass(frozen=True, slots=True, eq=False)
class RelevanceModel:
    """Weights of the features, and the relevance that a share stands for."""

    features: tuple[str, ...]
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    weights: NDArray[np.float64]
    table: NDArray[np.float64]
    """Shares (ascending from 0) and their relevance (ascending from 0), (2, k)."""
    lift_weights: LiftWeights = LiftWeights()
    embedder: str = ""
    """Name of the one it was trained with; empty where that is not known."""
    rerankers: Mapping[str, float] = field(default_factory=dict)
    """What a deviation of the scores of a reranker counts, of those that were trained with."""
    keyword_share: float = KEYWORD_SHARE
    """Weight of keywords where a passage is scored by keywords and cosine, in [0, 1]."""
    known_answers: KnownAnswers = field(default_factory=KnownAnswers)
    """What labelled questions taught of what answers such questions."""
    curvature: NDArray[np.float64] | None = None
    """Hessian of the loss that the weights were trained with, a question, (features, features).

    What the training knew of each weight: tuning starts from it (`evaluation.tuning`). None where
    it is not known.
    """

    def contributions(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each feature adds to the score of each chunk, (n, features)."""
        standard = (features - self.means) / self.deviations
        return np.asarray(np.clip(standard, -CLIP, CLIP) * self.weights)

    def scores(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each chunk, (n,); only differences mean anything."""
        total = np.zeros(len(features))
        for column in self.contributions(features).T:  # in this order on every machine
            total += column
        return total

    def relevance(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the chance that a chunk with this share holds evidence, in [0, 1]."""
        return np.asarray(np.interp(shares, self.table[0], self.table[1]))

    def share_at(self, relevance: float) -> float:
        """Return the smallest share with this relevance; 0 for 0.

        Raises:
            OptionError: If no share stands for so high a relevance.
        """
        top = float(self.table[1, -1])
        if not 0 <= relevance <= top:
            raise OptionError(
                f"a relevance of {relevance!r} is asked for; it must be in [0, {top:.2f}], the "
                "highest that the model can tell"
            )
        return float(self.shares_at(np.array([relevance]))[0])

    def shares_at(self, relevance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest share with each relevance; above the table's top that of the top."""
        wanted = np.minimum(relevance, self.table[1, -1])
        at = np.maximum(np.searchsorted(self.table[1], wanted, side="left"), 1)
        (low, least), (high, most) = self.table[:, at - 1], self.table[:, at]
        rise = np.where(most > least, most - least, 1.0)  # a table may begin with a flat run of 0
        return np.asarray(low + (high - low) * (wanted - least) / rise)

    @classmethod
    def from_json(cls, text: str, *, features: Sequence[str]) -> RelevanceModel:
        """Read a model that was made for these features.

        Raises:
            OptionError: If it was made for others, or is not a model.
        """
        try:
            data = json.loads(text)
            made_for = tuple(data["features"])
            model = cls(
                features=made_for,
                means=np.array(data["means"], dtype=np.float64),
                deviations=np.array(data["deviations"], dtype=np.float64),
                weights=np.array(data["weights"], dtype=np.float64),
                table=np.array(data["table"], dtype=np.float64).T,
                embedder=str(data.get("embedder", "")),
                rerankers={str(k): float(v) for k, v in data.get("rerankers", {}).items()},
                curvature=_curvature(data.get("curvature"), len(made_for)),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise OptionError(f"these weights cannot be read: {error!r}") from error
        if made_for != tuple(features):
            raise OptionError(
                f"these weights are for the features {made_for!r}, and this version weighs "
                f"{tuple(features)!r}; train them again"
            )
        return model


def _curvature(rows: object, count: int) -> NDArray[np.float64] | None:
    """Return a curvature as it stands in a file, None where it holds none.

    Raises:
        ValueError: If it is no matrix of the features.
    """
    if rows is None:
        return None
    curvature = np.array(rows, dtype=np.float64)
    if curvature.shape != (count, count):
        raise ValueError(f"curvature has shape {curvature.shape!r} and {count} features")
    return curvature


def shares_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of the evidence that each candidate is expected to hold: a softmax, (n,)."""
    if not len(scores):
        return scores
    exponential = np.exp(scores - scores.max())
    return np.asarray(exponential / exponential.sum())


def hedge(shares: NDArray[np.float64], documents: NDArray[np.int64]) -> float:
    """Return how far a question is spread over documents that names no comparison, from .2 to .7.

    The less of the shares the best document holds, the less sure it is the right one: reports of
    one company fit about equally.

    Args:
        shares: Share of each candidate, (n,), n > 0.
        documents: Document of each, (n,).
    """
    return _HEDGE + _HEDGE_UNSURE * (1 - float(np.bincount(documents, shares).max()))


def spread_over_documents(
    scores: NDArray[np.float64], documents: NDArray[np.int64], *, weight: float
) -> NDArray[np.float64]:
    """Return scores that lead to more documents: the best chunks of each come first.

    Each score loses `weight * ln(1 + n)`, n the number of higher scores in the same document. At
    weight 1, for questions that compare documents, the second chunk of a document counts half of
    what it would, the third a third. A small weight hedges where several documents fit about
    equally, such as the reports of one company. Scores of a single document stay as they are.

    Args:
        scores: Score of each candidate, (n,).
        documents: Document of each, (n,).
        weight: From 0, which changes nothing.
    """
    if not len(documents) or (documents == documents[0]).all():
        return scores
    order = np.lexsort((-scores, documents))
    sorted_documents = documents[order]
    first = np.searchsorted(sorted_documents, sorted_documents, side="left")
    spread = scores.copy()
    spread[order] -= weight * np.log1p(np.arange(len(order)) - first)
    return spread
