"""Migrations: each whole or not at all, numbered, and described."""

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

    migrations = {**schema._MIGRATIONS, schema.FORMAT_VERSION: fail}
    monkeypatch.setattr(schema, "_MIGRATIONS", migrations)
    monkeypatch.setattr(schema, "FORMAT_VERSION", schema.FORMAT_VERSION + 1)
    with pytest.raises(sqlite3.OperationalError, match="syntax error"):
        schema.migrate(connection, PATH)
    assert schema.check_version(connection, PATH) == schema.FORMAT_VERSION - 1
    assert connection.execute("select * from sqlite_schema where name = 'half'").fetchall() == []


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
