"""Backup of a knowledge base while it is in use.

The copy is consistent: SQLite's backup API copies `truth.db` from one read transaction, in steps,
so writers continue. Index parts never change, so their files are copied; rebuilding them would take
forty times as long. A part that is merged during the backup is left out, and the copy rebuilds it.

Everything is flushed to disk before the folder appears under its name (`new_folder`).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import OptionError, StoreError, StoreFullError
from spanwise.stores.disk import force_to_disk, is_disk_full, make_private
from spanwise.stores.manifest import Manifest, read_manifest, write_manifest
from spanwise.stores.new_folder import new_folder
from spanwise.threads import check_cancelled

if TYPE_CHECKING:
    from spanwise.stores.index import Index
    from spanwise.types.listener import ProgressCallback


_STEP_PAGES = 2_048  # 8 MB; writers and the progress callback run between steps


def back_up(
    index: Index, database: Path, target: Path, *, on_progress: ProgressCallback | None = None
) -> None:
    """Copy a knowledge base to a new folder.

    Args:
        index: Index with the connections to the database.
        database: Path of the database in the folder of the knowledge base.
        target: Folder to create; its parent must exist.
        on_progress: Callback with the bytes copied and the total bytes of the database.

    Raises:
        OptionError: If the target exists or is inside the knowledge base, or its parent is
            missing.
        StoreFullError: If the disk of the target is full; the partial copy is removed.
        StoreError: If the target cannot be written for another reason; the partial copy is removed.
    """
    target = target.absolute()
    _check_target(target, source=database.parent)
    try:
        with new_folder(target) as temporary:
            _copy(index, database, temporary, target=target, on_progress=on_progress)
    except OSError as error:
        raise _failure(target, error, is_full=is_disk_full(error, target)) from error


def _copy(
    index: Index,
    database: Path,
    temporary: Path,
    *,
    target: Path,
    on_progress: ProgressCallback | None,
) -> None:
    """Copy database and index to a folder and flush the files to disk.

    Raises:
        OSError, StoreError: If a file cannot be written.
    """
    # Read before the transaction begins, as in a search, so that no part is newer than the copy.
    manifest = read_manifest(index.folder)
    copied = temporary / database.name
    make_private(copied)
    with index.pool.lend() as source:
        try:
            _copy_database(source, copied, on_progress)
        except sqlite3.Error as error:
            # The error may come from either database, but only the disk of the copy can be full.
            is_full = is_disk_full(error, copied)
            raise _failure(target, error, is_full=is_full) from error
    _sync_file(copied)
    _copy_index(index.folder, manifest, temporary / index.folder.name)


def _check_target(target: Path, *, source: Path) -> None:
    if os.path.lexists(target):
        raise OptionError(f"{target} already exists; name a new folder")
    if not target.parent.is_dir():
        raise OptionError(
            f"the folder {target.parent} does not exist; create it, or name another one"
        )
    if target.parent.resolve().is_relative_to(source.resolve()):
        raise OptionError(f"{target} is inside of {source} itself; name a folder outside of it")


def _copy_database(
    source: sqlite3.Connection, path: Path, on_progress: ProgressCallback | None
) -> None:
    """Copy the state of the database in one read transaction."""
    (page_bytes,) = source.execute("select page_size from pragma_page_size").fetchone()

    def report(_: int, remaining: int, total: int) -> None:
        if on_progress is not None:
            on_progress((total - remaining) * page_bytes, total * page_bytes)
        check_cancelled()

    source.execute("begin")
    # Starts the transaction; without it, each write of another process would restart the copy.
    source.execute("select max(seq) from change").fetchone()
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        # A failed copy is deleted, so it needs no journal.
        copy.execute("pragma journal_mode = off")
        copy.execute("pragma synchronous = off")
        source.backup(copy, pages=_STEP_PAGES, progress=report)


def _copy_index(folder: Path, manifest: Manifest, target: Path) -> None:
    target.mkdir()
    copied = []
    for name in manifest.parts:
        check_cancelled()
        try:
            make_private(target / name)
            shutil.copyfile(folder / name, target / name)
        except FileNotFoundError:
            (target / name).unlink()
            continue  # merged since the manifest was read
        _sync_file(target / name)
        copied.append(name)
    if copied:
        copied_manifest = Manifest(seq=manifest.seq, stamp=manifest.stamp, parts=tuple(copied))
        write_manifest(target, copied_manifest)


def _sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        force_to_disk(file.fileno())


def _failure(target: Path, error: Exception, *, is_full: bool) -> StoreError:
    if is_full:
        return StoreFullError(
            f"the backup {target} cannot be written ({error}): is the disk full, or a file size "
            "limited? The partial copy is removed; free some space, or name another disk"
        )
    return StoreError(
        f"the backup {target} cannot be written: {error}; the partial copy is removed"
    )
