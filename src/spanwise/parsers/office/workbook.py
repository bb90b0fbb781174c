"""Workbooks (XLSX, XLSB, XLS, ODS): a section per sheet, a line per row.

Rules of XLSX (and XLSM, XLTX)
    1. Only stored cells are read, as a stream: a cell in the last row and column costs as much as
       any other.
    2. A formula has its stored result; a missing result causes a warning.
    3. A merged cell is at its first place. Comments, charts and the hidden state of rows are
       ignored; a hidden sheet is read and marked as hidden.

Rules of binary workbooks (XLS, XLSB), which calamine reads
    1. Calamine stores a sheet as one rectangle. Its size is checked before, because a small file
       may have a cell in the last row and column.
    2. Calamine distinguishes dates from numbers but reads no other formats: 12.3% is 0.123.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from operator import attrgetter

from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from spanwise.parsers.office.compound_file import has_endless_chain
from spanwise.parsers.office.number_formats import BUILT_IN_CODES, NumberFormat, plain_number
from spanwise.parsers.office.odf import read_ods, refuse_encrypted
from spanwise.parsers.office.ooxml import number_of, relation_of, short_name
from spanwise.parsers.office_zip import Archive
from spanwise.parsers.parsed import Losses, Parsed, Source
from spanwise.parsers.properties import Properties, file_title, read_properties
from spanwise.parsers.row_writer import Cell, SheetWriter
from spanwise.parsers.writer import TextWriter

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_SPACES = frozenset(map(ord, "\t\n\r"))
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

    archive.read_xml(workbook, start)


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
        archive.read_xml(part, start, end)


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
            book.strings.append(_unescaped("".join(pieces)))
            pieces.clear()

    def text(piece: str) -> None:
        if taking:
            pieces.append(piece)

    if part is not None and part in archive:
        archive.read_xml(part, start, end, text)


def _unescaped(text: str) -> str:
    """Return a text with its escaped characters, such as "_x000D_" for a carriage return."""
    if "_x" not in text:
        return text
    return _ESCAPED.sub(lambda match: _character(int(match[1], 16)), text)


def _character(code: int) -> str:
    return "" if 0xD800 <= code <= 0xDFFF or (code < 0x20 and code not in _SPACES) else chr(code)


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
        try:
            archive.read_xml(sheet.part, self._start, self._end, self._text)
        finally:
            self._end_row()
            self._writer.add_missing_results(self._without_result)
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
        return _unescaped(written) if kind in {"str", "inlineStr"} else written

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


_MAX_PLACES = 20_000_000
"""Maximum number of cells in the bounding rectangle of a sheet; each takes 32 bytes."""
_XLS_START = bytes.fromhex("09081000 0006 0500")
"""First record of a workbook of Excel 97 or later."""
_XLS_LOCK = bytes.fromhex("2f00")
_XLS_FIRST_RECORDS = 4
_ROW_RECORD = 0
_CELL_RECORDS = range(1, 12)

_Value = str | int | float | bool | date | datetime | time | timedelta


def read_binary(source: Source, *, writer: SheetWriter, losses: Losses) -> None:
    """Write all sheets of an XLS or XLSB file.

    Raises:
        ParseError: "corrupt", "encrypted".
    """
    if _is_locked(source.data):
        raise source.error("encrypted", "it needs a password; save a copy without one")
    if has_endless_chain(source.data):
        raise source.error("corrupt", "the workbook is damaged: a chain of its sectors never ends")
    with _calamine_errors(source):
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(source.data))
    with workbook:
        for sheet in workbook.sheets_metadata:
            if sheet.typ != SheetTypeEnum.WorkSheet or writer.is_full:
                continue
            writer.start_sheet(sheet.name, is_hidden=sheet.visible != SheetVisibleEnum.Visible)
            with losses.noted(f"sheet {sheet.name!r}"), _calamine_errors(source):
                _read_sheet(workbook, sheet.name, writer)
    writer.end_sheet()


def _is_locked(data: bytes) -> bool:
    """Return whether an XLS has an encryption record near its start.

    For such a file calamine only reports an unknown error.
    """
    place = data.find(_XLS_START)
    if place < 0:
        return False
    for _ in range(_XLS_FIRST_RECORDS):
        kind, length = data[place : place + 2], data[place + 2 : place + 4]
        if kind == _XLS_LOCK:
            return True
        place += 4 + int.from_bytes(length, "little")
    return False


@contextmanager
def _calamine_errors(source: Source) -> Iterator[None]:
    """Convert errors of calamine to ParseError."""
    try:
        yield
    except (CalamineError, OSError, ValueError) as exc:
        raise source.error("corrupt", f"the workbook is damaged: {exc}") from exc
    except BaseException as exc:
        if type(exc).__name__ != "PanicException":  # a panic in Rust, whose type has no module
            raise
        raise source.error("corrupt", f"the workbook is damaged: {exc}") from exc


def _read_sheet(workbook: CalamineWorkbook, name: str, writer: SheetWriter) -> None:
    for number, values in enumerate(workbook.get_sheet_by_name(name).iter_rows()):
        cells = [
            Cell(column, text, isinstance(value, str))
            for column, value in enumerate(values)
            if (text := _write_value(value)) and not text.isspace()
        ]
        writer.add_row(number, cells)


def _write_value(value: _Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return plain_number(value)
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds").removesuffix(" 00:00:00").removesuffix(":00")
    if isinstance(value, time):
        return value.isoformat("seconds").removesuffix(":00")
    return value.isoformat() if isinstance(value, date) else str(value)


def check_extent(data: bytes, source: Source) -> None:
    """Raise for a sheet of an XLSB whose cells are too far apart.

    Raises:
        ParseError: "too_large".
    """
    rows = [1 << 32, 0]
    columns = [1 << 32, 0]
    place = 0
    while place < len(data):
        kind, place = _read_variable(data, place, most=2)
        length, place = _read_variable(data, place, most=4)
        if kind == _ROW_RECORD or kind in _CELL_RECORDS:
            number = int.from_bytes(data[place : place + 4], "little")
            extent = rows if kind == _ROW_RECORD else columns
            extent[:] = min(extent[0], number), max(extent[1], number)
        place += length
    places = (rows[1] - rows[0] + 1) * (columns[1] - columns[0] + 1)
    if rows[0] <= rows[1] and columns[0] <= columns[1] and places > _MAX_PLACES:
        raise source.error(
            "too_large",
            f"its cells are {rows[1] - rows[0] + 1} rows and {columns[1] - columns[0] + 1} columns "
            "apart; delete the stray cells, or save it as XLSX",
        )


def _read_variable(data: bytes, place: int, *, most: int) -> tuple[int, int]:
    """Return a number in 7 bits per byte (varint), and its end offset."""
    value = 0
    for shift in range(most):
        byte = data[place] if place < len(data) else 0
        place += 1
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            break
    return value, place


_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
_XLS = "application/vnd.ms-excel"
_ODS = "application/vnd.oasis.opendocument.spreadsheet"


def parse_workbook(source: Source) -> Parsed:
    """Return the text of all sheets of a workbook.

    Without a title in its properties, the title is the file name: a sheet is only a part of it.

    Raises:
        ParseError: "corrupt" if it is damaged, "encrypted", "too_large" if its unpacked size
            exceeds the limit, "no_text" if all cells are empty.
    """
    writer = TextWriter()
    losses = Losses(source)
    sheets = SheetWriter(writer, losses, max_chars=source.max_chars)
    media_type, (title, metadata) = _read(source, sheets, losses)
    losses.require_text(writer.text, "all of its cells are empty")
    properties = (title or file_title(source.name), metadata)
    return losses.parsed(writer, media_type=media_type, properties=properties)


def _read(source: Source, writer: SheetWriter, losses: Losses) -> tuple[str, Properties]:
    """Write the sheets of a workbook; return its media type and its properties."""
    if not source.data.startswith(b"PK"):
        read_binary(source, writer=writer, losses=losses)
        return _XLS, ("", {})
    archive = Archive(source)
    if "content.xml" in archive:
        refuse_encrypted(archive, source)
        read_ods(archive, writer=writer, losses=losses)
        return _ODS, read_properties(archive, "meta.xml", losses)
    container = archive.relations()
    workbook = container.get("officeDocument", "xl/workbook.xml")
    properties = read_properties(archive, container.get("core-properties"), losses)
    if workbook.endswith(".bin"):
        for link in archive.links(workbook):
            if link.kind == "worksheet":
                check_extent(archive.read_bytes(link.part), source)
        read_binary(source, writer=writer, losses=losses)
        return _XLSB, properties

    read_xlsx(archive, workbook, writer=writer, losses=losses)
    return _XLSX, properties
