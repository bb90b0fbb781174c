"""CSV and TSV: one table, written by `rows`.

Rules
    1. The delimiter is the one that divides most rows into the same number of cells. If none
       divides half of the rows, or the rows have too many cells, the file is plain text.
    2. Blank rows are skipped and do not end a table.
    3. Nothing is lost: a row with too many cells keeps them, and an unclosed quotation mark is a
       character. Both cause a warning. Text over the limit (column names repeated in every row
       may exceed it) is left out with a warning.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from spanwise.parsers.parsed import Losses, Parsed, Source
from spanwise.parsers.properties import file_title
from spanwise.parsers.row_writer import Cell, RowWriter
from spanwise.parsers.text import decode_text
from spanwise.parsers.writer import TextWriter, table_line

_DELIMITERS = "\t;|,"
"""Delimiters in order of precedence, if several fit equally: "1,5;2,5" is divided at ";"."""
_SAMPLE_CHARS = 1 << 18
_SAMPLE_ROWS = 200
_MAX_COLUMNS = 16_384
"""Maximum number of columns, as in a sheet."""
_MAX_ROW_LINES = 500
"""Maximum number of lines in a quotation; a longer one counts as unclosed."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_NAMED_DELIMITER = re.compile(r"sep=([\t;|,:^~])\s*", re.IGNORECASE)  # as Excel writes it
_VALUE = re.compile(
    r"[^\w\s]{0,3}\s?\d[\d.,:/ '’-]{0,40}\s?[%\w°€$£)]{0,4}|true|false", re.IGNORECASE
)
_EMPTY = '\t\r\n ;|,"'

csv.field_size_limit(2**31 - 1)  # the size of files is limited elsewhere


def parse_csv(source: Source) -> Parsed:
    """Return the rows of a table as text.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if all cells are empty.
    """
    decoded = decode_text(source)
    delimiter = _find_delimiter(decoded.text)
    if delimiter is None and decoded.text.strip(_EMPTY):
        return Parsed(text=decoded.text, media_type="text/csv", warnings=decoded.warnings)
    losses = Losses(source)
    writer = TextWriter()
    rows = _Rows(decoded.text, delimiter or ",")
    long_rows = _write_rows(rows, writer, losses, max_chars=source.max_chars)
    if not writer.text:
        raise source.error("no_text", "all cells are empty; leave it out")
    warnings = [*decoded.warnings, *losses.warnings]
    if rows.unclosed:
        warnings.append(f"{rows.unclosed} quotation marks are not closed; read as characters")
    if long_rows:
        warnings.append(f"{long_rows} rows have more cells than the table has columns")
    return Parsed.of(
        writer,
        media_type="text/tab-separated-values" if delimiter == "\t" else "text/csv",
        title=file_title(source.name),
        status=losses.status,
        warnings=tuple(warnings),
    )


def _write_rows(rows: _Rows, writer: TextWriter, losses: Losses, *, max_chars: int) -> int:
    """Write all rows; return how many are longer than the usual length among the first rows."""
    table = RowWriter(writer, level=1)
    found = iter(rows)
    first = list(islice(found, _SAMPLE_ROWS))
    lengths = Counter(map(len, first))
    columns = max(lengths, key=lambda length: (lengths[length], length), default=0)
    long_rows = 0
    for number, row in enumerate(chain(first, found), start=1):
        if writer.next_start > max_chars:
            losses.add(
                f"the rows after {number - 1} are left out: the text has more than {max_chars} "
                "characters; split the file"
            )
            break
        long_rows += len(row) > columns
        if cells := _read_cells(row):
            table.add(cells)
    table.end_table()
    return long_rows


def _read_cells(row: Sequence[str]) -> list[Cell]:
    """Return the cells that are not empty; a row that is too wide becomes one cell."""
    if len(row) > _MAX_COLUMNS:
        return [Cell(_MAX_COLUMNS, table_line(row), is_words=True)]
    return [
        Cell(column, text, not _VALUE.fullmatch(text))
        for column, cell in enumerate(row)
        if (text := cell.strip())
    ]


def _find_delimiter(text: str) -> str | None:
    """Return the delimiter that divides most rows into equally many cells; None without one."""
    if match := _NAMED_DELIMITER.match(text):
        return match[1]
    best, best_share = None, 0.5
    for delimiter in _DELIMITERS:
        rows = islice(_Rows(text[:_SAMPLE_CHARS], delimiter), _SAMPLE_ROWS)
        counts = Counter(len(row) for row in rows)
        columns, times = max(counts.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        if 1 < columns <= _MAX_COLUMNS and times / counts.total() >= best_share:
            best, best_share = delimiter, times / counts.total() + 0.1
    return best


class _Rows:
    """Rows of a file, each a list of cells with at least one that is not empty."""

    def __init__(self, text: str, delimiter: str) -> None:
        self.unclosed = 0
        self._text = text
        self._delimiter = delimiter
        self._line_end = 0
        self._row_lines = 0
        self._is_over = False

    def __iter__(self) -> Iterator[list[str]]:
        named = _NAMED_DELIMITER.match(self._text)
        place = named.end() if named else 0
        while place < len(self._text):
            self._row_lines, self._is_over = 0, False
            for row in csv.reader(self._lines(place), delimiter=self._delimiter):
                if self._is_over:  # the lines ended inside a quotation
                    break
                place, self._row_lines = self._line_end, 0
                if any(row):
                    yield row
            line = _LINE.match(self._text, place)
            if line is not None:
                self.unclosed += 1
                place = line.end()
                yield line.group().rstrip("\r\n").split(self._delimiter)

    def _lines(self, start: int) -> Iterator[str]:
        """Yield lines with their ends, until a row has too many."""
        for match in _LINE.finditer(self._text, start):
            if self._row_lines >= _MAX_ROW_LINES:
                break
            self._row_lines += 1
            self._line_end = match.end()
            yield match.group()
        self._is_over = True
