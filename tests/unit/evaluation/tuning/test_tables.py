"""The table of shares and relevances, fitted."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise.evaluation.tuning.fit import HeldOutShares, fitted_table

TABLE = np.array([[0.0, 0.01, 0.1, 0.5, 1.0], [0.0, 0.05, 0.3, 0.8, 0.8]])


def held_out(share: float, *, hits: int, misses: int) -> list[HeldOutShares]:
    """Return questions with one candidate each, of one share."""
    return [HeldOutShares(shares=np.array([share]), holds=np.array([True]))] * hits + [
        HeldOutShares(shares=np.array([share]), holds=np.array([False]))
    ] * misses


def test_no_questions_change_nothing() -> None:
    assert np.array_equal(fitted_table(TABLE, []), TABLE)


def test_what_comes_as_expected_changes_nothing() -> None:
    fitted = fitted_table(TABLE, held_out(0.1, hits=30, misses=70))
    assert fitted == pytest.approx(TABLE)


def test_few_questions_change_little_and_many_change_much() -> None:
    few = fitted_table(TABLE, held_out(0.1, hits=2, misses=8))[1, 2]
    many = fitted_table(TABLE, held_out(0.1, hits=200, misses=800))[1, 2]
    assert 0.28 < few < 0.3
    assert many == pytest.approx(0.2, abs=0.01)


def test_a_chance_above_the_next_is_levelled_with_it() -> None:
    fitted = fitted_table(TABLE, held_out(0.1, hits=1_000, misses=0))
    assert (np.diff(fitted[1]) >= 0).all()
    assert fitted[1, 2] == fitted[1, 3] == fitted[1, 4]


def test_a_chance_is_never_above_one() -> None:
    fitted = fitted_table(TABLE, held_out(0.5, hits=5_000, misses=0))
    assert fitted[1].max() <= 1
