"""Paragraphs and tables of RTF, put together from its marks."""

from __future__ import annotations

from dataclasses import dataclass, field

from spanwise.parsers.office.rtf_charsets import join_surrogates
from spanwise.parsers.writer import TextWriter, table_line

__all__ = ["RtfBody"]

_BULLETS = frozenset("·•o§-–‣▪■◦●○\uf0b7\uf0a7\uf0d8\uf0fc")
_SHORT_ITEM_CHARS = 120
"""List items up to this length stand line by line; longer ones are paragraphs."""


@dataclass(slots=True)
class _Table:
    lines: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    cell: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    """Lines of a table inside the row."""
    inner_row: list[str] = field(default_factory=list)
    inner_cell: list[str] = field(default_factory=list)
    columns: int = 0


class RtfBody:
    """Writes one run of text: the document, a note or a text box."""

    def __init__(self) -> None:
        self.writer = TextWriter()
        self._pieces: list[str] = []
        self._label: list[str] = []
        self._table: _Table | None = None
        self._after_item = False

    def add(self, piece: str) -> None:
        """Append text to the paragraph at hand."""
        self._pieces.append(piece)

    def add_label(self, piece: str) -> None:
        """Append text to the number or bullet of the paragraph at hand."""
        self._label.append(piece)

    def end_paragraph(self, *, table_depth: int, level: int | None) -> None:
        """End the paragraph at hand.

        Args:
            table_depth: In how many tables it stands.
            level: Level of the heading that it is, from 1; None for any other paragraph.
        """
        label, text = self._take()
        if table_depth:
            table = self._table = self._table or _Table()
            cell = table.cell if table_depth == 1 else table.inner_cell
            cell += [label + text] if text else []
            return
        self.close_table()
        if not text:
            return
        if level is not None:
            title = " ".join((label.removeprefix("- ") + text).split())
            self.writer.write_heading(title, level=level)
            self._after_item = False
            return
        item = bool(label) and len(text) <= _SHORT_ITEM_CHARS
        self.writer.separate(1 if item and self._after_item else 2)
        self.writer.write(label + text)
        self._after_item = item

    def end_cell(self, *, is_inner: bool) -> None:
        """End a cell of the table at hand, or of the one inside of it."""
        self.end_paragraph(table_depth=2 if is_inner else 1, level=None)
        table = self._table = self._table or _Table()
        if is_inner:
            table.inner_row.append("\n".join(table.inner_cell))
            table.inner_cell = []
        else:
            table.row.append("\n".join(table.cell))
            table.cell = []

    def end_row(self, *, is_inner: bool) -> None:
        """End a row of the table at hand, or of the one inside of it."""
        table = self._table = self._table or _Table()
        if is_inner:
            line = table_line([" ".join(cell.split()) for cell in table.inner_row])
            table.inner += [line] if line else []
            table.inner_row = []
            return
        row = table.row
        if len(row) > 1:
            row = [" ".join(cell.split()) for cell in row]
        line = table_line(row)
        table.columns = max(table.columns, len(row))
        table.lines += [line] if line else []
        table.lines += table.inner
        table.row, table.inner = [], []

    def append(self, writer: TextWriter, *, table_depth: int) -> None:
        """Write the text of a box that is anchored in the paragraph at hand before it."""
        if table_depth:
            table = self._table = self._table or _Table()
            table.cell += [writer.text] if writer.text else []
        else:
            self.close_table()
            self.writer.append(writer)

    def close_table(self) -> None:
        """Write the table at hand, if there is one."""
        table, self._table = self._table, None
        if table is None:
            return
        if table.cell or table.row:  # cut off inside a row
            table.row.append("\n".join(table.cell))
            table.cell = []
            self._table = table
            self.end_row(is_inner=False)
            self._table = None
        if table.columns > 1:
            self.writer.write_block("\n".join(table.lines), kind="table")
        else:  # one column is a frame around text
            for line in table.lines:
                self.writer.separate(2)
                self.writer.write(line)
        self.writer.separate(2)
        self._after_item = False

    def _take(self) -> tuple[str, str]:
        """Return label and text of the paragraph at hand, and begin another one."""
        label = " ".join(join_surrogates("".join(self._label)).split())
        text = join_surrogates("".join(self._pieces)).strip()
        self._label, self._pieces = [], []
        if label in _BULLETS:
            label = "-"
        return (f"{label} " if label else ""), text
