"""Connections to `truth.db`: how they are opened, lent and given back, and what their errors mean.

Rules:
    A connection belongs to one thread at a time; idle ones wait in a pool.
    Every error of SQLite leaves as a StoreError.
    A process that was forked from the one that opened the store must open it again.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from spanwise.errors import FormatError, StoreBusyError, StoreError, StoreFullError
from spanwise.stores.schema import migrate, require_version

_logger = logging.getLogger("spanwise")

BUSY_TIMEOUT_SECONDS = 60.0
"""How long a writer waits for the writers of other processes."""

_MAX_IDLE = 8
_FULL = (sqlite3.SQLITE_FULL,)
_NOT_WRITTEN = (  # a limit of file size, a quota, or a disk that fills beside the database
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRIMARY_CODE = 0xFF  # extended codes carry the cause in their higher bytes


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into ours.

    Raises:
        StoreFullError: If the disk is full, or a write failed as on a full disk.
        StoreBusyError: If another process kept the write lock for too long.
        FormatError: If the file is damaged or no database.
        StoreError: If SQLite cannot go on for another reason.
    """
    try:
        yield
    except sqlite3.Error as error:
        extended_code = getattr(error, "sqlite_errorcode", 0)
        code = extended_code & _PRIMARY_CODE
        if code in _FULL:
            raise StoreFullError(
                f"the disk of {path} is full; nothing of the document in flight was kept: "
                "free some space and add it again"
            ) from error
        if extended_code in _NOT_WRITTEN:
            raise StoreFullError(
                f"{path} cannot be written ({error}, {error.sqlite_errorname}): is the disk full, "
                "or a file size limited? Free some space or raise the limit, and try again"
            ) from error
        if code in _BUSY:
            raise StoreBusyError(
                f"another process has been writing to {path} for more than "
                f"{BUSY_TIMEOUT_SECONDS:.0f} seconds; wait for it, or stop it"
            ) from error
        if code in _DAMAGED:
            raise FormatError(
                f"{path} is damaged or no knowledge base ({error}); restore it from a backup"
            ) from error
        raise StoreError(f"{path} cannot be read or written: {error}") from error


def _set_journal(connection: sqlite3.Connection, path: Path) -> None:
    """Switch to the write-ahead log; several processes may try to at once."""
    until = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            mode = connection.execute("pragma journal_mode = wal").fetchone()[0]
        except sqlite3.OperationalError as error:
            # The switch needs the file for itself and does not wait for it.
            if error.sqlite_errorcode & _PRIMARY_CODE not in _BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
            continue
        break
    if mode != "wal":
        _logger.warning(
            "%s is on a file system without shared memory: searches and writers wait for each "
            "other there",
            path,
        )


class ConnectionPool:
    """Connections to one database."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        """Remember what to open; nothing is opened yet.

        Args:
            path: The database.
            writable: False where the folder cannot be written.
        """
        self._path = path
        self.writable = writable
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    def _open(self) -> sqlite3.Connection:
        if self.writable:
            connection = _connect(f"{self._path.absolute().as_uri()}?mode=rw")
            connection.execute("pragma synchronous = normal")
            return connection
        return _connect_readonly(self._path)

    def prepare(self) -> None:
        """Open a first connection, make or migrate the tables.

        Raises:
            FormatError: If the file is not ours or of a newer version, or of an older one and
                cannot be written.
        """
        with self.lend() as connection:
            if self.writable:
                _set_journal(connection, self._path)
                migrate(connection, self._path)
            else:
                require_version(connection, self._path)

    @property
    def closed(self) -> bool:
        """Whether the pool was closed."""
        return self._closed

    def check_open(self) -> None:
        """Refuse to work when closed, or in a forked process.

        Raises:
            StoreError: In both cases.
        """
        if self._closed:
            raise StoreError(f"the knowledge base {self._path.parent} is closed; open it again")
        if os.getpid() != self._process:
            raise StoreError(
                f"the knowledge base {self._path.parent} was opened by process {self._process}, "
                f"this is process {os.getpid()}; open it after a fork, not before"
            )

    @contextmanager
    def lend(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection to the calling thread, outside of any transaction.

        Raises:
            StoreError: If the pool is closed, or as `translated_errors`.
        """
        self.check_open()
        with translated_errors(self._path):
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = self._open()
            try:
                yield connection
            finally:
                self._take_back(connection)

    def _take_back(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # SQLite rolls back by itself after some errors
                connection.execute("rollback")
        with self._lock:
            if not self._closed and len(self._idle) < _MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close all idle connections; lent ones are closed when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _connect(address: str) -> sqlite3.Connection:
    return sqlite3.connect(
        address,
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _connect_readonly(path: Path) -> sqlite3.Connection:
    """Open a database in a folder that cannot be written.

    The write-ahead log needs a shared file beside it. Where there is none, nobody writes, and
    the database can be read as an unchanging file.
    """
    log = path.with_name(path.name + "-wal")
    address = path.absolute().as_uri()
    if not log.exists() or not log.stat().st_size:
        return _connect(f"{address}?mode=ro&immutable=1")
    return _connect(f"{address}?mode=ro")
