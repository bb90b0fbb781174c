"""Migrations: each whole or not at all, numbered, and described."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise.stores import schema

PATH = Path("truth.db")


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    yield made
    made.close()


def test_a_new_database_gets_the_latest_version(connection: sqlite3.Connection) -> None:
    assert schema.check_version(connection, PATH) == 0
    schema.migrate(connection, PATH)
    assert schema.check_version(connection, PATH) == schema.FORMAT_VERSION
    schema.migrate(connection, PATH)
    assert not connection.in_transaction


def test_a_migration_that_fails_leaves_the_old_version(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema.migrate(connection, PATH)

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("create table half (x)")
        connection.execute("this is no SQL")

    monkeypatch.setattr(schema, "_MIGRATIONS", (*schema._MIGRATIONS, fail))
    monkeypatch.setattr(schema, "FORMAT_VERSION", schema.FORMAT_VERSION + 1)
    with pytest.raises(sqlite3.OperationalError, match="syntax error"):
        schema.migrate(connection, PATH)
    assert schema.check_version(connection, PATH) == schema.FORMAT_VERSION - 1
    assert connection.execute("select * from sqlite_schema where name = 'half'").fetchall() == []


def test_texts_of_the_first_version_get_their_hash(connection: sqlite3.Connection) -> None:
    schema._run_version_1(connection)
    connection.execute("pragma user_version = 1")
    for number, texts in ((3, ("Ü", "x\n")), (4, ())):
        connection.execute(
            "insert into document values (?, ?, '', '', '', '', '{}', '', '', '', '', '[]', 0, 0,"
            " 0, 0)",
            (number, str(number)),
        )
        connection.executemany(
            "insert into chunk values (?, 0, 0, 1, ?)",
            [(number << 32 | place, text) for place, text in enumerate(texts)],
        )
    schema.migrate(connection, PATH)
    assert connection.execute("select text_hash from document order by number").fetchall() == [
        (hashlib.sha256("Üx\n".encode()).hexdigest(),),
        (hashlib.sha256(b"").hexdigest(),),
    ]


def test_documents_of_an_older_version_get_their_language(
    connection: sqlite3.Connection,
) -> None:
    """By their texts, or by what their metadata says."""
    german = (
        "Der Umsatz ist im letzten Jahr gestiegen, weil die Nachfrage nach den Geräten hoch war."
    )
    schema._run_version_1(connection)
    connection.execute("pragma user_version = 1")
    for number, metadata in ((1, "{}"), (2, '{"language": "nl"}'), (3, "{}")):
        connection.execute(
            "insert into document values (?, ?, '', '', '', '', ?, '', '', '', '', '[]', 0, 50,"
            " 0, 0)",
            (number, str(number), metadata),
        )
        texts = [german] * 50 if number < 3 else ["1,577.0 | 32,765"] * 50
        connection.executemany(
            "insert into chunk values (?, 0, 0, 1, ?)",
            [(number << 32 | place, text) for place, text in enumerate(texts)],
        )
    schema.migrate(connection, PATH)
    assert connection.execute("select language from document order by number").fetchall() == [
        ("de",),
        ("nl",),
        ("",),
    ]


def test_documents_of_an_older_version_have_no_signals(connection: sqlite3.Connection) -> None:
    """And nothing records packs: they are used when somebody says so."""
    schema._run_version_1(connection)
    connection.execute("pragma user_version = 1")
    schema.migrate(connection, PATH)
    assert connection.execute("select count(*) from signal").fetchall() == [(0,)]
    assert connection.execute("select value from setting where name = 'packs'").fetchall() == []


def test_documents_with_warnings_get_their_status(connection: sqlite3.Connection) -> None:
    """And headers the room for labels that are printed on pages, in bytes."""
    schema._run_version_1(connection)
    connection.execute("pragma user_version = 1")
    warnings: tuple[list[str], ...] = (
        [],
        ["only pictures; OCR would read them", "b"],
        ["12 bytes are no UTF-8"],
    )
    for number, said in enumerate(warnings, start=1):
        connection.execute(
            "insert into document values (?, ?, '', '', '', '', '{}', '', '', '', '', ?, 0, 0,"
            " 0, 2)",
            (number, str(number), json.dumps(said)),
        )
        connection.execute("insert into section values (?, 0, 0, 1, '', '[]', 40)", (number,))
    pages = [(1, 0, 0, 1, "F-12"), (1, 1, 0, 1, "費"), (2, 0, 0, 1, None)]
    connection.executemany("insert into page values (?, ?, ?, ?, ?)", pages)
    schema.migrate(connection, PATH)
    assert connection.execute("select status from document order by number").fetchall() == [
        ("ok",),
        ("needs_ocr",),
        ("partial",),
    ]
    assert connection.execute("select header_tokens from section order by document").fetchall() == [
        (40 + 2 * len("F-12") + len(" ( to )"),),
        (40,),
        (40,),
    ]


def test_every_table_and_column_is_described(connection: sqlite3.Connection) -> None:
    """The page on the format names what the newest version has."""
    text = (Path(__file__).parents[3] / "docs" / "format.md").read_text(encoding="utf-8")
    schema.migrate(connection, PATH)
    assert f"Format version: **{schema.FORMAT_VERSION}**" in text
    tables = connection.execute(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite%'"
    ).fetchall()
    for (table,) in tables:
        line = re.search(rf"^\| `{table}` \|.*$", text, re.MULTILINE)
        assert line is not None, table
        for (column,) in connection.execute("select name from pragma_table_info(?)", (table,)):
            assert f"`{column}`" in line.group(), (table, column)
