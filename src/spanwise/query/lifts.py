"""What the packs of a knowledge base add to the chunks that were read for a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.packs.file import recorded_packs
from spanwise.core.packs.intents import Aim, read_aims
from spanwise.core.packs.lifts import glossary_lift, landmark_lifts
from spanwise.core.scores import inverse_frequencies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.features import Rows
    from spanwise.core.question import Question
    from spanwise.core.relevance import LiftWeights
    from spanwise.core.scan import PassageRange
    from spanwise.ports import Searchable

__all__ = ["find_lifts"]

_NO_VECTORS = np.zeros((0, 0), dtype=np.float32)


def find_lifts(
    question: Question,
    *,
    snapshot: Searchable,
    ranges: Sequence[PassageRange],
    rows: Rows,
    weights: LiftWeights,
) -> dict[str, NDArray[np.float64]]:
    """Return what packs add to the score of each chunk, by a name for people, (n,) each.

    Nothing where no pack knows the question's words, or none of its landmarks is in what was read.

    Args:
        question: The question.
        snapshot: What is searched.
        ranges: What was read of it.
        rows: Where the chunks belong, n of them.
        weights: Of the parts of a lift.
    """
    packs = [named.pack for named in recorded_packs(snapshot.packs())]
    found: dict[str, NDArray[np.float64]] = {}
    for aim in read_aims(packs, question.text):
        found |= _lifts_of(aim, snapshot=snapshot, ranges=ranges, rows=rows, weights=weights)
    return found


def _lifts_of(
    aim: Aim,
    *,
    snapshot: Searchable,
    ranges: Sequence[PassageRange],
    rows: Rows,
    weights: LiftWeights,
) -> dict[str, NDArray[np.float64]]:
    keys = [landmark.key for landmark in aim.pack.landmarks]
    signals = snapshot.signals(ranges, [aim.pack.signal(key) for key in keys])
    # In a document that has a landmark its signal deviates; in one that has none, all are 0.
    known = np.logical_or.reduceat((signals != 0).any(axis=0), rows.starts)
    if not known.any():
        return {}
    found: dict[str, NDArray[np.float64]] = {}
    if aim.landmarks:
        wanted = [keys.index(landmark.key) for landmark in aim.landmarks]
        found |= landmark_lifts(aim, signals[wanted], weights=weights)
    if aim.terms:
        holders, chunks = snapshot.term_counts(aim.terms)
        found[f"{aim.pack.name}: words that say the same"] = glossary_lift(
            snapshot.passages(ranges, terms=aim.terms, vectors=_NO_VECTORS).impacts,
            terms=inverse_frequencies(holders, chunks),
            rows=rows,
            known=np.repeat(known, rows.lengths),
            weights=weights,
        )
    return found
