"""Connections to `truth.db`: how they are opened, lent and given back, and what their errors mean.

Rules:
    A connection belongs to one thread at a time; idle ones wait in a pool.
    Every error of SQLite leaves as a StoreError.
    A process that was forked from the one that opened the store must open it again.

Rules for a folder that this process may not write, though its owner may at any time:
    1. While the write-ahead log and its shared memory (`-wal`, `-shm`) exist, SQLite reads them
       without write access. The connection takes part in SQLite's locks, so it sees every commit,
       and SQLite keeps both files as long as it is open.
    2. Without them SQLite refuses. All commits are then in `truth.db` itself, which is read as an
       immutable file, without locks. Such a read counts only if the state of the file (inode, size,
       times) is the same after the read as when the pool was opened, and no log holds commits when
       the read begins. Otherwise the result is discarded with a StoreChangedError.
    3. The state is taken when its time is older than the resolution of file times, so that every
       later write changes it.
    4. A pool has one state for its whole life, so caches made from it never mix two states. A new
       state needs a new pool (`stores.readers`).
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

if TYPE_CHECKING:
    from spanwise.types import Durability


_logger = logging.getLogger("spanwise")

BUSY_TIMEOUT_SECONDS = 60.0
"""How long a writer waits for the writers of other processes."""

_MAX_IDLE = 8
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_REFUSED = (  # rule 2
    sqlite3.SQLITE_READONLY_DIRECTORY,
    sqlite3.SQLITE_READONLY_CANTINIT,
    sqlite3.SQLITE_READONLY_RECOVERY,
)
_PRIMARY_CODE = 0xFF  # extended codes carry the cause in their higher bytes

_TICK_SECONDS = 0.1  # file times of current file systems advance every 1 to 10 ms
_COARSE_TICK_SECONDS = 2.0  # on those that store whole seconds
_SECOND_NS = 10**9
_PAUSE_SECONDS = 0.02
_LOG_PAUSE_SECONDS = 0.05  # an owner that opens or closes needs less to make or delete both files


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into ours.

    Raises:
        StoreFullError: If the disk, a quota or a limit of file size is full.
        StoreBusyError: If another process kept the write lock for too long.
        FormatError: If the file is damaged or no database.
        StoreError: If SQLite cannot go on for another reason.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
        if is_disk_full(error, path):
            raise StoreFullError(
                f"the disk of {path} is full, or a file size limited ({error}); nothing of the "
                "document in flight was kept: free some space or raise the limit, and try again"
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
        if code == sqlite3.SQLITE_IOERR:
            raise StoreError(
                f"{path} cannot be read or written: {error} ({error.sqlite_errorname}); check the "
                "disk and its connection"
            ) from error
        raise StoreError(f"{path} cannot be read or written: {error}") from error


def _set_journal(connection: sqlite3.Connection, path: Path) -> bool:
    """Switch to the write-ahead log, and return whether there is one.

    Several processes may try to at once.
    """
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
    return bool(mode == "wal")


class FileState(NamedTuple):
    """What tells one content of a file from another, without reading it."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> FileState | None:
        """Return the state of a file, None if it does not exist."""
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    @classmethod
    def settled(cls, path: Path) -> FileState | None:
        """Return the state of a file once any later write is certain to change it."""
        while True:
            now_ns = time.time_ns()  # before the state: the file may be written in between
            state = cls.of(path)
            if state is None:
                return None
            is_coarse = state.modified_ns % _SECOND_NS == 0
            tick_ns = int((_COARSE_TICK_SECONDS if is_coarse else _TICK_SECONDS) * _SECOND_NS)
            if abs(now_ns - state.modified_ns) > tick_ns:
                return state
            time.sleep(_PAUSE_SECONDS)


def _log_holds_commits(path: Path) -> bool:
    """Return whether commits, or pages that a crash left half-written, are beside the database."""
    logs = (FileState.of(path.with_name(path.name + ending)) for ending in ("-wal", "-journal"))
    return any(log is not None and log.size for log in logs)


class ConnectionPool:
    """Connections to one database."""

    def __init__(
        self,
        path: Path,
        *,
        writable: bool,
        durability: Durability = "full",
        unlocked: FileState | None = None,
    ) -> None:
        """Remember what to open; nothing is opened yet.

        Args:
            path: The database.
            writable: False where the folder cannot be written.
            durability: What a commit promises if the power fails.
            unlocked: The state of the database if it is read without locks (rule 2).
        """
        self._path = path
        self.writable = writable
        self._durability = durability
        self._unlocked = unlocked
        self._file = FileState.of(path)
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._superseded = False
        self.has_log = True
        """Whether commits go to a write-ahead log; known once the pool is prepared."""

    def _open(self) -> sqlite3.Connection:
        address = self._path.absolute().as_uri()
        if not self.writable:
            how = "mode=ro" if self._unlocked is None else "mode=ro&immutable=1"
            return _connect(f"{address}?{how}")
        connection = _connect(f"{address}?mode=rw")
        self._set_synchronous(connection)
        return connection

    def _set_synchronous(self, connection: sqlite3.Connection) -> None:
        """Let SQLite force to the disk what `durability.LogSync` does not."""
        if self._durability == "full":  # on macOS alone, for what SQLite itself forces to the disk
            connection.execute("pragma fullfsync = on")
            connection.execute("pragma checkpoint_fullfsync = on")
        forced = self._durability == "full" and not self.has_log
        connection.execute(f"pragma synchronous = {'full' if forced else 'normal'}")

    @property
    def is_current(self) -> bool:
        """Whether a read that begins now would see all that was committed before."""
        if self._superseded:
            return False
        now = FileState.of(self._path)
        if self._unlocked is not None:
            return now == self._unlocked and not _log_holds_commits(self._path)
        # SQLite sees all changes but one: another file in place of the one that is open.
        return now is not None and self._file is not None and now[:2] == self._file[:2]

    def supersede(self) -> None:
        """Close the pool because another one takes its place; reads in it are to be repeated."""
        self._superseded = True
        self.close()

    def prepare(self) -> None:
        """Open a first connection, make or migrate the tables.

        Raises:
            FormatError: If the file is not ours or of a newer version, or of an older one and
                cannot be written.
        """
        with self.lend() as connection:
            if self.writable:
                self.has_log = _set_journal(connection, self._path)
                self._set_synchronous(connection)
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
        """Lend a connection to the calling thread, outside of any transaction.

        Raises:
            StoreChangedError: If what was read does not count, whatever came of it (rule 2).
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
                self._take_back(connection)

    @contextmanager
    def _reading_one_state(self) -> Iterator[None]:
        """Discard what was read of several states, and errors that came of it."""
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
        """Return whether SQLite cannot read with locks."""
        if self.writable or self._unlocked is not None:
            return False
        code = getattr(error.__cause__, "sqlite_errorcode", 0)
        return code in _REFUSED or code & _PRIMARY_CODE == sqlite3.SQLITE_CANTOPEN

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


def _changed(path: Path) -> str:
    return f"{path} was changed while it was read without write access; read it again"


def open_writer_pool(path: Path, *, durability: Durability) -> ConnectionPool:
    """Return a prepared pool for a database that this process may write.

    Raises:
        StoreError: As `ConnectionPool.prepare`.
    """
    return _prepared(ConnectionPool(path, writable=True, durability=durability), path)


def open_reader_pool(path: Path) -> ConnectionPool:
    """Return a prepared pool for a database that this process may not write.

    Raises:
        StoreChangedError: If the owner is opening or closing it, or its log cannot be read.
        StoreError: As `ConnectionPool.prepare`.
    """
    with suppress(StoreChangedError):
        return _prepared(ConnectionPool(path, writable=False), path)
    state = FileState.settled(path)
    if _log_holds_commits(path):
        time.sleep(_LOG_PAUSE_SECONDS)
        raise StoreChangedError(
            f"{path} has a write-ahead log that this user cannot read: {path.name}-shm is missing, "
            f"or {path.name}-wal and {path.name}-shm are not readable; let its owner open it once, "
            "or grant the right to read them"
        )
    return _prepared(ConnectionPool(path, writable=False, unlocked=state), path)


def _prepared(pool: ConnectionPool, path: Path) -> ConnectionPool:
    try:
        pool.prepare()
    except UnicodeDecodeError as error:  # SQLite quotes the damaged bytes in its message
        pool.close()
        raise FormatError(f"{path} is damaged ({error}); restore it from a backup") from error
    except BaseException:
        pool.close()
        raise
    return pool
