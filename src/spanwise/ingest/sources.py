"""Sources of documents: files, folders, URLs, objects and streams that the user names."""

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
from spanwise.ingest.locations import fetch_error, unsigned

MEMBER_MARK = "!/"
"""Separator between the id of a container and the name of a member."""
STREAM_ROOT = "-"
"""Source root of a document from a stream."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Document or container to add, not opened yet."""

    document_id: str
    location: str
    """Path, or URL without its signature, for messages and records; the id for a stream."""
    root: str
    """Folder, file, URL or prefix named by the user; paths are absolute. "-" for a stream."""
    path: Path | None
    """Path of the file; None for a URL, an object or a stream."""
    bytes: int
    """File size; for a member, its share of the container's size; 0 if unknown."""
    from_folder: bool = False
    """Whether the file was found in a folder or prefix that the user named."""
    members_only: bool = False
    """Whether the source itself is not selected, so that only members of it may be added."""
    is_member: bool = False
    """Whether the source is a member of a container."""
    url: str = field(default="", repr=False)
    """URL to fetch, which may contain secrets; empty for other sources."""
    object_path: str = ""
    """Path in the object storage; empty for other sources."""
    stream: BinaryIO | None = None
    """Binary stream that can be read once, such as standard input; None for other sources."""


def containers_of(document_id: str) -> list[str]:
    """Return the ids of the containers around a member, outermost first."""
    parts = document_id.split(MEMBER_MARK)
    return [MEMBER_MARK.join(parts[:count]) for count in range(1, len(parts))]


def is_address(text: str) -> bool:
    """Return whether a source is a URL or an object storage address, not a path."""
    return _ADDRESS.match(text) is not None


def is_url(text: str) -> bool:
    """Return whether a source is an HTTP or HTTPS URL."""
    return text.lower().startswith(("http://", "https://"))


def find_sources(
    named: Sequence[str | Path | BinaryIO],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    document_id: str | None = None,
) -> Iterator[Source | DocumentError]:
    """Yield the documents of some sources, and an error for each source that cannot be opened.

    The id of a file is its name, or for a file of a folder its path relative to that folder, with
    "/" as the separator. The id of a URL is the URL without its signature. The files of a folder or
    of a prefix in object storage are ordered by id. Duplicates are yielded once.

    Args:
        named: Files, folders, URLs, addresses in object storage, or one stream of bytes.
        include: Patterns of files to include from folders and containers.
        exclude: Patterns of files to exclude.
        document_id: Id of the stream.

    Raises:
        OptionError: If a source or a pattern is empty, a source is of another type, or a stream is
            passed without an id or with other sources.
    """
    streams = [item for item in named if not isinstance(item, str | Path) and hasattr(item, "read")]
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
            "added with it: files, folders and URLs have their own ids"
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
    """Check that an address contains no credentials, which would be stored with the document.

    A name without a password is allowed in object storage (`abfs://container@account/`).

    Raises:
        FetchError: If the address contains credentials; the message shows it without them.
    """
    scheme, _, rest = address.partition("://")
    authority, slash, path = rest.partition("/")
    credentials, at, host = authority.rpartition("@")
    if at and (":" in credentials or is_url(address)):
        shown = unsigned(f"{scheme}://{host}{slash}{path}")
        raise fetch_error(
            shown,
            "refused",
            "the address contains a name or password; provide it through the storage's own "
            "settings (variables, files, roles), or fetch the file yourself and add it",
        )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # not reachable, which `_file` reports
        return False


def files_of(
    folder: Path, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Iterator[tuple[str, Source | DocumentError]]:
    """Yield the files of a folder with their ids, and errors for unreadable paths, ordered by id.

    The id of an unreadable subfolder is its relative path, and "" for the folder itself.

    Raises:
        OptionError: If a pattern is invalid.
    """
    root = root_of(folder)
    for entry in walk(folder, include=include, exclude=exclude):
        if isinstance(entry, UnreadablePath):
            yield entry.document_id, entry.error
        else:
            source = _file(entry.path, document_id=entry.document_id, root=root)
            if isinstance(source, Source):
                source = replace(source, from_folder=True, members_only=entry.members_only)
            yield entry.document_id, source


def root_of(path: Path) -> str:
    """Return the source root to record for a file or folder: its absolute path without links."""
    return name_to_id(str(path.resolve()))


def _file(path: Path, *, document_id: str, root: str | None) -> Source | DocumentError:
    """Return the source of an existing file; its root defaults to the file itself."""
    location = name_to_id(str(path))
    try:
        status = path.stat()
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        cause = f"{reason}; check the path and its permissions"
        return fetch_error(location, "unreadable", cause)
    kind = special_kind(status.st_mode)
    if kind:
        cause = f"it is {kind}, not a regular file; copy its content to a file, or pass it as "
        return fetch_error(location, "unreadable", f"{cause}standard input (add - --id NAME)")
    return Source(
        document_id=document_id,
        location=location,
        root=root_of(path) if root is None else root,
        path=path,
        bytes=status.st_size,
    )


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal.

    Raises:
        FetchError: If the file cannot be read.
    """
    try:
        with path.open("rb", buffering=0) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        cause = f"{error.strerror or error}; check its permissions"
        raise fetch_error(str(path), "unreadable", cause) from error
