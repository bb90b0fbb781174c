"""SQL reads and writes of conversations in PostgreSQL: one row per thread, one per turn.

Conversations belong to the tenant of the transaction. A transaction without a tenant reads those
without one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from spanwise.errors import FormatError
from spanwise.types import Thread, ThreadInfo, Turn
from spanwise.types.plain import from_plain

if TYPE_CHECKING:
    from spanwise.stores.postgres.connections import Connection

_COLUMNS = "number, id, title, turns, created_at, changed_at"
_ADVICE = "delete the conversation, or restore the knowledge base from a backup"


def _info(row: tuple[Any, ...]) -> ThreadInfo:
    """Return the thread in a row of `_COLUMNS`."""
    _, thread_id, title, turns, created_at, changed_at = row
    return ThreadInfo(
        id=thread_id, title=title, turns=turns, created_at=created_at, changed_at=changed_at
    )


def append_turn(connection: Connection, thread_id: str, turn: Turn, *, tenant: str) -> None:
    """Append a validated turn to a thread; the first turn creates the thread."""
    row = connection.execute(
        "insert into thread (tenant, id, title, turns, created_at, changed_at)"
        " values (%s, %s, %s, 1, %s, %s)"
        " on conflict (id, tenant) do update"  # locks the row until the end of the transaction
        " set turns = thread.turns + 1, changed_at = excluded.changed_at"
        " returning number, turns",
        (tenant, thread_id, turn.question, turn.asked_at, turn.asked_at),
    ).fetchone()
    assert row is not None  # noqa: S101 - one row was inserted or updated
    connection.execute(
        "insert into turn (thread, position, tenant, turn) values (%s, %s, %s, %s)",
        (row[0], row[1] - 1, tenant, json.dumps(turn.to_dict())),
    )


def read_thread(connection: Connection, thread_id: str, *, tenant: str) -> Thread | None:
    """Return a thread with its turns in order, or None.

    Raises:
        FormatError: If a turn is missing or unreadable.
    """
    row = _find(connection, thread_id, tenant=tenant)
    if row is None:
        return None
    info = _info(row)
    rows = connection.execute(
        "select position, turn from turn where thread = %s order by position", (row[0],)
    ).fetchall()
    if [position for position, _ in rows] != list(range(info.turns)):
        raise FormatError(
            f"the conversation {thread_id!r} has {len(rows)} turns of {info.turns}; {_ADVICE}"
        )
    return Thread(info=info, turns=tuple(_turn(text, place, thread_id) for place, text in rows))


def _turn(text: str, place: int, thread_id: str) -> Turn:
    try:
        return from_plain(Turn, json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError(
            f"turn {place + 1} of the conversation {thread_id!r} cannot be read: {error}; {_ADVICE}"
        ) from error


def _find(connection: Connection, thread_id: str, *, tenant: str) -> tuple[Any, ...] | None:
    try:
        return connection.execute(
            f"select {_COLUMNS} from thread where id = %s and tenant = %s",  # noqa: S608 - constants
            (thread_id, tenant),
        ).fetchone()
    except UnicodeEncodeError:  # lone surrogate: no thread has such an id
        return None


def read_threads(connection: Connection, *, tenant: str) -> list[ThreadInfo]:
    """Return all threads, latest turn first; ties by id."""
    rows = connection.execute(
        f"select {_COLUMNS} from thread where tenant = %s",  # noqa: S608 - constants
        (tenant,),
    )
    infos = sorted(map(_info, rows), key=lambda info: info.id)
    return sorted(infos, key=lambda info: info.changed_at, reverse=True)


def delete_thread(connection: Connection, thread_id: str, *, tenant: str) -> bool:
    """Delete a thread with its turns, and return whether it existed."""
    row = _find(connection, thread_id, tenant=tenant)
    if row is None:
        return False
    return connection.execute("delete from thread where number = %s", (row[0],)).rowcount > 0
