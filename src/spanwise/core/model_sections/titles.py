"""Titles of sections as a model writes them, made fit to stand over a section.

Rules:
    A title is one line of at most 120 characters.
    Marks of lists and quotes go, and the numbers of lines; a number stays that stands before the
    words of the section itself ("1. Definitions").
    What is not usable (a refusal, a placeholder, no word at all) is no title.
"""

from __future__ import annotations

import re

from spanwise.core.model_lines import model_line
from spanwise.core.summary import clip

__all__ = ["TITLE_CHARS", "clean_title"]

TITLE_CHARS = 120

_NUMBERS = r"\d{1,9}(?:\s*[-–]\s*\d{1,9})?"
_MARK = re.compile(
    rf"\[{_NUMBERS}\]|lines?\s+{_NUMBERS}\s*[:.)–-]|[-–—•·>+]+(?=\s)|\(?(\d{{1,9}})[.:)](?=\s)",
    re.IGNORECASE,
)
_FIRST_NUMBER = re.compile(r"\W*(\d+)")


def clean_title(title: str, *, first_line: str) -> str:
    """Return a title that a model wrote as it can be shown; empty where it is not usable.

    Args:
        title: As the model wrote it.
        first_line: The first line of its section.
    """
    found = _FIRST_NUMBER.match(first_line)
    own_number = found.group(1) if found else ""
    cleaned, before = clip(title, max_chars=TITLE_CHARS), ""
    while cleaned != before:
        before = cleaned
        mark = _MARK.match(cleaned)
        if mark is not None and (not mark.group(1) or mark.group(1) != own_number):
            cleaned = cleaned[mark.end() :]
        try:
            cleaned = model_line(cleaned.strip(" |").rstrip(":;,"), max_chars=TITLE_CHARS)
        except ValueError:
            return ""
    return cleaned
