"""How far data may expand: the limits, and the ratio that only decompression bombs have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

MAX_RATIO = 1000
"""Ratio of unpacked to packed bytes that ordinary files stay below."""

_FLOOR_BYTES = 50_000_000
"""Size up to which the ratio is not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit, or what is left of it."""

    most: int
    """Largest number that is allowed."""
    option: str
    """The option that sets the limit with its value, as errors name it."""

    def less(self, count: int) -> Self:
        """Return what is left after so many were used; never less than 0."""
        return replace(self, most=max(0, self.most - count))


def is_bomb(size: int, *, packed_bytes: int) -> bool:
    """Return whether data that unpacks to `size` bytes is a decompression bomb."""
    return size > _FLOOR_BYTES and size > MAX_RATIO * packed_bytes
