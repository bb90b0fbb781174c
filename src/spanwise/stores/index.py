"""Derived search index of one knowledge base, in part files and in memory.

A search opens a view in four steps: read the manifest; begin a read transaction; find the live
documents and the part of each; build parts in memory for documents without a part (the delta).

The manifest is read before the transaction begins, because a later manifest may omit documents that
the transaction still sees. If this happens nevertheless, the documents are rebuilt in memory, as
are the documents of a part that turns out to be damaged during a search.

`flush` writes the delta to files and merges small parts. Searches and writes never wait for its
lock, because the holder of the lock writes the documents of all processes.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.errors import (
    FormatError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreRebuiltError,
)
from spanwise.models.providers.wordllama import WordLlama
from spanwise.models.word_vectors import word_vectors_version
from spanwise.stores.build import Vocabulary, batch_documents, build_part
from spanwise.stores.connections import ConnectionPool, FileState
from spanwise.stores.database import read_indexed, read_settings
from spanwise.stores.disk import is_disk_full
from spanwise.stores.flush import flush_lock, flush_pending
from spanwise.stores.manifest import MANIFEST_NAME, Manifest, read_manifest
from spanwise.stores.merge import MergeSource
from spanwise.stores.merge_plan import merge_small
from spanwise.stores.part import Part, open_part
from spanwise.stores.part_checksums import DamagedPartError
from spanwise.stores.view import LiveDocuments, View, locate, read_live_documents

if TYPE_CHECKING:
    from numpy.typing import NDArray


_logger = logging.getLogger("spanwise")

_SEARCH_BATCH_ROWS = 5_000  # chunks per part built for a search
_FLUSH_BATCH_ROWS = 10_000  # chunks per part built for a file
_MAX_DELTA_ROWS = 20_000  # if more chunks are missing, a search flushes them to files first
_MAX_ATTEMPTS = 5
_CATCH_UP_SECONDS = 60.0
_COMPACT_SECONDS = 600.0


REVISION = "revision"
"""Name of the setting with the number of rebuilds."""


class IndexSettings(NamedTuple):
    """Settings that index parts depend on; only a rebuild changes them."""

    dimension: int
    reference_terms: float
    revision: str
    """Number of rebuilds of the knowledge base; empty for none."""

    @classmethod
    def parse(cls, settings: Mapping[str, str]) -> IndexSettings:
        """Parse the settings of a knowledge base.

        Raises:
            StoreError: If a setting is not recorded or invalid.
        """
        try:
            parsed = cls(
                int(settings["dimension"]),
                float(settings["reference_terms"]),
                settings.get(REVISION, ""),
            )
        except (KeyError, ValueError) as error:
            raise StoreError(
                f"the settings `dimension` and `reference_terms` are not usable: {settings!r}; "
                "record them by ensure_settings before the first document"
            ) from error
        if parsed.dimension < 0 or not parsed.reference_terms > 0:
            raise StoreError(f"the settings {settings!r} are not usable: give positive numbers")
        return parsed


class _BehindError(Exception):
    """More chunks are missing from the index than a search may build in memory."""


class _StaleError(Exception):
    """A file of the manifest was removed because there is a newer manifest."""


class _DiskParts(NamedTuple):
    manifest: Manifest
    names: tuple[str, ...]
    parts: tuple[Part, ...]


class Index:
    """Index of one store in this process; safe for several threads."""

    def __init__(self, folder: Path, pool: ConnectionPool) -> None:
        """Create the index; nothing is read yet.

        Args:
            folder: Index folder, created by the first flush.
            pool: Connections to `truth.db`.
        """
        self.folder = folder
        self.pool = pool
        self._lock = threading.Lock()
        self._building = threading.Lock()
        self._vocabulary = Vocabulary()
        self._settings: IndexSettings | None = None
        self._live: LiveDocuments | None = None
        self._manifest: tuple[FileState | None, Manifest] = (None, Manifest())
        self._disk = _DiskParts(Manifest(), (), ())
        self._delta: tuple[Part, ...] = ()
        self._latest: View | None = None
        self._searched = False
        self.damaged: set[str] = set()
        """File names of damaged parts that the next flush removes from the manifest."""

    @property
    def pending_rows(self) -> int:
        """Number of chunks that are in memory but in no file."""
        return sum(part.rows for part in self._delta)

    def settings(self, connection: sqlite3.Connection) -> IndexSettings:
        """Return the settings that index parts depend on.

        Raises:
            StoreRebuiltError: If they were changed by a rebuild since the store was opened.
            StoreError: If they are not recorded yet.
        """
        if self._settings is None:
            self._settings = IndexSettings.parse(read_settings(connection))
        self.check_revision(connection)
        return self._settings

    def use_settings(self, settings: Mapping[str, str]) -> None:
        """Use recorded settings even after a rebuild changes them; only the first call counts.

        Args:
            settings: Recorded settings; ignored if they are those of an empty knowledge base.
        """
        if self._settings is None and "dimension" in settings:
            with suppress(StoreError):  # reported by the first use
                self._settings = IndexSettings.parse(settings)

    def use_settings_of(self, other: Index) -> None:
        """Use the settings of another index of the same knowledge base from now on."""
        self._settings = other._settings

    def check_revision(self, connection: sqlite3.Connection) -> None:
        """Check that the settings in use are those that a transaction sees.

        Raises:
            StoreRebuiltError: If the knowledge base was rebuilt since the store was opened.
        """
        if self._settings is None:
            return
        row = connection.execute("select value from setting where name = ?", (REVISION,)).fetchone()
        if ("" if row is None else row[0]) != self._settings.revision:
            raise StoreRebuiltError(
                f"the knowledge base {self.folder.parent} was rebuilt with other settings since it "
                "was opened; open it again"
            )

    def release(self) -> None:
        """Close all parts that no search uses."""
        with self._lock:
            self._disk = _DiskParts(Manifest(), (), ())
            self._delta = ()
            self._latest = None

    def live_documents(self, connection: sqlite3.Connection) -> LiveDocuments:
        """Return the documents that a read transaction sees."""
        known = self._live
        live = read_live_documents(connection, known=known)
        if known is None or live.seq > known.seq:
            self._live = live
        return live

    @contextmanager
    def open_view(self) -> Iterator[tuple[sqlite3.Connection, View]]:
        """Yield a connection inside a read transaction, and the index view of this transaction.

        If many chunks are missing, they are flushed to files first. The documents of a part that
        turns out to be damaged are written to a new file at the end.
        """
        self._searched = True
        for attempt in range(_MAX_ATTEMPTS):
            with ExitStack() as stack:
                manifest = self._current_manifest()
                connection = stack.enter_context(self.pool.lend())
                connection.execute("begin")
                is_last = attempt == _MAX_ATTEMPTS - 1
                try:
                    view = self._view(
                        connection,
                        manifest,
                        allow_large=is_last or not self.pool.writable,
                        allow_stale=is_last,
                    )
                except (_BehindError, _StaleError) as error:
                    behind = isinstance(error, _BehindError)
                else:
                    yield connection, view
                    break
            if behind:
                self.flush(wait_seconds=_CATCH_UP_SECONDS)
        if self.damaged:
            self.flush()

    def _current_manifest(self) -> Manifest:
        """Return the manifest; it is read again only if its file has changed."""
        state = None
        with suppress(OSError):  # as if it were missing
            state = FileState.of(self.folder / MANIFEST_NAME)
        known, manifest = self._manifest
        if state is None or state != known:
            manifest = read_manifest(self.folder)
            is_settled = state is not None and state.is_settled(time.time_ns())
            self._manifest = (state if is_settled else None), manifest
        return manifest

    def deleted_bytes(self) -> int:
        """Return the size of the deleted documents in part files: an estimate."""
        manifest = read_manifest(self.folder)
        with self.pool.lend() as connection:
            connection.execute("begin")
            entries = self.locate_on_disk(connection, manifest).parts
        deleted = 0.0
        for entry in entries:
            with suppress(OSError):  # merged meanwhile
                size = (self.folder / entry.part.name).stat().st_size
                deleted += size * (1 - entry.used_rows / max(1, entry.part.rows))
        return round(deleted)

    def follow(self) -> None:
        """Index new documents in memory now, so that the next search need not do it."""
        if not self._searched:
            return
        try:
            with self.open_view():
                pass
        except StoreError as error:  # the documents are stored, and the next search retries
            _logger.warning("the index could not be updated, the next search retries: %s", error)

    def flush(self, *, wait_seconds: float = 0.0) -> bool:
        """Write pending documents to part files, unless another process is doing so.

        The index is derived: if it cannot be written, a warning is logged and searches continue in
        memory.

        Args:
            wait_seconds: Maximum time to wait for the lock.

        Returns:
            Whether the flush was done.
        """
        if not self.pool.writable:
            return False
        try:
            with flush_lock(self.folder, wait_seconds=wait_seconds) as is_locked:
                if is_locked:
                    flush_pending(self, compact=False)
                return is_locked
        except StoreRebuiltError:  # the index belongs to the new state, and this store to the old
            return False
        except (OSError, StoreError) as error:
            _logger.warning("the index cannot be written, searches continue in memory: %s", error)
            return False

    def compact(self) -> None:
        """Write pending documents, verify all files and compact them.

        Raises:
            StoreBusyError: If another process writes the index for too long.
            StoreFullError: If the disk is full.
            StoreError: If the index cannot be written for another reason.
        """
        with self.locked():
            flush_pending(self, compact=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the write lock of the index.

        Raises:
            StoreBusyError, StoreFullError, StoreError: As `compact`.
        """
        try:
            with flush_lock(self.folder, wait_seconds=_COMPACT_SECONDS) as is_locked:
                if not is_locked:
                    raise StoreBusyError(
                        f"another process has been writing {self.folder} for more than "
                        f"{_COMPACT_SECONDS:.0f} seconds; wait for it, or stop it"
                    )
                yield
        except OSError as error:
            kind = StoreFullError if is_disk_full(error, self.folder) else StoreError
            raise kind(
                f"the index {self.folder} cannot be written ({error}); no document is lost"
            ) from error

    def _view(
        self,
        connection: sqlite3.Connection,
        manifest: Manifest,
        *,
        allow_large: bool,
        allow_stale: bool = False,
    ) -> View:
        """Return the complete view of a read transaction: missing documents are built in memory.

        Raises:
            _BehindError: If many chunks are missing and `allow_large` is False.
            _StaleError: If a file is gone because a newer manifest exists, and `allow_stale` is
                False.
        """
        self.check_revision(connection)
        live = self.live_documents(connection)
        self._check_sizes()
        latest = self._latest
        if latest and latest.live is live and self._disk.manifest == manifest:
            return latest
        with self._lock:
            disk = self._read_disk(connection, manifest)
            view = _located(live, disk, self._delta)
            if len(view.missing):
                lost = len(disk.names) < len(manifest.parts)
                if lost and not allow_stale and read_manifest(self.folder) != manifest:
                    raise _StaleError
                rows = int(live.chunks[view.missing].sum())
                if rows > _MAX_DELTA_ROWS:
                    if not allow_large:
                        raise _BehindError
                    _logger.warning("the index lacks %d chunks: they are built in memory", rows)
                built = self.build(connection, live.numbers[view.missing], rows=_SEARCH_BATCH_ROWS)
                view = _located(live, disk, merge_small((*self._delta, *built), live))
            self._keep(view, disk)
            return view

    def _check_sizes(self) -> None:
        """Close mapped parts whose file was truncated, because a read would crash the process."""
        for part in self._disk.parts:
            try:
                part.check_size()
            except DamagedPartError as error:
                with self._lock:
                    self.drop(error.name)
                _logger.warning("a damaged index part is rebuilt: %s", error)

    def drop(self, name: str) -> None:
        """Close a damaged part; the next flush removes it from the manifest.

        Args:
            name: File name of the part.
        """
        kept = [part for part in self._disk.parts if part.name != name]
        self._disk = _DiskParts(self._disk.manifest, tuple(part.name for part in kept), tuple(kept))
        self._latest = None
        self.damaged.add(name)

    def recover(self, connection: sqlite3.Connection, view: View, name: str) -> View:
        """Return a view without a damaged part; its documents are rebuilt in memory.

        Args:
            connection: Connection inside the read transaction of the view.
            view: View in which the part was read.
            name: File name of the part.

        Raises:
            StoreError: If the documents cannot be read.
        """
        _logger.warning(
            "the index part %s is damaged: its documents are rebuilt from truth.db",
            self.folder / name,
        )
        with self._lock:
            self.drop(name)
            kept = [entry.part for entry in view.parts if entry.part.name != name]
            files = tuple(part.name for part in kept if part.name)
            parts = tuple(dict.fromkeys((*kept, *self._delta)))
            missing = locate(view.live, parts, manifest_parts=files).missing
            built = self.build(connection, view.live.numbers[missing], rows=_SEARCH_BATCH_ROWS)
            self._delta = (*self._delta, *built)
            return locate(view.live, (*parts, *built), manifest_parts=files)

    def locate_on_disk(self, connection: sqlite3.Connection, manifest: Manifest) -> View:
        """Return a view with only the parts in files; other documents count as missing."""
        self.check_revision(connection)
        return _located(self.live_documents(connection), self._read_disk(connection, manifest), ())

    def sources(
        self, connection: sqlite3.Connection, manifest: Manifest, numbers: NDArray[np.int64]
    ) -> list[MergeSource]:
        """Return parts in memory with some live documents, as sources of a merge.

        Args:
            connection: Connection inside a read transaction.
            manifest: Current manifest.
            numbers: Numbers of documents that are in no file, ascending.
        """
        if not len(numbers):
            return []
        try:
            view = self._view(connection, manifest, allow_large=False, allow_stale=True)
        except _BehindError:
            view = None
        if view is not None:
            entries = view.parts[len(view.manifest_parts) :]
            sources = [
                MergeSource(entry.part, np.isin(entry.part.numbers, numbers)) for entry in entries
            ]
            sources = [source for source in sources if source.kept.any()]
            kept = np.concatenate([s.part.numbers[s.kept] for s in sources] or [numbers[:0]])
            if np.array_equal(kept, numbers):
                return sources
        built = self.build(connection, numbers, rows=_FLUSH_BATCH_ROWS)
        return [MergeSource(part, np.ones(part.documents, dtype=bool)) for part in built]

    def build(
        self, connection: sqlite3.Connection, numbers: NDArray[np.int64], *, rows: int
    ) -> list[Part]:
        """Return parts in memory with some live documents, ascending by number."""
        settings = self.settings(connection)
        documents = read_indexed(connection, numbers.tolist(), dimension=settings.dimension)
        with self._building:
            return [
                build_part(
                    batch,
                    vocabulary=self._vocabulary,
                    dimension=settings.dimension,
                    reference_terms=settings.reference_terms,
                )
                for batch in batch_documents(documents, rows=rows)
            ]

    def _keep(self, view: View, disk: _DiskParts) -> None:
        """Cache a view for the next search, unless a newer one is cached."""
        if self._latest is not None and self._latest.live.seq > view.live.seq:
            return
        self._disk = disk
        self._latest = view
        self._delta = tuple(
            entry.part for entry in view.parts[len(disk.parts) :] if entry.used.any()
        )

    def _read_disk(self, connection: sqlite3.Connection, manifest: Manifest) -> _DiskParts:
        """Return the usable parts of a manifest.

        Parts that are missing, damaged or of another knowledge base are left out. Their documents
        count as missing, and are rebuilt from `truth.db`.
        """
        known = self._disk
        if known.manifest == manifest:
            return known
        if not _fits(connection, manifest):
            return _DiskParts(manifest, (), ())
        opened = dict(zip(known.names, known.parts, strict=True))
        for name in manifest.parts:
            if name in opened:
                continue
            try:
                opened[name] = _checked(
                    open_part(self.folder / name), self.settings(connection).dimension
                )
            except FileNotFoundError:
                continue  # merged since the manifest was read, or deleted
            except (OSError, FormatError) as error:
                _logger.warning("a damaged index part is rebuilt: %s", error)
        names = tuple(name for name in manifest.parts if name in opened)
        return _DiskParts(manifest, names, tuple(opened[name] for name in names))


def _checked(part: Part, dimension: int) -> Part:
    """Return a part whose vectors are those of this knowledge base and of this version.

    Raises:
        FormatError: If their dimensions differ.
    """
    words = WordLlama.dimension if word_vectors_version() else 0
    if part.vectors.shape[1] != dimension or part.words.vectors.shape[1] != words:
        raise FormatError(
            f"the vectors of {part.name} have other dimensions; it is derived: delete it"
        )
    return part


def _fits(connection: sqlite3.Connection, manifest: Manifest) -> bool:
    """Return whether a manifest was written for this database and not for another copy of it."""
    row = connection.execute(
        "select hex(stamp) from change where seq = ?", (manifest.seq,)
    ).fetchone()
    if row is not None and row[0] == manifest.stamp:
        return True
    if manifest.parts:
        _logger.warning("the index belongs to another truth.db or backup of it, and is rebuilt")
    return False


def _located(live: LiveDocuments, disk: _DiskParts, delta: Sequence[Part]) -> View:
    return locate(live, (*disk.parts, *delta), manifest_parts=disk.names)
