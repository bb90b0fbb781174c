"""Tables without rules: rows by the positions of cells, columns by alignment.

Rules of columns
    1. Numbers above each other are a column, and so are words that are clear of them. A column
       needs two rows.
    2. Text left of the first column is the label of its row.
    3. A cell over several columns is in the first of them.
    4. A row that does not fit keeps its cells in order.

Rules of tables
    1. A row is a line with a number in a cell after the first, or with three cells. Two or more
       consecutive rows are a table, with the labels and headers between them.
    2. Column headers, a line of units and a caption directly above belong to the table.
    3. A label or cell that continues in the next line is joined.
    4. Empty cells stay empty: numbers keep their columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.parsers.pdf.layout.rows import Cell, Line, is_figure
from spanwise.parsers.writer import table_line

_MIN_CELLS = 2  # minimum number of cells of a column

_Span = tuple[float, float]


def align_rows(
    rows: Sequence[Sequence[Cell]], *, above: Sequence[Sequence[Cell]] = ()
) -> list[list[str]]:
    """Return the texts of the cells of each row, "" for an empty cell.

    Args:
        rows: Cells of each row, from left to right.
        above: Rows of the same table on the page before.
    """
    columns = _find_columns([*above, *rows])
    return [_aligned(cells, columns) for cells in rows]


def _find_columns(rows: Sequence[Sequence[Cell]]) -> list[_Span]:
    """Return the left and right edges of the columns after the labels, from left to right."""
    figures = [cell for cells in rows for cell in cells[1:] if is_figure(cell.text)]
    under = _merged(figures, least=1)
    heads = [
        cells[0]
        for cells in rows
        if len(cells) > 1 and is_figure(cells[0].text) and _column_of(cells[0], under) is not None
    ]
    columns = _merged(figures + heads, least=_MIN_CELLS)
    words = [
        cell
        for cells in rows
        for cell in cells[1:]
        if not is_figure(cell.text) and _column_of(cell, columns) is None
    ]
    return sorted(columns + _merged(words, least=_MIN_CELLS))


def _merged(cells: Sequence[Cell], *, least: int) -> list[_Span]:
    """Return the horizontal ranges that at least `least` overlapping cells cover."""
    runs: list[tuple[float, float, int]] = []
    for left, right in sorted((cell.left, cell.right) for cell in cells):
        if runs and left < runs[-1][1]:
            first, last, count = runs[-1]
            runs[-1] = (first, max(last, right), count + 1)
        else:
            runs.append((left, right, 1))
    return [(left, right) for left, right, count in runs if count >= least]


def _aligned(cells: Sequence[Cell], columns: Sequence[_Span]) -> list[str]:
    """Return the texts of a row: its label, then one per column."""
    texts = [cell.text for cell in cells]
    if not columns:
        return texts
    places = [0] if _is_label(cells[0], columns[0]) else []
    for cell in cells[len(places) :]:
        place = _column_of(cell, columns)
        if place is None or (places and place <= places[-1]):
            return texts
        places.append(place)
    aligned = [""] * (places[-1] + 1)
    for place, text in zip(places, texts, strict=True):
        aligned[place] = text
    return aligned


def _is_label(cell: Cell, column: _Span) -> bool:
    """Return whether the first cell is a row label, left of the data columns; a year is none."""
    return cell.right <= column[0] or (cell.left < column[0] and not is_figure(cell.text))


def _column_of(cell: Cell, columns: Sequence[_Span]) -> int | None:
    """Return the first column of a cell, from 1; None if it is in no column."""
    for place, (left, right) in enumerate(columns, start=1):
        if left < cell.right and cell.left < right:
            return place
    return None


_MAX_BETWEEN = 4  # lines without figures between two rows
_MAX_ABOVE = 5  # lines of headers and caption
_WIDE_GAP = 3.2  # line distance that ends a table, in type sizes
_CAPTION_GAP = 2.6
_ALIGNED = 4.0  # points
_TIGHT = 1.35  # line distance within a wrapped cell, in type sizes
_UNITS = re.compile(
    r"\(?(?:(?:\w+ )?(?:dollars |amounts )?in (?:thousands|millions|billions|[$€£]|u\.?s\.? d)"
    r"|amounts in|dollars in|[$€£] (?:in )?(?:thousands|millions|billions)|\(unaudited\))",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[a-z)][.;]\Z")
_COLUMN_WORDS = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|for|the|as|of|at|and|or|in|to|through"
    r"|three|six|nine|twelve|two|four|five|thirteen|fifty|weeks?|quarters?|months?|years?|fiscal"
    r"|ended|ending|period|unaudited|audited|change|percent|versus|vs|total|thousands|millions"
    r"|billions|dollars|amounts|note|notes|assets|liabilities)\b|\d+",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Table:
    """Range of lines that are a table."""

    start: int
    end: int


def find_tables(lines: Sequence[Line]) -> list[Table]:
    """Return the tables among the lines of a page, in order, disjoint."""
    rows = [_is_row(line) for line in lines]
    _add_text_rows(lines, rows)
    tables: list[Table] = []
    index = 0
    while index < len(lines):
        floor = tables[-1].end if tables else 0
        if lines[index].rows:
            tables.append(Table(_table_start(lines, index, floor), index + 1))
        if lines[index].rows or not rows[index]:
            index += 1
            continue
        end = _table_end(lines, rows, index)
        if _is_table(lines, rows, index, end):
            tables.append(Table(_table_start(lines, index, floor), end))
        index = end
    return tables


def _is_row(line: Line) -> bool:
    cells = line.cells
    if len(cells) < 2:
        return False
    if len(cells) >= 3:
        return True
    return is_figure(cells[1].text)


def _add_text_rows(lines: Sequence[Line], rows: list[bool]) -> None:
    """Mark lines of two text cells as rows if their second cells are aligned."""
    for index in range(1, len(lines)):
        before, line = lines[index - 1], lines[index]
        if len(before.cells) == len(line.cells) == 2 and _follows(before, line, _WIDE_GAP):
            aligned = abs(before.cells[1].left - line.cells[1].left) < _ALIGNED
            if aligned and line.cells[1].left - line.cells[0].right > 1.2 * line.size:
                rows[index - 1] = rows[index] = True


def _follows(before: Line, line: Line, most: float) -> bool:
    """Return whether a line is at most `most` below another one in the same region."""
    distance = before.baseline - line.baseline
    return before.region == line.region and 0 <= distance <= most * max(before.size, line.size)


def _table_end(lines: Sequence[Line], rows: Sequence[bool], start: int) -> int:
    """Return the index after the last row of the table that begins with a row."""
    end = start + 1
    index = end
    column = _figure_column(lines[start])
    while index < len(lines) and index - end <= _MAX_BETWEEN:
        line = lines[index]
        if line.rows or not _follows(lines[index - 1], line, _WIDE_GAP):
            break
        if rows[index]:
            column = min(column, _figure_column(line))
            end = index + 1
        elif _is_prose(line, column):
            break
        index += 1
    row = lines[end - 1]
    while (
        end < len(lines) and _continued_cell(row, lines[end], lines[end - 1].baseline) is not None
    ):
        end += 1
    return end


def _figure_column(line: Line) -> float:
    """Return the left edge of the numbers of a row."""
    return next((cell.left for cell in line.cells[1:] if is_figure(cell.text)), line.cells[1].left)


def _is_prose(line: Line, column: float) -> bool:
    """Return whether a line extends into the column of numbers, as a sentence does."""
    if len(line.cells) > 1:
        return False
    width = line.region_right - line.region_left
    long = line.right - line.left > 0.6 * width
    return (long and line.right > column) or (
        line.right > column and _SENTENCE_END.search(line.text) is not None
    )


def _is_table(lines: Sequence[Line], rows: Sequence[bool], start: int, end: int) -> bool:
    count = sum(rows[start:end])
    if count >= 2:
        return True
    figures = sum(is_figure(cell.text) for cell in lines[start].cells[1:])
    return figures >= 2


def _table_start(lines: Sequence[Line], first: int, floor: int) -> int:
    """Return the first line of the headers and the caption of a table."""
    start = first
    while start > floor and first - start < _MAX_ABOVE:
        line, below = lines[start - 1], lines[start]
        if line.rows or not _follows(line, below, _CAPTION_GAP):
            break
        if len(line.cells) == 1 and not _is_head(line):
            break
        start -= 1
    return start


def names_columns(text: str) -> bool:
    """Return whether a line consists of words of column headers: dates, periods and units."""
    return not _COLUMN_WORDS.sub("", text).strip(" ,.:()&$%")


def is_units(line: Line) -> bool:
    """Return whether a line states the units of the numbers of a table."""
    text = line.text
    return len(text) < 90 and _UNITS.match(text) is not None


def _is_head(line: Line) -> bool:
    """Return whether a line above a row is a column header, a line of units, or a caption."""
    text = line.text
    if is_units(line):
        return True
    if len(text) > 100 or text[-1] in ".;" or text[0].islower():
        return False
    if text[-1] in ",:" and len(text) > 60:
        return False
    return line.right - line.left < 0.7 * (line.region_right - line.region_left)


def table_rows(lines: Sequence[Line], *, above: Sequence[Line] = ()) -> list[str]:
    """Return one line per row, with wrapped labels and cells joined, and empty cells kept.

    Args:
        lines: Lines of the table below its caption.
        above: Lines of the same table on the page before.
    """
    rows: list[list[Cell]] = []
    row: Line | None = None
    baseline = 0.0
    for line in lines:
        place = _continued_cell(row, line, baseline) if row is not None else None
        if place is not None:
            rows[-1][place] = _joined(rows[-1][place], line.cells[0])
        else:
            if row is not None and _opens_label(row, line):
                rows[-1] = [_joined(rows[-1][0], line.cells[0]), *line.cells[1:]]
            else:
                rows.append(list(line.cells))
            row = line
        baseline = line.baseline
    aligned = align_rows(rows, above=[line.cells for line in above])
    return [table_line(cells) for cells in aligned]


def _joined(cell: Cell, rest: Cell) -> Cell:
    """Return a cell with the text of its continuation appended; its position is unchanged."""
    return Cell(f"{cell.text} {rest.text}", cell.left, cell.right)


def _continued_cell(row: Line, line: Line, baseline: float) -> int | None:
    """Return the cell of a row that a line continues, None if it continues none.

    Args:
        row: The row above.
        line: The line below.
        baseline: Baseline of the last line of the row.
    """
    if len(line.cells) != 1 or len(row.cells) < 2 or line.rows or row.region != line.region:
        return None
    if not 0 <= baseline - line.baseline <= _TIGHT * max(row.size, line.size):
        return None
    if line.text[0].islower() and line.right < row.cells[1].left:
        return 0
    for index, cell in enumerate(row.cells[1:], start=1):
        if abs(cell.left - line.left) < _ALIGNED and not is_figure(cell.text):
            return index
    return None


def stands_above(lines: Sequence[Line], index: int) -> bool:
    """Return whether a line of a table is a header, a caption or similar, not part of a row."""
    line = lines[index]
    if len(line.cells) != 1 or line.rows:
        return False
    return index + 1 >= len(lines) or not _opens_label(line, lines[index + 1])


def _opens_label(before: Line, line: Line) -> bool:
    """Return whether a row continues the label in the line above it."""
    return (
        len(before.cells) == 1
        and len(line.cells) > 1
        and line.cells[0].text[0].islower()
        and _follows(before, line, _TIGHT)
        and before.left <= line.left + _ALIGNED
    )
