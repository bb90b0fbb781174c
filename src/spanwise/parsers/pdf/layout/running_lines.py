"""Running headers, running footers and page numbers, found by repetition on nearby pages.

Rules
    1. Only the outermost lines of a page are candidates: lines in its margins, and the first and
       last lines at any height.
    2. A line is running if the same text is at the edge of four nearby pages, except for one
       number that increases with the pages. A bare number needs two pages.
    3. In a short document a line may begin or end a few pages by chance: it is running if it is at
       the same height on half of the pages, far out, with space between it and the text.
    4. Column headers and lines of units stay, although consecutive statements repeat them.
    5. The number of a removed line becomes the label of its page. A page without a number, or with
       one that does not fit, between pages of one sequence gets its label from the sequence.
    6. Nothing is removed from a page without other words, or from a document without other lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice, pairwise

from spanwise.parsers.pdf.layout.rows import Line
from spanwise.parsers.pdf.layout.tables import names_columns

_TOP, _BOTTOM = 0.14, 0.12
"""Top and bottom margins, as shares of the page height."""
_EDGE_LINES = 4
_OUTERMOST = 2
"""Number of candidate lines at either end of a page, at any height; one in short documents."""
_REACH = 10
_TIMES = 4
_NUMBER_TIMES = 2
_APART = 2.5
"""Minimum distance of a running line to the text in a short document, in type sizes."""
_MAX_NUMBERS = 6  # numbers of a line that are tried as page number
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"(?:[-–—|•\[(\s]*|page\s+|p\.\s*)((?:[A-Z]{1,2}\s?[-–.]\s?)?\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s+(?:of|/)\s+\d{1,4})?[-–—|•\])\s]*",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_UNITS = re.compile(r"\b(?:thousands|millions|billions)\b", re.IGNORECASE)
_PERIOD = re.compile(r"\b(?:ended|ending|fiscal years?)\W*\Z", re.IGNORECASE)
_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class Running:
    """Lines that are removed from a page."""

    lines: frozenset[int]
    """Indices of the lines."""
    label: str | None
    """Printed page number."""


@dataclass(slots=True)
class _Edge:
    page: int
    line: int
    keys: tuple[str, ...]
    """Keys of repetition: the text, then variants with one number relative to its page."""
    number: str | None
    """Number at the start or end of the line, or the whole line; None without one."""
    is_number: bool
    """Whether the whole line is a number."""
    at_top: bool
    height: int | None
    """Vertical position; None if irrelevant."""


def find_running(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> list[Running]:
    """Return the running lines of each page.

    Args:
        pages: Lines of each page, in reading order.
        heights: Height of each page in points.
    """
    is_short = len(pages) < 2 * _TIMES
    edges = [
        edge
        for page, lines in enumerate(pages)
        for edge in _edges(page, lines, heights[page], is_short=is_short)
    ]
    places: dict[tuple[str, bool, int | None], list[int]] = defaultdict(list)
    counts: dict[tuple[str, int], list[int]] = defaultdict(list)
    for edge in edges:
        for key in edge.keys:
            _note(places[key, edge.at_top, edge.height], edge.page)
        if edge.number is not None:
            _note(counts[_offset(edge)], edge.page)
    times = max(2, len(pages) // 2) if is_short else _TIMES
    removed: list[set[int]] = [set() for _ in pages]
    labels: list[str | None] = [None] * len(pages)
    for edge in edges:
        is_counted = (
            edge.number is not None and _around(counts[_offset(edge)], edge.page) >= _NUMBER_TIMES
        )
        recurs = any(
            _around(places[key, edge.at_top, edge.height], edge.page) >= times for key in edge.keys
        )
        is_gone = recurs or (is_counted and edge.is_number)
        if is_gone:
            removed[edge.page].add(edge.line)
        if is_gone and is_counted:
            labels[edge.page] = labels[edge.page] or edge.number
    labels = _repaired(labels)
    if not any(len(gone) < len(lines) for lines, gone in zip(pages, removed, strict=True)):
        return [Running(frozenset(), label) for label in labels]
    return [
        Running(frozenset(gone if _leaves_words(lines, gone) else ()), label)
        for lines, gone, label in zip(pages, removed, labels, strict=True)
    ]


def _leaves_words(lines: Sequence[Line], gone: Set[int]) -> bool:
    """Return whether a page still has a line with letters, or never had one."""
    return not any(map(_has_letters, lines)) or any(
        _has_letters(line) for index, line in enumerate(lines) if index not in gone
    )


def _has_letters(line: Line) -> bool:
    return any(map(str.isalpha, line.text))


def _edges(page: int, lines: Sequence[Line], height: float, *, is_short: bool) -> Iterator[_Edge]:
    """Yield the lines of a page that may be running lines."""
    order = sorted(
        (index for index, line in enumerate(lines) if not line.rows),
        key=lambda index: -lines[index].baseline,
    )
    outermost = 1 if is_short else _OUTERMOST
    baselines = [lines[index].baseline for index in order]
    for rank, index in enumerate(order):
        line = lines[index]
        from_bottom = len(order) - 1 - rank
        top = rank < _EDGE_LINES and (line.baseline > (1 - _TOP) * height or rank < outermost)
        bottom = from_bottom < _EDGE_LINES and (
            line.baseline < _BOTTOM * height or from_bottom < outermost
        )
        if (top or bottom) and len(line.text) <= _MAX_CHARS and not _is_table_head(line):
            within = (
                baselines[rank : _EDGE_LINES + 1] if top else baselines[-_EDGE_LINES - 1 : rank + 1]
            )
            is_apart = any(a - b >= _APART * line.size for a, b in pairwise(within))
            recurs = _has_letters(line) and (is_apart or not is_short)
            yield _Edge(
                page,
                index,
                keys=tuple(_keys(line.text, page)) if recurs else (),
                number=_printed_number(line),
                is_number=_PAGE_NUMBER.fullmatch(line.text) is not None,
                at_top=top and not bottom,
                height=round(line.baseline) if is_short else None,
            )


def _keys(text: str, page: int) -> Iterator[str]:
    """Yield the keys of a line: its text, and variants with one number relative to the page."""
    folded = text.casefold()
    yield folded
    for match in islice(_DIGITS.finditer(folded), _MAX_NUMBERS):
        yield f"{folded[: match.start()]}#{int(match.group()) - page}{folded[match.end() :]}"


def _is_table_head(line: Line) -> bool:
    """Return whether a line is a column header, which consecutive statements repeat."""
    years = sum(_YEAR.fullmatch(cell.text) is not None for cell in line.cells)
    if years >= 2 or _UNITS.search(line.text):
        return True
    several = len(line.cells) >= 2 and not any(map(str.isdigit, (c.text for c in line.cells)))
    return names_columns(line.text) and (several or _PERIOD.search(line.text) is not None)


def _printed_number(line: Line) -> str | None:
    """Return the page number at one of the ends of a line, or alone."""
    for cell in (line.cells[0], line.cells[-1]):
        match = _PAGE_NUMBER.fullmatch(cell.text)
        if match and not _YEAR.fullmatch(match[1]):
            return "".join(match[1].split())
    return None


def _repaired(labels: Sequence[str | None]) -> list[str | None]:
    """Return labels with gaps and single misreadings inside a sequence replaced.

    A gap of several pages is filled only if none of them has a label.
    """
    repaired = list(labels)
    known = [page for page, label in enumerate(labels) if label is not None]
    for before, after in pairwise(known):
        _fill_gap(repaired, before, after)
    for before, _, after in zip(known, known[1:], known[2:], strict=False):
        if after - before == 2:  # a single page
            _fill_gap(repaired, before, after)
    return repaired


def _fill_gap(labels: list[str | None], before: int, after: int) -> None:
    """Set the labels between two pages, if both are in one sequence of Arabic numbers."""
    first, last = labels[before] or "", labels[after] or ""
    digits = _DIGITS.search(first)
    series = _series(first, before)
    if digits is None or series != _series(last, after) or after - before > _REACH:
        return
    for page in range(before + 1, after):
        if series != _series(labels[page] or "", page):
            labels[page] = f"{first[: digits.start()]}{series[1] + page}"


def _offset(edge: _Edge) -> tuple[str, int]:
    return _series(edge.number or "", edge.page)


def _series(number: str, page: int) -> tuple[str, int]:
    """Return the sequence of a page number: its prefix and its offset from the page."""
    digits = _DIGITS.search(number)
    if digits:
        return number[: digits.start()].upper(), int(digits.group()) - page
    return "roman", _roman(number) - page


def _roman(text: str) -> int:
    values = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
    total = last = 0
    for sign in reversed(text.lower()):
        value = values[sign]
        total += value if value >= last else -value
        last = max(last, value)
    return total


def _note(pages: list[int], page: int) -> None:
    """Append a page, if it is not the last one already."""
    if not pages or pages[-1] != page:
        pages.append(page)


def _around(pages: Sequence[int], page: int) -> int:
    """Return how many of the sorted pages are near `page`."""
    return bisect_right(pages, page + _REACH) - bisect_left(pages, page - _REACH)
