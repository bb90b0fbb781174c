"""Sets of characters as sorted, disjoint, half-open ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["Range", "difference", "intersection", "length", "union"]

Range = tuple[int, int]
"""First character and one past the last."""


def union(ranges: Iterable[Range]) -> list[Range]:
    """Return the characters of any ranges; those that touch become one, empty ones are dropped."""
    out: list[Range] = []
    for start, end in sorted(ranges):
        if end <= start:
            continue
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def length(ranges: Iterable[Range]) -> int:
    """Return the number of characters of disjoint ranges."""
    return sum(end - start for start, end in ranges)


def intersection(first: Sequence[Range], second: Sequence[Range]) -> list[Range]:
    """Return the characters that two unions share."""
    out: list[Range] = []
    one = other = 0
    while one < len(first) and other < len(second):
        start = max(first[one][0], second[other][0])
        end = min(first[one][1], second[other][1])
        if start < end:
            out.append((start, end))
        if first[one][1] < second[other][1]:
            one += 1
        else:
            other += 1
    return out


def difference(first: Sequence[Range], second: Sequence[Range]) -> list[Range]:
    """Return the characters of one union that another does not hold."""
    out: list[Range] = []
    for start, end in first:
        at = start
        for held_start, held_end in intersection([(start, end)], second):
            if held_start > at:
                out.append((at, held_start))
            at = held_end
        if at < end:
            out.append((at, end))
    return out
