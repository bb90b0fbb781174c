"""The lines of a document as they are numbered for a model.

Rules:
    The lines, joined, are the text. None is blank, but in a text that is all blank. A rule under
    a heading, or another short line without a word, belongs to the line before it.
    A line begins with each heading, and else where a paragraph, a row or a sentence ends with a
    line of the text: a sentence that is wrapped over several is not parted.
    No line is longer than some 400 characters: longer ones are parted at sentences, and where
    these are too long, at clauses, words and characters. A small table is one line.
    A line is shown without its line breaks: no text can show a numbered line that is none.
    Parts are what no section crosses: they begin with headings of the two outermost levels that
    the document has, as far as each is at least `min_chars` long.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from spanwise.core.ends import LEAD, PARAGRAPH, ROW, SENTENCE, grade_of, place_of
from spanwise.core.lines import LINE_BREAKS
from spanwise.core.pieces import split_pieces
from spanwise.options import ChunkOptions
from spanwise.types import Block, Document, Heading

__all__ = ["WORD", "NumberedLines", "number_lines"]

WORD = re.compile(r"[^\W_]")
"""A letter or digit: what has none says nothing."""

_LINE_CHARS = 400
_PIECES = ChunkOptions(target=_LINE_CHARS, max=500, block_max=500)  # a quarter of target less: 400
_OUTER_LEVELS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedLines:
    """The lines of a document, counted from 0; models see the number in a window, from 1."""

    bounds: tuple[int, ...]
    """Where each line begins in the text, and last where the text ends."""
    shown: tuple[str, ...]
    """Each line as a model sees it, without its number."""
    headings: frozenset[int]
    """Lines that hold a heading and nothing else."""
    parts: tuple[int, ...]
    """Lines that parts begin with, rising, the first of them 0."""

    def numbered(self, window: range) -> str:
        """Return some lines as a model sees them, each after its number: "[1] ..."."""
        shown = self.shown[window.start : window.stop]
        return "\n".join(f"[{number}] {line}" for number, line in enumerate(shown, start=1))

    def chars(self, first: int, last: int) -> int:
        """Return the length of the lines from one to before another."""
        return self.bounds[last] - self.bounds[first]

    def line_at(self, place: int) -> int:
        """Return the line that a character stands in."""
        return _line_at(self.bounds, place)


def number_lines(
    document: Document, *, headings: Sequence[Heading], min_chars: int
) -> NumberedLines:
    """Return the lines of a document that is not empty.

    Args:
        document: The document.
        headings: All its headings, in order, none of which begins inside another.
        min_chars: Least length of a part.
    """
    text = document.text
    bounds = _bounds(document, headings)
    starts = [_line_at(bounds, heading.start) for heading in headings]
    alone = [
        line
        for line, heading in zip(starts, headings, strict=True)
        if WORD.search(text, heading.end, bounds[line + 1]) is None
    ]
    return NumberedLines(
        bounds=tuple(bounds),
        shown=tuple(" ".join(text[start:stop].split()) for start, stop in pairwise(bounds)),
        headings=frozenset(alone),
        parts=tuple(_parts(bounds, starts, headings, min_chars)),
    )


def _bounds(document: Document, headings: Sequence[Heading]) -> list[int]:
    """Return where each line begins, and last where the text ends."""
    text = document.text
    bounds = [0]
    places = sorted({0, *(heading.start for heading in headings)} - {len(text)})
    for start, stop in pairwise([*places, len(text)]):
        for end in _line_ends(text, start, stop, _overlapping(document.blocks, start, stop)):
            if len(bounds) > 1 and _is_wordless(text, bounds, end):
                bounds[-1] = end
            else:
                bounds.append(end)
    if len(bounds) > 2 and text[: bounds[1]].isspace():
        del bounds[1]
    return bounds


def _is_wordless(text: str, bounds: Sequence[int], end: int) -> bool:
    """Return whether what stands from the last bound to `end` belongs to the line before it."""
    if text[bounds[-1] : end].isspace():
        return True
    return end - bounds[-2] <= _LINE_CHARS and WORD.search(text, bounds[-1], end) is None


def _line_at(bounds: Sequence[int], place: int) -> int:
    """Return the line that a character stands in; the last one for the end of the text."""
    return bisect_right(bounds, place, hi=len(bounds) - 1) - 1


def _overlapping(blocks: Sequence[Block], start: int, stop: int) -> Sequence[Block]:
    first = bisect_right(blocks, start, key=lambda block: block.end)
    return blocks[first : bisect_left(blocks, stop, key=lambda block: block.start)]


def _line_ends(text: str, start: int, stop: int, blocks: Sequence[Block]) -> Iterator[int]:
    """Yield where the lines of a range end, the last at `stop`; some may be blank."""
    pieces = split_pieces(
        text, start=start, stop=stop, blocks=blocks, options=_PIECES, count_tokens=None
    )
    line = sentence = previous = start
    for end in pieces.ends:
        place = place_of(end)
        while place - line > _LINE_CHARS and previous > line:
            line = sentence if sentence > line else previous
            yield line
        if _ends_line(text, end):
            line = place
            yield line
        if grade_of(end) == SENTENCE:
            sentence = place
        previous = place


def _ends_line(text: str, end: int) -> bool:
    grade = grade_of(end)
    if grade == SENTENCE:
        return text[place_of(end) - 1] in LINE_BREAKS
    return grade in (PARAGRAPH, ROW, LEAD)


def _parts(
    bounds: Sequence[int], starts: Sequence[int], headings: Sequence[Heading], min_chars: int
) -> list[int]:
    """Return the lines that parts begin with."""
    outer = sorted({heading.level for heading in headings})[:_OUTER_LEVELS]
    parts = [0]
    for line, heading in zip(starts, headings, strict=True):
        if heading.level in outer and bounds[line] - bounds[parts[-1]] >= min_chars:
            parts.append(line)
    if len(parts) > 1 and bounds[-1] - bounds[parts[-1]] < min_chars:
        parts.pop()
    return parts
