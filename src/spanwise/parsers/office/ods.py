"""ODS: sheets row by row, with formatted numbers and dates as ISO 8601.

Repeated cells are limited, because every file ends with a million repeated empty rows.
"""

from __future__ import annotations

from spanwise.parsers.archive import Archive, XmlHandlers
from spanwise.parsers.office.number_formats import plain_number
from spanwise.parsers.office.odf import (
    OdfStyles,
    attribute,
    count_of,
    read_named_styles,
    short_name,
    white_space,
)
from spanwise.parsers.parsed import Losses
from spanwise.parsers.row_writer import Cell, SheetWriter

_SKIPPED = frozenset({"office:annotation", "table:shapes", "table:dde-links"})
_CELLS = frozenset({"table:table-cell", "table:covered-table-cell"})
_MAX_COLUMNS = 16_384
_WORDS = frozenset({"", "string"})


def read_ods(archive: Archive, *, writer: SheetWriter, losses: Losses) -> None:
    """Write all sheets of an OpenDocument spreadsheet.

    Raises:
        ParseError: "too_large" if its unpacked size exceeds the limit.
    """
    reader = _Reader(writer, losses, read_named_styles(archive, losses))
    with losses.noted("the sheets"):
        archive.read_xml(
            "content.xml", XmlHandlers(start=reader.start, end=reader.end, text=reader.text)
        )
    reader.end_sheet()
    writer.end_sheet()


class _Reader:
    """Reader of the content."""

    def __init__(self, writer: SheetWriter, losses: Losses, styles: OdfStyles) -> None:
        self._writer = writer
        self._losses = losses
        self._styles = styles
        self._skipped = 0
        self._sheet = ""
        self._without_result = 0
        self._row = 0
        self._row_repeats = 1
        self._column = 0
        self._cells: list[Cell] = []
        self._cell: dict[str, str] | None = None
        """Attributes of the current cell."""
        self._lines: list[str] = []
        self._pieces: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        name = short_name(tag)
        if self._skipped or name in _SKIPPED:
            self._skipped += 1
        elif name in _CELLS:
            self._cell = attributes
            self._lines = []
        elif name == "text:p" and self._cell is not None:
            self._pieces = []
        elif name == "table:table-row":
            self._row_repeats = count_of(attributes, "table:number-rows-repeated")
            self._column = 0
            self._cells = []
        elif name == "table:table":
            self.end_sheet()
            self._sheet = attribute(attributes, "table:name")
            is_hidden = self._styles.is_hidden(attribute(attributes, "table:style-name"))
            self._writer.start_sheet(self._sheet, is_hidden=is_hidden)
        elif self._pieces is not None:
            self._pieces.append(white_space(name, attributes))
        else:
            self._styles.start(name, attributes)

    def text(self, piece: str) -> None:
        """Handle characters."""
        if self._pieces is not None and not self._skipped:
            self._pieces.append(piece)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        name = short_name(tag)
        if self._skipped:
            self._skipped -= 1
        elif name in _CELLS and self._cell is not None:
            self._end_cell(self._cell)
            self._cell = None
        elif name == "text:p" and self._pieces is not None:
            self._lines.append("".join(self._pieces))
            self._pieces = None
        elif name == "table:table-row":
            self._end_row()

    def _end_cell(self, attributes: dict[str, str]) -> None:
        repeats = count_of(attributes, "table:number-columns-repeated")
        kind = attribute(attributes, "office:value-type")
        text = " ".join(self._lines).strip()
        if kind == "date":
            day = attribute(attributes, "office:date-value")
            text = day.removesuffix("T00:00:00").replace("T", " ") or text
        elif not text and kind not in _WORDS:
            text = _plain(attribute(attributes, "office:value"))
        if text:
            last = min(self._column + repeats, _MAX_COLUMNS)
            is_words = kind in _WORDS
            self._cells += [Cell(column, text, is_words) for column in range(self._column, last)]
        elif kind == "" and attribute(attributes, "table:formula"):
            self._without_result += 1
        self._column += repeats

    def _end_row(self) -> None:
        if self._cells:
            for number in range(self._row, self._row + self._row_repeats):
                if self._writer.is_full:
                    break
                self._writer.add_row(number, self._cells)
        self._row += self._row_repeats

    def end_sheet(self) -> None:
        """Record the losses of the current sheet."""
        self._row = 0
        if self._without_result:
            self._losses.add(
                f"sheet {self._sheet!r}: {self._without_result} formulas have no stored result; "
                "open the file in a spreadsheet program, save it, and add it again"
            )
        self._without_result = 0


def _plain(written: str) -> str:
    """Return a number that the file stores without its text."""
    try:
        return plain_number(float(written))
    except (ValueError, OverflowError):
        return written
