"""Temporary files of one ingest, created on demand and removed when it ends.

Rules:
    1. All files are in one folder that only this user can access.
    2. A killed process leaves its folder behind. The process holds a lock on a file in the folder,
       which ends with the process. The next ingest removes folders of this user without a lock
       holder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from spanwise.errors import FetchError

_PREFIX = "spanwise-ingest-"
_LOCK = "lock"


class TemporarySpace:
    """Folder for temporary files; a context manager, safe for several threads."""

    def __init__(self) -> None:
        self._creating = threading.Lock()
        self._root: Path | None = None
        self._lock: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove everything; files still being written are removed by the next ingest."""
        with self._creating:
            if self._lock is not None:
                self._lock.close()
            if self._root is not None:
                shutil.rmtree(self._root, ignore_errors=True)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Yield an empty folder, which is removed afterwards.

        Raises:
            FetchError: If it cannot be created.
        """
        path = self._create(lambda root: Path(tempfile.mkdtemp(dir=root)))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def file(self) -> Path:
        """Return a new, empty file.

        Raises:
            FetchError: If it cannot be created.
        """
        return self._create(_new_file)

    def _create(self, make: Callable[[Path], Path]) -> Path:
        try:
            return make(self._folder())
        except OSError as exc:
            place = tempfile.gettempdir()
            raise FetchError(
                f"{place}: temporary files cannot be created: {exc.strerror or exc}; make room "
                "there, or set TMPDIR to another folder",
                source=place,
                code="unreadable",
            ) from exc

    def _folder(self) -> Path:
        with self._creating:
            if self._root is None:
                _remove_abandoned(Path(tempfile.gettempdir()))
                self._root = Path(tempfile.mkdtemp(prefix=_PREFIX))
                self._lock = _open_locked(self._root / _LOCK)
            return self._root


def _new_file(folder: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=folder)
    os.close(handle)
    return Path(name)


def _open_locked(path: Path) -> BinaryIO | None:
    """Return an open, locked file; None if another process holds the lock.

    Also None on Windows, which has no such locks: folders of killed ingests stay there.
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


def _remove_abandoned(place: Path) -> None:
    """Remove folders of this user's killed ingests."""
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            status = folder.lstat()
            if hasattr(os, "getuid") and status.st_uid != os.getuid():
                continue
            lock = folder / _LOCK
            if not lock.is_file():  # being created or removed
                continue
            held = _open_locked(lock)
        except OSError:
            continue
        if held is not None:
            held.close()
            shutil.rmtree(folder, ignore_errors=True)
