"""Items done ahead of whoever uses the results."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from spanwise.ingest.pipeline import map_ahead


@pytest.mark.parametrize("threads", [0, 1, 3, 20])
def test_results_come_in_order_whatever_takes_longer(threads: int) -> None:
    def slow_at_first(number: int) -> int:
        threading.Event().wait(0.02 if number % 4 == 0 else 0)
        return number * number

    found = [
        (item, result()) for item, result in map_ahead(slow_at_first, range(9), threads=threads)
    ]
    assert found == [(number, number * number) for number in range(9)]


def test_no_more_are_taken_than_there_are_threads() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(10):
            taken.append(number)
            yield number

    made = map_ahead(lambda number: number, items(), threads=3)
    next(made)
    assert taken == [0, 1, 2]
    made.close()


def test_an_error_is_raised_where_its_result_is_asked_for() -> None:
    def fail_at_one(number: int) -> int:
        if number == 1:
            raise ValueError("one")
        return number

    results = [result for _, result in map_ahead(fail_at_one, range(3), threads=2)]
    assert (results[0](), results[2]()) == (0, 2)
    with pytest.raises(ValueError, match="one"):
        results[1]()


def test_without_threads_nothing_is_done_before_it_is_asked_for() -> None:
    done: list[int] = []
    for _ in map_ahead(done.append, range(3), threads=0):
        pass
    assert done == []


def test_once_it_is_stopped_no_more_is_taken_and_what_was_begun_is_yielded() -> None:
    stopped, taken = threading.Event(), []

    def items() -> Iterator[int]:
        for number in range(10):
            taken.append(number)
            yield number

    results = map_ahead(str, items(), threads=3, stopped=stopped)
    next(results)
    stopped.set()
    assert [result() for _, result in results] == ["1", "2"]
    assert taken == [0, 1, 2]
