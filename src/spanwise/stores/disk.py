"""What the errors of a disk mean, and who may read the files that are made."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import sys
from pathlib import Path

__all__ = ["is_disk_full"]

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
