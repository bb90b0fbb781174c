"""Disk: flush, atomic replacement of files, group commit, permissions, detection of a full disk."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
import stat
import sys
import threading
from contextlib import suppress
from pathlib import Path

from spanwise.errors import StoreError, StoreFullError

_PRIVATE_MODE = 0o600
_FULL_ERRORS = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)
_PRIMARY_CODE = 0xFF  # the higher bytes of extended codes hold the cause
_FAILED_WRITES = (  # SQLite codes of a full disk, a quota, a limit or a failing disk
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
)
_PROBE_BYTES = 1 << 16
_BINARY = getattr(os, "O_BINARY", 0)  # of Windows


if sys.platform == "darwin":
    import fcntl

    def force_to_disk(descriptor: int) -> None:
        """Flush a file to disk, through the cache of the drive.

        Raises:
            OSError: If the flush fails.
        """
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError:  # not supported by every file system
            os.fsync(descriptor)

else:

    def force_to_disk(descriptor: int) -> None:
        """Flush a file to disk, through the cache of the drive.

        Raises:
            OSError: If the flush fails.
        """
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Flush the directory entries of a folder to disk, if the platform supports it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows cannot open folders
        return
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)


def is_disk_full(error: Exception, path: Path) -> bool:
    """Return whether a write failed because of a full disk, a quota or a file size limit.

    Args:
        error: OSError or SQLite error.
        path: File that was written. A test write shows whether its disk is full if the error does
            not say so.
    """
    if isinstance(error, OSError):
        return error.errno in _FULL_ERRORS
    code = getattr(error, "sqlite_errorcode", 0)
    if code & _PRIMARY_CODE == sqlite3.SQLITE_FULL:
        return True
    return code in _FAILED_WRITES and (_at_size_limit(path) or _has_no_room(path.parent))


def _at_size_limit(path: Path) -> bool:
    """Return whether a database file or its log has reached the process's file size limit."""
    if sys.platform == "win32":
        return False
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit == resource.RLIM_INFINITY:
        return False
    files = (path.with_name(path.name + ending) for ending in ("", "-wal", "-shm", "-journal"))
    largest = max((file.stat().st_size for file in files if file.exists()), default=0)
    return largest + _PROBE_BYTES > limit


def _has_no_room(folder: Path) -> bool:
    """Return whether a small file cannot be written to a folder because the disk is full."""
    try:
        if shutil.disk_usage(folder).free < _PROBE_BYTES:
            return True
        probe = folder / f"room.{os.getpid()}.tmp"
        try:
            with probe.open("xb") as file:
                file.write(bytes(_PROBE_BYTES))
                file.flush()
                os.fsync(file.fileno())
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        return error.errno in _FULL_ERRORS
    return False


def private_opener(name: str, flags: int) -> int:
    """Open a file for `open(opener=...)`; a new file is readable for its owner only."""
    return os.open(name, flags, _PRIVATE_MODE)


def make_private(path: Path) -> None:
    """Create an empty file readable for its owner only; an existing file stays unchanged."""
    with open(path, "ab", opener=private_opener):
        pass


def share_as(path: Path, like: Path) -> None:
    """Give a new file or folder the access rights of another one.

    SQLite gives its log file the rights of the database in the same way. Nothing changes if the
    other file is missing, or the file system has no access rights.
    """
    if os.name != "posix":
        return
    with suppress(OSError):
        status = like.stat()
        with suppress(PermissionError):  # the user is not in that group
            os.chown(path, status.st_uid if os.geteuid() == 0 else -1, status.st_gid)
        path.chmod(stat.S_IMODE(status.st_mode) & ~(stat.S_ISUID | stat.S_ISVTX))


def replace_file(
    path: Path, data: bytes, *, mode: int = _PRIVATE_MODE, like: Path | None = None
) -> None:
    """Replace the content of a file; it is durable when this returns.

    A crash leaves the old content or the new one.

    Args:
        path: File, which may be missing.
        data: New content.
        mode: Access rights of the new file, less those that the umask removes.
        like: File whose access rights the new one gets instead, if it exists.

    Raises:
        OSError: If the file cannot be written; the old content stays.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            force_to_disk(file.fileno())
        if like is not None:
            share_as(temporary, like)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


class LogSync:
    """Group commit: one flush of the write-ahead log makes the commits of several threads durable.

    Thread-safe.

    Rules:
        A commit appends to the write-ahead log. SQLite itself flushes the log only at checkpoints
        (`synchronous = normal`). One flush of the log makes all commits before it durable.
        A commit is acknowledged after its log was flushed. Waiting threads share a flush: a flush
        that began after their commits covers all of them.
        SQLite never deletes or restarts the log before its commits are in the database, on disk.
        If the database has no write-ahead log, SQLite flushes each commit itself (`synchronous =
        full`).
    """

    def __init__(self, database: Path) -> None:
        """Create the log sync of a database.

        Args:
            database: Path of the database; its connections must stay open during a flush.
        """
        self._database = database
        self._log = database.with_name(database.name + "-wal")
        self._counting = threading.Lock()
        self._forcing = threading.Lock()
        self._requests = 0
        self._served = 0
        self._inode = 0

    def sync(self) -> None:
        """Return when all earlier commits are on disk.

        Raises:
            StoreFullError: If the disk is full.
            StoreError: If the disk fails; it is unknown which commits are durable.
        """
        with self._counting:
            self._requests += 1
            request = self._requests
        with self._forcing:
            if self._served >= request:
                return
            with self._counting:
                covered = self._requests
            try:
                self._force()
            except OSError as error:
                raise self._failure(error) from error
            self._served = covered

    def _force(self) -> None:
        with suppress(FileNotFoundError), self._log.open("rb+") as file:
            force_to_disk(file.fileno())
            inode = os.fstat(file.fileno()).st_ino
            if inode != self._inode:  # a new log: flush its directory entry too
                sync_folder(self._log.parent)
                self._inode = inode

    def _failure(self, error: OSError) -> StoreError:
        kind = StoreFullError if is_disk_full(error, self._database) else StoreError
        return kind(
            f"{self._log} cannot be forced to the disk ({error}): what was stored last may be lost "
            "if the power fails; check the disk, and add it again"
        )
