"""Copy a knowledge base while it is in use.

The copy is of one moment: SQLite's own means copy `truth.db` out of one read transaction, in
steps, so that writers go on. Index parts never change and are copied as files (making them anew
takes forty times as long); one that is merged away meanwhile is left out, and made anew by the
copy. All is written under another name beside the target and renamed when it is whole and safe on
the disk; a process that is killed meanwhile leaves `TARGET.<random>.tmp` behind.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import OptionError, StoreError, StoreFullError
from spanwise.stores.manifest import Manifest, read_manifest, write_manifest
from spanwise.stores.part import sync_folder

if TYPE_CHECKING:
    from spanwise.stores.index import Index


_STEP_PAGES = 2_048  # 8 MB; writers and the progress come in between
_PRIMARY_CODE = 0xFF
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

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
    # Beside the target, so that the last step is a rename on one disk.
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.mkdir()
        # Before the transaction begins, as in a search: parts may only be older than the copy.
        manifest = read_manifest(index.folder)
        with index.pool.lend() as source:
            try:
                _copy_database(source, temporary / database.name, on_progress)
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
                raise _failure(target, error, is_full=code in _FULL) from error
        _sync_file(temporary / database.name)
        _copy_index(index.folder, manifest, temporary / index.folder.name)
        sync_folder(temporary)
        temporary.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise _failure(target, error, is_full=error.errno in _FULL_ERRORS) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


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
            shutil.copyfile(folder / name, target / name)
        except FileNotFoundError:
            continue  # merged away since the manifest was read
        _sync_file(target / name)
        copied.append(name)
    if copied:
        kept = Manifest(seq=manifest.seq, stamp=manifest.stamp, parts=tuple(copied))
        write_manifest(target, kept)


def _sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _failure(target: Path, error: Exception, *, is_full: bool) -> StoreError:
    if is_full:
        return StoreFullError(
            f"the backup {target} cannot be written ({error}): is the disk full, or a file size "
            "limited? Nothing is left of it; free some space, or name another disk"
        )
    return StoreError(f"the backup {target} cannot be written: {error}; nothing is left of it")
