"""Cache of model outputs in `truth.db`, keyed by a hash of the complete request.

An output that does not match its checksum is a cache miss and is replaced.

Connections are used by the rules of the module `database`.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence

from spanwise.stores.row_checksums import is_sound, sealed
from spanwise.types.output_cache import CachedOutput

_logger = logging.getLogger("spanwise")

_ERRORS = "surrogatepass"  # models may write lone surrogates; outputs are returned unchanged


def find_outputs(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, str]:
    """Return the cached outputs of some keys, by key."""
    found = {key: _find_output(connection, key) for key in keys}
    return {key: output for key, output in found.items() if output is not None}


def _find_output(connection: sqlite3.Connection, key: str) -> str | None:
    try:
        row = connection.execute("select * from output where key = ?", (key,)).fetchone()
    except UnicodeEncodeError:  # lone surrogate: no such key is cached
        return None
    if row is None:
        return None
    if not is_sound(row, "output"):
        _logger.warning(
            "a cached output of the model %r is damaged; the model is called again", row[2]
        )
        return None
    return bytes(row[3]).decode(errors=_ERRORS)


def read_outputs(connection: sqlite3.Connection, *, after: str, limit: int) -> list[CachedOutput]:
    """Return cached outputs ordered by key, from the first key above `after` on."""
    found: list[CachedOutput] = []
    rows = connection.execute("select * from output where key > ? order by key", (after,))
    for row in rows:
        if is_sound(row, "output"):
            key, task, model, output = row[:4]
            text = bytes(output).decode(errors=_ERRORS)
            found.append(CachedOutput(key=key, output=text, task=task, model=model))
        if len(found) >= limit:
            break
    return found


def insert_outputs(connection: sqlite3.Connection, outputs: Sequence[CachedOutput]) -> None:
    """Cache outputs with the current time, except for keys that exist."""
    (now,) = connection.execute("select strftime('%Y-%m-%dT%H:%M:%SZ', 'now')").fetchone()
    for one in outputs:
        before = connection.execute("select * from output where key = ?", (one.key,)).fetchone()
        if before is not None and is_sound(before, "output"):
            continue
        connection.execute(
            "insert or replace into output (key, task, model, output, created, checksum)"
            " values (?, ?, ?, ?, ?, ?)",
            sealed((one.key, one.task, one.model, one.output.encode(errors=_ERRORS), now)),
        )


def delete_output(connection: sqlite3.Connection, key: str) -> None:
    """Remove the output of a key, if there is one."""
    connection.execute("delete from output where key = ?", (key,))


def count_outputs(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the number of cached outputs and their size in bytes."""
    count, size = connection.execute(
        "select count(*), coalesce(sum(length(output)), 0) from output"
    ).fetchone()
    return count, size


def delete_outputs(connection: sqlite3.Connection) -> int:
    """Delete all cached outputs, and return their number."""
    return connection.execute("delete from output").rowcount


def damaged_outputs(connection: sqlite3.Connection) -> list[str]:
    """Return the keys of the outputs that do not match their checksums."""
    return [
        row[0] for row in connection.execute("select * from output") if not is_sound(row, "output")
    ]


def delete_damaged_outputs(connection: sqlite3.Connection) -> None:
    """Delete the outputs that do not match their checksums."""
    keys = damaged_outputs(connection)
    connection.executemany("delete from output where key = ?", [(key,) for key in keys])
