"""Context expansion: fills the unused budget of an excerpt with text around its evidence.

Rules:
    Evidence is never cut. Parts are ranges of text in document order that share no character.
    First, gaps between parts are closed, the shortest first. Then text around the parts is added
    sentence by sentence: text of the same section comes before text beyond it; among equals, the
    side with the least added text comes first.
    Added text ends at the end of a sentence, paragraph or table row. Only if that leaves more than
    a quarter of the budget unused, as with very long sentences, one more piece is cut at a clause
    or between words; a table row is never cut.
    The token counts of pieces only estimate the count of the whole. The whole excerpt is measured
    after each round, and pieces that do not fit are removed. The budget is therefore exact for
    every tokenizer.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from spanwise.core.text.break_points import (
    CELLS,
    PARAGRAPH,
    ROW,
    SENTENCE,
    character_ends,
    clause_ends,
    grade_of,
    place_of,
    text_ends,
    word_ends,
)
from spanwise.core.text.sentences import LINE_BREAKS

if TYPE_CHECKING:
    from spanwise.core.documents.splitting import CountTokens

Part = tuple[int, int]
"""Half-open range `[start, end)`: of characters of a document, or of chunks or rows."""
Measure = Callable[[Sequence[Part]], int]
"""Function that counts the tokens of a rendered excerpt with these parts."""

USED = 0.95
"""Fraction of the budget above which an excerpt counts as full.

No evidence is then taken from a neighbouring excerpt.
"""
_MAX_UNUSED = 0.25
"""Fraction of the budget that may stay unused so that an excerpt ends at the end of a sentence."""
_STOPS = frozenset((PARAGRAPH, SENTENCE, ROW))
_LONG_WORD_CHARS = 400  # longer "words" are data, such as base64
_NEAR_CHARS = 2_000  # maximum distance of a sentence end


@cache
def _unspaced() -> re.Pattern[str]:
    """Return the pattern of a letter of a script without spaces between words.

    These are Thai, Lao, Burmese, Khmer, Chinese and Japanese.
    """
    return re.compile(
        "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60"
        "\U00020000-\U0003134f]"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Text around evidence that an excerpt may show."""

    start: int
    """Offset of the first character in the document."""
    text: str
    """Text of the window."""
    section_starts: tuple[int, ...] = ()
    """Offsets in the document where a section starts inside the window, ascending."""

    @property
    def end(self) -> int:
        """Offset after the last character in the document."""
        return self.start + len(self.text)

    def slice(self, start: int, end: int) -> str:
        """Return the text between two offsets of the document."""
        return self.text[start - self.start : end - self.start]


def merge_parts(parts: Sequence[Part]) -> list[Part]:
    """Return parts in order, with touching and overlapping parts merged."""
    merged: list[Part] = []
    for start, end in sorted(parts):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def subtract_parts(parts: Sequence[Part], removed: Sequence[Part]) -> list[Part]:
    """Return the ranges of `parts` that are not in `removed`, in order."""
    rest_parts = merge_parts(parts)
    for first, last in removed:
        rests = [((start, min(end, first)), (max(start, last), end)) for start, end in rest_parts]
        rest_parts = [rest for pair in rests for rest in pair if rest[0] < rest[1]]
    return rest_parts


def fill_excerpt(
    evidence: Sequence[Part],
    windows: Sequence[Window],
    *,
    budget_tokens: int,
    measure: Measure,
    count_tokens: CountTokens,
) -> list[Part]:
    """Return the parts of an excerpt: its evidence, and text between and around it.

    Args:
        evidence: Ranges that must be shown: disjoint, each inside one window, not empty.
        windows: Text that may be shown, in order, disjoint.
        budget_tokens: Maximum that `measure` may return.
        measure: Tokens of the whole excerpt for parts that are in order and do not touch.
        count_tokens: Tokens of pieces of text, an estimate of their tokens in the excerpt.

    Returns:
        Parts in order that do not touch. Only the evidence if nothing else fits into the budget.
    """
    expansion = _Expansion(evidence, windows, budget_tokens, measure, count_tokens)
    expansion.close_gaps()
    if expansion.unused > 0:
        expansion.grow()
    return expansion.parts


class _Side:
    """Text on one side of a part, as pieces in order of their distance from the part."""

    def __init__(self, window: Window, start: int, end: int, *, after: bool) -> None:
        self.window = window
        self.after = after
        self.part_place = start if after else end
        bounds = [start, *sentence_stops(window, start, end), end]
        pieces = [piece for piece in pairwise(bounds) if piece[0] < piece[1]]
        self.pieces = pieces if after else pieces[::-1]
        self.taken = 0
        self.spent = 0

    @property
    def next(self) -> Part | None:
        """Nearest piece that was not taken, or None."""
        return self.pieces[self.taken] if self.taken < len(self.pieces) else None

    @property
    def part(self) -> Part:
        """Range of the pieces taken; empty if there are none."""
        if not self.taken:
            return (self.part_place, self.part_place)
        last = self.pieces[self.taken - 1]
        return (self.part_place, last[1]) if self.after else (last[0], self.part_place)

    def is_beyond(self, piece: Part) -> bool:
        """Return whether a piece is in another section than the adjacent end of the part."""
        starts = self.window.section_starts
        low, high = (self.part_place, piece[0]) if self.after else (piece[1], self.part_place)
        return bisect_left(starts, low) < bisect_right(starts, high)


def sentence_stops(window: Window, start: int, end: int) -> list[int]:
    """Return the offsets inside a range where a sentence, paragraph, row or section ends."""
    base = window.start
    ends = text_ends(window.text, start=start - base, stop=end - base)
    places = {base + place_of(end_point) for end_point in ends if grade_of(end_point) in _STOPS}
    places.update(place for place in window.section_starts if start < place < end)
    return sorted(places)


class _Expansion:
    """Parts of one excerpt during expansion."""

    def __init__(
        self,
        evidence: Sequence[Part],
        windows: Sequence[Window],
        budget_tokens: int,
        measure: Measure,
        count_tokens: CountTokens,
    ) -> None:
        self.parts = merge_parts(evidence)
        self._windows = windows
        self._budget = budget_tokens
        self._measure = measure
        self._count_tokens = count_tokens
        self.unused = budget_tokens - measure(self.parts)

    def _accept(self, added: Sequence[Part]) -> bool:
        """Add parts if the excerpt stays inside the budget; return whether it does."""
        parts = merge_parts([*self.parts, *added])
        unused = self._budget - self._measure(parts)
        if unused < 0:
            return False
        self.parts, self.unused = parts, unused
        return True

    def _count(self, window: Window, piece: Part) -> int:
        return self._count_tokens([window.slice(*piece)])[0]

    def _window_of(self, place: int) -> Window:
        starts = [window.start for window in self._windows]
        return self._windows[bisect_right(starts, place) - 1]

    def _gaps(self) -> Iterator[tuple[Window, Part]]:
        """Yield the gaps between parts whose whole text is in one window."""
        for (_, start), (end, _) in pairwise(self.parts):
            window = self._window_of(start - 1)
            if end < window.end:
                yield window, (start, end)

    def close_gaps(self) -> None:
        """Close gaps, the shortest first, as long as another one fits."""
        while True:
            gaps = sorted((self._count(window, gap), gap) for window, gap in self._gaps())
            fitting, unused = [], self.unused
            for tokens, gap in gaps:
                if tokens > unused:
                    break
                fitting.append(gap)
                unused -= tokens
            fitting = fitting or [gap for _, gap in gaps[:1]]  # the estimate may be too high
            while fitting and not self._accept(fitting):
                fitting.pop()
            if not fitting:
                return

    def grow(self) -> None:
        """Add pieces around the parts as long as one fits, then cut one if much budget is left."""
        sides = self._sides()
        while self._take_pieces(sides):
            pass
        if self.unused > _MAX_UNUSED * self._budget:
            for side in sorted(sides, key=lambda side: not side.after):
                if self._take_cut(side):
                    return

    def _sides(self) -> list[_Side]:
        """Return the text on both sides of each part; a gap is divided near its middle."""
        sides = []
        previous_end = -1
        for index, (start, end) in enumerate(self.parts):
            window = self._window_of(start)
            low = max(window.start, previous_end)
            if previous_end > window.start:
                low = first_stop(
                    window, (previous_end, start), least=(previous_end + start + 1) // 2
                )
            high = window.end
            if index + 1 < len(self.parts) and self.parts[index + 1][0] < window.end:
                following = self.parts[index + 1][0]
                high = first_stop(window, (end, following), least=(end + following + 1) // 2)
            sides.append(_Side(window, end, high, after=True))
            sides.append(_Side(window, low, start, after=False))
            previous_end = end
        return sides

    def _take_pieces(self, sides: Sequence[_Side]) -> bool:
        """Take pieces until none fits; return whether any was taken."""
        unused = self.unused
        heap: list[tuple[bool, int, int]] = []
        taken: list[_Side] = []

        def offer(order: int) -> None:
            piece = sides[order].next
            if piece is not None:
                heapq.heappush(heap, (sides[order].is_beyond(piece), sides[order].spent, order))

        for order in range(len(sides)):
            offer(order)
        while heap:
            _, _, order = heapq.heappop(heap)
            side = sides[order]
            piece = side.pieces[side.taken]
            tokens = self._count(side.window, piece)
            if tokens <= unused:
                unused -= tokens
                side.spent += tokens
                side.taken += 1
                taken.append(side)
                offer(order)
        while taken and not self._accept([side.part for side in sides if side.taken]):
            taken.pop().taken -= 1
        return bool(taken)

    def _take_cut(self, side: _Side) -> bool:
        """Take as much of the next piece of a side as fits; return whether anything was taken."""
        piece = side.next
        if piece is None:
            return False
        edge = piece[0] if side.after else piece[1]
        for places in _cuts(side.window, piece):
            outwards = [place for place in places if place > edge]
            if not side.after:
                outwards = [place for place in reversed(places) if place < edge]
            fitting = self._fitting(side.window, edge, outwards)
            while fitting and not self._accept([_between(edge, outwards[fitting - 1])]):
                fitting -= 1
            if fitting:
                edge = outwards[fitting - 1]
            if self.unused <= (1 - USED) * self._budget:
                return True
        return False

    def _fitting(self, window: Window, edge: int, places: Sequence[int]) -> int:
        """Return the estimated number of offsets, nearest to an edge first, that fit the budget."""
        return bisect_right(
            places, self.unused, key=lambda place: self._count(window, _between(edge, place))
        )


def _between(first: int, second: int) -> Part:
    return (first, second) if first < second else (second, first)


def first_stop(window: Window, part: Part, *, least: int) -> int:
    """Return the first offset, not before `least`, where a part may be cut, or its end.

    Sentence ends are preferred to clause ends, and clause ends to word ends.

    Args:
        window: Window that contains the part.
        part: Range of characters.
        least: Minimum offset, inside the part.
    """
    near = (max(part[0], least - _LONG_WORD_CHARS), min(part[1], least + _NEAR_CHARS))
    for places in (sentence_stops(window, *near), *_cuts(window, near)):
        offset = next((offset for offset in places if offset >= least), part[1])
        if offset < part[1]:
            return offset
    return part[1]


def _cuts(window: Window, piece: Part) -> Iterator[list[int]]:
    """Yield the offsets where a piece may be cut: clauses, words, characters; nothing for a row."""
    start, stop = piece[0] - window.start, piece[1] - window.start
    if _is_row(window.text, start, stop):
        return
    for find in (clause_ends, word_ends):
        yield [
            window.start + place_of(end_point)
            for end_point in find(window.text, start=start, stop=stop, step=0)
        ]
    yield _cuts_without_spaces(window, start, stop)


def _cuts_without_spaces(window: Window, start: int, stop: int) -> list[int]:
    """Return the offsets between characters of scripts without spaces, and of overlong words."""
    words = [start, *map(place_of, word_ends(window.text, start=start, stop=stop, step=0)), stop]
    return [
        window.start + place
        for first, last in pairwise(words)
        for place in map(place_of, character_ends(window.text, start=first, stop=last, step=1))
        if last - first > _LONG_WORD_CHARS or _unspaced().match(window.text, place - 1)
    ]


def _is_row(text: str, start: int, stop: int) -> bool:
    """Return whether a line that overlaps a piece is a table row."""
    first = max(text.rfind(mark, 0, start) for mark in LINE_BREAKS) + 1
    return CELLS.search(text, first, stop) is not None
