"""Where the words of a quote stand in a text in their order, but for a few.

Rules:
    At least .95 of the words of the quote stand in the passage, and of the passage in the quote.
    What is left out on either side is no guarded word, nor the denial of one on the other; nor is
    one of the words that stand in the place of the first and last ones of the quote.
    Some run of the quote's words stands in every such passage: passages are looked for by these.
    The time is linear in the text.

Whether a quote stands in one of some texts, and where.

Rules:
    Exact: token for token, but for white space and typographic variants; the first letter may be
    of the other case, as at the beginning of a sentence.
    A quote that begins or ends directly at a word that denies has left it out, and failed. A line
    break before a capital letter or "%" ends the sentence: table rows end so. After a quote, "non-"
    denies only the word that it begins.
    Near: at least .95 of its words in their order; every number, negation and other word that a
    statement hangs on is exact. A quote of fewer than three words and no number is exact or failed.
    A quote with an ellipsis is checked part by part, in order, inside one text. Each ellipsis
    leaves out few words, and none that denies in the sentences that it joins. All parts but one
    have on average two words, or a number: of single words any statement could be put together.
    The text that is cited is looked at first, then the others in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from spanwise.core.answers.citations import nearest_passage
from spanwise.core.answers.quote_words import (
    ELLIPSIS,
    PER_CENT,
    Tokens,
    Words,
    compared_words,
    is_negated_form,
    is_negation,
    is_number,
    is_word,
    read_tokens,
)

if TYPE_CHECKING:
    from spanwise.types import QuoteStatus

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


_OUTER = " \t\n\r\"'“”„‟«»`"
_MAX_QUOTE_CHARS = 20_000
_MIN_NEAR_WORDS = 3
_MAX_PLACES = 1_000
_MAX_LEFT_OUT = 100
_MIN_PART_WORDS = 2
_MAX_PARTS = 16
_MAX_BEGINNINGS = 50
_SENTENCE_STOPS = frozenset(".!?。！？")
_STOPS = _SENTENCE_STOPS | frozenset(",;:、，；：")
_BRACKETS = frozenset("[]()")
_CLOSING = frozenset(")]}\"'%‰")
_BEFORE_NUMBER = frozenset("(-")
_AFTER_NUMBER = frozenset(")%‰")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQuote:
    """What became of a quote."""

    status: QuoteStatus
    similarity: float
    """Words of the quote that stand there in their order, in [0, 1]; of a failed one those in the
    passage that is most like it."""
    text: int | None = None
    """Position of the text that holds it; None if it failed."""
    start: int = 0
    """Its first character there."""
    end: int = 0
    """One past its last character."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Tokens `[first, last)` of a text, and how many of the quote's words stand there."""

    first: int
    last: int
    is_exact: bool
    matched: int


class _Reading:
    """A text or a quote as it is compared, each form made when it is needed."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens

    @cached_property
    def surfaces(self) -> str:
        return join_keys(self.tokens.surfaces)

    @cached_property
    def words(self) -> Words:
        return compared_words(self.tokens)

    @cached_property
    def keys(self) -> str:
        return join_keys(self.words.keys)

    def joined(self, quote: _Reading) -> _Reading:
        """Return this with the words joined that the quote has whole."""
        tokens = self.tokens.joined(set(quote.words.keys))
        return self if tokens is self.tokens else _Reading(tokens)


class QuoteChecker:
    """Checks quotes against texts, each of which is read once."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Take the texts that may be quoted."""
        self._texts = tuple(texts)
        self._readings: dict[int, _Reading] = {}

    def check(self, quote: str, *, cited: Collection[int] = ()) -> CheckedQuote:
        """Return whether and where a quote stands.

        Args:
            quote: The quote; quotation marks around it do not count.
            cited: Positions of the texts it is said to stand in; the others come after them.
        """
        given = _Reading(read_tokens(quote[: _MAX_QUOTE_CHARS + 1].strip(_OUTER)))
        if len(quote) > _MAX_QUOTE_CHARS or not given.words:
            return CheckedQuote(status="failed", similarity=0.0)
        parts = _parts(given.tokens)
        for number in self._order(cited):
            found = self._found(given, parts, number)
            if found is not None:
                return found
        return CheckedQuote(status="failed", similarity=self._likeness(quote, given))

    def _order(self, cited: Collection[int]) -> list[int]:
        return sorted(range(len(self._texts)), key=lambda number: number not in cited)

    def _reading(self, number: int) -> _Reading:
        if number not in self._readings:
            self._readings[number] = _Reading(read_tokens(self._texts[number]))
        return self._readings[number]

    def _found(
        self, quote: _Reading, parts: Sequence[_Reading], number: int
    ) -> CheckedQuote | None:
        """Return where a quote stands in one text, whole or in its parts."""
        text = self._reading(number).joined(quote)
        whole = _place(quote, text, first=0)
        places = [whole] if whole is not None else _places(parts, text)
        if not places:
            return None
        count = len(quote.words) if whole is not None else sum(len(one.words) for one in parts)
        return CheckedQuote(
            status="exact" if all(place.is_exact for place in places) else "near",
            similarity=sum(place.matched for place in places) / count,
            text=number,
            start=text.tokens.starts[places[0].first],
            end=text.tokens.ends[places[-1].last - 1],
        )

    def _likeness(self, quote: str, given: _Reading) -> float:
        """Return how much of a quote stands in the passage that is most like it, below 1."""
        passages = [
            (nearest.similarity, text[nearest.start : nearest.end])
            for text in self._texts
            if (nearest := nearest_passage(text, quote, near=0)) is not None
        ]
        if not passages:
            return 0.0
        _, passage = max(passages, key=lambda one: one[0])
        keys = compared_words(read_tokens(passage)).keys
        common = _common(given.words.keys[:MAX_WORDS], keys[:MAX_WORDS])
        return min(common, len(given.words) - 1) / len(given.words)


def _common(keys: Sequence[str], others: Sequence[str]) -> int:
    """Return how many words two texts have in common, in their order."""
    before = [0] * (len(others) + 1)
    for key in keys:
        row = [0]
        for at, other in enumerate(others):
            row.append(before[at] + 1 if key == other else max(row[at], before[at + 1]))
        before = row
    return before[-1]


def _parts(tokens: Tokens) -> list[_Reading]:
    """Return what stands between the ellipses of a quote; nothing where it has none."""
    parts: list[_Reading] = []
    cuts = [at for at, surface in enumerate(tokens.surfaces) if surface == ELLIPSIS]
    if not cuts:
        return []
    for start, end in zip([-1, *cuts], [*cuts, len(tokens)], strict=True):
        first, last = start + 1, end
        while first < last and tokens.surfaces[first] in _BRACKETS and start >= 0:
            first += 1
        while first < last and tokens.surfaces[last - 1] in _BRACKETS and end < len(tokens):
            last -= 1
        part = Tokens(
            tokens.surfaces[first:last],
            tokens.starts[first:last],
            tokens.ends[first:last],
            [],
            tokens.text,
        )
        if any(map(is_word, part.surfaces)):
            parts.append(_Reading(part))
    keys = [key for part in parts for key in part.words.keys]
    words = len(keys) + sum(map(is_number, keys))
    is_scattered = words < _MIN_PART_WORDS * (len(parts) - 1) + 1
    return [] if is_scattered or len(parts) > _MAX_PARTS else parts


def _places(parts: Sequence[_Reading], text: _Reading) -> list[_Place]:
    """Return where the parts of a quote stand one after the other; nothing if they do not."""
    first = 0
    for _ in range(_MAX_BEGINNINGS if parts else 0):
        begun = _place(parts[0], text, first=first)
        if begun is None:
            return []
        places = [begun]
        for part in parts[1:]:
            place = _place(part, text, first=places[-1].last)
            if place is None:
                return []
            if not _may_join(places[-1], place, text):
                break
            places.append(place)
        if len(places) == len(parts):
            return places
        first = begun.first + 1
    return []


def _may_join(before: _Place, after: _Place, text: _Reading) -> bool:
    """Return whether an ellipsis may stand for what is between two parts of a quote."""
    few = len(text.words.inside(before.last, after.first)) <= _MAX_LEFT_OUT
    return few and not _denies(text.tokens.surfaces[before.last : after.first])


def _denies(left_out: Sequence[str]) -> bool:
    """Return whether what an ellipsis leaves out denies something in the sentences it joins."""
    stops = [at for at, surface in enumerate(left_out) if surface in _SENTENCE_STOPS]
    joined = [*left_out[: stops[0]], *left_out[stops[-1] :]] if stops else left_out
    return any(is_negation(surface.casefold()) for surface in joined)


def _place(quote: _Reading, text: _Reading, *, first: int) -> _Place | None:
    """Return the first place of a quote at or after a token, exact if there is one."""
    return _exact(quote, text, first) or _near(quote, text, first)


def _exact(quote: _Reading, text: _Reading, first: int) -> _Place | None:
    count = len(quote.tokens)
    for place in _runs(quote, text):
        if place < first:
            continue
        there = text.words.inside(place, place + count)
        per_cent = _next_line_per_cent(text.tokens, place + count)
        # The first number of a quote may have lost its sign, the last one its per cent.
        agrees = all(
            quote.words.agrees(at, text.words, word, suffix=per_cent if word == there[-1] else "")
            for at, word in enumerate(there)
        )
        if agrees and not _is_denied(text.tokens, place, place + count):
            return _Place(place, place + count, is_exact=True, matched=len(there))
    return None


def _runs(quote: _Reading, text: _Reading) -> Iterator[int]:
    """Yield the tokens at which the tokens of a quote stand one after the other."""
    surfaces = quote.tokens.surfaces
    letter = surfaces[0][0]
    for form in dict.fromkeys((letter, letter.lower(), letter.upper())):
        run = join_keys([form + surfaces[0][1:], *surfaces[1:]])
        at = text.surfaces.find(run)
        position = place = 0
        for _ in range(_MAX_PLACES):
            if at < 0:
                break
            position += text.surfaces.count(_SEPARATOR, place, at)
            place = at
            yield position
            at = text.surfaces.find(run, at + 1)


def _near(quote: _Reading, text: _Reading, first: int) -> _Place | None:
    words = quote.words
    is_short = len(words) < _MIN_NEAR_WORDS and not any(map(is_number, words.keys))
    if is_short or len(words) > MAX_WORDS:
        return None
    begin = text.words.inside(first, first).start
    run = align(words, text.words, joined=text.keys, first=begin)
    if run is None:
        return None
    start, end = text.words.tokens[run.first], text.words.tokens[run.last - 1] + 1
    if is_number(text.tokens.surfaces[end - 1]):
        while end < len(text.tokens) and text.tokens.surfaces[end] in _AFTER_NUMBER:
            end += 1
    if text.words.keys[run.first].startswith("-"):
        while start and text.tokens.surfaces[start - 1] in _BEFORE_NUMBER:
            start -= 1
    if _is_denied(text.tokens, start, end):
        return None
    return _Place(start, end, is_exact=False, matched=run.matched)


def _next_line_per_cent(tokens: Tokens, at: int) -> str:
    """Return the "%" that begins a line at a token, as a caption of a table does, or nothing."""
    if at < len(tokens) and tokens.surfaces[at] in PER_CENT and tokens.begins_line(at):
        return tokens.surfaces[at]
    return ""


def _begins_sentence(tokens: Tokens, at: int) -> bool:
    """Return whether a capital letter or "%" begins a line, and with it a sentence.

    Between words in capitals, a capital letter says nothing.
    """
    surface = tokens.surfaces[at]
    is_capital = surface[0].isupper() and not (
        surface.isupper() and tokens.surfaces[at - 1].isupper()
    )
    return (is_capital or surface in PER_CENT) and tokens.begins_line(at)


def _is_prefix(tokens: Tokens, at: int) -> bool:
    """Return whether a token is the "non" of a word such as "non-current"."""
    return (
        tokens.surfaces[at].casefold() == "non"
        and tokens.surfaces[at + 1 : at + 2] == ["-"]
        and tokens.touch(at)
    )


def _is_denied(tokens: Tokens, first: int, last: int) -> bool:
    """Return whether a word that denies stands directly before some tokens or after them.

    After them it counts only in the same sentence, and "non-" only for the word that it begins.
    """
    before = first - 1
    if before > 0 and tokens.surfaces[before] == "-":  # "non-cash"
        before -= 1
    around = list(tokens.surfaces[max(0, before) : before + 1])
    after = last
    while after < len(tokens) and tokens.surfaces[after] in _CLOSING:  # "(b) not"
        if _begins_sentence(tokens, after):
            break
        after += 1
    if (
        after < len(tokens)
        and tokens.surfaces[after - 1] not in _STOPS
        and not _begins_sentence(tokens, after)
        and not _is_prefix(tokens, after)
    ):
        around.append(tokens.surfaces[after])
    return any(is_negation(surface.casefold()) for surface in around)
