"""Detection of the numbered clauses of a contract: "12" > "12.3 Fees" > "12.3(b)".

Clauses are found in legal texts only. Numbered lists of other texts are not clauses.

Rules of numbers:
    A number is at the start of a line, after three spaces, or, if the line break was lost, after a
    sentence and followed by a dot.
    Its meaning depends on the context: "(i)" is the Roman numeral 1, or the letter after "(h)".
    "2.1(a)" is "(a)" inside the open clause 2.1.

Rules of sequences:
    A number is a clause if it continues a sequence: as the successor of the last number of its
    level, or as the first of a new level inside it. Up to two numbers of a level may be missing.
    A level may begin with its second number ("1.2"), because the first is often inside a line.
    Numbers that start again (a table of contents, a schedule, a list) form a separate sequence; the
    surrounding sequence continues after it. A sequence that is short, or has little text besides
    titles, is dropped.

Rules of titles:
    The title of a clause is the text up to the first stop or line end, if all its words except
    small ones are capitalised; or the line below, if its own line has no words; or the term that
    the clause defines. Without a stop, it ends before a word that begins a sentence ("Term The
    term of this Agreement"), or before its first word occurs again ("Supplier Duties Supplier").
    Words before a page number are a line of a table of contents, not a title.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from spanwise.types import Heading

Style = Literal["article", "number", "roman", "capital", "(a)", "(i)", "(1)", "(A)"]
"""Numbering style of a clause level; "number" covers "12" and "12.3"."""

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
    """Interpretation of a written number in one numbering style."""

    style: Style
    """Numbering style."""
    parts: tuple[int, ...]
    """Values of the number; several for "12.3"."""


class Mark(NamedTuple):
    """Number that may begin a clause."""

    start: int
    """Offset of the line if the number begins it, otherwise of the number."""
    end: int
    """Offset where the words of the clause begin."""
    label: str
    """Number as written, without the dots and words around it."""
    readings: tuple[Reading, ...]
    """Possible readings, the most likely first."""
    is_bare: bool
    """Whether the label is a whole number without a dot, which may be part of a sentence."""


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
    """Return the possible readings of a number, the most likely first, and its label."""
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
    """Yield the readings of a label as a letter and as a Roman numeral, upper or lower case."""
    if len(set(written)) == 1 and len(written) <= 2:  # "aa" comes after "z"
        value = ord(written[0].upper()) - 64 + 26 * (len(written) - 1)
        yield Reading(letter, (value,))
    value = _roman(written.upper())
    if value:
        yield Reading(roman, (value,))


def _roman(written: str) -> int:
    """Return the value of a Roman numeral, 0 if it is invalid or too large for a clause."""
    values = [_ROMAN_DIGITS.get(letter, 0) for letter in written]
    if not all(values):
        return 0
    following = [*values[1:], 0]
    total = sum(-a if a < b else a for a, b in zip(values, following, strict=True))
    return total if 0 < total <= _MAX_ROMAN else 0


TOP_CLAUSE_LEVEL = 3
"""Level of the clause "12"; an article is one level above."""

_ARTICLE_LEVEL = 2
_SKIPS = 2
_MIN_CLAUSES = 3
_MIN_RECITALS = 2
_MIN_CHARS = 80  # mean length of a clause
_OPEN_RUNS = 5

_SECOND = 2
_BRACKETED: frozenset[Style] = frozenset(("(a)", "(i)", "(1)", "(A)"))
_INNER: frozenset[Style] = _BRACKETED | {"capital"}


class Clause(NamedTuple):
    """Number that begins a clause."""

    mark: Mark
    """The number in the text."""
    level: int
    """Heading level."""
    label: str
    """Full number of the clause: "12.3(b)"."""


class _OpenClause(NamedTuple):
    """Clause that later numbers may continue; the clauses inside it are above it on the stack."""

    style: Style
    parts: tuple[int, ...]
    level: int
    label: str


@dataclass(slots=True)
class _Sequence:
    """One sequence of clauses, and the stack of its open clauses."""

    frames: list[_OpenClause] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    least: int = _MIN_CLAUSES
    """Minimum number of clauses of a valid sequence."""

    @property
    def has_words(self) -> bool:
        """Whether the clauses have text besides titles or short lines."""
        chars = self.clauses[-1].mark.start - self.clauses[0].mark.start
        return chars >= _MIN_CHARS * (len(self.clauses) - 1)

    def next_of(self, mark: Mark, *, skips: int) -> int | None:
        """Return the stack index of the open clause that a number follows, or None."""
        for reading in mark.readings:
            for at in reversed(range(len(self.frames))):
                frame = self.frames[at]
                if frame.style == reading.style and _follows(reading.parts, frame.parts, skips):
                    return at
        return None

    def extend(self, mark: Mark, at: int) -> None:
        """Add a number after the open clause at a stack index that `next_of` returned."""
        style = self.frames[at].style
        reading = next(reading for reading in mark.readings if reading.style == style)
        del self.frames[at:]
        self.push(mark, reading)

    def open(self, mark: Mark) -> bool:
        """Add a number as the first of a new level; return False if it cannot be the first."""
        return any(self._open(mark, reading) for reading in mark.readings)

    def _open(self, mark: Mark, reading: Reading) -> bool:
        *outer, last = reading.parts
        is_inner = reading.style in _INNER
        if not (last == 1 or self._is_second(reading)) or (is_inner and not self.frames):
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

    def _is_second(self, reading: Reading) -> bool:
        """Return whether a number such as "3.2" may be the first one that is found inside "3"."""
        *outer, last = reading.parts
        if last != _SECOND or not outer:
            return False
        return not self.frames or self.frames[-1].parts == tuple(outer)

    def _holds_numbers(self) -> bool:
        """Return whether a number such as "12" may follow; not inside "(a)" or recitals."""
        return self.frames[-1].style not in _BRACKETED and self.frames[0].style not in _INNER

    def _enter(self, outer: tuple[int, ...]) -> bool:
        """Close the clauses inside a given clause; open the clause if its own line is missing.

        Returns False if the clause is neither open nor the next of an open one.
        """
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
        self.frames.append(_OpenClause("number", outer, self._level("number"), label))
        return True

    def push(self, mark: Mark, reading: Reading) -> None:
        """Add a number as the innermost open clause."""
        level, label = self._level(reading.style), mark.label
        if reading.style in _INNER:
            outer = self.frames[-1].label if self.frames else "Recital"
            between = " " if not self.frames else "." if reading.style == "capital" else ""
            label = f"{outer}{between}{label}"
        self.frames.append(_OpenClause(reading.style, reading.parts, level, label))
        self.clauses.append(Clause(mark, level, label))

    def _level(self, style: Style) -> int:
        if self.frames:
            return self.frames[-1].level + 1
        return _ARTICLE_LEVEL if style == "article" else TOP_CLAUSE_LEVEL


def _follows(parts: tuple[int, ...], last: tuple[int, ...], skips: int) -> bool:
    """Return whether a number comes after another one of its level."""
    return (
        len(parts) == len(last)
        and parts[:-1] == last[:-1]
        and 0 < parts[-1] - last[-1] <= 1 + skips
    )


def select_clauses(marks: Iterable[tuple[Mark, bool]]) -> list[Clause]:
    """Return the numbers that are clauses, in order of start.

    Args:
        marks: Numbers in order of start, each with a flag that it may be the first recital.
    """
    sequences: list[_Sequence] = []
    active: list[_Sequence] = []
    for mark, may_be_recital in marks:
        extended = _extended_sequence(active, mark)
        if extended is not None:
            del active[active.index(extended) + 1 :]
            continue
        sequence = _Sequence(least=_MIN_RECITALS) if may_be_recital else _Sequence()
        if may_be_recital:
            sequence.push(mark, mark.readings[0])
        elif not sequence.open(mark):
            continue
        sequences.append(sequence)
        active = [*active[1 - _OPEN_RUNS :], sequence]
    valid = [
        sequence
        for sequence in sequences
        if len(sequence.clauses) >= sequence.least and sequence.has_words
    ]
    return sorted(
        (clause for sequence in valid for clause in sequence.clauses), key=lambda c: c.mark.start
    )


def _extended_sequence(active: list[_Sequence], mark: Mark) -> _Sequence | None:
    """Return the open sequence that a number was added to, or None.

    The next number of a sequence comes first, then the first number of a new level, then a later
    number. The innermost sequence that is no list of short lines has precedence. Only that sequence
    and the ones inside it may take a letter, because letters match other sequences by chance.
    """
    if mark.readings[0].style in _INNER:
        innermost = next((at for at in reversed(range(len(active))) if active[at].has_words), 0)
        active = active[innermost:]
    for skips in (0, _SKIPS):
        followers = [
            (sequence, at)
            for sequence in active
            if (at := sequence.next_of(mark, skips=skips)) is not None
        ]
        if followers:
            sequence, at = next(
                (pair for pair in reversed(followers) if pair[0].has_words), followers[-1]
            )
            sequence.extend(mark, at)
            return sequence
        if not skips:
            extended = next(
                (sequence for sequence in reversed(active) if sequence.open(mark)), None
            )
            if extended is not None:
                return extended
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
_BEGINS = (
    "all any as at both during each either except for if in it neither no nothing notwithstanding"
    " subject the these this unless upon"
).split()
"""Words that begin a sentence, and no title."""
_SENTENCE = re.compile(
    r"[A-Z][^\W\d_]{1,30}(?: (?:[A-Z][^\W\d_]{1,30}|and|of|for|to|in|on|with|or)){0,6} "
    rf"(?=(?:{'|'.join(map(str.capitalize, _BEGINS))})\s)"
    r"|(?P<first>[A-Z][^\W\d_]{1,30})(?: (?:[A-Z][^\W\d_]{1,30}|and|of|for)){1,5} "
    r"(?=(?P=first)\s[a-z])"
)
"""Title before a sentence that begins with such a word, or with the first word of the title."""
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

    Any words may follow a letter or number in brackets.
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
    """Return the title at an offset and its end; an empty title and the offset if there is none."""
    below = _NEXT_LINE.match(text, start)
    match = _DEFINED.match(text, start) or _RUN_IN.match(text, below.end() if below else start)
    if match is not None:
        title = " ".join(match.group().split())
        if len(title) <= _TITLE_CHARS and _reads_as_title(title):
            return title, match.end()
    sentence = _SENTENCE.match(text, start)
    if sentence is None or sentence.group().split()[0].lower() in _BEGINS:
        return "", start
    title = sentence.group().rstrip()
    is_title = len(title) <= _TITLE_CHARS and _reads_as_title(title)
    return (title, start + len(title)) if is_title else ("", start)


def _reads_as_title(title: str) -> bool:
    """Return whether all words except small ones are capitalised, and it is not a reference."""
    title_words = [
        word for word in (part.strip("\"“”'‘’()[],&/–—-.") for part in title.split()) if word
    ]
    return (
        any(word[0].isalpha() for word in title_words)
        and all(not word[0].islower() or word in _SMALL_WORDS for word in title_words)
        and title_words[-1].lower() not in _REFERENCES
    )


_READ_CHARS = 60_000
_LEGAL = re.compile(
    r"\b(?:shall|here(?:of|by|in|to|under|inafter|with)|there(?:of|under)|pursuant"
    r"|agreement|part(?:y|ies)|whereas|notwithstanding)\b",
    re.IGNORECASE,
)
_LEGAL_PARTS = (
    b"shall", b"hereof", b"hereby", b"herein", b"hereto", b"hereunder", b"herewith", b"thereof",
    b"thereunder", b"pursuant", b"agreement", b"party", b"parties", b"whereas", b"notwithstanding",
)  # fmt: skip
"""These words, or their beginnings."""
_LEGAL_SHARE = 1 / 400  # legal words per character; filings and handbooks have a fifth of it

_RECITALS_CHARS = 120
_RECITALS = re.compile(r"\b(?:recitals?|background|preamble|whereas|witnesseth)\b", re.IGNORECASE)
_FIRST_RECITALS = (Reading("(A)", (1,)), Reading("capital", (1,)))


def find_clauses(text: str) -> tuple[Heading, ...]:
    """Return the headings of the clauses of a contract, in order of start; empty for other texts.

    The range of a heading is its number with the run-in title. Its title is the full number with
    that title: "12.3(b) Audit".
    """
    if not _is_legal(text):
        return ()
    marks = (mark for mark in find_marks(text) if begins_clause(text, mark))
    clauses = select_clauses((mark, _may_be_recital(text, mark)) for mark in marks)
    return tuple(_heading(text, clause) for clause in clauses)


def _is_legal(text: str) -> bool:
    read = text[:_READ_CHARS]
    least = _LEGAL_SHARE * len(read)
    # First a bound that is computed much faster than the words are found.
    # The replaced letters match ASCII letters if case is ignored.
    plain = read.replace("ſ", "s").replace("ı", "i").replace("İ", "i")
    lower = plain.encode("utf-8", "surrogatepass").lower()
    if sum(map(lower.count, _LEGAL_PARTS)) <= least:
        return False
    return sum(1 for _ in _LEGAL.finditer(read)) > least


def _may_be_recital(text: str, mark: Mark) -> bool:
    """Return whether "(A)" or "A." is shortly after the heading of the recitals."""
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
