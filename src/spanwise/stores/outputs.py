"""Outputs of models in `truth.db`, by a hash of all that was asked.

An output that differs from its checksum counts as none: it is asked for again and replaced.

Every function works on a connection that is lent to the calling thread, as those of `truth` do.
"""

from __future__ import annotations

import logging
import sqlite3

from spanwise.stores.checksums import is_sound, sealed

_logger = logging.getLogger("spanwise")

_ERRORS = "surrogatepass"  # a model may write half a pair; what it wrote comes back as it was


def read_output(connection: sqlite3.Connection, key: str) -> str | None:
    """Return what was kept under a key, or None."""
    try:
        row = connection.execute("select * from output where key = ?", (key,)).fetchone()
    except UnicodeEncodeError:  # half a surrogate pair: nothing is kept under such a key
        return None
    if row is None:
        return None
    if not is_sound(row):
        _logger.warning("a kept output of the model %r is damaged; it is asked for again", row[2])
        return None
    return bytes(row[3]).decode(errors=_ERRORS)


def insert_output(
    connection: sqlite3.Connection, key: str, output: str, *, task: str, model: str
) -> None:
    """Keep an output with the time of the clock, unless there is one under its key."""
    before = connection.execute("select * from output where key = ?", (key,)).fetchone()
    if before is not None and is_sound(before):
        return
    (now,) = connection.execute("select strftime('%Y-%m-%dT%H:%M:%SZ', 'now')").fetchone()
    connection.execute(
        "insert or replace into output (key, task, model, output, created, checksum)"
        " values (?, ?, ?, ?, ?, ?)",
        sealed((key, task, model, output.encode(errors=_ERRORS), now)),
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


def damaged_outputs(connection: sqlite3.Connection) -> list[str]:
    """Return the keys of the outputs that differ from their checksums."""
    return [row[0] for row in connection.execute("select * from output") if not is_sound(row)]


def delete_damaged_outputs(connection: sqlite3.Connection) -> None:
    """Delete the outputs that differ from their checksums."""
    keys = damaged_outputs(connection)
    connection.executemany("delete from output where key = ?", [(key,) for key in keys])
