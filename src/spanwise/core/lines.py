r"""Where lines and paragraphs end, and where a text must not be cut.

Rules:
    A line ends after its line break and the blank lines that follow; "\r\n" is one break.
    The indentation of a line belongs to that line.
    A cut never falls between "\r" and "\n", between two surrogates, or before a
    combining mark that stands on the same line.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["LINE_BREAKS", "LINE_END", "is_joined", "is_paragraph_end", "safe_cut"]

LINE_BREAKS = "\n\r\x0b\x0c\x85\u2028\u2029"
"""Characters that end a line."""

LINE_END = re.compile(f"[{LINE_BREAKS}](?:[^\\S{LINE_BREAKS}]*+[{LINE_BREAKS}])*")
"""A line break with the blank lines after it; the match ends where the next line starts."""

_JOINER = "\u200d"


def is_paragraph_end(line_end: re.Match[str]) -> bool:
    """Return whether a match of `LINE_END` holds a blank line."""
    length = line_end.end() - line_end.start()
    return length > 1 and not (length == 2 and line_end.group() == "\r\n")


def is_joined(text: str, place: int) -> bool:
    """Return whether the characters before and after a place are parts of one that people see."""
    before, after = text[place - 1], text[place]
    if after < "\u0300":
        return after == "\n" and before == "\r"
    if before in LINE_BREAKS:
        return False
    if "\udc00" <= after <= "\udfff":
        return "\ud800" <= before <= "\udbff"
    return (
        _JOINER in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or unicodedata.category(after)[0] == "M"
    )


def safe_cut(text: str, cut: int, *, start: int) -> int:
    """Return the last place at or before `cut` where the text may be cut.

    Args:
        text: The text.
        cut: Wanted place, `start < cut <= len(text)`.
        start: Where the piece begins that the cut ends.

    Returns:
        A place in `(start, cut]`; `cut` itself where every place before it is worse or as bad.
    """
    place = cut
    while start < place < len(text) and is_joined(text, place):
        place -= 1
    return place if place > start else cut
