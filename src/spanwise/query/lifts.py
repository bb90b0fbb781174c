"""What packs, and answers that are known, add to the chunks that were read for a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.known_answers import answer_lift
from spanwise.core.packs.file import recorded_packs
from spanwise.core.packs.intents import Aim, read_aims
from spanwise.core.packs.lifts import glossary_lift, landmark_lifts
from spanwise.core.scores import inverse_frequencies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.features import Rows
    from spanwise.core.question import Question
    from spanwise.core.relevance import LiftWeights, RelevanceModel
    from spanwise.core.scan import PassageRange
    from spanwise.ports import Searchable

__all__ = ["find_lifts"]

_KNOWN = "words that answered such questions"
_NO_VECTORS = np.zeros((0, 0), dtype=np.float32)


def find_lifts(
    question: Question,
    *,
    snapshot: Searchable,
    ranges: Sequence[PassageRange],
    rows: Rows,
    model: RelevanceModel,
) -> dict[str, NDArray[np.float64]]:
    """Return what is added to the score of each chunk, by a name for people, (n,) each.

    Nothing where no pack knows the question's words, or none of its landmarks is in what was read,
    and the question is like none whose answers are known.

    Args:
        question: The question.
        snapshot: What is searched.
        ranges: What was read of it.
        rows: Where the chunks belong, n of them.
        model: Has the weights of the parts of a lift, and the known answers.
    """
    packs = [named.pack for named in recorded_packs(snapshot.packs())]
    found: dict[str, NDArray[np.float64]] = {}
    for aim in read_aims(packs, question.text):
        found |= _lifts_of(
            aim, snapshot=snapshot, ranges=ranges, rows=rows, weights=model.lift_weights
        )
    return found | _known_lift(question, snapshot=snapshot, ranges=ranges, rows=rows, model=model)


def _known_lift(
    question: Question,
    *,
    snapshot: Searchable,
    ranges: Sequence[PassageRange],
    rows: Rows,
    model: RelevanceModel,
) -> dict[str, NDArray[np.float64]]:
    sought = model.known_answers.sought(question.forms()[0])
    if sought is None:
        return {}
    holders, chunks = snapshot.term_counts(tuple(sought.shares))
    terms, worth = sought.best(np.where(holders > 0, inverse_frequencies(holders, chunks), 0.0))
    if not terms:
        return {}
    lift = answer_lift(
        snapshot.passages(ranges, terms=terms, vectors=_NO_VECTORS).impacts,
        worth=worth,
        rows=rows,
        weight=model.lift_weights.answers * sought.likeness,
    )
    return {_KNOWN: lift} if lift.any() else {}


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
