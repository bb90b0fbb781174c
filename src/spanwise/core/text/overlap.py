"""Text that a chunk repeats from the end of the chunk before it."""

from __future__ import annotations

_MAX_OVERLAP_CHARS = 10_000
"""Maximum length of an overlap that is detected."""
_MIN_OVERLAP_CHARS = 20
_MIN_OVERLAP_LETTERS = 8
"""Minimum number of different characters of an overlap. Rules and empty table rows have fewer."""


def overlap_chars(before: str, after: str) -> int:
    """Return the length of the longest end of a text that is the beginning of another; 0 for none.

    Short overlaps and those of few different characters do not count: they occur by chance.
    """
    before = before[-_MAX_OVERLAP_CHARS:]
    opening = after[:_MIN_OVERLAP_CHARS]
    start = before.find(opening) if len(opening) == _MIN_OVERLAP_CHARS else -1
    while start >= 0:
        end = before[start:]
        if after.startswith(end):
            return len(end) if len(set(end)) >= _MIN_OVERLAP_LETTERS else 0
        start = before.find(opening, start + 1)
    return 0
