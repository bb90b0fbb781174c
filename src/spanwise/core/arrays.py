"""Functions on arrays of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Number = TypeVar("_Number", bound=np.generic)


def distinct(values: NDArray[_Number]) -> NDArray[_Number]:
    """Return the distinct values of an array without NaN, ascending.

    Faster than `np.unique`, whose first call imports `numpy.ma`.
    """
    ordered = np.sort(values, axis=None)
    is_new = np.ones(len(ordered), dtype=bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new]


def run_indexes(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the integers of the ranges `[start, start + length)`, concatenated."""
    ends: NDArray[np.int64] = lengths.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    indexes = np.arange(total, dtype=np.int64)
    indexes += (starts - (ends - lengths)).repeat(lengths)
    return indexes


def find_places(known: NDArray[_Number], values: NDArray[_Number]) -> NDArray[np.int64]:
    """Return the index of each value in an ascending array; -1 if it is missing."""
    if not len(known):
        return np.full(len(values), -1, dtype=np.int64)
    places: NDArray[np.int64] = known.searchsorted(values)
    places[places == len(known)] = 0
    places[known[places] != values] = -1
    return places


def true_ranges(values: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the ranges of consecutive true values."""
    padded = np.zeros(len(values) + 2, dtype=bool)
    padded[1:-1] = values
    edges = np.flatnonzero(padded[1:] != padded[:-1]).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))
