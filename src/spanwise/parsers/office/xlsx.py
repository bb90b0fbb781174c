"""XLSX (and XLSM, XLTX): sheets row by row, with formatted numbers.

Rules
    1. Cells are read as a stream of the stored ones: a cell in the last row and column costs as
       much as any other.
    2. Formulas have their stored result; a missing result causes a warning.
    3. A merged cell is at its first place. Comments, charts and the hidden state of rows are
       ignored; a hidden sheet is read and marked as hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from operator import attrgetter

from spanwise.parsers.archive import Archive, XmlHandlers
from spanwise.parsers.data.rows import Cell
from spanwise.parsers.office.number_formats import BUILT_IN_CODES, NumberFormat, plain_number
from spanwise.parsers.office.ooxml_names import number_of, relation_of, short_name
from spanwise.parsers.office.sheet_writer import SheetWriter
from spanwise.parsers.parsed import Losses

_PHONETIC = "s:rPh"
"""Pronunciation of Japanese text, stored with the text."""
_TRUTH = {"0": "FALSE", "1": "TRUE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sheet:
    name: str
    part: str
    is_hidden: bool


@dataclass(slots=True)
class _Book:
    """Shared data of all sheets."""

    sheets: list[_Sheet] = field(default_factory=list)
    from_1904: bool = False
    formats: list[NumberFormat | None] = field(default_factory=list)
    """Number formats by the style of a cell; None for unformatted numbers."""
    strings: list[str] = field(default_factory=list)


def read_xlsx(archive: Archive, workbook: str, *, writer: SheetWriter, losses: Losses) -> None:
    """Write all sheets.

    Args:
        archive: The open file.
        workbook: Part with the list of the sheets.
        writer: Writer of the rows.
        losses: Receives the losses.

    Raises:
        ParseError: "corrupt" if the list of sheets is damaged, "too_large".
    """
    book = _Book()
    parts = archive.relations(workbook)
    _read_sheet_list(archive, workbook, book)
    with losses.noted("the formats of its numbers"):
        _read_formats(archive, parts.get("styles"), book)
    with losses.noted("the list of its texts"):
        _read_strings(archive, parts.get("sharedStrings"), book)
    for sheet in book.sheets:
        if writer.is_full:
            break
        writer.start_sheet(sheet.name, is_hidden=sheet.is_hidden)
        with losses.noted(f"sheet {sheet.name!r}"):
            _SheetReader(book, writer).read(archive, sheet, losses)
    writer.end_sheet()


def _read_sheet_list(archive: Archive, workbook: str, book: _Book) -> None:
    links = {link.id: link for link in archive.links(workbook)}

    def start(tag: str, attributes: dict[str, str]) -> None:
        name = short_name(tag)
        if name == "s:workbookPr":
            book.from_1904 = attributes.get("date1904") in {"1", "true"}
        elif name == "s:sheet":
            link = links.get(relation_of(attributes) or "")
            if link is None or link.kind == "worksheet":  # not a chart or a macro
                book.sheets.append(
                    _Sheet(
                        name=attributes.get("name", ""),
                        part=link.part if link else "",
                        is_hidden=attributes.get("state", "visible") != "visible",
                    )
                )

    archive.read_xml(workbook, XmlHandlers(start=start))


def _read_formats(archive: Archive, part: str | None, book: _Book) -> None:
    codes = dict(BUILT_IN_CODES)
    formats: dict[str, NumberFormat | None] = {"General": None}
    inside = False

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal inside
        name = short_name(tag)
        if name == "s:numFmt":
            codes[number_of(attributes, "numFmtId")] = attributes.get("formatCode", "General")
        elif name == "s:cellXfs":
            inside = True
        elif name == "s:xf" and inside:
            code = codes.get(number_of(attributes, "numFmtId"), "General")
            if code not in formats:
                formats[code] = NumberFormat(code)
            book.formats.append(formats[code])

    def end(tag: str) -> None:
        nonlocal inside
        inside = inside and short_name(tag) != "s:cellXfs"

    if part is not None and part in archive:
        archive.read_xml(part, XmlHandlers(start=start, end=end))


def _read_strings(archive: Archive, part: str | None, book: _Book) -> None:
    pieces: list[str] = []
    container = ""
    taking = False

    def start(tag: str, _attributes: dict[str, str]) -> None:
        nonlocal taking, container
        name = short_name(tag)
        if name == "s:t":
            taking = container != _PHONETIC
        elif name:
            container = name

    def end(tag: str) -> None:
        nonlocal taking
        name = short_name(tag)
        if name == "s:t":
            taking = False
        elif name == "s:si":
            book.strings.append("".join(pieces))
            pieces.clear()

    def text(piece: str) -> None:
        if taking:
            pieces.append(piece)

    if part is not None and part in archive:
        archive.read_xml(part, XmlHandlers(start=start, end=end, text=text))


@lru_cache(maxsize=20_000)
def _column_of(letters: str) -> int:
    """Return the column, from 0, of letters such as "AB"."""
    column = 0
    for letter in letters[:4].upper():
        column = column * 26 + ord(letter) - 64
    return max(0, column - 1)


class _SheetReader:
    """Reader of the cells of one sheet."""

    def __init__(self, book: _Book, writer: SheetWriter) -> None:
        self._book = book
        self._writer = writer
        self._row = -1
        self._cells: list[Cell] = []
        self._column = -1
        self._kind = ""
        self._style = ""
        self._pieces: list[str] = []
        self._container = ""
        self._taking = False
        self._has_formula = False
        self._without_result = 0
        self._without_text = 0

    def read(self, archive: Archive, sheet: _Sheet, losses: Losses) -> None:
        """Write the rows of a sheet, and record its losses."""
        handlers = XmlHandlers(start=self._start, end=self._end, text=self._text)
        try:
            archive.read_xml(sheet.part, handlers)
        finally:
            self._end_row()
            if self._without_result:
                losses.add(
                    f"sheet {sheet.name!r}: {self._without_result} formulas have no stored result; "
                    "open the file in a spreadsheet program, save it, and add it again"
                )
            if self._without_text:
                losses.add(
                    f"sheet {sheet.name!r}: the text of {self._without_text} cells is missing"
                )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = short_name(tag)
        if name == "s:c":
            reference = attributes.get("r", "").rstrip("0123456789")
            self._column = _column_of(reference) if reference else self._column + 1
            self._kind = attributes.get("t", "n")
            self._style = attributes.get("s", "0")
            self._has_formula = False
            self._container = name
        elif name in {"s:v", "s:t"}:
            self._taking = self._container != _PHONETIC
        elif name == "s:f":
            self._has_formula = True
        elif name == "s:row":
            self._end_row()
            self._row = max(self._row + 1, number_of(attributes, "r") - 1)
        elif name in {"s:r", _PHONETIC}:
            self._container = name

    def _text(self, piece: str) -> None:
        if self._taking:
            self._pieces.append(piece)

    def _end(self, tag: str) -> None:
        name = short_name(tag)
        if name in {"s:v", "s:t"}:
            self._taking = False
        elif name == "s:c":
            self._end_cell()

    def _end_cell(self) -> None:
        written = "".join(self._pieces)
        self._pieces.clear()
        if not written:
            self._without_result += self._has_formula and self._kind != "str"
            return
        is_words = self._kind in {"s", "str", "inlineStr"}
        text = self._read_value(written)
        if text and not text.isspace():
            self._cells.append(Cell(self._column, text, is_words))

    def _read_value(self, written: str) -> str:
        kind = self._kind
        if kind == "n":
            return self._read_number(written)
        if kind == "s":
            place = int(written) if written.isdecimal() and len(written) < 10 else -1
            if 0 <= place < len(self._book.strings):
                return self._book.strings[place]
            self._without_text += 1
            return ""
        if kind == "b":
            return _TRUTH.get(written.strip(), written)
        if kind == "d":
            return written.removesuffix("T00:00:00").replace("T", " ")
        return written

    def _read_number(self, written: str) -> str:
        style = self._style
        place = int(style) if style.isdecimal() and len(style) < 6 else 0
        formats = self._book.formats
        shape = formats[place] if place < len(formats) else None
        if shape is None and written.isdecimal():
            return written
        try:
            value = float(written)
        except ValueError:
            return written
        if not isfinite(value):
            return written
        if shape is None:
            return plain_number(value)
        return shape.write(value, from_1904=self._book.from_1904)

    def _end_row(self) -> None:
        cells, self._cells = self._cells, []
        self._column = -1
        if any(left.column > right.column for left, right in pairwise(cells)):
            cells.sort(key=attrgetter("column"))
        self._writer.add_row(self._row, cells)
