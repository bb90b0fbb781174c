"""Several comparisons at once."""

import numpy as np
import pytest

from spanwise.evaluation.statistics import Comparison, Interval, Wording, among, compare


def comparison(p_value: float) -> Comparison:
    return Comparison(
        wording=Wording(first="exact", second="top-k"),
        difference=Interval(
            mean=0.02, low=0.01, high=0.03, questions=100, clusters=100, fewest_clusters=100
        ),
        p_value=p_value,
        differing=100,
        questions_needed=10,
    )


def test_the_least_is_multiplied_most_and_none_falls() -> None:
    """Worked out by hand: 0.01 * 4, 0.02 * 3, 0.03 * 2, 0.9."""
    found = among([comparison(p) for p in (0.03, 0.01, 0.9, 0.02)])
    assert [one.adjusted_p_value for one in found] == pytest.approx([0.06, 0.04, 0.9, 0.06])
    assert [one.comparisons for one in found] == [4, 4, 4, 4]
    assert [one.holds_among_all for one in found] == [False, True, False, False]


def test_the_verdict_says_whether_it_holds_among_all() -> None:
    held, doubtful = among([comparison(0.01), comparison(0.04), comparison(0.03)])[:2]
    assert held.sentence.endswith("to 3.0; all 3 comparisons counted (Holm), it holds")
    assert doubtful.sentence.endswith("to 3.0; all 3 comparisons counted (Holm), it may be chance")


def test_one_comparison_is_left_as_it_is() -> None:
    (found,) = among([comparison(0.04)])
    assert found.adjusted_p_value == 0.04
    assert "Holm" not in found.sentence
    assert found.holds_among_all
    assert comparison(0.04).holds_among_all


def test_none_at_all() -> None:
    assert among([]) == ()


def test_among_many_that_are_equal_one_seems_better_but_rarely_among_all() -> None:
    """Ten retrievers of one kind: one in twenty seems different; all counted, nearly none is."""
    random = np.random.default_rng(2)
    alone = together = 0
    for _ in range(30):
        found = among([compare(random.normal(0, 1, 60).tolist(), [0.0] * 60) for _ in range(10)])
        alone += any(one.verdict != "none" for one in found)
        together += any(one.holds_among_all for one in found)
    assert alone >= 8
    assert together <= 5
