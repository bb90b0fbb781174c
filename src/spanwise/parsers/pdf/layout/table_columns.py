"""The columns of a table without rules, so that a cell that is empty in a row stays empty.

Rules
    1. The figures that stand above each other are a column; so are words, where they stand clear
       of those. Two rows must have it.
    2. What stands left of the first column is the label of its row, alone at its start.
    3. A cell over several columns stands in the first of them.
    4. A row that does not fit stays as it is: its cells in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.parsers.pdf.layout.rows import Cell, is_figure

__all__ = ["align_rows"]

_MIN_CELLS = 2  # that make a column

_Span = tuple[float, float]


def align_rows(
    rows: Sequence[Sequence[Cell]], *, above: Sequence[Sequence[Cell]] = ()
) -> list[list[str]]:
    """Return the texts of the cells of each row, with "" where a column has nothing in it.

    Args:
        rows: Cells of each row, from left to right.
        above: Rows of the same table on the page before.
    """
    columns = _find_columns([*above, *rows])
    return [_aligned(cells, columns) for cells in rows]


def _find_columns(rows: Sequence[Sequence[Cell]]) -> list[_Span]:
    """Return left and right edge of each column after the labels, from left to right."""
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
    """Return the spans of cells that stand above each other, at least so many of them."""
    runs: list[tuple[float, float, int]] = []
    for left, right in sorted((cell.left, cell.right) for cell in cells):
        if runs and left < runs[-1][1]:
            first, last, count = runs[-1]
            runs[-1] = (first, max(last, right), count + 1)
        else:
            runs.append((left, right, 1))
    return [(left, right) for left, right, count in runs if count >= least]


def _aligned(cells: Sequence[Cell], columns: Sequence[_Span]) -> list[str]:
    """Return the texts of a row, one for its label and one for each column that it reaches."""
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
    """Return whether the first cell of a row stands before the first column; a year heads it."""
    return cell.right <= column[0] or (cell.left < column[0] and not is_figure(cell.text))


def _column_of(cell: Cell, columns: Sequence[_Span]) -> int | None:
    """Return the first column that a cell stands in, from 1; None where it stands in none."""
    for place, (left, right) in enumerate(columns, start=1):
        if left < cell.right and cell.left < right:
            return place
    return None
