"""How baselines cut a text: into sentences with windows around them, and into pieces by length."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.core.ends import LINE, grade_of, place_of, text_ends

__all__ = ["PieceSize", "Range", "pieces", "sentences", "windows"]

Range = tuple[int, int]
"""First character and one past the last."""

_SEPARATORS = ("\n\n", "\n", " ")


def sentences(text: str) -> list[Range]:
    """Return the sentences of a text, in order; lines that end where their writer wanted it too.

    What is nothing but white space is none.
    """
    ends = [
        place_of(end) for end in text_ends(text, start=0, stop=len(text)) if grade_of(end) != LINE
    ]
    return _without_blanks(text, list(zip([0, *ends], [*ends, len(text)], strict=True)))


def windows(ranges: Sequence[Range], *, neighbours: int) -> list[Range]:
    """Return for each range what reaches so many ranges before and after it."""
    last = len(ranges) - 1
    return [
        (ranges[max(0, at - neighbours)][0], ranges[min(last, at + neighbours)][1])
        for at in range(len(ranges))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceSize:
    """How long pieces are, in characters."""

    max_chars: int
    overlap_chars: int = 0
    """A piece repeats so much of the one before it at most, and less than `max_chars`."""


def pieces(text: str, *, start: int, end: int, size: PieceSize) -> list[Range]:
    """Return a range cut into pieces, each as long as the limit allows.

    It is cut at blank lines; what is still too long at line breaks, then at spaces, then anywhere.
    Neighbours that fit together are one piece. Whole parts are repeated, and none across the ends
    of a part that was too long for a piece.
    """
    return _without_blanks(text, _cut(text, (start, end), size, _SEPARATORS))


def _cut(text: str, whole: Range, size: PieceSize, separators: Sequence[str]) -> list[Range]:
    start, end = whole
    max_chars, overlap = size.max_chars, size.overlap_chars
    if end - start <= max_chars:
        return [whole]
    if not separators:
        firsts = range(start, end - overlap, max_chars - overlap)
        return [(at, min(at + max_chars, end)) for at in firsts]
    out: list[Range] = []
    open_start = start  # of what is gathered and not yet a piece
    starts: deque[int] = deque()  # of the parts that are gathered
    for part in _parts(text, whole, separators[0]):
        if part[1] - open_start > max_chars:
            if part[0] > open_start:
                out.append((open_start, part[0]))
            if part[1] - part[0] > max_chars:
                out += _cut(text, part, size, separators[1:])
                open_start = part[1]
                starts.clear()
                continue
            while starts and (part[0] - starts[0] > overlap or part[1] - starts[0] > max_chars):
                starts.popleft()
            open_start = starts[0] if starts else part[0]
        starts.append(part[0])
    if open_start < end:
        out.append((open_start, end))
    return out


def _parts(text: str, whole: Range, separator: str) -> list[Range]:
    """Return the parts of a range that end with a separator, and the rest."""
    start, end = whole
    out: list[Range] = []
    while (found := text.find(separator, start, end)) >= 0:
        out.append((start, found + len(separator)))
        start = found + len(separator)
    return [*out, (start, end)] if start < end else out


def _without_blanks(text: str, ranges: Sequence[Range]) -> list[Range]:
    return [(start, end) for start, end in ranges if text[start:end].strip()]
