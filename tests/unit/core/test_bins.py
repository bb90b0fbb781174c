"""Partition of the evidence of one document into excerpts."""

from __future__ import annotations

from spanwise.core.extraction.bins import Bins, next_fit, split_units


def bins(count: int, capacity_tokens: int, *, run_tokens: int = 0, chunks: int = 100) -> Bins:
    return Bins(count=count, capacity_tokens=capacity_tokens, run_tokens=run_tokens, chunks=chunks)


def test_the_longest_gap_is_cut() -> None:
    units = [(1, 2), (4, 5), (40, 41), (43, 44)]
    assert split_units(units, [10] * 4, bins(2, 25)) == [(0, 2), (2, 4)]


def test_each_range_fits() -> None:
    units = [(1, 2), (3, 4), (5, 6), (90, 91)]
    assert split_units(units, [10] * 4, bins(2, 20)) == [(0, 2), (2, 4)]


def test_touching_units_share_the_cost_of_a_run() -> None:
    touching = [(1, 2), (2, 3), (3, 4), (9, 10)]
    assert split_units(touching, [10] * 4, bins(2, 35, run_tokens=5)) == [(0, 3), (3, 4)]
    apart = [(1, 2), (4, 5), (7, 8), (10, 11)]
    assert split_units(apart, [10] * 4, bins(2, 35, run_tokens=5)) == [(0, 2), (2, 4)]


def test_unusable_capacity_is_avoided() -> None:
    """The middle range cannot be filled with text, so it gets the most evidence."""
    units = [(at, at + 1) for at in range(10, 18)]
    middle = split_units(units, [10] * 8, bins(3, 40))[1]
    assert middle[1] - middle[0] == 4


def test_the_partition_is_empty_if_nothing_fits() -> None:
    assert split_units([(0, 1), (1, 2), (2, 3)], [10] * 3, bins(2, 15)) == []
    assert split_units([(0, 1)], [10], bins(2, 15)) == []
    assert split_units([], [], bins(1, 15)) == []


def test_next_fit_fills_one_range_after_the_other() -> None:
    touching = [(1, 2), (2, 3), (3, 4), (9, 10)]
    assert next_fit(touching, [10] * 4, bins(2, 35, run_tokens=5)) == [(0, 3), (3, 4)]
    assert next_fit(touching, [10] * 4, bins(1, 100, run_tokens=5)) == [(0, 4)]


def test_next_fit_may_need_more_ranges_than_excerpts() -> None:
    units = [(at, at + 1) for at in range(4)]
    assert next_fit(units, [10] * 4, bins(1, 20)) == [(0, 2), (2, 4)]


def test_next_fit_is_empty_if_a_unit_is_too_long() -> None:
    assert next_fit([(0, 1), (1, 2)], [10, 30], bins(4, 20)) == []
