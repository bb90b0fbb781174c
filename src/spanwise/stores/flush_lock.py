"""The lock of a folder that one process writes: an exclusive transaction on a database of its own.

Works on every platform without a dependency, and the operating system frees it when its holder
dies.
"""

from __future__ import annotations

import errno
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spanwise.stores.disk import is_disk_full, make_private, share_as
from spanwise.stores.folder import share_index_file

__all__ = ["LOCK_NAME", "flush_lock"]

LOCK_NAME = "lock.db"
_PAUSE_SECONDS = 0.02
_PRIMARY_CODE = 0xFF
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def flush_lock(folder: Path, *, wait_seconds: float = 0.0) -> Iterator[bool]:
    """Hold the lock of an index folder; give whether it was free.

    Args:
        folder: The index folder.
        wait_seconds: How long to try; 0 for one try.

    Raises:
        OSError: If the folder cannot be written.
    """
    connection = _acquire(folder, until=time.monotonic() + wait_seconds)
    try:
        yield connection is not None
    finally:
        if connection is not None:
            connection.close()  # rolls back, which frees the lock


def _make(folder: Path) -> None:
    """Make the folder and the file of the lock, for those who use the knowledge base."""
    if not folder.exists():
        folder.mkdir(exist_ok=True)
        share_as(folder, folder.parent)
    path = folder / LOCK_NAME
    if not path.exists():
        make_private(path)
        share_index_file(path)


def _acquire(folder: Path, *, until: float) -> sqlite3.Connection | None:
    _make(folder)
    while True:
        connection = None
        try:
            connection = sqlite3.connect(
                folder / LOCK_NAME, timeout=0, isolation_level=None, check_same_thread=False
            )
            connection.execute("begin exclusive")
        except sqlite3.OperationalError as error:
            if connection is not None:
                connection.close()
            if error.sqlite_errorcode & _PRIMARY_CODE not in _BUSY:
                number = errno.ENOSPC if is_disk_full(error, folder / LOCK_NAME) else errno.EIO
                raise OSError(number, f"it cannot be locked: {error}", str(folder)) from error
            if time.monotonic() >= until:
                return None
            time.sleep(_PAUSE_SECONDS)
        else:
            return connection
