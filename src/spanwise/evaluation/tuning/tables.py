"""The relevance that a share stands for, fitted to the questions of some documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Judged", "fitted_table"]

_KNOWN_HITS = 20.0
"""So many chunks with evidence at each share are what the earlier table counts for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judged:
    """Shares of the candidates of one question, by weights that were not trained on it."""

    shares: Floats
    """(c,)."""
    holds: NDArray[np.bool_]
    """Whether each holds evidence, (c,)."""


def fitted_table(table: Floats, judged: Sequence[Judged]) -> Floats:
    """Return a table of shares and relevances that fits some questions better, (2, k).

    At each share of the earlier table, the chance of evidence is multiplied by how many chunks
    around that share hold evidence, over how many were expected to; both sides begin at the same
    number, so that few questions change little. Then the chances are made to ascend, by isotonic
    regression (pool adjacent violators).

    Args:
        table: Shares ascending from 0 to 1, and their chances ascending from 0, (2, k), k >= 2.
        judged: What the questions say.
    """
    shares, chances = table[:, 1:-1]
    if not len(shares) or not judged:
        return table
    edges = np.sqrt(shares[:-1] * shares[1:])  # the middle of two shares, in their logarithms
    hits, expected = np.zeros(len(shares)), np.zeros(len(shares))
    for one in judged:
        at = np.searchsorted(edges, one.shares, side="right")
        hits += np.bincount(at, one.holds, len(shares))
        expected += np.bincount(at, np.interp(one.shares, *table), len(shares))
    changed = chances * (hits + _KNOWN_HITS) / (expected + _KNOWN_HITS)
    fitted = np.minimum(_ascending(changed, weights=expected + _KNOWN_HITS), 1.0)
    return np.array([table[0], np.concatenate(([0.0], fitted, fitted[-1:]))])


def _ascending(values: Floats, *, weights: Floats) -> Floats:
    """Return the nearest values that never fall, in the mean of weighted squares, (n,)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, count = value, weight, 1
        while pools and pools[-1][0] > mean:
            above, more, others = pools.pop()
            mean = (above * more + mean * mass) / (more + mass)
            mass, count = mass + more, count + others
        pools.append((mean, mass, count))
    return np.concatenate([np.full(count, mean) for mean, _, count in pools])
