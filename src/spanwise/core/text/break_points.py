"""Break points of a text: the places where a chunk may end, graded by how good they are.

Rules:
    Grades from best to worst: paragraph, sentence, row, line, clause, word, character.
    A short first line of a paragraph that does not end with a stop introduces the following text (a
    heading, a speaker, the header row of a table). A break after it is worse than one inside a
    sentence.
    Sentence ends inside a row (a line with cells) or a line of a block are not break points.

A break point is encoded as one integer: offset and grade.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from spanwise.core.text.sentences import (
    CLOSERS,
    LINE_END,
    STOPS,
    is_joined,
    is_paragraph_end,
    safe_cut,
    sentence_ends,
)
from spanwise.types import Block

PARAGRAPH, SENTENCE, ROW, LINE, CLAUSE, WORD, LEAD, CHARACTER = range(8)
"""Grades of break points, best first. LEAD ends a line that introduces the following text."""

_GRADE_BITS = 3
_LEAD_CHARS = 80
_WRAPPED_CHARS = 50  # shorter lines are not wrapped
_FULL_STOPS = frozenset(STOPS + CLOSERS.replace("\\", "") + ";|")
CELLS = re.compile(r"\t| \| |^\|", re.MULTILINE)
"""Pattern of a line that is a table row."""
_CELL_LOOK_CHARS = 400
_CLAUSE_END = re.compile(f"[,;:，、；：][{CLOSERS}]{{0,8}}+(?:\\s++|(?<=[，、；：]))")
_WORD_END = re.compile(r"\s++")


def place_of(end: int) -> int:
    """Return the offset of an encoded break point."""
    return end >> _GRADE_BITS


def grade_of(end: int) -> int:
    """Return the grade of an encoded break point."""
    return end & ((1 << _GRADE_BITS) - 1)


def first_end(place: int) -> int:
    """Return the smallest encoded break point at an offset, for binary search."""
    return place << _GRADE_BITS


def last_end(place: int) -> int:
    """Return the encoded break point for the end of the text, at offset `place`."""
    return place << _GRADE_BITS | PARAGRAPH


def _line_grade(text: str, line_start: int, line_stop: int, following: int) -> int:
    """Return the grade of a line end inside a paragraph, from the characters around it."""
    last = text[line_stop - 1] if line_stop > line_start else "\n"
    if last.isspace():
        last = text[max(line_start, line_stop - 40) : line_stop].rstrip()[-1:]
    if last in _FULL_STOPS:
        return SENTENCE
    first = text[following]
    if first.isspace():
        first = text[following : following + 40].lstrip()[:1]
    wrapped = line_stop - line_start >= _WRAPPED_CHARS and (last.islower() or last in ",-–")
    return LINE if wrapped or first.islower() else ROW


def _leads(text: str, line_start: int, line_stop: int) -> bool:
    """Return whether the first line of a paragraph is an introduction: short, without a stop."""
    if line_stop - line_start > _LEAD_CHARS:
        return False
    return text[line_start:line_stop].rstrip()[-1:] not in _FULL_STOPS


def _line_ends(text: str, start: int, stop: int) -> list[int]:
    ends: list[int] = []
    line_start = start
    opens = True
    for match in LINE_END.finditer(text, start, stop):
        place = match.end()
        if place >= stop:
            break
        paragraph = is_paragraph_end(match)
        grade = PARAGRAPH
        if not paragraph:
            grade = _line_grade(text, line_start, match.start(), place)
        if opens and grade != LINE and _leads(text, line_start, match.start()):
            grade = LEAD
        ends.append(place << _GRADE_BITS | grade)
        opens = paragraph
        line_start = place
    return ends


def _without_rows(
    text: str, places: Sequence[int], lines: Sequence[int], start: int, stop: int
) -> list[int]:
    """Return the sentence ends that are not in a table row."""
    bounds = [start, *map(place_of, lines), stop]
    outside = []
    for place in places:
        line = bisect_left(bounds, place)
        first = max(bounds[line - 1], place - _CELL_LOOK_CHARS)
        if CELLS.search(text, first, min(bounds[line], place + _CELL_LOOK_CHARS)) is None:
            outside.append(place)
    return outside


def _without_block_sentences(places: Sequence[int], blocks: Sequence[Block]) -> list[int]:
    """Return the sentence ends that are not in a block."""
    starts = [block.start for block in blocks]
    outside = []
    for place in places:
        before = bisect_left(starts, place) - 1
        if before < 0 or place >= blocks[before].end:
            outside.append(place)
    return outside


def text_ends(text: str, *, start: int, stop: int, blocks: Sequence[Block] = ()) -> list[int]:
    """Return the line and sentence ends inside `text[start:stop]`.

    Args:
        text: The text.
        start: Offset of the first character.
        stop: Offset after the last character.
        blocks: Blocks that overlap the range, in order, disjoint.

    Returns:
        Break points in order, one per offset, all inside `(start, stop)`; `place_of` and `grade_of`
        decode them.
    """
    lines = _line_ends(text, start, stop)
    places = list(sentence_ends(text, start=start, end=stop))
    if blocks:
        places = _without_block_sentences(places, blocks)
    if places and (text.find("|", start, stop) >= 0 or text.find("\t", start, stop) >= 0):
        places = _without_rows(text, places, lines, start, stop)
    lines += [place << _GRADE_BITS | SENTENCE for place in places]
    lines.sort()
    return lines


def clause_ends(text: str, *, start: int, stop: int, step: int) -> list[int]:
    """Return clause ends inside `text[start:stop]`, each the first one after `step` characters."""
    return _spaced_ends(_CLAUSE_END, CLAUSE, (text, start, stop), step)


def word_ends(text: str, *, start: int, stop: int, step: int) -> list[int]:
    """Return word ends inside `text[start:stop]`, each the first one after `step` characters."""
    return _spaced_ends(_WORD_END, WORD, (text, start, stop), step)


def _spaced_ends(
    pattern: re.Pattern[str], grade: int, part: tuple[str, int, int], step: int
) -> list[int]:
    text, place, stop = part
    ends = []
    while (match := pattern.search(text, place + step, stop)) and match.end() < stop:
        place = match.end()
        if not is_joined(text, place):
            ends.append(place << _GRADE_BITS | grade)
    return ends


def character_ends(text: str, *, start: int, stop: int, step: int) -> list[int]:
    """Return break points at most `step` characters apart that split no visible character."""
    ends = []
    place = start
    while stop - place > step:
        place = safe_cut(text, place + step, start=place)
        ends.append(place << _GRADE_BITS | CHARACTER)
    return ends
