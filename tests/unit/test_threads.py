"""Parallel maps and abandonable calls: order, limits, errors, interrupts."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextvars import ContextVar

import pytest

from spanwise.threads import map_ahead, map_bounded, run_until_stopped

VARIABLE: ContextVar[str] = ContextVar("variable")
WAITS_LONG = """
import time
from spanwise.threads import map_bounded
def wait(number):
    print(number, flush=True)
    time.sleep(60)
map_bounded(lambda number: map_bounded(wait, range(4), limit=2), range(4), limit=2)
"""


def test_results_stand_in_the_order_of_their_items() -> None:
    def late_first(number: int) -> int:
        time.sleep(0.01 * (5 - number))
        return number * number

    assert map_bounded(late_first, range(6), limit=6) == [0, 1, 4, 9, 16, 25]


def test_no_item_gives_no_result() -> None:
    assert map_bounded(str, [], limit=4) == []


@pytest.mark.parametrize("limit", [1, 3, 16])
def test_no_more_run_at_once_than_allowed(limit: int) -> None:
    lock, running, most = threading.Lock(), 0, 0
    all_at_once = threading.Barrier(limit, timeout=10)

    def count(number: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        if number < limit:
            all_at_once.wait()
        with lock:
            running -= 1

    map_bounded(count, range(40), limit=limit)
    assert most == limit


@pytest.mark.parametrize("limit", [1, 4])
def test_the_first_error_is_raised_and_nothing_begins_after_it(limit: int) -> None:
    begun = []
    broken = threading.Event()

    def fail(number: int) -> None:
        begun.append(number)
        if number == limit - 1:
            broken.set()
            raise ValueError(f"number {number}")
        broken.wait(10)
        time.sleep(0.05)  # the others are still running when the error is known

    with pytest.raises(ValueError, match=f"number {limit - 1}"):
        map_bounded(fail, range(100), limit=limit)
    assert sorted(begun) == list(range(limit))


def test_an_error_stops_what_runs_within_the_other_items() -> None:
    begun = []
    inside = threading.Event()

    def step(number: int) -> None:
        begun.append(number)
        inside.set()
        time.sleep(0.01)

    def item(number: int) -> None:
        if number == 0:
            map_bounded(step, range(1_000), limit=2)
        else:
            inside.wait(10)
            raise ValueError("the other item")

    with pytest.raises(ValueError, match="the other item"):
        map_bounded(item, range(2), limit=2)
    assert 0 < len(begun) < 1_000


def test_work_within_stopped_work_says_that_it_is_not_done() -> None:
    inner: list[BaseException] = []
    inside, failed = threading.Event(), threading.Event()

    def wait(_: int) -> None:
        inside.set()
        failed.wait(10)
        time.sleep(0.05)  # until the error is known outside

    def item(number: int) -> None:
        if number:
            inside.wait(10)
            failed.set()
            raise ValueError("stop")
        try:
            map_bounded(wait, range(9), limit=2)
        except CancelledError as error:
            inner.append(error)

    with pytest.raises(ValueError, match="stop"):
        map_bounded(item, range(2), limit=2)
    assert len(inner) == 1


def test_the_function_sees_the_context_of_the_caller() -> None:
    VARIABLE.set("set by the caller")
    assert map_bounded(lambda _: VARIABLE.get(), range(3), limit=3) == ["set by the caller"] * 3


@pytest.mark.skipif(sys.platform == "win32", reason="no signal of this kind to one process")
def test_an_interrupt_waits_for_no_call() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS_LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for _ in range(4):  # two calls in each of two items
            process.stdout.readline()
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=30)[1]
    assert time.monotonic() - started < 10
    assert b"KeyboardInterrupt" in said


def test_what_it_returns_or_raises_comes_through() -> None:
    def fail() -> None:
        raise TimeoutError("late")

    assert run_until_stopped(lambda: 5, stopped=threading.Event()) == 5
    with pytest.raises(TimeoutError, match="late"):
        run_until_stopped(fail, stopped=threading.Event())


def test_when_stopped_nobody_waits() -> None:
    stopped, released = threading.Event(), threading.Event()
    threading.Timer(0.05, stopped.set).start()
    started = time.monotonic()
    with pytest.raises(CancelledError):
        run_until_stopped(lambda: released.wait(30), stopped=stopped)
    assert time.monotonic() - started < 5
    released.set()


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
