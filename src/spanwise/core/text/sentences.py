r"""Where lines and paragraphs end, and where a text must not be cut.

Rules:
    A line ends after its line break and the blank lines that follow; "\r\n" is one break.
    The indentation of a line belongs to that line.
    A cut never falls between "\r" and "\n", between two surrogates, or before a
    combining mark that stands on the same line.

Where sentences end inside a line.

Rules:
    A sentence ends after its stop, what closes with it (quotes, brackets) and the spaces after it.
    After a Latin stop there must be a space, and what follows must not start with a small letter.
    The stops of Chinese, Japanese, Khmer and Burmese need no space.
    Abbreviations, initials and the numbers of clauses ("1. Term") end no sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

LINE_BREAKS = "\n\r\x0b\x0c\x85\u2028\u2029"
"""Characters that end a line."""

LINE_END = re.compile(f"[{LINE_BREAKS}](?:[^\\S{LINE_BREAKS}]*+[{LINE_BREAKS}])*")
"""A line break with the blank lines after it; the match ends where the next line starts."""

_JOINER = "\u200d"


def is_paragraph_end(line_end: re.Match[str]) -> bool:
    """Return whether a match of `LINE_END` holds a blank line."""
    length = line_end.end() - line_end.start()
    return length > 1 and not (length == 2 and line_end.group() == "\r\n")


def is_joined(text: str, place: int) -> bool:
    """Return whether the characters before and after a place are parts of one that people see."""
    before, after = text[place - 1], text[place]
    if after < "\u0300":
        return after == "\n" and before == "\r"
    if before in LINE_BREAKS:
        return False
    if "\udc00" <= after <= "\udfff":
        return "\ud800" <= before <= "\udbff"
    return (
        _JOINER in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or unicodedata.category(after)[0] == "M"
    )


def safe_cut(text: str, cut: int, *, start: int) -> int:
    """Return the last place at or before `cut` where the text may be cut.

    Args:
        text: The text.
        cut: Wanted place, `start < cut <= len(text)`.
        start: Where the piece begins that the cut ends.

    Returns:
        A place in `(start, cut]`; `cut` itself where every place before it is worse or as bad.
    """
    place = cut
    while start < place < len(text) and is_joined(text, place):
        place -= 1
    return place if place > start else cut


STOPS = ".!?…؟۔।॥։።፧။។៕。！？｡"
"""Characters that end a sentence."""

CLOSERS = "\"'”’»)\\]」』）】》〉*_"
"""What may stand between a stop and the end of its sentence, as the inside of a character class."""

_UNSPACED_STOPS = "。！？｡။។៕"

_END = re.compile(
    f"[{STOPS}]{{1,8}}+[{CLOSERS}]{{0,8}}+"  # bounded: a line of points must not cost its square
    f"(?:[^\\S{LINE_BREAKS}]++|(?<=[{_UNSPACED_STOPS}])|(?<=[{_UNSPACED_STOPS}][”’」』）】》〉]))"
    "(?=\\S)"
)

_LAST_WORD_CHARS = 16
_BEFORE_WORD = "([{\"'“‘"

_NEVER_LAST = frozenset(
    """mr mrs ms dr prof rev hon st messrs gen col capt lt sgt gov sen rep pres vs viz cf e.g i.e eg
    ie approx resp incl esp al ca bzw z.b d.h u.a vgl mme mlle""".split()
)
"""Abbreviations that are followed by more of their sentence."""

_BEFORE_NUMBER = frozenset(
    """no nos nr art arts sec secs fig figs p pp vol vols ch eq ex app par para paras ref tab item
    jan feb mar apr jun jul aug sep sept oct nov dec""".split()
)
"""Words that are abbreviations where a number follows."""

_BEFORE_NAME = frozenset(
    "inc ltd corp co llc plc bros jr sr dept dist univ assn etc u.s u.k e.u u.n p.m a.m".split()
)
"""Abbreviations that may end a sentence: they do where a word follows that opens one."""

_OPENERS = frozenset(
    """a after all also although an and any as at because before both but by each for from he her
    here his how however i if in into it its my no not of on once only or our please she since so
    some such that the their then there these they this those to under unless until upon we what
    when where whether which while who with you your""".split()
)
_WORD = re.compile(r"[\"'“‘(\[]*([^\W\d_]+)")


def _opens(text: str, place: int) -> bool:
    """Return whether the word at a place is one that often opens a sentence."""
    word = _WORD.match(text, place, place + _LAST_WORD_CHARS)
    return word is not None and word.group(1).lower() in _OPENERS


def _ends_after_point(text: str, point: int, following: int) -> bool:
    """Return whether the point at `point` ends a sentence, given where the next word starts."""
    before = text[max(0, point - _LAST_WORD_CHARS) : point].split()
    word = before[-1].lstrip(_BEFORE_WORD).lower() if before else ""
    if not word or len(word) == _LAST_WORD_CHARS:
        return True
    if word in _NEVER_LAST:
        return False
    if word in _BEFORE_NUMBER:
        return not text[following].isdigit()
    if word in _BEFORE_NAME or (len(word) == 1 and word.isalpha()):
        return _opens(text, following)
    if word.isdigit() and len(word) <= 3:
        return not _numbers_clause(text, point - len(word))
    return True


def _numbers_clause(text: str, start: int) -> bool:
    """Return whether a number at `start` counts a clause: it opens a line or follows a stop."""
    before = start - 1
    while before >= 0 and text[before] in " \t\xa0":
        before -= 1
    return before < 0 or text[before] in LINE_BREAKS or text[before] in ".;:!?"


def sentence_ends(text: str, *, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield where sentences end inside the lines of `text[start:end]`, in order.

    Args:
        text: The text.
        start: First character looked at.
        end: One past the last character looked at; None for the end of the text.

    Yields:
        Places in `(start, end)`: one past the spaces after a sentence, where its line goes on.
    """
    for match in _END.finditer(text, start, len(text) if end is None else end):
        place = match.end()
        if text[place].islower() or is_joined(text, place):
            continue
        stop = match.start()
        if text[stop] != "." or _ends_after_point(text, stop, place):
            yield place
