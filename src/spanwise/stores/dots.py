"""Dot products of quantised vectors: exact integers, with or without simsimd.

One thread a search, always: pools of threads make searches slower on busy machines. `np.vecdot`
never enters the pool of BLAS.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["dot_products"]

_BLOCK_ROWS = 4_096
_EXACT_COLUMNS = 1_024  # 127 * 127 * 1,024 is below 2**24: exact in float32


@lru_cache(maxsize=1)
def _simsimd() -> Any:
    """Return the module, or None where it is not installed."""
    try:
        import simsimd
    except ImportError:
        return None
    return simsimd


def dot_products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the integer dot product of each row and a query, (n,).

    Above 2**24, which takes vectors of more than 1,040 components, integers are rounded once.

    Args:
        rows: (n, dimension), dimension >= 1.
        query: (dimension,).
    """
    fast = _simsimd()
    if fast is None or not len(rows):
        return _plain_products(rows, query)
    table = fast.cdist(query[None, :], np.ascontiguousarray(rows), "dot", out_dtype="float32")
    return np.asarray(table, dtype=np.float32).reshape(-1)


def _plain_products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """Do the same with numpy: rows become float32 in blocks, whose products are exact."""
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
