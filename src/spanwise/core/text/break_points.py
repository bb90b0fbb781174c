"""Break points of a text: the places where a chunk may end, graded by how good they are.

Rules:
    Grades from best to worst: paragraph, sentence, row, line, clause, word, character.
    A short first line of a paragraph that does not end with a stop introduces the following text (a
    heading, a speaker, the header row of a table). A break after it is worse than one inside a
    sentence.
    Sentence ends inside a row (a line with cells) or a line of a block are not break points.
    A row of an HTML table, as in Markdown, may have many lines; a line end in it is a worse break.

A break point is encoded as one integer: offset and grade.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from spanwise.core.text.sentences import (
    CLOSERS,
    LAST_WORD_CHARS,
    LINE_BREAKS,
    LINE_END,
    SENTENCE_MARK,
    STOPS,
    is_joined,
    is_paragraph_end,
    safe_cut,
    sentence_ends,
)

if TYPE_CHECKING:
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
_CELL_TAG = re.compile(r"\s*</?(?:td|th|(?<=/)tr)\b", re.IGNORECASE)
"""Pattern of the text after a line end inside a row of an HTML table."""
_CELL_TAG_CHARS = 5
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
    first = text[following]
    if first.isspace():
        first = text[following : following + 40].lstrip()[:1]
    if first == "<" and _CELL_TAG.match(text, following):
        return LINE
    last = text[line_stop - 1] if line_stop > line_start else "\n"
    if last.isspace():
        last = text[max(line_start, line_stop - 40) : line_stop].rstrip()[-1:]
    if last in _FULL_STOPS:
        return SENTENCE
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
    text: str, places: list[int], lines: Sequence[int], start: int, stop: int
) -> list[int]:
    """Return the sentence ends that are not in a table row."""
    marks = sorted((*_offsets(text, "\t", start, stop), *_offsets(text, "|", start, stop)))
    if not marks:
        return places
    bounds = [start, *map(place_of, lines), stop]
    outside = []
    for place in places:
        line = bisect_left(bounds, place)
        first = max(bounds[line - 1], place - _CELL_LOOK_CHARS)
        last = min(bounds[line], place + _CELL_LOOK_CHARS)
        near = bisect_left(marks, first)  # cells have a mark, and to look for it is faster
        if near == len(marks) or marks[near] >= last or CELLS.search(text, first, last) is None:
            outside.append(place)
    return outside


def _offsets(text: str, mark: str, start: int, stop: int) -> Iterator[int]:
    """Yield the offsets of a character in `text[start:stop]`, in order."""
    while (start := text.find(mark, start, stop)) >= 0:
        yield start
        start += 1


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
    if places:
        places = _without_rows(text, places, lines, start, stop)
    lines += [place << _GRADE_BITS | SENTENCE for place in places]
    lines.sort()
    return lines


def is_stop(text: str, place: int, *, is_begun: bool, is_ended: bool) -> bool | None:
    """Return whether a sentence, paragraph or row ends at an offset; None if that is unknown.

    The result is that of `text_ends` for a range that contains the text, but only the lines next to
    the offset are read. It is unknown if it depends on the rest of the range.

    Args:
        text: Part of a range.
        place: Offset in `(0, len(text))`.
        is_begun: Whether the range begins with the text.
        is_ended: Whether the range ends with the text.
    """
    is_stop_at = _is_line_stop if text[place - 1] in LINE_BREAKS else _is_sentence_stop
    return is_stop_at(text, place, is_begun=is_begun, is_ended=is_ended)


def nearest_stops(
    text: str, place: int, *, is_begun: bool, is_ended: bool
) -> tuple[int, int] | None:
    """Return the nearest stops before and after an offset; None if one of them is unknown.

    The start and the end of the range count as stops. For the arguments, see `is_stop`.
    """
    ends = [match.end() for mark in (LINE_END, SENTENCE_MARK) for match in mark.finditer(text)]

    def first_stop(places: Sequence[int], edge: int, *, is_edge: bool) -> int | None:
        for end in places:
            is_end = is_stop(text, end, is_begun=is_begun, is_ended=is_ended)
            if is_end is not False:
                return end if is_end else None
        return edge if is_edge else None

    before = sorted((end for end in ends if end < place), reverse=True)
    after = sorted(end for end in ends if place < end < len(text))
    earlier = first_stop(before, 0, is_edge=is_begun)
    later = first_stop(after, len(text), is_edge=is_ended)
    return None if earlier is None or later is None else (earlier, later)


def _line_start(text: str, place: int) -> int:
    """Return the start of the line before an offset, 0 for the first line."""
    return max([text.rfind(mark, 0, place) for mark in LINE_BREAKS]) + 1


def _line_break(text: str, place: int) -> re.Match[str]:
    """Return the line break, with blank lines, that is before an offset or reaches beyond it."""
    return next(LINE_END.finditer(text, len(text[:place].rstrip())))


def _is_line_stop(text: str, place: int, *, is_begun: bool, is_ended: bool) -> bool | None:
    """Return whether a paragraph or row ends at an offset after a line break; see `is_stop`."""
    match = _line_break(text, place)
    if match.end() != place:
        return False
    start, stop = _line_start(text, match.start()), match.start()
    is_line_known = is_begun or start > 0 or (stop > _LEAD_CHARS and not text[:stop].isspace())
    if not is_line_known or not (is_ended or len(text[place:].lstrip()) > _CELL_TAG_CHARS):
        return None
    if not is_paragraph_end(match) and _line_grade(text, start, stop, place) == LINE:
        return False
    if not _leads(text, start, stop):
        return True
    before = _line_break(text, start) if start else None
    if before is None or is_paragraph_end(before):
        return False
    return True if is_begun or text[: before.start()].strip() else None


def _is_sentence_stop(text: str, place: int, *, is_begun: bool, is_ended: bool) -> bool | None:
    """Return whether a sentence ends at an offset in a line that is no row; see `is_stop`."""
    first = place
    while first and not text[first - 1].isalnum():
        first -= 1
    if first == place:
        return False
    is_before_known = is_begun or text[: max(0, first - LAST_WORD_CHARS)].strip()
    if not is_before_known or not (is_ended or place + LAST_WORD_CHARS <= len(text)):
        return None
    if place not in sentence_ends(text, start=first, end=place + 1):
        return False
    low = max(_line_start(text, place), place - _CELL_LOOK_CHARS)
    high = place + _CELL_LOOK_CHARS
    line_end = LINE_END.search(text, place)
    if line_end is not None and (is_ended or text[line_end.end() :].strip()):
        high = min(high, line_end.end())
    if not (is_begun or low) or not (is_ended or high <= len(text)):
        return None
    has_cells = text.find("|", low, high) >= 0 or text.find("\t", low, high) >= 0
    return not has_cells or CELLS.search(text, low, high) is None


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
