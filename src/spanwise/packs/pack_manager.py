"""Packs of a knowledge base: list, use, remove, and find their landmarks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spanwise.errors import PackError
from spanwise.packs.landmarks import document_signals, landmark_signals
from spanwise.packs.pack_file import (
    SHIPPED,
    NamedPack,
    open_pack,
    pack_record,
    recorded_packs,
    shipped_packs,
)
from spanwise.types import PackInfo, PackPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from spanwise.types import Chunk, DocumentRecord


class PackStore(Protocol):
    """Store operations that `Packs` uses."""

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Record missing settings, and return all recorded settings."""

    def record_packs(
        self, packs: str, make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]]
    ) -> None:
        """Replace the recorded packs and the signals of all documents in one transaction."""

    def list_signals(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the signals of each document that has any, by document id."""

    def list_records(self) -> Sequence[DocumentRecord]:
        """Return the records of all documents, ordered by id."""

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document in order."""


class Packs:
    """Packs that a knowledge base uses, in order."""

    def __init__(self, store: PackStore) -> None:
        """Manage the packs of a store; each call reads their current state."""
        self._store = store

    def list(self) -> tuple[PackInfo, ...]:
        """Return the packs in use, followed by the shipped packs that are not in use."""
        used = self._used()
        names = {named.pack.name for named in used}
        shipped = {named.pack.name: named.pack.text for named in shipped_packs()}
        documents = [
            {signal.partition("/")[0] for signal in signals}
            for signals in self._store.list_signals().values()
        ]
        infos = [
            _info(
                named,
                in_use=True,
                documents=sum(named.pack.name in packs for packs in documents),
                outdated=named.origin == SHIPPED
                and shipped.get(named.pack.name) != named.pack.text,
            )
            for named in used
        ]
        unused = [named for named in shipped_packs() if named.pack.name not in names]
        return (*infos, *(_info(named, in_use=False) for named in unused))

    def use(self, *names: str | Path) -> tuple[PackInfo, ...]:
        """Add packs, replacing packs with the same names, and find their landmarks.

        All documents are scanned again, but nothing is parsed or embedded. Concurrent searches see
        either all of the old packs or all of the new ones.

        Args:
            *names: Names of shipped packs, or paths of files.

        Returns:
            The same as `list`.

        Raises:
            PackError: If a pack cannot be read.
            StoreError: If the knowledge base cannot be written.
        """
        new = {named.pack.name: named for named in map(open_pack, names)}
        replaced = [new.pop(named.pack.name, named) for named in self._used()]
        self._record([*replaced, *new.values()])
        return self.list()

    def adopt(self, others: Packs) -> None:
        """Replace all packs by those of another knowledge base."""
        self._record(others._used())

    def remove(self, *names: str) -> tuple[PackInfo, ...]:
        """Stop using packs.

        Args:
            *names: Names of packs in use.

        Returns:
            The same as `list`.

        Raises:
            PackError: If a pack is not in use.
            StoreError: If the knowledge base cannot be written.
        """
        used = self._used()
        known = [named.pack.name for named in used]
        for name in names:
            if name not in known:
                raise PackError(
                    f"the pack {name!r} is not in use; packs in use: {', '.join(known) or 'none'}"
                )
        self._record([named for named in used if named.pack.name not in names])
        return self.list()

    def find(self, name: str | Path) -> tuple[PackPlace, ...]:
        """Return the best place of each landmark of a pack in each document.

        All documents are scanned; the pack need not be in use.

        Args:
            name: Name of a shipped pack, or path of a file.

        Returns:
            Places ordered by document id, then in the order of the pack's landmarks.

        Raises:
            PackError: If the pack cannot be read.
        """
        pack = open_pack(name).pack
        places: list[PackPlace] = []
        for record in self._store.list_records():
            chunks = self._store.get_chunks(record.id)
            signals = landmark_signals(pack, [chunk.text for chunk in chunks]) if chunks else {}
            for landmark in pack.landmarks:
                signal = signals.get(pack.signal(landmark.key))
                if signal is not None:
                    best = chunks[int(np.argmax(signal))]
                    places.append(
                        PackPlace(
                            document_id=record.id,
                            landmark=landmark.key,
                            name=landmark.name,
                            chunk=best.index,
                            start=best.start,
                            end=best.end,
                            text=best.text,
                        )
                    )
        return tuple(places)

    def _used(self) -> tuple[NamedPack, ...]:
        return recorded_packs(self._store.ensure_settings({}).get("packs", ""))

    def _record(self, packs: Sequence[NamedPack]) -> None:
        make = partial(document_signals, [named.pack for named in packs])
        self._store.record_packs(pack_record(packs), make)


def _info(
    named: NamedPack, *, in_use: bool, documents: int = 0, outdated: bool = False
) -> PackInfo:
    pack = named.pack
    return PackInfo(
        name=pack.name,
        description=pack.description,
        origin=named.origin,
        in_use=in_use,
        outdated=outdated,
        landmarks=tuple(landmark.name for landmark in pack.landmarks),
        phrases=sum(len(intent.names) + len(intent.words) for intent in pack.intents),
        glossary=len(pack.glossary),
        documents=documents,
    )
