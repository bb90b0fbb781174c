"""Tables of a knowledge base, made and changed by numbered migrations.

The number of the last migration is the format version, kept in SQLite's `user_version`;
`application_id` says that a file is ours. `docs/format.md` describes what is written here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from spanwise.errors import FormatError

__all__ = ["APPLICATION_ID", "FORMAT_VERSION", "POSITION_BITS", "check_version", "migrate"]

APPLICATION_ID = 0x5370616E
"""The four letters "Span"."""

POSITION_BITS = 32
"""The key of a chunk is `document << POSITION_BITS | position`: a document lies together."""

_VERSION_1 = """
create table setting (
    name text primary key,
    value text not null
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
    pages integer not null
);

create table section (
    document integer not null,
    position integer not null,
    start integer not null,
    end integer not null,
    title text not null,
    path text not null,
    header_tokens integer not null,
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
    text text not null
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
"""


def _run_version_1(connection: sqlite3.Connection) -> None:
    """Make the tables of the first format."""
    for statement in _VERSION_1.split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"pragma application_id = {APPLICATION_ID:d}")


_MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_run_version_1,)

FORMAT_VERSION = len(_MIGRATIONS)
"""Version that this program writes."""


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format version of a database, 0 for one that was never filled.

    Raises:
        FormatError: If it is not ours, or newer than this program.
    """
    # One statement sees one state: between two, another process may fill an empty database.
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
    return version


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a database to the version of this program, in one transaction.

    Raises:
        FormatError: As `check_version`.
    """
    if check_version(connection, path) == FORMAT_VERSION:
        return
    connection.execute("begin immediate")
    try:
        version = check_version(connection, path)  # another process may have been faster
        for number in range(version, FORMAT_VERSION):
            _MIGRATIONS[number](connection)
            connection.execute(f"pragma user_version = {number + 1:d}")
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
