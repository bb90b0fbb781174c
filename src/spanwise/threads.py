"""Blocking work on daemon threads: parallel maps, calls that can be abandoned, one event loop.

Work that a coroutine started (`run_in_thread`) ends if the coroutine is cancelled, and other work
(`start_cancellable`) if its event is set: at the next call of `check_cancelled`, or while it waits
for other threads.

Rules:
    Ctrl-C never waits for work in flight. All threads are therefore daemon threads, which are not
    joined at exit; results that arrive later are dropped.
    The first error stops a parallel map and everything nested in it: nothing more starts.
    Asynchronous clients share one event loop, which works from every thread, in a notebook and
    inside another running loop. Their connections stay open between calls.
    Searches on several threads take turns (`processor_turn`). They are thousands of short steps
    of Python and numpy, and threads that hand over the interpreter at each of them take twice the
    processor time. A thread that waits for a server lets others compute (`without_turn`).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import time
from collections import deque
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from concurrent.futures import CancelledError, Future, wait
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread, local
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_POLL_SECONDS = 0.1  # an unlimited wait cannot be interrupted on every platform
_TURN_SECONDS = 5.0  # longest wait for a turn
_EXIT_SECONDS = 1.0  # limit for tasks that still run at exit: their results are not used


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
    stop = _Stop(parent=_STOP.get())
    results: dict[int, _Result] = {}
    errors: list[BaseException] = []
    positions = iter(range(len(items)))
    lock = Lock()

    def next_position() -> int | None:
        with lock:
            return None if stop.applies() else next(positions, None)

    def work() -> None:
        _STOP.set(stop)
        while (position := next_position()) is not None:
            try:
                results[position] = function(items[position])
            except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
                with lock:
                    stop.is_set = True
                    errors.append(error)

    count = min(limit, len(items))
    if count == 1:
        copy_context().run(work)
    else:
        try:
            workers = [_start(work, name="spanwise-call") for _ in range(count)]
            for worker in workers:
                result_of(worker)
        except BaseException:
            stop.is_set = True
            raise
    if errors:
        raise errors[0]
    if len(results) < len(items):
        raise CancelledError
    return [results[position] for position in range(len(items))]


def available_cores() -> int:
    """Return the number of processor cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Turns:
    """Turns that threads get in the order in which they asked for them."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all turns: a forked process does not have the other threads of its parent."""
        self._lock = Lock()
        self._is_taken = False
        self._waiting: deque[Lock] = deque()

    def take(self) -> bool:
        """Wait for the turn of this thread; return False if the wait was too long.

        Raises:
            CancelledError: If the work of this thread is cancelled meanwhile.
        """
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            own = Lock()
            own.acquire()
            self._waiting.append(own)
        until = time.monotonic() + _TURN_SECONDS
        try:
            while time.monotonic() < until:
                if own.acquire(timeout=_POLL_SECONDS):
                    return True
                check_cancelled()
        except BaseException:
            if not self._leave(own):
                self.give()
            raise
        return not self._leave(own)

    def _leave(self, own: Lock) -> bool:
        """Remove a waiting thread; return False if it got its turn in the meantime."""
        with self._lock:
            if own not in self._waiting:
                return False
            self._waiting.remove(own)
            return True

    def give(self) -> None:
        """Give the turn to the thread that has waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False


class _OwnTurn(local):
    """Turns that this thread holds; None without a turn."""

    turns: _Turns | None = None


_turns = _Turns()
_own_turn = _OwnTurn()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_turns.forget)


@contextlib.contextmanager
def processor_turn() -> Iterator[None]:
    """Run the block while no other thread of this process has a turn.

    Turns save processor time; nothing relies on them. A thread that has waited too long goes on
    without one, so that a search that hangs does not stop the others.

    Raises:
        CancelledError: If the work of this thread is cancelled while it waits.
    """
    if _own_turn.turns is not None:
        yield
        return
    turns = _turns
    if turns.take():
        _own_turn.turns = turns
    try:
        yield
    finally:
        if _own_turn.turns is not None:
            _own_turn.turns = None
            turns.give()


@contextlib.contextmanager
def without_turn() -> Iterator[None]:
    """Let other threads have a turn during the block, which waits for something else.

    Raises:
        CancelledError: If the work of this thread is cancelled while it waits for its next turn.
    """
    turns = _own_turn.turns
    if turns is None:
        yield
        return
    _own_turn.turns = None
    turns.give()
    try:
        yield
    finally:
        if turns.take():
            _own_turn.turns = turns


@dataclass(slots=True, kw_only=True)
class _Stop:
    """Stop signal of a parallel map and of all maps nested in it."""

    parent: _Stop | None
    is_set: bool = False

    def applies(self) -> bool:
        """Return whether this signal or one of its parents is set."""
        return self.is_set or (self.parent is not None and self.parent.applies())


_STOP: ContextVar[_Stop | None] = ContextVar("spanwise_stop", default=None)
"""Stop signal of the parallel map that the current thread belongs to."""


def map_ahead(
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    *,
    threads: int,
    stopped: Event | None = None,
) -> Generator[tuple[_Item, Callable[[], _Result]]]:
    """Yield each item, in order, with a function that waits for its result.

    Work that still runs after an interrupt is discarded; the function itself has to stop it.

    Args:
        function: Function to apply to each item.
        items: Items; the number taken ahead is the number of threads.
        threads: Number of threads; 0 computes each result when it is requested.
        stopped: Event after which no more items are taken; None to take all.
    """
    if not threads:
        for item in items:
            yield item, partial(function, item)
        return
    waiting: deque[tuple[_Item, Callable[[], _Result]]] = deque()
    for item in items:
        outcome = _start(partial(function, item), name="spanwise-make")
        waiting.append((item, partial(result_of, outcome)))
        if len(waiting) == threads:
            yield waiting.popleft()
        if stopped is not None and stopped.is_set():
            break
    while waiting:
        yield waiting.popleft()


async def run_in_thread(action: Callable[[], _Result]) -> _Result:
    """Return the result of blocking work on a separate thread.

    If the coroutine is cancelled, the work ends at its next call of `check_cancelled`.
    """
    cancelled = Event()
    return await awaited(start_cancellable(action, cancelled=cancelled), cancelled=cancelled)


async def awaited(work: Future[_Result], *, cancelled: Event) -> _Result:
    """Return the result of work on a thread; a cancellation of the coroutine sets the event."""
    from asyncio import wrap_future

    try:
        return await wrap_future(work)
    except BaseException:
        cancelled.set()
        raise


def start_cancellable(action: Callable[[], _Result], *, cancelled: Event) -> Future[_Result]:
    """Return the future result of blocking work on a separate daemon thread.

    Args:
        action: The work.
        cancelled: Event that ends the work at its next call of `check_cancelled`.
    """

    def work() -> _Result:
        _CANCELLED.set(cancelled)
        return action()

    return _start(work, name="spanwise-async")


def check_cancelled() -> None:
    """Stop the work of this thread if it was cancelled.

    Raises:
        CancelledError: If it was cancelled.
    """
    if is_cancelled():
        raise CancelledError


def is_cancelled() -> bool:
    """Return whether the work of this thread was cancelled."""
    cancelled = _CANCELLED.get()
    return cancelled is not None and cancelled.is_set()


def sleep_unless_cancelled(seconds: float) -> None:
    """Wait for some time.

    Raises:
        CancelledError: If the work of this thread is cancelled meanwhile.
    """
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _POLL_SECONDS))
        check_cancelled()


_CANCELLED: ContextVar[Event | None] = ContextVar("spanwise_cancelled", default=None)
"""Event that is set when the work of this thread is cancelled."""


def run_until_stopped(action: Callable[[], _Result], *, stopped: Event) -> _Result:
    """Return or raise the result of an action, unless an event is set first.

    A read from a socket cannot be interrupted. Neither Ctrl-C nor the end of the process waits for
    its deadline.

    Raises:
        CancelledError: If `stopped` is set first, or the waiting work is cancelled. The result of
            the action is discarded.
    """
    outcome = _start(action, name="spanwise-fetch")
    while not stopped.is_set():
        check_cancelled()
        if wait((outcome,), timeout=_POLL_SECONDS).done:
            return outcome.result()
    raise CancelledError


def run_coroutine(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Return the result of a coroutine; an interrupt of the calling thread cancels it.

    Raises:
        CancelledError: If the process ends first.
    """
    future = _background_loop().submit(coroutine)
    try:
        return result_of(future)
    except BaseException:
        future.cancel()
        raise


def iterate_coroutine(
    produce: Callable[[Callable[[_Item], None]], Coroutine[Any, Any, None]],
) -> Iterator[_Item]:
    """Yield the items that a coroutine emits, as they arrive.

    A caller that stops early, or is interrupted or cancelled, cancels the coroutine.

    Args:
        produce: Makes the coroutine from a function that emits an item. Its error is raised after
            the items.

    Raises:
        CancelledError: If the process ends first, or the waiting work is cancelled.
    """
    items: SimpleQueue[tuple[_Item] | None] = SimpleQueue()
    future = _background_loop().submit(produce(lambda item: items.put((item,))))
    future.add_done_callback(lambda _: items.put(None))
    try:
        while True:
            check_cancelled()
            try:
                item = items.get(timeout=_POLL_SECONDS)
            except Empty:
                continue
            if item is None:
                break
            yield item[0]
        future.result()
    finally:
        future.cancel()


def close_at_exit(close: Callable[[], Awaitable[object]]) -> None:
    """Register a function that is called on the event loop before the process ends."""
    _background_loop().closers.append(close)


@dataclass(frozen=True, slots=True)
class _BackgroundLoop:
    """An event loop, its thread, and the functions to call before both end."""

    loop: AbstractEventLoop
    thread: Thread
    closers: list[Callable[[], Awaitable[object]]] = field(default_factory=list)

    def submit(self, coroutine: Coroutine[Any, Any, _Result]) -> Future[_Result]:
        """Return the future of a coroutine.

        Raises:
            CancelledError: If the loop has ended.
        """
        from asyncio import run_coroutine_threadsafe

        try:
            return run_coroutine_threadsafe(coroutine, self.loop)
        except RuntimeError as error:
            coroutine.close()
            raise CancelledError("the process ends") from error

    def end(self) -> None:
        """Cancel the running tasks, call the closers and stop the loop."""
        if not self.thread.is_alive():  # in a forked process: both belong to its parent
            return
        with contextlib.suppress(TimeoutError):  # tasks that hang are abandoned
            self.submit(self._close()).result(_EXIT_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(_EXIT_SECONDS)
        if not self.thread.is_alive():
            self.loop.close()

    async def _close(self) -> None:
        from asyncio import all_tasks, current_task, gather

        others = all_tasks() - {current_task()}
        for task in others:
            task.cancel()
        await gather(*others, return_exceptions=True)
        await gather(*(close() for close in self.closers), return_exceptions=True)
        await self.loop.shutdown_asyncgens()


_loops: dict[int, _BackgroundLoop] = {}
"""Event loop of each process id: a forked process starts its own, as threads are not copied."""
_loops_lock = Lock()


def _background_loop() -> _BackgroundLoop:
    """Return the event loop of this process, started on first use."""
    with _loops_lock:
        process = os.getpid()
        if process not in _loops:
            from asyncio import new_event_loop

            loop = new_event_loop()
            thread = Thread(target=loop.run_forever, name="spanwise-models", daemon=True)
            thread.start()
            _loops[process] = _BackgroundLoop(loop, thread)
            atexit.register(_loops[process].end)
        return _loops[process]


def _start(action: Callable[[], _Result], *, name: str) -> Future[_Result]:
    """Return the future result of an action that runs on a separate daemon thread.

    The thread has the context variables of the caller, such as the current span.
    """
    outcome: Future[_Result] = Future()

    def run() -> None:
        outcome.set_running_or_notify_cancel()  # from now on, the future cannot be cancelled
        try:
            outcome.set_result(action())
        except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
            outcome.set_exception(error)

    Thread(target=copy_context().run, args=(run,), name=name, daemon=True).start()
    return outcome


def result_of(outcome: Future[_Result]) -> _Result:
    """Wait for a future and return or raise its result.

    The wait ends early if it is interrupted, or if the waiting work is cancelled.

    Raises:
        CancelledError: If the waiting work is cancelled.
    """
    while not outcome.done():
        wait((outcome,), timeout=_POLL_SECONDS)
        check_cancelled()
    return outcome.result()
