"""Temporary folders that a later process removes if their own is killed.

Rules:
    1. The folder is in the temporary folder of the system, and only this user can access it.
    2. Its process holds a lock on a file in it; the system releases the lock when the process ends.
       The next process of the same user that creates a folder with this prefix removes those whose
       lock is free.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO

_LOCK = "lock"


class LockedFolder:
    """New temporary folder, which `close` removes."""

    def __init__(self, prefix: str) -> None:
        """Create the folder, and remove the abandoned ones.

        Args:
            prefix: First characters of the names of folders with this purpose.

        Raises:
            OSError: If it cannot be created.
        """
        _remove_abandoned(Path(tempfile.gettempdir()), prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        """Path of the folder."""
        self._lock = _lock_folder(self.path)

    def close(self) -> None:
        """Remove the folder; files that are still being written stay for the next process."""
        if self._lock is not None:
            self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)


def _lock_folder(folder: Path) -> BinaryIO | None:
    """Create and lock the lock file of a new folder; it appears only when it is locked."""
    new = folder / f"{_LOCK}.new"
    stream = _open_locked(new)
    if stream is not None:
        new.rename(folder / _LOCK)
    return stream


def _open_locked(path: Path) -> BinaryIO | None:
    """Return an open, locked file; None if another process holds the lock.

    Always None on Windows, which has no such locks: folders of killed processes are never removed.
    """
    try:
        import fcntl
    except ImportError:
        return None
    stream = path.open("ab")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        stream.close()
        return None
    return stream


def _remove_abandoned(place: Path, prefix: str) -> None:
    """Remove the folders of killed processes of this user; links are not followed."""
    for folder in place.glob(f"{prefix}*"):
        try:
            status = folder.lstat()
            is_own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            lock = folder / _LOCK
            if not (is_own and stat.S_ISDIR(status.st_mode)) or not _is_file(lock):
                continue
            stream = _open_locked(lock)
        except OSError:
            continue
        if stream is not None:
            stream.close()
            shutil.rmtree(folder, ignore_errors=True)


def _is_file(path: Path) -> bool:
    """Return whether a path is a file and not a link; it is missing in a new folder."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False
