"""Do something for items as they come, several at once and ahead of whoever uses the results."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, wait
from functools import partial
from typing import TypeVar

__all__ = ["map_ahead"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_LOOK_SECONDS = 0.1  # waiting without end cannot be interrupted everywhere


def map_ahead(
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    *,
    threads: int,
    stopped: threading.Event | None = None,
) -> Generator[tuple[_Item, Callable[[], _Result]]]:
    """Yield each item with what returns, or raises, what the function made of it; in order.

    Nobody joins the threads: an interrupt waits for nothing. What they then still do is dropped;
    to stop it is up to the function.

    Args:
        function: Called for each item.
        items: Taken as far ahead as there are threads.
        threads: Items at once; 0 to do each when its result is asked for.
        stopped: Once it is set, no more items are taken; None for nothing that ends it.
    """
    if not threads:
        for item in items:
            yield item, partial(function, item)
        return
    waiting: deque[tuple[_Item, Future[_Result]]] = deque()
    for item in items:
        waiting.append((item, _begin(function, item)))
        if len(waiting) == threads:
            yield _settled(*waiting.popleft())
        if stopped is not None and stopped.is_set():
            break
    while waiting:
        yield _settled(*waiting.popleft())


def _begin(function: Callable[[_Item], _Result], item: _Item) -> Future[_Result]:
    outcome: Future[_Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(function(item))
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            outcome.set_exception(error)

    threading.Thread(target=run, name="spanwise-make", daemon=True).start()
    return outcome


def _settled(item: _Item, outcome: Future[_Result]) -> tuple[_Item, Callable[[], _Result]]:
    def result() -> _Result:
        while not outcome.done():
            wait((outcome,), timeout=_LOOK_SECONDS)
        return outcome.result()

    return item, result
