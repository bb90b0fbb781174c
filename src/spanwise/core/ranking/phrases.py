"""Quoted phrases of a question, and the chunks that contain them.

A phrase is one or more words in double quotes. A text contains it if it has the same words in the
same order. Case is ignored, and so are punctuation and line breaks between words. Between letters
of a script without spaces, only white space is ignored. Words are compared as written, not by their
stems.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.text.terms import (
    UNSPACED,
    has_ascii_words,
    is_unspaced,
    literal_words,
    stem_language,
    word_terms,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_MAX_PHRASES = 8
_PAIR = 2
_SHORT = 8  # words; the time of `_ascii_occurrences` grows with the phrase
_SPACED = rf"[^\W{UNSPACED}]"  # a letter or digit of a script with spaces
_RUN = frozenset("0123456789abcdefghijklmnopqrstuvwxyz.,")
_LONG_RUN = re.compile("[0-9A-Za-z.,]{200}")  # data, not words
_PlacedWord = tuple[str, int, int]
"""A word in the form for comparison, and its range `[start, end)` in a text."""
_QUOTATION_MARKS = frozenset('"“”„«»「」『』')


@cache
def _quoted() -> re.Pattern[str]:
    """Return the pattern of a text in quotation marks; compiling it takes milliseconds."""
    return re.compile(
        rf'(?<!{_SPACED})"(?=\S)(?P<straight>[^"]+)(?<=\S)"(?!{_SPACED})'  # not 6" or a gershayim
        "|“(?P<english>[^“”]+)”|„(?P<german>[^„“”]+)[“”]|”(?P<swedish>[^”]+)”"
        "|«(?P<french>[^«»]+)»|»(?P<danish>[^«»]+)«|「(?P<single>[^「」]+)」|『(?P<double>[^『』]+)』"
    )


class Phrase(NamedTuple):
    """A quoted phrase of a question."""

    text: str
    """Text between the quotation marks."""
    words: tuple[str, ...]
    """Words of the phrase in the form for comparison (`core.text.terms.literal_words`)."""
    joined: tuple[bool, ...]
    """Whether each word follows the previous one without a gap, as Chinese letters do."""

    def forms(self, languages: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the terms of the phrase in some languages, and an index for each term.

        The terms of one word in several languages have the same index.

        Args:
            languages: Languages of the documents; "" for an unknown language.
        """
        stemmers = sorted({stem_language(language) for language in languages or ("",)})
        place_of: dict[str, int] = {}
        count = 0
        for word in words(self.text):
            for terms in zip(*(_index_terms(word, name) for name in stemmers), strict=True):
                place = next((place_of[term] for term in terms if term in place_of), count)
                count += place == count
                for term in terms:
                    place_of.setdefault(term, place)
        return tuple(place_of), tuple(place_of.values())

    def least_terms(self, places: Sequence[int]) -> int:
        """Return the minimum number of distinct indexes whose terms a text with the phrase has.

        The terms of scripts without spaces are pairs of letters. A line break may divide one pair.

        Args:
            places: Indexes of the terms, from `forms`.
        """
        count = max(places) + 1
        is_divisible = len(self.words) > _PAIR and is_unspaced(self.text)
        return max(count - is_divisible, 1)


def _index_terms(word: str, language: str) -> tuple[str, ...]:
    """Return the terms of a word that do not depend on its capital letters and its neighbours.

    For example, the last letter of a Chinese word is a term only at the end of a run.
    """
    terms = word_terms(word, language=language)
    if not is_unspaced(word):
        return terms[:1]
    return tuple(term for term in terms if len(term) > 1 or not is_unspaced(term))


def read_phrases(text: str) -> tuple[Phrase, ...]:
    """Return the distinct quoted phrases of a question in order, at most 8."""
    if _QUOTATION_MARKS.isdisjoint(text):
        return ()
    found: dict[tuple[str, ...], Phrase] = {}
    for match in _quoted().finditer(text):
        quoted = match.group(match.lastgroup or 0).strip()
        places = list(literal_words(quoted))
        ends = [-1, *(end for _, _, end in places)]
        phrase = Phrase(
            text=quoted,
            words=tuple(word for word, _, _ in places),
            joined=tuple(start <= ends[at] for at, (_, start, _) in enumerate(places)),
        )
        if phrase.forms(("",))[0]:  # a single Chinese letter has no term
            found.setdefault(phrase.words, phrase)
    return tuple(found.values())[:_MAX_PHRASES]


def phrase_chunks(phrase: Phrase, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether each of some consecutive chunks contains a phrase, or a part of it, (n,).

    A phrase may continue beyond the end of a chunk. All chunks that it overlaps are marked.
    """
    held = np.zeros(len(texts), dtype=bool)
    text = "".join(texts)
    ends: list[int] = []
    is_plain = has_ascii_words(text) and _LONG_RUN.search(text) is None
    is_fast = is_plain and len(phrase.words) <= _SHORT
    for found in (_ascii_occurrences if is_fast else _occurrences)(phrase.words, text):
        if _are_joined(phrase, found, text):
            ends = ends or list(accumulate(map(len, texts)))
            first, last = bisect_right(ends, found[0][1]), bisect_right(ends, found[-1][2] - 1)
            held[first : last + 1] = True
    return held


def _occurrences(sought: Sequence[str], text: str) -> Iterator[list[_PlacedWord]]:
    """Yield the words of each occurrence of some consecutive words in a text, in order.

    The search for a substring takes linear time even if the words repeat.
    """
    found = list(literal_words(text))
    joined = "\n".join(("", *(word for word, _, _ in found), ""))
    needle = "\n".join(("", *sought, ""))
    starts = list(accumulate((len(word) + 1 for word, _, _ in found), initial=0))
    at = joined.find(needle)
    while at >= 0:
        first = bisect_left(starts, at)
        yield found[first : first + len(sought)]
        at = joined.find(needle, at + 1)


def _ascii_occurrences(sought: tuple[str, ...], text: str) -> Iterator[list[_PlacedWord]]:
    """Yield the same as `_occurrences` if all words are ASCII; reads only words around matches."""
    lower = text.lower()
    if not all(word in lower for word in sought):
        return
    pattern = _ascii_pattern(sought)
    match = pattern.search(lower)
    while match:
        start, end = match.span()
        # A run of letters, digits, full stops and commas is divided into words by itself.
        first = start
        while first and lower[first - 1] in _RUN:
            first -= 1
        while end < len(lower) and lower[end] in _RUN:
            end += 1
        near = [(word, first + at, first + to) for word, at, to in literal_words(lower[first:end])]
        at = next((at for at, (_, place, _) in enumerate(near) if place == start), len(near))
        found = near[at : at + len(sought)]
        if tuple(word for word, _, _ in found) == sought:
            yield found
        match = pattern.search(lower, start + 1)


@lru_cache(maxsize=64)
def _ascii_pattern(sought: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches wherever a text in lower case has consecutive ASCII words.

    Between two words there are no letters or digits. Letters without a gap are in one word.
    """
    before = "(?<![a-z])" if sought[0][:1].isalpha() else ""
    after = "(?![a-z])" if sought[-1][-1:].isalpha() else ""
    return re.compile(before + "[^0-9a-z]*".join(map(re.escape, sought)) + after)


def _are_joined(phrase: Phrase, found: Sequence[tuple[str, int, int]], text: str) -> bool:
    """Return whether only white space is between the words that are joined in the phrase."""
    return not any(
        joined and text[last[2] : now[1]].strip()
        for joined, (last, now) in zip(phrase.joined[1:], pairwise(found), strict=False)
    )
