"""Division of text into the pieces that chunks are packed from.

Rules:
    A piece is a sentence or a line. A block that fits into `block_max` is one piece, together with
    the short line that introduces it.
    A piece longer than the maximum less the minimum of a chunk is cut at clauses and words, and if
    even words are too long, between characters.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.text.break_points import (
    LEAD,
    character_ends,
    clause_ends,
    first_end,
    grade_of,
    last_end,
    place_of,
    text_ends,
    word_ends,
)
from spanwise.options import ChunkOptions

if TYPE_CHECKING:
    from spanwise.types import Block

CountTokens = Callable[[Sequence[str]], Sequence[int]]
"""Function that returns the number of tokens of each text, in order."""

_STEPS = 16  # approximate number of break points inside a maximum length


class Pieces(NamedTuple):
    """Pieces in order, as two parallel lists."""

    ends: list[int]
    """Encoded break points (`core.text.break_points`); the last one is the end of the text."""
    lengths: list[int]
    """Length of each piece in the unit of the options."""


def least_length(options: ChunkOptions) -> int:
    """Return the minimum length of a chunk; shorter chunks are made only if unavoidable."""
    return max(1, options.target // 4)


def split_pieces(
    text: str,
    *,
    start: int,
    stop: int,
    blocks: Sequence[Block],
    options: ChunkOptions,
    count_tokens: CountTokens | None,
) -> Pieces:
    """Return the pieces of `text[start:stop]`.

    Args:
        text: The text.
        start: Offset of the first character.
        stop: Offset after the last character, `start < stop`.
        blocks: Blocks that overlap the range, in order, disjoint.
        options: Lengths and their unit.
        count_tokens: Token counter; None if the unit is the character.

    Returns:
        At least one piece. Each is at most `options.max` long, except for kept blocks and for
        characters that cannot be split.
    """
    ends = text_ends(text, start=start, stop=stop, blocks=blocks)
    ends.append(last_end(stop))
    pieces = Pieces(ends, _lengths(text, start, ends, count_tokens))
    block_ends: frozenset[int] = frozenset()
    if blocks:
        pieces, block_ends = _keep_blocks(pieces, blocks, options.block_max)
    limit = max(1, options.max - least_length(options))
    refined = _Refinement(
        text=text, start=start, limit=limit, block_ends=block_ends, count_tokens=count_tokens
    )
    return refined.apply(pieces)


def _lengths(
    text: str, start: int, ends: Sequence[int], count_tokens: CountTokens | None
) -> list[int]:
    """Return the length of each piece that ends at one of `ends`; the first begins at `start`."""
    places = [place_of(end) for end in ends]
    starts = [start, *places[:-1]]
    if count_tokens is None:
        return [end - begin for begin, end in zip(starts, places, strict=True)]
    return list(count_tokens([text[a:b] for a, b in zip(starts, places, strict=True)]))


def _keep_blocks(
    pieces: Pieces, blocks: Sequence[Block], block_max: int
) -> tuple[Pieces, frozenset[int]]:
    """Return the pieces with each block that fits as one piece, and the ends of these blocks."""
    ends: list[int] = []
    lengths: list[int] = []
    whole = set()
    done = 0
    for block in blocks:
        first = max(done, bisect_left(pieces.ends, first_end(block.start + 1)))
        last = min(bisect_left(pieces.ends, first_end(block.end)), len(pieces.ends) - 1)
        if last < first:
            continue
        length = sum(pieces.lengths[first : last + 1])
        leads = first > done and grade_of(pieces.ends[first - 1]) == LEAD
        if leads and length + pieces.lengths[first - 1] <= block_max:
            first -= 1
            length += pieces.lengths[first]
        if length <= block_max:
            ends += pieces.ends[done:first]
            lengths += pieces.lengths[done:first]
            ends.append(pieces.ends[last])
            lengths.append(length)
            whole.add(pieces.ends[last])
            done = last + 1
    ends += pieces.ends[done:]
    lengths += pieces.lengths[done:]
    return Pieces(ends, lengths), frozenset(whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refinement:
    """Cuts the pieces longer than `limit`, except whole blocks."""

    text: str
    start: int
    limit: int
    block_ends: frozenset[int]
    count_tokens: CountTokens | None

    def apply(self, pieces: Pieces) -> Pieces:
        """Return the pieces, cut at clauses, then words, then characters, until all of them fit."""
        finer = self._cut(self._cut(pieces, self._clauses), self._words)
        count = 0
        while count != len(finer.ends):
            count = len(finer.ends)
            finer = self._cut(finer, self._characters)
        return finer

    def _clauses(self, start: int, stop: int, limit: int) -> list[int]:
        return clause_ends(self.text, start=start, stop=stop, step=limit // _STEPS)

    def _words(self, start: int, stop: int, limit: int) -> list[int]:
        return word_ends(self.text, start=start, stop=stop, step=limit // _STEPS)

    def _characters(self, start: int, stop: int, limit: int) -> list[int]:
        return character_ends(self.text, start=start, stop=stop, step=max(1, limit // 4))

    def _cut(self, pieces: Pieces, ends_inside: Callable[[int, int, int], list[int]]) -> Pieces:
        """Return the pieces, with long ones cut at the break points that `ends_inside` returns."""
        ends: list[int] = []
        lengths: list[int] = []
        done = 0
        for index, length in enumerate(pieces.lengths):
            end = pieces.ends[index]
            if length <= self.limit or end in self.block_ends:
                continue
            start = place_of(pieces.ends[index - 1]) if index else self.start
            stop = place_of(end)
            limit_chars = (stop - start) * self.limit // length
            inside = [*ends_inside(start, stop, limit_chars), end]
            ends += pieces.ends[done:index]
            lengths += pieces.lengths[done:index]
            ends += inside
            lengths += _lengths(self.text, start, inside, self.count_tokens)
            done = index + 1
        if not done:
            return pieces
        return Pieces(ends + pieces.ends[done:], lengths + pieces.lengths[done:])
