"""One event loop on a background thread, which runs the asynchronous clients of vendors.

It works from every thread, in a notebook and inside another running loop. Clients keep their
connections open between calls, until the process ends. A forked process starts a new loop, because
threads are not copied into it.
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
_END_SECONDS = 1.0  # limit for tasks that still run at exit: their results are not used
_starting = threading.Lock()


def run(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Return the result of a coroutine; an interrupt of the calling thread cancels it.

    Raises:
        CancelledError: If the process ends first.
    """
    future = _background_loop().submit(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def iterate(
    produce: Callable[[Callable[[_Item], None]], Coroutine[Any, Any, None]],
) -> Iterator[_Item]:
    """Yield the items that a coroutine emits, as they arrive.

    A caller that stops early, or is interrupted, cancels the coroutine.

    Args:
        produce: Makes the coroutine from a function that emits an item. Its error is raised after
            the items.

    Raises:
        CancelledError: If the process ends first.
    """
    items: queue.SimpleQueue[tuple[_Item] | None] = queue.SimpleQueue()

    async def work() -> None:
        await produce(lambda item: items.put((item,)))

    future = _background_loop().submit(work())
    future.add_done_callback(lambda _: items.put(None))
    try:
        while (item := items.get()) is not None:
            yield item[0]
        future.result()
    finally:
        future.cancel()


def close_at_exit(close: Callable[[], Awaitable[object]]) -> None:
    """Register a function that is called on the loop before the process ends."""
    _background_loop().closers.append(close)


@dataclass(frozen=True, slots=True)
class _BackgroundLoop:
    """An event loop, its thread, and the functions to call before both end."""

    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    closers: list[Callable[[], Awaitable[object]]] = field(default_factory=list)

    def submit(self, work: Coroutine[Any, Any, _Result]) -> Future[_Result]:
        """Return the future of a coroutine.

        Raises:
            CancelledError: If the loop has ended.
        """
        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError as error:
            work.close()
            raise CancelledError("the process ends") from error

    def end(self) -> None:
        """Cancel the running tasks, call the closers and stop the loop."""
        if not self.thread.is_alive():  # in a forked process: both belong to its parent
            return
        with contextlib.suppress(TimeoutError):  # tasks that hang are abandoned
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


def _background_loop() -> _BackgroundLoop:
    with _starting:
        return _start(os.getpid())


@cache
def _start(process: int) -> _BackgroundLoop:
    """Return the loop of a process."""
    del process  # the cache key
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="spanwise-models", daemon=True)
    background = _BackgroundLoop(loop, thread)
    thread.start()
    atexit.register(background.end)
    return background
