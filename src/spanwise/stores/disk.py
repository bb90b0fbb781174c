"""Files on a disk: forced to it, readable by whom, and what their errors mean."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import sys
from contextlib import suppress
from pathlib import Path

_PRIVATE_MODE = 0o600
_FULL_ERRORS = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)
_PRIMARY_CODE = 0xFF  # extended codes carry the cause in their higher bytes
_FAILED_WRITES = (  # SQLite has these for a full disk, a quota, a limit and a failing disk alike
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
)
_PROBE_BYTES = 1 << 16


if sys.platform == "darwin":
    import fcntl

    def force_to_disk(descriptor: int) -> None:
        """Force a file to the disk, through the cache of the drive.

        Raises:
            OSError: If that fails.
        """
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError:  # not every file system offers it
            os.fsync(descriptor)

else:

    def force_to_disk(descriptor: int) -> None:
        """Force a file to the disk, through the cache of the drive.

        Raises:
            OSError: If that fails.
        """
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the platform can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)


def is_disk_full(error: Exception, path: Path) -> bool:
    """Return whether a write failed because the disk, a quota or a limit of file size is full.

    Args:
        error: An OSError or an error of SQLite.
        path: The file that was written; where SQLite does not tell the cause, its disk is asked.
    """
    if isinstance(error, OSError):
        return error.errno in _FULL_ERRORS
    code = getattr(error, "sqlite_errorcode", 0)
    if code & _PRIMARY_CODE == sqlite3.SQLITE_FULL:
        return True
    return code in _FAILED_WRITES and (_at_size_limit(path) or _has_no_room(path.parent))


def _at_size_limit(path: Path) -> bool:
    """Return whether a file of the database is as large as this process may make one."""
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
    """Return whether a small file cannot be written to a folder for lack of room."""
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
    """Open a file; if that makes it, its owner alone may read it. For `opener=` of `open`."""
    return os.open(name, flags, _PRIVATE_MODE)


def make_private(path: Path) -> None:
    """Make an empty file that its owner alone may read; one that is there stays as it is."""
    with open(path, "ab", opener=private_opener):
        pass


def share_as(path: Path, like: Path) -> None:
    """Let those use a new file or folder who may use another one.

    SQLite gives its log the mode of the database in the same way, and its owner if root makes it.
    Where the other one is missing, or the file system has no modes, nothing is changed.
    """
    if os.name != "posix":
        return
    with suppress(OSError):
        found = like.stat()
        with suppress(PermissionError):  # of a group that this user is not in
            os.chown(path, found.st_uid if os.geteuid() == 0 else -1, found.st_gid)
        path.chmod(stat.S_IMODE(found.st_mode) & ~(stat.S_ISUID | stat.S_ISVTX))
