"""Running heads, running feet and page numbers: found by what recurs on the pages around.

Rules
    1. Only the outermost lines of a page are looked at: those in its margins, and the first and
       the last one wherever they stand.
    2. A line recurs where the same text, digits aside, stands at the edge of four of the pages
       around it (of half the pages of a short document); a bare number where it counts the pages:
       it is as many more as they are apart.
    3. Heads of columns and lines of units stay, though statements in a row have the same ones.
    4. What is removed is kept: the number of the page becomes its label. A page of which no word
       would be left loses nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from spanwise.parsers.layout.rows import Line

__all__ = ["Running", "find_running"]

_TOP, _BOTTOM = 0.14, 0.12
"""Margins, in heights of the page."""
_EDGE_LINES = 4
_REACH = 10
_TIMES = 4
_NUMBER_TIMES = 2
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"(?:[-–—|•\[(\s]*|page\s+|p\.\s*)((?:[A-Z]{1,2}\s?[-–.]\s?)?\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s+(?:of|/)\s+\d{1,4})?[-–—|•\])\s]*",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_UNITS = re.compile(r"\b(?:thousands|millions|billions)\b", re.IGNORECASE)
_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class Running:
    """What is taken out of a page."""

    lines: frozenset[int]
    """Indices of its lines."""
    label: str | None
    """The number that is printed on it."""


@dataclass(slots=True)
class _Edge:
    page: int
    line: int
    key: str
    number: str | None
    """Number that it shows at one of its ends, or alone."""
    is_number: bool
    """Whether it shows nothing else."""
    at_top: bool


def find_running(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> list[Running]:
    """Return what runs along the pages.

    Args:
        pages: Lines of each page, in reading order.
        heights: Height of each page.
    """
    edges = [
        edge for page, lines in enumerate(pages) for edge in _edges(page, lines, heights[page])
    ]
    places: dict[tuple[str, bool], list[int]] = defaultdict(list)
    counts: dict[tuple[str, int], list[int]] = defaultdict(list)
    for edge in edges:
        places[edge.key, edge.at_top].append(edge.page)
        if edge.number is not None:
            counts[_offset(edge)].append(edge.page)
    times = _TIMES if len(pages) >= 2 * _TIMES else max(2, len(pages) // 2)
    removed: list[set[int]] = [set() for _ in pages]
    labels: list[str | None] = [None] * len(pages)
    for edge in edges:
        is_counted = (
            edge.number is not None and _around(counts[_offset(edge)], edge.page) >= _NUMBER_TIMES
        )
        has_words = any(map(str.isalpha, edge.key))
        recurs = has_words and _around(places[edge.key, edge.at_top], edge.page) >= times
        is_gone = recurs or (is_counted and edge.is_number)
        if is_gone:
            removed[edge.page].add(edge.line)
        if is_gone and is_counted:
            labels[edge.page] = labels[edge.page] or edge.number
    return [
        Running(frozenset(gone if _leaves_words(lines, gone) else ()), label)
        for lines, gone, label in zip(pages, removed, labels, strict=True)
    ]


def _leaves_words(lines: Sequence[Line], gone: Set[int]) -> bool:
    """Return whether a page keeps some words, or had none beside what runs along."""
    return not any(map(_has_letters, lines)) or any(
        _has_letters(line) for index, line in enumerate(lines) if index not in gone
    )


def _has_letters(line: Line) -> bool:
    return any(map(str.isalpha, line.text))


def _edges(page: int, lines: Sequence[Line], height: float) -> Iterator[_Edge]:
    """Yield the lines at the edges of a page, each once."""
    order = sorted(
        (index for index, line in enumerate(lines) if not line.rows),
        key=lambda index: -lines[index].baseline,
    )
    for rank, index in enumerate(order):
        line = lines[index]
        from_bottom = len(order) - 1 - rank
        top = rank < _EDGE_LINES and (line.baseline > (1 - _TOP) * height or not rank)
        bottom = from_bottom < _EDGE_LINES and (line.baseline < _BOTTOM * height or not from_bottom)
        if top or bottom:
            text = line.text
            if len(text) <= _MAX_CHARS and not _is_table_head(line):
                key = _DIGITS.sub("#", text.casefold())
                is_number = _PAGE_NUMBER.fullmatch(text) is not None
                number = _printed_number(line)
                yield _Edge(page, index, key, number, is_number, top and not bottom)


def _is_table_head(line: Line) -> bool:
    """Return whether a line heads columns: statements that follow each other have the same one."""
    years = sum(_YEAR.fullmatch(cell.text) is not None for cell in line.cells)
    return years >= 2 or _UNITS.search(line.text) is not None


def _printed_number(line: Line) -> str | None:
    """Return the number of the page that a line shows at one of its ends, or alone."""
    for cell in (line.cells[0], line.cells[-1]):
        match = _PAGE_NUMBER.fullmatch(cell.text)
        if match and not _YEAR.fullmatch(match[1]):
            return "".join(match[1].split())
    return None


def _offset(edge: _Edge) -> tuple[str, int]:
    """Return the series that a page number belongs to: what stands before it, and its start."""
    number = edge.number or ""
    digits = _DIGITS.search(number)
    if digits:
        return number[: digits.start()].upper(), int(digits.group()) - edge.page
    return "roman", _roman(number) - edge.page


def _roman(text: str) -> int:
    values = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
    total = last = 0
    for sign in reversed(text.lower()):
        value = values[sign]
        total += value if value >= last else -value
        last = max(last, value)
    return total


def _around(pages: Sequence[int], page: int) -> int:
    """Return how many of some pages, in order, lie near one of them."""
    return bisect_right(pages, page + _REACH) - bisect_left(pages, page - _REACH)
