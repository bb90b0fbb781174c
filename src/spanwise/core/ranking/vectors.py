"""Stored vectors: unit rows in half precision, and integer rows with a scale for comparison.

Rules:
    A row is stored at unit length in half precision; only its direction matters. Normalising a
    stored row again gives the same bits.
    For comparison, the largest component of a row becomes 127 or -127 and the others are rounded to
    integers. The scale is one over the length of that row of integers.
    A cosine is the integer dot product times both scales. Arithmetic is on exact integers until the
    last step, so every machine and every way to multiply gives the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_HEADER_WEIGHT = 0.4
_LEVELS = 127
_ROUNDING = 1e-3  # rounding error of a unit length in half precision


def _double_rows(vectors: ArrayLike) -> NDArray[np.float64]:
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"vectors have the shape {rows.shape}; give one row a vector")
    return rows


def _largest(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest absolute component of each row, 1 for a row of zeros, (n, 1).

    Raises:
        ValueError: If a number is not finite.
    """
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    if not np.isfinite(largest).all():  # the maximum of a row with NaN is NaN
        raise ValueError("vectors hold a number that is not finite; give finite numbers")
    return np.where(largest > 0, largest, 1.0)


def unit_rows(vectors: ArrayLike) -> NDArray[np.float16]:
    """Return the rows at unit length in half precision, as a store holds them.

    Args:
        vectors: One vector per row, of any length, (n, d), finite.

    Returns:
        Rows of unit length, (n, d). A row of zeros is unchanged; an output of this function is
        returned unchanged.

    Raises:
        ValueError: If the array is not two-dimensional or a number is not finite.
    """
    rows = _double_rows(vectors)
    largest = _largest(rows)
    scaled = rows / largest  # so that squares neither overflow nor vanish
    lengths = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    with np.errstate(over="ignore"):
        is_stored = np.abs(lengths * largest - 1.0)[:, 0] < _ROUNDING
    if not is_stored.any():
        scaled /= np.where(lengths > 0, lengths, 1.0)
        return scaled.astype(np.float16)
    if isinstance(vectors, np.ndarray) and vectors.dtype == np.float16 and is_stored.all():
        return vectors.astype(np.float16)  # a copy; the comparison below is slow
    halves = np.empty(rows.shape, dtype=np.float16)
    halves[is_stored] = near = rows[is_stored]
    is_stored[is_stored] = (halves[is_stored] == near).all(axis=1)
    if not is_stored.all():
        others = ~is_stored
        halves[others] = scaled[others] / np.where(lengths > 0, lengths, 1.0)[others]
    return halves


def quantise_rows(vectors: ArrayLike) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return rows of integers in [-127, 127] and the scale of each row.

    Integers times scale is a vector of unit length. A cosine is therefore in [-1, 1], and that of a
    vector to itself is 1, up to rounding. Stores quantise the output of `unit_rows`.

    Args:
        vectors: One vector per row, of any length, (n, d), finite.

    Returns:
        The integers, (n, d), and the scales, (n,); a row of zeros has scale 0.

    Raises:
        ValueError: If the array is not two-dimensional or a number is not finite.
    """
    rows = _double_rows(vectors)
    integers = np.rint(rows / _largest(rows) * _LEVELS).astype(np.int8)
    wide = integers.astype(np.int64)
    squares = (wide * wide).sum(axis=1)
    scales = np.where(squares > 0, 1.0 / np.sqrt(np.maximum(squares, 1)), 0.0)
    return integers, scales.astype(np.float32)


def cosines(
    dots: ArrayLike, scales: NDArray[np.float32], *, query_scale: NDArray[np.float32] | np.float32
) -> NDArray[np.float32]:
    """Return the cosines of rows to a query vector, (n,), or to several, (queries, n).

    Args:
        dots: Integer dot products of the quantised rows and the quantised query, (n,), or of each
            query, (queries, n); below 2**24 they are exact in float32.
        scales: Scale of each row, (n,).
        query_scale: Scale of the query, or of each query, (queries, 1).
    """
    return np.asarray(dots, dtype=np.float32) * (scales * query_scale)


def add_headers(texts: NDArray[np.float16], headers: NDArray[np.float16]) -> NDArray[np.float16]:
    """Return the unit vectors of texts with headers, for an embedder that adds up word vectors.

    The weight of a header is low, so that chunks with the same header stay apart.

    Args:
        texts: Unit vector of each text, (n, d).
        headers: Unit vector of the header of each text, (n, d).
    """
    return unit_rows(texts.astype(np.float64) + _HEADER_WEIGHT * headers.astype(np.float64))
