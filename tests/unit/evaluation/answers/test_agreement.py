"""How far grades agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.grades import grade, graded

from spanwise.evaluation.answers.figures import (
    cohen_kappa,
    fleiss_kappa,
    repeated_agreement,
    share_equal,
)

RATINGS = st.sampled_from(["correct", "incorrect", "refused"])


def test_fleiss_kappa_is_that_of_his_own_table() -> None:
    """Ten things, fourteen raters, five categories: the worked example that is often printed."""
    counts = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    rows = [[at for at, many in enumerate(row) for _ in range(many)] for row in counts]
    assert fleiss_kappa(rows) == pytest.approx(0.210, abs=0.0005)


def test_cohen_kappa_of_a_table_done_by_hand() -> None:
    """20 yes of both, 15 no of both, 5 and 10 between them: .7 observed, .5 by chance."""
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    first, second = zip(*pairs, strict=True)
    assert cohen_kappa(first, second) == pytest.approx(0.4)


@given(st.lists(RATINGS, min_size=1, max_size=20))
def test_full_agreement_is_1_or_says_nothing(ratings: list[str]) -> None:
    expected = None if len(set(ratings)) == 1 else pytest.approx(1.0)
    assert cohen_kappa(ratings, ratings) == expected
    assert fleiss_kappa([[one, one, one] for one in ratings]) == expected
    assert share_equal([[one, one] for one in ratings]) == 1


@given(st.lists(st.tuples(RATINGS, RATINGS), min_size=1, max_size=20))
def test_kappa_knows_no_order_of_raters(pairs: list[tuple[str, str]]) -> None:
    first, second = zip(*pairs, strict=True)
    assert cohen_kappa(first, second) == pytest.approx(cohen_kappa(second, first))
    kappa = cohen_kappa(first, second)
    assert kappa is None or -1 <= kappa <= 1


def test_nothing_to_compare_says_nothing() -> None:
    assert (cohen_kappa([], []), fleiss_kappa([]), share_equal([["a"]])) == (None, None, None)
    with pytest.raises(ValueError, match="2 and 1 ratings"):
        cohen_kappa(["a", "b"], ["a"])


def test_repeated_readings_are_compared_answer_by_answer() -> None:
    rows = [
        graded(1, grades=(grade("correct"), grade("correct"), grade("incorrect"))),
        graded(2, grades=(grade("incorrect"), grade("incorrect"), grade("incorrect"))),
        graded(3, grades=(grade("correct"), grade("correct", verdict=None, error="cut"))),
        graded(4, outcome="scored", grades=(grade(6), grade(8))),
        graded(5, outcome="scored", grades=(grade(3), grade(3))),
    ]
    found = repeated_agreement(rows)
    assert (found.answers, found.scored) == (2, 2)
    assert found.equal == pytest.approx((1 + 3) / 6)
    assert found.deviation == pytest.approx(1.0)  # variances 2 and 0


def test_one_reading_of_each_says_nothing_of_agreement() -> None:
    found = repeated_agreement([graded(1), graded(2)])
    assert (found.answers, found.equal, found.kappa, found.deviation) == (0, None, None, None)
