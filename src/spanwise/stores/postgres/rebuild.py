"""Rebuild of a knowledge base in PostgreSQL: a new state is prepared in a second schema.

The new state has the same tables, in the schema `NAME_rebuild`. Its documents have numbers that are
reserved in the sequence of the knowledge base, so that no number is ever used twice. The table
`origin` records from which version of each document it was prepared.

`switch` copies the rows in one transaction, and drops the second schema. A search sees the state
before or after it. Conversations and cached model outputs stay.

A killed process leaves the schema, and the next rebuild with the same settings continues there.
Only one process rebuilds at a time: it holds an advisory lock, in a transaction that is open as
long as the rebuild and reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from psycopg import sql

from spanwise.errors import StoreBusyError, StoreError
from spanwise.stores.postgres import schema
from spanwise.stores.postgres.address import STAGED_SUFFIX
from spanwise.stores.postgres.connections import PostgresConnections
from spanwise.stores.postgres.documents import read_row
from spanwise.stores.postgres.outputs import find_outputs
from spanwise.stores.postgres.schema import DOCUMENT_TABLES
from spanwise.stores.postgres.settings import add_settings, change_settings, read_settings
from spanwise.stores.postgres.store import PostgresStore

if TYPE_CHECKING:
    from spanwise.stores.port import DocumentEntry
    from spanwise.stores.postgres.connections import Connection
    from spanwise.types.output_cache import CachedOutput

_MIN_RESERVED = 10_000
_RESERVED_PARTS = 1_000_000
_TABLES = ("document", "chunk", "vector", *DOCUMENT_TABLES, "index_part", "part_row")
"""Tables whose rows are replaced."""


def _staged_connections(connections: PostgresConnections) -> PostgresConnections:
    staged = PostgresConnections(
        connections.address, durability="fast", schema=connections.schema + STAGED_SUFFIX
    )
    staged.vector_schema = connections.vector_schema
    staged.halfvec_oid = connections.halfvec_oid
    return staged


@contextmanager
def _locked(connections: PostgresConnections) -> Iterator[Connection]:
    """Hold the lock of rebuilds, and yield the connection that holds it.

    Raises:
        StoreBusyError: If another process is rebuilding.
        StoreError: If the address is restricted to a tenant.
    """
    if connections.address.tenant:
        raise StoreError(
            f"{connections.address} is restricted to a tenant, and a rebuild replaces the "
            "documents of all tenants; use the address without a tenant"
        )
    with connections.beside() as guard:
        guard.execute("set local idle_in_transaction_session_timeout = 0")
        if not connections.try_lock(guard, "rebuild"):
            raise StoreBusyError(
                f"another process is rebuilding {connections.address}; wait for it, or stop it and "
                "run the same command again"
            )
        yield guard


@contextmanager
def open_rebuild(
    connections: PostgresConnections, settings: Mapping[str, str]
) -> Iterator[PostgresRebuild]:
    """Open the new state of a knowledge base; continue an unfinished one with the same settings.

    Args:
        connections: Connections to the knowledge base.
        settings: All settings of the new state.

    Raises:
        StoreBusyError: If another process is rebuilding.
        StoreError: If the role may not create a schema, or the address has a tenant.
    """
    connections.check_open()
    with _locked(connections) as guard:
        staged = _staged_connections(connections)
        _prepare(connections, staged, settings)
        store = PostgresStore(staged)
        try:
            store.ensure_settings({})
            yield PostgresRebuild(connections, store, guard)
        finally:
            store.close()


def discard_rebuild(connections: PostgresConnections) -> bool:
    """Delete an unfinished new state, and return whether there was one.

    Raises:
        StoreBusyError: If another process is rebuilding.
    """
    connections.check_open()
    staged = _staged_connections(connections)
    with connections.reading() as connection:
        if not schema.schema_exists(connection, staged.schema):
            return False
    with _locked(connections), connections.writing() as connection:
        _discard(connection, staged.schema)
    return True


def _discard(connection: Connection, staged: str) -> None:
    """Delete a new state, but keep its cached model outputs: they may have cost money."""
    if schema.schema_exists(connection, staged):
        _copy_outputs(connection, staged)
    connection.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(staged)))


def _prepare(
    connections: PostgresConnections, staged: PostgresConnections, settings: Mapping[str, str]
) -> None:
    """Create the tables of a new state with some settings, unless they exist."""
    with connections.reading() as connection:
        exists = schema.schema_exists(connection, staged.schema)
    if exists:
        with staged.reading() as connection:
            if _compared(read_settings(connection)) == _compared(settings):
                return
    with connections.writing() as connection:
        _discard(connection, staged.schema)
        document, part = _reserve_numbers(connections, connection)
        connection.execute(
            "select set_config('search_path', quote_ident(%s) || ',' || quote_ident(%s), true)",
            (staged.schema, staged.vector_schema),
        )
        schema.create_staged(connection, staged.schema)
        connection.execute(
            "select setval('document_number', %s), setval('part_number', %s)", (document, part)
        )
        connection.execute("create table origin (id text not null, version text not null)")
        connection.execute("create index origin_id on origin using hash (id)")
        add_settings(connection, settings)


def _compared(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name != "packs"}


def _reserve_numbers(connections: PostgresConnections, connection: Connection) -> tuple[int, int]:
    """Reserve numbers of documents and index parts, and return the first ones."""
    connections.lock_documents(connection)
    row = connection.execute(
        "select nextval('document_number'), nextval('part_number'), (select count(*) from document)"
    ).fetchone()
    assert row is not None  # noqa: S101 - a select without a table returns one row
    document, part, documents = row
    connection.execute(
        "select setval('document_number', %s), setval('part_number', %s)",
        (document + 2 * documents + _MIN_RESERVED, part + _RESERVED_PARTS),
    )
    return int(document), int(part)


class PostgresRebuild:
    """New state of a knowledge base in PostgreSQL; implements `StoreRebuild`."""

    def __init__(
        self, connections: PostgresConnections, staged: PostgresStore, guard: Connection
    ) -> None:
        """Create the object; use `open_rebuild` instead.

        Args:
            connections: Connections to the knowledge base.
            staged: Store of the new state.
            guard: Connection that holds the lock of rebuilds.
        """
        self._connections = connections
        self._staged = staged
        self._guard = guard
        self._held: Connection | None = None

    def outdated(self) -> list[tuple[str, str]]:
        """Return id and version of the documents to prepare, see `StoreRebuild.outdated`.

        Raises:
            StoreError: If tenants use the same id.
        """
        with self._connections.reading() as connection:
            wanted = _versions(connection)
            packs = read_settings(connection).get("packs", "")
        with self._staged.connections.writing(durable=False) as connection:
            if read_settings(connection).get("packs", "") != packs:
                connection.execute("delete from origin")
                change_settings(connection, {"packs": packs})
            prepared = _origins(connection, self._staged.connections.schema)
            ids = [str(row[0]) for row in connection.execute("select id from document")]
        for document_id in ids:
            if document_id not in wanted:
                self._forget_origin(document_id)
                self._staged.delete_document(document_id)
        return [item for item in wanted.items() if prepared.get(item[0]) != item[1]]

    def version(self, document_id: str) -> str:
        """Return the current version of a document; empty if it does not exist."""
        with self._connections.reading() as connection:
            return _versions(connection, document_id).get(document_id, "")

    def put(self, entry: DocumentEntry, *, version: str) -> None:
        """Store a prepared document in the new state, see `StoreRebuild.put`."""
        with self._connections.reading() as connection:
            row = read_row(connection, int(version.partition(" ")[0]))
        tenant = None if row is None else row.tenant
        self._staged.put_document(entry, replace=True, tenant=tenant, origin=version)

    def _forget_origin(self, document_id: str) -> None:
        with self._staged.connections.writing(durable=False) as connection:
            connection.execute("delete from origin where id = %s", (document_id,))

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached model outputs of some keys, by key."""
        with self._connections.reading() as connection:
            found = find_outputs(connection, keys, tenant="")
        return found | self._staged.get_outputs(keys)

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache model outputs in the new state."""
        self._staged.put_outputs(outputs)

    def remove_output(self, key: str) -> None:
        """Remove the output of a key from the new state, but not from the current state."""
        self._staged.remove_output(key)

    @contextmanager
    def hold_writers(self) -> Iterator[None]:
        """Block writers of documents during the block, see `StoreRebuild.hold_writers`."""
        with self._connections.writing() as connection:
            self._connections.lock_documents(connection)
            self._held = connection
            try:
                yield
            finally:
                self._held = None

    def switch(self) -> None:
        """Replace the current state by the new one, see `StoreRebuild.switch`."""
        held, staged = self._held, self._staged.connections.schema
        if held is None:
            raise StoreError("the state can be switched only inside of `hold_writers`; call it so")
        self._guard.execute("select 1")  # the lock of rebuilds is still held
        self._staged.close()
        if _versions(held) != _origins(held, staged):
            raise StoreError(
                f"the new state of {self._connections.address} lacks documents; prepare those of "
                "`outdated`"
            )
        _replace_rows(held, staged)
        _copy_outputs(held, staged)
        held.execute(sql.SQL("drop schema {} cascade").format(sql.Identifier(staged)))


def _versions(connection: Connection, document_id: str | None = None) -> dict[str, str]:
    """Return the version of each document by id, oldest first.

    It changes with the number, which a replacement changes, and with any change in place.

    Raises:
        StoreError: If tenants use the same id.
    """
    rows = connection.execute(
        "select id, number, changed from document where id = coalesce(%s, id) order by number",
        (document_id,),
    ).fetchall()
    versions = {name: f"{number} {changed}" for name, number, changed in rows}
    if len(versions) < len(rows):
        raise StoreError(
            "several tenants have documents with the same id, which a rebuild cannot tell apart; "
            "copy the documents of each tenant to a new knowledge base"
        )
    return versions


def _origins(connection: Connection, staged: str) -> dict[str, str]:
    """Return the version from which each document of a new state was prepared, by id."""
    rows = connection.execute(
        sql.SQL("select origin.id, version from {0}.origin join {0}.document using (id)").format(
            sql.Identifier(staged)
        )
    )
    return {str(name): str(version) for name, version in rows}


def _replace_rows(connection: Connection, staged: str) -> None:
    """Replace all documents and the settings, inside a write transaction.

    Raises:
        StoreError: If a document number of the new state was used before.
    """
    new = sql.Identifier(staged)
    used = connection.execute(
        sql.SQL(
            "select exists (select from change where document between"
            " (select min(number) from {0}.document) and (select max(number) from {0}.document))"
        ).format(new)
    ).fetchone()
    if used is None or used[0]:
        raise StoreError(
            "too many documents changed during the rebuild; discard it, and rebuild again"
        )
    for table in _TABLES:
        connection.execute(sql.SQL("delete from {}").format(sql.Identifier(table)))
        connection.execute(
            sql.SQL("insert into {} select * from {}").format(
                sql.Identifier(table), sql.Identifier(staged, table)
            )
        )
    staged_settings = connection.execute(
        sql.SQL("select name, value from {}.setting").format(new)
    ).fetchall()
    change_settings(connection, dict(staged_settings))


def _copy_outputs(connection: Connection, staged: str) -> None:
    """Copy the cached model outputs that the target lacks, inside a write transaction."""
    connection.execute(
        sql.SQL("insert into output select * from {}.output on conflict do nothing").format(
            sql.Identifier(staged)
        )
    )
