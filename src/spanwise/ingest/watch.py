"""Repeated synchronisation of a folder while its files change.

Rules:
    1. The first synchronisation is a full one. Later ones read only the files whose size, time or
       inode has changed since the last listing, and remove the documents of files that are gone.
    2. A change is processed when the file has not changed for the settle time, so a partly written
       file is not read. Deletions have to settle too, because many editors delete a file and write
       it again.
    3. The folder is listed after each notification of the system, and also at intervals, because
       some file systems send none.
    4. A folder that is missing or empty deletes nothing, as in `sync`. The failure is reported
       once, and the watch continues.
    5. A file that could not be read is tried again when it changes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from spanwise.errors import DocumentError, OptionError, SpanwiseError, StoreError
from spanwise.ingest.folder_walk import SIDECAR_NAMES
from spanwise.ingest.sources import Source, is_address
from spanwise.ingest.sync import SyncedFolder, sync_folder
from spanwise.options.checks import check
from spanwise.threads import check_cancelled
from spanwise.types import IngestFailure, IngestReport

if TYPE_CHECKING:
    from spanwise.ingest.job import IngestJob
    from spanwise.ingest.pipeline import Ingestor

_Look = tuple[int, int, int]
"""Size, time of modification in nanoseconds and inode of a file."""
_IDLE_SECONDS = 30.0
"""Maximum time between two listings of the folder."""


def check_watch(folder: str | Path, settle_seconds: float) -> None:
    """Check the arguments of a watch, and that the library that watches folders is installed.

    Raises:
        OptionError: If the folder is an address, the time is not positive, or the library is
            missing.
    """
    if is_address(str(folder)):
        raise OptionError(f"{folder} cannot be watched; name a folder on this machine")
    check(settle_seconds > 0, "settle_seconds", settle_seconds, "positive")
    try:
        import watchfiles  # noqa: F401
    except ImportError as exc:
        raise OptionError(
            "watching a folder needs the package watchfiles, which is not installed; install the "
            "extra: pip install 'spanwise[watch]'"
        ) from exc


@dataclass(slots=True, kw_only=True)
class FolderWatch:
    """Watches one folder and keeps a knowledge base up to date with it."""

    scan: Callable[[], SyncedFolder]
    """Function that returns the current content of the folder."""
    ingestor: Callable[[], Ingestor]
    """Function that returns the ingestor of the current state, which a rebuild changes."""
    make_job: Callable[[SyncedFolder], IngestJob]
    """Function that returns the options of one synchronisation of the folder."""
    allow_empty: bool
    settle_seconds: float
    stopped: Event
    """Event that ends the watch."""
    _synced: dict[str, _Look] = field(default_factory=dict)
    """State of each file at its last synchronisation, by document id; of a sidecar file, by
    path."""
    _pending: dict[str, tuple[_Look | None, float]] = field(default_factory=dict)
    """Latest state of each changed file, None if it is gone, with the time it was first seen."""
    _failure: str = ""
    """Message of the last failure of the folder, which is reported once."""

    def reports(self) -> Iterator[IngestReport]:
        """Yield the report of the first synchronisation, then one for each later synchronisation.

        Raises:
            OptionError: If the folder has no matching file and documents of it are stored.
            FetchError: If the folder does not exist at the beginning.
            StoreError: If the store fails.
        """
        folder = self.scan()
        looks = _looks(folder)
        report = self._sync(folder)
        self._synced = looks
        yield report
        for _ in self._wake_ups(folder.path):
            check_cancelled()
            report_or_none = self._look()
            if report_or_none is not None:
                yield report_or_none

    def _wake_ups(self, path: Path | None) -> Iterator[None]:
        """Yield when the folder must be listed: after notifications, and at intervals."""
        from watchfiles import watch

        milliseconds = max(50, int(self.settle_seconds * 1000))
        while path is not None and not self.stopped.is_set():
            identity = _identity(path)
            last = -_IDLE_SECONDS  # changes before the first notification are found at once
            check_cancelled()
            if identity is None:  # missing: wait for its return
                self.stopped.wait(self.settle_seconds)
                yield
                continue
            for changes in watch(
                path,
                watch_filter=None,
                debounce=milliseconds,
                step=min(milliseconds, 100),
                stop_event=self.stopped,
                rust_timeout=milliseconds,
                yield_on_timeout=True,
                ignore_permission_denied=True,
            ):
                check_cancelled()
                if changes or self._pending or time.monotonic() - last >= _IDLE_SECONDS:
                    last = time.monotonic()
                    yield
                if _identity(path) != identity:  # another folder, such as a disk that is mounted
                    break

    def _look(self) -> IngestReport | None:
        """List the folder and synchronise settled changes; None if there are none."""
        try:
            folder = self.scan()
            looks = _looks(folder)
            self._note_changes(looks)
            now = time.monotonic()
            settled = {
                name
                for name, (_, since) in self._pending.items()
                if now - since >= self.settle_seconds
            }
            if not settled:
                return None
            is_described_anew = any(Path(name).name in SIDECAR_NAMES for name in settled)
            report = self._sync(folder, only=None if is_described_anew else settled)
        except StoreError:
            raise
        except SpanwiseError as error:
            return self._failed(error)
        self._failure = ""
        for name in settled:
            look, _ = self._pending.pop(name)
            if look is None:
                self._synced.pop(name, None)
            else:
                self._synced[name] = look
        return report

    def _note_changes(self, looks: Mapping[str, _Look]) -> None:
        now = time.monotonic()
        current: dict[str, _Look | None] = {
            name: look for name, look in looks.items() if self._synced.get(name) != look
        }
        current |= dict.fromkeys(self._synced.keys() - looks.keys())
        self._pending = {
            name: self._pending[name]
            if name in self._pending and self._pending[name][0] == look
            else (look, now)
            for name, look in current.items()
        }

    def _sync(self, folder: SyncedFolder, *, only: set[str] | None = None) -> IngestReport:
        """Synchronise the folder, or only some of its files."""
        return sync_folder(
            folder,
            ingestor=self.ingestor(),
            job=self.make_job(folder),
            allow_empty=self.allow_empty,
            dry_run=False,
            only=only,
        )

    def _failed(self, error: SpanwiseError) -> IngestReport | None:
        message = str(error)
        if message == self._failure:
            return None
        self._failure = message
        source = error.source if isinstance(error, DocumentError) else ""
        code = error.code if isinstance(error, DocumentError) else "unreadable"
        return IngestReport(failed=(IngestFailure(source=source, code=code, message=message),))


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a folder; None if it cannot be reached."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _looks(folder: SyncedFolder) -> dict[str, _Look]:
    """Return the state of each file of a folder, and of its sidecar files.

    Files that are gone are left out.
    """
    files = {
        source.document_id: source.path
        for source in folder.sources
        if isinstance(source, Source) and source.path is not None
    }
    folders = {folder.path, *(path.parent for path in files.values())} - {None}
    sidecars = [path / name for path in folders if path for name in SIDECAR_NAMES]
    looks = {}
    for name, path in (*files.items(), *((str(path), path) for path in sidecars)):
        try:
            status = os.stat(path)  # noqa: PTH116 - faster for many files
        except OSError:
            continue
        looks[name] = (status.st_size, status.st_mtime_ns, status.st_ino)
    return looks
