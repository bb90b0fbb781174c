"""Positions of the titles of bookmarks among the lines of a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.parsers.pdf.layout.rows import Line

_LETTERS = re.compile(r"[^\W_]+")
_MAX_LINES = 3
"""Maximum number of lines of a title."""
_MAX_NUMBER_CHARS = 16
"""Maximum length of a number before the title on its line: "Item 7A", "Chapter 12"."""


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """Bookmark of a PDF."""

    title: str
    level: int
    """Level, 1 is the outermost."""
    page: int
    """Index of the target page, from 0."""


def find_entries(
    entries: Sequence[OutlineEntry], pages: Sequence[Sequence[Line]]
) -> dict[tuple[int, int], tuple[int, OutlineEntry]]:
    """Return the lines with the titles of bookmarks, on the target page or the next one.

    Letters and digits are compared, without case. Of two bookmarks for one line, the first is used.

    Returns:
        One past the last line and the bookmark, by the page and first line of each title.
    """
    keys: dict[int, list[str]] = {}
    found: dict[tuple[int, int], tuple[int, OutlineEntry]] = {}
    for entry in entries:
        key = _key(entry.title)
        for page in (entry.page, entry.page + 1):
            if not key or page >= len(pages):
                continue
            if page not in keys:
                keys[page] = [_key(line.text) for line in pages[page]]
            place = _find(key, keys[page])
            if place is not None:
                found.setdefault((page, place[0]), (place[1], entry))
                break
    return found


def _key(text: str) -> str:
    return "".join(_LETTERS.findall(text.casefold()))


def _find(key: str, lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the lines that are the title, else the line that is a number and the title."""
    for first in range(len(lines)):
        joined = ""
        for place in range(first, min(first + _MAX_LINES, len(lines))):
            joined += lines[place]
            if joined == key and lines[first]:
                return first, place + 1
            if not key.startswith(joined):
                break
    if len(key) < 4:
        return None
    for place, line in enumerate(lines):
        if line.endswith(key) and len(line) <= len(key) + _MAX_NUMBER_CHARS:
            return place, place + 1
    return None
