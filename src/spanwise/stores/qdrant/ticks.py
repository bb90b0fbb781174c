"""Ascending numbers from the clock, which order the writes of several processes.

A tick is 1/65,536 of a second since 2020, below 2**48 until the year 2156. A process never draws a
number twice, and draws only numbers above those it has read. Clocks of different machines must
agree within `MAX_SKEW_SECONDS`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

_EPOCH_SECONDS = 1_577_836_800  # 2020-01-01
TICKS = 1 << 16
"""Number of ticks of a second."""
MAX_SKEW_SECONDS = 60
"""Maximum difference between the clocks of two writers, and maximum duration of one write request.
"""


class Ticks:
    """Source of ascending numbers; safe for several threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = 0

    def now(self) -> int:
        """Return the tick of the clock, which may equal an earlier one."""
        return int((self._clock() - _EPOCH_SECONDS) * TICKS)

    def draw(self) -> int:
        """Return a tick above all that were drawn or seen."""
        with self._lock:
            self._last = max(self.now(), self._last + 1)
            return self._last

    def see(self, tick: int) -> None:
        """Take note of a tick that another process drew."""
        with self._lock:
            self._last = max(self._last, tick)
