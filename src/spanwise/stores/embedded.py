"""The store that comes with Spanwise: a folder `NAME.kb/` with `truth.db` and a derived index.

Rules:
    `truth.db` (SQLite) holds all that matters; `index/` can be deleted at any time.
    A document is written in one transaction; the index follows by itself.
    A write is on the disk when it returns, unless its thread groups commits (`durability`).
    Any number of threads and processes may read and write; the writers of a process take turns
    here, those of different processes in SQLite. After a fork, open the store again.
    In a folder that cannot be written, everything but writing works.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from spanwise.errors import ConflictError, OptionError, StoreError
from spanwise.filters import Filter
from spanwise.stores import database as truth
from spanwise.stores.backup import Progress, back_up
from spanwise.stores.columns import MetadataColumns
from spanwise.stores.connections import ConnectionPool, open_reader_pool, open_writer_pool
from spanwise.stores.conversations import append_turn, delete_thread, read_thread, read_threads
from spanwise.stores.disk import make_private
from spanwise.stores.doctor import check_store
from spanwise.stores.durability import LogSync
from spanwise.stores.entries import check_changeable, check_entry, check_packs, check_turn
from spanwise.stores.folder import (
    INDEX_NAME,
    TRUTH_NAME,
    check_database_file,
    make_folder,
    may_write,
)
from spanwise.stores.index import Index
from spanwise.stores.outputs import count_outputs, delete_outputs, insert_output, read_output
from spanwise.stores.signals import list_signals, renew_signals
from spanwise.stores.snapshot import EmbeddedSnapshot, KnownDocuments
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.port import DocumentEntry


_logger = logging.getLogger("spanwise")

_FLUSH_ROWS = 5_000
_FOLLOW_ROWS = 500  # so that no search has to build more than this


def open_embedded(
    path: Path, *, create: bool = True, durability: Durability = "full"
) -> EmbeddedStore:
    """Open the knowledge base in a folder.

    In a folder that cannot be written, the store reads one state of it, and raises
    StoreChangedError once there is another; `readers.open_folder` returns one that follows.

    Args:
        path: The folder, usually `NAME.kb`.
        create: Whether to make it where there is none; its folder must be missing or empty.
        durability: What is on the disk when a write returns; "fast" leaves it to the operating
            system when.

    Raises:
        FormatError: If there is something else, nothing (and `create` is False), a knowledge
            base of a newer version, or an index whose database was emptied.
        StoreError: If it cannot be made or opened.
    """
    database = path / TRUTH_NAME
    try:
        if database.exists():
            check_database_file(path)
        else:
            make_folder(path, create=create)
        writable = may_write(path) and (not database.exists() or may_write(database))
        if writable and not database.exists():
            make_private(database)
    except OSError as error:
        raise StoreError(f"the knowledge base {path} cannot be made or opened: {error}") from error
    if not writable:
        return EmbeddedStore(path, open_reader_pool(database))
    pool = open_writer_pool(database, durability=durability)
    forced = durability == "full" and pool.has_log
    return EmbeddedStore(path, pool, log_sync=LogSync(database) if forced else None)


class _Grouping(threading.local):
    """Whether a thread groups its commits."""

    is_open = False


class EmbeddedStore:
    """Documents in a folder; implements `ports.Store`. Safe for several threads and processes.

    Needs the settings "dimension" (of the vectors, "0" for none) and "reference_terms" (length of
    a usual chunk in terms, as `core.scores` wants it) before the first document.
    """

    def __init__(
        self, path: Path, pool: ConnectionPool, *, log_sync: LogSync | None = None
    ) -> None:
        """Bind the folder; use `open_embedded`.

        Args:
            path: The folder.
            pool: Connections to its database, prepared.
            log_sync: Forces commits to the disk; None where nothing or SQLite itself does.
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

    @property
    def writable(self) -> bool:
        """Whether the folder can be written."""
        return self._pool.writable

    @property
    def is_current(self) -> bool:
        """Whether a read that begins now would see all that was committed before."""
        return self._pool.is_current

    def supersede(self) -> None:
        """Close the store because another one takes its place; its reads are to be repeated."""
        self._pool.supersede()

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Record the settings that are not recorded yet, and return all that are recorded."""
        with self._pool.lend() as connection:
            recorded = truth.read_settings(connection)
        if settings.keys() <= recorded.keys():
            return recorded
        with self._writing() as connection:
            truth.add_settings(connection, settings)
            return truth.read_settings(connection)

    def record_settings(self, settings: Mapping[str, str]) -> None:
        """Record settings in place of what was recorded under their names.

        Raises:
            OptionError: If one of them is recorded once.
        """
        check_changeable(settings)
        with self._writing() as connection:
            truth.change_settings(connection, settings)

    def record_packs(
        self, packs: str, make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]]
    ) -> None:
        """Record packs in place of those before, in one transaction with the signals of all."""
        with self._writing() as connection:
            truth.change_settings(connection, {"packs": packs})
            renew_signals(connection, make)

    def list_signals(self) -> dict[str, tuple[str, ...]]:
        """Return the landmarks that documents have, sorted, by id; those that have any."""
        with self._reading() as connection:
            return list_signals(connection)

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Open a write transaction; it is committed at the end, or nothing of it is kept.

        Args:
            durable: Whether it is on the disk then, unless this thread groups its commits.
        """
        self._check_writable()
        with self._write_lock, self._pool.lend() as connection:
            connection.execute("begin immediate")
            yield connection
            connection.execute("commit")
        if durable and not self._grouping.is_open:
            self._sync()

    def _sync(self) -> None:
        if self._log_sync is not None:
            self._log_sync.sync()

    @contextmanager
    def group_commits(self) -> Iterator[Callable[[], None]]:
        """Leave it to the caller when the commits of this thread are forced to the disk.

        Gives a function that does so; at the end it is done in any case.
        """
        self._grouping.is_open = True
        try:
            yield self._sync
        finally:
            self._grouping.is_open = False
            self._sync()

    def _check_writable(self) -> None:
        self._pool.check_open()
        if not self._pool.writable:
            raise StoreError(
                f"the folder {self._path} cannot be written; copy the knowledge base elsewhere"
            )

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False
    ) -> Literal["added", "replaced"]:
        """Store a document in one transaction, in place of one with the same id.

        Raises:
            ConflictError: If the id belongs to another source root and `replace` is False, or its
                signals were made with other packs than are recorded now.
            OptionError: If the entry does not fit together.
            StoreFullError: If the disk is full; nothing of the document was kept.
            StoreBusyError: If another process keeps writing for too long.
        """
        with self._pool.lend() as connection:
            settings = self._index.settings(connection)
        check_entry(entry, dimension=settings.dimension)
        with self._writing() as connection:
            check_packs(entry, recorded=truth.read_packs(connection))
            replaced = _make_room(connection, entry.document, replace=replace)
            _insert(connection, entry)
            self._unflushed_rows += len(entry.chunks)
            self._unfollowed_rows += len(entry.chunks)
        if len(entry.chunks) < _FLUSH_ROWS:  # a huge one is indexed when the caller let go of it
            self._follow()
        return "replaced" if replaced else "added"

    def _follow(self) -> None:
        """Let the index follow after many new chunks; what cannot be done is tried again later."""
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
        if flush_due and self._index.flush():
            with self._write_lock:
                self._unflushed_rows -= rows
                self._next_flush_rows = _FLUSH_ROWS

    def delete_document(self, document_id: str, *, record: DocumentRecord | None = None) -> bool:
        """Delete a document whole, if it is still as `record` says; return whether it was."""
        with self._writing() as connection:
            found = truth.find_document(connection, document_id)
            if found is None:
                return False
            if record is not None and record != truth.read_record(connection, found[0]):
                return False
            truth.delete_rows(connection, found[0])
        return True

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Open a read transaction, without the index."""
        with self._pool.lend() as connection:
            connection.execute("begin")
            yield connection

    def _number(self, connection: sqlite3.Connection, document_id: str) -> int | None:
        found = truth.find_document(connection, document_id)
        return None if found is None else found[0]

    def get_record(self, document_id: str) -> DocumentRecord | None:
        """Return what is known of a document, or None."""
        with self._reading() as connection:
            number = self._number(connection, document_id)
            return None if number is None else truth.read_record(connection, number)

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        """Return the records of all documents that a filter leaves, ordered by id.

        Raises:
            FilterError: If the filter names a field that no document has, or compares it with a
                value of another type.
        """
        with self._reading() as connection:
            records = truth.read_records(connection)
            if where is None:
                return [record for _, record in records]
            numbers = self._index.living(connection).numbers
            chosen = set(numbers[self._columns.mask(connection, numbers, where)].tolist())
        return [record for number, record in records if number in chosen]

    def get_document(self, document_id: str) -> Document | None:
        """Return a document as it was put, or None."""
        with self._reading() as connection:
            number = self._number(connection, document_id)
            return None if number is None else truth.read_document(connection, number)

    def get_whole(self, document_id: str) -> WholeDocument | None:
        """Return a document with its record and sections, of one moment, or None."""
        with self._reading() as connection:
            number = self._number(connection, document_id)
            if number is None:
                return None
            return WholeDocument(
                record=truth.read_record(connection, number),
                document=truth.read_document(connection, number),
                sections=truth.read_sections(connection, number),
            )

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return all chunks of a document, none when there is no such document."""
        with self._reading() as connection:
            number = self._number(connection, document_id)
            return () if number is None else truth.read_chunks(connection, number)

    def get_sections(self, document_id: str) -> tuple[Section, ...]:
        """Return all sections of a document, none when there is no such document."""
        with self._reading() as connection:
            number = self._number(connection, document_id)
            return () if number is None else truth.read_sections(connection, number)

    def get_embedded(
        self, document_id: str
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
        """Return its chunks and their vectors as stored, of one moment, or None."""
        with self._reading() as connection:
            number = self._number(connection, document_id)
            if number is None:
                return None
            dimension = self._index.settings(connection).dimension
            vectors = truth.read_vectors(connection, number, dimension=dimension)
            chunks = truth.read_chunks(connection, number)
        return None if vectors is None else (chunks, vectors.astype(np.float32))

    @contextmanager
    def snapshot(self) -> Iterator[EmbeddedSnapshot]:
        """Open a snapshot; close it soon, it holds a read transaction."""
        with self._index.moment() as (connection, view):
            yield EmbeddedSnapshot(
                connection,
                view,
                columns=self._columns,
                dimension=self._index.settings(connection).dimension,
                recover=self._index.recover,
                known=self._known,
            )

    def get_output(self, key: str) -> str | None:
        """Return the output of a model that was kept under a key, or None."""
        with self._pool.lend() as connection:
            return read_output(connection, key)

    def put_output(self, key: str, output: str, *, task: str, model: str) -> None:
        """Keep an output; the first one under a key stays. A folder for reading alone keeps none.

        Raises:
            StoreError: If it cannot be written.
        """
        if not self._pool.writable:
            self._warn_unkept()
            return
        with self._writing(durable=False) as connection:  # a cache
            insert_output(connection, key, output, task=task, model=model)

    def _warn_unkept(self) -> None:
        self._pool.check_open()
        if not self._has_warned:
            _logger.warning("%s cannot be written: outputs of models are not kept", self._path)
        self._has_warned = True

    def count_outputs(self) -> tuple[int, int]:
        """Return how many outputs of models are kept, and their bytes."""
        with self._pool.lend() as connection:
            return count_outputs(connection)

    def forget_outputs(self) -> int:
        """Delete all outputs of models, and return how many there were."""
        with self._writing() as connection:
            return delete_outputs(connection)

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        """Append a turn to a conversation, in one transaction; the first one makes it.

        Raises:
            OptionError: If the id or the question has half a surrogate pair.
            StoreError: If it cannot be written.
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
        """Return all conversations, the one with the latest turn first; ties by id."""
        with self._reading() as connection:
            return read_threads(connection)

    def delete_thread(self, thread_id: str) -> bool:
        """Delete a conversation, and return whether there was one."""
        with self._writing() as connection:
            return delete_thread(connection, thread_id)

    def optimise(self) -> None:
        """Write the index, check and compact its files, and move the log into the database.

        Raises:
            StoreError: If the folder or the disk does not let it, or another process is at it.
        """
        self._check_writable()
        self._index.optimise()
        with self._pool.lend() as connection:
            connection.execute("pragma wal_checkpoint(passive)").fetchall()

    def check(self, *, repair: bool = False) -> CheckReport:
        """Return what is wrong with the knowledge base; make anew what is derived, if asked.

        Raises:
            StoreError: If the index, or the folder for a repair, cannot be written.
        """
        if repair:
            self._check_writable()
        return check_store(self._index, path=self._path, repair=repair)

    def backup(self, target: Path, *, on_progress: Progress | None = None) -> None:
        """Copy the knowledge base of one moment to a new folder, while it is in use.

        Raises:
            OptionError: If the target is there already, is inside of the knowledge base, or its
                parent is missing.
            StoreFullError: If the disk of the target is full; nothing is left of the copy.
            StoreError: If it cannot be written for another reason; nothing is left of the copy.
        """
        database = self._path / TRUTH_NAME
        back_up(self._index, database, target, on_progress=on_progress)

    def close(self) -> None:
        """Write what is pending and release everything; a closed store raises StoreError."""
        if self._pool.closed:
            return
        if self._unflushed_rows or self._index.pending_rows:
            self._index.flush()
        self._pool.close()


def _make_room(connection: sqlite3.Connection, document: Document, *, replace: bool) -> bool:
    """Delete the document with the same id; return whether there was one.

    Raises:
        ConflictError: If it belongs to another source root and `replace` is False.
    """
    before = truth.find_document(connection, document.id)
    if before is None:
        return False
    number, source_root = before
    if not replace and source_root != document.source_root:
        raise ConflictError(
            f"the id {document.id!r} belongs to a document from {source_root!r}; this one comes "
            f"from {document.source_root!r}; give it another id, or replace the other one by name",
            source=document.id,
            code="conflict",
        )
    truth.delete_rows(connection, number)
    return True


def _insert(connection: sqlite3.Connection, entry: DocumentEntry) -> None:
    """Insert a document whose id is free.

    Raises:
        OptionError: If one of its texts cannot be encoded.
    """
    try:
        truth.insert_rows(connection, entry)
    except UnicodeEncodeError as error:
        around = error.object[max(0, error.start - 20) : error.end + 20]
        raise OptionError(
            f"the document {entry.document.id!r} cannot be stored: {around!r} holds half a "
            "surrogate pair; replace it"
        ) from error
