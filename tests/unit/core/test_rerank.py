"""Additions of a reranker to the scores of candidates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.search.rerank import rerank_lift, top_candidates

SCORES = st.lists(
    st.floats(-1e300, 1e300, allow_nan=False, allow_infinity=False), min_size=1, max_size=30
)


def test_the_best_come_first_and_ties_go_to_the_earlier_one() -> None:
    assert top_candidates(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist() == [1, 3, 2]


def test_a_score_counts_by_its_deviation_from_the_mean() -> None:
    lift = rerank_lift(np.array([3.0, 1.0]), at=np.array([2, 0]), count=3, weight=2.0)
    assert lift == pytest.approx([-2.0, -2.0, 2.0])


def test_candidates_that_were_not_read_get_the_lowest_score() -> None:
    lift = rerank_lift(np.array([0.9, 0.5, 0.1]), at=np.array([4, 0, 2]), count=6, weight=1.0)
    assert lift[[1, 3, 5]].tolist() == [lift[2]] * 3


@pytest.mark.parametrize("score", [0.0, 0.7, -1e300, 5e-324])
def test_equal_scores_add_nothing(score: float) -> None:
    lift = rerank_lift(np.full(4, score), at=np.arange(4), count=9, weight=3.0)
    assert lift.tolist() == [0.0] * 9


@given(SCORES, st.integers(0, 5), st.floats(0, 10))
def test_it_is_finite_bounded_and_keeps_the_order(
    scores: list[float], others: int, weight: float
) -> None:
    given_scores = np.array(scores)
    lift = rerank_lift(
        given_scores, at=np.arange(len(scores)), count=len(scores) + others, weight=weight
    )
    assert np.isfinite(lift).all()
    assert np.abs(lift).max() <= 5 * weight
    order = np.argsort(given_scores, kind="stable")
    assert (np.diff(lift[order]) >= -1e-9 * max(weight, 1)).all()


@given(st.lists(st.integers(-100, 100), min_size=2, max_size=20, unique=True))
def test_the_scale_of_a_reranker_makes_no_difference(scores: list[int]) -> None:
    plain, at = np.array(scores, dtype=np.float64), np.arange(len(scores))
    lift = rerank_lift(plain, at=at, count=len(scores), weight=1.0)
    other = rerank_lift(plain * 0.001 + 7, at=at, count=len(scores), weight=1.0)
    assert np.allclose(lift, other, atol=1e-6)
