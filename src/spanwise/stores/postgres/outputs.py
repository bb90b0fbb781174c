"""Cache of model outputs in PostgreSQL, keyed by a hash of the complete request.

Each tenant has a cache of its own, because outputs contain text of documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.stores.postgres.values import byte_strings, texts
from spanwise.types.output_cache import CachedOutput

if TYPE_CHECKING:
    from spanwise.stores.postgres.connections import Connection

_ERRORS = "surrogatepass"  # models may write lone surrogates; outputs are returned unchanged


def find_outputs(connection: Connection, keys: Sequence[str], *, tenant: str) -> dict[str, str]:
    """Return the cached outputs of some keys, by key."""
    rows = connection.execute(
        "select key, output from output where tenant = %s and key = any(%s::text[])",
        (tenant, texts([key for key in keys if _is_text(key)])),
        binary=True,
    )
    return {key: bytes(data).decode(errors=_ERRORS) for key, data in rows}


def _is_text(key: str) -> bool:
    """Return whether a key contains no lone surrogate; others are never cached."""
    return not any("\ud800" <= character <= "\udfff" for character in key)


def read_outputs(
    connection: Connection, *, after: str, limit: int, tenant: str
) -> list[CachedOutput]:
    """Return cached outputs ordered by key, from the first key above `after` on."""
    rows = connection.execute(
        "select key, task, model, output from output where tenant = %s and key > %s"
        " order by key limit %s",
        (tenant, after, limit),
    )
    return [
        CachedOutput(key=key, output=bytes(data).decode(errors=_ERRORS), task=task, model=model)
        for key, task, model, data in rows
    ]


def insert_outputs(connection: Connection, outputs: Sequence[CachedOutput], *, tenant: str) -> None:
    """Cache outputs in one statement, except for keys that exist.

    They are written in the order of their keys, which prevents deadlocks of two writers.
    """
    ordered = sorted(outputs, key=lambda cached: cached.key)  # stable: the first one of a key wins
    connection.execute(
        "insert into output (tenant, key, task, model, output)"
        " select %s, * from unnest(%s::text[], %s::text[], %s::text[], %s::bytea[])"
        " on conflict do nothing",
        (
            tenant,
            texts([cached.key for cached in ordered]),
            texts([cached.task for cached in ordered]),
            texts([cached.model for cached in ordered]),
            byte_strings([cached.output.encode(errors=_ERRORS) for cached in ordered]),
        ),
    )


def delete_output(connection: Connection, key: str, *, tenant: str) -> None:
    """Remove the output of a key, if there is one."""
    connection.execute("delete from output where key = %s and tenant = %s", (key, tenant))


def count_outputs(connection: Connection, *, tenant: str) -> tuple[int, int]:
    """Return the number of cached outputs and their size in bytes."""
    row = connection.execute(
        "select count(*), coalesce(sum(length(output)), 0)::bigint from output where tenant = %s",
        (tenant,),
    ).fetchone()
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def delete_outputs(connection: Connection, *, tenant: str) -> int:
    """Delete all cached outputs, and return their number."""
    return connection.execute("delete from output where tenant = %s", (tenant,)).rowcount
