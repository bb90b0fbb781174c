"""How far compressed data may expand before it counts as a decompression bomb."""

from __future__ import annotations

__all__ = ["MAX_RATIO", "is_bomb"]

MAX_RATIO = 1000
"""Ratio of unpacked to packed bytes that ordinary files stay below."""

_FLOOR_BYTES = 50_000_000
"""Size up to which the ratio is not looked at."""


def is_bomb(size: int, *, packed_bytes: int) -> bool:
    """Return whether data that unpacks to `size` bytes is a decompression bomb."""
    return size > _FLOOR_BYTES and size > MAX_RATIO * packed_bytes
