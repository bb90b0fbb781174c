"""Writing of pending documents to index parts, merging of small parts, and the flush lock.

Only the holder of the lock flushes. Parts are written to new files, and the manifest is replaced
last. A crash at any moment leaves either the old index or the new one, and possibly unused files.

The lock is an exclusive transaction on a small separate database. This works on every platform
without a dependency, and the operating system releases the lock when the process ends.
"""

from __future__ import annotations

import errno
import logging
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import FormatError
from spanwise.stores.disk import is_disk_full, make_private, share_as
from spanwise.stores.folder import share_index_file
from spanwise.stores.manifest import (
    Manifest,
    drop_parts,
    manifest_exists,
    read_manifest,
    write_manifest,
)
from spanwise.stores.merge import merge_parts
from spanwise.stores.merge_plan import (
    MAX_GONE_SHARE,
    MergeGroup,
    first_run,
    merge_groups,
    plan_merges,
)
from spanwise.stores.part import check_part_file, write_part
from spanwise.stores.part_checksums import DamagedPartError
from spanwise.threads import check_cancelled

if TYPE_CHECKING:
    from spanwise.stores.index import Index

LOCK_NAME = "lock.db"
_PAUSE_SECONDS = 0.02
_PRIMARY_CODE = 0xFF
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def flush_lock(folder: Path, *, wait_seconds: float = 0.0) -> Iterator[bool]:
    """Hold the lock of an index folder during the block; yield whether it was acquired.

    Args:
        folder: Index folder.
        wait_seconds: Maximum time to wait for the lock, in seconds; 0 for one attempt.

    Raises:
        OSError: If the folder cannot be written.
    """
    connection = _acquire(folder, until=time.monotonic() + wait_seconds)
    try:
        yield connection is not None
    finally:
        if connection is not None:
            connection.close()  # rolls back, which releases the lock


def _make(folder: Path) -> None:
    """Create the folder and the lock file with the access rights of the knowledge base."""
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


_logger = logging.getLogger("spanwise")


def flush_pending(index: Index, *, compact: bool) -> None:
    """Write all documents that are in no file yet, and merge parts; the caller must hold the lock.

    Args:
        index: Index to write.
        compact: Whether to verify all files, rewrite files with any deleted document, and merge as
            much as possible. Only this work can be cancelled.

    Raises:
        CancelledError: If the work is cancelled; the old index stays, or a part of the new one.
        OSError: If a file cannot be written; the old index stays.
        StoreError: If `truth.db` cannot be read.
    """
    if compact:
        _forget_damaged(index.folder)
    more = True
    while more:
        if compact:
            check_cancelled()
        if index.damaged:
            drop_parts(index.folder, index.damaged)
            index.damaged.clear()
        try:
            more = _write_batch(index, compact=compact)
        except DamagedPartError as error:  # raised by a merged part; nothing was written
            _logger.warning("a damaged index part is rebuilt: %s", error)
            index.drop(error.name)


def _forget_damaged(folder: Path) -> None:
    """Remove damaged files from the manifest, so that their documents are written again."""
    damaged = []
    for name in read_manifest(folder).parts:
        check_cancelled()
        try:
            check_part_file(folder / name)
        except (OSError, FormatError) as error:
            _logger.warning("a damaged index part is rebuilt: %s", error)
            damaged.append(name)
    if damaged:
        drop_parts(folder, damaged)


def _write_batch(index: Index, *, compact: bool) -> bool:
    """Write one batch of documents and a new manifest; return whether more is pending."""
    manifest = read_manifest(index.folder)
    with index.pool.lend() as connection:
        connection.execute("begin")
        on_disk = index.locate_on_disk(connection, manifest)
        batch = first_run(on_disk)
        more = len(batch) < len(on_disk.missing)
        sources = index.sources(connection, manifest, on_disk.live.numbers[batch])
        seq, stamp = on_disk.live.seq, _stamp(connection, on_disk.live.seq)
    groups = plan_merges(merge_groups(on_disk, sources), compact=compact and not more)
    if groups and not manifest_exists(index.folder):  # parts without one would count as damage
        write_manifest(index.folder, Manifest(seq=seq, stamp=stamp))
    parts = tuple(_written(index.folder, groups, compact=compact))
    if parts != manifest.parts:
        write_manifest(index.folder, Manifest(seq=seq, stamp=stamp, parts=parts))
    _remove_unused(index.folder, parts)
    return more


def _written(folder: Path, groups: Sequence[MergeGroup], *, compact: bool) -> Iterator[str]:
    """Write a file for each group that needs one, and yield the names of all files."""
    for group in groups:
        if compact:
            check_cancelled()
        yield _write(folder, group, compact=compact)


def _stamp(connection: sqlite3.Connection, seq: int) -> str:
    row = connection.execute("select hex(stamp) from change where seq = ?", (seq,)).fetchone()
    return "" if row is None else str(row[0])


def _write(folder: Path, group: MergeGroup, *, compact: bool) -> str:
    """Return the name of a file with the documents of a group: a reused file or a new one."""
    if group.name and group.gone_share <= (0 if compact else MAX_GONE_SHARE):
        return group.name
    for source in group.sources:  # a merge of damaged data would get valid checksums
        source.part.check_all()
    only = group.sources[0]
    is_complete = len(group.sources) == 1 and bool(only.kept.all())
    part = only.part if is_complete else merge_parts(group.sources)
    # A random name, because other processes may map a file with the same documents.
    name = f"{part.numbers[0]}-{part.numbers[-1]}-{secrets.token_hex(8)}.part"
    write_part(part, folder / name)
    return name


def _remove_unused(folder: Path, names: Sequence[str]) -> None:
    """Remove files that the manifest does not name; files in use are removed by a later flush."""
    used = set(names)
    for path in folder.iterdir():
        if path.suffix in (".part", ".tmp") and path.name not in used:
            with suppress(OSError):
                path.unlink()
