"""Checksums of the rows of `truth.db`, verified on every read.

Rules:
    The last column of `document`, `section`, `chunk`, `signal`, `setting`, `output`, `thread` and
    `turn` is the checksum of the other columns, keys included.
    A row of `document` also has one checksum for each table with rows of the document (`CONTENTS`),
    so a missing, added or changed row is detected. The checksum of the row covers these checksums,
    and therefore the whole document.
    Checksums detect damage and accidental changes. They are not signatures: anyone who can write
        the file can compute them.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from spanwise.errors import FormatError

POSITION_BITS = 32
"""Bits of the position in a chunk key, which is `document << POSITION_BITS | position`."""

_PIECE_BYTES = 1 << 20
_PIECE_ROWS = 1_000
_BETWEEN = "\x1f"


def chunk_keys(number: int) -> range:
    """Return the keys that chunks of a document may have."""
    base = number << POSITION_BITS
    return range(base, base + (1 << POSITION_BITS))


def checksum(values: Iterable[object]) -> int:
    """Return the CRC-32 of some values as texts, joined by U+001F, in UTF-8."""
    return zlib.crc32(_BETWEEN.join(map(str, values)).encode())


def sealed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row with its checksum appended."""
    return (*row, checksum(row))


def is_sound(row: Sequence[Any]) -> bool:
    """Return whether the last column of a row is the checksum of the other columns."""
    return bool(checksum(row[:-1]) == row[-1])


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
        if not is_sound(row):
            raise damaged_document(row[1], "the record")
        yield DocumentRow._make(row)


def stored_row(connection: sqlite3.Connection, number: int) -> DocumentRow:
    """Return the row of a document, which must exist, without verification."""
    return DocumentRow._make(connection.execute(_ONE_DOCUMENT, (number,)).fetchone())


def document_row(connection: sqlite3.Connection, number: int) -> DocumentRow:
    """Return the verified row of a document, which must exist.

    Raises:
        FormatError: If it does not match its checksum.
    """
    row = stored_row(connection, number)
    if not is_sound(row):
        raise damaged_document(row.id, "the record")
    return row


def damaged_document(document_id: object, what: str) -> FormatError:
    """Return the error for a document whose data, named by `what`, do not match their checksum."""
    return FormatError(
        f"the document {document_id!r} is damaged: {what} differs from its checksum; remove the "
        "document and add it again, or restore the knowledge base from a backup"
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
    """Return the CRC-32 of the vectors of a document, read in pieces; -1 without vectors."""
    if not connection.execute("select 1 from vector where document = ?", (number,)).fetchone():
        return -1
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
    verified = list(rows)
    key = 1 if table == "section" else 0
    sound = len(verified) <= len(places)
    # `is_sound`, inlined because a search reads hundreds of rows.
    for row, place in zip(verified, places, strict=False):
        value = zlib.crc32(_BETWEEN.join(map(str, row[:-1])).encode())
        if value != row[-1] or row[key] != place:
            sound = False
    if not sound:
        raise damaged_document(_document_id(connection, number), f"`{table}`")
    if len(verified) < len(places):  # the document ends there, or rows are missing
        whole = places.start == (0 if table == "section" else number << POSITION_BITS)
        check_contents(
            connection,
            number,
            table,
            actual=checksum(row[-1] for row in verified) if whole else None,
        )
    return verified


def _document_id(connection: sqlite3.Connection, number: int) -> object:
    row = connection.execute("select id from document where number = ?", (number,)).fetchone()
    return number if row is None else row[0]


def differing_contents(connection: sqlite3.Connection, row: DocumentRow) -> list[str]:
    """Return the names of the tables in which rows of a document do not match their checksum.

    "record" is the row of the document itself.
    """
    differing = [] if is_sound(row) else ["record"]
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
    return all(map(is_sound, rows))


def seal_document(connection: sqlite3.Connection, number: int) -> None:
    """Write the checksums of a complete document, in the same transaction as its rows."""
    contents = " ".join(format(one(connection, number), "x") for one in CONTENTS.values())
    _set_contents(connection, number, contents)


def is_recorded(connection: sqlite3.Connection, number: int, table: str) -> bool:
    """Return whether the record of a document and its rows in a table match their checksums."""
    row = stored_row(connection, number)
    recorded = str(row.contents).split(" ")
    return (
        is_sound(row)
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
    if is_sound(row) and len(str(row.contents).split(" ")) == places:
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
