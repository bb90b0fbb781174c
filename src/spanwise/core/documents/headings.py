"""Detection of headings in plain text.

Rules:
    Precision before recall: a doubtful line is not a heading.
    A heading is a line of its own, at most 120 characters long, of one of these kinds:
        named      "ARTICLE IV", "Item 7. Properties", "Schedule A": a word and a number
        numbered   "1. DEFINITIONS", "2.1 Term of the Agreement": after a blank line or a sentence
        capitals   "GENERAL PROVISIONS": alone between blank lines
        underlined a line above a rule of "*", "=" or "-" of about its length; "*" is the outermost
                   level if all are used
    A line of a table of contents (dots, a page number at its end) is not a heading. Neither are
    three exhibits or schedules without text between them in the first half of a document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from spanwise.types import Heading

_MAX_CHARS = 120

_LINE = re.compile(
    r"\n[ \t]{0,40}+(?=[A-Z\d])(?:"
    r"(?P<named>(?i:PART|CHAPTER|ARTICLE|ITEM|SECTION|SCHEDULE|EXHIBIT|ANNEX|APPENDIX|NOTE|TITLE))"
    r"[ \t]+(?:[IVXLC]{1,7}|\d{1,3}(?:\.\d{1,3}){0,3}[A-Za-z]?|[A-Z](?:-\d{1,3})?)(?![\w'’])"
    r"[ \t]*(?P<sign>[.:–—-]?)[ \t]*(?P<after>[^\n]{0,120})"
    r"|(?P<number>\d{1,2}(?:\.\d{1,3}){0,3})(?P<dot>[.)]?)[ \t]+(?P<words>[A-Z][^\n]{2,80})"
    r"|(?P<capitals>[A-Z][^\na-z]{3,80})"
    r")(?=\n|\Z)"
)
_RULE = re.compile(r"\n(\*{3,100}|={3,100}|-{3,100})[ \t\r]{0,40}(?=\n|\Z)")
_LISTED = re.compile(r"\.{3,}|(?:\. ){3,}|[ \t]\d{1,4}\s*\Z|\t|   ")
_BLANK = re.compile(r"[ \t\r]{0,80}(?=\n|\Z)")
_TITLE_WORD = re.compile(r"[^\W\d_][^\W\d_'’]*")
_NO_TITLE = frozenset("=_{}<>|\\;")
_GOES_ON = frozenset([*".,;:!?"])

_NAMED_LEVELS = {
    "part": 1,
    "title": 1,
    "schedule": 1,
    "exhibit": 1,
    "annex": 1,
    "appendix": 1,
    "chapter": 2,
    "article": 2,
    "item": 2,
    "section": 3,
    "note": 3,
}
_ATTACHED = frozenset(("schedule", "exhibit", "annex", "appendix"))
_MIN_LISTED = 3
_CAPITALS_LEVEL = 3
_NUMBERED_LEVEL = 3
_RUNNING_TIMES = 4  # an upper-case line that occurs this often is a page header
_SMALL_WORDS = frozenset(
    "a an and as at but by for from in into is nor of on or per the to upon via with".split()
)


def find_headings(text: str) -> tuple[Heading, ...]:
    """Return the headings of a plain text, in order of start; empty if none is certain."""
    by_start: dict[int, Heading] = {}
    repeated: Counter[str] = Counter()
    for match in chain(_first_line(text), _LINE.finditer(text)):
        level = _level(match)
        if level is None:
            continue
        heading = _heading(match, level, shift=0 if match.string is text else 1)
        by_start[heading.start] = heading
        if match["capitals"] is not None:
            repeated[heading.title] += 1
    for heading in _underlined(text):
        by_start[heading.start] = heading
    found = [
        by_start[start]
        for start in sorted(by_start)
        if repeated[by_start[start].title] < _RUNNING_TIMES
    ]
    listed = _listed_attachments(text, found)
    return tuple(heading for heading in found if heading not in listed)


def _listed_attachments(text: str, headings: Sequence[Heading]) -> frozenset[Heading]:
    """Return the headings that only list the exhibits and schedules of a document."""
    listed: set[Heading] = set()
    run: list[Heading] = []
    for heading in headings:
        if heading.title.split()[0].lower() not in _ATTACHED or heading.start > len(text) / 2:
            run = []
            continue
        run = [*run, heading] if run and _is_next(text, run[-1], heading) else [heading]
        if len(run) >= _MIN_LISTED:
            listed.update(run)
    return frozenset(listed)


def _is_next(text: str, heading: Heading, other: Heading) -> bool:
    """Return whether there is only white space between two headings."""
    return not text[heading.end : other.start].strip()


def _first_line(text: str) -> Iterator[re.Match[str]]:
    """Yield the match of the first line, after adding the line break that the pattern needs."""
    match = _LINE.match("\n" + text[: 3 * _MAX_CHARS])
    if match is not None:
        yield match


def _heading(match: re.Match[str], level: int, *, shift: int) -> Heading:
    line = match.group()[1:]
    return Heading(
        start=match.start() + 1 - shift,
        end=match.start() + 1 - shift + len(line.rstrip()),
        level=level,
        title=" ".join(line.split()),
    )


def _level(match: re.Match[str]) -> int | None:
    """Return the level of the heading in a line, or None if it is not a heading."""
    line = match.group().strip()
    if len(line) > _MAX_CHARS or _LISTED.search(line) or not _NO_TITLE.isdisjoint(line):
        return None
    blank_before = _is_blank_before(match.string, match.start())
    if match["named"] is not None:
        return _named_level(match, line, blank_before=blank_before)
    if line[-1] in _GOES_ON or not blank_before:
        return None
    text, after = match.string, match.end() + 1
    blank_after = after >= len(text) or _BLANK.match(text, after) is not None
    if match["number"] is not None:
        return _numbered_level(match, blank_after=blank_after)
    return _CAPITALS_LEVEL if blank_after and _is_capitals(line) else None


def _named_level(match: re.Match[str], line: str, *, blank_before: bool) -> int | None:
    named, after = match["named"], match["after"].strip()
    if named.lower() in _ATTACHED and re.search(named, after, re.IGNORECASE):
        return None  # a list of schedules or exhibits
    stands_apart = blank_before or (named.isupper() and match["sign"])
    if not (stands_apart and line[0].isupper()) or after[-1:] in _GOES_ON or not _is_title(after):
        return None
    return _NAMED_LEVELS[named.lower()]


def _numbered_level(match: re.Match[str], *, blank_after: bool) -> int | None:
    number, words = match["number"], match["words"]
    is_counted = match["dot"] or "." in number
    if is_counted and (words.isupper() or (blank_after and _is_title(words))):
        return _NUMBERED_LEVEL + number.count(".")
    return None


def _is_blank_before(text: str, line_break: int) -> bool:
    """Return whether the line before a line break is blank or missing."""
    before = text[max(0, line_break - 80) : line_break].rstrip(" \t\r")
    return not before or before[-1] == "\n"


def _is_title(words: str) -> bool:
    """Return whether all words except small ones are capitalised; True if there are no words."""
    return all(word[0].isupper() or word in _SMALL_WORDS for word in _TITLE_WORD.findall(words))


def _is_capitals(line: str) -> bool:
    """Return whether an upper-case line consists of words, not data."""
    title_words = _TITLE_WORD.findall(line)
    letters = sum(map(len, title_words))
    return (
        line.isupper() and max(map(len, title_words), default=0) >= 4 and letters >= 0.6 * len(line)
    )


def _underlined(text: str) -> list[Heading]:
    """Return the headings above a rule of about their length."""
    ranges = list(_over_rules(text))
    signs = "*=-" if any(sign == "*" for _, _, sign in ranges) else "=-"
    return [
        Heading(
            start=start,
            end=end,
            level=1 + signs.index(sign),
            title=" ".join(text[start:end].split()),
        )
        for start, end, sign in ranges
    ]


def _over_rules(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the range of each heading above a rule, with the character of the rule."""
    for match in _RULE.finditer(text):
        stop = match.start()
        start = text.rfind("\n", max(0, stop - _MAX_CHARS), stop) + 1
        if start == 0 and stop > _MAX_CHARS:
            continue
        title = " ".join(text[start:stop].split())
        rule = match[1]
        fits = abs(len(rule) - len(title)) <= max(3, len(title) // 3)
        if not (fits and _TITLE_WORD.search(title) and _NO_TITLE.isdisjoint(title)):
            continue
        if start == 0 or _is_blank_before(text, start - 1):
            yield start, start + len(text[start:stop].rstrip()), rule[0]
