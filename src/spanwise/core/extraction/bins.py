"""Cut what several excerpts of one document show into stretches that follow each other.

Rules:
    Each stretch fits. Best is where the least is lost: text that stays out between the parts of a
    stretch, and tokens that a stretch cannot fill, because others stand close to both its sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """The excerpts of one document."""

    count: int
    """How many there are, at least 1."""
    capacity_tokens: int
    """Of each, for its parts."""
    run_tokens: int
    """What each run of chunks costs besides its text."""
    chunks: int
    """Chunks of the document."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Stretches of the first units."""

    lost: int
    ranges: tuple[tuple[int, int], ...]


def split_units(
    units: Sequence[tuple[int, int]], lengths_tokens: Sequence[int], bins: Bins
) -> list[tuple[int, int]]:
    """Return units in stretches, a stretch for each excerpt, so that the least is lost.

    Args:
        units: Ranges of chunks in order, disjoint; they may touch.
        lengths_tokens: Length of each, at least 1.
        bins: What they are put into.

    Returns:
        Ranges of positions among the units, in order; ties go to later cuts. None where no
        stretches fit.
    """
    if not units:
        return []
    split = _Split(units, lengths_tokens, bins)
    best: dict[int, _Found] = {0: _Found(0, ())}
    for _ in range(bins.count):
        longer: dict[int, _Found] = {}
        for start, before in best.items():
            for end, lost in split.stretches(start):
                found = longer.get(end)
                if found is None or before.lost + lost < found.lost:
                    longer[end] = _Found(before.lost + lost, (*before.ranges, (start, end)))
        best = longer
    whole = best.get(len(units))
    return list(whole.ranges) if whole is not None else []


def next_fit(
    units: Sequence[tuple[int, int]], lengths_tokens: Sequence[int], bins: Bins
) -> list[tuple[int, int]]:
    """Return units in stretches, each as long as it fits.

    Args:
        units: As `split_units`.
        lengths_tokens: As `split_units`.
        bins: What they are put into; there may be fewer or more stretches than excerpts.

    Returns:
        As `split_units`. None where a unit fits into no stretch.
    """
    groups: list[tuple[int, int]] = []
    left = -1
    for at, (unit, tokens) in enumerate(zip(units, lengths_tokens, strict=True)):
        opens = at == 0 or units[at - 1][1] < unit[0]
        cost = tokens + (bins.run_tokens if opens else 0)
        if cost <= left:
            groups[-1] = (groups[-1][0], at + 1)
            left -= cost
        else:
            groups.append((at, at + 1))
            left = bins.capacity_tokens - tokens - bins.run_tokens
            if left < 0:
                return []
    return groups


class _Split:
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
        """Tokens, about, before each unit and after the last one."""

    def stretches(self, start: int) -> list[tuple[int, int]]:
        """Return the ends of stretches that fit, and what each loses."""
        found = []
        tokens = left_out = 0
        for end in range(start + 1, len(self._units) + 1):
            touches = end - 1 > start and not self._gaps[end - 1]
            tokens += self._lengths[end - 1] + (0 if touches else self._bins.run_tokens)
            left_out += self._gaps[end - 1] if end - 1 > start else 0
            unused = self._bins.capacity_tokens - tokens
            if unused < 0:
                break
            room = left_out + self._gaps[start] + self._gaps[end]
            found.append((end, max(0, left_out - unused) + max(0, unused - room)))
        return found
