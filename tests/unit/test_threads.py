"""Parallel maps and abandonable calls: order, limits, errors, interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextvars import ContextVar

import pytest

from spanwise.threads import (
    map_ahead,
    map_bounded,
    processor_turn,
    run_until_stopped,
    start_cancellable,
    without_turn,
)

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


def test_turns_of_threads_never_overlap_and_follow_the_order_of_arrival() -> None:
    order: list[int] = []
    running = most = 0
    arrived = [threading.Event() for _ in range(6)]

    def work(number: int) -> None:
        nonlocal running, most
        arrived[number].set()
        with processor_turn():
            running += 1
            most = max(most, running)
            order.append(number)
            time.sleep(0.01)
            running -= 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    with processor_turn():
        for thread, event in zip(threads, arrived, strict=True):
            thread.start()
            event.wait(10)
            time.sleep(0.02)  # until it waits for its turn
        assert order == []
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 2, 3, 4, 5]
    assert most == 1


def test_a_turn_within_a_turn_does_not_wait() -> None:
    started = time.monotonic()
    with processor_turn(), processor_turn():
        pass
    with processor_turn():  # given back
        pass
    assert time.monotonic() - started < 1


def test_a_thread_that_waits_for_something_else_lets_others_have_a_turn() -> None:
    answered, asked = threading.Event(), threading.Event()
    steps: list[str] = []

    def wait_for_answer() -> None:
        with processor_turn():
            with without_turn():
                asked.set()
                steps.append("waits" if answered.wait(10) else "gave up")
            steps.append("goes on")

    waiting = threading.Thread(target=wait_for_answer)
    waiting.start()
    assert asked.wait(10)
    with processor_turn():
        answered.set()
        time.sleep(0.05)
        steps.append("another turn ends")
    waiting.join(10)
    assert steps.index("another turn ends") < steps.index("goes on")


def test_a_turn_that_does_not_end_stops_nobody() -> None:
    end, begun = threading.Event(), threading.Event()

    def hang() -> None:
        with processor_turn():
            begun.set()
            end.wait(30)

    hanging = threading.Thread(target=hang)
    hanging.start()
    assert begun.wait(10)
    started = time.monotonic()
    with processor_turn():
        waited = time.monotonic() - started
    end.set()
    hanging.join(10)
    assert 1 < waited < 12
    started = time.monotonic()
    with processor_turn():
        assert time.monotonic() - started < 1


def test_cancelled_work_stops_to_wait_for_its_turn() -> None:
    cancelled = threading.Event()

    def work() -> None:
        with processor_turn():
            raise AssertionError("it had a turn")

    with processor_turn():
        outcome = start_cancellable(work, cancelled=cancelled)
        cancelled.set()
        with pytest.raises(CancelledError):
            outcome.result(5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_process_does_not_wait_for_the_turns_of_its_parent() -> None:
    script = """
import os, sys, threading, time
from spanwise.threads import processor_turn
begun = threading.Event()
def hold():
    with processor_turn():
        begun.set()
        time.sleep(20)
threading.Thread(target=hold, daemon=True).start()
begun.wait()
child = os.fork()
if not child:
    started = time.monotonic()
    with processor_turn():
        os._exit(int(time.monotonic() - started >= 1))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0
