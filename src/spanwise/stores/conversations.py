"""SQL reads and writes of conversations in `truth.db`: one row per thread, one JSON row per turn.

Connections are used by the rules of the module `database`.
"""

from __future__ import annotations

import json
import sqlite3
from typing import NamedTuple

from spanwise import types  # its names are loaded when they are used
from spanwise.errors import FormatError
from spanwise.stores.row_checksums import is_sound, sealed
from spanwise.types.plain import from_plain

_THREADS = "select number, id, title, turns, created_at, changed_at, checksum from thread"
_ADVICE = "delete the conversation, or restore the knowledge base from a backup"


class _Row(NamedTuple):
    """Row of the table `thread`; fields are in the order of its columns."""

    number: int
    id: str
    title: str
    turns: int
    created_at: str
    changed_at: str
    checksum: int

    def info(self) -> types.ThreadInfo:
        """Return the row as thread information, after a check of its checksum.

        Raises:
            FormatError: If the row does not match its checksum.
        """
        if not is_sound(self, "thread"):
            raise FormatError(
                f"the conversation {self.id!r} is damaged: it differs from its checksum; {_ADVICE}"
            )
        return types.ThreadInfo(
            id=self.id,
            title=self.title,
            turns=self.turns,
            created_at=self.created_at,
            changed_at=self.changed_at,
        )


def append_turn(connection: sqlite3.Connection, thread_id: str, turn: types.Turn) -> None:
    """Append a validated turn to a thread; the first turn creates the thread.

    Raises:
        FormatError: If the row of the thread is damaged.
    """
    row = _find(connection, thread_id)
    if row is None:
        (number,) = connection.execute("select coalesce(max(number), 0) + 1 from thread").fetchone()
        info = types.ThreadInfo(
            id=thread_id,
            title=turn.question,
            turns=0,
            created_at=turn.asked_at,
            changed_at=turn.asked_at,
        )
    else:
        number, info = row.number, row.info()
    connection.execute(
        "insert or replace into thread (number, id, title, turns, created_at, changed_at, checksum)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        sealed((number, info.id, info.title, info.turns + 1, info.created_at, turn.asked_at)),
    )
    connection.execute(
        "insert into turn (thread, position, turn, checksum) values (?, ?, ?, ?)",
        sealed((number, info.turns, json.dumps(turn.to_dict()))),
    )


def read_thread(connection: sqlite3.Connection, thread_id: str) -> types.Thread | None:
    """Return a thread with its turns in order, or None.

    Raises:
        FormatError: If a turn is missing or unreadable, or a row does not match its checksum.
    """
    row = _find(connection, thread_id)
    if row is None:
        return None
    info = row.info()
    rows = connection.execute(
        "select thread, position, turn, checksum from turn where thread = ? order by position",
        (row.number,),
    )
    turns = [_turn(row, place=place, thread_id=thread_id) for place, row in enumerate(rows)]
    if len(turns) != info.turns:
        raise FormatError(
            f"the conversation {thread_id!r} has {len(turns)} turns of {info.turns}; {_ADVICE}"
        )
    return types.Thread(info=info, turns=tuple(turns))


def _find(connection: sqlite3.Connection, thread_id: str) -> _Row | None:
    """Return the row of a thread, or None."""
    try:
        cursor = connection.execute(f"{_THREADS} where id = ?", (thread_id,))
    except UnicodeEncodeError:  # lone surrogate: no thread has such an id
        return None
    row = cursor.fetchone()
    return None if row is None else _Row._make(row)


def _turn(row: tuple[int, int, str, int], *, place: int, thread_id: str) -> types.Turn:
    if row[1] != place or not is_sound(row, "turn"):
        raise FormatError(
            f"turn {place + 1} of the conversation {thread_id!r} is missing or damaged: it differs "
            f"from its checksum; {_ADVICE}"
        )
    try:
        return from_plain(types.Turn, json.loads(row[2]))
    except (
        ValueError,
        TypeError,
        RecursionError,
    ) as error:  # not JSON, not a text, or nested too deeply
        raise FormatError(
            f"turn {place + 1} of the conversation {thread_id!r} cannot be read: {error}; {_ADVICE}"
        ) from error


def read_threads(connection: sqlite3.Connection) -> list[types.ThreadInfo]:
    """Return all threads, latest turn first; ties by id.

    Raises:
        FormatError: If a thread is damaged.
    """
    rows = connection.execute(f"{_THREADS} order by changed_at desc, id")
    return [_Row._make(row).info() for row in rows]


def thread_ids(connection: sqlite3.Connection) -> list[str]:
    """Return the ids of all threads, including damaged ones."""
    return [row[0] for row in connection.execute("select id from thread order by id")]


def delete_thread(connection: sqlite3.Connection, thread_id: str) -> bool:
    """Delete a thread with its turns, and return whether it existed."""
    row = _find(connection, thread_id)
    if row is None:
        return False
    connection.execute("delete from turn where thread = ?", (row.number,))
    connection.execute("delete from thread where number = ?", (row.number,))
    return True
