"""Tables of HTML as lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spanwise.parsers.writer import table_line

__all__ = ["TableCell", "TableGrid"]

_MAX_COLUMNS = 1000
"""Of one cell, and those in which cells of earlier rows are kept free."""
_MAX_SPLIT = 4
"""A cell over more columns is a title over several, not one column that was split."""
_BEFORE_NUMBER = frozenset({"$", "€", "£", "¥", "(", "$(", "US$"})
_AFTER_NUMBER = frozenset({")", "%", ")%", "%)"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One cell and how many columns and rows it covers."""

    text: str
    columns: int = 1
    rows: int = 1

    @classmethod
    def of(cls, text: str, attributes: Mapping[str, str | None]) -> TableCell:
        """Return a cell with the spans that its attributes name."""
        return cls(
            text=text,
            columns=_read_span(attributes.get("colspan")),
            rows=_read_span(attributes.get("rowspan")),
        )


def _read_span(written: str | None) -> int:
    digits = (written or "").strip()
    return max(1, min(int(digits[:5]), _MAX_COLUMNS)) if digits.isdecimal() else 1


@dataclass(slots=True)
class TableGrid:
    """Rows under construction; a cell that covers several places is written in its first one."""

    _rows: list[dict[int, str]] = field(default_factory=list)
    _spanned: set[int] = field(default_factory=set)
    """Columns that share a cell with the column before them, in some row."""
    _covered: dict[int, int] = field(default_factory=dict)
    """Columns that cells of earlier rows still cover, and for how many rows."""

    def add_row(self, cells: Sequence[TableCell]) -> None:
        """Append a row; cells go to the columns that no earlier cell covers."""
        row: dict[int, str] = {}
        covered = {column: rows - 1 for column, rows in self._covered.items() if rows > 1}
        column = 0
        for cell in cells:
            while column in self._covered:
                column += 1
            if cell.text:
                row[column] = cell.text
                if cell.columns <= _MAX_SPLIT:
                    self._spanned.update(range(column + 1, column + cell.columns))
            if cell.rows > 1:
                for place in range(column, min(column + cell.columns, _MAX_COLUMNS)):
                    covered[place] = cell.rows - 1
            column += cell.columns
        self._covered = covered
        self._rows.append(_join_signs(row))

    def lines(self) -> tuple[list[str], int]:
        """Return a line for each row that is not empty, and the number of columns.

        Columns that are empty in every row are left out; other empty cells are kept.
        """
        columns = self._merge_columns()
        lines = [
            table_line(["".join(row.get(part, "") for part in parts) for parts in columns])
            for row in self._rows
        ]
        return [line for line in lines if line], len(columns)

    def _merge_columns(self) -> list[list[int]]:
        """Return the columns that hold text, those together that are parts of one.

        Filings split a column of numbers under one header into narrow ones; these are never
        filled in the same row.
        """
        rows_of: dict[int, set[int]] = {}
        for number, row in enumerate(self._rows):
            for column in row:
                rows_of.setdefault(column, set()).add(number)
        merged: list[list[int]] = []
        filled: set[int] = set()
        for column in sorted(rows_of):
            if merged and column in self._spanned and filled.isdisjoint(rows_of[column]):
                merged[-1].append(column)
                filled |= rows_of[column]
            else:
                merged.append([column])
                filled = set(rows_of[column])
        return merged


def _join_signs(row: dict[int, str]) -> dict[int, str]:
    """Return the row with currency signs, brackets and per cents in the cell of their number.

    Filings set these in narrow columns of their own.
    """
    if not any(text in _BEFORE_NUMBER or text in _AFTER_NUMBER for text in row.values()):
        return row
    joined: dict[int, str] = {}
    sign = ""
    last: int | None = None
    for column in sorted(row):
        text = sign + row[column]
        sign = ""
        if text in _BEFORE_NUMBER:
            sign = text
        elif text in _AFTER_NUMBER and last is not None:
            joined[last] += text
        else:
            joined[column] = text
            last = column
    if sign:
        joined[max(row)] = sign
    return joined
