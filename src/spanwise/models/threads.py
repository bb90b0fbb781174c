"""Do something for many items at once, on a bounded number of threads.

Rules:
    Results stand in the order of their items.
    The first error stops all: nothing more begins, here and in what runs within, and it is raised.
    An interrupt (Ctrl-C) stops all too, and waits for nothing: what a provider still answers is
    dropped. The threads are therefore ones that nobody joins at the end of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Generic, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_LOOK_SECONDS = 0.1  # waiting without end cannot be interrupted everywhere


def map_bounded(
    function: Callable[[_Item], _Result], items: Sequence[_Item], *, limit: int
) -> list[_Result]:
    """Return what a function makes of each item, in their order.

    Args:
        function: Called on several threads, with the context variables of the caller.
        items: What it is called with.
        limit: Most calls at once, at least 1.

    Raises:
        BaseException: The first error that the function raises, when those that run have ended.
        CancelledError: If what this runs within was stopped before all was done.
    """
    work = _Work(function=function, items=items, stop=_Stop(within=_STOP.get()))
    count = min(limit, len(items))
    if count == 1:
        copy_context().run(work.run)
        return work.outcome()
    threads = [
        Thread(target=copy_context().run, args=(work.run,), name="spanwise-call", daemon=True)
        for _ in range(count)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(_LOOK_SECONDS)
    except BaseException:
        work.stop.is_set = True
        raise
    return work.outcome()


@dataclass(slots=True, kw_only=True)
class _Stop:
    """Says that no more of some work is to begin, nor of what runs within it."""

    within: _Stop | None
    is_set: bool = False

    def reaches(self) -> bool:
        """Return whether this is set, or one that it is within."""
        return self.is_set or (self.within is not None and self.within.reaches())


_STOP: ContextVar[_Stop | None] = ContextVar("spanwise_stop", default=None)
"""Of the work that the thread is part of."""


@dataclass(slots=True, kw_only=True)
class _Work(Generic[_Item, _Result]):
    """What several threads do together."""

    function: Callable[[_Item], _Result]
    items: Sequence[_Item]
    stop: _Stop
    _begun: int = 0
    _error: BaseException | None = None
    _results: dict[int, _Result] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def run(self) -> None:
        """Do one item after the other, until none is left or all is stopped."""
        _STOP.set(self.stop)
        while (position := self._next()) is not None:
            try:
                self._results[position] = self.function(self.items[position])
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
                with self._lock:
                    self.stop.is_set = True
                    self._error = self._error or error

    def outcome(self) -> list[_Result]:
        """Return the results, or raise the first error."""
        if self._error is not None:
            raise self._error
        if len(self._results) < len(self.items):
            raise CancelledError
        return [self._results[position] for position in range(len(self.items))]

    def _next(self) -> int | None:
        with self._lock:
            if self.stop.reaches() or self._begun == len(self.items):
                return None
            self._begun += 1
            return self._begun - 1
