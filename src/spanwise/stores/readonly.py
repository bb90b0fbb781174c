"""Store for a folder that this process cannot write, while its owner may.

The store reads through an `EmbeddedStore` of one state of the folder. When the folder changes, it
opens a new `EmbeddedStore`, with new connections and caches, and repeats the read. The module
`connections` describes the rules.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from spanwise.errors import StoreChangedError
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.port import repeated_read

if TYPE_CHECKING:
    from spanwise.stores.port import Store
    from spanwise.stores.snapshot import EmbeddedSnapshot
    from spanwise.types import Durability


_P = ParamSpec("_P")
_R = TypeVar("_R")


def open_folder(path: Path, *, create: bool = True, durability: Durability = "full") -> Store:
    """Open the knowledge base in a folder, for writing if the folder can be written.

    Args:
        path: Folder, usually `NAME.kb`.
        create: Whether to create a missing knowledge base; the folder must be missing or empty.
        durability: As `open_embedded`.

    Raises:
        FormatError, StoreError: As `open_embedded`.
    """
    store = repeated_read(open_embedded)(path, create=create, durability=durability)
    return store if store.writable else ReadonlyStore(path, store)


def _repeated(
    method: Callable[Concatenate[EmbeddedStore, _P], _R],
) -> Callable[Concatenate[ReadonlyStore, _P], _R]:
    """Return a method that calls the method of the current store, and repeats it after a change."""

    @wraps(method)
    def read(self: ReadonlyStore, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with self.current() as store:
            return method(store, *args, **kwargs)

    return repeated_read(read)


class ReadonlyStore:
    """Documents in a read-only folder; implements `Store`.

    Everything except writing works. Safe for several threads.
    """

    def __init__(self, path: Path, store: EmbeddedStore) -> None:
        """Create the store; use `open_folder` instead.

        Args:
            path: Folder of the knowledge base.
            store: Store of the current state of the folder.
        """
        self._path = path
        self._store = store
        self._lock = threading.Lock()
        self._is_closed = False

    @contextmanager
    def current(self) -> Iterator[EmbeddedStore]:
        """Yield the store of the current state.

        Raises:
            StoreChangedError: If the read is invalid because the folder has changed; retry it.
        """
        with self._lock:
            if not (self._is_closed or self._store.is_current):
                store = open_embedded(self._path, create=False)
                store.use_settings_of(self._store)
                self._store.supersede()
                self._store = store
            store = self._store
        try:
            yield store
        except StoreChangedError:
            store.supersede()
            raise

    @contextmanager
    def snapshot(self) -> Iterator[EmbeddedSnapshot]:
        """Open a snapshot, as `EmbeddedStore.snapshot`.

        Raises:
            StoreChangedError: On exit, if the folder has changed; use `repeated_read`.
        """
        with self.current() as store, store.snapshot() as snapshot:
            yield snapshot

    @contextmanager
    def group_commits(self) -> Iterator[Callable[[], None]]:
        """Yield a function that does nothing, because there are no commits."""
        yield lambda: None

    @property
    def rebuilt(self) -> bool:
        """Whether the knowledge base was rebuilt since this store was opened."""

        @repeated_read
        def is_rebuilt() -> bool:
            with self.current() as store:
                return store.rebuilt

        return not self._is_closed and is_rebuilt()

    def reopened(self) -> Store:
        """Return a new store of the same folder; this one keeps no unused file open."""
        with self._lock:
            self._store.retire()
        return open_folder(self._path, create=False)

    def close(self) -> None:
        """Release all resources; later calls raise StoreError."""
        with self._lock:
            self._is_closed = True
            self._store.close()

    ensure_settings = _repeated(EmbeddedStore.ensure_settings)
    record_settings = _repeated(EmbeddedStore.record_settings)
    record_packs = _repeated(EmbeddedStore.record_packs)
    list_signals = _repeated(EmbeddedStore.list_signals)
    open_rebuild = _repeated(EmbeddedStore.open_rebuild)
    discard_rebuild = _repeated(EmbeddedStore.discard_rebuild)
    put_document = _repeated(EmbeddedStore.put_document)
    update_document = _repeated(EmbeddedStore.update_document)
    delete_document = _repeated(EmbeddedStore.delete_document)
    get_record = _repeated(EmbeddedStore.get_record)
    list_records = _repeated(EmbeddedStore.list_records)
    ids_from = _repeated(EmbeddedStore.ids_from)
    get_document = _repeated(EmbeddedStore.get_document)
    get_whole = _repeated(EmbeddedStore.get_whole)
    get_chunks = _repeated(EmbeddedStore.get_chunks)
    get_sections = _repeated(EmbeddedStore.get_sections)
    get_embedded = _repeated(EmbeddedStore.get_embedded)
    read_entry = _repeated(EmbeddedStore.read_entry)
    record_former_fields = _repeated(EmbeddedStore.record_former_fields)
    get_outputs = _repeated(EmbeddedStore.get_outputs)
    put_outputs = _repeated(EmbeddedStore.put_outputs)
    remove_output = _repeated(EmbeddedStore.remove_output)
    count_outputs = _repeated(EmbeddedStore.count_outputs)
    list_outputs = _repeated(EmbeddedStore.list_outputs)
    forget_outputs = _repeated(EmbeddedStore.forget_outputs)
    append_turn = _repeated(EmbeddedStore.append_turn)
    get_thread = _repeated(EmbeddedStore.get_thread)
    list_threads = _repeated(EmbeddedStore.list_threads)
    delete_thread = _repeated(EmbeddedStore.delete_thread)
    reclaimable_bytes = _repeated(EmbeddedStore.reclaimable_bytes)
    compact = _repeated(EmbeddedStore.compact)
    check = _repeated(EmbeddedStore.check)
    backup = _repeated(EmbeddedStore.backup)
