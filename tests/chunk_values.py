"""Chunk values and lengths made of whole numbers, the same on every platform."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Documents = tuple[list[Floats], list[Integers]]


def numbers(seed: int) -> Callable[[int], int]:
    """Return a source of whole numbers below a limit, the same on every platform."""
    state = seed

    def draw(limit: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (state >> 33) % limit

    return draw


def random_documents(seed: int, *, documents: int, chunks: int) -> Documents:
    """Return clustered values in thousandths, most below 0, and lengths."""
    draw = numbers(seed)
    values, lengths = [], []
    for _ in range(documents):
        row, left = [], 0
        for _ in range(chunks):
            left = left - 1 if left else (draw(12) if draw(12) == 0 else 0)
            row.append((draw(900) - 150 if left else -draw(150)) / 1000)
        values.append(np.array(row))
        lengths.append(np.array([40 + draw(160) for _ in range(chunks)], dtype=np.int64))
    return values, lengths


def share_documents(seed: int, *, documents: int, chunks: int) -> Documents:
    """Return shares in millionths, few of them large, 0 for every third chunk, and lengths."""
    draw = numbers(seed)
    values, lengths = [], []
    for _ in range(documents):
        row = [draw(1 << draw(16)) / 1e6 if draw(3) else 0.0 for _ in range(chunks)]
        values.append(np.array(row))
        lengths.append(np.array([40 + draw(90) for _ in range(chunks)], dtype=np.int64))
    return values, lengths
