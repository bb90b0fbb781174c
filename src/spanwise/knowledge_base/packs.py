"""The packs of a knowledge base: which are in use, what they know and where they are on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spanwise.errors import PackError
from spanwise.packs.landmarks import document_signals, landmark_signals
from spanwise.packs.pack_file import MAX_BYTES, NamedPack, pack_record, read_pack, recorded_packs
from spanwise.search.shipped_packs import SHIPPED, shipped_packs
from spanwise.types import PackInfo, PackPlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.stores.port import Store


def open_pack(name: str | Path) -> NamedPack:
    """Return a pack that comes with the package, by its name, or that of a file, by its path.

    Raises:
        PackError: If there is none, or it cannot be read.
    """
    shipped = {named.pack.name: named for named in shipped_packs()}
    if isinstance(name, str) and name in shipped:
        return shipped[name]
    path = Path(name)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise PackError(
            f"the pack {str(name)!r} cannot be read: {error}; name a file, or one of those that "
            f"come with Spanwise: {', '.join(shipped)}"
        ) from error
    return NamedPack(read_pack(text, place=str(path)), str(path.absolute()))


def record_of(names: Sequence[str | Path]) -> str:
    """Return what is recorded of packs that are named.

    Raises:
        PackError: If one cannot be read, two have one name, or there are too many.
    """
    if isinstance(names, str | Path):
        raise PackError(f"packs is {names!r}; give a list of names and paths")
    return pack_record([open_pack(name) for name in names])


class Packs:
    """The packs that one knowledge base uses, in order."""

    def __init__(self, store: Store) -> None:
        """Read them from a store, at every call anew."""
        self._store = store

    def list(self) -> tuple[PackInfo, ...]:
        """Return the packs in use, then those that come with Spanwise and are not."""
        used = self._used()
        names = {named.pack.name for named in used}
        shipped = {named.pack.name: named.pack.text for named in shipped_packs()}
        documents = [self._names(found) for found in self._store.list_signals().values()]
        infos = [
            _info(
                named,
                in_use=True,
                documents=sum(named.pack.name in found for found in documents),
                outdated=named.origin == SHIPPED
                and shipped.get(named.pack.name) != named.pack.text,
            )
            for named in used
        ]
        others = [named for named in shipped_packs() if named.pack.name not in names]
        return (*infos, *(_info(named, in_use=False) for named in others))

    def use(self, *names: str | Path) -> tuple[PackInfo, ...]:
        """Use packs, in place of those with the same names; documents are looked through anew.

        Nothing is parsed or embedded again. Searches see the packs as they were before, or all as
        they are after.

        Args:
            *names: Of packs that come with Spanwise, or paths of files.

        Raises:
            PackError: If one cannot be read.
            StoreError: If the knowledge base cannot be written.
        """
        wanted = {named.pack.name: named for named in map(open_pack, names)}
        kept = [wanted.pop(named.pack.name, named) for named in self._used()]
        self._record([*kept, *wanted.values()])
        return self.list()

    def adopt(self, others: Packs) -> None:
        """Use the packs of another knowledge base, in place of all that are in use."""
        self._record(others._used())

    def remove(self, *names: str) -> tuple[PackInfo, ...]:
        """Use packs no longer.

        Raises:
            PackError: If one is not in use.
            StoreError: If the knowledge base cannot be written.
        """
        used = self._used()
        known = [named.pack.name for named in used]
        for name in names:
            if name not in known:
                raise PackError(
                    f"the pack {name!r} is not in use; those in use are {', '.join(known) or '-'}"
                )
        self._record([named for named in used if named.pack.name not in names])
        return self.list()

    def find(self, name: str | Path) -> tuple[PackPlace, ...]:
        """Return where a pack finds its landmarks, in use or not: the best place of each document.

        By document, then in the order of the pack. All documents are looked through.

        Raises:
            PackError: If it cannot be read.
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

    def _names(self, signals: Sequence[str]) -> set[str]:
        """Return the names of the packs that some signals are of."""
        return {signal.partition("/")[0] for signal in signals}

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
