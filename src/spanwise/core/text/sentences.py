r"""Line, paragraph and sentence ends, and the places where a text may be cut.

Rules of lines:
    A line ends after its line break and the blank lines that follow; "\r\n" is one break.
    The indentation of a line belongs to that line.
    A cut never falls between "\r" and "\n", between two surrogates, or before a combining mark on
    the same line.

Rules of sentences:
    A sentence ends after its stop, closing quotes and brackets, and the spaces after them.
    A Latin stop must be followed by a space, and the next word must not be in lower case.
    The stops of Chinese, Japanese, Khmer and Burmese need no space.
    Abbreviations, initials and clause numbers ("1. Term") end no sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

LINE_BREAKS = "\n\r\x0b\x0c\x85\u2028\u2029"
"""Characters that end a line."""

LINE_END = re.compile(f"[{LINE_BREAKS}](?:[^\\S{LINE_BREAKS}]*+[{LINE_BREAKS}])*")
"""A line break with the blank lines after it; the match ends where the next line starts."""

_JOINER = "\u200d"


def is_paragraph_end(line_end: re.Match[str]) -> bool:
    """Return whether a match of `LINE_END` contains a blank line."""
    length = line_end.end() - line_end.start()
    return length > 1 and not (length == 2 and line_end.group() == "\r\n")


def is_joined(text: str, place: int) -> bool:
    """Return whether the characters before and after an offset form one visible character."""
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
    """Return the last offset at or before `cut` where the text may be cut.

    Args:
        text: The text.
        cut: Requested offset, `start < cut <= len(text)`.
        start: Start of the piece of text before the cut.

    Returns:
        An offset in `(start, cut]`; `cut` itself if the range has no safe offset.
    """
    place = cut
    while start < place < len(text) and is_joined(text, place):
        place -= 1
    return place if place > start else cut


STOPS = ".!?…؟۔।॥։።፧။។៕。！？｡"
"""Characters that end a sentence."""

CLOSERS = "\"'”’»)\\]」』）】》〉*_"
"""Characters that may follow a stop, for use inside a regex character class."""

_UNSPACED_STOPS = "。！？｡။។៕"

SENTENCE_MARK = re.compile(
    f"[{STOPS}]{{1,8}}+[{CLOSERS}]{{0,8}}+"  # bounded, so that a line of points takes linear time
    f"(?:[^\\S{LINE_BREAKS}]++|(?<=[{_UNSPACED_STOPS}])|(?<=[{_UNSPACED_STOPS}][”’」』）】》〉]))"
    "(?=\\S)"
)
"""A stop with the closers and spaces after it, which may end a sentence; see `sentence_ends`."""

LAST_WORD_CHARS = 16
"""Maximum length of the words around a full stop that decide whether it ends a sentence."""
_BEFORE_WORD = "([{\"'“‘"

_NEVER_LAST = frozenset(
    """mr mrs ms dr prof rev hon st messrs gen col capt lt sgt gov sen rep pres vs viz cf e.g i.e eg
    ie approx resp incl esp al ca bzw z.b d.h u.a vgl mme mlle""".split()
)
"""Abbreviations that never end a sentence."""

_BEFORE_NUMBER = frozenset(
    """no nos nr art arts sec secs fig figs p pp vol vols ch eq ex app par para paras ref tab item
    jan feb mar apr jun jul aug sep sept oct nov dec""".split()
)
"""Words that are abbreviations, and do not end a sentence, if a number follows."""

_BEFORE_NAME = frozenset(
    "inc ltd corp co llc plc bros jr sr dept dist univ assn etc u.s u.k e.u u.n p.m a.m".split()
)
"""Abbreviations that end a sentence only if a typical first word follows."""

_OPENERS = frozenset(
    """a after all also although an and any as at because before both but by each for from he her
    here his how however i if in into it its my no not of on once only or our please she since so
    some such that the their then there these they this those to under unless until upon we what
    when where whether which while who with you your""".split()
)
_WORD = re.compile(r"[\"'“‘(\[]*([^\W\d_]+)")


def _opens(text: str, place: int) -> bool:
    """Return whether the word at an offset is a typical first word of a sentence."""
    word = _WORD.match(text, place, place + LAST_WORD_CHARS)
    return word is not None and word.group(1).lower() in _OPENERS


def _ends_after_point(text: str, point: int, following: int) -> bool:
    """Return whether the full stop at `point` ends a sentence; `following` is the next word."""
    before = text[max(0, point - LAST_WORD_CHARS) : point].split()
    word = before[-1].lstrip(_BEFORE_WORD).lower() if before else ""
    if not word or len(word) == LAST_WORD_CHARS:
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
    """Return whether the number at `start` is a clause number: after a line break or a stop."""
    before = start - 1
    while before >= 0 and text[before] in " \t\xa0":
        before -= 1
    return before < 0 or text[before] in LINE_BREAKS or text[before] in ".;:!?"


def sentence_ends(text: str, *, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield the sentence ends inside the lines of `text[start:end]`, in order.

    Args:
        text: The text.
        start: Offset of the first character.
        end: Offset after the last character; None for the end of the text.

    Yields:
        Offset of the next sentence in the same line, in `(start, end)`.
    """
    for match in SENTENCE_MARK.finditer(text, start, len(text) if end is None else end):
        place = match.end()
        if text[place].islower() or is_joined(text, place):
            continue
        stop = match.start()
        if text[stop] != "." or _ends_after_point(text, stop, place):
            yield place


_MAX_CHARS_PER_TOKEN = 8  # of prose; denser text is truncated a little below the limit


def truncate(
    text: str, *, max_tokens: int, count_tokens: Callable[[Sequence[str]], list[int]]
) -> str:
    """Return a text, or its beginning up to the last white space within a token limit.

    Args:
        text: The text.
        max_tokens: Maximum tokens of the result, at least 1.
        count_tokens: Function that returns the number of tokens of each text.

    Returns:
        The whole text if it fits. A text of more than 8 characters per token never fits.
    """
    length = min(len(text), _MAX_CHARS_PER_TOKEN * max_tokens)
    tokens = count_tokens([text[:length]])[0]
    while tokens > max_tokens:
        length = min(length - 1, length * max_tokens // tokens)
        tokens = count_tokens([text[:length]])[0]
    if length == len(text):
        return text
    cut = max(text.rfind(space, length // 2, length) for space in (" ", "\n"))
    return text[: cut if cut > 0 else length]
