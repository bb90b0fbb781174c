"""The folder of a knowledge base: what must be in it, and what must not."""

from __future__ import annotations

import os
from pathlib import Path

from spanwise.errors import FormatError
from spanwise.stores.disk import share_as, sync_folder

DATABASE_NAME = "truth.db"
INDEX_NAME = "index"


def check_database_file(path: Path) -> None:
    """Refuse what is no file, and a database that lost its content.

    An empty one was never filled, unless there is what only a filled one leaves. That is looked
    at first: another process may be filling the database meanwhile.

    Raises:
        FormatError: If it is so.
    """
    database, index = path / DATABASE_NAME, path / INDEX_NAME
    log = database.with_name(database.name + "-wal")
    if not database.is_file():
        raise FormatError(
            f"{database} is no file; a knowledge base keeps its documents in it: name another "
            "folder, or restore it from a backup"
        )
    left = None
    if log.exists() and log.stat().st_size:
        left = log
    elif index.is_dir() and any(index.iterdir()):
        left = index
    if left is not None and not database.stat().st_size:
        raise FormatError(
            f"{database} is empty, but {left} is not: the documents are lost or elsewhere; "
            f"restore it from a backup, or delete {path} and add them again"
        )


def make_folder(path: Path, *, create: bool) -> None:
    """Make the folder of a new knowledge base where it is missing.

    Raises:
        FormatError: If there is something else, or nothing and `create` is False.
    """
    if path.exists():
        if not path.is_dir():
            raise FormatError(f"{path} is a file; a knowledge base is a folder: name another one")
        names = {entry.name for entry in path.iterdir()}
        if names and DATABASE_NAME not in names:
            raise FormatError(
                f"{path} is no knowledge base: it has no {DATABASE_NAME}, but holds "
                f"{', '.join(sorted(names)[:3])}; name another folder"
            )
    if not create:
        raise FormatError(
            f"there is no knowledge base at {path}; check the name, or make one: `spanwise add` "
            "makes one, and so does create=True in Python"
        )
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for made in missing:
        sync_folder(made.parent)


def may_write(path: Path) -> bool:
    """Return whether this process may write a file, or make files in a folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def share_index_file(path: Path) -> None:
    """Let those read a new file of the index who may read the database."""
    share_as(path, path.parent.parent / DATABASE_NAME)
