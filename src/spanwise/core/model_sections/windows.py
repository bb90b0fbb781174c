"""Windows of lines: what a model reads in one call, and where two of them meet.

Rules:
    A window holds whole lines, and no more tokens than the limit but where a single line does.
    Parts that follow each other share a window as long as they fit. A part that does not fit
    into one is split evenly, and shares none of its windows.
    A seam is where two windows meet inside a part. What is decided anew there: the last section
    of the one, and the first sections of the other up to `min_chars`; of no window more than half,
    so that all seams can be decided at once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from spanwise.core.model_sections.lines import NumberedLines

__all__ = ["Stretch", "find_stretches", "split_windows"]


class Stretch(NamedTuple):
    """Lines around a seam."""

    lines: range
    seam: int
    """The line that the second window begins with, inside the range."""


def split_windows(tokens: Sequence[int], *, parts: Sequence[int], limit: int) -> list[range]:
    """Return the windows of a document: ranges of lines that follow each other.

    Args:
        tokens: Length of each line.
        parts: Lines that parts begin with, rising, the first of them 0.
        limit: Most tokens of a window.
    """
    sums = [0, *accumulate(tokens)]
    bounds = [0]
    is_open = False  # whether more parts may join the last window
    for start, stop in pairwise([*parts, len(tokens)]):
        if is_open and sums[stop] - sums[bounds[-2]] <= limit:
            bounds[-1] = stop
            continue
        is_open = sums[stop] - sums[start] <= limit
        bounds += [stop] if is_open else _even_bounds(sums, start, stop, limit)
    return [range(start, stop) for start, stop in pairwise(bounds)]


def _even_bounds(sums: Sequence[int], start: int, stop: int, limit: int) -> list[int]:
    """Return where the windows of a part end that is longer than one."""
    total = sums[stop] - sums[start]
    longest = max(sums[line + 1] - sums[line] for line in range(start, stop))
    goal = total / -(-total // max(limit - longest, limit // 2, 1))
    bounds = [start]
    done = 1
    for line in range(start + 1, stop):
        is_full = sums[line + 1] - sums[bounds[-1]] > limit
        if is_full or sums[line] - sums[start] >= done * goal:
            bounds.append(line)
            done = int((sums[line] - sums[start]) / goal) + 1
    return [*bounds[1:], stop]


def find_stretches(
    windows: Sequence[range],
    found: Sequence[Mapping[int, str] | None],
    *,
    lines: NumberedLines,
    tokens: Sequence[int],
    min_chars: int,
) -> list[Stretch]:
    """Return the lines around each seam, in order; none of them in two stretches.

    Args:
        windows: Of the document.
        found: Lines that the sections of each window begin with; None where it has none, so that
            there is nothing to decide beside it.
        lines: Of the document.
        tokens: Length of each line.
        min_chars: Text after a seam that is decided anew, at least.
    """
    sums = [0, *accumulate(tokens)]
    parts = frozenset(lines.parts)
    stretches = []
    for (before, after), (ended, begun) in zip(pairwise(windows), pairwise(found), strict=True):
        seam = after.start
        if ended is None or begun is None or seam in parts:
            continue
        first = max(*ended, bisect_left(sums, (sums[before.start] + sums[seam]) / 2))
        middle = bisect_right(sums, (sums[seam] + sums[after.stop]) / 2) - 1
        ends = [
            line
            for line in sorted(begun)
            if lines.chars(seam, line) >= min_chars or (line in parts and line > seam)
        ]
        last = min([middle, *ends])
        if first < seam < last:
            stretches.append(Stretch(range(first, last), seam))
    return stretches
