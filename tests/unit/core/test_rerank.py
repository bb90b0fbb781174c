"""Calibration of a reranker's scores on the candidates of a query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from spanwise.core.ranking.features import build_rows
from spanwise.core.ranking.reranking import (
    MOST_LIFT,
    RerankerScores,
    RerankerWeights,
    calibrated_lift,
    certainty,
)
from spanwise.core.ranking.scan import PassageRange
from spanwise.errors import OptionError
from spanwise.search.rerank import top_candidates

SCORES = st.lists(
    st.floats(-1e300, 1e300, allow_nan=False, allow_infinity=False), min_size=1, max_size=30
)


def lift(scores: list[float], at: list[int] | None = None, count: int = 0) -> NDArray[np.float64]:
    """Return the lifts of candidates that are the first chunks of one document."""
    places = list(range(len(scores))) if at is None else at
    count = count or len(scores)
    rows = build_rows([(0, PassageRange(1, 0, count))])
    return calibrated_lift(
        np.array(scores), at=np.array(places), candidates=np.arange(count), rows=rows
    )


def given_scores(*scores: float, name: str = "scripted:reranker") -> RerankerScores:
    return RerankerScores(name, at=np.arange(len(scores)), scores=np.array(scores))


def test_the_best_come_first_and_ties_go_to_the_earlier_one() -> None:
    assert top_candidates(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist() == [1, 3, 2]


def test_higher_scores_add_more() -> None:
    added = lift([0.1, 0.9, 0.2, 0.3, 0.0], at=[0, 10, 20, 30, 40], count=41)
    assert added[10] > added[30] > added[20] > added[0] > added[40]


def test_the_rank_counts_whatever_the_values() -> None:
    places = [0, 10, 20]
    outlier = lift([0.0, 1e-9, 1.0], at=places, count=21)
    assert outlier[10] > outlier[0] + 0.2


def test_neighbours_of_a_relevant_chunk_gain() -> None:
    scores = [1.0 if at == 10 else 0.0 for at in range(21)]
    added = lift(scores)
    assert added[7] == added[13] > added[6] == added[14]


def test_an_unread_chunk_is_above_a_worthless_one_and_below_a_relevant_one() -> None:
    added = lift([1.0, 0.0, 0.0], at=[0, 10, 20], count=40)
    assert added[0] > added[30] > added[10]


@pytest.mark.parametrize("score", [0.0, 0.7, -1e300, 5e-324])
def test_equal_scores_add_nothing(score: float) -> None:
    assert lift([score] * 4, count=9).tolist() == [0.0] * 9


@given(SCORES, st.integers(0, 5))
def test_it_is_finite_and_bounded(scores: list[float], others: int) -> None:
    added = lift(scores, count=len(scores) + others)
    assert np.isfinite(added).all()
    assert np.abs(added).max() <= MOST_LIFT


def test_scores_with_outliers_count_more() -> None:
    undecided = np.random.default_rng(0).normal(size=100)
    decided = np.where(np.arange(100) < 3, undecided + 6, undecided)
    assert certainty(undecided) < 1 < certainty(decided) <= 2
    assert certainty(1 / (1 + np.exp(-decided))) == pytest.approx(certainty(decided))


@given(st.lists(st.integers(-100, 100), min_size=2, max_size=20, unique=True))
def test_the_scale_of_a_reranker_makes_no_difference(scores: list[int]) -> None:
    plain = [float(score) for score in scores]
    assert np.allclose(lift(plain), lift([score * 0.001 + 7 for score in plain]), atol=1e-5)


@pytest.mark.parametrize(("scores", "chance"), [((0.0, 0.0), 0.0), ((0.5, 0.1), 0.5), ((1,), 1.0)])
def test_the_best_probability_gives_the_chance_of_evidence(
    scores: tuple[float, ...], chance: float
) -> None:
    assert given_scores(*scores).chance == pytest.approx(chance)


@pytest.mark.parametrize("scores", [(-3.0, 2.0), (0.0, 7.0), ()])
def test_scores_of_another_scale_give_no_chance(scores: tuple[float, ...]) -> None:
    assert given_scores(*scores).chance is None


def test_relevances_follow_the_published_curve_of_the_vendor() -> None:
    cohere = given_scores(0.0, 0.5, 1.0, name="cohere:rerank-v3.5").relevances()
    assert cohere.tolist() == pytest.approx([0.0, 0.5, 1.0])
    assert given_scores(0.5, name="voyage:rerank-2.5").relevances()[0] > 0.6
    logits = given_scores(-9.0, 0.0, 9.0).relevances()
    assert logits.tolist() == pytest.approx([0.03, 0.5, 0.97], abs=0.02)


def test_unreadable_weights_are_an_error() -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        RerankerWeights.from_json('{"weights": {"rank": 1}}')
