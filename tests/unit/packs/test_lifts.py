"""What packs add to scores."""

from __future__ import annotations

import numpy as np

from spanwise.core.ranking.features import build_rows
from spanwise.core.ranking.relevance import LiftWeights, lifted_candidates, lifted_scores
from spanwise.core.ranking.scan import PassageRange
from spanwise.packs.intents import (
    glossary_lift,
    landmark_lifts,
    read_aims,
)
from spanwise.packs.pack_file import shipped_packs

WEIGHTS = LiftWeights(landmark=0.5, glossary=2.0)


def test_a_chunk_gains_by_its_strongest_landmark_alone() -> None:
    (aim,) = read_aims([named.pack for named in shipped_packs()], "What is the DPO, and EBIT?")
    signals = np.array([[-1, 2, 4, 0, 30], [3, 1, 4, 0, 0]], dtype=np.float32)
    lifts = landmark_lifts(aim, signals, weights=WEIGHTS)
    assert {name: lift.tolist() for name, lift in lifts.items()} == {
        "filings: income statement": [0, 1, 2, 0, 5],
        "filings: balance sheet": [1.5, 0, 0, 0, 0],
    }


def test_a_glossary_lifts_outstanding_chunks_of_known_documents() -> None:
    rows = build_rows([(0, PassageRange(1, 0, 6)), (1, PassageRange(2, 0, 2))])
    impacts = np.zeros((2, 8), dtype=np.float32)
    impacts[:, 2] = impacts[:, 7] = 1
    lift = glossary_lift(
        impacts,
        terms=np.array([1.0, 3.0]),
        rows=rows,
        known=np.arange(8) < 6,
        weights=WEIGHTS,
    )
    assert int(np.argmax(lift)) == 2
    assert lift[2] > lift[1] == lift[3] > 0
    assert lift[[0, 4, 5, 6, 7]].tolist() == [0] * 5


def test_a_glossary_without_matches_lifts_nothing() -> None:
    rows = build_rows([(0, PassageRange(1, 0, 3))])
    lift = glossary_lift(
        np.zeros((1, 3), dtype=np.float32),
        terms=np.ones(1),
        rows=rows,
        known=np.ones(3, dtype=bool),
        weights=WEIGHTS,
    )
    assert lift.tolist() == [0, 0, 0]


def test_scores_are_lifted_by_all_and_their_best_are_candidates() -> None:
    scores = np.arange(1_000, dtype=np.float64)
    lifted = lifted_scores(scores, {"a": np.full(1_000, 2.0), "b": -2 * scores})
    assert lifted.tolist() == (2 - scores).tolist()
    assert lifted_scores(scores, {}).tolist() == scores.tolist()
    candidates = lifted_candidates(np.array([5, 990]), lifted)
    assert candidates.tolist() == [*range(370), 990]
