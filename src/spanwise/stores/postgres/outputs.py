"""Cache of model outputs in PostgreSQL, keyed by a hash of the complete request.

Each tenant has a cache of its own, because outputs contain text of documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.types.output_cache import CachedOutput

if TYPE_CHECKING:
    from spanwise.stores.postgres.connections import Connection

_ERRORS = "surrogatepass"  # models may write lone surrogates; outputs are returned unchanged


def read_output(connection: Connection, key: str, *, tenant: str) -> str | None:
    """Return the cached output of a key, or None."""
    try:
        row = connection.execute(
            "select output from output where key = %s and tenant = %s", (key, tenant)
        ).fetchone()
    except UnicodeEncodeError:  # lone surrogate: no such key is cached
        return None
    return None if row is None else bytes(row[0]).decode(errors=_ERRORS)


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


def insert_output(connection: Connection, cached: CachedOutput, *, tenant: str) -> None:
    """Cache an output, unless the key exists."""
    connection.execute(
        "insert into output (tenant, key, task, model, output) values (%s, %s, %s, %s, %s)"
        " on conflict do nothing",
        (tenant, cached.key, cached.task, cached.model, cached.output.encode(errors=_ERRORS)),
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
