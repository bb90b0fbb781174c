"""Checksums of the rows of `truth.db`, verified when rows are read from the database.

Rules:
    The last column of `document`, `section`, `chunk`, `signal`, `setting`, `output`, `thread` and
    `turn` is the checksum of the other columns, keys included.
    A row of `document` also has one checksum for each table with rows of the document (`CONTENTS`),
    so a missing, added or changed row is detected. The checksum of the row covers these checksums,
    and therefore the whole document.
    A process may cache verified rows (`KnownDocuments`) and does not verify them again.
    Checksums detect damage and accidental changes. They are not signatures: anyone who can write
        the file can compute them.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from spanwise.errors import FormatError

POSITION_BITS = 32
"""Bits of the position in a chunk key, which is `document << POSITION_BITS | position`."""
MAX_NUMBER = (1 << 63 - POSITION_BITS) - 1
"""Limit of the numbers of documents, whose chunk keys have 63 bits."""

TYPES: dict[str, tuple[tuple[type, ...], ...]] = {
    "document": ((int, *(str,) * 11, *(int,) * 4, *(str,) * 6, int),),
    "chunk": ((int, int, int, int, str, str, str, int),),
    "section": ((int, int, int, int, str, str, int, str, int, int),),
    "setting": ((str, str, int),),
    "output": ((str, str, str, bytes, str, int),),
    "thread": ((int, str, str, int, str, str, int),),
    "turn": ((int, int, str, int),),
    "former_field": ((str, int),),
    "page": ((int, int, int, str), (int, int, int, type(None))),
    "heading": ((int, int, int, int, str),),
    "block": ((int, int, int, str),),
    "figure": ((int, int, int, str),),
}
"""Types of the columns of each table, which SQLite does not enforce; without the document in tables
that have no checksum of their own."""

_PIECE_BYTES = 1 << 20
_BETWEEN = "\x1f"


def chunk_keys(number: int) -> range:
    """Return the keys that chunks of a document may have."""
    base = number << POSITION_BITS
    return range(base, base + (1 << POSITION_BITS))


def checksum(values: Iterable[object]) -> int:
    """Return the CRC-32 of some values as texts, joined by U+001F, in UTF-8."""
    return zlib.crc32(_BETWEEN.join(map(str, values)).encode())


@cache
def _pattern(columns: int) -> str:
    """Return the format of the text of a row; faster than `str.join`."""
    return _BETWEEN.join(["%s"] * columns)


def sealed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row with its checksum appended."""
    return (*row, zlib.crc32((_pattern(len(row)) % row).encode()))


def has_types(row: Iterable[Any], table: str) -> bool:
    """Return whether the values of a row have the types of its table in `TYPES`."""
    return tuple(map(type, row)) in TYPES[table]


def is_sound(row: Sequence[Any], table: str) -> bool:
    """Return whether a row of a table has its types and, in its last column, its checksum."""
    return has_types(row, table) and bool(checksum(row[:-1]) == row[-1])


def sound_rows(rows: Iterable[tuple[Any, ...]], table: str) -> list[tuple[Any, ...]]:
    """Return the rows for which `is_sound` is True."""
    # `is_sound`, inlined and faster, because a search reads hundreds of rows.
    crc32, types = zlib.crc32, TYPES[table]
    pattern = _pattern(max(map(len, types)) - 1)
    return [
        row
        for row in rows
        if crc32((pattern % row[:-1]).encode()) == row[-1] and tuple(map(type, row)) in types
    ]


class DocumentRow(NamedTuple):
    """Row of the table `document`; fields are in the order of its columns."""

    number: int
    id: str
    title: str
    summary: str
    title_words: str
    given_title: str
    metadata: str
    media_type: str
    source: str
    source_root: str
    content_hash: str
    warnings: str
    chars: int
    chunks: int
    tokens: int
    pages: int
    text_hash: str
    given_fields: str
    language: str
    status: str
    recipe: str
    contents: str
    """Checksums of the rows in each table of `CONTENTS`, hexadecimal, joined by spaces."""
    checksum: int


_COLUMNS = ", ".join(DocumentRow._fields)
_ONE_DOCUMENT = f"select {_COLUMNS} from document where number = ?"  # noqa: S608


def document_rows(
    connection: sqlite3.Connection, where: str, values: Sequence[object] = ()
) -> Iterable[DocumentRow]:
    """Yield verified rows of documents.

    Args:
        connection: Connection inside a read transaction.
        where: SQL that follows the table name.
        values: Values of the SQL parameters.

    Raises:
        FormatError: If a row does not match its checksum.
    """
    for row in connection.execute(f"select {_COLUMNS} from document {where}", values):  # noqa: S608
        yield _verified(DocumentRow._make(row))


def stored_row(connection: sqlite3.Connection, number: int) -> DocumentRow:
    """Return the row of a document, which must exist, without verification."""
    return DocumentRow._make(connection.execute(_ONE_DOCUMENT, (number,)).fetchone())


def document_row(connection: sqlite3.Connection, number: int) -> DocumentRow:
    """Return the verified row of a document, which must exist.

    Raises:
        FormatError: If it does not match its checksum.
    """
    return _verified(stored_row(connection, number))


def _verified(row: DocumentRow) -> DocumentRow:
    if not is_sound(row, "document"):
        raise damaged_document(row.id, "the record")
    if not (0 < row.number < MAX_NUMBER and 0 <= row.chunks < 1 << POSITION_BITS):
        raise damaged_document(row.id, "the record", "has impossible numbers")
    return row


def damaged_document(
    document_id: object, what: str, problem: str = "differs from its checksum"
) -> FormatError:
    """Return the error for a document with damaged data, named by `what`."""
    return FormatError(
        f"the document {document_id!r} is damaged: {what} {problem}; remove the "
        "document and add it again, or restore the knowledge base from a backup; `spanwise doctor` "
        "lists all damage"
    )


def _section_contents(connection: sqlite3.Connection, number: int) -> int:
    return _column_checksum(
        connection.execute(
            "select checksum from section where document = ? order by position", (number,)
        )
    )


def _chunk_contents(connection: sqlite3.Connection, number: int) -> int:
    keys = chunk_keys(number)
    return _column_checksum(
        connection.execute(
            "select checksum from chunk where key >= ? and key < ? order by key",
            (keys.start, keys.stop),
        )
    )


def _column_checksum(rows: Iterable[tuple[object]]) -> int:
    return checksum(value for (value,) in rows)


def _layout_contents(columns: str) -> Callable[[sqlite3.Connection, int], int]:
    """Return a function that computes the checksum of all rows of a document in a table."""
    statement = f"select {columns} where document = ? order by position"

    def contents(connection: sqlite3.Connection, number: int) -> int:
        return checksum(chain.from_iterable(connection.execute(statement, (number,))))

    return contents


def signal_checksum(number: int, landmark: str, data: bytes) -> int:
    """Return the checksum of a row of `signal`: its key, then its bytes."""
    return zlib.crc32(data, checksum((number, landmark)))


def _signal_contents(connection: sqlite3.Connection, number: int) -> int:
    rows = connection.execute(
        "select document, landmark, data from signal where document = ? order by landmark",
        (number,),
    )
    return checksum(signal_checksum(*row) for row in rows)


def _vector_contents(connection: sqlite3.Connection, number: int) -> int:
    """Return the CRC-32 of the vectors of a document; -1 without vectors.

    Large vectors are read in pieces. Others are not, because a connection of `sqlite3` keeps a weak
    reference to each blob that it has opened, until it is closed.
    """
    row = connection.execute(
        "select case when length(data) <= ? then data end from vector where document = ?",
        (_PIECE_BYTES, number),
    ).fetchone()
    if row is None:
        return -1
    if isinstance(row[0], bytes):
        return zlib.crc32(row[0])
    crc = 0
    with connection.blobopen("vector", "data", number, readonly=True) as blob:
        while piece := blob.read(_PIECE_BYTES):
            crc = zlib.crc32(piece, crc)
    return crc


CONTENTS: dict[str, Callable[[sqlite3.Connection, int], int]] = {
    "section": _section_contents,
    "page": _layout_contents("position, start, end, label from page"),
    "heading": _layout_contents("position, start, end, level, title from heading"),
    "block": _layout_contents("position, start, end, kind from block"),
    "chunk": _chunk_contents,
    "signal": _signal_contents,
    "vector": _vector_contents,
    "figure": _layout_contents("position, start, end, detail from figure"),
}
"""Functions that compute the checksum of a document's rows, by table."""

_PLACES = {table: place for place, table in enumerate(CONTENTS)}


def check_contents(
    connection: sqlite3.Connection, number: int, table: str, *, actual: int | None = None
) -> None:
    """Compare the rows of a document in a table with their checksum.

    Args:
        connection: Connection inside a read transaction.
        number: Number of the document.
        table: A table of `CONTENTS`.
        actual: Checksum of the rows, if the caller has computed it; None to read the rows here.

    Raises:
        FormatError: If the checksum differs, or there is no such document.
    """
    row = connection.execute(
        "select id, contents from document where number = ?", (number,)
    ).fetchone()
    if row is None:
        raise damaged_document(number, "the record")
    if actual is None:
        actual = CONTENTS[table](connection, number)
    recorded = row[1].split(" ") if isinstance(row[1], str) else []
    if len(recorded) != len(CONTENTS) or recorded[_PLACES[table]] != format(actual, "x"):
        raise damaged_document(row[0], f"`{table}`")


def read_numbered(
    connection: sqlite3.Connection,
    number: int,
    table: str,
    rows: Iterable[tuple[Any, ...]],
    *,
    places: range,
) -> list[tuple[Any, ...]]:
    """Return verified rows of `section` or `chunk` of a document.

    Args:
        connection: Connection inside a read transaction.
        number: Number of the document.
        table: "section" or "chunk".
        rows: Rows whose position or key is in `places`, in order; the checksum is the last column.
        places: Requested positions or keys; may exceed the last row of the document.

    Raises:
        FormatError: If a row does not match its checksum or is missing.
    """
    read = list(rows)
    verified = sound_rows(read, table)
    key = 1 if table == "section" else 0
    expected = list(places[: len(verified)])
    if len(verified) < len(read) or [row[key] for row in verified] != expected:
        raise damaged_document(document_name(connection, number), f"`{table}`")
    if len(verified) < len(places):  # the document ends there, or rows are missing
        whole = places.start == (0 if table == "section" else number << POSITION_BITS)
        check_contents(
            connection,
            number,
            table,
            actual=checksum(row[-1] for row in verified) if whole else None,
        )
    return verified


def document_name(connection: sqlite3.Connection, number: int) -> object:
    """Return the id of a document, or its number if it has no row."""
    row = connection.execute("select id from document where number = ?", (number,)).fetchone()
    return number if row is None else row[0]


def differing_contents(connection: sqlite3.Connection, row: DocumentRow) -> list[str]:
    """Return the names of the tables in which rows of a document do not match their checksum.

    "record" is the row of the document itself.
    """
    differing = [] if is_sound(row, "document") else ["record"]
    recorded = str(row.contents).split(" ")
    if len(recorded) != len(CONTENTS):
        return ["record"]
    for (table, contents), value in zip(CONTENTS.items(), recorded, strict=True):
        if format(contents(connection, row.number), "x") != value or not _rows_sound(
            connection, table, row.number
        ):
            differing.append(table)
    return differing


def _rows_sound(connection: sqlite3.Connection, table: str, number: int) -> bool:
    """Return whether each row of a document in a table matches its own checksum."""
    rows: Iterable[tuple[Any, ...]] = ()
    if table == "section":
        rows = connection.execute("select * from section where document = ?", (number,))
    elif table == "chunk":
        keys = chunk_keys(number)
        rows = connection.execute(
            "select * from chunk where key >= ? and key < ?", (keys.start, keys.stop)
        )
    elif table == "signal":
        rows = connection.execute("select * from signal where document = ?", (number,))
        return all(signal_checksum(*row[:3]) == row[3] for row in rows)
    return all(is_sound(row, table) for row in rows)


def seal_document(connection: sqlite3.Connection, number: int) -> None:
    """Write the checksums of a complete document, in the same transaction as its rows."""
    contents = " ".join(format(one(connection, number), "x") for one in CONTENTS.values())
    _set_contents(connection, number, contents)


def is_recorded(connection: sqlite3.Connection, number: int, table: str) -> bool:
    """Return whether the record of a document and its rows in a table match their checksums."""
    row = stored_row(connection, number)
    recorded = str(row.contents).split(" ")
    return (
        is_sound(row, "document")
        and len(recorded) == len(CONTENTS)
        and recorded[_PLACES[table]] == format(CONTENTS[table](connection, number), "x")
    )


def seal_contents(connection: sqlite3.Connection, number: int, table: str) -> None:
    """Update the checksum of the rows of a document in a table after a change.

    Raises:
        FormatError: If the row of the document is damaged, because a new checksum would hide the
            damage.
    """
    contents = document_row(connection, number).contents.split(" ")
    contents[_PLACES[table]] = format(CONTENTS[table](connection, number), "x")
    _set_contents(connection, number, " ".join(contents))


def add_contents(connection: sqlite3.Connection, number: int, table: str) -> None:
    """Add the checksum of a new table to the record of a document; not to a damaged record."""
    row = stored_row(connection, number)
    places = _PLACES[table]
    if is_sound(row, "document") and len(str(row.contents).split(" ")) == places:
        added = format(CONTENTS[table](connection, number), "x")
        _set_contents(connection, number, f"{row.contents} {added}")


def _set_contents(connection: sqlite3.Connection, number: int, contents: str) -> None:
    connection.execute("update document set contents = ? where number = ?", (contents, number))
    seal_record(connection, number)


def seal_record(connection: sqlite3.Connection, number: int) -> None:
    """Write the checksum of the record of a document, which was verified before its change."""
    row = stored_row(connection, number)
    connection.execute(
        "update document set checksum = ? where number = ?", (checksum(row[:-1]), number)
    )
