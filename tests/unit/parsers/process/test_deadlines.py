"""How long a parse may take grows with its pages, under a maximum."""

from __future__ import annotations

import threading
import time

import pytest

from spanwise.options import ParseOptions
from spanwise.parsers.parsed import Step
from spanwise.parsers.process.child import Allowance, Watch

OPTIONS = ParseOptions(base_seconds=10, page_seconds=0.5)


@pytest.mark.parametrize(
    ("step", "now", "end"),
    [
        (None, 100, 110),
        (Step(pages=1, of=20, page=1), 101, 111.5),  # a page at a time
        (Step(pages=1, of=20, page=20), 119, 120),  # all of them together
        (Step(pages=100, of=100), 100, 160),
        (Step(pages=1, of=10_000, page=9_000), 995, 1_000),  # the last word
    ],
)
def test_end_is_the_nearest_of_three(step: Step | None, now: float, end: float) -> None:
    """The step's, the document's by its pages, and the document's whatever its pages."""
    allowance = Allowance(options=OPTIONS, started=100, last=1_000)
    assert allowance.end_of(step, now=now) == end


def test_bytes_are_work_too() -> None:
    """A document without pages is measured by its size."""
    assert Step.of_bytes(0) == Step(pages=1, of=1)
    assert Step.of_bytes(1_000_000) == Step(pages=11, of=11)


def test_watch_expires_once() -> None:
    """When its time has come."""
    rang = threading.Event()
    watch = Watch(time.monotonic() + 0.05, rang.set)
    assert rang.wait(10)
    watch.stop()
    assert watch.expired


def test_watch_that_is_stopped_does_not_expire() -> None:
    """Stopping waits for its thread."""
    watch = Watch(time.monotonic() + 60, lambda: pytest.fail("it expired"))
    watch.stop()
    assert not watch.expired


@pytest.mark.parametrize(("first", "then", "expires"), [(60, 0.05, True), (1, 60, False)])
def test_watch_can_be_moved(first: float, then: float, *, expires: bool) -> None:
    """To an earlier time and to a later one."""
    rang = threading.Event()
    watch = Watch(time.monotonic() + first, rang.set)
    watch.move(time.monotonic() + then)
    assert rang.wait(10 if expires else 1.2) == expires
    watch.stop()
    assert watch.expired == expires
