"""The words that begin a clause, and whether they are its title.

Rules:
    The title of a clause is what stands before the first stop or on its line, if all its words
    but small ones begin with a capital; the line below, where its own has no words; or the term
    that the clause defines.
    Words before the number of a page are a line of a table of contents.
"""

from __future__ import annotations

import re

from spanwise.core.clauses.marks import Mark

__all__ = ["begins_clause", "clause_title"]

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
