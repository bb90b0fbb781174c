"""Where the words of a quote stand in a text in their order, but for a few.

Rules:
    At least .95 of the words of the quote stand in the passage, and of the passage in the quote.
    What is left out on either side is no guarded word, nor the denial of one on the other; nor is
    one of the words that stand in the place of the first and last ones of the quote.
    Some run of the quote's words stands in every such passage: passages are looked for by these.
    The time is linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spanwise.core.quotes.meaning import is_negated_form
from spanwise.core.quotes.words import Words

__all__ = ["MAX_WORDS", "WordRun", "align", "join_keys"]

MAX_WORDS = 1_000
"""Most words of a quote that is compared word by word."""

_LEAST_PART = 0.95
_SEPARATOR = "\x1f"
_PLACES_A_RUN = 8
_MAX_PASSAGES = 16
_QUOTE_SKIP, _TEXT_SKIP = 1_001, 1_000  # of as few words the quote keeps more
_NEVER = 1 << 30


@dataclass(frozen=True, slots=True)
class WordRun:
    """Words of a text `[first, last)`, and how many words of the quote stand there."""

    first: int
    last: int
    matched: int


def align(quote: Words, text: Words, *, joined: str, first: int = 0) -> WordRun | None:
    """Return the first passage of a text that is a quote but for a few words, or None.

    Args:
        quote: Words of the quote, at most `MAX_WORDS`.
        text: Words of the text.
        joined: Keys of the text, joined by `join_keys`.
        first: Word of the text at which the passage begins at the earliest.
    """
    width = 2 * _most_left_out(len(quote))
    for diagonal in _diagonals(quote, joined, width):
        run = _aligned(quote, text, max(diagonal, first - width), width)
        if run is not None and run.first >= first:
            return run
    return None


def join_keys(keys: list[str]) -> str:
    """Return keys as one text in which runs of them can be found."""
    return _SEPARATOR + _SEPARATOR.join(keys) + _SEPARATOR


def _most_left_out(count: int) -> int:
    return int(count * (1 - _LEAST_PART) + 1e-9)


def _diagonals(quote: Words, joined: str, width: int) -> Iterator[int]:
    """Yield where the quote may begin in the text, each neighbourhood once.

    Of `width + 1` runs that the quote is cut into, one stands in the text whole if at most `width`
    words of both are left out.
    """
    seen: list[int] = []
    count = width + 1
    for number in range(count):
        start, end = number * len(quote) // count, (number + 1) * len(quote) // count
        run = join_keys(quote.keys[start:end])
        place = joined.find(run)
        for _ in range(_PLACES_A_RUN):
            if place < 0:
                break
            diagonal = joined.count(_SEPARATOR, 0, place) - start
            if all(abs(diagonal - other) > width // 2 for other in seen):
                seen.append(diagonal)
                yield diagonal
                if len(seen) == _MAX_PASSAGES:
                    return
            place = joined.find(run, place + 1)


def _aligned(quote: Words, text: Words, diagonal: int, width: int) -> WordRun | None:
    """Return the best passage that begins near a place, if it is the quote but for a few words."""
    moves = _moves(quote, text, diagonal, width)
    pairs = [] if moves is None else _pairs(*moves, diagonal=diagonal, width=width)
    if not pairs:
        return None
    run = WordRun(first=pairs[0][1], last=pairs[-1][1] + 1, matched=len(pairs))
    if run.matched < _LEAST_PART * max(len(quote), run.last - run.first) - 1e-9:
        return None
    return None if _changes_meaning(quote, text, pairs) else run


def _changes_meaning(quote: Words, text: Words, pairs: Sequence[tuple[int, int]]) -> bool:
    """Return whether words that are not in both make another statement of the quote."""
    (head, first), (tail, last) = pairs[0], pairs[-1]
    in_place = (
        *text.guarded[max(0, first - head) : first],
        *text.guarded[last + 1 : last + len(quote) - tail],
    )
    here, there = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    left = [key for at, key in enumerate(quote.keys) if at not in here]
    others = [text.keys[at] for at in range(first, last) if at not in there]
    return any(in_place) or any(is_negated_form(key, other) for key in left for other in others)


def _moves(quote: Words, text: Words, diagonal: int, width: int) -> tuple[list[str], int] | None:
    """Return how each place of the band is reached best, a row a word, and where the best ends.

    In row i, column b stands for the first i words of the quote and the first
    `diagonal + i + b - width` words of the text. "m" is a word of both, "q" one of the quote alone,
    "t" one of the text alone.
    """
    columns = range(2 * width + 1)
    count = len(text)
    costs = [0 if 0 <= diagonal + b - width <= count else _NEVER for b in columns]
    moves = ["." * len(costs)]
    for at in range(len(quote)):
        made: list[int] = []
        row: list[str] = []
        skip = _NEVER if quote.guarded[at] else _QUOTE_SKIP
        for b in columns:
            end = diagonal + at + 1 + b - width
            best, move = _NEVER, "."
            if 1 <= end <= count and costs[b] < _NEVER and quote.agrees(at, text, end - 1):
                best, move = costs[b], "m"
            if b < 2 * width and costs[b + 1] + skip < best:
                best, move = costs[b + 1] + skip, "q"
            if (
                b
                and 1 <= end <= count
                and not text.guarded[end - 1]
                and made[b - 1] + _TEXT_SKIP < best
            ):
                best, move = made[b - 1] + _TEXT_SKIP, "t"
            made.append(min(best, _NEVER))
            row.append(move)
        if min(made) > width * _QUOTE_SKIP:
            return None
        costs = made
        moves.append("".join(row))
    return moves, min(columns, key=lambda b: costs[b])


def _pairs(moves: list[str], column: int, *, diagonal: int, width: int) -> list[tuple[int, int]]:
    """Return the words of quote and text that are the same ones, in order."""
    pairs: list[tuple[int, int]] = []
    row = len(moves) - 1
    while row:
        move = moves[row][column]
        if move == "m":
            pairs.append((row - 1, diagonal + row + column - width - 1))
        if move in "mq":
            row -= 1
        column += {"m": 0, "q": 1, "t": -1}[move]
    return pairs[::-1]
