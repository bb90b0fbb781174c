"""Relevance along a document as lines of text, with the chosen segments marked below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.explanation import DocumentExplanation
    from spanwise.types import Segment

__all__ = ["mark_line", "relevance_lines"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_SIGNS = " .:-=+*#@"
_WIDEST_CHUNK = 2  # columns; a document of few chunks stays short
_LEVELS = 8  # of one line


def relevance_lines(
    document: DocumentExplanation, *, penalty: float, columns: int, lines: int, is_unicode: bool
) -> list[str]:
    """Return the relevance along a document, lines from top to bottom, on a root scale.

    A column that stands for several chunks shows the best of them. The lowest level is what does
    not exceed the penalty; a chunk that was not read shows nothing.

    Args:
        document: The document.
        penalty: Relevance at which a chunk is worth nothing.
        columns: Width at most.
        lines: Height, >= 1.
        is_unicode: Whether blocks can be written; other signs stand for them where not.
    """
    levels = [0] * _width(document, columns)
    for run in document.runs:
        for number, relevance in enumerate(run.relevances, start=run.start):
            height = math.ceil(math.sqrt(max(relevance, 0.0)) * lines * _LEVELS)
            level = max(2, height) if relevance > penalty else 1
            first, last = _columns_of(number, document, columns)
            for column in range(first, last + 1):
                levels[column] = max(levels[column], level)
    signs = _BLOCKS if is_unicode else _SIGNS
    drawn = []
    for line in reversed(range(lines)):
        inside = (min(max(level - line * _LEVELS, 0), _LEVELS) for level in levels)
        drawn.append("".join(signs[level] for level in inside).rstrip())
    return drawn


def mark_line(
    document: DocumentExplanation, segments: Sequence[Segment], *, columns: int, is_unicode: bool
) -> str:
    """Return the line that marks the segments of a document with their place by worth, from 1."""
    cells = [" "] * _width(document, columns)
    for segment in segments:
        first, _ = _columns_of(segment.first_chunk, document, columns)
        _, last = _columns_of(segment.last_chunk - 1, document, columns)
        cells[first : last + 1] = ("━" if is_unicode else "=") * (last + 1 - first)
    for segment in sorted(
        segments, key=lambda one: -one.rank
    ):  # what is worth most is written last
        place = str(segment.rank + 1)
        first, _ = _columns_of(segment.first_chunk, document, columns)
        first = max(0, min(first, len(cells) - len(place)))
        cells[first : first + len(place)] = place
    return "".join(cells).rstrip()


def _width(document: DocumentExplanation, columns: int) -> int:
    return min(columns, document.chunks * _WIDEST_CHUNK)


def _columns_of(chunk: int, document: DocumentExplanation, columns: int) -> tuple[int, int]:
    """Return the first and last column of a chunk."""
    width = _width(document, columns)
    first = chunk * width // document.chunks
    return first, max(first, (chunk + 1) * width // document.chunks - 1)
