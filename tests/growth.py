"""A check that a function takes linear time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["assert_linear_time"]

_FACTOR = 8
_MOST_FACTOR = 3 * _FACTOR  # a quadratic function takes 64 times the time
_NOISE_SECONDS = 0.1

Input = TypeVar("Input")


def assert_linear_time(
    function: Callable[[Input], object], make: Callable[[int], Input], *, size: int
) -> None:
    """Fail if an input of eight times the size takes far more than eight times the CPU time.

    CPU time does not count other processes, so a loaded machine does not fail the check.

    Args:
        function: The function to measure.
        make: Returns the input of a size; its time is not measured.
        size: Size of the small input. The large one should take a tenth of a second or more.
    """
    small, large = make(size), make(size * _FACTOR)
    small_seconds = min(_cpu_seconds(function, small) for _ in range(2))
    most_seconds = _MOST_FACTOR * small_seconds + _NOISE_SECONDS
    large_seconds = _cpu_seconds(function, large)
    if large_seconds > most_seconds:  # once more: a garbage collection may fall into one run
        large_seconds = min(large_seconds, _cpu_seconds(function, large))
    assert large_seconds <= most_seconds, f"{small_seconds:.3f} s became {large_seconds:.3f} s"


def _cpu_seconds(function: Callable[[Input], object], value: Input) -> float:
    started = time.process_time()
    function(value)
    return time.process_time() - started
