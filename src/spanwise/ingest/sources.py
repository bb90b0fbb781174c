"""What a user names, file, folder or URL, to the single documents that it stands for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise.errors import DocumentError, FetchError, OptionError
from spanwise.parsers.walk import Unread, name_to_id, walk

__all__ = ["Source", "file_hash", "files_of", "find_sources", "is_url", "root_of"]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One document that is to be taken in, not opened yet."""

    document_id: str
    location: str
    """Path or URL."""
    root: str
    """What the user named: folder, file or URL; paths are absolute."""
    path: Path | None
    """None for a URL."""
    bytes: int
    """Size of the file; 0 for a URL."""


def is_url(text: str) -> bool:
    """Return whether a source is to be fetched."""
    return text.lower().startswith(("http://", "https://"))


def find_sources(
    named: Sequence[str | Path], *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Iterator[Source | DocumentError]:
    """Yield the documents that the named sources stand for, and what cannot be opened.

    A file's id is its name, a file of a folder has its path relative to that folder, with "/"
    between the parts, and a URL is its own id. Folders are walked in the order of names. What is
    named twice comes once.

    Raises:
        OptionError: If a source or a pattern is empty, or a source is no text and no path.
    """
    seen: set[tuple[str, str]] = set()
    for name in named:
        for source in _sources_of(name, include=include, exclude=exclude):
            if isinstance(source, Source):
                identity = (source.document_id, source.root)
                if identity in seen:
                    continue
                seen.add(identity)
            yield source


def _sources_of(
    name: str | Path, *, include: Sequence[str], exclude: Sequence[str]
) -> Iterator[Source | DocumentError]:
    if not isinstance(name, str | Path) or not str(name).strip():
        raise OptionError(f"a source is {name!r}; name files, folders and URLs one by one")
    if isinstance(name, str) and is_url(name):
        yield Source(document_id=name, location=name, root=name, path=None, bytes=0)
        return
    if isinstance(name, str) and _ADDRESS.match(name):
        yield FetchError(
            f"{name}: only http and https are fetched; download it and add the file",
            source=name,
            code="refused",
        )
        return
    path = Path(name)
    if _is_folder(path):
        for _, source in files_of(path, include=include, exclude=exclude):
            yield source
    else:
        yield _file(path, document_id=name_to_id(path.name), root=None)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # it cannot be reached, which `_file` says
        return False


def files_of(
    folder: Path, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Iterator[tuple[str, Source | DocumentError]]:
    """Yield the files of a folder with their ids, and what cannot be read, ordered by id.

    The id of a folder that cannot be read is what the ids of its files would begin with, before a
    slash; it is empty for the folder itself.

    Raises:
        OptionError: If a pattern cannot be read.
    """
    root = root_of(folder)
    for found in walk(folder, include=include, exclude=exclude):
        if isinstance(found, Unread):
            yield found.document_id, found.error
        else:
            source = _file(found.path, document_id=found.document_id, root=root)
            yield found.document_id, source


def root_of(path: Path) -> str:
    """Return what a document records as its source root: absolute, without links."""
    return name_to_id(str(path.resolve()))


def _file(path: Path, *, document_id: str, root: str | None) -> Source | DocumentError:
    """Return a file that is there; its root is the file itself where none is given."""
    location = name_to_id(str(path))
    try:
        size = path.stat().st_size
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        return FetchError(
            f"{location}: {reason}; check the path and its permissions",
            source=location,
            code="unreadable",
        )
    return Source(
        document_id=document_id,
        location=location,
        root=root_of(path) if root is None else root,
        path=path,
        bytes=size,
    )


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, hex.

    Raises:
        FetchError: If it cannot be read.
    """
    try:
        with path.open("rb", buffering=0) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise FetchError(
            f"{path}: {error.strerror or error}; check its permissions",
            source=str(path),
            code="unreadable",
        ) from error
