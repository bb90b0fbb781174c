"""Division of sections into chunks, the units of embedding and scoring.

Rules:
    The chunks of a text, joined, are the text. Each is in one section.
    A chunk ends at the best break point near the target length, and always at the end of a
    paragraph if it is long enough.
    No chunk exceeds the maximum, except a block (table, code) that is kept whole, and characters
    that cannot be split.

The text is processed in windows: memory is bounded, and time is linear in the length.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from math import inf
from typing import NamedTuple

from spanwise.core.documents.splitting import CountTokens, Pieces, least_length, split_pieces
from spanwise.core.text.break_points import (
    CHARACTER,
    CLAUSE,
    LEAD,
    LINE,
    PARAGRAPH,
    ROW,
    SENTENCE,
    WORD,
    grade_of,
    place_of,
)
from spanwise.errors import OptionError
from spanwise.options import ChunkOptions
from spanwise.types import Block, Section

_WINDOW_CHARS = 1 << 16
_CHARS_PER_TOKEN = 8  # upper estimate, only for the size of the window
_WINDOW_CHUNKS = 16

_COSTS = {
    PARAGRAPH: 0.0,
    SENTENCE: 0.05,
    ROW: 0.1,
    LINE: 0.3,
    CLAUSE: 0.5,
    WORD: 0.7,
    LEAD: 0.9,
    CHARACTER: 1.2,
}
"""Cost of a break point, by grade; a deviation of 100 % from the target length costs 1."""

_SHORT_REST_COST = 1.0


_DENSE = frozenset(("ja", "ko", "zh"))
"""Languages in which one character carries as much information as two or more letters."""


class ChunkSpan(NamedTuple):
    """Range of one chunk, and its section."""

    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last character."""
    section: int
    """Index into the sections of the document."""


def chunk_lengths(options: ChunkOptions, *, language: str) -> ChunkOptions:
    """Return the options for a language: lengths in characters are halved for dense scripts.

    Lengths in tokens are unchanged.
    """
    if options.unit == "tokens" or language not in _DENSE:
        return options
    return replace(
        options,
        target=max(1, options.target // 2),
        max=max(1, options.max // 2),
        paragraph_min=max(1, options.paragraph_min // 2),
        block_max=max(1, options.block_max // 2),
    )


def split_chunks(
    text: str,
    sections: Sequence[Section],
    *,
    options: ChunkOptions | None = None,
    blocks: Sequence[Block] = (),
    count_tokens: CountTokens | None = None,
    language: str = "",
) -> list[ChunkSpan]:
    """Return the chunks of a text, in order; joined, they are the text. See `iterate_chunks`."""
    return list(
        iterate_chunks(
            text,
            sections,
            options=options,
            blocks=blocks,
            count_tokens=count_tokens,
            language=language,
        )
    )


def iterate_chunks(
    text: str,
    sections: Sequence[Section],
    *,
    options: ChunkOptions | None = None,
    blocks: Sequence[Block] = (),
    count_tokens: CountTokens | None = None,
    language: str = "",
) -> Iterator[ChunkSpan]:
    """Return an iterator of the chunks of a text, in order; joined, they are the text.

    Args:
        text: Text of the document.
        sections: Sections in order, not empty; joined they cover the text.
        options: Lengths and their unit; None for the defaults.
        blocks: Tables and code, in order, disjoint.
        count_tokens: Token counter; required if the unit is the token. The length of a chunk is the
            sum over its sentences.
        language: Language of the text (`document_language`); for Chinese, Japanese and Korean,
            lengths in characters are halved. Empty for any other.

    Returns:
        One span per chunk, each inside one section; none for an empty text.

    Raises:
        OptionError: If the unit is the token and `count_tokens` is missing, or the sections do not
            partition the text.
    """
    options = chunk_lengths(options or ChunkOptions(), language=language)
    if options.unit == "tokens" and count_tokens is None:
        raise OptionError('chunk unit is "tokens" but count_tokens is None; give a token counter')
    if options.unit == "chars":
        count_tokens = None
    _check_partition(text, sections)
    return _spans(sections, _Cutter(text, blocks, options, count_tokens))


def _spans(sections: Sequence[Section], cutter: _Cutter) -> Iterator[ChunkSpan]:
    for index, section in enumerate(sections):
        start = section.start
        for end in cutter.ends(start, section.end):
            yield ChunkSpan(start, end, index)
            start = end


def _check_partition(text: str, sections: Sequence[Section]) -> None:
    place = 0
    for section in sections:
        if section.start != place or section.end <= place:
            raise OptionError(
                f"section {section.title!r} is [{section.start}, {section.end}); sections must"
                f" partition the text, so this one starts at {place} and is not empty"
            )
        place = section.end
    if place != len(text):
        raise OptionError(
            f"the sections end at {place}, the text at {len(text)}; they must partition it"
        )


class _Cutter:
    """Divides ranges of one text into chunks, window by window."""

    def __init__(
        self,
        text: str,
        blocks: Sequence[Block],
        options: ChunkOptions,
        count_tokens: CountTokens | None,
    ) -> None:
        self._text = text
        self._blocks = blocks
        self._block_starts = [block.start for block in blocks]
        self._options = options
        self._count_tokens = count_tokens
        chars = 1 if count_tokens is None else _CHARS_PER_TOKEN
        self._window = max(_WINDOW_CHARS, _WINDOW_CHUNKS * chars * options.block_max)

    def ends(self, start: int, end: int) -> Iterator[int]:
        """Yield the ends of the chunks of one section."""
        while start < end:
            window = self._window
            cuts: list[int] = []
            while not cuts:
                stop = self._window_stop(start, end, window)
                cuts = self._window_cuts(start, stop, is_last=stop == end)
                window *= 2
            yield from cuts
            start = cuts[-1]

    def _window_stop(self, start: int, end: int, window: int) -> int:
        """Return the end of a window: the end of the section, or an offset outside any block."""
        if start + window >= end:
            return end
        stop = start + window
        index = bisect_left(self._block_starts, stop) - 1
        if index >= 0 and stop < self._blocks[index].end <= stop + window:
            stop = min(self._blocks[index].end, end)
        return stop

    def _window_cuts(self, start: int, stop: int, *, is_last: bool) -> list[int]:
        """Return the chunk ends of one window, except the last ones if more text follows."""
        first = bisect_right(self._block_starts, start)
        if first and self._blocks[first - 1].end > start:
            first -= 1
        last = bisect_left(self._block_starts, stop)
        pieces = split_pieces(
            self._text,
            start=start,
            stop=stop,
            blocks=self._blocks[first:last],
            options=self._options,
            count_tokens=self._count_tokens,
        )
        return _pack(pieces, self._options, is_last=is_last)


def _pack(pieces: Pieces, options: ChunkOptions, *, is_last: bool) -> list[int]:
    """Pack pieces into chunks, and return the ends of the chunks."""
    totals = list(accumulate(pieces.lengths))
    needed = -1 if is_last else 2 * options.block_max
    cuts: list[int] = []
    first = base = 0
    while first < len(totals) and totals[-1] - base > needed:
        last = _last_piece(pieces.ends, totals, first, base, options)
        cuts.append(place_of(pieces.ends[last]))
        first = last + 1
        base = totals[last]
    return cuts


def _last_piece(
    ends: Sequence[int], totals: Sequence[int], first: int, base: int, options: ChunkOptions
) -> int:
    """Return the last piece of the chunk that begins with piece `first`.

    Args:
        ends: End of each piece.
        totals: Cumulative length up to and including each piece.
        first: First piece of the chunk.
        base: Length of all pieces before it.
        options: Lengths.

    Returns:
        An index from `first`. Ties go to the shorter chunk.
    """
    rest = totals[-1] - base
    paragraph_min = options.paragraph_min
    if rest <= options.max:
        for index in range(bisect_left(totals, base + paragraph_min, first), len(totals)):
            if totals[-1] - totals[index] < paragraph_min:
                break
            if grade_of(ends[index]) == PARAGRAPH:
                return index
        return len(totals) - 1
    least = least_length(options)
    target = min(options.target, rest / 2) if rest < options.max + paragraph_min else options.target
    stop = max(bisect_right(totals, base + options.max, first), first + 1)
    best = stop - 1
    best_cost = inf
    for index in range(bisect_left(totals, base + least, first), stop):
        length = totals[index] - base
        grade = grade_of(ends[index])
        if grade == PARAGRAPH and length >= paragraph_min and rest - length >= least:
            return index
        cost = abs(length - target) / options.target + _COSTS[grade]
        if rest - length < least:
            cost += _SHORT_REST_COST
        if cost < best_cost:
            best, best_cost = index, cost
    return best
