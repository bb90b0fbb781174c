"""Outputs of models in `truth.db`, by a hash of all that was asked.

Every function works on a connection that is lent to the calling thread, as those of `truth` do.
"""

from __future__ import annotations

import sqlite3

__all__ = ["count_outputs", "delete_outputs", "insert_output", "read_output"]

_ERRORS = "surrogatepass"  # a model may write half a pair; what it wrote comes back as it was


def read_output(connection: sqlite3.Connection, key: str) -> str | None:
    """Return what was kept under a key, or None."""
    try:
        row = connection.execute("select output from output where key = ?", (key,)).fetchone()
    except UnicodeEncodeError:  # half a surrogate pair: nothing is kept under such a key
        return None
    return None if row is None else bytes(row[0]).decode(errors=_ERRORS)


def insert_output(
    connection: sqlite3.Connection, key: str, output: str, *, task: str, model: str
) -> None:
    """Keep an output with the time of the clock, unless there is one under its key."""
    connection.execute(
        "insert into output (key, task, model, output, created)"
        " values (?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now')) on conflict do nothing",
        (key, task, model, output.encode(errors=_ERRORS)),
    )


def count_outputs(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return how many outputs there are, and their bytes."""
    count, size = connection.execute(
        "select count(*), coalesce(sum(length(output)), 0) from output"
    ).fetchone()
    return count, size


def delete_outputs(connection: sqlite3.Connection) -> int:
    """Delete all outputs, and return how many there were."""
    return connection.execute("delete from output").rowcount
