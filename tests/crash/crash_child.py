"""Child processes of the crash test: writers and a reader of an embedded store.

Started as `python -m tests.crash.crash_child`. A writer publishes its current phase in one byte of
a shared file. The phase is recorded by wrappers around functions of the store, so the store holds
no test code.
"""

from __future__ import annotations

import itertools
import json
import mmap
import os
import random
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import wraps
from pathlib import Path
from typing import Any, Literal

from spanwise.stores import embedded, flush, index
from spanwise.stores.port import DocumentEntry, Store
from spanwise.testing.store_entries import check_whole, make_entry, question

CONTROL_BYTES = 16
"""Size of a control file: the phase is the first byte, the number of searches the last eight."""

_SLOTS = 12  # documents of each writer
_FLUSH_ROWS = 120
_LONG_PARTS = 40
_COMPACT_EVERY = 5
_NICE = 10  # the killer must wake up at once


class Phase(IntEnum):
    """Phase of a writer."""

    STARTING = 0
    IDLE = 1
    TRANSACTION = 2
    DELETE = 3
    FLUSH = 4
    MERGE = 5
    MANIFEST = 6


Step = tuple[Literal["try", "done"], str, int | None]
"""One line of a log: begun or acknowledged, document id, version (None for a deletion)."""


def crash_entry(document_id: str, version: int) -> DocumentEntry:
    """Return a version of a document with 1 to 40 chunks; each chunk names document and version."""
    chooser = random.Random(f"{document_id} {version}")
    parts = chooser.choice((1, 2, 5, 9, chooser.randint(10, _LONG_PARTS)))
    words = ("lease", "margin", "goodwill", "covenant", "12.5", "FY2018")
    return make_entry(
        document_id,
        [
            f"steady {document_id} version{version} part {part} "
            f"{' '.join(chooser.choices(words, k=8))}\n"
            for part in range(parts)
        ],
        title=f"steady {document_id}",
        metadata={"version": version},
        source_root="crash",
    )


class _Watcher:
    """Keeps the phase byte of a control file up to date."""

    def __init__(self, control: mmap.mmap) -> None:
        self._control = control
        self._deleting = False

    def mark(self, phase: Phase) -> None:
        self._control[0] = phase

    def around(self, module: Any, name: str, phase_of: Callable[..., Phase]) -> None:
        """Wrap a function of the store: the byte holds its phase while it runs."""
        real = getattr(module, name)

        @wraps(real)
        def watched(*args: Any, **kwargs: Any) -> Any:
            before = self._control[0]
            self._control[0] = phase_of(*args, **kwargs)
            try:
                return real(*args, **kwargs)
            finally:
                self._control[0] = before

        setattr(module, name, watched)

    def install(self) -> None:
        """Wrap the watched functions, and lower the threshold of automatic flushes."""
        store_class = embedded.EmbeddedStore
        real_writing = store_class._writing
        real_delete = store_class.delete_document
        watcher = self

        @contextmanager
        def writing(store: embedded.EmbeddedStore) -> Iterator[Any]:
            with real_writing(store) as connection:  # the lock is held from here on
                watcher.mark(Phase.DELETE if watcher._deleting else Phase.TRANSACTION)
                yield connection
            watcher.mark(Phase.IDLE)

        def delete(store: embedded.EmbeddedStore, document_id: str, **expected: Any) -> bool:
            watcher._deleting = True
            try:
                return real_delete(store, document_id, **expected)
            finally:
                watcher._deleting = False

        for name, method in {"_writing": writing, "delete_document": delete}.items():
            setattr(store_class, name, method)
        vars(embedded)["_FLUSH_ROWS"] = _FLUSH_ROWS
        self.around(index, "flush_pending", lambda *_, **__: Phase.FLUSH)
        self.around(flush, "write_manifest", lambda *_: Phase.MANIFEST)
        self.around(
            flush,
            "_write",
            lambda _, group, **__: Phase.MERGE if len(group.sources) > 1 else Phase.FLUSH,
        )


class _Log:
    """Log of steps on disk; an acknowledged step is synced before the next one begins."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, step: Step) -> None:
        os.write(self._file, json.dumps(step).encode() + b"\n")
        if step[0] == "done":
            os.fsync(self._file)


def write(folder: Path, control: mmap.mmap, log_path: Path, writer: str, first: int) -> None:
    """Put, replace, delete and compact until killed.

    Args:
        folder: Knowledge base whose settings are recorded.
        control: Shared control bytes.
        log_path: File of the log.
        writer: Name of this writer, the first part of its document ids.
        first: First version of the documents, and the seed.
    """
    watcher = _Watcher(control)
    watcher.install()
    log = _Log(log_path)
    chooser = random.Random(first)
    store = embedded.open_embedded(folder)
    watcher.mark(Phase.IDLE)
    for version in itertools.count(first):
        _step(store, log, chooser, f"{writer}/{chooser.randrange(_SLOTS)}", version)


def _step(store: Store, log: _Log, chooser: random.Random, document_id: str, version: int) -> None:
    if version % _COMPACT_EVERY == 0:
        store.compact()
    if chooser.random() < 0.35 and store.get_record(document_id) is not None:
        log.write(("try", document_id, None))
        if not store.delete_document(document_id):
            raise AssertionError(f"{document_id} was there and cannot be deleted")
        log.write(("done", document_id, None))
        return
    entry = crash_entry(document_id, version)
    log.write(("try", document_id, version))
    store.put_document(entry)
    log.write(("done", document_id, version))


def read(folder: Path, control: mmap.mmap) -> None:
    """Search until killed, and check that every search sees whole documents only."""
    store = embedded.open_embedded(folder)
    query = question("steady")
    for searches in itertools.count(1):
        with store.snapshot() as snapshot:
            check_whole(snapshot, query)
        struct.pack_into("<q", control, 8, searches)


def main(arguments: list[str]) -> None:
    """Run as `writer FOLDER CONTROL LOG NAME FIRST` or `reader FOLDER CONTROL`."""
    os.nice(_NICE)
    role, folder, control_path, *rest = arguments
    with Path(control_path).open("r+b") as file:
        control = mmap.mmap(file.fileno(), CONTROL_BYTES)
    if role == "writer":
        log_path, writer, first = rest
        write(Path(folder), control, Path(log_path), writer, int(first))
    else:
        read(Path(folder), control)


if __name__ == "__main__":
    main(sys.argv[1:])
