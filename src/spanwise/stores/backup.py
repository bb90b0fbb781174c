"""Copy a knowledge base while it is in use.

The copy is of one moment: SQLite's own means copy `truth.db` out of one read transaction, in
steps, so that writers go on. Index parts never change and are copied as files (making them anew
takes forty times as long); one that is merged away meanwhile is left out, and made anew by the
copy. All is written under another name beside the target and renamed when it is whole and safe on
the disk. A process that is killed meanwhile leaves `TARGET.<random>.tmp` behind; the next backup to
the same target removes it, which it can tell from one in progress by its lock.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import OptionError, StoreError, StoreFullError
from spanwise.stores.disk import force_to_disk, is_disk_full, make_private, sync_folder
from spanwise.stores.flush import LOCK_NAME, flush_lock
from spanwise.stores.manifest import Manifest, read_manifest, write_manifest

if TYPE_CHECKING:
    from spanwise.stores.index import Index


_STEP_PAGES = 2_048  # 8 MB; writers and the progress come in between

Progress = Callable[[int, int], None]
"""Hears the bytes of the database copied, and all of them."""


def back_up(
    index: Index, database: Path, target: Path, *, on_progress: Progress | None = None
) -> None:
    """Copy a knowledge base to a new folder.

    Args:
        index: Its index, with the connections to the database.
        database: The database, in the folder of the knowledge base.
        target: Folder to make; the one that it is to lie in must be there.
        on_progress: Called after each step.

    Raises:
        OptionError: If the target is there already, lies inside of the knowledge base, or its
            parent is missing.
        StoreFullError: If the disk of the target is full; nothing is left of the copy.
        StoreError: If it cannot be written for another reason; nothing is left of the copy.
    """
    target = target.absolute()
    _check_target(target, source=database.parent)
    _remove_abandoned(target)
    # Beside the target, so that the last step is a rename on one disk.
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.mkdir()
        with flush_lock(temporary) as held:
            if not held:
                raise FileExistsError(errno.EEXIST, "another process uses it", str(temporary))
            _copy(index, database, temporary, target=target, on_progress=on_progress)
        (temporary / LOCK_NAME).unlink()
        sync_folder(temporary)
        temporary.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise _failure(target, error, is_full=is_disk_full(error, target)) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _remove_abandoned(target: Path) -> None:
    """Remove what killed processes left of backups to a target; nobody holds the locks of these."""
    name = re.compile(re.escape(target.name) + r"\.[0-9a-f]{8}\.tmp")
    for path in target.parent.iterdir():
        if not name.fullmatch(path.name) or path.is_symlink() or not (path / LOCK_NAME).is_file():
            continue
        with suppress(OSError):
            with flush_lock(path) as is_abandoned:
                pass
            if is_abandoned:
                shutil.rmtree(path, ignore_errors=True)


def _copy(
    index: Index,
    database: Path,
    temporary: Path,
    *,
    target: Path,
    on_progress: Progress | None,
) -> None:
    """Copy database and index to a folder; their files are on the disk when this returns.

    Raises:
        OSError, StoreError: If something cannot be written.
    """
    # Before the transaction begins, as in a search: parts may only be older than the copy.
    manifest = read_manifest(index.folder)
    copied = temporary / database.name
    make_private(copied)
    with index.pool.lend() as source:
        try:
            _copy_database(source, copied, on_progress)
        except sqlite3.Error as error:
            # The error of one of two databases: the one that is written can be full.
            is_full = is_disk_full(error, copied)
            raise _failure(target, error, is_full=is_full) from error
    _sync_file(copied)
    _copy_index(index.folder, manifest, temporary / index.folder.name)


def _check_target(target: Path, *, source: Path) -> None:
    if os.path.lexists(target):
        raise OptionError(f"{target} is there already; name a folder that is not there yet")
    if not target.parent.is_dir():
        raise OptionError(f"the folder {target.parent} is missing; make it, or name another one")
    if target.parent.resolve().is_relative_to(source.resolve()):
        raise OptionError(f"{target} is inside of {source} itself; name a folder outside of it")


def _copy_database(source: sqlite3.Connection, path: Path, on_progress: Progress | None) -> None:
    """Copy the database as one transaction sees it."""
    (page_bytes,) = source.execute("select page_size from pragma_page_size").fetchone()

    def tell(_: int, remaining: int, total: int) -> None:
        if on_progress is not None:
            on_progress((total - remaining) * page_bytes, total * page_bytes)

    source.execute("begin")
    # The first read begins the transaction; without it every write would start the copy anew.
    source.execute("select max(seq) from change").fetchone()
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        # The copy is thrown away where it fails, so it needs no journal of its own.
        copy.execute("pragma journal_mode = off")
        copy.execute("pragma synchronous = off")
        source.backup(copy, pages=_STEP_PAGES, progress=tell)


def _copy_index(folder: Path, manifest: Manifest, target: Path) -> None:
    target.mkdir()
    copied = []
    for name in manifest.parts:
        try:
            make_private(target / name)
            shutil.copyfile(folder / name, target / name)
        except FileNotFoundError:
            (target / name).unlink()
            continue  # merged away since the manifest was read
        _sync_file(target / name)
        copied.append(name)
    if copied:
        kept = Manifest(seq=manifest.seq, stamp=manifest.stamp, parts=tuple(copied))
        write_manifest(target, kept)


def _sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        force_to_disk(file.fileno())


def _failure(target: Path, error: Exception, *, is_full: bool) -> StoreError:
    if is_full:
        return StoreFullError(
            f"the backup {target} cannot be written ({error}): is the disk full, or a file size "
            "limited? Nothing is left of it; free some space, or name another disk"
        )
    return StoreError(f"the backup {target} cannot be written: {error}; nothing is left of it")
