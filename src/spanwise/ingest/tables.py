"""Tables of an export: JSON Lines, Parquet and CSV files with the rows of dataclasses.

In Parquet and CSV, nested values are JSON texts; lists of texts and vectors are lists in Parquet.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, get_origin

from spanwise.errors import FormatError, OptionError

if TYPE_CHECKING:
    from spanwise.types.plain import Plain

TableFormat = Literal["jsonl", "parquet", "csv"]
"""Format of the tables of an export. CSV tables cannot be imported."""
Columns = Mapping[str, Any]
"""Type of each column by name, taken from the annotations of a dataclass."""
VECTOR = list[float]
"""Type of a column of vectors."""
_FORMULA = (*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\r", "\n")  # also full-width forms
_BATCH_ROWS = 500  # written at once
_READ_ROWS = 20  # read at once, because each of them may have a whole text
_SCALARS = (str, int, float, bool)


class TableWriter(Protocol):
    """Writes the rows of one table."""

    def write(self, row: Mapping[str, Plain]) -> None:
        """Write one row, which has a value for each column."""

    def close(self) -> None:
        """Write the rows that are still in memory, and close the file."""


def table_writer(path: Path, columns: Columns, *, table_format: TableFormat) -> TableWriter:
    """Open a new table for writing.

    Args:
        path: Path without a suffix.
        columns: Columns of the table.
        table_format: Format of the file.

    Raises:
        OptionError: If pyarrow is not installed and the format is Parquet.
    """
    writers: Mapping[str, Callable[[Path, Columns], TableWriter]] = {
        "jsonl": _LinesWriter,
        "parquet": _ParquetWriter,
        "csv": _CsvWriter,
    }
    return writers[table_format](path.with_name(f"{path.name}.{table_format}"), columns)


def read_table(
    path: Path, columns: Columns, *, table_format: TableFormat, max_row_bytes: int
) -> Iterator[dict[str, Plain]]:
    """Yield the rows of a table.

    Args:
        path: Path without a suffix.
        columns: Columns of the table; others are left out.
        table_format: "jsonl" or "parquet".
        max_row_bytes: Maximum bytes of a row; of 20 rows together in Parquet.

    Raises:
        FormatError: If a row cannot be read or is too long.
        OptionError: If pyarrow is not installed and the format is Parquet.
        OSError: If the file cannot be read.
    """
    path = path.with_name(f"{path.name}.{table_format}")
    if table_format == "jsonl":
        rows = _read_lines(path, max_row_bytes)
    else:
        rows = _read_parquet(path, columns, max_row_bytes)
    for row in rows:
        yield {name: value for name, value in row.items() if name in columns}


def is_plain_column(kind: object) -> bool:
    """Return whether the values of a column are scalars in Parquet and CSV, not JSON texts."""
    return kind in _SCALARS or get_origin(kind) is Literal


class _LinesWriter:
    """Writer of JSON Lines."""

    def __init__(self, path: Path, _: Columns) -> None:
        self._file = path.open("x", encoding="utf-8", newline="\n")

    def write(self, row: Mapping[str, Plain]) -> None:
        self._file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")

    def close(self) -> None:
        self._file.close()


class _CsvWriter:
    """Writer of CSV for spreadsheets; cells that they would run as formulas are escaped."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._names = [name for name, kind in columns.items() if kind != VECTOR]
        self._columns = columns
        # Spreadsheets recognise UTF-8 by the byte order mark.
        self._file = path.open("x", encoding="utf-8-sig", newline="")
        self._rows = csv.writer(self._file, quoting=csv.QUOTE_ALL)
        self._rows.writerow(self._names)

    def write(self, row: Mapping[str, Plain]) -> None:
        self._rows.writerow([_cell(row[name], self._columns[name]) for name in self._names])

    def close(self) -> None:
        self._file.close()


def _cell(value: Plain, kind: object) -> Plain:
    """Return a value as a cell that no spreadsheet runs as a formula."""
    if not is_plain_column(kind):
        value = json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


class _ParquetWriter:
    """Writer of Parquet, in row groups of `_BATCH_ROWS` rows."""

    def __init__(self, path: Path, columns: Columns) -> None:
        arrow = _pyarrow()
        self._columns = columns
        self._schema = arrow.schema(
            [arrow.field(name, _arrow_type(arrow, kind)) for name, kind in columns.items()]
        )
        self._file = arrow.parquet.ParquetWriter(path, self._schema)
        self._rows: list[dict[str, Plain]] = []
        self._table = arrow.Table

    def write(self, row: Mapping[str, Plain]) -> None:
        self._rows.append({name: _stored(row[name], kind) for name, kind in self._columns.items()})
        if len(self._rows) == _BATCH_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._rows:
            self._file.write_table(self._table.from_pylist(self._rows, schema=self._schema))
        self._rows = []


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise OptionError(
            "Parquet needs pyarrow, which is not installed: pip install 'spanwise[parquet]'"
        ) from error
    return pyarrow


def _arrow_type(arrow: Any, kind: object) -> Any:
    if kind == VECTOR:
        return arrow.list_(arrow.float32())
    if get_origin(kind) is tuple and get_args(kind) == (str, ...):
        return arrow.list_(arrow.string())
    scalars: Mapping[object, Any] = {
        int: arrow.int64(),
        float: arrow.float64(),
        bool: arrow.bool_(),
    }
    return scalars.get(kind, arrow.string())


def _is_list(kind: object) -> bool:
    return kind == VECTOR or (get_origin(kind) is tuple and get_args(kind) == (str, ...))


def _stored(value: Plain, kind: object) -> Plain:
    """Return a value as Parquet stores it: nested values are JSON texts."""
    if is_plain_column(kind) or _is_list(kind):
        return value
    return json.dumps(value, ensure_ascii=False)


def _read_lines(path: Path, max_row_bytes: int) -> Iterator[dict[str, Plain]]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(max_row_bytes + 1):
            number += 1
            if len(line) > max_row_bytes:
                raise _long_row_error(f"{path}, line {number}", max_row_bytes)
            try:
                row = _parsed(line.decode())
            except (ValueError, RecursionError) as error:
                raise FormatError(f"{path}, line {number}: {error}") from error
            if not isinstance(row, dict):
                raise FormatError(f"{path}, line {number}: a row must be a JSON object")
            yield row


def _long_row_error(place: str, max_row_bytes: int) -> FormatError:
    return FormatError(
        f"{place}: a row has more than {max_row_bytes:,} bytes; if you trust the source of the "
        "export, raise ParseOptions(max_text_bytes=...)"
    )


def _parsed(text: str) -> Any:
    """Return a JSON value.

    Raises:
        ValueError: If it is not valid JSON, or contains a lone surrogate.
        RecursionError: If it is nested too deeply.
    """
    value = json.loads(text)
    if "\\ud" in text.lower():
        json.dumps(value, ensure_ascii=False).encode()  # refuses lone surrogates
    return value


def _read_parquet(path: Path, columns: Columns, max_row_bytes: int) -> Iterator[dict[str, Plain]]:
    arrow = _pyarrow()
    try:
        with arrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_READ_ROWS):
                if batch.nbytes > max_row_bytes:
                    raise _long_row_error(str(path), max_row_bytes)
                for row in batch.to_pylist():
                    yield {
                        name: _loaded(row[name], kind)
                        for name, kind in columns.items()
                        if name in row
                    }
    except (arrow.ArrowException, ValueError, TypeError, RecursionError) as error:
        raise FormatError(f"{path}: {error}") from error


def _loaded(value: Any, kind: object) -> Any:
    """Return a value read from Parquet; the inverse of `_stored`."""
    if value is None or is_plain_column(kind) or _is_list(kind):
        return value
    return _parsed(value)
