"""Detection of financial statements and their notes in a filing.

Rules:
    A statement begins with its name on a separate line ("Consolidated Statements of Income",
    "BALANCE SHEETS (Unaudited)"), which may continue on the next line, and rows of figures follow.
    A note begins with a line "NOTE 3 — LEASES" or "Note 3. Leases". Notes are in the order of their
    numbers; of all such chains of lines, the one with the most text under it is selected.
    A line that ends with a page number belongs to a table of contents and is not a heading.
    If a parser detects headings by their font, one statement may be nested in another. All
    statements before the notes get one level, and so do the notes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from spanwise.core.documents.summary import clip
from spanwise.types import Heading

_CAPTION_LEVEL = 1  # below the items, which are two levels higher
_MIN_NOTES = 3
_MAX_SKIPPED = 3
_MAX_LINES = 2_000
_WORTH_CHARS = 2_000  # maximum length of the text under a note that adds to its value
_TITLE_CHARS = 120
_TABLE_CHARS = 700
_MIN_FIGURES = 12

_STATEMENT = re.compile(
    r"^[ \t]{0,40}(?=[A-Z])(?P<title>(?:[^\W\d_][\w&.,'’-]{0,20}[ ]){0,5}"
    r"(?:statements?[ ]of[ ](?:comprehensive\b|changes[ ]in\b|stockholders|shareholders|members"
    r"|income|operations|earnings|cash[ ]flows?|financial[ ]|(?:total[ ])?equity|profit|loss)"
    r"[^\n\d.;:]{0,70}"
    r"|balance[ ]sheets?|income[ ]statements?|cash[ ]flow[ ]statements?)"
    r"(?:[ ]?\((?:unaudited|continued|loss|deficit)\)){0,2})[ \t]{0,20}$"
    r"(?:\n(?:income|loss|earnings|equity|deficit|operations|flows)\b[^\n\d.;:]{0,30}$)?",
    re.IGNORECASE | re.MULTILINE,
)
_NOTES = re.compile(
    r"^[ \t]{0,40}(?P<title>NOTES[ ]TO[ ](?:THE[ ])?(?:[A-Z]{3,20}[ ]){0,3}FINANCIAL[ ]STATEMENTS"
    r"(?:[ ]?\([A-Z]{3,12}\))?)[ \t]{0,20}$",
    re.IGNORECASE | re.MULTILINE,
)
_NOTE = re.compile(
    r"^[ \t]{0,40}NOTE[ \t]{1,3}(?P<number>\d{1,2})(?![\w.]\d)[ \t]{0,3}[.:–—-]?[ \t]{0,3}"
    r"(?P<title>[A-Z(“\"][^\n]{2,120})$",
    re.IGNORECASE | re.MULTILINE,
)
_PAGE = re.compile(r"[\s.|]\d{1,3}\s*\Z")
_FIGURES = re.compile(r"\d[\d,.]*")
_SENTENCE = frozenset(".,;:")
_SMALL_WORDS = frozenset("a an and as at by for from in into of on or per the to upon with".split())


class _Chain(NamedTuple):
    """Best chain of notes up to one note, as a linked list."""

    value: int
    match: re.Match[str]
    before: _Chain | None


def find_captions(text: str) -> tuple[Heading, ...]:
    """Return the headings of statements and notes, in order of start; empty if there are none."""
    notes = _notes(text)
    statements = _statements(text, before=notes[0].start() if notes else len(text))
    head = _head(text, statements, notes)
    level = _CAPTION_LEVEL + 1 if head else _CAPTION_LEVEL
    captions = [_heading(match, _CAPTION_LEVEL) for match in (*statements, *head)]
    return tuple(
        sorted(
            [*captions, *(_heading(match, level) for match in notes)],
            key=lambda heading: heading.start,
        )
    )


def statement_levels(text: str, headings: Sequence[Heading], *, level: int) -> dict[int, int]:
    """Return the levels of the statements and notes among the headings of a parser.

    Args:
        text: Text of the document.
        headings: Headings in order.
        level: Level of statements; notes are one level below their common heading, if there is one.

    Returns:
        Level by start of the heading; other headings are not included.
    """
    levels: dict[int, int] = {}
    below = is_noted = 0
    for heading in headings:
        line = text[heading.start : heading.end]
        if _NOTES.fullmatch(line):
            levels[heading.start], below, is_noted = level, 1, 1
        elif _NOTE.fullmatch(line):
            levels[heading.start], is_noted = level + below, 1
        elif not is_noted and _is_statement(text, heading):
            levels[heading.start] = level
    return levels


def _is_statement(text: str, heading: Heading) -> bool:
    title = " ".join(text[heading.start : heading.end].split())
    return _STATEMENT.fullmatch(title) is not None and _has_figures(text, heading.end)


def _has_figures(text: str, start: int) -> bool:
    """Return whether rows of figures begin shortly after an offset."""
    return len(_FIGURES.findall(text, start, start + _TABLE_CHARS)) >= _MIN_FIGURES


def _head(
    text: str, statements: list[re.Match[str]], notes: list[re.Match[str]]
) -> list[re.Match[str]]:
    """Return the heading above all notes ("Notes to Financial Statements"); empty for none."""
    if not notes:
        return []
    start = statements[-1].end() if statements else 0
    return list(_NOTES.finditer(text, start, notes[0].start()))[-1:]


def _statements(text: str, *, before: int) -> list[re.Match[str]]:
    """Return the first line of each statement that precedes the notes."""
    found: dict[str, re.Match[str]] = {}
    for match in _STATEMENT.finditer(text, 0, before):
        title = match["title"]
        if _is_title(title) and _has_figures(text, match.end()):
            found.setdefault(title.casefold(), match)
    return sorted(found.values(), key=lambda match: match.start())


def _notes(text: str) -> list[re.Match[str]]:
    """Return the chain of notes with the most text; empty if it is too short."""
    lines = [
        match
        for match in _NOTE.finditer(text)
        if not _PAGE.search(match["title"])
        and match["title"].rstrip()[-1] not in _SENTENCE
        and _is_title(match["title"])
    ][:_MAX_LINES]
    best: dict[int, _Chain] = {}
    ends = [match.start() for match in lines[1:]] + [len(text)]
    for match, end in zip(lines, ends, strict=False):
        number = int(match["number"])
        before = max(
            (best[n] for n in range(number - _MAX_SKIPPED, number) if n in best),
            key=lambda chain: chain.value,
            default=None,
        )
        value = min(end - match.end(), _WORTH_CHARS) + (before.value if before else 0)
        if number not in best or value > best[number].value:
            best[number] = _Chain(value, match, before)
    at = max(best.values(), key=lambda chain: chain.value, default=None)
    chain: list[re.Match[str]] = []
    while at is not None:
        chain.append(at.match)
        at = at.before
    return chain[::-1] if len(chain) >= _MIN_NOTES else []


def _is_title(title: str) -> bool:
    """Return whether all words except small ones begin with a capital."""
    words = re.findall(r"[^\W\d_][\w’']*", title)
    return all(word[0].isupper() or word in _SMALL_WORDS for word in words)


def _heading(match: re.Match[str], level: int) -> Heading:
    line = match.group()
    return Heading(
        start=match.start(),
        end=match.start() + len(line.rstrip()),
        level=level,
        title=clip(" ".join(line.split()), max_chars=_TITLE_CHARS),
    )
