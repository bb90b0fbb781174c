"""The numbered clauses of a contract as a tree: "12" > "12.3 Fees" > "12.3(b)".

Only texts that speak as contracts do have clauses: lists of other texts are lists. What counts is
decided by `count_clauses`, what is a title by `clause_title`.
"""

from __future__ import annotations

import re

from spanwise.core.clauses.marks import Mark, Reading, find_marks
from spanwise.core.clauses.runs import Clause, count_clauses
from spanwise.core.clauses.titles import begins_clause, clause_title
from spanwise.types import Heading

__all__ = ["find_clauses"]

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
