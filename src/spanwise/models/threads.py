"""Concurrent calls of a function on a bounded number of threads.

Rules:
    Results have the order of their items.
    The first error stops all work: nothing more starts, here and in nested calls, and the error
    is raised.
    An interrupt (Ctrl-C) stops all work too, without waiting: answers still in flight are dropped.
    The threads are therefore daemon threads, which are not joined at exit.
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
_JOIN_SECONDS = 0.1  # an unlimited join cannot be interrupted on every platform


def map_bounded(
    function: Callable[[_Item], _Result], items: Sequence[_Item], *, limit: int
) -> list[_Result]:
    """Return the results of a function for items, in their order.

    Args:
        function: Called on several threads, with the context variables of the caller.
        items: Arguments of the calls.
        limit: Maximum number of concurrent calls, at least 1.

    Raises:
        BaseException: The first error of the function, after the calls in flight have ended.
        CancelledError: If the surrounding work was stopped before all calls were made.
    """
    work = _Work(function=function, items=items, stop=_Stop(parent=_STOP.get()))
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
                thread.join(_JOIN_SECONDS)
    except BaseException:
        work.stop.is_set = True
        raise
    return work.outcome()


@dataclass(slots=True, kw_only=True)
class _Stop:
    """Stop signal of some work and of all work nested in it."""

    parent: _Stop | None
    is_set: bool = False

    def applies(self) -> bool:
        """Return whether this signal or one of its parents is set."""
        return self.is_set or (self.parent is not None and self.parent.applies())


_STOP: ContextVar[_Stop | None] = ContextVar("spanwise_stop", default=None)
"""Stop signal of the work that the current thread is part of."""


@dataclass(slots=True, kw_only=True)
class _Work(Generic[_Item, _Result]):
    """Calls that several threads share."""

    function: Callable[[_Item], _Result]
    items: Sequence[_Item]
    stop: _Stop
    _started: int = 0
    _error: BaseException | None = None
    _results: dict[int, _Result] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def run(self) -> None:
        """Make one call after the other until none is left or the work is stopped."""
        _STOP.set(self.stop)
        while (position := self._next()) is not None:
            try:
                self._results[position] = self.function(self.items[position])
            except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
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
            if self.stop.applies() or self._started == len(self.items):
                return None
            self._started += 1
            return self._started - 1
