"""The numbers that begin the clauses of a contract: "ARTICLE IV", "12.3", "(b)".

Rules:
    A number begins a line; or it stands after three spaces, or with a dot after a sentence, where
    the line was lost on the way.
    What it counts is told by its place in the text: "(i)" is the first of the small Roman numbers,
    or the letter after "(h)". "2.1(a)" is the "(a)" of the clause that is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

__all__ = ["Mark", "Reading", "Style", "find_marks"]

Style = Literal["article", "number", "roman", "capital", "(a)", "(i)", "(1)", "(A)"]
"""How clauses of one level are numbered; "number" is "12" and, in parts, "12.3"."""

_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_MAX_ROMAN = 60
_MARK = re.compile(
    r"(?:^[ \t]{0,40}|(?<=\S)[ \t\u00a0]{3,40}(?=\S)"
    r"|(?<=[^\s.A-Z]{3}[.;:])[ \t]{1,2}(?=\d{1,2}(?:\.|(?:\.\d{1,2}){1,3})[ \t]+[A-Z]))"
    r"(?P<mark>"
    r"(?P<named>ARTICLE|Article|SECTION|Section|CLAUSE|Clause)[ \t]+"
    r"(?P<of>[IVXLC]{1,7}|\d{1,2}(?:\.\d{1,2}){0,3})(?![\w’'])\.?"
    r"|(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})(?P<dot>[.)]?)(?=[ \t\u00a0])"
    r"|(?P<capital>[IVXL]{1,6}|[A-Z])\.(?=[ \t\u00a0])"
    r"|(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?)?\((?P<inner>[a-z]{1,5}|\d{1,2}|[A-Z])\)(?=[ \t\u00a0])"
    r")(?P<sign>[ \t\u00a0]*[:–—-]?[ \t\u00a0]*)",
    re.MULTILINE,
)


class Reading(NamedTuple):
    """What a number may count."""

    style: Style
    parts: tuple[int, ...]
    """One number, or several as in "12.3"."""


class Mark(NamedTuple):
    """A number that may begin a clause."""

    start: int
    """Of its line, where it begins one."""
    end: int
    """Where the words of the clause begin."""
    label: str
    """The number as it stands, without dots and words around it."""
    readings: tuple[Reading, ...]
    is_bare: bool
    """A whole number without a dot, which may be any number."""


def find_marks(text: str) -> Iterator[Mark]:
    """Yield the numbers that may begin a clause, in order of start."""
    for match in _MARK.finditer(text):
        readings, label = _readings(match)
        if readings:
            begins_line = match.start() == 0 or text[match.start() - 1] == "\n"
            start = match.start() if begins_line else match.start("mark")
            is_bare = match["number"] is not None and label.isdigit() and not match["dot"]
            yield Mark(start, match.end(), label, readings, is_bare)


def _readings(match: re.Match[str]) -> tuple[tuple[Reading, ...], str]:
    """Return what a number may count, the likeliest first, and how it is called."""
    if match["named"] is not None:
        return _named(match["named"].capitalize(), match["of"])
    if match["number"] is not None:
        return (Reading("number", _parts(match["number"])),), match["number"]
    if match["capital"] is not None:
        return tuple(_lettered(match["capital"], "capital", "roman")), match["capital"]
    return tuple(_bracketed(match["inner"])), f"({match['inner']})"


def _named(named: str, of: str) -> tuple[tuple[Reading, ...], str]:
    if of[0].isdigit() and (named != "Article" or "." in of):
        return (Reading("number", _parts(of)),), of
    value = int(of) if of.isdigit() else _roman(of)
    return ((Reading("article", (value,)),) if value else ()), f"{named} {of}"


def _parts(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split(".")))


def _bracketed(inner: str) -> Iterator[Reading]:
    if inner.isdigit():
        yield Reading("(1)", (int(inner),))
    elif inner.isupper():
        yield Reading("(A)", (ord(inner) - 64,))
    else:
        yield from _lettered(inner, "(a)", "(i)")


def _lettered(written: str, letter: Style, roman: Style) -> Iterator[Reading]:
    """Yield the readings of a letter or a Roman number, in capitals or not."""
    if len(set(written)) == 1 and len(written) <= 2:  # "aa" comes after "z"
        value = ord(written[0].upper()) - 64 + 26 * (len(written) - 1)
        yield Reading(letter, (value,))
    value = _roman(written.upper())
    if value:
        yield Reading(roman, (value,))


def _roman(written: str) -> int:
    """Return the value of a Roman number, 0 for what is none or too great to count clauses."""
    values = [_ROMAN_DIGITS.get(letter, 0) for letter in written]
    if not all(values):
        return 0
    following = [*values[1:], 0]
    total = sum(-a if a < b else a for a, b in zip(values, following, strict=True))
    return total if 0 < total <= _MAX_ROMAN else 0
