"""Workbooks (XLSX, XLSB, XLS, ODS): a section per sheet, a line per row.

Rules of binary workbooks (XLS, XLSB), which calamine reads
    1. Calamine stores a sheet as one rectangle. Its size is checked before, because a small file
       may have a cell in the last row and column.
    2. Calamine distinguishes dates from numbers but reads no other formats: 12.3% is 0.123.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta

from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from spanwise.parsers.archive import Archive
from spanwise.parsers.data.rows import Cell
from spanwise.parsers.office.number_formats import plain_number
from spanwise.parsers.office.odf import refuse_encrypted
from spanwise.parsers.office.properties import Properties, read_properties
from spanwise.parsers.office.sheet_writer import SheetWriter
from spanwise.parsers.parsed import Losses, Parsed, Source
from spanwise.parsers.writer import TextWriter

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
    with _damage_told(source):
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(source.data))
    with workbook:
        for sheet in workbook.sheets_metadata:
            if sheet.typ != SheetTypeEnum.WorkSheet or writer.is_full:
                continue
            writer.start_sheet(sheet.name, is_hidden=sheet.visible != SheetVisibleEnum.Visible)
            with losses.noted(f"sheet {sheet.name!r}"), _damage_told(source):
                _read_sheet(workbook, sheet.name, writer)
    writer.end_sheet()


def _is_locked(data: bytes) -> bool:
    """Return whether an XLS has an encryption record near its start (calamine: "unknown")."""
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
def _damage_told(source: Source) -> Iterator[None]:
    """Translate the errors of calamine."""
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
            f"its cells lie {rows[1] - rows[0] + 1} rows and {columns[1] - columns[0] + 1} columns "
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

    Raises:
        ParseError: "corrupt" if it is damaged, "encrypted", "too_large" if its unpacked size
            exceeds the limit, "no_text" if all cells are empty.
    """
    writer = TextWriter()
    losses = Losses(source)
    sheets = SheetWriter(writer, losses, max_chars=source.max_chars)
    media_type, properties = _read(source, sheets, losses)
    losses.require_text(writer.text, "none of its cells holds anything")
    return losses.parsed(writer, media_type=media_type, properties=properties)


def _read(source: Source, writer: SheetWriter, losses: Losses) -> tuple[str, Properties]:
    """Write the sheets of a workbook; return its media type and its properties."""
    if not source.data.startswith(b"PK"):
        read_binary(source, writer=writer, losses=losses)
        return _XLS, ("", {})
    archive = Archive(source)
    if "content.xml" in archive:
        from spanwise.parsers.office.ods import read_ods

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
    from spanwise.parsers.office.xlsx import read_xlsx

    read_xlsx(archive, workbook, writer=writer, losses=losses)
    return _XLSX, properties
