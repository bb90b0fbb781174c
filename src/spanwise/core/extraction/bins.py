"""Partition of the evidence of one document into several excerpts (bin packing in order).

Rules:
    Each excerpt is a consecutive range of evidence units that fits into its capacity. The best
    partition has the least loss: the text left out between the units of an excerpt, and the
    capacity that an excerpt cannot fill because its neighbours are close on both sides.

Method: dynamic programming over the ends of the excerpts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """Number and size of the excerpts of one document."""

    count: int
    """Number of excerpts, at least 1."""
    capacity_tokens: int
    """Maximum tokens of the runs of one excerpt."""
    run_tokens: int
    """Tokens that each run of chunks needs in addition to its text."""
    chunks: int
    """Number of chunks of the document."""


@dataclass(frozen=True, slots=True)
class _Partition:
    """Best partition of the first units into a number of excerpts."""

    lost: int
    ranges: tuple[tuple[int, int], ...]


def split_units(
    units: Sequence[tuple[int, int]], lengths_tokens: Sequence[int], bins: Bins
) -> list[tuple[int, int]]:
    """Return a partition of units into `bins.count` excerpts with the least loss.

    Args:
        units: Ranges of chunks in order, disjoint; they may touch.
        lengths_tokens: Tokens of each unit, at least 1.
        bins: Number and size of the excerpts.

    Returns:
        Ranges of unit indexes, in order; ties go to the partition with later cuts. Empty if no
        partition fits.
    """
    if not units:
        return []
    split = _Split(units, lengths_tokens, bins)
    partitions: dict[int, _Partition] = {0: _Partition(0, ())}
    for _ in range(bins.count):
        extended: dict[int, _Partition] = {}
        for start, before in partitions.items():
            for end, lost in split.ranges_from(start):
                current = extended.get(end)
                if current is None or before.lost + lost < current.lost:
                    extended[end] = _Partition(before.lost + lost, (*before.ranges, (start, end)))
        partitions = extended
    complete = partitions.get(len(units))
    return list(complete.ranges) if complete is not None else []


def next_fit(
    units: Sequence[tuple[int, int]], lengths_tokens: Sequence[int], bins: Bins
) -> list[tuple[int, int]]:
    """Return a partition of units into excerpts by next fit: each excerpt is filled in order.

    Args:
        units: Ranges of chunks in order, disjoint; they may touch.
        lengths_tokens: Tokens of each unit, at least 1.
        bins: Size of the excerpts; `bins.count` is ignored.

    Returns:
        Ranges of unit indexes, in order. Empty if a unit is longer than an excerpt.
    """
    groups: list[tuple[int, int]] = []
    free_tokens = -1
    for at, (unit, tokens) in enumerate(zip(units, lengths_tokens, strict=True)):
        opens = at == 0 or units[at - 1][1] < unit[0]
        cost = tokens + (bins.run_tokens if opens else 0)
        if cost <= free_tokens:
            groups[-1] = (groups[-1][0], at + 1)
            free_tokens -= cost
        else:
            groups.append((at, at + 1))
            free_tokens = bins.capacity_tokens - tokens - bins.run_tokens
            if free_tokens < 0:
                return []
    return groups


class _Split:
    """Units of one document, with the estimated tokens of the gaps between them."""

    def __init__(
        self, units: Sequence[tuple[int, int]], lengths_tokens: Sequence[int], bins: Bins
    ) -> None:
        self._units = units
        self._lengths = lengths_tokens
        self._bins = bins
        chunks = sum(end - start for start, end in units)
        mean = max(1, sum(lengths_tokens) // chunks)
        edges = [0, *(end for _, end in units)]
        nexts = [*(start for start, _ in units), bins.chunks]
        self._gaps = [mean * (b - a) for a, b in zip(edges, nexts, strict=True)]
        """Estimated tokens before each unit and after the last one."""

    def ranges_from(self, start: int) -> list[tuple[int, int]]:
        """Return the end and the loss of each range of units from `start` that fits an excerpt."""
        ends = []
        tokens = gap_tokens = 0
        for end in range(start + 1, len(self._units) + 1):
            touches = end - 1 > start and not self._gaps[end - 1]
            tokens += self._lengths[end - 1] + (0 if touches else self._bins.run_tokens)
            gap_tokens += self._gaps[end - 1] if end - 1 > start else 0
            unused = self._bins.capacity_tokens - tokens
            if unused < 0:
                break
            room = gap_tokens + self._gaps[start] + self._gaps[end]
            ends.append((end, max(0, gap_tokens - unused) + max(0, unused - room)))
        return ends
