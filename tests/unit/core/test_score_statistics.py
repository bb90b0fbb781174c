"""Exact moments: examples, limits and laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.ranking.score_statistics import QUANTUM, MomentSums, fused_scores

SCORES = st.lists(st.floats(min_value=-50_000, max_value=50_000), max_size=40)


def test_no_scores_have_no_mean_and_no_deviation() -> None:
    """Both are 0."""
    assert MomentSums.of(np.empty(0)).result() == (0.0, 0.0)


def test_a_known_case() -> None:
    """The population deviation, not the sample's."""
    assert MomentSums.of(np.array([1.0, 2.0, 3.0, 6.0])).result() == (3.0, math.sqrt(3.5))


def test_equal_scores_do_not_deviate() -> None:
    """Not even by a rounding error, which would be blown up to a z score."""
    mean, deviation = MomentSums.of(np.full(100_003, 0.1)).result()
    assert mean == pytest.approx(0.1, abs=QUANTUM)
    assert deviation == 0.0


def test_many_scores_agree_with_numpy() -> None:
    """Several blocks, both precisions."""
    scores = np.random.default_rng(1).normal(3.0, 2.0, 50_000)
    for values in (scores, scores.astype(np.float32)):
        mean, deviation = MomentSums.of(values).result()
        assert mean == pytest.approx(float(values.mean(dtype=np.float64)), abs=1e-7)
        assert deviation == pytest.approx(float(values.std(dtype=np.float64)), abs=1e-7)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, 1e300, 1e9])
def test_scores_that_cannot_be_summed_exactly_are_rejected(score: float) -> None:
    """No score of the array is added."""
    sums = MomentSums()
    sums.add(np.array([1.0]))
    with pytest.raises(ValueError, match="not finite or too large"):
        sums.add(np.array([2.0, score]))
    assert sums.result() == (1.0, 0.0)


@given(scores=SCORES, cut=st.integers(min_value=0, max_value=40), seed=st.integers(0, 99))
@settings(max_examples=100)
def test_neither_order_nor_parts_show(scores: list[float], cut: int, seed: int) -> None:
    """Shuffled, in parts and merged: the same bits."""
    whole = np.array(scores)
    shuffled = np.random.default_rng(seed).permutation(whole)
    first, second = MomentSums(), MomentSums()
    first.add(shuffled[:cut])
    second.add(shuffled[cut:])
    first.merge(second)
    assert first.result() == MomentSums.of(whole).result()


@given(SCORES, st.integers(0, 5))
def test_zeros_can_be_left_out(scores: list[float], zeros: int) -> None:
    assert (
        MomentSums.of(np.array(scores), zeros=zeros).result()
        == MomentSums.of(np.array([*scores, *[0.0] * zeros])).result()
    )


@given(scores=SCORES.filter(len))
@settings(max_examples=100)
def test_they_are_the_moments_of_the_rounded_scores(scores: list[float]) -> None:
    """Against exact integers, one by one."""
    quanta = [round(score / QUANTUM) for score in scores]
    total, count = sum(quanta), len(quanta)
    spread = count * sum(value * value for value in quanta) - total * total
    mean, deviation = MomentSums.of(np.array(scores)).result()
    assert mean == pytest.approx(total / count * QUANTUM, rel=1e-15)
    assert deviation == pytest.approx(math.isqrt(spread << 60) / 2**30 / count * QUANTUM, rel=1e-12)


def test_fused_scores_rank_as_their_definition() -> None:
    """0.7 z(keyword) + 0.3 z(cosine), less its constant."""
    generator = np.random.default_rng(2)
    keywords, cosines = generator.gamma(2.0, 3.0, 100), generator.uniform(-1, 1, 100)
    keyword, cosine = MomentSums.of(keywords).result(), MomentSums.of(cosines).result()
    wanted = 0.7 * (keywords - keyword[0]) / keyword[1] + 0.3 * (cosines - cosine[0]) / cosine[1]
    fused = fused_scores(
        keywords, cosines, keyword_deviation=keyword[1], cosine_deviation=cosine[1]
    )
    np.testing.assert_allclose(fused - fused[0], wanted - wanted[0], atol=1e-12)


def test_a_constant_score_is_ignored() -> None:
    """A score that is the same everywhere has z 0."""
    fused = fused_scores(
        np.ones(2), np.array([0.5, 0.25]), keyword_deviation=0.0, cosine_deviation=0.5
    )
    np.testing.assert_allclose(fused, [0.3, 0.15])
