"""What a user names, file, folder or URL, to the single documents that it stands for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from spanwise.core.text.file_names import name_to_id
from spanwise.errors import DocumentError, FetchError, OptionError
from spanwise.ingest.folder_walk import PathPatterns, UnreadablePath, special_kind, walk
from spanwise.ingest.url_signatures import unsigned

MEMBER_MARK = "!/"
"""Stands between the id of a container and the name of a member."""
STREAM_ROOT = "-"
"""What a document from a stream records as its source root."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One document that is to be taken in, not opened yet."""

    document_id: str
    location: str
    """Path, or URL without what signs it; the id, for a stream."""
    root: str
    """What the user named: folder, file, URL or prefix; paths are absolute. "-" for a stream."""
    path: Path | None
    """None for a URL, an object and standard input."""
    bytes: int
    """Size of the file; of a member its share of that of the container; 0 where it is not known."""
    from_folder: bool = False
    """Whether it was found in a folder, and not named itself."""
    members_only: bool = False
    """Whether only what is in it may be taken, if it is a container."""
    is_member: bool = False
    """Whether it lies in a container."""
    url: str = field(default="", repr=False)
    """What is fetched, which may be secret; empty for what lies elsewhere."""
    object_path: str = ""
    """Its path in its object storage; empty for what lies elsewhere."""
    stream: BinaryIO | None = None
    """Standard input, or another stream that is read once; None for what can be opened."""


def containers_of(document_id: str) -> list[str]:
    """Return the ids of the containers that a member of this id is in, outermost first."""
    parts = document_id.split(MEMBER_MARK)
    return [MEMBER_MARK.join(parts[:count]) for count in range(1, len(parts))]


def is_address(text: str) -> bool:
    """Return whether a source is a URL or lies in object storage, and is no path."""
    return _ADDRESS.match(text) is not None


def is_url(text: str) -> bool:
    """Return whether a source is to be fetched."""
    return text.lower().startswith(("http://", "https://"))


def find_sources(
    named: Sequence[str | Path | BinaryIO],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    document_id: str | None = None,
) -> Iterator[Source | DocumentError]:
    """Yield the documents that the named sources stand for, and what cannot be opened.

    A file's id is its name, a file of a folder has its path relative to that folder, with "/"
    between the parts, and a URL is its own id, without what signs it. Folders are walked in the
    order of names; a prefix of an object storage is a folder. What is named twice comes once.

    Args:
        named: Files, folders, URLs, addresses in object storage, or one stream of bytes.
        include: Patterns of what is taken from folders and containers.
        exclude: Patterns of what is left out.
        document_id: Id of the stream.

    Raises:
        OptionError: If a source or a pattern is empty, a source is nothing of this, or a stream
            and its id are not given together, and alone.
    """
    streams = [one for one in named if not isinstance(one, str | Path) and hasattr(one, "read")]
    if streams or document_id is not None:
        yield _of_stream(streams, named, document_id)
        return
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
    name: str | Path | BinaryIO, *, include: Sequence[str], exclude: Sequence[str]
) -> Iterator[Source | DocumentError]:
    if not isinstance(name, str | Path) or not str(name).strip():
        raise OptionError(f"a source is {name!r}; name files, folders and URLs one by one")
    if isinstance(name, str) and is_address(name):
        yield from _of_address(name, patterns=PathPatterns.of(include, exclude))
        return
    path = Path(name)
    if _is_folder(path):
        for _, source in files_of(path, include=include, exclude=exclude):
            yield source
    else:
        yield _file(path, document_id=name_to_id(path.name), root=None)


def _of_stream(
    streams: Sequence[BinaryIO],
    named: Sequence[str | Path | BinaryIO],
    document_id: str | None,
) -> Source:
    if not streams or len(named) > 1:
        raise OptionError(
            f"document_id is {document_id!r}; it names one stream of bytes, and nothing else is "
            "added with it: files, folders and URLs have ids of their own"
        )
    if document_id is None or not document_id.strip() or MEMBER_MARK in document_id:
        raise OptionError(
            f"the id of a stream is {document_id!r}; standard input has no name: give it one "
            f'(document_id="notes.md", --id notes.md), without "{MEMBER_MARK}"'
        )
    return Source(
        document_id=document_id,
        location=document_id,
        root=STREAM_ROOT,
        path=None,
        bytes=0,
        stream=streams[0],
    )


def _of_address(address: str, *, patterns: PathPatterns) -> Iterator[Source | DocumentError]:
    try:
        check_address(address)
        if is_url(address):
            name = unsigned(address)
            yield Source(
                document_id=name, location=name, root=name, path=None, bytes=0, url=address
            )
            return
        from spanwise.ingest.object_storage import objects_of

        for _, source in objects_of(address, patterns=patterns):
            yield source
    except FetchError as error:
        yield error


def check_address(address: str) -> None:
    """Refuse an address that holds credentials: it would be stored with the document.

    A name without a password is part of some addresses (`abfs://container@account/`).

    Raises:
        FetchError: With the address as it is without them.
    """
    scheme, _, rest = address.partition("://")
    authority, slash, path = rest.partition("/")
    credentials, at, host = authority.rpartition("@")
    if at and (":" in credentials or is_url(address)):
        shown = unsigned(f"{scheme}://{host}{slash}{path}")
        raise FetchError(
            f"{shown}: the address holds a name or password; give it in the way of the storage "
            "(variables, files, roles), or fetch the file yourself and add it",
            source=shown,
            code="refused",
        )


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
        if isinstance(found, UnreadablePath):
            yield found.document_id, found.error
        else:
            source = _file(found.path, document_id=found.document_id, root=root)
            if isinstance(source, Source):
                source = replace(source, from_folder=True, members_only=found.members_only)
            yield found.document_id, source


def root_of(path: Path) -> str:
    """Return what a document records as its source root: absolute, without links."""
    return name_to_id(str(path.resolve()))


def _file(path: Path, *, document_id: str, root: str | None) -> Source | DocumentError:
    """Return a file that is there; its root is the file itself where none is given."""
    location = name_to_id(str(path))
    try:
        status = path.stat()
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        return FetchError(
            f"{location}: {reason}; check the path and its permissions",
            source=location,
            code="unreadable",
        )
    kind = special_kind(status.st_mode)
    if kind:
        return FetchError(
            f"{location}: it is {kind}, no regular file; copy what it holds to a file, or give it "
            "as standard input (add - --id NAME)",
            source=location,
            code="unreadable",
        )
    return Source(
        document_id=document_id,
        location=location,
        root=root_of(path) if root is None else root,
        path=path,
        bytes=status.st_size,
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
