"""The words of a quote and of a text as they are compared where they are not the same throughout.

Rules:
    Letters of one case; marks do not count, but for those that make another number: sign, per cent,
    the brackets of a loss, and "<" and the like. "1,577" is 1577, and "(1,577)" is -1577.
    The currency of a number may be left out of a quote, never changed or put in.
    Numbers and the words that a statement hangs on are guarded: each stands in both, in its place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from spanwise.core.quotes.meaning import is_guarded
from spanwise.core.quotes.tokens import Tokens, is_word

__all__ = ["Words", "compared_words", "is_number"]

_CURRENCIES = frozenset("$€£¥₹₩₽₺₪₫₴฿¢")
_PER_CENT = frozenset("%‰")
_COMPARISONS = frozenset("<>=≤≥≠±≈~")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([,'])\d{3})(?:\1\d{3})*(?:\.\d+)?")
_PREFIX_TOKENS = 4


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text, in order."""

    keys: list[str]
    """What is compared."""
    guarded: list[bool]
    currencies: list[str]
    """Of a number; empty for none."""
    tokens: list[int]
    """Position of each among the tokens, ascending."""

    def __len__(self) -> int:
        return len(self.keys)

    def agrees(self, position: int, text: Words, other: int) -> bool:
        """Return whether a word of this quote is a word of a text."""
        currency = self.currencies[position]
        return self.keys[position] == text.keys[other] and (
            not currency or currency == text.currencies[other]
        )

    def inside(self, first: int, last: int) -> range:
        """Return the positions of the words among the tokens `[first, last)`."""
        return range(bisect_left(self.tokens, first), bisect_left(self.tokens, last))


def compared_words(tokens: Tokens) -> Words:
    """Return the words of some tokens."""
    words = Words([], [], [], [])
    for at, surface in enumerate(tokens.surfaces):
        if not is_word(surface):
            continue
        key, currency = surface.casefold(), ""
        guarded = is_guarded(key)
        if is_number(key):
            key, currency, guarded = *_number(tokens, at), True
        words.keys.append(key)
        words.guarded.append(guarded)
        words.currencies.append(currency)
        words.tokens.append(at)
    return words


def is_number(surface: str) -> bool:
    """Return whether a token has a digit."""
    return any(map(str.isdigit, surface))


def _number(tokens: Tokens, at: int) -> tuple[str, str]:
    """Return a number as it is compared, and its currency."""
    key = tokens.surfaces[at].casefold()
    if _GROUPED.fullmatch(key):
        key = key.replace(",", "").replace("'", "")
    is_less, is_open, currency, comparison = _before(tokens, at)
    after, part = _per_cent(tokens, at + 1)
    if not currency and after < len(tokens) and tokens.surfaces[after] in _CURRENCIES:
        # In a row of a table it is that of the next number.
        follows = after + 1 < len(tokens) and is_number(tokens.surfaces[after + 1])
        currency = "" if follows else tokens.surfaces[after]
        after += bool(currency)
    if is_open and after < len(tokens) and tokens.surfaces[after] == ")":
        is_less = True
        part = part or _per_cent(tokens, after + 1)[1]
    return comparison + "-" * is_less + key + part, currency


def _per_cent(tokens: Tokens, at: int) -> tuple[int, str]:
    """Return the token after a sign for per cent, and the sign, where one stands there."""
    if at < len(tokens) and tokens.surfaces[at] in _PER_CENT:
        return at + 1, tokens.surfaces[at]
    return at, ""


def _before(tokens: Tokens, at: int) -> tuple[bool, bool, str, str]:
    """Return whether a minus and a bracket stand before a number, its currency, and a "<"."""
    is_less, is_open, currency, comparison = False, False, "", ""
    for place in range(at - 1, max(-1, at - 1 - _PREFIX_TOKENS), -1):
        surface = tokens.surfaces[place]
        if surface in _CURRENCIES and not currency:
            currency = surface
        elif surface == "(" and not is_open:
            is_open = True
        elif surface == "-" and not is_less and tokens.touch(place) and _is_sign(tokens, place):
            is_less = True
        elif surface in _COMPARISONS:
            comparison = surface + comparison
        else:
            break
    return is_less, is_open, currency, comparison.lstrip("=")


def _is_sign(tokens: Tokens, place: int) -> bool:
    """Return whether a hyphen is a minus: nothing that it could join stands before it."""
    if place == 0 or not tokens.touch(place - 1):
        return True
    before = tokens.surfaces[place - 1]
    return before == "(" or before in _CURRENCIES
