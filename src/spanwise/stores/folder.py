"""File names and checks of the folder of a knowledge base."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from spanwise.errors import FormatError
from spanwise.stores.disk import share_as, sync_folder

DATABASE_NAME = "truth.db"
INDEX_NAME = "index"


def check_database_file(path: Path) -> None:
    """Check that the database is a regular file and has not lost its content.

    An empty database is valid if it was never filled. A log or an index shows that it was filled.
    The log and the index are checked first and the size of the database last, because another
    process may be filling the database now.

    Raises:
        FormatError: If the database is not a regular file, or is empty although there is a log or
            an index, or the index is a link.
    """
    database, index = path / DATABASE_NAME, path / INDEX_NAME
    log = database.with_name(database.name + "-wal")
    if not database.is_file():
        raise FormatError(
            f"{database} is not a file; a knowledge base keeps its documents in it: name another "
            "folder, or restore it from a backup"
        )
    if index.is_symlink():  # a flush deletes unused files there
        raise FormatError(
            f"{index} is a link; the index must be in the folder itself: delete the link, and the "
            "index is rebuilt"
        )
    leftover = None
    if log.exists() and log.stat().st_size:
        leftover = log
    elif index.is_dir() and any(index.iterdir()):
        leftover = index
    if leftover is not None and not database.stat().st_size:
        raise FormatError(
            f"{database} is empty, but {leftover} is not: the documents are lost or elsewhere; "
            f"restore it from a backup, or delete {path} and add them again"
        )


def make_folder(path: Path, *, create: bool) -> None:
    """Create the folder of a new knowledge base if it is missing.

    Raises:
        FormatError: If the path is a file or a folder with other files, or if there is no knowledge
            base and `create` is False.
    """
    if path.exists():
        if not path.is_dir():
            raise FormatError(f"{path} is a file; a knowledge base is a folder: name another one")
        names = {entry.name for entry in path.iterdir()}
        if names and DATABASE_NAME not in names:
            raise FormatError(
                f"{path} is not a knowledge base: it has no {DATABASE_NAME}, but holds "
                f"{', '.join(sorted(names)[:3])}; name another folder"
            )
    if not create:
        raise FormatError(
            f"there is no knowledge base at {path}; check the name, or create one with "
            "`spanwise add` or with create=True in Python"
        )
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


def may_write(path: Path) -> bool:
    """Return whether this process may write a file, or create files in a folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def share_index_file(path: Path) -> None:
    """Give a new index file the access rights of the database."""
    share_as(path, path.parent.parent / DATABASE_NAME)


def folder_bytes(path: Path) -> int:
    """Return the total size of all files below a folder, in bytes; 0 if it does not exist."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(FileNotFoundError):  # removed by a concurrent flush
                total += Path(folder, name).stat().st_size
    return total
