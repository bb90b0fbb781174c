"""Exact mean and standard deviation of scores, independent of the order of summation.

Rules:
    A score is rounded to a multiple of `QUANTUM`, so sums of values and of squares are exact
    integers. Sums over parts of any size, in any order, add up to the sum over the whole.
    A value is split into high and low bits, whose products summed over a block stay below 2**53.
    Float64 arithmetic on them is exact in any order of addition.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


QUANTUM = 2.0**-24
"""Unit to which scores are rounded before summation."""

_WORD = 2.0**20
_BLOCK = 8192  # larger dot products would enter the thread pool of BLAS
_EXACT_SQUARES = 2.0**52  # up to this, all sums of a block are exact integers
KEYWORD_SHARE = 0.7
"""Default weight `s` of the keyword score in the fused score; the cosine has `1 - s`."""


class MomentSums:
    """Exact count, sum and sum of squares of scores."""

    __slots__ = ("_count", "_squares", "_sum")

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0
        self._squares = 0

    @classmethod
    def of(cls, scores: NDArray[np.floating], *, zeros: int = 0) -> MomentSums:
        """Return the sums of some scores, (n,), and of a number of zeros.

        Raises:
            ValueError: As `add`.
        """
        sums = cls()
        sums.add(scores)
        sums._count += zeros
        return sums

    @classmethod
    def joined(cls, parts: Iterable[MomentSums]) -> MomentSums:
        """Return the sums over several parts."""
        sums = cls()
        for part in parts:
            sums.merge(part)
        return sums

    def add(self, scores: NDArray[np.floating]) -> None:
        """Add scores of any floating type, (n,).

        Raises:
            ValueError: If a score is not finite or far beyond 65,536 in size; nothing is added.
        """
        total = squares = 0
        value = np.empty(min(_BLOCK, len(scores)))
        high = np.empty_like(value)
        with np.errstate(over="ignore", invalid="ignore"):  # `_block_sums` raises for these
            for start in range(0, len(scores), _BLOCK):
                block = scores[start : start + _BLOCK]
                size = len(block)
                added, added_squares = _block_sums(block, value[:size], high[:size])
                total += added
                squares += added_squares
        self._count += len(scores)
        self._sum += total
        self._squares += squares

    def merge(self, other: MomentSums) -> None:
        """Add the sums of another instance."""
        self._count += other._count
        self._sum += other._sum
        self._squares += other._squares

    def result(self) -> tuple[float, float]:
        """Return the mean and the population standard deviation, (0, 0) without scores."""
        if not self._count:
            return 0.0, 0.0
        mean = self._sum / self._count * QUANTUM
        spread = self._count * self._squares - self._sum * self._sum  # >= 0, as integers
        # `spread` may exceed the range of a float: take the square root of its leading bits.
        shift = max(0, spread.bit_length() - 128)
        shift += shift % 2
        root = math.sqrt(spread >> shift) * 2.0 ** (shift // 2)
        return mean, root / self._count * QUANTUM


def _block_sums(
    block: NDArray[np.floating], value: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[int, int]:
    """Return sum and sum of squares of a block in quanta; `value` and `high` are scratch arrays."""
    np.multiply(block, 1 / QUANTUM, out=value)
    np.rint(value, out=value)
    total = float(value.sum())
    np.multiply(value, 1 / _WORD, out=high)
    np.rint(high, out=high)
    high_squares = float(np.vecdot(high, high))
    if not high_squares <= _EXACT_SQUARES:
        raise ValueError(f"scores are not finite or too large to sum exactly: {block!r}")
    high *= _WORD
    value -= high  # the low word; scaling `high` by a power of two is exact
    mixed = int(np.vecdot(high, value))
    low_squares = int(np.vecdot(value, value))
    return int(total), int(high_squares) * int(_WORD) ** 2 + 2 * mixed + low_squares


def fused_scores(
    keywords: NDArray[np.float64],
    cosines: NDArray[np.floating],
    *,
    keyword_deviation: float,
    cosine_deviation: float,
    keyword_share: float = KEYWORD_SHARE,
) -> NDArray[np.float64]:
    """Return `s z(keyword) + (1 - s) z(cosine)` without its constant term, (n,).

    The constant term does not affect the order.

    Args:
        keywords: Keyword score of each chunk, (n,).
        cosines: Cosine of each chunk, (n,).
        keyword_deviation: Standard deviation of the keyword scores in scope; if 0, they are
            ignored.
        cosine_deviation: Standard deviation of the cosines in scope; if 0, they are ignored.
        keyword_share: Weight `s` of the keyword score, in [0, 1].
    """
    keyword_factor = keyword_share / keyword_deviation if keyword_deviation else 0.0
    cosine_factor = (1 - keyword_share) / cosine_deviation if cosine_deviation else 0.0
    fused: NDArray[np.float64] = np.asarray(cosines, dtype=np.float64) * cosine_factor
    fused += keywords * keyword_factor
    return fused
