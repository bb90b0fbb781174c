"""Object storage through fsspec: `s3://`, `gs://` and `az://`.

Rules:
    1. A prefix corresponds to a folder: each object below it is a document, and the id is the rest
       of the object's key. An incomplete listing is an error; listings are not cached.
    2. Credentials come from the settings of the storage's library (variables, files, roles). An
       address with credentials is rejected, and messages show it without them.
    3. Only the schemes of these storages are allowed. Other schemes of fsspec read local files or
       reach any host (`file`, `ftp`, `webhdfs`, chains of addresses) and are rejected. An address
       names a bucket or container and, on Azure, an account, but no other host.
    4. The size limit of files applies to objects. Errors of the storage are translated to errors
       that name the object.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.core.text.file_names import name_to_id
from spanwise.errors import FetchError
from spanwise.ingest.folder_walk import PathPatterns
from spanwise.ingest.locations import fetch_error
from spanwise.ingest.sources import Source
from spanwise.threads import run_until_stopped

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


_PIECE_BYTES = 1 << 20
_EXTRAS = {
    "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az",
    "memory": "objects",
}  # fmt: skip
"""Extra that installs the library of each scheme; `memory` is fsspec's in-process storage."""
_BUCKET = re.compile(r"[A-Za-z0-9][\w.:-]*", re.ASCII)  # S3 access points contain colons
_AZURE_CONTAINER = re.compile(
    r"[A-Za-z0-9$][\w.-]*@[A-Za-z0-9-]+(\.(dfs|blob)\.core\.[a-z]+(\.[a-z]+)*)?", re.ASCII
)
"""A container and an account, alone or as a host of Azure."""
_MAX_CAUSE_CHARS = 300


@dataclass(frozen=True, slots=True)
class _Place:
    """Object or prefix, with the file system that contains it."""

    store: AbstractFileSystem
    path: str


def objects_of(
    address: str, *, patterns: PathPatterns, may_be_empty: bool = False
) -> list[tuple[str, Source]]:
    """Return the objects below a prefix with their ids, ordered by id.

    If the address names a single object, its id is the address.

    Args:
        address: Address of the prefix or object.
        patterns: Patterns that select objects.
        may_be_empty: Whether a prefix without objects is allowed.

    Raises:
        FetchError: If the storage cannot be reached or listed, or there is no object and
            `may_be_empty` is False.
    """
    root = address.rstrip("/")
    place = _open(root)
    with _translate_errors(root, "cannot be listed"):
        objects = place.store.find(place.path, detail=True)
    if not objects and not may_be_empty:
        raise fetch_error(root, "unreadable", "nothing is there; check the address")
    sources = {}
    for path, details in objects.items():
        key = name_to_id(path[len(place.path) :].strip("/"))
        if details.get("type") != "file" or path.endswith("/"):  # a folder marker
            continue
        if key and not (patterns.reaches(key) and (patterns.takes(key) or patterns.opens(key))):
            continue
        sources[key or root] = Source(
            document_id=key or root,
            location=f"{root}/{key}" if key else root,
            root=root,
            path=None,
            bytes=int(details.get("size") or 0),
            from_folder=bool(key),
            members_only=bool(key) and not patterns.takes(key),
            object_path=path,
        )
    return sorted(sources.items())


def download(source: Source, target: Path, *, max_bytes: int, stopped: threading.Event) -> None:
    """Copy an object to a file.

    Raises:
        FetchError: If the object cannot be read, or exceeds the limit.
        CancelledError: If `stopped` is set first.
    """

    def copy() -> None:
        place = _open(source.root)
        size = 0
        with (
            _translate_errors(source.location, "cannot be read"),
            place.store.open(source.object_path, "rb") as stream,
            target.open("wb") as file,
        ):
            while piece := stream.read(_PIECE_BYTES):
                size += len(piece)
                if size > max_bytes or stopped.is_set():
                    break
                file.write(piece)
        if size > max_bytes:
            cause = f"it has more than {max_bytes} bytes; raise max_file_bytes"
            raise fetch_error(source.location, "too_large", cause)

    run_until_stopped(copy, stopped=stopped)


def _open(address: str) -> _Place:
    """Return the storage of an address and the path in it.

    Raises:
        FetchError: If the address is not allowed, or the library of its storage is missing.
    """
    extra = _checked_extra(address)
    missing = f"needs a library that is not installed; pip install 'spanwise[{extra}]'"
    try:
        from fsspec.core import url_to_fs
    except ImportError as exc:
        raise fetch_error(address, "refused", missing) from exc
    with _translate_errors(address, "cannot be opened"):
        try:
            store, path = url_to_fs(address, skip_instance_cache=True, use_listings_cache=False)
        except ImportError as exc:
            raise fetch_error(address, "refused", f"{missing} ({exc})") from exc
    return _Place(store, str(path))


def _checked_extra(address: str) -> str:
    """Return the extra that reads an address.

    Raises:
        FetchError: With the code "refused", if the address does not name a bucket or container of a
            supported storage.
    """
    if "::" in address:
        raise fetch_error(address, "refused", "is a chain of addresses; name the object itself")
    scheme, _, rest = address.partition("://")
    extra = _EXTRAS.get(scheme.lower())
    if extra is None:
        schemes = ", ".join(f"{name}://" for name in _EXTRAS if name != "memory")
        raise fetch_error(
            address,
            "refused",
            f"addresses with {scheme}:// are not read, only {schemes}, http:// and https://; copy "
            "the files to a folder and add that",
        )
    place = rest.partition("/")[0]
    allowed = _AZURE_CONTAINER if extra == "az" and "@" in place else _BUCKET
    if not allowed.fullmatch(place):
        raise fetch_error(
            address,
            "refused",
            f"{place!r} is not a bucket or container; name it without a host, port or options, "
            "which belong in the storage's own settings",
        )
    return extra


@contextmanager
def _translate_errors(address: str, failure: str) -> Iterator[None]:
    """Translate any error of the storage to a FetchError with the description of the failure."""
    try:
        yield
    except FetchError:
        raise
    except Exception as exc:  # each library has its own errors
        cause = " ".join(str(exc).split())[:_MAX_CAUSE_CHARS] or type(exc).__name__
        advice = "check the address, the network and the credentials"
        raise fetch_error(address, "network", f"{failure}: {cause}; {advice}") from exc
