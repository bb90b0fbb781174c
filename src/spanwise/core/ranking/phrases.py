"""Quoted phrases of a question, and the chunks that contain them.

A phrase is one or more words in double quotes. A text contains it if it has the same words in the
same order. Case is ignored, and so are punctuation and line breaks between words. Between letters
of a script without spaces, only white space is ignored. Words are compared as written, not by their
stems.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import true_ranges
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
_BREAK = "\n"  # between runs of chunks: no part of a word
_SHORT = 8  # words; the time of `_ascii_occurrences` grows with the phrase
_SPACED = rf"[^\W{UNSPACED}]"  # a letter or digit of a script with spaces
_RUN = frozenset("0123456789abcdefghijklmnopqrstuvwxyz.,")
_LONG_RUN = b"a" * 200  # data, not words
_IN_RUN = bytes(97 if chr(code).lower() in _RUN else 32 for code in range(256))
"""Table that maps the bytes of a run to "a", and others to spaces."""
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
        if len(found) == _MAX_PHRASES:
            break
    return tuple(found.values())


def phrase_runs(phrase: Phrase, runs: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
    """Return whether each chunk contains a phrase, or a part of it, (n,).

    A phrase may continue beyond the end of a chunk. All chunks that it overlaps are marked. It does
    not continue in another run. The runs are compared together, which is faster.

    Args:
        phrase: The phrase.
        runs: Texts of the chunks of each run of consecutive chunks.
    """
    joined = list(map("".join, runs))
    is_short = len(phrase.words) <= _SHORT
    plain = [is_short and all(map(has_ascii_words, texts)) for texts in runs]
    lengths = np.array(list(map(len, runs)), dtype=np.int64)
    held = np.zeros(int(lengths.sum()), dtype=bool)
    starts = (np.cumsum(lengths) - lengths).tolist()
    together = [at for at, is_plain in enumerate(plain) if is_plain]
    text = _BREAK.join([joined[at] for at in together])
    if not _has_long_run(text):
        _mark(phrase, text, [(starts[at], runs[at]) for at in together], held, is_plain=True)
        alone = [at for at, is_plain in enumerate(plain) if not is_plain]
    else:
        alone = list(range(len(runs)))
    for at in alone:
        is_plain = plain[at] and not _has_long_run(joined[at])
        _mark(phrase, joined[at], [(starts[at], runs[at])], held, is_plain=is_plain)
    return held


def _has_long_run(text: str) -> bool:
    """Return whether a text has a long run of letters, digits, full stops and commas."""
    return _LONG_RUN in text.encode("utf-8", "surrogatepass").translate(_IN_RUN)


def _mark(
    phrase: Phrase,
    text: str,
    runs: Sequence[tuple[int, Sequence[str]]],
    held: NDArray[np.bool_],
    *,
    is_plain: bool,
) -> None:
    """Mark the chunks of a text that contain a phrase.

    Args:
        phrase: The phrase.
        text: Text of the runs, with `_BREAK` between them.
        runs: First row of each run, and the texts of its chunks.
        held: Rows to mark.
        is_plain: Whether the words of the text are ASCII, and not too long.
    """
    rows: list[int] = []
    owners: list[int] = []
    ends: list[int] = []
    for begin, end in (_ascii_occurrences if is_plain else _occurrences)(phrase, text):
        if not ends:
            start = 0
            for owner, (row, texts) in enumerate(runs):
                rows += range(row, row + len(texts))
                owners += [owner] * len(texts)
                places = list(accumulate(map(len, texts), initial=start))
                ends += places[1:]
                start = places[-1] + len(_BREAK)
        first, last = bisect_right(ends, begin), bisect_right(ends, end - 1)
        if owners[first] == owners[last]:
            held[rows[first] : rows[last] + 1] = True


def _occurrences(phrase: Phrase, text: str) -> Iterator[tuple[int, int]]:
    """Yield the range of each occurrence of a phrase in a text, in order; they may overlap.

    Takes linear time, also if the words repeat.
    """
    found = list(literal_words(text))
    firsts = np.array(_match_starts(phrase.words, [word for word, _, _ in found]), dtype=np.int64)
    if len(firsts) and any(phrase.joined):
        gaps = [bool(text[last[2] : now[1]].strip()) for last, now in pairwise(found)]
        before = np.cumsum([0, *gaps])  # number of gaps before each word
        for start, end in true_ranges(np.array(phrase.joined)):
            firsts = firsts[before[firsts + end - 1] == before[firsts + start - 1]]
    for first in firsts.tolist():
        yield found[first][1], found[first + len(phrase.words) - 1][2]


def _match_starts(sought: Sequence[str], found: Sequence[str]) -> list[int]:
    """Return the index of each occurrence of some consecutive words (Knuth-Morris-Pratt)."""
    # Length of the longest shorter prefix with which each prefix ends.
    borders = [0]
    length = 0
    for word in sought[1:]:
        while length and word != sought[length]:
            length = borders[length - 1]
        length += word == sought[length]
        borders.append(length)
    starts = []
    length = 0
    for at, word in enumerate(found):
        while length and (length == len(sought) or word != sought[length]):
            length = borders[length - 1]
        length += word == sought[length]
        if length == len(sought):
            starts.append(at + 1 - length)
    return starts


def _ascii_occurrences(phrase: Phrase, text: str) -> Iterator[tuple[int, int]]:
    """Yield the same as `_occurrences` if all words are ASCII; reads only words around matches."""
    lower, sought = text.lower(), phrase.words
    if not all(word in lower for word in sought):
        return
    pattern = _ascii_pattern(sought)
    match = pattern.search(lower)
    while match:
        # A run of letters, digits, full stops and commas is divided into words by itself.
        start, end = match.span()
        first = start
        while first and lower[first - 1] in _RUN:
            first -= 1
        while end < len(lower) and lower[end] in _RUN:
            end += 1
        near = lower[first:end]
        ranges = dict(_occurrences(phrase, near))
        if start - first in ranges:
            yield start, first + ranges[start - first]
        match = pattern.search(lower, start + 1)


@lru_cache(maxsize=64)
def _ascii_pattern(sought: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches wherever a text in lower case has consecutive ASCII words.

    Between two words there are no letters or digits. Letters without a gap are in one word. The
    pattern begins with a word, not with a condition, because `re` finds a literal prefix faster.
    """
    first, *others = map(re.escape, sought)
    before = f"(?<![a-z]{first})" if sought[0][:1].isalpha() else ""
    after = "(?![a-z])" if sought[-1][-1:].isalpha() else ""
    return re.compile("[^0-9a-z]*".join([first + before, *others]) + after)
