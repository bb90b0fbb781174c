"""Where the sections of a document begin, from what a model said of it.

An answer names sections by the line that each begins with; each goes on to where the next begins.
So whatever the answer holds, its sections neither overlap nor leave a gap.

Rules:
    Numbers that no line has are left out. Of several sections that begin with one line, the first
    that has a title counts; in which order they are named does not matter.
    Lines before the first section that is named, and parts that none begins with, are sections
    without a title.
    A section that begins right after a heading begins with that heading, and gives the title where
    the heading was named as a section of its own.
    A section too short to stand alone joins the next one in its part, or else the one before it;
    then neighbours of one title are one section. The longest one gives the title.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from spanwise.core.model_sections.lines import NumberedLines
from spanwise.core.model_sections.titles import clean_title
from spanwise.core.model_sections.windows import Stretch

__all__ = ["decide_seam", "read_starts", "settle_starts"]


class _Run(NamedTuple):
    """Lines of one section."""

    start: int
    stop: int
    title: str
    """Empty where it has none."""
    titled_chars: int
    """Length of the section that gave the title; 0 where it has none."""


def read_starts(
    named: Iterable[tuple[int, str]], *, lines: NumberedLines, window: range
) -> dict[int, str]:
    """Return the title of each section by the line that it begins with, in order.

    Args:
        named: Number of the first line and title of each section, as the model said it.
        lines: Of the document.
        window: What the model read, where its line 1 is the first; not empty.

    Returns:
        Lines of the document, the first of the window among them; a title may be empty.
    """
    first, last = (bisect_left(lines.parts, line) for line in (window.start, window.stop))
    starts = dict.fromkeys([window.start, *lines.parts[first:last]], "")
    for number, title in sorted(named, key=lambda section: section[0]):
        line = place = window.start + number - 1
        if line not in window:
            continue
        while place not in starts and place - 1 in lines.headings:
            place -= 1
        known = starts.get(place, "")
        if place < line or not known:
            starts[place] = clean_title(title, first_line=lines.shown[place]) or known
    return dict(sorted(starts.items()))


def decide_seam(
    starts: Mapping[int, str], stretch: Stretch, decided: Mapping[int, str]
) -> dict[int, str]:
    """Return the sections of a document where those around a seam begin as was decided.

    A section that crosses the seam has the title that was decided; others keep what they had.

    Args:
        starts: Title of each section by its first line, as the windows say.
        stretch: The lines around the seam.
        decided: The same for these lines alone, the first of them among them.
    """
    new = {line: title for line, title in starts.items() if line not in stretch.lines}
    owner = max(line for line in starts if line <= stretch.lines.start)
    for line, stop in pairwise([*sorted(decided), stretch.lines.stop]):
        place = owner if line == stretch.lines.start else line
        title = starts.get(place, "")
        if line < stretch.seam < stop or not title:
            title = decided[line] or title
        new[place] = title
    return dict(sorted(new.items()))


def settle_starts(
    starts: Mapping[int, str], *, lines: NumberedLines, stop: int, min_chars: int
) -> dict[int, str]:
    """Return sections of which none is too short, and no two neighbours of a part have one title.

    Args:
        starts: Title of each section by its first line, in order, not empty; parts begin sections.
        lines: Of the document.
        stop: The line that the last section ends before.
        min_chars: Least length of a section, but of one that is a whole part.
    """
    bounds = [*starts, stop]
    runs = [
        _Run(line, end, starts[line], lines.chars(line, end) if starts[line] else 0)
        for line, end in pairwise(bounds)
    ]
    parts = frozenset(lines.parts)
    joined = _join_short(runs, lines, parts, min_chars)
    settled: list[_Run] = []
    for run in joined:
        title = run.title.casefold()
        if settled and title and run.start not in parts and settled[-1].title.casefold() == title:
            settled[-1] = _join(settled[-1], run)
        else:
            settled.append(run)
    return {run.start: run.title for run in settled}


def _join_short(
    runs: Iterable[_Run], lines: NumberedLines, parts: frozenset[int], min_chars: int
) -> list[_Run]:
    joined: list[_Run] = []
    for run in runs:
        if joined and run.start not in parts and _is_short(joined[-1], lines, min_chars):
            joined[-1] = _join(joined[-1], run)
        else:
            joined.append(run)
    settled: list[_Run] = []
    for run in joined:
        if settled and run.start not in parts and _is_short(run, lines, min_chars):
            settled[-1] = _join(settled[-1], run)
        else:
            settled.append(run)
    return settled


def _is_short(run: _Run, lines: NumberedLines, min_chars: int) -> bool:
    return lines.chars(run.start, run.stop) < min_chars


def _join(before: _Run, after: _Run) -> _Run:
    longest = after if after.titled_chars > before.titled_chars else before
    return _Run(before.start, after.stop, longest.title, longest.titled_chars)
