"""Writers of Office text: paragraphs, list items, tables and captions; slides.

Rules
    1. A row of a table is a line. A nested table follows the row that contains it. A table of one
       column is a frame around text, and not a table.
    2. A caption directly above a table is part of it.
    3. Short list items are lines; longer ones are paragraphs.
    4. Shapes of a slide are read in bands from top to bottom, in a band from left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from spanwise.parsers.writer import TextWriter, table_line
from spanwise.types import Page

_SHORT_ITEM_CHARS = 120
"""Maximum length of a list item that is a single line; longer ones are paragraphs."""


@dataclass(slots=True)
class Table:
    """Table that is being written."""

    lines: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    """Finished cells of the current row."""
    cell: list[str] | None = None
    """Paragraphs of the current cell."""
    cell_columns: int = 1
    """Number of columns that the current cell spans."""
    cell_copies: int = 1
    """Number of adjacent cells with the content of the current one."""
    row_copies: int = 1
    """Number of adjacent rows with the content of the current one; 0 for a deleted row."""
    nested: list[str] = field(default_factory=list)
    """Lines of nested tables in the current row."""
    columns: int = 0

    def cell_text(self) -> str:
        """Return the text of the current cell."""
        return "\n".join(self.cell or ())

    def row_line(self) -> str:
        """Return the current row as a line."""
        is_frame = len(self.row) == 1
        return table_line(self.row if is_frame else [" ".join(c.split()) for c in self.row])


class BodyWriter:
    """Writer of a separate run of text: the document, a note, a shape or a text box."""

    def __init__(self) -> None:
        self.writer = TextWriter()
        self.after_item = False
        """Whether the last paragraph is a short list item."""
        self.tables: list[Table] = []
        """Open tables, each nested in the one before it."""
        self._caption = ""
        """Caption that is written with the table below it, or alone."""

    @property
    def cell(self) -> list[str] | None:
        """Paragraphs of the innermost open cell; None outside of tables."""
        cells = [table.cell for table in self.tables if table.cell is not None]
        return cells[-1] if cells else None

    def add_paragraph(
        self,
        text: str,
        label: str,
        *,
        is_item: bool,
        level: int | None = None,
        is_caption: bool = False,
    ) -> None:
        """Write a paragraph, or add it to the innermost open cell.

        Args:
            text: Text that is not empty.
            label: Bullet or number before the text, with a space; empty without one.
            is_item: Whether the paragraph is in a list.
            level: Heading level, from 1; None for other paragraphs.
            is_caption: Whether the paragraph is a caption; ignored if `level` is given.
        """
        cell = self.cell
        if cell is not None:
            cell.append(label + text)
            return
        self.write_caption()
        if level is not None:
            self.writer.write_heading(" ".join((label + text).split()), level=level)
            self.after_item = False
        elif is_caption:
            self._caption = " ".join((label + text).split())
        else:
            is_short = is_item and len(text) <= _SHORT_ITEM_CHARS
            self.writer.separate(1 if is_short and self.after_item else 2)
            self.writer.write(label + text)
            self.after_item = is_short

    def add_drawing(self, drawing: TextWriter) -> None:
        """Write a drawing before its paragraph, or add it to the innermost open cell."""
        cell = self.cell
        if cell is not None:
            cell += [drawing.text] if drawing.text else []
        else:
            self.write_caption()
            self.writer.append(drawing)

    def write_caption(self) -> None:
        """Write a caption that no table follows."""
        if self._caption:
            self.writer.write_apart(self._caption)
            self._caption = ""
            self.after_item = False

    def start_row(self) -> None:
        """Begin a row; ignored outside of tables."""
        if self.tables:
            self.tables[-1].row, self.tables[-1].row_copies = [], 1

    def start_cell(self) -> None:
        """Begin a cell; ignored outside of tables."""
        if self.tables:
            table = self.tables[-1]
            table.cell, table.cell_columns, table.cell_copies = [], 1, 1

    def end_cell(self) -> None:
        """End a cell of the innermost table."""
        table = self.tables[-1]
        table.row += [table.cell_text(), *[""] * (table.cell_columns - 1)] * table.cell_copies
        table.cell = None

    def end_row(self) -> None:
        """End a row of the innermost table."""
        table = self.tables[-1]
        line = table.row_line()
        table.columns = max(table.columns, len(table.row))
        table.lines += [line] * table.row_copies if line else []
        table.lines += table.nested
        table.row, table.nested = [], []

    def end_table(self) -> None:
        """End the innermost table."""
        table = self.tables.pop()
        if self.tables:
            self.tables[-1].nested += table.lines
        elif table.columns > 1:
            caption, self._caption = self._caption, ""
            lines = [caption, *table.lines] if caption else table.lines
            self.writer.write_block("\n".join(lines), kind="table")
        else:
            self.write_caption()
            self.writer.separate(2)
            for line in table.lines:
                self.writer.write_apart(line)
        self.after_item = False

    def finish(self) -> TextWriter:
        """Return the complete text, with tables that were truncated by damage."""
        while self.tables:
            self.end_table()
        self.write_caption()
        return self.writer


EMU_PER_INCH = 914_400
"""English Metric Units per inch, the unit of positions on slides."""
_BAND = EMU_PER_INCH // 5
"""Height of a band: shapes whose tops differ by less are read from left to right."""
_TITLE_CHARS = 100


class PlacedText(NamedTuple):
    """Text of a shape with its upper left corner."""

    top: int
    """Distance from the top of the slide in EMU."""
    left: int
    text: TextWriter


class SlideWriter:
    """Writer of slides: a page per slide, with its shapes in reading order, then its notes."""

    def __init__(self) -> None:
        self.writer = TextWriter()
        self._starts: list[int] = []

    def add(
        self,
        title: str,
        placed: Sequence[PlacedText],
        *,
        notes: Sequence[str] = (),
        is_hidden: bool = False,
    ) -> None:
        """Write a slide; a slide without text is an empty page.

        Args:
            title: Title on one line; empty without one.
            placed: Texts of the other shapes, including empty ones.
            notes: Lines of the speaker notes.
            is_hidden: Whether the slide is hidden in a presentation.
        """
        writer = self.writer
        writer.separate(2)
        self._starts.append(writer.next_start)
        shown = [item.text for item in _in_reading_order(placed) if item.text.text]
        if not title and not shown and not notes:
            return
        if not title and shown and _is_title(shown[0]):
            title = shown.pop(0).text
        writer.write_heading(title or f"Slide {len(self._starts)}", level=1)
        if is_hidden:
            writer.write_apart("(hidden slide)")
        for text in shown:
            writer.append(text)
        if notes:
            writer.separate(2)
            writer.write("\n".join(["Speaker notes:", *notes]))

    def pages(self) -> tuple[Page, ...]:
        """Return the slides as pages that cover the text."""
        length = len(self.writer.text)
        starts = [0, *(min(start, length) for start in self._starts[1:]), length]
        return tuple(Page(start=start, end=end) for start, end in pairwise(starts))


def _is_title(text: TextWriter) -> bool:
    line = text.text
    return len(line) <= _TITLE_CHARS and "\n" not in line and not text.blocks


def _in_reading_order(placed: Sequence[PlacedText]) -> list[PlacedText]:
    """Return the shapes in bands from top to bottom, each band from left to right."""
    ordered: list[PlacedText] = []
    band: list[PlacedText] = []
    for item in sorted(placed, key=attrgetter("top")):
        if band and item.top > band[0].top + _BAND:
            ordered += sorted(band, key=attrgetter("left"))
            band = []
        band.append(item)
    return ordered + sorted(band, key=attrgetter("left"))
