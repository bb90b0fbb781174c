"""Relevance model: a linear model that maps features to each chunk's share of the evidence.

It is trained listwise with softmax: it learns which chunks contain more of the evidence than
others, not how much evidence there is. Probabilities learned per chunk are not valid for other
kinds of documents; shares are. `benchmarks/train.py` fits the weights and the calibration table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.known_answers import KnownAnswers
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


CLIP = 5.0
"""Limit of a standardised feature; larger deviations carry no more information."""
WORDS_SHARE = 0.5
"""Default weight of words against vectors in the features, if all words are found."""
_HEDGE, _HEDGE_UNSURE = 0.1, 0.25
_LIFTED = 370  # chunks with the best lifted scores that become candidates


@dataclass(frozen=True, slots=True)
class LiftWeights:
    """Weights of lifts (additions of packs and known answers to scores) per standard deviation."""

    landmark: float = 0.5
    """Weight of the landmarks of a pack."""
    glossary: float = 0.25
    """Weight of the synonyms of a pack's glossary."""
    answers: float = 0.75
    """Weight of the words of known answers."""


def lifted_scores(
    scores: NDArray[np.float64], lifts: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the sum of the scores and all lifts, (n,)."""
    total = scores.copy()
    for lift in lifts.values():  # a fixed order of addition
        total += lift
    return total


def lifted_candidates(
    candidates: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the candidates, plus the rows with the best scores after the lifts, ascending.

    Args:
        candidates: Rows that are candidates by their features alone.
        scores: Scores of all rows including lifts, (n,).
    """
    best = np.argsort(-scores, kind="stable")[:_LIFTED]
    return np.union1d(candidates, best)


@dataclass(frozen=True, slots=True, eq=False)
class RelevanceModel:
    """Weights of the features, and a calibration table from share to relevance."""

    features: tuple[str, ...]
    """Names of the features, in order."""
    means: NDArray[np.float64]
    """Mean of each feature in the training data."""
    deviations: NDArray[np.float64]
    """Standard deviation of each feature in the training data."""
    weights: NDArray[np.float64]
    """Weight of each standardised feature."""
    table: NDArray[np.float64]
    """Calibration table, (2, k): shares and the relevance of each, both ascending from 0."""
    lift_weights: LiftWeights = LiftWeights()
    """Weights of packs and known answers."""
    embedder: str = ""
    """Name of the embedder of the training data; empty if unknown."""
    rerankers: Mapping[str, float] = field(default_factory=dict)
    """Trained factor on the calibrated scores of each reranker."""
    keyword_share: float = WORDS_SHARE
    """Weight of words against vectors if all words of a question are found, in [0, 1]."""
    known_answers: KnownAnswers = field(default_factory=KnownAnswers)
    """Kinds of questions with the words that answered them, learned from labelled questions."""
    curvature: NDArray[np.float64] | None = None
    """Mean Hessian of the training loss per question, (features, features); None if unknown.

    Tuning uses it as the precision of the prior over the weights (`evaluation.tuning`).
    """

    def contributions(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the contribution of each feature to the score of each chunk, (n, features)."""
        standard = (features - self.means) / self.deviations
        return np.asarray(np.clip(standard, -CLIP, CLIP) * self.weights)

    def scores(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each chunk, (n,); only differences between scores are meaningful."""
        total = np.zeros(len(features))
        for column in self.contributions(features).T:  # fixed order: equal sums on every machine
            total += column
        return total

    def relevance(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability that a chunk with this share contains evidence, in [0, 1]."""
        return np.asarray(np.interp(shares, self.table[0], self.table[1]))

    def shares_at(self, relevance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest share with each relevance, limited to the maximum of the table."""
        limited = np.minimum(relevance, self.table[1, -1])
        at = np.maximum(np.searchsorted(self.table[1], limited, side="left"), 1)
        (low, least), (high, most) = self.table[:, at - 1], self.table[:, at]
        rise = np.where(most > least, most - least, 1.0)  # a table may begin with a flat run of 0
        return np.asarray(low + (high - low) * (limited - least) / rise)

    @classmethod
    def from_json(cls, text: str, *, features: Sequence[str]) -> RelevanceModel:
        """Return the model in a JSON text.

        Raises:
            OptionError: If the text is not a model, or its features are not `features`.
        """
        try:
            data = json.loads(text)
            names = tuple(data["features"])
            model = cls(
                features=names,
                means=np.array(data["means"], dtype=np.float64),
                deviations=np.array(data["deviations"], dtype=np.float64),
                weights=np.array(data["weights"], dtype=np.float64),
                table=np.array(data["table"], dtype=np.float64).T,
                embedder=str(data.get("embedder", "")),
                keyword_share=float(data.get("keyword_share", WORDS_SHARE)),
                rerankers={str(k): float(v) for k, v in data.get("rerankers", {}).items()},
                curvature=_curvature(data.get("curvature"), len(names)),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise OptionError(f"these weights cannot be read: {error!r}") from error
        if names != tuple(features):
            raise OptionError(
                f"these weights are for the features {names!r}, and this version uses "
                f"{tuple(features)!r}; train them again"
            )
        return model


def _curvature(rows: object, count: int) -> NDArray[np.float64] | None:
    """Return the curvature matrix of a model file, or None if the file has none.

    Raises:
        ValueError: If it is not a square matrix of the features.
    """
    if rows is None:
        return None
    curvature = np.array(rows, dtype=np.float64)
    if curvature.shape != (count, count):
        raise ValueError(f"curvature has shape {curvature.shape!r} and {count} features")
    return curvature


def softmax_shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected share of the evidence in each candidate: a softmax, (n,)."""
    if not len(scores):
        return scores
    exponential = np.exp(scores - scores.max())
    return np.asarray(exponential / exponential.sum())


def share_around_best(shares: NDArray[np.float64], starts: NDArray[np.int64]) -> float:
    """Return the mean share around the best chunk: 1/2 its own, 1/4 of each neighbour.

    A neighbour that does not exist or was not read has share 0.

    Args:
        shares: Share of each chunk, range by range, (n,), n > 0.
        starts: First chunk of each range, ascending from 0, (r,).
    """
    best = int(np.argmax(shares))
    before = 0.0 if best in starts else float(shares[best - 1])
    after = 0.0 if best + 1 in starts or best + 1 == len(shares) else float(shares[best + 1])
    return (before + 2 * float(shares[best]) + after) / 4


def hedge_weight(shares: NDArray[np.float64], documents: NDArray[np.int64]) -> float:
    """Return the weight of `spread_over_documents` for a question without a comparison, .1 to .35.

    The smaller the share of the best document, the greater the weight, because the right document
    is less certain. For example, all reports of one company fit about equally well.

    Args:
        shares: Share of each candidate, (n,), n > 0.
        documents: Document of each candidate, (n,).
    """
    return _HEDGE + _HEDGE_UNSURE * (1 - float(np.bincount(documents, shares).max()))


def spread_over_documents(
    scores: NDArray[np.float64], documents: NDArray[np.int64], *, weight: float
) -> NDArray[np.float64]:
    """Return scores with a penalty on all but the best chunk of each document, (n,).

    Each score is reduced by `weight * ln(1 + n)`, where n is the number of higher scores in the
    same document. At weight 1, for questions that compare documents, the share of the second chunk
    of a document is halved, that of the third divided by three. A small weight hedges between
    documents that fit about equally well. Scores of a single document are unchanged.

    Args:
        scores: Score of each candidate, (n,).
        documents: Document of each candidate, (n,).
        weight: Weight of the reduction; 0 changes nothing.
    """
    if not len(documents) or (documents == documents[0]).all():
        return scores
    order = np.lexsort((-scores, documents))
    sorted_documents = documents[order]
    first = np.searchsorted(sorted_documents, sorted_documents, side="left")
    spread = scores.copy()
    spread[order] -= weight * np.log1p(np.arange(len(order)) - first)
    return spread
