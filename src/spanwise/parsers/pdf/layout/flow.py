"""Joining of lines to paragraphs, and of words that were divided at the end of a line."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spanwise.parsers.pdf.layout.rows import Line


HYPHEN = "\ufffe"
"""Last character of a word that continues in the next line."""

_TAIL = re.compile(r"\w+\Z")
_HEAD = re.compile(r"\w+")
_MAX_WORD_CHARS = 40


class Mender:
    """Joins lines; the rest of the document decides whether a hyphen belongs to a word.

    Words such as "forward-looking" or "recurring" usually occur elsewhere, undivided.
    """

    def __init__(self, words: Set[str]) -> None:
        """Create the mender from the words of the document, lower case, without punctuation."""
        self._words = words

    def join(self, before: str, after: str) -> str:
        """Return two lines as one."""
        stem = before[:-1]
        is_parted = before[-1] == HYPHEN
        if not is_parted and not (before[-1] == "-" and stem[-1:].isalpha()):
            return f"{before} {after}"
        if is_parted or after[0].islower():
            return f"{stem}{self._mark(stem, after)}{after}"
        return f"{before}{after}"

    def _mark(self, before: str, after: str) -> str:
        left = _TAIL.search(before[-_MAX_WORD_CHARS:])
        right = _HEAD.match(after)
        return "-" if left and right and self._keeps(left.group(), right.group()) else ""

    def _keeps(self, left: str, right: str) -> bool:
        """Return whether the hyphen between two parts is part of the word, not of the line end."""
        begin, end = left.lower(), right.lower()
        if begin + end in self._words:
            return False
        compound = f"{begin}-{end}" in self._words or (begin in self._words and end in self._words)
        return compound or right[0].isdigit() or right[0].isupper()


_BULLET = re.compile(
    r"[•●▪■◦‣·○□☐☒☑✓*–—]\s|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s|[A-Z]\)\s|\(\w{1,4}\)\s"
)
_ENDED = re.compile(r"[.:;!?]['\"”’)]*\Z")
_PITCH_SLACK = 1.2
_INDENT = 0.8  # em
_CHAR_WIDTH = 0.5  # em


class Measure(NamedTuple):
    """Type area of the prose of a region, in points."""

    right: float
    """Right margin."""
    pitch: float
    """Usual distance of lines; 0 if unknown."""


def measure_regions(lines: Sequence[Line]) -> dict[int, Measure]:
    """Return the type area of each region of a page."""
    rights: dict[int, list[float]] = {}
    pitches: dict[int, list[float]] = {}
    before: Line | None = None
    for line in lines:
        if line.is_prose:
            rights.setdefault(line.region, []).append(line.right)
            if before is not None and before.region == line.region:
                pitches.setdefault(line.region, []).append(before.baseline - line.baseline)
            before = line
        else:
            before = None
    return {
        region: Measure(
            right=max(ends), pitch=median(pitches[region]) if region in pitches else 0.0
        )
        for region, ends in rights.items()
    }


def goes_on(before: Line, line: Line, measure: Measure | None) -> bool:
    """Return whether a line continues the sentence or paragraph of the line above it."""
    distance = before.baseline - line.baseline
    pitch = max(measure.pitch if measure else 0.0, 1.25 * line.size)
    same_type = abs(before.size - line.size) <= 0.08 * line.size
    if before.region != line.region or not 0 < distance <= _PITCH_SLACK * pitch or not same_type:
        return False
    text = before.text
    if _BULLET.match(line.text):
        return False
    if text[-1] == HYPHEN or (line.text[0].islower() and not _ENDED.search(text)):
        return True
    if line.left > before.left + _INDENT * line.size and not _BULLET.match(text):
        return False
    word = line.text.split(" ", 1)[0]
    room = (measure.right if measure else line.region_right) - before.right
    return room < _CHAR_WIDTH * line.size * (len(word) + 1)
