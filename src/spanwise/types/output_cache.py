"""Interface of a cache of model outputs."""

from __future__ import annotations

from typing import Protocol


class OutputCache(Protocol):
    """Cache of model outputs by a hash of the whole request. Thread-safe."""

    def get_output(self, key: str) -> str | None:
        """Return the cached output of a key, or None."""

    def put_output(self, key: str, output: str, *, task: str, model: str) -> None:
        """Cache an output, durable when this returns; the first output of a key is final.

        A cache that cannot be written at all drops the output and logs a warning.

        Raises:
            StoreError: If the output cannot be written.
        """
