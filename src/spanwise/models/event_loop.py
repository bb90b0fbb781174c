"""One event loop on a thread of its own, on which the clients of vendors run.

It works wherever the caller runs: on several threads, in a notebook, inside another loop. The
clients keep their connections open from call to call, until the process ends. A forked process
gets a loop of its own: threads are not copied into it.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import queue
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_Item = TypeVar("_Item")
_END_SECONDS = 1.0  # for what still runs when the process ends: nobody waits for its answer
_starting = threading.Lock()


def run(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Return what a coroutine returns; an interrupt of the waiting thread cancels it.

    Raises:
        CancelledError: If the process ends first.
    """
    future = _running().submit(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def iterate(
    produce: Callable[[Callable[[_Item], None]], Coroutine[Any, Any, None]],
) -> Iterator[_Item]:
    """Yield what a coroutine hands out, as it comes.

    Whoever stops early, or is interrupted, cancels the coroutine.

    Args:
        produce: Is given what hands an item out; its error is raised after the items.

    Raises:
        CancelledError: If the process ends first.
    """
    come: queue.SimpleQueue[tuple[_Item] | None] = queue.SimpleQueue()

    async def work() -> None:
        await produce(lambda item: come.put((item,)))

    future = _running().submit(work())
    future.add_done_callback(lambda _: come.put(None))
    try:
        while (item := come.get()) is not None:
            yield item[0]
        future.result()
    finally:
        future.cancel()


def close_at_exit(close: Callable[[], Awaitable[object]]) -> None:
    """Have something that lives on the loop closed before the process ends.

    Args:
        close: Closes it; called on the loop.
    """
    _running().closers.append(close)


@dataclass(frozen=True, slots=True)
class _Running:
    """A loop, its thread, and what is closed before both end."""

    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    closers: list[Callable[[], Awaitable[object]]] = field(default_factory=list)

    def submit(self, work: Coroutine[Any, Any, _Result]) -> Future[_Result]:
        """Return what waits for a coroutine.

        Raises:
            CancelledError: If the loop has ended.
        """
        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError as error:
            work.close()
            raise CancelledError("the process ends") from error

    def end(self) -> None:
        """Cancel what still runs, close what lives on the loop, and end it."""
        if not self.thread.is_alive():  # in a forked process, where both belong to another one
            return
        with contextlib.suppress(TimeoutError):  # what hangs is left as it is
            self.submit(self._close()).result(_END_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(_END_SECONDS)
        if not self.thread.is_alive():
            self.loop.close()

    async def _close(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.gather(*(close() for close in self.closers), return_exceptions=True)
        await self.loop.shutdown_asyncgens()


def _running() -> _Running:
    with _starting:
        return _start(os.getpid())


@cache
def _start(process: int) -> _Running:
    """Return the loop of a process."""
    del process  # the key alone
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="spanwise-models", daemon=True)
    running = _Running(loop, thread)
    thread.start()
    atexit.register(running.end)
    return running
