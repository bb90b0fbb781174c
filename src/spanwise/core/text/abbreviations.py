"""Abbreviations of finance and business in a question ("R&D"), with the words they stand for.

The letters of such an abbreviation are also words of their own ("R. Tony Smith"), and rare ones. As
forms of the words they stand for, they do not count more than these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MEANINGS = {
    "d&a": "depreciation | amortization",
    "g&a": "general | administrative",
    "m&a": "merger | acquisition",
    "opex": "operating expenses",
    "p/e": "price | earnings",
    "r&d": "research | development",
}
"""Words by abbreviation; those of the parts before and after "&" or "/" are separated by "|"."""
_PARTS = {
    name: tuple(tuple(part.split()) for part in words.split("|"))
    for name, words in _MEANINGS.items()
}
_JOINT = re.compile(r" ?([&/]) ?")


def abbreviated_words(text: str, words: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Return the meaning of the abbreviations in a text: words by position of a word.

    Args:
        text: The text.
        words: Its words, in order.
    """
    meanings: dict[int, tuple[str, ...]] = {}
    end = 0
    for place, word in enumerate(words):
        start = text.index(word, end)
        joint = _JOINT.fullmatch(text, end, start) if place else None
        end = start + len(word)
        name = word if joint is None else f"{words[place - 1]}{joint[1]}{word}"
        parts = _PARTS.get(name.lower(), ())
        meanings.update(enumerate(parts, start=place + 1 - len(parts)))
    return meanings
