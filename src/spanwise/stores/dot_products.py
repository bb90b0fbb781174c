"""Dot products of quantised vectors: exact integers, with or without simsimd.

`np.vecdot` never enters the thread pool of BLAS.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK_ROWS = 4_096
_EXACT_COLUMNS = 1_024  # 127 * 127 * 1,024 is below 2**24: exact in float32


@lru_cache(maxsize=1)
def _simsimd() -> Any:
    """Return the simsimd module, or None if it is not installed."""
    try:
        import simsimd
    except ImportError:
        return None
    return simsimd


def dot_products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the integer dot product of each row and a query, (n,); see `dot_table`."""
    return dot_table(rows, query[None, :]).reshape(-1)


def dot_table(rows: NDArray[np.int8], queries: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the integer dot products of rows and queries, (queries, n).

    Integers above 2**24 (possible with more than 1,040 components) are rounded once.

    Args:
        rows: Quantised vectors, (n, dimension), dimension >= 1.
        queries: Quantised query vectors, (queries, dimension).
    """
    fast = _simsimd()
    if fast is None or not len(rows):
        return np.stack([_plain_products(rows, query) for query in queries])
    table = fast.cdist(queries, np.ascontiguousarray(rows), "dot", out_dtype="float32")
    return np.asarray(table, dtype=np.float32).reshape(len(queries), len(rows))


def _plain_products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the dot products computed with numpy, in blocks of rows converted to float32."""
    products = np.zeros(len(rows))
    for first in range(0, len(query), _EXACT_COLUMNS):
        part = query[first : first + _EXACT_COLUMNS].astype(np.float32)
        block = np.empty((min(_BLOCK_ROWS, len(rows)), len(part)), dtype=np.float32)
        for start in range(0, len(rows), _BLOCK_ROWS):
            here = rows[start : start + _BLOCK_ROWS, first : first + len(part)]
            wide = block[: len(here)]
            wide[...] = here
            products[start : start + len(here)] += np.vecdot(wide, part)
    return products.astype(np.float32)
