"""New state of a memory store during a rebuild."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spanwise.errors import StoreError
from spanwise.stores.memory import MemoryStore
from spanwise.types.output_cache import CachedOutput

if TYPE_CHECKING:
    from spanwise.stores.memory import StoredDocument
    from spanwise.stores.port import DocumentEntry


class MemoryRebuild:
    """New state of a memory store; implements `StoreRebuild`."""

    def __init__(self, store: MemoryStore, settings: Mapping[str, str]) -> None:
        """Create the object; use `MemoryStore.open_rebuild` instead."""
        self._store = store
        self._staged = MemoryStore()
        self._staged.ensure_settings(settings)
        self._staged._lock = store._lock
        self._staged._outputs = store._outputs
        self._staged._threads = store._threads
        self._versions: dict[str, str] = {}

    def outdated(self) -> list[tuple[str, str]]:
        """Return id and version of the documents to prepare, see `StoreRebuild.outdated`."""
        packs = self._store.ensure_settings({}).get("packs", "")
        if self._staged.ensure_settings({}).get("packs", "") != packs:
            self._staged._settings = {**self._staged._settings, "packs": packs}
            self._versions = {}
        live = self._store._live()
        for document_id in [name for name in self._staged._live() if name not in live]:
            self._staged.delete_document(document_id)
        return [
            (name, _version(stored))
            for name, stored in sorted(live.items(), key=lambda item: item[1].handle)
            if self._versions.get(name) != _version(stored) or name not in self._staged._live()
        ]

    def version(self, document_id: str) -> str:
        """Return the current version of a document; empty if it does not exist."""
        stored = self._store._live().get(document_id)
        return "" if stored is None else _version(stored)

    def put(self, entry: DocumentEntry, *, version: str) -> None:
        """Store a prepared document in the new state."""
        self._staged.put_document(entry, replace=True)
        self._versions[entry.document.id] = version

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached model outputs of some keys, by key."""
        return self._staged.get_outputs(keys)

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache model outputs, except for keys that exist."""
        for cached in outputs:  # without the lock, which a thread may hold
            self._staged._outputs.setdefault(cached.key, cached)

    def remove_output(self, key: str) -> None:
        """Remove the output of a key, if there is one."""
        self._staged._outputs.pop(key, None)

    @contextmanager
    def hold_writers(self) -> Iterator[None]:
        """Block writers of the store until the block ends."""
        with self._store._lock:
            yield

    def switch(self) -> None:
        """Replace the current state by the new one, see `StoreRebuild.switch`.

        Raises:
            StoreError: If a document is outdated.
        """
        if self.outdated():
            raise StoreError("the new state lacks documents; prepare those of `outdated`")
        self._staged._next_handle = max(self._staged._next_handle, self._store._next_handle)
        self._store._successor = self._staged


def _version(stored: StoredDocument) -> str:
    """Return a text that changes with the stored document."""
    record = repr(stored.record).encode(errors="backslashreplace")
    return f"{stored.handle} {zlib.crc32(record)}"
