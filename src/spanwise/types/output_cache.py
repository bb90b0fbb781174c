"""Interface of the cache of model outputs, and the computation of its keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class OutputCache(Protocol):
    """Cache of model outputs by a hash of the whole request. Thread-safe."""

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached outputs of some keys, by key; keys without an output are left out."""

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache outputs, durable when this returns; the first output of a key is final.

        A cache that cannot be written at all drops the outputs and logs a warning.

        Raises:
            StoreError: If the outputs cannot be written.
        """

    def remove_output(self, key: str) -> None:
        """Remove the output of a key, if there is one.

        A cache that cannot be written at all keeps it.

        Raises:
            StoreError: If the cache cannot be written.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedOutput:
    """Output of a model in a cache."""

    key: str
    """Hash of the whole request."""
    output: str
    """Text of the output."""
    task: str
    """Task that the model was called for, such as "title"."""
    model: str
    """Name of the model."""


def output_key(parts: Sequence[object]) -> str:
    """Return the cache key of a request, 64 hex digits.

    Args:
        parts: Everything that the output depends on, as JSON values.
    """
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True, sort_keys=True).encode()).hexdigest()
