"""What packs add to the score of a chunk, and under which name.

Where a question is after a landmark, a chunk gains by the landmark's signal; where a glossary
knows one of its words, by what documents say instead, as far as that stands out among the chunks
that were read. Chunks of documents in which a pack found no landmark gain nothing of it.
`benchmarks/packs.py` chooses both weights on some companies and measures them on others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.features import NARROW

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from spanwise.core.features import Rows
    from spanwise.core.packs.intents import Aim
    from spanwise.core.relevance import LiftWeights

__all__ = ["glossary_lift", "landmark_lifts", "lifted_candidates", "lifted_scores"]


_MOST_LANDMARK, _MOST_GLOSSARY = 10.0, 6.0  # deviations; what lies further out says no more
_LIFTED = 370  # chunks that are weighed for what lifts them


def landmark_lifts(
    aim: Aim, signals: NDArray[np.float32], *, weights: LiftWeights
) -> Mapping[str, NDArray[np.float64]]:
    """Return what each landmark adds to each chunk, by a name for people, (n,).

    A chunk gains by the landmark that is strongest there, not by several.

    Args:
        aim: What the question is after, with at least one landmark.
        signals: Of its landmarks, 0 where a document does not have one, (landmarks, n).
        weights: Of the parts of a lift.
    """
    strength = np.clip(signals.astype(np.float64), 0.0, _MOST_LANDMARK)
    best = strength.argmax(axis=0)
    return {
        f"{aim.pack.name}: {landmark.name}": np.where(
            best == at, weights.landmark * strength[at], 0.0
        )
        for at, landmark in enumerate(aim.landmarks)
    }


def glossary_lift(
    impacts: NDArray[np.float32],
    *,
    terms: NDArray[np.float64],
    rows: Rows,
    known: NDArray[np.bool_],
    weights: LiftWeights,
) -> NDArray[np.float64]:
    """Return what the words of a glossary add to each chunk, (n,).

    Args:
        impacts: Saturation of each of its terms in each chunk, (terms, n).
        terms: Weight of each term, (terms,).
        rows: Where the chunks belong.
        known: Whether the pack knows the document of each chunk, at least one, (n,).
        weights: Of the parts of a lift.
    """
    score = np.zeros(impacts.shape[1])
    for weight, impact in zip(terms, impacts, strict=True):  # in this order on every machine
        score += weight * impact.astype(np.float64)
    score = rows.smooth(score, NARROW)
    deviation = float(score[known].std())
    if deviation <= 1e-9:  # the same everywhere, but for rounding
        return np.zeros(len(score))
    standard = np.clip((score - score[known].mean()) / deviation, 0.0, _MOST_GLOSSARY)
    return np.where(known, weights.glossary * standard, 0.0)


def lifted_scores(
    scores: NDArray[np.float64], lifts: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return scores with what is added to them, (n,)."""
    total = scores.copy()
    for lift in lifts.values():  # in this order on every machine
        total += lift
    return total


def lifted_candidates(
    candidates: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the candidates with the rows that score best once they are lifted, ascending.

    Args:
        candidates: Rows that are weighed without lifts.
        scores: Of all rows, lifted, (n,).
    """
    best = np.argsort(-scores, kind="stable")[:_LIFTED]
    return np.union1d(candidates, best)
