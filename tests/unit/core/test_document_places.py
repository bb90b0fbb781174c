"""Places of documents for questions that ask for documents."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise.core.ranking.document_places import (
    Calibration,
    best_of_each,
    length_bonus,
    phrase_bonus,
    place_chances,
)


def test_the_best_rows_of_each_document_are_chosen() -> None:
    scores = np.array([1.0, 5.0, 5.0, 2.0, 0.0])
    documents = np.array([0, 0, 0, 1, 2])
    assert best_of_each(scores, documents, count=2).tolist() == [1, 2, 3, 4]
    assert best_of_each(scores, documents, count=1).tolist() == [1, 3, 4]


def test_whole_phrases_raise_a_score_and_rare_ones_more() -> None:
    texts = ["The party shall maintain insurance policies.", "insurance to maintain", "insurance"]
    bonus = phrase_bonus(texts, ["maintain insurance", "insurance"], language="en")
    assert bonus[0] > bonus[1] == pytest.approx(bonus[2])
    assert bonus[1] >= 0
    assert phrase_bonus([], ["insurance"], language="en").shape == (0,)


def test_chances_grow_with_scores_and_stay_below_one() -> None:
    chances = place_chances(np.array([-1e6, 0.0, 2.0, 1e6]), Calibration(slope=1.0, bias=-1.0))
    assert (np.diff(chances) > 0).all()
    assert chances[0] > 0
    assert chances[-1] < 1


def test_scores_are_raised_for_short_documents_only() -> None:
    calibration = Calibration(slope=1.0, bias=0.0, length=0.5)
    bonuses = [length_bonus(chunks, 10, calibration) for chunks in (10, 100, 1_000, 10_000)]
    assert bonuses == sorted(bonuses, reverse=True)
    assert bonuses[0] > bonuses[2] > 0
    assert bonuses[3] == 0
    assert length_bonus(0, 0, calibration) == bonuses[0]


def test_a_phrase_of_every_text_counts_if_there_are_few_texts() -> None:
    few = phrase_bonus(["for convenience"] * 3, ["for convenience"], language="en")
    many = phrase_bonus(["for convenience"] * 300, ["for convenience"], language="en")
    assert few.min() > 0.5 > many.max()
