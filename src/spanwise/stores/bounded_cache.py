"""Cache of a bounded size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class BoundedCache(Generic[_Key, _Value]):
    """Cache that removes the least recently used values above a total size. Thread-safe."""

    def __init__(self, max_size: int) -> None:
        """Create an empty cache.

        Args:
            max_size: Maximum total size, in the unit that `add` is called with.
        """
        self._max_size = max_size
        self._size = 0
        self._values: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, keys: Iterable[_Key]) -> dict[_Key, _Value]:
        """Return the cached values of some keys."""
        found = {}
        with self._lock:
            for key in keys:
                held = self._values.get(key)
                if held is not None:
                    self._values.move_to_end(key)
                    found[key] = held[0]
        return found

    def add(self, key: _Key, value: _Value, size: int) -> None:
        """Add or replace a value, and remove others above the maximum size."""
        with self._lock:
            before = self._values.pop(key, None)
            self._size += size - (before[1] if before else 0)
            self._values[key] = value, size
            while self._size > self._max_size and len(self._values) > 1:
                _, (_, removed) = self._values.popitem(last=False)
                self._size -= removed

    def remove(self, is_removed: Callable[[_Key], bool]) -> None:
        """Remove the values of all keys that a function chooses."""
        with self._lock:
            for key in [key for key in self._values if is_removed(key)]:
                self._size -= self._values.pop(key)[1]

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
            self._size = 0
