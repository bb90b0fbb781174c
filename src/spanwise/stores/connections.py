"""Connection pool of `truth.db` and the translation of SQLite errors.

Rules:
    A connection belongs to one thread at a time; idle connections wait in a pool.
    Every SQLite error is translated to a StoreError.
    A forked process must open the store again.

Rules for a folder that this process cannot write, while its owner may write at any time:
    1. If the write-ahead log and its shared memory (`-wal`, `-shm`) exist, SQLite can read them
       without write access. The connection takes part in SQLite's locks and sees every commit, and
       SQLite keeps both files as long as the connection is open.
    2. Without these files SQLite refuses to open the database. All commits are then in `truth.db`
       itself, which is read as an immutable file, without locks. Such a read is valid only if the
       state of the file (inode, size, times) is the same after the read as when the pool was
       opened, and no log holds commits when the read begins. Otherwise the result is discarded with
       a StoreChangedError.
    3. The state is read only once its modification time is older than the resolution of file
       times. Every later write therefore changes the state.
    4. A pool is only used for one state of the file, so caches never mix two states. After a change
       a new pool is created (see `stores.readonly`).
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
from typing import TYPE_CHECKING, NamedTuple

from spanwise.errors import (
    FormatError,
    StoreBusyError,
    StoreChangedError,
    StoreError,
    StoreFullError,
)
from spanwise.stores.disk import is_disk_full
from spanwise.stores.schema import migrate, require_version
from spanwise.stores.space import prepare_reclaiming
from spanwise.threads import check_cancelled, is_cancelled

if TYPE_CHECKING:
    from spanwise.types import Durability


_logger = logging.getLogger("spanwise")

BUSY_TIMEOUT_SECONDS = 60.0
"""Maximum time that a writer waits for writers of other processes, in seconds."""

_MAX_IDLE = 8
_CANCEL_STEPS = 100_000  # instructions of SQLite, a few milliseconds
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_REFUSED = (  # rule 2
    sqlite3.SQLITE_READONLY_DIRECTORY,
    sqlite3.SQLITE_READONLY_CANTINIT,
    sqlite3.SQLITE_READONLY_RECOVERY,
)
_PRIMARY_CODE = 0xFF  # the higher bytes of extended codes hold the cause

_MAX_LOG_BYTES = 64 << 20  # a longer write-ahead log is truncated once it is copied to the database

_TICK_SECONDS = 0.1  # file times of current file systems advance every 1 to 10 ms
_COARSE_TICK_SECONDS = 2.0  # file systems with whole seconds
_SECOND_NS = 10**9
_PAUSE_SECONDS = 0.02
_LOG_PAUSE_SECONDS = 0.05  # longer than an owner needs to create or delete both files


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Translate SQLite errors to errors of this library.

    Raises:
        StoreFullError: If the disk or a quota is full, or a file size limit is reached.
        StoreBusyError: If another process holds the write lock for too long.
        FormatError: If the file is damaged or not a database.
        StoreError: If SQLite fails for another reason.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
        if is_disk_full(error, path):
            raise StoreFullError(
                f"the disk of {path} is full, or a file size limited ({error}); nothing of the "
                "current document was stored: free some space or raise the limit, and try again"
            ) from error
        if code in _BUSY:
            raise StoreBusyError(
                f"another process has been writing to {path} for more than "
                f"{BUSY_TIMEOUT_SECONDS:.0f} seconds; wait for it, or stop it"
            ) from error
        if code in _DAMAGED:
            raise FormatError(
                f"{path} is damaged, cannot be read from the disk, or is not a knowledge base "
                f"({error}); check the disk, or restore it from a backup"
            ) from error
        if code == sqlite3.SQLITE_IOERR:
            raise StoreError(
                f"{path} cannot be read or written: {error} ({error.sqlite_errorname}); check the "
                "disk and its connection"
            ) from error
        raise StoreError(f"{path} cannot be read or written: {error}") from error


def _set_journal(connection: sqlite3.Connection, path: Path) -> bool:
    """Switch the database to write-ahead logging; return whether that succeeded.

    Several processes may try this at the same time.
    """
    until = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            mode = connection.execute("pragma journal_mode = wal").fetchone()[0]
        except sqlite3.OperationalError as error:
            # The switch needs exclusive access and does not wait for it.
            if error.sqlite_errorcode & _PRIMARY_CODE not in _BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
            continue
        break
    if mode != "wal":
        _logger.warning(
            "%s is on a file system without shared memory: searches and writers block each other",
            path,
        )
    return bool(mode == "wal")


class FileState(NamedTuple):
    """Inode, size and times of a file, which change whenever its content changes."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> FileState | None:
        """Return the state of a file, or None if the file does not exist."""
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        return cls(
            status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )

    @classmethod
    def settled(cls, path: Path) -> FileState | None:
        """Wait until any later write would change the state of a file, and return the state."""
        while True:
            now_ns = time.time_ns()  # read first, because the file may be written in between
            state = cls.of(path)
            if state is None or state.is_settled(now_ns):
                return state
            time.sleep(_PAUSE_SECONDS)

    def is_settled(self, now_ns: int) -> bool:
        """Return whether every later write to the file will change its time of modification.

        File systems round this time. Two writes within one step of it cannot be told apart.

        Args:
            now_ns: Time at which the state was read, or earlier.
        """
        is_coarse = self.modified_ns % _SECOND_NS == 0
        tick_ns = int((_COARSE_TICK_SECONDS if is_coarse else _TICK_SECONDS) * _SECOND_NS)
        return abs(now_ns - self.modified_ns) > tick_ns


def _log_holds_commits(path: Path) -> bool:
    """Return whether a log or rollback journal next to the database is not empty."""
    logs = (FileState.of(path.with_name(path.name + ending)) for ending in ("-wal", "-journal"))
    return any(log is not None and log.size for log in logs)


class ConnectionPool:
    """Pool of connections to one database."""

    def __init__(
        self,
        path: Path,
        *,
        writable: bool,
        durability: Durability = "full",
        unlocked: FileState | None = None,
    ) -> None:
        """Create the pool; no connection is opened yet.

        Args:
            path: Path of the database.
            writable: Whether the folder can be written.
            durability: Durability of a commit after a power failure.
            unlocked: State of the file for a read without locks (rule 2); None to use locks.
        """
        self._path = path
        self.writable = writable
        self.durability = durability
        self._unlocked = unlocked
        self._file = FileState.of(path)
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._superseded = False
        self._max_idle = _MAX_IDLE
        self.has_log = True
        """Whether commits go to a write-ahead log; set by `prepare`."""

    def _open(self) -> sqlite3.Connection:
        address = self._path.absolute().as_uri()
        if not self.writable:
            mode = "mode=ro" if self._unlocked is None else "mode=ro&immutable=1"
            return _connect(f"{address}?{mode}")
        connection = _connect(f"{address}?mode=rw")
        self._set_synchronous(connection)
        return connection

    def _set_synchronous(self, connection: sqlite3.Connection) -> None:
        """Set what SQLite flushes to disk itself; `disk.LogSync` flushes the rest."""
        if self.durability == "full":  # has an effect only on macOS
            connection.execute("pragma fullfsync = on")
            connection.execute("pragma checkpoint_fullfsync = on")
        forced = self.durability == "full" and not self.has_log
        connection.execute(f"pragma synchronous = {'full' if forced else 'normal'}")
        connection.execute(f"pragma journal_size_limit = {_MAX_LOG_BYTES:d}")

    @property
    def is_current(self) -> bool:
        """Whether a read through this pool would see every commit made so far."""
        if self._superseded:
            return False
        now = FileState.of(self._path)
        if self._unlocked is not None:
            return now == self._unlocked and not _log_holds_commits(self._path)
        # With locks, SQLite sees every change, except that the file was replaced by another one.
        return now is not None and self._file is not None and now[:2] == self._file[:2]

    def supersede(self) -> None:
        """Close the pool because a new pool replaces it; running reads fail and must be retried."""
        self._superseded = True
        self.close()

    def prepare(self) -> None:
        """Open a first connection and create or migrate the tables.

        Raises:
            FormatError: If the file is not a knowledge base, is of a newer version, or is of an
                older version and cannot be written.
        """
        with self.lend() as connection:
            if self.writable:
                prepare_reclaiming(connection)
                self.has_log = _set_journal(connection, self._path)
                self._set_synchronous(connection)
                migrate(connection, self._path)
            else:
                require_version(connection, self._path)

    @property
    def closed(self) -> bool:
        """Whether the pool is closed."""
        return self._closed

    def check_open(self) -> None:
        """Raise an error if the pool is closed, or if this is a forked process.

        Raises:
            StoreChangedError: If the pool was superseded.
            StoreError: If the pool is closed or belongs to another process.
        """
        if self._superseded:
            raise StoreChangedError(_changed(self._path))
        if self._closed:
            raise StoreError(f"the knowledge base {self._path.parent} is closed; open it again")
        if os.getpid() != self._process:
            raise StoreError(
                f"the knowledge base {self._path.parent} was opened by process {self._process}, "
                f"this is process {os.getpid()}; open it after a fork, not before"
            )

    @contextmanager
    def lend(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection without an open transaction to the calling thread.

        Raises:
            StoreChangedError: If the read is invalid because the file has changed (rule 2).
            StoreError: If the pool is closed, or as `translated_errors`.
        """
        self.check_open()
        with self._reading_one_state(), translated_errors(self._path):
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = self._open()
            try:
                yield connection
            finally:
                self._give_back(connection)

    @contextmanager
    def _reading_one_state(self) -> Iterator[None]:
        """Raise StoreChangedError if the file changed during the block, even if the block fails."""
        try:
            yield
        except Exception as error:
            if self._has_changed() or self._is_refused(error):
                raise StoreChangedError(_changed(self._path)) from error
            raise
        if self._has_changed():
            raise StoreChangedError(_changed(self._path))

    def _has_changed(self) -> bool:
        return self._unlocked is not None and FileState.of(self._path) != self._unlocked

    def _is_refused(self, error: Exception) -> bool:
        """Return whether SQLite cannot read the database under file locks (rule 2)."""
        if self.writable or self._unlocked is not None:
            return False
        code = getattr(error.__cause__, "sqlite_errorcode", 0)
        return code in _REFUSED or code & _PRIMARY_CODE == sqlite3.SQLITE_CANTOPEN

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # SQLite rolls back by itself after some errors
                connection.execute("rollback")
        with self._lock:
            if not self._closed and len(self._idle) < self._max_idle:
                self._idle.append(connection)
                return
        connection.close()

    def retire(self) -> None:
        """Close idle connections, now and later; the pool can still be used."""
        with self._lock:
            self._max_idle = 0
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close all idle connections; lent connections are closed when they are returned."""
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


def _changed(path: Path) -> str:
    return f"{path} was changed while it was read without write access; read it again"


def open_writer_pool(path: Path, *, durability: Durability) -> ConnectionPool:
    """Return a prepared pool for a database that this process may write.

    Raises:
        StoreError: As `ConnectionPool.prepare`.
    """
    return _prepare(ConnectionPool(path, writable=True, durability=durability), path)


def open_reader_pool(path: Path) -> ConnectionPool:
    """Return a prepared pool for a database that this process may not write.

    Raises:
        StoreChangedError: If the owner is opening or closing the database, or its log is not
            readable.
        StoreError: As `ConnectionPool.prepare`.
    """
    with suppress(StoreChangedError):
        return _prepare(ConnectionPool(path, writable=False), path)
    state = FileState.settled(path)
    if _log_holds_commits(path):
        time.sleep(_LOG_PAUSE_SECONDS)
        raise StoreChangedError(
            f"{path} has a write-ahead log that this user cannot read: {path.name}-shm is missing, "
            f"or {path.name}-wal and {path.name}-shm are not readable; let its owner open it once, "
            "or grant read access to them"
        )
    return _prepare(ConnectionPool(path, writable=False, unlocked=state), path)


def _prepare(pool: ConnectionPool, path: Path) -> ConnectionPool:
    try:
        pool.prepare()
    except UnicodeDecodeError as error:  # SQLite quotes the damaged bytes in its message
        pool.close()
        raise FormatError(f"{path} is damaged ({error}); restore it from a backup") from error
    except BaseException:
        pool.close()
        raise
    return pool


@contextmanager
def cancellable(connection: sqlite3.Connection) -> Iterator[None]:
    """Interrupt the statements of a block if the work of this thread is cancelled.

    Raises:
        CancelledError: If it was cancelled; the result of the block is incomplete.
    """
    check_cancelled()
    connection.set_progress_handler(is_cancelled, _CANCEL_STEPS)
    try:
        yield
    except sqlite3.OperationalError:  # an interrupted statement raises this error too
        check_cancelled()
        raise
    finally:
        connection.set_progress_handler(None, 0)
    check_cancelled()
