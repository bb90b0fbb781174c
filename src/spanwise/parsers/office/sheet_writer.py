"""Sheets as text: a section per sheet, with tables that blank rows separate (`data.rows`).

Content over the limits is left out with a warning.
"""

from __future__ import annotations

from spanwise.parsers.data.rows import Row, RowWriter
from spanwise.parsers.parsed import Losses
from spanwise.parsers.writer import TextWriter

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
                f"sheet {self._sheet!r} from row {number + 1} on, and what follows it, is left "
                f"out: the limit is {MAX_CELLS} cells and {self._max_chars} characters a file; "
                "split the file"
            )
            return
        if number != self._last_row + 1:
            self._table.end_table()
        self._last_row = number
        self._write_title()
        self._table.add(cells)

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
