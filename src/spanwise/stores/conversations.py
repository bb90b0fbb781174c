"""Conversations in `truth.db`: one row a thread, one row a turn, which is JSON.

Every function works on a connection that is lent to the calling thread, as those of `truth` do.
"""

from __future__ import annotations

import json
import sqlite3

from spanwise.errors import FormatError
from spanwise.types import Thread, ThreadInfo, Turn
from spanwise.types.plain import from_plain

_INFOS = "select number, id, title, turns, created_at, changed_at from thread"


def append_turn(connection: sqlite3.Connection, thread_id: str, turn: Turn) -> None:
    """Append a turn that can be written to a thread, which is made with its first turn."""
    number, position = connection.execute(
        "insert into thread (id, title, turns, created_at, changed_at) values (?, ?, 1, ?, ?)"
        " on conflict (id) do update set turns = turns + 1, changed_at = excluded.changed_at"
        " returning number, turns - 1",
        (thread_id, turn.question, turn.asked_at, turn.asked_at),
    ).fetchone()
    connection.execute(
        "insert into turn (thread, position, turn) values (?, ?, ?)",
        (number, position, json.dumps(turn.to_dict())),
    )


def read_thread(connection: sqlite3.Connection, thread_id: str) -> Thread | None:
    """Return a thread with its turns in order, or None.

    Raises:
        FormatError: If a turn is missing or cannot be read.
    """
    row = _find(connection, thread_id)
    if row is None:
        return None
    info = _info(row)
    turns = [
        _turn(text, place=place, thread_id=thread_id)
        for place, (text,) in enumerate(
            connection.execute(
                "select turn from turn where thread = ? order by position", (row[0],)
            )
        )
    ]
    if len(turns) != info.turns:
        raise FormatError(
            f"the conversation {thread_id!r} has {len(turns)} turns of {info.turns}; "
            "delete it, or restore the knowledge base from a backup"
        )
    return Thread(info=info, turns=tuple(turns))


def _find(
    connection: sqlite3.Connection, thread_id: str
) -> tuple[int, str, str, int, str, str] | None:
    """Return the row of a thread, or None."""
    try:
        found = connection.execute(f"{_INFOS} where id = ?", (thread_id,))
    except UnicodeEncodeError:  # half a surrogate pair: no thread has such an id
        return None
    row: tuple[int, str, str, int, str, str] | None = found.fetchone()
    return row


def _info(row: tuple[int, str, str, int, str, str]) -> ThreadInfo:
    _, thread_id, title, turns, created_at, changed_at = row
    return ThreadInfo(
        id=thread_id, title=title, turns=turns, created_at=created_at, changed_at=changed_at
    )


def _turn(text: str, *, place: int, thread_id: str) -> Turn:
    try:
        return from_plain(Turn, json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:  # no JSON, no text, nested too deeply
        raise FormatError(
            f"turn {place + 1} of the conversation {thread_id!r} cannot be read: {error}; "
            "delete the conversation, or restore the knowledge base from a backup"
        ) from error


def read_threads(connection: sqlite3.Connection) -> list[ThreadInfo]:
    """Return all threads, the one with the latest turn first; ties by id."""
    return [_info(row) for row in connection.execute(f"{_INFOS} order by changed_at desc, id")]


def delete_thread(connection: sqlite3.Connection, thread_id: str) -> bool:
    """Delete a thread with its turns, and return whether there was one."""
    row = _find(connection, thread_id)
    if row is None:
        return False
    connection.execute("delete from turn where thread = ?", (row[0],))
    connection.execute("delete from thread where number = ?", (row[0],))
    return True
