"""Quote verification: whether and where a quote occurs in one of several texts.

Rules of status:
    Exact: all tokens are equal, ignoring white space and typographic variants. The case of the
    first letter is ignored, because it may begin a sentence.
    Near: at least 95 % of its words match in order, among them every number, negation and other
    guarded word. A quote of fewer than three words without a number is either exact or failed.
    A quote fails if a negation directly before or after it was omitted.
    A quote with an ellipsis is checked part by part, in order, inside one text. An ellipsis may
    omit only a few words, and no negation in the sentences that it joins. The parts must have two
    words on average, or contain a number; otherwise any statement could be assembled from single
    words.
    The cited texts are searched first, then the others in order.

Rules of alignment:
    At least 95 % of the words of the quote are in the passage, and at least 95 % of the words of
    the passage are in the quote. Words without a match are never guarded words or negated forms of
    each other. If the first or last words of the quote do not match, the words in their place are
    not guarded words.

Method: banded edit distance. By the pigeonhole principle, each such passage contains at least one
of a few runs of the quote's words unchanged. These runs are searched for. The time is linear in the
text.
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
"""Maximum number of words of a quote that is compared word by word."""

_MIN_PART = 0.95
_SEPARATOR = "\x1f"
_PLACES_A_RUN = 8
_MAX_PASSAGES = 16
_QUOTE_SKIP, _TEXT_SKIP = 1_001, 1_000  # at equal cost, fewer words of the quote are skipped
_NEVER = 1 << 30


@dataclass(frozen=True, slots=True)
class WordRun:
    """Range of words `[first, last)` of a text that matches a quote."""

    first: int
    """Index of the first word."""
    last: int
    """Index after the last word."""
    matched: int
    """Number of words of the quote in the run."""


def align(quote: Words, text: Words, *, joined: str, first: int = 0) -> WordRun | None:
    """Return the first passage of a text that matches a quote except for a few words, or None.

    Args:
        quote: Words of the quote, at most `MAX_WORDS`.
        text: Words of the text.
        joined: Keys of the text, joined by `join_keys`.
        first: First word of the text at which the passage may begin.
    """
    width = 2 * _most_omitted(len(quote))
    for diagonal in _diagonals(quote, joined, width):
        run = _aligned(quote, text, max(diagonal, first - width), width)
        if run is not None and run.first >= first:
            return run
    return None


def join_keys(keys: list[str]) -> str:
    """Return keys as one string, in which runs of keys can be searched."""
    return _SEPARATOR + _SEPARATOR.join(keys) + _SEPARATOR


def _most_omitted(count: int) -> int:
    return int(count * (1 - _MIN_PART) + 1e-9)


def _diagonals(quote: Words, joined: str, width: int) -> Iterator[int]:
    """Yield possible starts of the quote in the text, except starts close to an earlier one.

    The quote is cut into `width + 1` runs. If at most `width` words of quote and text are omitted,
    at least one run occurs unchanged.
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
    """Return the best passage that begins near a diagonal, if it matches the quote."""
    moves = _moves(quote, text, diagonal, width)
    pairs = [] if moves is None else _pairs(*moves, diagonal=diagonal, width=width)
    if not pairs:
        return None
    run = WordRun(first=pairs[0][1], last=pairs[-1][1] + 1, matched=len(pairs))
    if run.matched < _MIN_PART * max(len(quote), run.last - run.first) - 1e-9:
        return None
    return None if _changes_meaning(quote, text, pairs) else run


def _changes_meaning(quote: Words, text: Words, pairs: Sequence[tuple[int, int]]) -> bool:
    """Return whether the words without a match change the statement."""
    (head, first), (tail, last) = pairs[0], pairs[-1]
    in_place = (
        *text.guarded[max(0, first - head) : first],
        *text.guarded[last + 1 : last + len(quote) - tail],
    )
    matched_quote, matched_text = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    quote_only = [key for at, key in enumerate(quote.keys) if at not in matched_quote]
    text_only = [text.keys[at] for at in range(first, last) if at not in matched_text]
    return any(in_place) or any(
        is_negated_form(key, other) for key in quote_only for other in text_only
    )


def _moves(quote: Words, text: Words, diagonal: int, width: int) -> tuple[list[str], int] | None:
    """Return the best move to each cell of the band, one row per word, and the best final column.

    Cell (i, b) aligns the first i words of the quote with the first `diagonal + i + b - width`
    words of the text. "m" matches a word, "q" skips a word of the quote, "t" a word of the text.
    """
    columns = range(2 * width + 1)
    count = len(text)
    costs = [0 if 0 <= diagonal + b - width <= count else _NEVER for b in columns]
    moves = ["." * len(costs)]
    for at in range(len(quote)):
        new_costs: list[int] = []
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
                and new_costs[b - 1] + _TEXT_SKIP < best
            ):
                best, move = new_costs[b - 1] + _TEXT_SKIP, "t"
            new_costs.append(min(best, _NEVER))
            row.append(move)
        if min(new_costs) > width * _QUOTE_SKIP:
            return None
        costs = new_costs
        moves.append("".join(row))
    return moves, min(columns, key=lambda b: costs[b])


def _pairs(moves: list[str], column: int, *, diagonal: int, width: int) -> list[tuple[int, int]]:
    """Return the matched words of quote and text as index pairs, in order."""
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
_MAX_OMITTED = 100
_MIN_PART_WORDS = 2
_MAX_PARTS = 16
_MAX_BEGINNINGS = 50
_SENTENCE_STOPS = frozenset(".!?。！？")
_STOPS = _SENTENCE_STOPS | frozenset(",;:、，；：")
_BRACKETS = frozenset("[]()")
_CLOSING = frozenset(")]}\"'%‰")
_BEFORE_NUMBER = frozenset("(-")
_BEFORE_NO = frozenset(("yes", "no", "none", "page"))  # words before a cell "No"
_AFTER_NUMBER = frozenset(")%‰")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQuote:
    """Result of the check of one quote."""

    status: QuoteStatus
    """Whether the quote is exact, near or failed."""
    similarity: float
    """Fraction of the quote's words found in order, in [0, 1].

    For a failed quote, the fraction found in the most similar passage.
    """
    text: int | None = None
    """Index of the text that contains the quote; None if it failed."""
    start: int = 0
    """Offset of its first character in that text."""
    end: int = 0
    """Offset after its last character in that text."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Range of tokens `[first, last)` of a text that matches a quote."""

    first: int
    last: int
    is_exact: bool
    matched: int
    """Number of words of the quote in the range."""


class _TokenizedText:
    """A text or a quote in the forms used for comparison, each computed on first use."""

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

    def joined(self, quote: _TokenizedText) -> _TokenizedText:
        """Return the text, with words of the quote joined where a line break splits them."""
        tokens = self.tokens.joined(set(quote.words.keys))
        return self if tokens is self.tokens else _TokenizedText(tokens)


class QuoteChecker:
    """Checks quotes against texts; each text is tokenized once."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Store the texts that may be quoted."""
        self._texts = tuple(texts)
        self._readings: dict[int, _TokenizedText] = {}

    def check(self, quote: str, *, cited: Collection[int] = ()) -> CheckedQuote:
        """Return whether and where a quote occurs.

        Args:
            quote: The quote; surrounding quotation marks are ignored.
            cited: Indexes of the texts to search first.
        """
        read_quote = _TokenizedText(read_tokens(quote[: _MAX_QUOTE_CHARS + 1].strip(_OUTER)))
        if len(quote) > _MAX_QUOTE_CHARS or not read_quote.words:
            return CheckedQuote(status="failed", similarity=0.0)
        parts = _parts(read_quote.tokens)
        for number in sorted(range(len(self._texts)), key=lambda number: number not in cited):
            result = self._find_in_text(read_quote, parts, number)
            if result is not None:
                return result
        return CheckedQuote(status="failed", similarity=self._best_similarity(quote, read_quote))

    def _reading(self, number: int) -> _TokenizedText:
        if number not in self._readings:
            self._readings[number] = _TokenizedText(read_tokens(self._texts[number]))
        return self._readings[number]

    def _find_in_text(
        self, quote: _TokenizedText, parts: Sequence[_TokenizedText], number: int
    ) -> CheckedQuote | None:
        """Return the place of a quote, or of its parts in order, in one text."""
        text = self._reading(number).joined(quote)
        whole = _place(quote, text, first=0)
        places = [whole] if whole is not None else _places(parts, text)
        if not places:
            return None
        count = len(quote.words) if whole is not None else sum(len(part.words) for part in parts)
        return CheckedQuote(
            status="exact" if all(place.is_exact for place in places) else "near",
            similarity=sum(place.matched for place in places) / count,
            text=number,
            start=text.tokens.starts[places[0].first],
            end=text.tokens.ends[places[-1].last - 1],
        )

    def _best_similarity(self, quote: str, read_quote: _TokenizedText) -> float:
        """Return the fraction of a quote's words found in the most similar passage, below 1."""
        passages = [
            (nearest.similarity, text[nearest.start : nearest.end])
            for text in self._texts
            if (nearest := nearest_passage(text, quote, near=0)) is not None
        ]
        if not passages:
            return 0.0
        _, passage = max(passages, key=lambda pair: pair[0])
        keys = compared_words(read_tokens(passage)).keys
        common = _common(read_quote.words.keys[:MAX_WORDS], keys[:MAX_WORDS])
        return min(common, len(read_quote.words) - 1) / len(read_quote.words)


def _common(keys: Sequence[str], others: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two word lists."""
    before = [0] * (len(others) + 1)
    for key in keys:
        row = [0]
        for at, other in enumerate(others):
            row.append(before[at] + 1 if key == other else max(row[at], before[at + 1]))
        before = row
    return before[-1]


def _parts(tokens: Tokens) -> list[_TokenizedText]:
    """Return the parts between the ellipses of a quote; empty if it has none."""
    parts: list[_TokenizedText] = []
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
            parts.append(_TokenizedText(part))
    keys = [key for part in parts for key in part.words.keys]
    words = len(keys) + sum(map(is_number, keys))
    is_scattered = words < _MIN_PART_WORDS * (len(parts) - 1) + 1
    return [] if is_scattered or len(parts) > _MAX_PARTS else parts


def _places(parts: Sequence[_TokenizedText], text: _TokenizedText) -> list[_Place]:
    """Return the places of the parts of a quote, in order; empty if one is missing."""
    first = 0
    for _ in range(_MAX_BEGINNINGS if parts else 0):
        first_place = _place(parts[0], text, first=first)
        if first_place is None:
            return []
        places = [first_place]
        for part in parts[1:]:
            place = _place(part, text, first=places[-1].last)
            if place is None:
                return []
            if not _may_join(places[-1], place, text):
                break
            places.append(place)
        if len(places) == len(parts):
            return places
        first = first_place.first + 1
    return []


def _may_join(before: _Place, after: _Place, text: _TokenizedText) -> bool:
    """Return whether an ellipsis may replace the text between two parts of a quote."""
    few = len(text.words.inside(before.last, after.first)) <= _MAX_OMITTED
    return few and not _denies(text.tokens.surfaces[before.last : after.first])


def _denies(omitted: Sequence[str]) -> bool:
    """Return whether omitted words contain a negation of the sentences that an ellipsis joins."""
    stops = [at for at, surface in enumerate(omitted) if surface in _SENTENCE_STOPS]
    joined = [*omitted[: stops[0]], *omitted[stops[-1] :]] if stops else omitted
    return any(is_negation(surface.casefold()) for surface in joined)


def _place(quote: _TokenizedText, text: _TokenizedText, *, first: int) -> _Place | None:
    """Return the first place of a quote from token `first` on, an exact one if possible."""
    return _exact(quote, text, first) or _near(quote, text, first)


def _exact(quote: _TokenizedText, text: _TokenizedText, first: int) -> _Place | None:
    count = len(quote.tokens)
    for place in _runs(quote, text):
        if place < first:
            continue
        matched_words = text.words.inside(place, place + count)
        per_cent = _next_line_per_cent(text.tokens, place + count)
        # The quote may begin after the minus sign of a number, or end before its percent sign.
        agrees = all(
            quote.words.agrees(
                at, text.words, word, suffix=per_cent if word == matched_words[-1] else ""
            )
            for at, word in enumerate(matched_words)
        )
        if agrees and not _is_denied(text.tokens, place, place + count):
            return _Place(place, place + count, is_exact=True, matched=len(matched_words))
    return None


def _runs(quote: _TokenizedText, text: _TokenizedText) -> Iterator[int]:
    """Yield the indexes of tokens at which all tokens of a quote occur consecutively."""
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


def _near(quote: _TokenizedText, text: _TokenizedText, first: int) -> _Place | None:
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
    """Return the token if it is a "%" at the start of a line, as in captions of tables; else ""."""
    if at < len(tokens) and tokens.surfaces[at] in PER_CENT and tokens.begins_line(at):
        return tokens.surfaces[at]
    return ""


def _begins_sentence(tokens: Tokens, at: int) -> bool:
    """Return whether a token begins a line, and probably a sentence: a capital letter, or "%".

    A word in capitals does not begin a sentence if the word before it is in capitals too.
    """
    surface = tokens.surfaces[at]
    is_capital = surface[0].isupper() and not (
        surface.isupper() and tokens.surfaces[at - 1].isupper()
    )
    return (is_capital or surface in PER_CENT) and tokens.begins_line(at)


def _is_cell(tokens: Tokens, at: int) -> bool:
    """Return whether a negation is the last cell of a table row: "None", or "No" after a mark.

    The next line must begin with a capital letter.
    """
    surface = tokens.surfaces[at]
    if not surface[0].isupper() or not _begins_sentence(tokens, at + 1):
        return False
    if surface.casefold() == "none":
        return True
    before = tokens.surfaces[at - 1] if at and not tokens.begins_line(at) else "."
    is_mark = not is_word(before) and before not in _STOPS
    return surface.casefold() == "no" and (is_mark or before.casefold() in _BEFORE_NO)


def _is_prefix(tokens: Tokens, at: int) -> bool:
    """Return whether a token is the "non" of a word such as "non-current"."""
    return (
        tokens.surfaces[at].casefold() == "non"
        and tokens.surfaces[at + 1 : at + 2] == ["-"]
        and tokens.touch(at)
    )


def _is_denied(tokens: Tokens, first: int, last: int) -> bool:
    """Return whether a negation is directly before or after a range of tokens.

    A negation after the range counts only in the same sentence. The prefix "non-" and a cell at the
    end of the row before do not count.
    """
    before = first - 1
    if before > 0 and tokens.surfaces[before] == "-":  # "non-cash"
        before -= 1
    around = list(tokens.surfaces[max(0, before) : before + 1])
    if before == first - 1 >= 0 and _is_cell(tokens, before):
        around = []
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
