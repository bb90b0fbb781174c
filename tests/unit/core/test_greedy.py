"""Greedy extraction: the published worked examples, rules, and errors."""

import pytest

from spanwise.core.extraction.exact import extract_segments
from spanwise.core.extraction.published import GreedyRun, extract_greedily
from spanwise.errors import OptionError

GREED_LOSES = [0.9, -0.2, 0.9, 0.3, 0.3, 0.9]


def places(runs: list[GreedyRun]) -> list[tuple[int, int, int, int]]:
    """Return query, document, start and end of each run."""
    return [(run.query, run.document, run.start, run.end) for run in runs]


def test_the_best_run_bridges_no_unnecessary_gap() -> None:
    runs = extract_greedily([[-0.2, -0.2, 0.4, 0.8, -0.1]], max_segment_chunks=10, budget_chunks=10)
    assert runs == [GreedyRun(document=0, start=2, end=4, value=1.2, query=0)]


def test_greed_takes_the_best_run_first_and_loses() -> None:
    runs = extract_greedily([GREED_LOSES], max_segment_chunks=3, budget_chunks=4)
    assert places(runs) == [(0, 0, 0, 3), (0, 0, 5, 6)]
    assert sum(run.value for run in runs) == 2.5


def test_exact_extraction_under_limits_in_chunks_does_not() -> None:
    """Chunks are counted by giving each the length 1."""
    best = extract_segments(GREED_LOSES, [1] * 6, budget_tokens=4, max_segment_tokens=3)
    assert [(run.start, run.end) for run in best.runs] == [(0, 1), (2, 4), (5, 6)]
    assert best.value == 3.0
    assert best.optimal


def test_queries_take_turns_until_they_have_nothing_left() -> None:
    values = [[[0.9, -1.0, 0.8], [0.1]], [[0.2, -1.0, 0.3], [0.7]]]
    runs = extract_greedily(values, max_segment_chunks=2, budget_chunks=9, min_segment_value=0.6)
    assert places(runs) == [(0, 0, 0, 1), (1, 1, 0, 1), (0, 0, 2, 3)]


def test_a_chunk_that_another_query_took_is_gone() -> None:
    runs = extract_greedily([[[0.5]], [[0.9]]], max_segment_chunks=2, budget_chunks=9)
    assert places(runs) == [(0, 0, 0, 1)]


def test_runs_do_not_cross_documents() -> None:
    runs = extract_greedily([[[0.5, 0.5], [0.5]]], max_segment_chunks=3, budget_chunks=9)
    assert places(runs) == [(0, 0, 0, 2), (0, 1, 0, 1)]


def test_ties_go_to_the_first_start_and_the_shorter_run() -> None:
    runs = extract_greedily([[[0.5, 0.0], [0.5]]], max_segment_chunks=3, budget_chunks=1)
    assert places(runs) == [(0, 0, 0, 1)]


def test_a_value_that_equals_the_minimum_is_enough() -> None:
    runs = extract_greedily(
        [[0.1, 0.2]], max_segment_chunks=2, budget_chunks=2, min_segment_value=0.3
    )
    assert [run.value for run in runs] == [0.3]


@pytest.mark.parametrize("values", [[], [[]], [[-0.1, -0.2]], [[], []]])
def test_empty_values_give_no_runs(values: list[list[float]]) -> None:
    assert extract_greedily(values, max_segment_chunks=2, budget_chunks=2) == []


def test_queries_with_other_chunks_are_rejected() -> None:
    with pytest.raises(OptionError, match=r"\[\[2\], \[1\]\] chunks; give all the same chunks"):
        extract_greedily([[0.5, 0.1], [0.5]], max_segment_chunks=2, budget_chunks=2)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 6e8])
def test_values_out_of_range_are_rejected(value: float) -> None:
    with pytest.raises(OptionError, match=r"finite and sum to less than 5e\+08"):
        extract_greedily([[value]], max_segment_chunks=2, budget_chunks=2)


@pytest.mark.parametrize(("longest", "budget"), [(0, 1), (1, -1)])
def test_limits_out_of_range_are_rejected(longest: int, budget: int) -> None:
    with pytest.raises(OptionError, match="they must be at least 1 and 0"):
        extract_greedily([[1.0]], max_segment_chunks=longest, budget_chunks=budget)
