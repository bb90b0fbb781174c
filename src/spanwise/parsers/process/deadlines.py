"""How long a parse may take: a limit that grows with its pages, and a watch that keeps it.

Rules
    1. A step (a page, or the whole of a document without pages) may take `base_seconds` and
       `page_seconds` for each page's worth of work in it: what hangs is noticed soon.
    2. A parse may take `base_seconds` and `page_seconds` for each page's worth in all of it.
    3. No document takes longer than `timeout_seconds`, however often it is begun.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from spanwise.options import ParseOptions
from spanwise.parsers.parsed import Step

__all__ = ["Allowance", "Watch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What one parse may take; times are those of the monotonic clock."""

    options: ParseOptions
    started: float
    last: float
    """When the document must be done, whatever its pages."""

    def end_of(self, step: Step | None, *, now: float) -> float:
        """Return when a step that begins now must be over; None before anything is known."""
        if step is None:
            return min(self.last, now + self.options.base_seconds)
        whole = self.started + self._seconds(max(step.of, step.pages))
        return min(self.last, whole, now + self._seconds(step.pages))

    def _seconds(self, pages: int) -> float:
        return self.options.base_seconds + pages * self.options.page_seconds


class Watch:
    """Calls a function once, in a thread of its own, when a time that can be moved has come."""

    def __init__(self, end: float, expire: Callable[[], None]) -> None:
        self._end = end
        self._expire = expire
        self._stopped = False
        self.expired = False
        """Whether the time was up before the watch was stopped."""
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._wait, name="spanwise-watch", daemon=True)
        self._thread.start()

    def move(self, end: float) -> None:
        """Set another time, later or earlier."""
        with self._changed:
            earlier = end < self._end
            self._end = end
            if earlier:  # a later one is seen when the thread wakes
                self._changed.notify()

    def stop(self) -> None:
        """Stop watching; what has begun to expire has expired when this returns."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _wait(self) -> None:
        with self._changed:
            while not self._stopped:
                left = self._end - time.monotonic()
                if left <= 0:
                    self.expired = True
                    self._expire()
                    return
                self._changed.wait(left)
