"""Headings of a PDF from its outline (bookmarks), where their text stands on the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import pypdfium2

from spanwise.types import Heading, Page

__all__ = ["OutlineEntry", "locate_headings", "read_outline"]

_LETTERS = re.compile(r"[^\W_]+")
_MAX_ENTRIES = 20_000
_MAX_LINES = 3
"""A title may be set in so many lines."""
_MAX_NUMBER_CHARS = 16
"""Letters and digits that may stand before the title on its line: "Item 7A", "Chapter 12"."""


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One bookmark."""

    title: str
    level: int
    """1 is the outermost."""
    page: int
    """Index of the page it points to, from 0."""


def read_outline(document: pypdfium2.PdfDocument) -> list[OutlineEntry]:
    """Return the bookmarks that point to a page, in order of the outline."""
    entries = []
    for bookmark in islice(document.get_toc(), _MAX_ENTRIES):
        title = " ".join(bookmark.get_title().split())
        target = bookmark.get_dest()
        page = target.get_index() if target is not None else None
        if title and page is not None and page >= 0:
            entries.append(OutlineEntry(title, bookmark.level + 1, page))
    return entries


def locate_headings(
    entries: Sequence[OutlineEntry], *, text: str, pages: Sequence[Page]
) -> tuple[Heading, ...]:
    """Return a heading for each entry whose title stands on its page, or on the next one.

    Letters and digits are compared, without case. A heading covers whole lines; where two entries
    name the same lines, the first counts.

    Returns:
        Ordered by position; levels count from 1 at the outermost entry that was found.
    """
    lines_of: dict[int, list[_Line]] = {}
    found: dict[int, Heading] = {}
    for entry in entries:
        key = _key(entry.title)
        for page in (entry.page, entry.page + 1):
            if not key or page >= len(pages):
                continue
            if page not in lines_of:
                lines_of[page] = list(_split_lines(text, pages[page]))
            place = _find(key, lines_of[page])
            if place is not None:
                start, end = place
                heading = Heading(start=start, end=end, level=entry.level, title=entry.title)
                found.setdefault(start, heading)
                break
    return _disjoint(found[start] for start in sorted(found))


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    key: str


def _key(text: str) -> str:
    return "".join(_LETTERS.findall(text.casefold()))


def _split_lines(text: str, page: Page) -> Iterable[_Line]:
    start = page.start
    for line in text[page.start : page.end].split("\n"):
        stripped = line.strip()
        if stripped:
            inner = start + line.index(stripped)
            yield _Line(inner, inner + len(stripped), _key(stripped))
        start += len(line) + 1


def _find(key: str, lines: Sequence[_Line]) -> tuple[int, int] | None:
    """Return the lines that are the title; else the line that begins, else that ends with it."""
    for first in range(len(lines)):
        joined = ""
        for line in lines[first : first + _MAX_LINES]:
            joined += line.key
            if joined == key:
                return lines[first].start, line.end
            if not key.startswith(joined):
                break
    if len(key) < 4:
        return None
    for line in lines:
        if line.key.startswith(key):
            return line.start, line.end
    for line in lines:
        if line.key.endswith(key) and len(line.key) <= len(key) + _MAX_NUMBER_CHARS:
            return line.start, line.end
    return None


def _disjoint(headings: Iterable[Heading]) -> tuple[Heading, ...]:
    kept: list[Heading] = []
    for heading in headings:
        if not kept or heading.start >= kept[-1].end:
            kept.append(heading)
    top = min((heading.level for heading in kept), default=1)
    return tuple(
        Heading(start=h.start, end=h.end, level=h.level - top + 1, title=h.title) for h in kept
    )
