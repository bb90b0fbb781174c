"""Text of records (a line "name: value" per field) and of tables (a line per row).

Rules of records
    1. Names are repeated with the values, so that a chunk from the middle of a million records
       is self-explanatory. (For questions about single values, search finds 50 % more than with
       rows below a header at the same token budget, although each record is twice as long.)
    2. A short record is a paragraph. A long one is a section with its title field as heading;
       its long texts are separate paragraphs.
    3. Empty fields are left out.

Rules of tables (CSV and all sheets; the cells of a row are joined by " | ")
    1. A short row with a single cell above a table, or alone, is its title; further ones are
       notes on the table (its units).
    2. A header is the first row of a table, if it has several cells, which are different words or
       years. Below it there is a number or date, or at least half of the rows have no more cells
       than it has. A table has no header if a column repeats its name or has years below a year.
       In a header of two rows, the first one has groups of columns ("2022"), and the second one
       repeats its names in each group ("Plan", "Actual"). They are joined ("2022 Plan"). A column
       without a name in the second row keeps that of the first ("Region", merged over both rows).
    3. A table with a header that is too long for one chunk names the column of each cell,
       "Customer: Acme | Sum: 5", so that a chunk far below is self-explanatory. (For questions
       about a row by two of its cells, search finds it several times as often at the same token
       budget, although each row is longer.) Such a table is not a block: its rows need not stay
       together.
    4. In such a table, a row with a cell of several sentences is written as a record.
    5. Columns that are empty in the first rows of a table are left out until they are filled.

Rules of sheets
    1. A sheet is a section. Blank rows separate its tables.
    2. Content over the limits is left out with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from spanwise.parsers.parsed import Losses
from spanwise.parsers.writer import TextWriter, table_line
from spanwise.types import Block

LONG_CHARS = 400
"""Length from which a record is a section."""
_TITLE_NAMES = ("title", "name", "subject", "headline", "heading", "question", "label", "id", "_id")
_MAX_TITLE_CHARS = 200
_TEXT_NAMES = frozenset(
    "text content contents body page_content passage abstract message description summary".split()
)
"""Names of fields with the main text of a record."""

Field = tuple[str, str]
"""Name and value of a field."""


def find_title(fields: Iterable[Field]) -> Field | None:
    """Return the title field of a record: one line, named "title" or similar; None without one."""
    found = {name.lower(): (name, value) for name, value in fields}
    for known in _TITLE_NAMES:
        name, value = found.get(known, ("", ""))
        if value.strip() and len(value) <= _MAX_TITLE_CHARS and "\n" not in value:
            return name, value
    return None


def field_lines(name: str, value: str) -> str:
    """Return a field as text: on one line, or its lines below its name."""
    if not name:
        return value
    return f"{name}:\n{value}" if "\n" in value else f"{name}: {value}"


def write_record(writer: TextWriter, fields: Sequence[Field], *, level: int) -> None:
    """Append a record: a paragraph, or a section if it is long and has a title.

    Args:
        writer: The text so far.
        fields: Fields in order; none is empty.
        level: Level of the heading.
    """
    writer.separate(2)
    if sum(len(name) + len(value) for name, value in fields) <= LONG_CHARS:
        writer.write_apart("\n".join(field_lines(name, value) for name, value in fields))
        return
    title = find_title(fields)
    if title is not None:
        writer.write_heading(title[1], level=level)
    for name, value in fields:
        if (name, value) == title:
            continue
        if name.lower() in _TEXT_NAMES:
            writer.write_apart(value)
        else:
            writer.write(field_lines(name, value))
            writer.separate(1)
    writer.separate(2)


_HELD_ROWS = 500
"""Number of rows of a table that are read before it is written."""
_KEPT_CHARS = 800
"""Maximum length of a table that stays in one chunk with its header (`ChunkOptions.block_max`)."""
_TITLE_CHARS = 100
_NAME_CHARS = 80
_NAMES_CHARS = 4_000
"""Maximum length of all column names; longer names would be most of the text of each row."""
_MAX_LEAD_ROWS = 5
_MAX_LONE_ROWS = 3
_ROWS_LOOKED_AT = 200
_YEAR = re.compile(r"(?:19|20)\d\d(?:-\d\d){0,2}")


class Cell(NamedTuple):
    """Cell that is not empty."""

    column: int
    """Index of the column, from 0."""
    text: str
    is_words: bool
    """Whether it has words, not a number or a date."""


Row = Sequence[Cell]
"""Cells in order of column."""


class RowWriter:
    """Writer of tables.

    Args:
        writer: Writer of the text.
        level: Level of the headings that are titles of tables.
    """

    def __init__(self, writer: TextWriter, *, level: int) -> None:
        self._writer = writer
        self._level = level
        self._rows: list[Row] = []
        self._columns: list[int] = []
        """Columns of the current table that are written; empty before its first row."""
        self._names: Mapping[int, str] = {}
        """Column names, if each cell is written with its name."""
        self._head_rows = 0
        """Number of rows of the header that are not written yet."""
        self._record_level = level
        self._table_start: int | None = None

    def add(self, cells: Row) -> None:
        """Add a row with at least one cell to the current table."""
        self._rows.append(cells)
        if len(self._rows) >= _HELD_ROWS:
            self._write_held()

    def end_table(self) -> None:
        """End the current table, if there is one."""
        self._write_held()
        self._columns, self._names, self._record_level = [], {}, self._level
        self._head_rows = 0
        if self._table_start is not None:
            end = self._writer.next_start - 1
            self._writer.blocks.append(Block(start=self._table_start, end=end, kind="table"))
            self._table_start = None
        self._writer.separate(2)

    def _write_held(self) -> None:
        rows, self._rows = self._rows, []
        if rows and not self._columns:
            lead = _count_lead_rows(rows)
            for row in rows[:lead]:
                self._write_lead(row[0], is_first=row is rows[0])
            rows = rows[lead:]
            self._begin_table(rows)
        self._write_rows(rows)

    def _write_lead(self, cell: Cell, *, is_first: bool) -> None:
        """Write a row above a table: its title, or a note."""
        text = " ".join(cell.text.split())
        is_short = len(text) <= _TITLE_CHARS and not text.endswith((".", ":", ";"))
        if is_first and is_short and any(map(str.isalpha, text)):
            self._writer.write_heading(text, level=self._level)
            self._record_level = self._level + 1
        else:
            self._writer.write(text)
            self._writer.separate(1)

    def _begin_table(self, rows: Sequence[Row]) -> None:
        """Choose how the rows of a table are written, and write the first ones."""
        self._columns = sorted({cell.column for row in rows for cell in row})
        if len(self._columns) < 2:
            return
        self._writer.separate(2)
        chars = sum(len(cell.text) + 3 for row in rows for cell in row)
        grouped = _grouped_names(rows)
        names = grouped or _texts(rows[0])
        is_narrow = sum(map(len, names.values())) <= _NAMES_CHARS
        if chars > _KEPT_CHARS and is_narrow and (grouped or _has_head(rows)):
            self._names = names
            self._head_rows = 2 if grouped else 1
        else:
            self._table_start = self._writer.next_start

    def _write_rows(self, rows: Sequence[Row]) -> None:
        new = {cell.column for row in rows for cell in row}.difference(self._columns)
        self._columns = sorted(new.union(self._columns)) if new else self._columns
        lines: list[str] = []
        for row in rows:
            if self._head_rows:
                self._head_rows -= 1
                lines.append(self._plain_line(_texts(row)))
            elif self._names and any(len(cell.text) > LONG_CHARS for cell in row):
                self._write_lines(lines)
                lines = []
                fields = [(self._names.get(cell.column, ""), cell.text.strip()) for cell in row]
                write_record(self._writer, fields, level=self._record_level)
            else:
                lines.append(self._line(row))
        self._write_lines(lines)

    def _write_lines(self, lines: Sequence[str]) -> None:
        self._writer.write("\n".join(lines))
        self._writer.separate(1)

    def _line(self, row: Row) -> str:
        texts, names = _texts(row), self._names
        if names and names != texts:
            return " | ".join(
                [
                    f"{names[column]}: {text}" if column in names else text
                    for column, text in texts.items()
                ]
            )
        return self._plain_line(texts)

    def _plain_line(self, texts: Mapping[int, str]) -> str:
        """Return the cells of a row without names; empty cells keep the columns."""
        if len(texts) == len(self._columns):
            return " | ".join(texts.values())
        return table_line([texts.get(column, "") for column in self._columns])


def _texts(row: Row) -> dict[int, str]:
    """Return the cells of a row by column, each on one line."""
    return {cell.column: " ".join(cell.text.split()) for cell in row}


def _count_lead_rows(rows: Sequence[Row]) -> int:
    """Return the number of single-cell rows above a table; without a table, of all rows if few."""
    for count, row in enumerate(rows[: _MAX_LEAD_ROWS + 1]):
        if len(row) > 1:
            return count
    return len(rows) if len(rows) <= _MAX_LONE_ROWS else 0


def _grouped_names(rows: Sequence[Row]) -> dict[int, str]:
    """Return the column names of a header of two rows, such as years above "Plan" and "Actual".

    Each cell of the first row heads the columns up to its next cell. A cell with nothing below is
    the name of its column; then another cell must head several columns. Empty for another header.
    The second row repeats its texts, so that it is no header by itself.
    """
    if len(rows) < 3:
        return {}
    above, below = _texts(rows[0]), _texts(rows[1])
    cells = (*rows[0], *rows[1])
    is_head = all(
        (cell.is_words or _YEAR.fullmatch(cell.text)) and len(cell.text) <= _NAME_CHARS
        for cell in cells
    )
    if not is_head or len(set(below.values())) == len(below) or below.keys() < above.keys():
        return {}
    names: dict[int, str] = {}
    group = ""
    for column in sorted(above.keys() | below.keys()):
        group = above.get(column, group)
        names[column] = f"{group} {below.get(column, '')}".strip()
    has_figures = any(not cell.is_words for row in rows[2:_ROWS_LOOKED_AT] for cell in row)
    return names if has_figures and len(set(names.values())) == len(names) else {}


def _has_head(rows: Sequence[Row]) -> bool:
    """Return whether the first row is a header."""
    head, names = rows[0], _texts(rows[0])
    below = [row for row in rows[1:_ROWS_LOOKED_AT] if _texts(row) != names]
    if not below or not 2 <= len(set(names.values())) == len(head):
        return False
    for cell in head:
        if len(cell.text) > _NAME_CHARS or not (cell.is_words or _YEAR.fullmatch(cell.text)):
            return False
    years = {cell.column for cell in head if not cell.is_words}
    under_years = [cell.text for row in below for cell in row if cell.column in years]
    if 2 * sum(map(bool, map(_YEAR.fullmatch, under_years))) > len(under_years):
        return False
    cells = [cell for row in below for cell in row]
    if any(names.get(cell.column) == cell.text for cell in cells):
        return False
    if not all(cell.is_words for cell in cells):
        return True
    return len(below) >= 2 and 2 * sum(len(row) > len(head) for row in below) <= len(below)


MAX_CELLS = 5_000_000
"""Maximum number of cells of all sheets, without empty ones."""


class SheetWriter:
    """Writer of sheets.

    Blank rows may be skipped: a gap in the row numbers ends a table.

    Args:
        writer: Writer of the text.
        losses: Receives content over the limits.
        max_chars: Maximum number of characters.
    """

    def __init__(self, writer: TextWriter, losses: Losses, *, max_chars: int) -> None:
        self._writer = writer
        self._table = RowWriter(writer, level=2)
        self._losses = losses
        self._max_chars = max_chars
        self._sheet = ""
        self._is_hidden = False
        self._is_begun = False
        self._last_row = -1
        self._cells = 0
        self._chars = 0
        self.is_full = False
        """Whether a limit is reached; further content is ignored."""

    def start_sheet(self, name: str, *, is_hidden: bool = False) -> None:
        """End the current sheet and begin another one; an empty sheet is not written."""
        self.end_sheet()
        self._sheet = name
        self._is_hidden = is_hidden
        self._is_begun = False

    def add_row(self, number: int, cells: Row) -> None:
        """Add a row.

        Args:
            number: Number of the row, from 0, ascending.
            cells: Cells that are not empty, in order of column.
        """
        if not cells or self.is_full:
            return
        self._cells += len(cells)
        self._chars += sum([len(cell.text) for cell in cells])
        written = max(self._chars, self._writer.next_start)
        if self._cells > MAX_CELLS or written > self._max_chars:
            self.is_full = True
            self._losses.add(
                f"sheet {self._sheet!r} from row {number + 1} on, and later sheets, are "
                f"left out: the limit is {MAX_CELLS} cells and {self._max_chars} characters; "
                "split the file"
            )
            return
        if number != self._last_row + 1:
            self._table.end_table()
        self._last_row = number
        self._write_title()
        self._table.add(cells)

    def add_missing_results(self, count: int) -> None:
        """Record the number of formulas of the current sheet that have no stored result."""
        if count:
            self._losses.add(
                f"sheet {self._sheet!r}: {count} formulas have no stored result; "
                "open the file in a spreadsheet program, save it, and add it again"
            )

    def end_sheet(self) -> None:
        """End the current sheet, if there is one."""
        self._table.end_table()
        self._last_row = -1

    def _write_title(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._writer.write_heading(" ".join(self._sheet.split()), level=1)
            self._writer.write("(hidden sheet)" if self._is_hidden else "")
            self._writer.separate(2)
