"""Ruled tables: cells between horizontal and vertical rules.

Rules
    1. Rules that touch form a grid; a grid with at least two columns and two rows is a table.
    2. Two fields of a grid without a rule between them are one cell that spans both: its text is
       at its first field, the others are empty.
    3. The words of a cell are read from top to bottom: a wrapped cell is one text.
    4. Rules around a table without rules between its columns are not a grid: its rows are found by
       their gaps (`tables`).
    5. A row of the grid is one line; rows without text are left out.
    6. A cell over several rows, or next to others over several columns, is merged: the lines of
       text no longer show which cells belong to it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from spanwise.parsers.pdf.layout.columns import Fragment
from spanwise.parsers.pdf.layout.flow import HYPHEN
from spanwise.parsers.pdf.layout.page import Rule, Words
from spanwise.parsers.pdf.layout.rows import is_figure
from spanwise.parsers.writer import table_line

_TOUCH = 2.5  # points
_WIDE_GAP = 1.8  # em
_MAX_FIELDS = 100_000
"""Maximum number of fields; a grid with more is graph paper."""
_MAX_CELL_CHARS = 1500
"""Maximum length of a cell; a longer one is a frame around the page."""

_Span = tuple[float, float]
_Field = tuple[int, int]
"""Row and column of a field, from 0."""


@dataclass(slots=True)
class _Grid:
    xs: list[float]
    """Vertical edges of the fields, from left to right."""
    ys: list[float]
    """Horizontal edges, from top to bottom."""
    upright: list[list[_Span]]
    """Ranges of the rules along each vertical edge."""
    level: list[list[_Span]]
    """Ranges of the rules along each horizontal edge."""


def find_grids(words: Words, rules: Sequence[Rule]) -> tuple[list[Fragment], frozenset[int]]:
    """Return the ruled tables of a page, and the indices of the words in them.

    Args:
        words: Words of the page.
        rules: Rules of the page.
    """
    tables: list[Fragment] = []
    taken: set[int] = set()
    for group in _connected(rules):
        grid = _grid(group)
        if grid is None:
            continue
        first_of = _first_fields(grid)
        cells = _fill(grid, words, taken, first_of)
        if any(_holds_columns(words, indices) for indices in cells.values()):
            continue
        rows = _rows(grid, words, cells)
        if len(rows) >= 2 and max(map(len, rows)) <= _MAX_CELL_CHARS:
            members = [index for indices in cells.values() for index in indices]
            taken.update(members)
            table = _table(grid, words, members, rows)
            table.has_merged_cells = _has_merged_cells(first_of, cells)
            tables.append(table)
    return tables, frozenset(taken)


def _connected(rules: Sequence[Rule]) -> list[list[Rule]]:
    """Return the groups of touching rules that contain both directions (connected components)."""
    flat = sorted((rule for rule in rules if rule.is_horizontal), key=lambda rule: -rule.top)
    upright = [rule for rule in rules if not rule.is_horizontal]
    groups: list[list[Rule]] = []
    for rule in upright:
        touched = [group for group in groups if any(_touch(rule, other) for other in group)]
        merged = [rule, *(other for group in touched for other in group)]
        known = set(map(id, merged))
        merged += [other for other in flat if id(other) not in known and _touch(rule, other)]
        groups = [group for group in groups if all(group is not other for other in touched)]
        groups.append(merged)
    return groups


def _touch(first: Rule, second: Rule) -> bool:
    return (
        first.left - _TOUCH <= second.right
        and second.left - _TOUCH <= first.right
        and first.bottom - _TOUCH <= second.top
        and second.bottom - _TOUCH <= first.top
    )


def _grid(rules: Sequence[Rule]) -> _Grid | None:
    xs = _clusters([rule.left for rule in rules if not rule.is_horizontal])
    ys = _clusters([rule.top for rule in rules if rule.is_horizontal])
    flat = [rule for rule in rules if rule.is_horizontal]
    if flat:  # a table that is open at its sides ends with its horizontal rules
        left, right = min(rule.left for rule in flat), max(rule.right for rule in flat)
        xs = _clusters([*xs, left, right])
    if len(xs) < 3 or len(ys) < 3 or len(xs) * len(ys) > _MAX_FIELDS:
        return None
    upright = [(rule.left, (rule.bottom, rule.top)) for rule in rules if not rule.is_horizontal]
    level = [(rule.top, (rule.left, rule.right)) for rule in flat]
    return _Grid(xs, ys[::-1], _spans_at(xs, upright), _spans_at(ys, level)[::-1])


def _spans_at(edges: Sequence[float], rules: Sequence[tuple[float, _Span]]) -> list[list[_Span]]:
    """Return the ranges of the rules along each edge.

    Args:
        edges: Positions, ascending.
        rules: Position and range of each rule.
    """
    found: list[list[_Span]] = [[] for _ in edges]
    for place, span in rules:
        first, end = bisect_left(edges, place - _TOUCH), bisect_right(edges, place + _TOUCH)
        for edge in range(first, end):
            found[edge].append(span)
    return found


def _clusters(values: Sequence[float]) -> list[float]:
    """Return values in ascending order, with nearly equal ones merged."""
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > _TOUCH:
            found.append(value)
    return found


def _fill(
    grid: _Grid, words: Words, taken: set[int], first_of: Mapping[_Field, _Field]
) -> dict[_Field, list[int]]:
    """Return the words of each cell, by its first field."""
    falling = [-y for y in grid.ys]
    cells: dict[_Field, list[int]] = {}
    left, right, top, bottom = grid.xs[0], grid.xs[-1], grid.ys[0], grid.ys[-1]
    for index in range(len(words)):
        y = words.baselines[index] + 0.3 * words.sizes[index]
        if not bottom < y < top or index in taken:
            continue
        x = (words.lefts[index] + words.rights[index]) / 2
        if left < x < right:
            field = (bisect_right(falling, -y) - 1, bisect_right(grid.xs, x) - 1)
            cells.setdefault(first_of[field], []).append(index)
    return cells


def _first_fields(grid: _Grid) -> dict[_Field, _Field]:
    """Return the first field of the cell of each field (union of fields without a rule)."""
    across = [(left + right) / 2 for left, right in pairwise(grid.xs)]
    down = [(top + bottom) / 2 for top, bottom in pairwise(grid.ys)]
    first: dict[_Field, _Field] = {}
    for row, y in enumerate(down):
        for column, x in enumerate(across):
            field = (row, column)
            if column and not _holds(grid.upright[column], y):
                first[field] = first[row, column - 1]
            elif row and not _holds(grid.level[row], x):
                first[field] = first[row - 1, column]
            else:
                first[field] = field
    return first


def _has_merged_cells(first_of: Mapping[_Field, _Field], cells: Mapping[_Field, object]) -> bool:
    """Return whether a cell with words spans several rows, or some of the columns."""
    in_row = Counter(row for row, _ in cells)
    merged = [(field, first) for field, first in first_of.items() if field != first]
    return any(
        first in cells and (field[0] > first[0] or in_row[first[0]] > 1) for field, first in merged
    )


def _holds(spans: Sequence[_Span], place: float) -> bool:
    """Return whether a position is in one of the ranges."""
    return any(low <= place <= high for low, high in spans)


def _rows(grid: _Grid, words: Words, cells: Mapping[_Field, list[int]]) -> list[str]:
    rows = []
    for row in range(len(grid.ys) - 1):
        texts = [
            _cell_text(words, cells.get((row, column), [])) for column in range(len(grid.xs) - 1)
        ]
        if any(texts):
            rows.append(table_line(texts))
    return rows


def _cell_text(words: Words, members: Sequence[int]) -> str:
    """Return the words of a cell, line by line."""
    text = ""
    for index in sorted(members, key=lambda index: _line_key(words, index)):
        word = words.texts[index]
        is_parted = not text or text.endswith(HYPHEN)
        text = text.removesuffix(HYPHEN) + word if is_parted else f"{text} {word}"
    return text


def _holds_columns(words: Words, members: Sequence[int]) -> bool:
    """Return whether two lines of a cell have a number after a wide gap.

    The rules are then the frame of a table without rules between its columns.
    """
    ordered = sorted(members, key=lambda index: _line_key(words, index))
    lines = set()
    for before, index in pairwise(ordered):
        line = _line_key(words, index)[0]
        is_apart = words.lefts[index] - words.rights[before] > _WIDE_GAP * words.sizes[index]
        if is_apart and is_figure(words.texts[index]) and line == _line_key(words, before)[0]:
            lines.add(line)
    return len(lines) >= 2


def _line_key(words: Words, index: int) -> tuple[int, float]:
    return (round(-words.baselines[index] / (0.5 * words.sizes[index])), words.lefts[index])


def _table(grid: _Grid, words: Words, members: Sequence[int], rows: list[str]) -> Fragment:
    size = words.sizes[members[0]]
    runs = [(words.fonts[i], round(10 * words.sizes[i]), len(words.texts[i])) for i in members]
    return Fragment(
        text="\n".join(rows),
        left=grid.xs[0],
        right=grid.xs[-1],
        baseline=grid.ys[0] - size,
        size=size,
        runs=runs,
        rows=rows,
        bottom=grid.ys[-1],
    )
