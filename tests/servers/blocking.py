"""An asynchronous object for tests that are written for the blocking one."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

__all__ = ["Blocking"]

_GROUPS = ("threads", "packs", "jobs")


class Blocking:
    """The methods of an asynchronous object, run on an event loop of the test."""

    def __init__(self, wrapped: Any, runner: asyncio.Runner) -> None:
        """Wrap an object whose coroutines run on the loop of a runner."""
        self._wrapped = wrapped
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._wrapped, name)
        if name in _GROUPS:
            return Blocking(value, self._runner)
        if name == "ask_stream":
            return lambda *args, **kwargs: _Stream(value(*args, **kwargs), self._runner)

        def call(*args: Any, **kwargs: Any) -> Any:
            found = value(*args, **kwargs)
            return self._runner.run(found) if inspect.iscoroutine(found) else found

        return call


class _Stream:
    def __init__(self, wrapped: Any, runner: asyncio.Runner) -> None:
        self._wrapped = wrapped
        self._runner = runner

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        async def piece() -> str | None:
            return await anext(self._wrapped, None)

        found = self._runner.run(piece())
        if found is None:
            raise StopIteration
        return found

    @property
    def answer(self) -> Any:
        return self._runner.run(self._wrapped.answer())

    def close(self) -> None:
        self._runner.run(self._wrapped.close())
