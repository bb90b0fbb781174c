"""Store in PostgreSQL with pgvector.

Rules:
    A document is written in one transaction. Writers of documents take turns on an advisory lock,
        so document numbers become visible in ascending order.
    A search is one read transaction (see `index`).
    The tables are the source of truth. The index parts can be deleted at any time and are rebuilt.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spanwise.errors import (
    ConflictError,
    OptionError,
    StoreError,
    StorePermissionError,
    StoreRebuiltError,
    StoreUnavailableError,
)
from spanwise.stores.entries import (
    check_changeable,
    check_entry,
    check_origin,
    check_packs,
    check_sections,
    check_turn,
    check_update,
)
from spanwise.stores.postgres import conversations, documents, schema, signals
from spanwise.stores.postgres import outputs as output_rows
from spanwise.stores.postgres.address import PostgresAddress, parse_address
from spanwise.stores.postgres.connections import PostgresConnections
from spanwise.stores.postgres.fields import add_former_fields
from spanwise.stores.postgres.filters import matching_documents
from spanwise.stores.postgres.index import PostgresIndex
from spanwise.stores.postgres.settings import (
    ExpectedSettings,
    add_settings,
    change_settings,
    read_settings,
)
from spanwise.stores.postgres.updates import update_rows
from spanwise.stores.postgres.uploads import PostgresUploads
from spanwise.stores.postgres.values import texts
from spanwise.types import WholeDocument
from spanwise.types.output_cache import CachedOutput

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from spanwise.filters import Filter
    from spanwise.stores.port import (
        Accept,
        DocumentEntry,
        DocumentUpdate,
        JointSnapshot,
        PutOutcome,
        StoreRebuild,
    )
    from spanwise.stores.postgres.connections import Connection
    from spanwise.stores.postgres.documents import DocumentRow
    from spanwise.types import (
        CheckReport,
        Chunk,
        Document,
        DocumentRecord,
        Durability,
        MetadataValue,
        Section,
        Thread,
        ThreadInfo,
        Turn,
    )

_Result = TypeVar("_Result")


def open_postgres(
    address: str | PostgresAddress, *, create: bool = True, durability: Durability = "full"
) -> PostgresStore:
    """Open the knowledge base of an address.

    Args:
        address: Address, as `postgresql://user@host/database?schema=name&tenant=name`.
        create: Whether to create a missing knowledge base.
        durability: "full" makes a write durable when it returns; "fast" lets it return earlier.

    Raises:
        FormatError: If the knowledge base is missing and `create` is False, or is of a newer
            version.
        OptionError: If the address is malformed, or the role bypasses the tenant of the address.
        StoreError: If the server cannot be reached, lacks pgvector, or refuses a statement.
    """
    parsed = parse_address(address) if isinstance(address, str) else address
    connections = PostgresConnections(parsed, durability=durability)
    schema.prepare(connections, create=create)
    return PostgresStore(connections)


_logger = logging.getLogger("spanwise")


class _Grouping(threading.local):
    """Thread-local flag: whether the thread groups its commits."""

    is_open = False


class PostgresStore:
    """Documents in PostgreSQL; implements `Store`. Safe for several threads and processes.

    The settings "dimension" (of the vectors, "0" for none) and "reference_terms" (typical length of
    a chunk in terms, see `core.ranking.bm25`) must be recorded before the first document.
    """

    def __init__(self, connections: PostgresConnections) -> None:
        """Create the store; use `open_postgres` instead.

        Args:
            connections: Connections to prepared tables.
        """
        self._connections = connections
        self._tenant = connections.address.tenant
        self._expected = ExpectedSettings(connections.address.name)
        self._index = PostgresIndex(connections, expected=self._expected)
        self._grouping = _Grouping()
        self._has_warned = False

    def __repr__(self) -> str:
        return f"PostgresStore({self.name!r})"

    @property
    def name(self) -> str:
        """Address of the knowledge base, without passwords."""
        return self._connections.address.name

    @property
    def connections(self) -> PostgresConnections:
        """Connections to the knowledge base."""
        return self._connections

    @property
    def rebuilt(self) -> bool:
        """Whether the knowledge base was rebuilt since this store was opened."""
        if self._connections.closed:
            return False
        try:
            with self._connections.reading() as connection:
                self._expected.check_revision(connection)
        except StoreRebuiltError:
            return True
        return False

    def reopened(self) -> PostgresStore:
        """Return a new store of the same knowledge base; this one keeps no unused connection."""
        connections = self._connections
        connections.retire()
        return open_postgres(connections.address, create=False, durability=connections.durability)

    def open_rebuild(self, settings: Mapping[str, str]) -> AbstractContextManager[StoreRebuild]:
        """Open the new state of a rebuild, see `Store.open_rebuild`."""
        from spanwise.stores.postgres.rebuild import open_rebuild  # imports this module

        return open_rebuild(self._connections, settings)

    def discard_rebuild(self) -> bool:
        """Delete the new state of an unfinished rebuild; return whether there was one."""
        from spanwise.stores.postgres.rebuild import discard_rebuild

        return discard_rebuild(self._connections)

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Record settings that are not recorded yet, and return all recorded settings."""
        with self._connections.reading() as connection:
            recorded = read_settings(connection)
        if not settings.keys() <= recorded.keys():
            with self._writing() as connection:
                add_settings(connection, settings)
                recorded = read_settings(connection)
        self._expected.use(recorded)
        return recorded

    def record_settings(self, settings: Mapping[str, str]) -> None:
        """Record settings and overwrite existing values.

        Raises:
            OptionError: If a setting is fixed once recorded.
        """
        check_changeable(settings)
        with self._writing() as connection:
            change_settings(connection, settings)

    def record_packs(
        self, packs: str, make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]]
    ) -> None:
        """Replace the recorded packs and the signals of all documents in one transaction."""
        with self._writing() as connection:
            self._connections.lock_documents(connection)
            change_settings(connection, {"packs": packs})
            signals.renew_signals(connection, make)

    def list_signals(self) -> dict[str, tuple[str, ...]]:
        """Return the sorted landmarks of each document with signals, by document id."""
        with self._connections.reading() as connection:
            return signals.list_signals(connection)

    def _writing(self, *, durable: bool = True) -> AbstractContextManager[Connection]:
        """Open a write transaction; inside `group_commits` it does not wait for the disk."""
        return self._connections.writing(durable=durable and not self._grouping.is_open)

    def _write(self, action: Callable[[Connection], _Result]) -> _Result:
        """Return the result of an action that holds the lock of documents."""

        def locked(connection: Connection) -> _Result:
            self._connections.lock_documents(connection)
            return action(connection)

        return self._connections.write(locked, durable=not self._grouping.is_open)

    @contextmanager
    def group_commits(self) -> Iterator[Callable[[], None]]:
        """Group the commits of this thread, and yield a function that flushes them to disk.

        The end of the block flushes them too. The function raises StoreUnavailableError, each time,
        if a connection has broken in the block: the server may have crashed, and commits that were
        not flushed are lost then.
        """
        known = self._connections.breaks

        def flush() -> None:
            self._connections.flush()
            if self._connections.breaks > known and self._connections.durability == "full":
                raise StoreUnavailableError(
                    f"the connection to {self.name} broke, and the last documents may be lost; "
                    "add them again: those that are stored are found unchanged"
                )

        self._grouping.is_open = True
        try:
            yield flush
        finally:
            self._grouping.is_open = False
            flush()

    def _chosen_tenant(self, document_id: str, metadata: Mapping[str, MetadataValue]) -> str:
        """Return the tenant of a document to write.

        Raises:
            OptionError: If its metadata name another tenant than the address.
        """
        named = documents.tenant_of(metadata)
        if self._tenant and documents.TENANT_FIELD in metadata and named != self._tenant:
            raise OptionError(
                f"the document {document_id!r} cannot be stored: its metadata name the tenant "
                f"{metadata[documents.TENANT_FIELD]!r}, and {self.name} is restricted to "
                f"{self._tenant!r}"
            )
        return self._tenant or named

    def put_document(
        self,
        entry: DocumentEntry,
        *,
        replace: bool = False,
        accept: Accept | None = None,
        tenant: str | None = None,
        origin: str | None = None,
    ) -> PutOutcome:
        """Store a document in one transaction and replace a document with the same id.

        Args:
            entry: Document.
            replace: Whether a document from another source root may be replaced.
            accept: See `Store.put_document`.
            tenant: Tenant of the document; None for that of the address or of its metadata.
            origin: In the new state of a rebuild, the version from which the document was prepared.

        Raises:
            ConflictError: If the id belongs to another source root and `replace` is False, or if
                the signals were computed with packs other than the recorded ones.
            OptionError: If the entry is inconsistent, or names another tenant than the address.
            StoreRebuiltError: If the knowledge base was rebuilt since this store was opened.
            StoreFullError: If the disk of the server is full; nothing of the document is stored.
            StoreBusyError: If another transaction holds the lock of documents for too long.
        """
        check_entry(entry, dimension=self._dimension())
        named = self._chosen_tenant(entry.document.id, entry.document.metadata)
        tenant = named if tenant is None else tenant
        deleted = 0

        def put(connection: Connection) -> PutOutcome:
            nonlocal deleted
            state = documents.start_write(
                connection, entry.document.id, tenant=tenant, lock=self._connections.documents_lock
            )
            self._expected.check(state.settings)
            check_packs(entry, recorded=state.settings.get("packs", ""))
            before = state.row
            if before is not None and not replace:
                check_origin(entry.document.id, before.source_root, entry.document.source_root)
            if accept is not None and not accept(None if before is None else before.record()):
                return "refused"
            if before is not None:
                documents.delete_rows(connection, before)
                deleted = before.chunks
            documents.insert_rows(
                connection,
                entry,
                state.number,
                tenant=tenant,
                halfvec_oid=self._connections.halfvec_oid,
            )
            if origin is not None:
                documents.record_origin(connection, entry.document.id, origin)
            return "added" if before is None else "replaced"

        try:
            outcome = self._connections.write(put, durable=not self._grouping.is_open)
        except UnicodeEncodeError as error:
            around = error.object[max(0, error.start - 20) : error.end + 20]
            raise OptionError(
                f"the document {entry.document.id!r} cannot be stored: {around!r} contains a lone "
                "surrogate; replace it"
            ) from error
        if outcome != "refused":
            self._index.added(len(entry.chunks) + deleted)
        return outcome

    def _dimension(self) -> int:
        """Return the dimension of the vectors that callers of this store prepare."""
        known = self._expected.known
        if known is None:
            with self._connections.reading() as connection:
                known = self._expected.check(read_settings(connection))
        return known.dimension

    def flush_index(self) -> bool:
        """Write pending documents to index parts; return whether this process did so."""
        return self._index.flush()

    def flushes_elsewhere(self) -> AbstractContextManager[None]:
        """Write the index in another process during the block, see `IndexedStore`."""
        return self._index.flushes_elsewhere()

    def delete_document(self, document_id: str, *, record: DocumentRecord | None = None) -> bool:
        """Delete a document, see `Store.delete_document`; return whether it was deleted."""

        def delete(connection: Connection) -> int | None:
            row = documents.find_row(connection, document_id)
            if row is None or record not in (None, row.record()):
                return None
            documents.delete_rows(connection, row)
            return row.chunks

        deleted = self._write(delete)
        if deleted is not None:
            self._index.added(deleted)
        return deleted is not None

    def update_document(
        self, document_id: str, update: DocumentUpdate, *, record: DocumentRecord
    ) -> bool:
        """Change title and metadata, see `Store.update_document`; return whether it was changed.

        If the metadata named the tenant of the document, and no longer do, it belongs to no tenant.

        Raises:
            OptionError: If the update does not fit the document, its metadata cannot be stored, or
                they name another tenant than the address.
            ConflictError: If the metadata name a tenant that has a document with this id.
            StoreRebuiltError: If the update affects searches, and the knowledge base was rebuilt
                since this store was opened.
        """
        check_update(document_id, update)
        self._chosen_tenant(document_id, update.metadata)

        def change(connection: Connection) -> int | None:
            if update.searched is not None:  # prepared with the settings of this store
                self._expected.check_revision(connection)
            row = documents.find_row(connection, document_id)
            if row is None or record != row.record():
                return None
            if update.searched is not None:
                sections = documents.read_sections(connection, row.number)
                check_sections(document_id, update, sections)
            tenant = self._updated_tenant(connection, row, update)
            return update_rows(connection, row, update, tenant=tenant)

        rows = self._write(change)
        if rows:
            self._index.added(rows)
        return rows is not None

    def _updated_tenant(
        self, connection: Connection, row: DocumentRow, update: DocumentUpdate
    ) -> str:
        """Return the tenant of a document after an update.

        Raises:
            ConflictError: If another document of this tenant has its id.
        """
        named = documents.tenant_of(update.metadata)
        if self._tenant or named == documents.tenant_of(row.record().metadata):
            return row.tenant
        if named != row.tenant and documents.find_row(connection, row.id, tenant=named):
            raise ConflictError(
                f"the document {row.id!r} cannot be moved to the tenant {named!r}, which has a "
                "document with this id; remove or rename one of them",
                source=row.id,
                code="conflict",
            )
        return named

    def record_former_fields(self, names: Iterable[str]) -> None:
        """Record names of metadata fields that documents had earlier; other names stay."""
        with self._writing() as connection:
            add_former_fields(connection, names, tenant=self._tenant)

    def _read(
        self, document_id: str, read: Callable[[Connection, DocumentRow], _Result]
    ) -> _Result | None:
        """Return the result of `read` for the row of a document; None if it does not exist."""
        with self._connections.reading() as connection:
            row = documents.find_row(connection, document_id)
            return None if row is None else read(connection, row)

    def get_record(self, document_id: str) -> DocumentRecord | None:
        """Return the record of a document, or None."""
        return self._read(document_id, lambda _, row: row.record())

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        """Return the records of all documents that match a filter, ordered by id.

        Raises:
            FilterError: If the filter names a field that no document has or had, or compares a
                field with a value of another type.
        """
        with self._connections.reading() as connection:
            numbers = None if where is None else matching_documents(connection, where)
            return [row.record() for row in documents.read_rows(connection, numbers)]

    def last_change(self) -> str:
        """Return a text that differs after each change of the documents, by any process."""
        with self._connections.reading() as connection:
            row = connection.execute("select coalesce(max(seq), 0) from change").fetchone()
        return "none" if row is None else str(row[0])

    def ids_from(self, roots: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the documents from some source roots, ascending, by source root."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                "select id, source_root from document where source_root = any(%s::text[])",
                (texts(list(roots)),),
            ).fetchall()
        ids: dict[str, list[str]] = {}
        for document_id, root in sorted(rows):
            ids.setdefault(root, []).append(document_id)
        return ids

    def get_document(self, document_id: str) -> Document | None:
        """Return a document as it was stored, or None."""
        return self._read(document_id, documents.read_document)

    def get_whole(self, document_id: str) -> WholeDocument | None:
        """Return a document with its record and sections, read consistently, or None."""

        def read(connection: Connection, row: DocumentRow) -> WholeDocument:
            return WholeDocument(
                record=row.record(),
                document=documents.read_document(connection, row),
                sections=documents.read_sections(connection, row.number),
            )

        return self._read(document_id, read)

    def read_entry(self, document_id: str) -> DocumentEntry | None:
        """Return a document with all its parts, see `Store.read_entry`, or None."""

        def read(connection: Connection, row: DocumentRow) -> DocumentEntry:
            recorded = read_settings(connection)
            return documents.read_entry(
                connection,
                row,
                dimension=self._expected.check(recorded).dimension,
                packs=recorded.get("packs", ""),
            )

        return self._read(document_id, read)

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return all chunks of a document; empty if there is no such document."""

        def read(connection: Connection, row: DocumentRow) -> tuple[Chunk, ...]:
            return documents.read_chunks(connection, row.number)

        return self._read(document_id, read) or ()

    def get_sections(self, document_id: str) -> tuple[Section, ...]:
        """Return all sections of a document; empty if there is no such document."""

        def read(connection: Connection, row: DocumentRow) -> tuple[Section, ...]:
            return documents.read_sections(connection, row.number)

        return self._read(document_id, read) or ()

    def get_embedded(
        self, document_id: str
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
        """Return the chunks and stored vectors of a document, read consistently, or None."""

        def read(
            connection: Connection, row: DocumentRow
        ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
            dimension = self._expected.check(read_settings(connection)).dimension
            vectors = documents.read_vectors(connection, row.number, dimension=dimension)
            chunks = documents.read_chunks(connection, row.number)
            return None if vectors is None else (chunks, vectors.astype(np.float32))

        return self._read(document_id, read)

    def snapshot(self) -> AbstractContextManager[JointSnapshot]:
        """Open a snapshot; close it soon, because it holds a read transaction."""
        return self._index.open_snapshot()

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached model outputs of some keys, by key."""
        with self._connections.reading() as connection:
            return output_rows.find_outputs(connection, keys, tenant=self._tenant)

    def list_outputs(self, *, after: str = "", limit: int = 100) -> list[CachedOutput]:
        """Return cached model outputs, see `Store.list_outputs`."""
        with self._connections.reading() as connection:
            return output_rows.read_outputs(
                connection, after=after, limit=limit, tenant=self._tenant
            )

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache model outputs, except for keys that exist; a role that only reads caches nothing.

        Raises:
            StoreError: If the outputs cannot be written.
        """
        self._change_cache(
            lambda connection: output_rows.insert_outputs(connection, outputs, tenant=self._tenant)
        )

    def remove_output(self, key: str) -> None:
        """Remove the output of a key, if there is one; a role that only reads removes nothing."""
        self._change_cache(
            lambda connection: output_rows.delete_output(connection, key, tenant=self._tenant)
        )

    def _change_cache(self, change: Callable[[Connection], object]) -> None:
        """Change the cache of model outputs, if the role may do so."""
        try:
            with self._writing(durable=False) as connection:
                change(connection)
        except StorePermissionError:
            if not self._has_warned:
                _logger.warning("%s may only be read: model outputs are not cached", self.name)
            self._has_warned = True

    def count_outputs(self) -> tuple[int, int]:
        """Return the number of cached model outputs and their size in bytes."""
        with self._connections.reading() as connection:
            return output_rows.count_outputs(connection, tenant=self._tenant)

    def forget_outputs(self) -> int:
        """Delete all cached model outputs, and return their number."""
        with self._writing() as connection:
            return output_rows.delete_outputs(connection, tenant=self._tenant)

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        """Append a turn to a conversation in one transaction; the first turn creates it.

        Raises:
            OptionError: If the id or the question contains a lone surrogate.
            StoreError: If the turn cannot be written.
        """
        check_turn(thread_id, turn)
        with self._writing() as connection:
            conversations.append_turn(connection, thread_id, turn, tenant=self._tenant)

    def get_thread(self, thread_id: str) -> Thread | None:
        """Return a conversation with its turns in order, or None.

        Raises:
            FormatError: If a turn is missing or damaged.
        """
        with self._connections.reading() as connection:
            return conversations.read_thread(connection, thread_id, tenant=self._tenant)

    def list_threads(self) -> list[ThreadInfo]:
        """Return all conversations, latest turn first; ties by id."""
        with self._connections.reading() as connection:
            return conversations.read_threads(connection, tenant=self._tenant)

    def delete_thread(self, thread_id: str) -> bool:
        """Delete a conversation, and return whether it existed."""
        with self._writing() as connection:
            return conversations.delete_thread(connection, thread_id, tenant=self._tenant)

    def reclaimable_bytes(self) -> int:
        """Return the size of deleted documents in the index, in bytes: an estimate."""
        return self._index.reclaimable_bytes()

    def compact(self) -> None:
        """Write pending index parts and merge them.

        Raises:
            StoreError: If the knowledge base cannot be written.
        """
        self._connections.check_open()
        self._index.compact()

    def check(self, *, repair: bool = False) -> CheckReport:
        """Return the defects of the knowledge base; rebuild derived data if `repair` is True.

        Raises:
            StoreError: If the knowledge base cannot be read, or cannot be written for a repair.
        """
        from spanwise.stores.postgres.check import check_store

        self._connections.check_open()
        return check_store(self._connections, self._index, repair=repair)

    def backup(
        self, target: Path, *, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Raise an error, because PostgreSQL has its own backup tools.

        Raises:
            StoreError: Always.
        """
        _ = on_progress
        self._connections.check_open()
        raise StoreError(
            f"{self.name} cannot be copied to {target} by a backup; use `pg_dump --schema "
            f"{self._connections.schema}` on its database, or `spanwise copy {self.name} {target}`"
        )

    def grant_tenant(self, tenant: str, *, role: str) -> None:
        """Let a role of the server read and write the documents of a tenant.

        Args:
            tenant: Tenant.
            role: Existing role, which does not own the tables.

        Raises:
            OptionError: If the tenant is empty.
            StoreError: If the role does not exist, or this role does not own the tables.
        """
        with self._writing() as connection:
            schema.grant_tenant(connection, self._connections.schema, tenant=tenant, role=role)

    def revoke_tenant(self, tenant: str, *, role: str) -> bool:
        """Revoke a tenant from a role; return whether the role had it."""
        with self._writing() as connection:
            deleted = connection.execute(
                "delete from tenant_role where role = %s and tenant = %s", (role, tenant)
            )
            return deleted.rowcount > 0

    def list_tenants(self) -> list[tuple[str, str]]:
        """Return the granted tenants with their roles, ascending."""
        with self._connections.reading() as connection:
            rows = connection.execute("select tenant, role from tenant_role order by 1, 2")
            return [(str(tenant), str(role)) for tenant, role in rows]

    def read_file(self, record: DocumentRecord) -> bytes | None:
        """Return the uploaded file of a document, see `SharedStore.read_file`."""
        return PostgresUploads(self._connections).read_original(record)

    def check_format(self) -> None:
        """Check that this program can use the tables, see `SharedStore.check_format`."""
        schema.check_format(self._connections)

    def close(self) -> None:
        """Write pending index data and release all resources; later calls raise StoreError."""
        if self._connections.closed:
            return
        self._index.close()
        self._connections.close()
