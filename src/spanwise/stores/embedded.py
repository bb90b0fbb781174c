"""Default store: a folder `NAME.kb/` with a SQLite database and a derived index.

Rules:
    `truth.db` (SQLite) is the source of truth; `index/` can be deleted at any time and is rebuilt.
    A document is written in one transaction; the index is updated afterwards.
    A write is durable when it returns, unless its thread groups commits (see `disk.LogSync`).
    Any number of threads and processes may read and write. Writers of one process take turns on a
    lock here, writers of different processes on SQLite's lock. After a fork, open the store again.
    In a read-only folder everything except writing works.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spanwise import types
from spanwise.errors import OptionError, StoreError, StoreRebuiltError
from spanwise.stores import database
from spanwise.stores.columns import MetadataColumns
from spanwise.stores.connections import (
    ConnectionPool,
    cancellable,
    open_reader_pool,
    open_writer_pool,
)
from spanwise.stores.conversations import append_turn, delete_thread, read_thread, read_threads
from spanwise.stores.disk import LogSync, make_private
from spanwise.stores.entries import (
    check_changeable,
    check_entry,
    check_origin,
    check_packs,
    check_sections,
    check_turn,
    check_update,
)
from spanwise.stores.folder import (
    DATABASE_NAME,
    INDEX_NAME,
    check_database_file,
    make_folder,
    may_write,
)
from spanwise.stores.index import Index
from spanwise.stores.outputs import (
    count_outputs,
    delete_output,
    delete_outputs,
    find_outputs,
    insert_outputs,
    read_outputs,
)
from spanwise.stores.signals import list_signals, renew_signals
from spanwise.stores.snapshot import EmbeddedSnapshot, KnownDocuments
from spanwise.stores.space import read_space, reclaim, reclaim_all, reclaim_step
from spanwise.stores.updates import update_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.filters import Filter
    from spanwise.stores.flush_process import FlushProcess
    from spanwise.stores.port import (
        Accept,
        DocumentEntry,
        DocumentUpdate,
        PutOutcome,
        StoreRebuild,
    )
    from spanwise.types import (
        CheckReport,
        Chunk,
        Document,
        DocumentRecord,
        Durability,
        Section,
        Thread,
        ThreadInfo,
        Turn,
        WholeDocument,
    )
    from spanwise.types.listener import ProgressCallback
    from spanwise.types.output_cache import CachedOutput


_Result = TypeVar("_Result")
_logger = logging.getLogger("spanwise")

_FLUSH_ROWS = 5_000
_FOLLOW_ROWS = 500  # bounds what a search must build
_RECLAIM_SECONDS = 2.0
_FEW = 8  # below one document in eight, single records are read instead of all of them


def open_embedded(
    path: Path, *, create: bool = True, durability: Durability = "full"
) -> EmbeddedStore:
    """Open the knowledge base in a folder.

    In a read-only folder the store reads one state of the folder, and raises StoreChangedError
    after a change. `readonly.open_folder` returns a store that follows changes.

    Args:
        path: Folder, usually `NAME.kb`.
        create: Whether to create a missing knowledge base; the folder must be missing or empty.
        durability: "full" makes a write durable when it returns; "fast" leaves that to the
            operating system.

    Raises:
        FormatError: If the folder contains other files, is missing or empty and `create` is False,
            or contains a knowledge base of a newer version or one whose database was emptied.
        StoreError: If the knowledge base cannot be created or opened.
    """
    database_path = path / DATABASE_NAME
    try:
        if database_path.exists():
            check_database_file(path)
        else:
            make_folder(path, create=create)
        writable = may_write(path) and (not database_path.exists() or may_write(database_path))
        if writable and not database_path.exists():
            make_private(database_path)
    except OSError as error:
        raise StoreError(f"the knowledge base {path} cannot be made or opened: {error}") from error
    if not writable:
        return EmbeddedStore(path, open_reader_pool(database_path))
    pool = open_writer_pool(database_path, durability=durability)
    forced = durability == "full" and pool.has_log
    return EmbeddedStore(path, pool, log_sync=LogSync(database_path) if forced else None)


class _Grouping(threading.local):
    """Thread-local flag: whether the thread groups its commits."""

    is_open = False


class EmbeddedStore:
    """Documents in a folder; implements `Store`. Safe for several threads and processes.

    The settings "dimension" (of the vectors, "0" for none) and "reference_terms" (typical length of
    a chunk in terms, see `core.ranking.bm25`) must be recorded before the first document.
    """

    def __init__(
        self, path: Path, pool: ConnectionPool, *, log_sync: LogSync | None = None
    ) -> None:
        """Create the store of a folder; use `open_embedded` instead.

        Args:
            path: Folder of the knowledge base.
            pool: Prepared connection pool of its database.
            log_sync: Object that flushes commits to disk; None if SQLite does, or if the folder is
                read-only.
        """
        self._path = path
        self._pool = pool
        self._index = Index(path / INDEX_NAME, pool)
        self._columns = MetadataColumns()
        self._known = KnownDocuments()
        self._write_lock = threading.Lock()
        self._log_sync = log_sync
        self._grouping = _Grouping()
        self._unflushed_rows = 0
        self._unfollowed_rows = 0
        self._next_flush_rows = _FLUSH_ROWS
        self._has_warned = False
        self._has_freed = False
        self._flush_process: FlushProcess | None = None

    @property
    def writable(self) -> bool:
        """Whether the folder can be written."""
        return self._pool.writable

    @property
    def is_current(self) -> bool:
        """Whether a read of this store would see every commit made so far."""
        return self._pool.is_current

    @property
    def rebuilt(self) -> bool:
        """Whether the knowledge base was rebuilt since this store was opened."""
        if self._pool.closed:
            return False
        try:
            with self._pool.lend() as connection:
                self._index.check_revision(connection)
        except StoreRebuiltError:
            return True
        return False

    def reopened(self) -> EmbeddedStore:
        """Return a new store of the same folder; this one keeps no unused file open."""
        self.retire()
        return open_embedded(self._path, create=False, durability=self._pool.durability)

    def retire(self) -> None:
        """Close all files that no read uses, now and later. A new store replaces this one."""
        self.release()
        self._pool.retire()

    def release(self) -> None:
        """Close the index parts that no search uses."""
        self._index.release()

    def use_settings_of(self, other: EmbeddedStore) -> None:
        """Expect the settings that another store of the same folder expects."""
        self._index.use_settings_of(other._index)

    def open_rebuild(self, settings: Mapping[str, str]) -> AbstractContextManager[StoreRebuild]:
        """Open the new state of a rebuild, see `Store.open_rebuild`."""
        from spanwise.stores.rebuild import open_rebuild  # imports this module

        self._check_writable()
        return open_rebuild(self, self._path, settings)

    def discard_rebuild(self) -> bool:
        """Delete the new state of an unfinished rebuild; return whether there was one."""
        from spanwise.stores.rebuild import discard_rebuild

        self._check_writable()
        return discard_rebuild(self, self._path)

    def supersede(self) -> None:
        """Close the store because a new store replaces it; running reads must be retried."""
        self._pool.supersede()

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Record settings that are not recorded yet, and return all recorded settings."""
        with self._pool.lend() as connection:
            recorded = database.read_settings(connection)
        if not settings.keys() <= recorded.keys():
            with self._writing() as connection:
                database.add_settings(connection, settings)
                recorded = database.read_settings(connection)
        self._index.use_settings(recorded)
        return recorded

    def record_settings(self, settings: Mapping[str, str]) -> None:
        """Record settings and overwrite existing values.

        Raises:
            OptionError: If a setting is fixed once recorded.
        """
        check_changeable(settings)
        with self._writing() as connection:
            database.change_settings(connection, settings)

    def record_packs(
        self, packs: str, make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]]
    ) -> None:
        """Replace the recorded packs and the signals of all documents in one transaction."""
        with self._writing() as connection:
            database.change_settings(connection, {"packs": packs})
            renew_signals(connection, make)

    def list_signals(self) -> dict[str, tuple[str, ...]]:
        """Return the sorted landmarks of each document with signals, by document id."""
        with self._reading() as connection:
            return list_signals(connection)

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Open a write transaction; it is committed on exit and rolled back on error.

        Args:
            durable: Whether to flush the commit to disk at once; ignored inside `group_commits`.
        """
        self._check_writable()
        with self._write_lock, self._pool.lend() as connection:
            connection.execute("begin immediate")
            yield connection
            self._check_place()
            connection.execute("commit")
        if durable and not self._grouping.is_open:
            self._sync()

    def _sync(self) -> None:
        if self._log_sync is not None:
            self._log_sync.sync()

    @contextmanager
    def group_commits(self) -> Iterator[Callable[[], None]]:
        """Group the commits of this thread, and yield a function that flushes them to disk.

        The end of the block flushes them too.
        """
        self._grouping.is_open = True
        try:
            yield self._sync
        finally:
            self._grouping.is_open = False
            self._sync()

    def _check_place(self) -> None:
        """Check that the open database is still the one in the folder.

        SQLite keeps writing to a file that was deleted or moved away.

        Raises:
            StoreError: If it is another file, or there is none.
        """
        if not self._pool.is_current:
            raise StoreError(
                f"the knowledge base {self._path} was removed, moved or replaced while it was "
                "open, so nothing is stored; open it again"
            )

    def _check_writable(self) -> None:
        self._pool.check_open()
        if not self._pool.writable:
            raise StoreError(
                f"the folder {self._path} cannot be written; copy the knowledge base elsewhere"
            )

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        """Store a document in one transaction and replace a document with the same id.

        Raises:
            ConflictError: If the id belongs to another source root and `replace` is False, or if
                the signals were computed with packs other than the recorded ones.
            OptionError: If the entry is inconsistent.
            StoreRebuiltError: If the knowledge base was rebuilt since this store was opened.
            StoreFullError: If the disk is full; nothing of the document is stored.
            StoreBusyError: If another process holds the write lock for too long.
        """
        with self._pool.lend() as connection:
            settings = self._index.settings(connection)
        check_entry(entry, dimension=settings.dimension)
        with self._writing() as connection:
            self._index.check_revision(connection)
            check_packs(entry, recorded=database.read_packs(connection))
            if not _accepts(connection, entry.document, accept, replace=replace):
                return "refused"
            deleted = _delete_earlier(connection, entry.document)
            _insert(connection, entry)
            self._unflushed_rows += len(entry.chunks) + (deleted or 0)
            self._unfollowed_rows += len(entry.chunks)
        if len(entry.chunks) < _FLUSH_ROWS:  # a huge one is indexed after the caller frees it
            self._follow()
        if deleted is None:
            return "added"
        self._reclaim_step()
        return "replaced"

    def _follow(self) -> None:
        """Update the index if there are many new chunks; a failed update is retried later."""
        with self._write_lock:
            rows = self._unflushed_rows
            flush_due = rows >= self._next_flush_rows
            if flush_due:
                self._next_flush_rows = rows + _FLUSH_ROWS
            follow_due = self._unfollowed_rows >= _FOLLOW_ROWS
            if follow_due:
                self._unfollowed_rows = 0
        if follow_due:
            self._index.follow()
        process = self._flush_process
        if flush_due and ((process is not None and process.start()) or self._index.flush()):
            with self._write_lock:
                self._unflushed_rows -= rows
                self._next_flush_rows = _FLUSH_ROWS

    def flush_index(self, *, wait_seconds: float = 0.0) -> bool:
        """Write pending documents to the index, see `Index.flush`."""
        return self._index.flush(wait_seconds=wait_seconds)

    @contextmanager
    def flushes_elsewhere(self) -> Iterator[None]:
        """Write the index in another process during the block, so that this one only adds rows.

        The end of the block waits until all its documents are in the index.
        """
        from spanwise.stores.flush_process import folder_flush_process

        process = folder_flush_process(self._path)
        self._flush_process = process
        try:
            yield
            with self._write_lock:
                rows = self._unflushed_rows
            self._flush_process = None
            if process.finish():
                with self._write_lock:
                    self._unflushed_rows -= rows
        finally:
            self._flush_process = None
            process.close()

    def delete_document(self, document_id: str, *, record: DocumentRecord | None = None) -> bool:
        """Delete a document, see `Store.delete_document`; return whether it was deleted."""
        with self._writing() as connection:
            row = database.find_document(connection, document_id)
            if row is None:
                return False
            if record is not None and record != database.read_record(connection, row[0]):
                return False
            self._unflushed_rows += database.delete_rows(connection, row[0])
        self._follow()
        self._reclaim_step()
        return True

    def update_document(
        self, document_id: str, update: DocumentUpdate, *, record: DocumentRecord
    ) -> bool:
        """Change title and metadata, see `Store.update_document`; return whether it was changed.

        Raises:
            OptionError: If the update does not fit the document, or its metadata cannot be stored.
            StoreRebuiltError: If the update affects searches, and the knowledge base was rebuilt
                since this store was opened.
        """
        check_update(document_id, update)
        with self._writing() as connection:
            if update.searched is not None:  # prepared with the settings of this store
                self._index.check_revision(connection)
            row = database.find_document(connection, document_id)
            if row is None or record != database.read_record(connection, row[0]):
                return False
            check_sections(document_id, update, database.read_sections(connection, row[0]))
            rows = update_rows(connection, row[0], update)
            self._unflushed_rows += rows
            self._unfollowed_rows += rows
        self._follow()
        return True

    def _reclaim_step(self) -> None:
        """Return a bounded part of the free space to the disk, if there is much of it.

        The change before it is committed already, so a failure is logged only.
        """
        self._has_freed = True
        try:
            with self._write_lock, self._pool.lend() as connection:
                reclaim_step(connection)
        except StoreError as error:
            _logger.debug("free space of %s is not returned to the disk: %s", self._path, error)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Open a read transaction on the database, without the index."""
        with self._pool.lend() as connection:
            connection.execute("begin")
            yield connection

    def _read(
        self, document_id: str, read: Callable[[sqlite3.Connection, int], _Result]
    ) -> _Result | None:
        """Return the result of `read` for the number of a document; None if it does not exist."""
        with self._reading() as connection:
            found = database.find_document(connection, document_id)
            return None if found is None else read(connection, found[0])

    def get_record(self, document_id: str) -> DocumentRecord | None:
        """Return the record of a document, or None."""
        return self._read(document_id, database.read_record)

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        """Return the records of all documents that match a filter, ordered by id.

        Raises:
            FilterError: If the filter names a field that no document has or had, or compares a
                field with a value of another type.
        """
        with self._reading() as connection:
            if where is None:
                return [record for _, record in database.read_records(connection)]
            live = self._index.live_documents(connection)
            mask = self._columns.mask(connection, live, where)
            chosen = set(live.numbers[mask].tolist())
            if len(chosen) * _FEW < len(mask):  # read alone, not with all others
                found = [database.read_record(connection, number) for number in chosen]
                return sorted(found, key=lambda record: record.id)
            records = database.read_records(connection)
        return [record for number, record in records if number in chosen]

    def last_change(self) -> str:
        """Return a text that differs after each change of the documents, by any process."""
        with self._reading() as connection:
            row = connection.execute(
                "select seq, hex(stamp) from change order by seq desc limit 1"
            ).fetchone()
        return "none" if row is None else f"{row[0]} {row[1]}"

    def ids_from(self, roots: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the documents from some source roots, ascending, by source root."""
        with self._reading() as connection:
            return database.read_ids_from(connection, roots)

    def get_document(self, document_id: str) -> Document | None:
        """Return a document as it was stored, or None."""
        return self._read(document_id, database.read_document)

    def get_whole(self, document_id: str) -> WholeDocument | None:
        """Return a document with its record and sections, read consistently, or None."""

        def read(connection: sqlite3.Connection, number: int) -> WholeDocument:
            return types.WholeDocument(
                record=database.read_record(connection, number),
                document=database.read_document(connection, number),
                sections=database.read_sections(connection, number),
            )

        return self._read(document_id, read)

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return all chunks of a document; empty if there is no such document."""
        return self._read(document_id, database.read_chunks) or ()

    def get_sections(self, document_id: str) -> tuple[Section, ...]:
        """Return all sections of a document; empty if there is no such document."""
        return self._read(document_id, database.read_sections) or ()

    def get_embedded(
        self, document_id: str
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
        """Return the chunks and stored vectors of a document, read consistently, or None."""

        def read(
            connection: sqlite3.Connection, number: int
        ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
            dimension = self._index.settings(connection).dimension
            vectors = database.read_vectors(connection, number, dimension=dimension)
            chunks = database.read_chunks(connection, number)
            return None if vectors is None else (chunks, vectors.astype(np.float32))

        return self._read(document_id, read)

    def read_entry(self, document_id: str) -> DocumentEntry | None:
        """Return a document with all its parts, see `Store.read_entry`, or None."""

        def read(connection: sqlite3.Connection, number: int) -> DocumentEntry:
            dimension = self._index.settings(connection).dimension
            return database.read_entry(connection, number, dimension=dimension)

        return self._read(document_id, read)

    def record_former_fields(self, names: Iterable[str]) -> None:
        """Record names of metadata fields that documents had earlier; other names stay."""
        with self._writing() as connection:
            database.add_former_fields(connection, names)

    @contextmanager
    def snapshot(self) -> Iterator[EmbeddedSnapshot]:
        """Open a snapshot; close it soon, because it holds a read transaction."""
        with self._index.open_view() as (connection, view):
            yield EmbeddedSnapshot(
                connection,
                view,
                columns=self._columns,
                dimension=self._index.settings(connection).dimension,
                recover=self._index.recover,
                known=self._known,
            )

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached model outputs of some keys, by key."""
        with self._pool.lend() as connection:
            return find_outputs(connection, keys)

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache model outputs, except for keys that exist; a read-only folder caches nothing.

        Raises:
            StoreError: If the outputs cannot be written.
        """
        if not self._pool.writable:
            self._warn_not_cached()
            return
        with self._writing(durable=False) as connection:  # a cache
            insert_outputs(connection, outputs)

    def remove_output(self, key: str) -> None:
        """Remove the output of a key; in a read-only folder, the output stays.

        Raises:
            StoreError: If the database cannot be written.
        """
        if not self._pool.writable:
            self._warn_not_cached()
            return
        with self._writing(durable=False) as connection:
            delete_output(connection, key)

    def _warn_not_cached(self) -> None:
        self._pool.check_open()
        if not self._has_warned:
            _logger.warning("%s is read-only: model outputs are not cached", self._path)
        self._has_warned = True

    def count_outputs(self) -> tuple[int, int]:
        """Return the number of cached model outputs and their size in bytes."""
        with self._pool.lend() as connection:
            return count_outputs(connection)

    def list_outputs(self, *, after: str = "", limit: int = 100) -> list[CachedOutput]:
        """Return cached model outputs, see `Store.list_outputs`."""
        with self._reading() as connection:
            return read_outputs(connection, after=after, limit=limit)

    def forget_outputs(self) -> int:
        """Delete all cached model outputs, and return their number."""
        with self._writing() as connection:
            deleted = delete_outputs(connection)
        self._reclaim_step()
        return deleted

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        """Append a turn to a conversation in one transaction; the first turn creates it.

        Raises:
            OptionError: If the id or the question contains a lone surrogate.
            StoreError: If the turn cannot be written.
        """
        check_turn(thread_id, turn)
        with self._writing() as connection:
            append_turn(connection, thread_id, turn)

    def get_thread(self, thread_id: str) -> Thread | None:
        """Return a conversation with its turns in order, or None.

        Raises:
            FormatError: If a turn is missing or damaged.
        """
        with self._reading() as connection:
            return read_thread(connection, thread_id)

    def list_threads(self) -> list[ThreadInfo]:
        """Return all conversations, latest turn first; ties by id."""
        with self._reading() as connection:
            return read_threads(connection)

    def delete_thread(self, thread_id: str) -> bool:
        """Delete a conversation, and return whether it existed."""
        with self._writing() as connection:
            is_deleted = delete_thread(connection, thread_id)
        self._has_freed = True
        return is_deleted

    def reclaimable_bytes(self) -> int:
        """Return the number of bytes on disk that `compact` would return: an estimate."""
        with self._pool.lend() as connection:
            free = read_space(connection).free_bytes
        return free + self._index.deleted_bytes()

    def compact(self) -> None:
        """Write, verify and compact the index files, and return all free space to the disk.

        Raises:
            StoreError: If the folder or disk cannot be written, or another process is compacting.
        """
        from spanwise.stores.rebuild import remove_switched

        self._check_writable()
        remove_switched(self, self._path)
        self._index.compact()
        with self._write_lock, self._pool.lend() as connection, cancellable(connection):
            reclaim_all(connection)

    def check(self, *, repair: bool = False) -> CheckReport:
        """Return the defects of the knowledge base; rebuild derived data if `repair` is True.

        Raises:
            StoreError: If the index, or the folder for a repair, cannot be written.
        """
        from spanwise.stores.doctor import check_store

        if repair:
            self._check_writable()
        return check_store(self._index, path=self._path, repair=repair)

    def backup(self, target: Path, *, on_progress: ProgressCallback | None = None) -> None:
        """Copy a consistent state of the knowledge base to a new folder, while it is in use.

        Raises:
            OptionError: If the target exists or is inside of the knowledge base, or its parent is
                missing.
            StoreFullError: If the disk of the target is full; the partial copy is removed.
            StoreError: If the target cannot be written for another reason; the partial copy is
                removed.
        """
        from spanwise.stores.backup import back_up

        database_path = self._path / DATABASE_NAME
        back_up(self._index, database_path, target, on_progress=on_progress)

    def close(self) -> None:
        """Write pending index data and release all resources; later calls raise StoreError."""
        if self._pool.closed:
            return
        if self._unflushed_rows or self._index.pending_rows:
            self._index.flush()
        if self._has_freed:
            self._reclaim()
        self._pool.close()

    def _reclaim(self) -> None:
        """Return free space to the disk for a limited time; a failure is logged only."""
        try:
            with self._write_lock, self._pool.lend() as connection:
                reclaim(connection, seconds=_RECLAIM_SECONDS)
        except StoreError as error:
            _logger.warning("free space of %s is not returned to the disk: %s", self._path, error)


def _accepts(
    connection: sqlite3.Connection, document: Document, accept: Accept | None, *, replace: bool
) -> bool:
    """Return whether a document may be written, see `Store.put_document`.

    Raises:
        ConflictError: If its id belongs to another source root and `replace` is False.
    """
    before = database.find_document(connection, document.id)
    if before is not None and not replace:
        check_origin(document.id, before[1], document.source_root)
    if accept is None:
        return True
    return accept(None if before is None else database.read_record(connection, before[0]))


def _delete_earlier(connection: sqlite3.Connection, document: Document) -> int | None:
    """Delete the stored document with the same id; return the number of its chunks, or None."""
    before = database.find_document(connection, document.id)
    return None if before is None else database.delete_rows(connection, before[0])


def _insert(connection: sqlite3.Connection, entry: DocumentEntry) -> None:
    """Insert a document with an unused id.

    Raises:
        OptionError: If a text cannot be encoded.
    """
    try:
        database.insert_rows(connection, entry)
    except UnicodeEncodeError as error:
        around = error.object[max(0, error.start - 20) : error.end + 20]
        raise OptionError(
            f"the document {entry.document.id!r} cannot be stored: {around!r} contains a lone "
            "surrogate; replace it"
        ) from error
