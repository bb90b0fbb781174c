"""Tables of `truth.db`, created and changed by numbered migrations.

The number of the last migration is the format version, stored in SQLite's `user_version`.
`application_id` identifies the file as a knowledge base. `docs/format.md` describes the tables.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

from spanwise.core.text.languages import document_language
from spanwise.errors import FormatError
from spanwise.stores.row_checksums import POSITION_BITS, checksum, seal_document, signal_checksum

APPLICATION_ID = 0x5370616E
"""SQLite application id: the four letters "Span"."""

_LANGUAGE_CHUNKS = 32  # enough for language detection

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
    """Create the tables of the first format."""
    for statement in _VERSION_1.split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"pragma application_id = {APPLICATION_ID:d}")


def _run_version_2(connection: sqlite3.Connection) -> None:
    """Add the text hash that detects damaged texts."""
    connection.execute("alter table document add column text_hash text not null default ''")
    for (number,) in connection.execute("select number from document").fetchall():
        base = number << POSITION_BITS
        digest = hashlib.sha256()
        for (text,) in connection.execute(
            "select text from chunk where key >= ? and key < ? order by key",
            (base, base + (1 << POSITION_BITS)),
        ):
            digest.update(text.encode())
        connection.execute(
            "update document set text_hash = ? where number = ?", (digest.hexdigest(), number)
        )


def _run_version_3(connection: sqlite3.Connection) -> None:
    """Add the names of caller-provided metadata fields; unknown for older documents."""
    connection.execute("alter table document add column given_fields text not null default '[]'")


def _run_version_4(connection: sqlite3.Connection) -> None:
    """Add the language of each document, detected from some of its chunks."""
    connection.execute("alter table document add column language text not null default ''")
    connection.execute("create index document_language on document (language)")
    documents = connection.execute("select number, chunks, metadata from document").fetchall()
    for number, chunks, metadata in documents:
        base = number << POSITION_BITS
        step = max(1, chunks // _LANGUAGE_CHUNKS)
        texts = connection.execute(
            "select text from chunk where key >= ? and key < ? and (key - ?) % ? = 0 order by key",
            (base, base + (1 << POSITION_BITS), base, step),
        )
        text = "\n".join(text for (text,) in texts)
        language = document_language(text, metadata=json.loads(metadata))
        if language:
            connection.execute(
                "update document set language = ? where number = ?", (language, number)
            )


def _run_version_5(connection: sqlite3.Connection) -> None:
    """Add the signals of pack landmarks; older documents have no pack."""
    connection.execute(
        "create table signal (document integer not null, landmark text not null,"
        " data blob not null, primary key (document, landmark))"
    )


def _run_version_6(connection: sqlite3.Connection) -> None:
    """Add the document status, headings and blocks.

    Documents with warnings were read in part. If pages have labels, headers may take as many more
    tokens as the citation has more bytes.
    """
    connection.execute("alter table document add column status text not null default 'ok'")
    connection.execute(
        "update document set status = case when warnings like '%OCR would read them%'"
        " then 'needs_ocr' else 'partial' end where warnings != '[]'"
    )
    connection.execute(
        "create table heading (document integer not null, position integer not null,"
        " start integer not null, end integer not null, level integer not null,"
        " title text not null, primary key (document, position)) without rowid"
    )
    connection.execute(
        "create table block (document integer not null, position integer not null,"
        " start integer not null, end integer not null, kind text not null,"
        " primary key (document, position)) without rowid"
    )
    labelled = connection.execute(
        "select document, max(length(cast(label as blob))) from page where label is not null"
        " group by document"
    ).fetchall()
    connection.executemany(
        "update section set header_tokens = header_tokens + ? where document = ?",
        [(2 * longest + len(" ( to )"), document) for document, longest in labelled],
    )


def _run_version_7(connection: sqlite3.Connection) -> None:
    """Add table heads of chunks; empty for older documents."""
    connection.execute("alter table chunk add column table_head text not null default ''")


def _run_version_8(connection: sqlite3.Connection) -> None:
    """Add model results: parts of documents, cached outputs and conversations."""
    connection.execute("alter table document add column recipe text not null default ''")
    connection.execute("alter table section add column summary text not null default ''")
    connection.execute("alter table chunk add column context text not null default ''")
    connection.execute(
        "create table output (key text primary key, task text not null, model text not null,"
        " output blob not null, created text not null)"
    )
    connection.execute(
        "create table thread (number integer primary key, id text not null unique,"
        " title text not null, turns integer not null, created_at text not null,"
        " changed_at text not null)"
    )
    connection.execute(
        "create table turn (thread integer not null, position integer not null,"
        " turn text not null, primary key (thread, position))"
    )


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


def _run_version_9(connection: sqlite3.Connection) -> None:
    """Add checksums of rows and of whole documents."""
    connection.execute("alter table document add column contents text not null default ''")
    for table in ("document", "signal", *_SEALED):
        connection.execute(f"alter table {table} add column checksum integer not null default 0")
    decode = connection.text_factory
    # A damaged text must not prevent opening the others; a later check finds it.
    connection.text_factory = lambda data: data.decode(errors="replace")
    try:
        for table, keys in _SEALED.items():
            _seal_rows(connection, table, keys)
        for (number,) in connection.execute("select number from document").fetchall():
            _seal_signals(connection, number)
            seal_document(connection, number)
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


_MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _run_version_1,
    _run_version_2,
    _run_version_3,
    _run_version_4,
    _run_version_5,
    _run_version_6,
    _run_version_7,
    _run_version_8,
    _run_version_9,
)

FORMAT_VERSION = len(_MIGRATIONS)
"""Format version that this program writes."""


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format version of a database; 0 if it was never filled.

    Raises:
        FormatError: If it is not a knowledge base, or newer than this program.
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
    return version


def require_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise an error if a read-only database is not of the version of this program.

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
    """Migrate a database to the version of this program, in one transaction.

    Raises:
        FormatError: As `check_version`.
    """
    if check_version(connection, path) == FORMAT_VERSION:
        return
    connection.execute("begin immediate")
    try:
        version = check_version(connection, path)  # another process may have migrated meanwhile
        for number in range(version, FORMAT_VERSION):
            _MIGRATIONS[number](connection)
            connection.execute(f"pragma user_version = {number + 1:d}")
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
