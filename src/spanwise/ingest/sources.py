"""Sources of documents: files, folders, URLs, objects and streams that the user names."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import TextIOBase
from pathlib import Path, PurePath
from typing import BinaryIO, TypeAlias, TypeGuard

from spanwise.core.text.file_names import id_problem, name_to_id
from spanwise.errors import DocumentError, FetchError, OptionError, shown
from spanwise.ingest.folder_walk import (
    SIDECAR_NAMES,
    PathPatterns,
    UnreadablePath,
    special_kind,
    walk,
)
from spanwise.ingest.locations import fetch_error, unsigned
from spanwise.options import CrawlOptions
from spanwise.options.checks import check_class

MEMBER_MARK = "!/"
"""Separator between the id of a container and the name of a member."""
STREAM_ROOT = "-"
"""Source root of a document from a stream."""
_SITEMAP = re.compile(r"(?:[^/]*[-_.])?sitemap[^/]*\.xml(\.gz)?", re.IGNORECASE)
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
    in_stored_folder: bool = False
    """Whether the file was named by itself, and its document belongs to a folder added before."""
    prefix: str = ""
    """Prefix of the id of a file of a folder, with a slash at its end; empty if there is none."""
    is_member: bool = False
    """Whether the source is a member of a container."""
    url: str = field(default="", repr=False)
    """URL to fetch, which may contain secrets; empty for other sources."""
    known_hash: str = ""
    """SHA-256 of the content of a page that a crawl has fetched or found unchanged."""
    media_type: str | None = None
    """Media type that the server of a crawled page sent; None if not sent."""
    charset: str | None = None
    """Charset that the server of a crawled page sent; None if not sent."""
    object_path: str = ""
    """Path in the object storage; empty for other sources."""
    stream: BinaryIO | None = None
    """Binary stream that can be read once, such as standard input; None for other sources."""


@dataclass(frozen=True, slots=True)
class CopiedFolder:
    """Folder with temporary copies of files, as a source of documents."""

    path: Path
    root: str
    """Source root of the documents, in place of the path."""

    def sources(
        self, *, include: Sequence[str], exclude: Sequence[str]
    ) -> Iterator[Source | DocumentError]:
        """Yield the files of the folder, ordered by id."""
        for document_id, source in files_of(self.path, include=include, exclude=exclude):
            if isinstance(source, Source):
                location = f"{self.root}/{document_id}"
                yield replace(source, root=self.root, location=location)
            else:
                yield source


NamedSource: TypeAlias = str | Path | BinaryIO | CopiedFolder
"""Source as a caller names it."""


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


def is_sitemap(address: str) -> bool:
    """Return whether a URL is named like a sitemap: "sitemap.xml", "post-sitemap-2.xml.gz"."""
    path = address.partition("#")[0].partition("?")[0]
    return is_url(address) and _SITEMAP.fullmatch(path.rpartition("/")[2]) is not None


def split_crawled(
    named: Sequence[NamedSource], crawl: CrawlOptions | None
) -> tuple[list[str], list[NamedSource], CrawlOptions | None]:
    """Return the URLs to crawl, the other sources, and the options of the crawl.

    Without options only sitemaps are crawled, without the links of their pages.

    Raises:
        OptionError: If there are options but no URL, or the options are of another class.
    """
    check_class("crawl", crawl, CrawlOptions)
    addresses = [
        name
        for name in named
        if isinstance(name, str) and is_url(name) and (crawl is not None or is_sitemap(name))
    ]
    if crawl is not None and not addresses and not crawl.sitemaps:
        raise OptionError("crawl is given, and no source is a URL; name a start page or a sitemap")
    others = [name for name in named if not isinstance(name, str) or name not in addresses]
    if crawl is None and addresses:
        crawl = CrawlOptions(depth=0)
    return addresses, others, crawl


def find_sources(  # noqa: PLR0913 - keywords, each with a default
    named: Sequence[NamedSource],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    document_id: str | None = None,
    prefix: str | None = None,
    follow_links: bool = False,
    stored_ids: Callable[[str], Iterable[str]] = lambda _: (),
) -> Iterator[Source | DocumentError]:
    """Yield the documents of some sources, and an error for each source that cannot be opened.

    The id of a file is its name, or for a file of a folder its path relative to that folder, with
    "/" as the separator. The id of a URL is the URL without its signature. The files of a folder or
    of a prefix in object storage are ordered by id. Duplicates are yielded once.

    If several folders are named, ids begin with the path of the folder below their common parent.
    The ids of stored documents of a folder stay as they are.

    Args:
        named: Files, folders, URLs, addresses in object storage, or one stream of bytes.
        include: Patterns of files to include from folders and containers.
        exclude: Patterns of files to exclude.
        document_id: Id of the stream.
        prefix: Prefix of the ids of files from folders; None for the default.
        follow_links: Whether symbolic links that lead out of a folder are followed.
        stored_ids: Function that returns the ids of the stored documents from a source root.

    Raises:
        OptionError: If a source, a pattern or the prefix is empty, a source is of another type, or
            a stream is passed without an id or with other sources.
    """
    streams = [
        item
        for item in named
        if not isinstance(item, str | Path | CopiedFolder) and hasattr(item, "read")
    ]
    if streams or document_id is not None:
        yield _of_stream(streams, named, document_id)
        return
    folders = _named_folders(named)
    parent = _common_parent(folders)
    seen: set[tuple[str, str]] = set()
    for name in named:
        if isinstance(name, CopiedFolder):
            found = name.sources(include=include, exclude=exclude)
        elif not isinstance(name, str | Path) or not str(name).strip():
            raise OptionError(_unusable(name))
        elif isinstance(name, str) and is_address(name):
            found = _of_address(name, patterns=PathPatterns.of(include, exclude))
        elif Path(name) in folders:
            path = Path(name)
            files = list(
                files_of(path, include=include, exclude=exclude, follow_links=follow_links)
            )
            default = "" if parent is None else Path(root_of(path)).relative_to(parent).as_posix()
            chosen = choose_prefix(
                prefix,
                [name for name, _ in files],
                root=root_of(path),
                stored=stored_ids(root_of(path)),
                default=f"{default}/" if default not in ("", ".") else "",
            )
            found = (source for _, source in with_prefix(files, chosen))
        else:
            found = iter((_file(Path(name), document_id=name_to_id(Path(name).name), root=None),))
        for source in found:
            if isinstance(source, Source):
                identity = (source.document_id, source.root)
                if identity in seen:
                    continue
                seen.add(identity)
            yield source


def _unusable(name: object) -> str:
    """Return the error message about a source of a wrong type, or without a name."""
    if isinstance(name, list | tuple | set | frozenset):
        return (
            f"a source is a {type(name).__name__} of {len(name)} items; pass each file, folder or"
            " URL as an argument of its own: add(*paths)"
        )
    return f"a source is {name!r:.200}; pass files, folders and URLs"


def _named_folders(named: Sequence[NamedSource]) -> list[Path]:
    """Return the folders among the sources."""
    paths = [
        Path(name)
        for name in named
        if isinstance(name, Path)
        or (isinstance(name, str) and name.strip() and not is_address(name))
    ]
    return [path for path in dict.fromkeys(paths) if _is_folder(path)]


def _common_parent(folders: Sequence[Path]) -> str | None:
    """Return the common parent of several folders; None for one folder, or without a parent."""
    roots = {root_of(folder) for folder in folders}
    if len(roots) < 2:
        return None
    try:
        return os.path.commonpath([str(Path(root).parent) for root in roots])
    except ValueError:  # different drives
        return None


def choose_prefix(
    prefix: str | None, names: Sequence[str], *, root: str, stored: Iterable[str], default: str = ""
) -> str:
    """Return the prefix of the ids of a folder, with a slash at its end; "" for none.

    Without a named prefix, stored documents of the folder keep their prefix, which is found by
    comparing their ids. It is either an end of the path of the folder, or a path that is not in the
    folder and, once removed, leaves the name of a file. All stored ids must begin with it.

    Args:
        prefix: Prefix that the caller names; None if none is named.
        names: Ids of the files of the folder without a prefix.
        root: Source root of the folder.
        stored: Ids of the stored documents of the folder.
        default: Prefix of a folder without stored documents.

    Raises:
        OptionError: If the prefix contains no name, or "!/".
    """
    if prefix is not None:
        if not isinstance(prefix, str):
            raise OptionError(f'prefix is {shown(prefix)}; give a text such as "2023"')
        named = prefix.strip("/")
        if not named.strip() or MEMBER_MARK in prefix:
            raise OptionError(f'prefix is {prefix!r}; it must be a name such as "2023" or "a/b"')
        return f"{named}/"
    ids = [document_id.partition(MEMBER_MARK)[0] for document_id in stored]
    if not ids:
        return default
    if not frozenset(names).isdisjoint(ids):
        return ""
    parts = PurePath(root).parts[1:]
    ends = ["/".join(parts[start:]) + "/" for start in range(len(parts))]
    prefixes = [*ends, *_shared_prefixes(ids, names, root=Path(root))]
    return next((item for item in prefixes if all(name.startswith(item) for name in ids)), "")


def _shared_prefixes(ids: Sequence[str], names: Sequence[str], *, root: Path) -> list[str]:
    """Return the beginnings of the first id that are not in the folder but precede a file name."""
    parts = ids[0].split("/")
    prefixes = ["/".join(parts[:count]) + "/" for count in range(1, len(parts))]
    stripped = {prefix: {name.removeprefix(prefix) for name in ids} for prefix in prefixes}
    return [
        prefix
        for prefix in prefixes
        if not (root / prefix).exists() and not stripped[prefix].isdisjoint(names)
    ]


def with_prefix(
    files: Iterable[tuple[str, Source | DocumentError]], prefix: str
) -> Iterator[tuple[str, Source | DocumentError]]:
    """Yield the files of a folder with a prefix in their ids."""
    for name, source in files:
        if not prefix or not name:
            yield name, source
        elif isinstance(source, Source):
            yield prefix + name, replace(source, document_id=prefix + name, prefix=prefix)
        else:
            yield prefix + name, source


def _of_stream(
    streams: Sequence[BinaryIO],
    named: Sequence[NamedSource],
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
    problem = id_problem(document_id)
    if problem:
        raise OptionError(f"the id of a stream is {shown(document_id)}: {problem}; give it another")
    check_stream(streams[0])
    return Source(
        document_id=document_id,
        location=document_id,
        root=STREAM_ROOT,
        path=None,
        bytes=0,
        stream=streams[0],
    )


def check_stream(stream: object) -> None:
    """Check that a stream can be read as bytes.

    Raises:
        OptionError: If it is open in text mode, or closed.
    """
    if isinstance(stream, TextIOBase):
        raise OptionError(
            f'{shown(stream)} is open in text mode; open it in binary mode: open(path, "rb"), or '
            "add its text with `add_text`"
        )
    if getattr(stream, "closed", False):
        raise OptionError(f"{shown(stream)} is closed; pass it open, or pass its path")


def read_stream(location: str, stream: BinaryIO, size: int = -1) -> bytes:
    """Return the next bytes of a stream, at most a number of them; empty at its end.

    Args:
        location: Id of the stream for messages.
        stream: Stream of the caller.
        size: Maximum number of bytes; -1 for all.

    Raises:
        FetchError: If the stream cannot be read or does not return bytes.
    """
    try:
        piece = stream.read(size)
    except Exception as exc:  # each kind of stream has its own errors
        cause = f"the stream cannot be read: {str(exc) or type(exc).__name__}"
        raise fetch_error(location, "unreadable", cause) from exc
    if not isinstance(piece, bytes | bytearray | memoryview):
        cause = f"the stream returns {type(piece).__name__}; give a stream of bytes"
        raise fetch_error(location, "unreadable", cause)
    return bytes(piece)


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
    folder: Path,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    follow_links: bool = False,
) -> Iterator[tuple[str, Source | DocumentError]]:
    """Yield the files of a folder with their ids, and errors for unreadable paths, ordered by id.

    The id of an unreadable subfolder is its relative path, and "" for the folder itself.

    Raises:
        OptionError: If a pattern is invalid.
    """
    root = root_of(folder)
    for entry in walk(folder, include=include, exclude=exclude, follow_links=follow_links):
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
    if path.name in SIDECAR_NAMES:
        cause = (
            "it is a sidecar file and not a document; its rows are used for the files that it names"
        )
        return fetch_error(location, "unsupported", cause)
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


def in_stored_folders(
    sources: Iterable[Source | DocumentError],
    ids_from: Callable[[Sequence[str]], Mapping[str, Sequence[str]]],
) -> tuple[Source | DocumentError, ...]:
    """Return sources, in which files of folders that were added before belong to their folder.

    A file that was named by itself gets the id, source root and prefix of its stored document. It
    is left out if the files of its folder are sources too.

    Args:
        sources: Sources that the user named.
        ids_from: Function that returns the ids of the stored documents by source root.
    """
    sources = tuple(sources)
    parents = {
        str(folder)
        for source in sources
        if _is_single_file(source)
        for folder in PurePath(source.root).parents
    }
    stored = {
        root: {document_id.partition(MEMBER_MARK)[0] for document_id in ids}
        for root, ids in (ids_from(sorted(parents)) if parents else {}).items()
    }
    found: list[Source | DocumentError] = []
    seen = {(item.document_id, item.root) for item in sources if isinstance(item, Source)}
    for source in sources:
        if not _is_single_file(source):
            found.append(source)
            continue
        placed = _in_stored_folder(source, stored)
        if placed is source or (placed.document_id, placed.root) not in seen:
            found.append(placed)
    return tuple(found)


def _is_single_file(source: Source | DocumentError) -> TypeGuard[Source]:
    return (
        isinstance(source, Source)
        and source.path is not None
        and not source.from_folder
        and not source.is_member
    )


def _in_stored_folder(source: Source, stored: Mapping[str, Collection[str]]) -> Source:
    """Return a file as a file of the folder that its stored document belongs to, or unchanged.

    Args:
        source: File that was named by itself.
        stored: Ids of the stored documents, or of their containers, by source root.
    """
    path = PurePath(source.root)
    for folder in path.parents:
        name = path.relative_to(folder).as_posix()
        prefix = _stored_prefix(Path(folder), name, stored.get(str(folder), ()))
        if prefix is not None:
            return replace(
                source,
                document_id=prefix + name,
                root=str(folder),
                prefix=prefix,
                from_folder=True,
                in_stored_folder=True,
            )
    return source


def _stored_prefix(folder: Path, name: str, ids: Collection[str]) -> str | None:
    """Return the prefix of the stored document of a file; None if it is not stored.

    Args:
        folder: Folder that contains the file.
        name: Path of the file relative to the folder.
        ids: Ids of the stored documents of the folder. All of them begin with the prefix.
    """
    if name in ids:
        return ""
    for document_id in ids:
        prefix = document_id.removesuffix(f"/{name}") + "/"
        is_suffixed = document_id.endswith(f"/{name}")
        if is_suffixed and all(other.startswith(prefix) for other in ids):
            try:
                return None if (folder / document_id).exists() else prefix
            except OSError:  # the id is too long for a path
                return prefix
    return None


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
