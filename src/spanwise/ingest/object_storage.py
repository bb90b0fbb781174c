"""Object storage through fsspec: `s3://`, `gs://`, `az://`, and every other store it knows.

Rules
    1. A prefix is a folder: the objects below it are documents with the rest of their key as id.
       A listing is whole or an error; nothing that was listed before is remembered.
    2. Credentials are those that the store's own library finds (its variables, files, roles). An
       address that holds some is refused, and shown without them.
    3. An object is read under the limit of a file, and what the store raises becomes an error that
       names the object.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.core.text.file_names import name_to_id
from spanwise.errors import DocumentErrorCode, FetchError
from spanwise.ingest.folder_walk import Choice
from spanwise.ingest.sources import Source
from spanwise.ingest.stoppable import run_until_stopped

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


_PIECE_BYTES = 1 << 20
_EXTRAS = {
    "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"
}  # fmt: skip
_MAX_CAUSE_CHARS = 300


@dataclass(frozen=True, slots=True)
class _Place:
    """An object or a prefix of one store."""

    store: AbstractFileSystem
    path: str


def objects_of(
    address: str, *, choice: Choice, may_be_empty: bool = False
) -> list[tuple[str, Source]]:
    """Return the objects below a prefix with their ids, ordered by id.

    An object itself has its address as id.

    Args:
        address: Of the prefix, or the object.
        choice: What of the prefix is taken.
        may_be_empty: Whether there may be nothing at the address: stores know no empty folders.

    Raises:
        FetchError: If the store cannot be reached or listed, or there is nothing.
    """
    root = address.rstrip("/")
    place = _opened(root)
    with _translated(root, "cannot be listed"):
        found = place.store.find(place.path, detail=True)
    if not found and not may_be_empty:
        raise _error(root, "unreadable", "nothing is there; check the address")
    sources = {}
    for path, details in found.items():
        key = name_to_id(path[len(place.path) :].strip("/"))
        if details.get("type") != "file" or path.endswith("/"):  # a marker, where a folder would be
            continue
        if key and not (choice.reaches(key) and (choice.takes(key) or choice.opens(key))):
            continue
        sources[key or root] = Source(
            document_id=key or root,
            location=f"{root}/{key}" if key else root,
            root=root,
            path=None,
            bytes=int(details.get("size") or 0),
            from_folder=bool(key),
            members_only=bool(key) and not choice.takes(key),
            object_path=path,
        )
    return sorted(sources.items())


def download(source: Source, target: Path, *, max_bytes: int, stopped: threading.Event) -> None:
    """Write an object to a file.

    Raises:
        FetchError: If it cannot be read, or is larger than the limit.
        CancelledError: If `stopped` is set first.
    """

    def copy() -> None:
        place = _opened(source.root)
        size = 0
        with (
            _translated(source.location, "cannot be read"),
            place.store.open(source.object_path, "rb") as stream,
            target.open("wb") as file,
        ):
            while piece := stream.read(_PIECE_BYTES):
                size += len(piece)
                if size > max_bytes or stopped.is_set():
                    break
                file.write(piece)
        if size > max_bytes:
            raise FetchError(
                f"{source.location}: it has more than {max_bytes} bytes; raise max_file_bytes",
                source=source.location,
                code="too_large",
            )

    run_until_stopped(copy, stopped=stopped)


def _opened(address: str) -> _Place:
    """Return the store of an address and the path in it.

    Raises:
        FetchError: If there is no such store, or its library is missing.
    """
    scheme = address.partition("://")[0].lower()
    extra = _EXTRAS.get(scheme, "objects")
    missing = f"needs a library that is not installed; pip install 'spanwise[{extra}]'"
    if "::" in address:
        raise _error(address, "refused", "is a chain of addresses; name the object itself")
    try:
        from fsspec.core import url_to_fs
    except ImportError as exc:
        raise _error(address, "refused", missing) from exc
    try:
        store, path = url_to_fs(address, skip_instance_cache=True, use_listings_cache=False)
    except ImportError as exc:
        raise _error(address, "refused", f"{missing} ({exc})") from exc
    except Exception as exc:  # each library has errors of its own
        raise _failed(address, "cannot be opened", exc) from exc
    return _Place(store, str(path))


@contextmanager
def _translated(address: str, what: str) -> Iterator[None]:
    """Raise what a store raises as a FetchError."""
    try:
        yield
    except Exception as exc:  # each library has errors of its own
        raise _failed(address, what, exc) from exc


def _failed(address: str, what: str, exc: Exception) -> FetchError:
    cause = " ".join(str(exc).split())[:_MAX_CAUSE_CHARS] or type(exc).__name__
    return _error(
        address, "network", f"{what}: {cause}; check the address, the network and the credentials"
    )


def _error(address: str, code: DocumentErrorCode, cause: str) -> FetchError:
    return FetchError(f"{address}: {cause}", source=address, code=code)
