"""The numbers that begin the clauses of a contract: "ARTICLE IV", "12.3", "(b)".

Rules:
    A number begins a line; or it stands after three spaces, or with a dot after a sentence, where
    the line was lost on the way.
    What it counts is told by its place in the text: "(i)" is the first of the small Roman numbers,
    or the letter after "(h)". "2.1(a)" is the "(a)" of the clause that is open.

Which numbers of a contract are clauses: those that count on.

Rules:
    A number is a clause where it goes on: with the number after the last one of its level, or
    with the first of a new level inside it. Up to two numbers of a level may be missing.
    Numbers that begin anew (a table of contents, a schedule, a list) are a run of their own; the
    run around it goes on behind it. A run that is short, or of hardly more than titles, has no
    clauses.

The words that begin a clause, and whether they are its title.

Rules:
    The title of a clause is what stands before the first stop or on its line, if all its words
    but small ones begin with a capital; the line below, where its own has no words; or the term
    that the clause defines.
    Words before the number of a page are a line of a table of contents.

The numbered clauses of a contract as a tree: "12" > "12.3 Fees" > "12.3(b)".

Only texts that speak as contracts do have clauses: lists of other texts are lists. What counts is
decided by `count_clauses`, what is a title by `clause_title`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from spanwise.types import Heading

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


TOP_CLAUSE_LEVEL = 3
"""Of the clause "12"; an article is one above it."""

_ARTICLE_LEVEL = 2
_SKIPS = 2
_LEAST_CLAUSES = 3
_LEAST_RECITALS = 2
_LEAST_CHARS = 80  # of a clause, on average
_OPEN_RUNS = 5

_BRACKETED: frozenset[Style] = frozenset(("(a)", "(i)", "(1)", "(A)"))
_INNER: frozenset[Style] = _BRACKETED | {"capital"}


class Clause(NamedTuple):
    """A number that counts."""

    mark: Mark
    level: int
    label: str
    """Its whole number: "12.3(b)"."""


class _Frame(NamedTuple):
    """A clause that is open, with the ones inside it above it on the stack."""

    style: Style
    parts: tuple[int, ...]
    level: int
    label: str


@dataclass(slots=True)
class _Run:
    """Clauses that were counted through, and those that are open."""

    frames: list[_Frame] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    least: int = _LEAST_CLAUSES
    """Fewer of them are none."""

    @property
    def has_words(self) -> bool:
        """Whether its clauses are more than titles or short lines."""
        chars = self.clauses[-1].mark.start - self.clauses[0].mark.start
        return chars >= _LEAST_CHARS * (len(self.clauses) - 1)

    def next_of(self, mark: Mark, *, skips: int) -> int | None:
        """Return which open clause a number follows, counted on the stack; None for none."""
        for reading in mark.readings:
            for at in reversed(range(len(self.frames))):
                frame = self.frames[at]
                if frame.style == reading.style and _follows(reading.parts, frame.parts, skips):
                    return at
        return None

    def go_on(self, mark: Mark, at: int) -> None:
        """Take a number that follows an open clause, as `next_of` says."""
        style = self.frames[at].style
        reading = next(reading for reading in mark.readings if reading.style == style)
        del self.frames[at:]
        self.push(mark, reading)

    def open(self, mark: Mark) -> bool:
        """Take the first number of a new level; return whether it is one."""
        return any(self._open(mark, reading) for reading in mark.readings)

    def _open(self, mark: Mark, reading: Reading) -> bool:
        *outer, last = reading.parts
        is_inner = reading.style in _INNER
        if last != 1 or (is_inner and not self.frames):
            return False
        if outer and not self._enter(tuple(outer)):
            return False
        if not is_inner and self.frames and not self._holds_numbers():
            return False
        count = len(reading.parts)
        if any(f.style == reading.style and len(f.parts) >= count for f in self.frames):
            return False
        self.push(mark, reading)
        return True

    def _holds_numbers(self) -> bool:
        """Return whether whole numbers may stand in the inmost clause: not in (a) or recitals."""
        return self.frames[-1].style not in _BRACKETED and self.frames[0].style not in _INNER

    def _enter(self, outer: tuple[int, ...]) -> bool:
        """Make the clause of some numbers the innermost one, though its own line be lost."""
        for at in reversed(range(len(self.frames))):
            frame = self.frames[at]
            if frame.style in _INNER:
                continue
            if frame.parts == outer:
                del self.frames[at + 1 :]
                return True
            if _follows(outer, frame.parts, _SKIPS):
                del self.frames[at:]
                break
        else:
            if self.frames or outer != (1,):
                return False
        label = ".".join(map(str, outer))
        self.frames.append(_Frame("number", outer, self._level("number"), label))
        return True

    def push(self, mark: Mark, reading: Reading) -> None:
        """Take a number inside the clauses that are open."""
        level, label = self._level(reading.style), mark.label
        if reading.style in _INNER:
            outer = self.frames[-1].label if self.frames else "Recital"
            between = " " if not self.frames else "." if reading.style == "capital" else ""
            label = f"{outer}{between}{label}"
        self.frames.append(_Frame(reading.style, reading.parts, level, label))
        self.clauses.append(Clause(mark, level, label))

    def _level(self, style: Style) -> int:
        if self.frames:
            return self.frames[-1].level + 1
        return _ARTICLE_LEVEL if style == "article" else TOP_CLAUSE_LEVEL


def _follows(parts: tuple[int, ...], last: tuple[int, ...], skips: int) -> bool:
    """Return whether a number comes after another of its level."""
    return (
        len(parts) == len(last)
        and parts[:-1] == last[:-1]
        and 0 < parts[-1] - last[-1] <= 1 + skips
    )


def count_clauses(marks: Iterable[tuple[Mark, bool]]) -> list[Clause]:
    """Return the numbers that are clauses, in order of start.

    Args:
        marks: Numbers in order of start, each with whether it may be the first recital.
    """
    runs: list[_Run] = []
    open_runs: list[_Run] = []
    for mark, may_be_recital in marks:
        taking = _taking_run(open_runs, mark)
        if taking is not None:
            del open_runs[open_runs.index(taking) + 1 :]
            continue
        run = _Run(least=_LEAST_RECITALS) if may_be_recital else _Run()
        if may_be_recital:
            run.push(mark, mark.readings[0])
        elif not run.open(mark):
            continue
        runs.append(run)
        open_runs = [*open_runs[1 - _OPEN_RUNS :], run]
    found = [run for run in runs if len(run.clauses) >= run.least and run.has_words]
    return sorted((clause for run in found for clause in run.clauses), key=lambda c: c.mark.start)


def _taking_run(open_runs: list[_Run], mark: Mark) -> _Run | None:
    """Return the open run that took a number: exactly the next one, a first one, or a later one.

    The inmost of several, but for lists of short lines. Letters belong to the inmost run that is
    no such list: other runs would go on with them by chance.
    """
    if mark.readings[0].style in _INNER:
        inmost = next((at for at in reversed(range(len(open_runs))) if open_runs[at].has_words), 0)
        open_runs = open_runs[inmost:]
    for skips in (0, _SKIPS):
        able = [
            (run, at) for run in open_runs if (at := run.next_of(mark, skips=skips)) is not None
        ]
        if able:
            run, at = next((pair for pair in reversed(able) if pair[0].has_words), able[-1])
            run.go_on(mark, at)
            return run
        if not skips:
            opened = next((run for run in reversed(open_runs) if run.open(mark)), None)
            if opened is not None:
                return opened
    return None


_TITLE_CHARS = 100
_RUN_IN = re.compile(
    r"[\"“]?[A-Z(][^\n:;]{1,100}?"
    r"(?=[.:;](?:\s|\Z)|\s\d{1,2}\.\d|[ \t]{3}|\s[–—-]\s|[ \t]*(?:\n|\Z))"
)
_DEFINED = re.compile(
    r"[“\"][^”\"\n]{2,60}[”\"](?=\s+(?:means?|shall|has|have|refers?|includes?)\b)"
)
_TITLE_LINE = re.compile(r"[A-Z][^\n]{1,80}[^\s.,;:](?=[ \t]*(?:\n|\Z))")
_NEXT_LINE = re.compile(rf"[ \t]*(?:\n[ \t]*){{1,2}}(?={_TITLE_LINE.pattern})")
_LISTED = re.compile(
    r"([^\n.;]{2,99}?[^ \t\n.;])[ \t.]{1,100}+\d{1,3}[ \t]{0,40}+(?:\n|\Z|(?<=[ \t]{3}))"
)
_WORDS_BEGIN = re.compile(r"[\"“‘'(\[_]*[A-Z\[_“\"]|\([a-z\d]{1,3}\)|\d{1,2}\.")
_REFERENCES = frozenset(
    "article articles clause clauses exhibit exhibits paragraph paragraphs schedule schedules"
    " section sections".split()
)
_SMALL_WORDS = frozenset(
    "a an and as at but by for from in into is nor not of on or other per the to under upon via"
    " with".split()
)


def begins_clause(text: str, mark: Mark) -> bool:
    """Return whether the words after a number may begin a clause.

    Those after a letter or number in brackets may be any.
    """
    listed = _LISTED.match(text, mark.end)
    if listed is not None and _reads_as_title(listed[1]):
        return False
    if mark.is_bare:
        line = _TITLE_LINE.match(text, mark.end)
        return line is not None and _reads_as_title(line.group())
    if mark.label[0] == "(":
        return True
    following = text[mark.end : mark.end + 8].lstrip()
    return not following or _WORDS_BEGIN.match(following) is not None


def clause_title(text: str, start: int) -> tuple[str, int]:
    """Return the title that begins at a place, and where it ends; "" and the place for none."""
    below = _NEXT_LINE.match(text, start)
    match = _DEFINED.match(text, start) or _RUN_IN.match(text, below.end() if below else start)
    if match is None:
        return "", start
    title = " ".join(match.group().split())
    if len(title) > _TITLE_CHARS or not _reads_as_title(title):
        return "", start
    return title, match.end()


def _reads_as_title(title: str) -> bool:
    """Return whether all words but small ones begin with a capital, and it is no reference."""
    found = [word for word in (part.strip("\"“”'‘’()[],&/–—-.") for part in title.split()) if word]
    return (
        any(word[0].isalpha() for word in found)
        and all(not word[0].islower() or word in _SMALL_WORDS for word in found)
        and found[-1].lower() not in _REFERENCES
    )


_READ_CHARS = 60_000
_LEGAL = re.compile(
    r"\b(?:shall|here(?:of|by|in|to|under|inafter|with)|there(?:of|under)|pursuant"
    r"|agreement|part(?:y|ies)|whereas|notwithstanding)\b",
    re.IGNORECASE,
)
_LEGAL_SHARE = 1 / 400  # such words by characters; filings and handbooks have a fifth of it

_RECITALS_CHARS = 120
_RECITALS = re.compile(r"\b(?:recitals?|background|preamble|whereas|witnesseth)\b", re.IGNORECASE)
_FIRST_RECITALS = (Reading("(A)", (1,)), Reading("capital", (1,)))


def find_clauses(text: str) -> tuple[Heading, ...]:
    """Return the headings of the clauses of a contract, in order of start; none elsewhere.

    The range of a heading is its number with the title that runs in; its title is the number, or
    all numbers that lead to it, and that title: "12.3(b) Audit".
    """
    if not _is_legal(text):
        return ()
    marks = (mark for mark in find_marks(text) if begins_clause(text, mark))
    clauses = count_clauses((mark, _may_be_recital(text, mark)) for mark in marks)
    return tuple(_heading(text, clause) for clause in clauses)


def _is_legal(text: str) -> bool:
    read = text[:_READ_CHARS]
    return sum(1 for _ in _LEGAL.finditer(read)) > _LEGAL_SHARE * len(read)


def _may_be_recital(text: str, mark: Mark) -> bool:
    """Return whether a first letter stands shortly after the heading of the recitals."""
    if mark.readings[0] not in _FIRST_RECITALS:
        return False
    return _RECITALS.search(text, max(0, mark.start - _RECITALS_CHARS), mark.start) is not None


def _heading(text: str, clause: Clause) -> Heading:
    mark = clause.mark
    title, end = clause_title(text, mark.end)
    if not title:
        end = mark.start + len(text[mark.start : mark.end].rstrip())
    return Heading(
        start=mark.start, end=end, level=clause.level, title=f"{clause.label} {title}".strip()
    )
