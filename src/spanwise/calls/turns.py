"""One after the other, for each key: who comes with the same key waits for its turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

__all__ = ["Turns"]


@dataclass(slots=True)
class _Turn:
    lock: Lock = field(default_factory=Lock)
    users: int = 0


@dataclass(slots=True)
class Turns:
    """Lets one thread at a time in, for each key. Safe for use by several threads."""

    _turns: dict[str, _Turn] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def of(self, key: str) -> Iterator[None]:
        """Wait until nobody else is in with this key, and be in until the end of the block."""
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.users += 1
        try:
            with turn.lock:
                yield
        finally:
            with self._lock:
                turn.users -= 1
                if not turn.users:
                    del self._turns[key]
