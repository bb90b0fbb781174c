"""Tables of `truth.db`, and the migrations of older formats.

The format version is stored in SQLite's `user_version`. `application_id` identifies the file as a
knowledge base. `docs/format.md` describes the tables.

For a new format: change `_TABLES`, raise `FORMAT_VERSION`, and add a function to `_MIGRATIONS` that
migrates the tables of the previous version. The result must have the columns of `_TABLES` in the
same order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spanwise.core.documents.summary import extract_title
from spanwise.errors import FormatError
from spanwise.stores.row_checksums import (
    add_contents,
    checksum,
    chunk_keys,
    is_recorded,
    seal_contents,
    seal_document,
    signal_checksum,
)

APPLICATION_ID = 0x5370616E
"""SQLite application id: the four letters "Span"."""

_TABLES = """
create table setting (
    name text primary key,
    value text not null,
    checksum integer not null default 0
) without rowid;

create table document (
    number integer primary key autoincrement,
    id text not null unique,
    title text not null,
    summary text not null,
    title_words text not null,
    given_title text not null,
    metadata text not null,
    media_type text not null,
    source text not null,
    source_root text not null,
    content_hash text not null,
    warnings text not null,
    chars integer not null,
    chunks integer not null,
    tokens integer not null,
    pages integer not null,
    text_hash text not null default '',
    given_fields text not null default '[]',
    language text not null default '',
    status text not null default 'ok',
    recipe text not null default '',
    contents text not null default '',
    checksum integer not null default 0
);

create table section (
    document integer not null,
    position integer not null,
    start integer not null,
    end integer not null,
    title text not null,
    path text not null,
    header_tokens integer not null,
    summary text not null default '',
    extracted_title integer not null default 0,
    checksum integer not null default 0,
    primary key (document, position)
) without rowid;

create table page (
    document integer not null,
    position integer not null,
    start integer not null,
    end integer not null,
    label text,
    primary key (document, position)
) without rowid;

create table chunk (
    key integer primary key,
    section integer not null,
    start integer not null,
    tokens integer not null,
    text text not null,
    table_head text not null default '',
    context text not null default '',
    checksum integer not null default 0
);

create table vector (
    document integer primary key,
    data blob not null
);

create table change (
    seq integer primary key autoincrement,
    stamp blob not null,
    document integer not null,
    gone integer not null
);

create index document_language on document (language);

create table signal (
    document integer not null,
    landmark text not null,
    data blob not null,
    checksum integer not null default 0,
    primary key (document, landmark)
);

create table heading (
    document integer not null,
    position integer not null,
    start integer not null,
    end integer not null,
    level integer not null,
    title text not null,
    primary key (document, position)
) without rowid;

create table block (
    document integer not null,
    position integer not null,
    start integer not null,
    end integer not null,
    kind text not null,
    primary key (document, position)
) without rowid;

create table figure (
    document integer not null,
    position integer not null,
    start integer not null,
    end integer not null,
    detail text not null,
    primary key (document, position)
) without rowid;

create table output (
    key text primary key,
    task text not null,
    model text not null,
    output blob not null,
    created text not null,
    checksum integer not null default 0
);

create table thread (
    number integer primary key,
    id text not null unique,
    title text not null,
    turns integer not null,
    created_at text not null,
    changed_at text not null,
    checksum integer not null default 0
);

create table turn (
    thread integer not null,
    position integer not null,
    turn text not null,
    checksum integer not null default 0,
    primary key (thread, position)
);

create table former_field (
    name text primary key,
    checksum integer not null default 0
) without rowid;
"""
"""Tables of the current format. Checksums cover columns in this order: append new ones."""


def _create_missing(connection: sqlite3.Connection, table: str) -> None:
    """Create one table, unless it exists."""
    (statement,) = (text for text in _TABLES.split(";") if f"create table {table} " in text)
    connection.execute(statement.replace("create table", "create table if not exists"))


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in _TABLES.split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"pragma application_id = {APPLICATION_ID:d}")


_SEALED = {
    "section": ("document", "position"),
    "chunk": ("key",),
    "setting": ("name",),
    "output": ("key",),
    "thread": ("number",),
    "turn": ("thread", "position"),
}
"""Tables whose rows end with a checksum, and their key columns."""

_SEALED_AT_ONCE = 1_000


def _migrate_8(connection: sqlite3.Connection) -> None:
    """Migrate format 8 to 9: add checksums of rows and of whole documents."""
    _create_missing(connection, "figure")  # its rows are part of the checksums
    connection.execute("alter table document add column contents text not null default ''")
    for table in ("document", "signal", *_SEALED):
        connection.execute(f"alter table {table} add column checksum integer not null default 0")
    with _damaged_texts(connection):
        for table, keys in _SEALED.items():
            _seal_rows(connection, table, keys)
        for (number,) in connection.execute("select number from document").fetchall():
            _seal_signals(connection, number)
            seal_document(connection, number)


@contextmanager
def _damaged_texts(connection: sqlite3.Connection) -> Iterator[None]:
    """Replace invalid characters of texts that are read in the block.

    A damaged text must not prevent opening the others; a later check finds it.
    """
    decode = connection.text_factory
    connection.text_factory = lambda data: data.decode(errors="replace")
    try:
        yield
    finally:
        connection.text_factory = decode


def _seal_signals(connection: sqlite3.Connection, number: int) -> None:
    rows = connection.execute(
        "select document, landmark, data from signal where document = ?", (number,)
    ).fetchall()
    connection.executemany(
        "update signal set checksum = ? where document = ? and landmark = ?",
        [(signal_checksum(*row), *row[:2]) for row in rows],
    )


def _seal_rows(connection: sqlite3.Connection, table: str, keys: tuple[str, ...]) -> None:
    """Write the checksums of all rows of a table in batches, in the order of the key."""
    names = ", ".join(keys)
    marks = ", ".join("?" * len(keys))
    # Table and column names cannot be SQL parameters; all are constants of this module.
    first = f"select {names}, * from {table} order by {names} limit {_SEALED_AT_ONCE}"  # noqa: S608
    later = first.replace(" order by", f" where ({names}) > ({marks}) order by")
    update = f"update {table} set checksum = ? where ({names}) = ({marks})"  # noqa: S608
    rows = connection.execute(first).fetchall()
    while rows:
        connection.executemany(
            update, [(checksum(row[len(keys) : -1]), *row[: len(keys)]) for row in rows]
        )
        rows = connection.execute(later, rows[-1][: len(keys)]).fetchall()


def _migrate_9(connection: sqlite3.Connection) -> None:
    """Migrate format 9 to 10: record which section titles were extracted from the text."""
    _migrate_10(connection)  # its rows are part of the checksums
    columns = "document, position, start, end, title, path, header_tokens, summary"
    connection.execute("alter table section rename to earlier")
    (statement,) = (text for text in _TABLES.split(";") if "create table section " in text)
    connection.execute(statement)
    connection.execute(
        f"insert into section ({columns}, checksum) select {columns}, checksum from earlier"  # noqa: S608
    )
    connection.execute("drop table earlier")
    with _damaged_texts(connection):
        for (number,) in connection.execute("select number from document").fetchall():
            _mark_extracted_titles(connection, number)


def _mark_extracted_titles(connection: sqlite3.Connection, number: int) -> None:
    """Write the last two columns of the sections of a document; damaged rows stay damaged."""
    keys = chunk_keys(number)
    chunks = connection.execute(
        "select text from chunk where key >= ? and key < ? order by key", (keys.start, keys.stop)
    )
    text = "".join(str(chunk) for (chunk,) in chunks)
    rows = connection.execute(
        "select document, position, start, end, title, path, header_tokens, summary, checksum"
        " from section where document = ? order by position",
        (number,),
    ).fetchall()
    is_whole = is_recorded(connection, number, "section")
    for row in (row for row in rows if checksum(row[:-1]) == row[-1]):
        start, end, title = row[2:5]
        is_extracted = bool(title) and title == extract_title(
            text, start=start, stop=end, rows=True
        )
        connection.execute(
            "update section set extracted_title = ?, checksum = ?"
            " where document = ? and position = ?",
            (is_extracted, checksum((*row[:-1], int(is_extracted))), *row[:2]),
        )
    if is_whole:
        seal_contents(connection, number, "section")


def _migrate_10(connection: sqlite3.Connection) -> None:
    """Migrate format 10 to 11: add the tables of former fields and of figures.

    It may run twice, because migrations of earlier formats compute checksums of these tables.
    """
    _create_missing(connection, "former_field")
    _create_missing(connection, "figure")
    with _damaged_texts(connection):
        for (number,) in connection.execute("select number from document").fetchall():
            add_contents(connection, number, "figure")


FORMAT_VERSION = 11
"""Format version that this program writes."""

_MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {
    8: _migrate_8,
    9: _migrate_9,
    10: _migrate_10,
}
"""Functions that migrate a database to the next format version, by its current version."""


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format version of a database; 0 if it was never filled.

    Raises:
        FormatError: If it is not a knowledge base, newer than this program, or of a format without
            a migration.
    """
    # One statement, because another process may fill an empty database between two.
    version: int
    version, application, tables = connection.execute(
        "select (select user_version from pragma_user_version), "
        "(select application_id from pragma_application_id), (select count(*) from sqlite_schema)"
    ).fetchone()
    if application != APPLICATION_ID and (version or tables):
        raise FormatError(
            f"{path} is a database of another program (application id {application:#x}, not "
            f"{APPLICATION_ID:#x}); name the folder of a knowledge base"
        )
    if version > FORMAT_VERSION:
        raise FormatError(
            f"{path} has format version {version}, this program reads versions up to "
            f"{FORMAT_VERSION}; update spanwise, or add the documents to a new knowledge base"
        )
    if 0 < version < min(_MIGRATIONS):
        raise FormatError(
            f"{path} has format version {version}, this program reads versions from "
            f"{min(_MIGRATIONS)}; add the documents to a new knowledge base"
        )
    return version


def require_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise an error if a read-only database does not have the format version of this program.

    Raises:
        FormatError: If its version differs, or as `check_version`.
    """
    version = check_version(connection, path)
    if version != FORMAT_VERSION:
        raise FormatError(
            f"{path} has format version {version}, this program works with {FORMAT_VERSION} and "
            "cannot write there; open it once where it can be written, or open a copy"
        )


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables of an empty database or migrate an older format, in one transaction.

    Raises:
        FormatError: As `check_version`.
    """
    if check_version(connection, path) == FORMAT_VERSION:
        return
    connection.execute("begin immediate")
    try:
        version = check_version(connection, path)  # another process may have migrated meanwhile
        if version == 0:
            _create_tables(connection)
        else:
            for number in range(version, FORMAT_VERSION):
                _MIGRATIONS[number](connection)
        connection.execute(f"pragma user_version = {FORMAT_VERSION:d}")
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
