"""Process of `benchmarks.concurrency`: threads that use one knowledge base for a given time.

`python -m benchmarks.lib.concurrent_worker writer ADDRESS OUT SECONDS PATIENCE NAME THREADS`
changes, reads and searches the contested documents. With `keeper` in place of `writer`, and without
NAME and THREADS, it compacts, checks, backs up and rebuilds, as far as the store can. The
operations and the times of all calls are written to OUT as JSON. A thread that fails ends the
process with its error. A process that has not ended PATIENCE seconds after its time prints the
stacks of its threads, and ends.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.lib.concurrent_documents import (
    DOCUMENTS,
    Kind,
    Operation,
    State,
    put,
    read,
    search,
    set_note,
)
from spanwise import ChunkOptions, KnowledgeBase
from spanwise.errors import DocumentNotFoundError, StoreBusyError

_NICE = 5
_QUESTION = "What is the steady margin and the goodwill?"
_CHUNKS = (ChunkOptions(), ChunkOptions(target=240, max=300, paragraph_min=120))
"""Options of the rebuilds, in turn."""
_KEEPER_PAUSE_SECONDS = 0.2


@dataclass(slots=True)
class Record:
    """Operations of one thread, and the times of its calls."""

    operations: list[Operation] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Times of the calls by name."""
    refused: Counter[str] = field(default_factory=Counter)
    """Calls that reported that others keep changing what they change."""

    @contextmanager
    def timed(self, name: str) -> Iterator[tuple[float, Callable[[], float]]]:
        """Measure a call; yield its start, and a function that returns the present time."""
        began = time.monotonic()
        try:
            yield began, time.monotonic
        finally:
            self.seconds.setdefault(name, []).append(time.monotonic() - began)


@dataclass(slots=True)
class Writer:
    """Thread that changes, reads and searches the contested documents."""

    base: KnowledgeBase
    name: str
    until: float
    record: Record = field(default_factory=Record)
    _count: int = 0

    def run(self) -> None:
        """Choose operations until the time is over."""
        chooser = random.Random(self.name)
        actions = {
            self._put: 30,
            self._delete: 8,
            self._set: 17,
            self._read: 20,
            self._search: 15,
            self._search_all: 10,
        }
        while time.monotonic() < self.until:
            self._count += 1
            (action,) = chooser.choices(list(actions), weights=list(actions.values()))
            action(chooser.choice(DOCUMENTS))

    def _new(self) -> str:
        """Return a value that no other operation uses."""
        return f"{self.name}n{self._count}"

    def _put(self, document: str) -> None:
        version = self._new()
        with self.record.timed("put") as (began, now):
            existed = put(self.base, document, version)
            ended = now()
        self._note(Operation(
            kind="put", document=document, began=began, ended=ended, value=version, existed=existed
        ))  # fmt: skip

    def _delete(self, document: str) -> None:
        with self.record.timed("delete") as (began, now):
            existed = bool(self.base.remove(document))
            ended = now()
        self._note(Operation(
            kind="delete", document=document, began=began, ended=ended, existed=existed
        ))  # fmt: skip

    def _set(self, document: str) -> None:
        note = self._new()
        with self.record.timed("set") as (began, now):
            try:
                before = set_note(self.base, document, note)
            except StoreBusyError as error:
                if document not in str(error):
                    raise
                self.record.refused["set"] += 1
                return
            ended = now()
        self._note(Operation(
            kind="set",
            document=document,
            began=began,
            ended=ended,
            value=note,
            existed=before is not None,
            note=before or "",
        ))  # fmt: skip

    def _read(self, document: str) -> None:
        with self.record.timed("read") as (began, now):
            state = read(self.base, document)
            ended = now()
        self._seen("read", document, state, began, ended)

    def _search(self, document: str) -> None:
        with self.record.timed("search") as (began, now):
            try:
                state = search(self.base, _QUESTION, [document])[document]
            except DocumentNotFoundError:
                state = State()
            ended = now()
        self._seen("search", document, state, began, ended)

    def _search_all(self, _: str) -> None:
        with self.record.timed("search all") as (began, now):
            found = search(self.base, _QUESTION, None)
            ended = now()
        for document, state in found.items():
            self._seen("search", document, state, began, ended)

    def _seen(self, kind: Kind, document: str, state: State, began: float, ended: float) -> None:
        self._note(seen(kind, document, state, began, ended))

    def _note(self, operation: Operation) -> None:
        self.record.operations.append(operation)


def seen(kind: Kind, document: str, state: State, began: float, ended: float) -> Operation:
    """Return the operation of a read."""
    return Operation(
        kind=kind,
        document=document,
        began=began,
        ended=ended,
        existed=bool(state.version),
        version=state.version,
        note=state.note,
    )


@dataclass(slots=True)
class Keeper:
    """Thread that compacts, checks, backs up and rebuilds the knowledge base."""

    base: KnowledgeBase
    until: float
    is_folder: bool
    can_rebuild: bool
    record: Record = field(default_factory=Record)

    def run(self) -> None:
        """Run all tasks in turn until the time is over; each runs at least once."""
        turn = 0
        while not turn or time.monotonic() < self.until:
            turn += 1
            with self.record.timed("compact"):
                self.base.compact()
            with self.record.timed("check"):
                findings = self.base.check().findings
            if findings:
                raise AssertionError(f"the check of a sound store reports {findings}")
            if self.is_folder:
                self._back_up()
            if self.can_rebuild:
                self._rebuild(_CHUNKS[turn % len(_CHUNKS)])
            threading.Event().wait(_KEEPER_PAUSE_SECONDS)

    def _rebuild(self, chunks: ChunkOptions) -> None:
        with self.record.timed("rebuild"):
            try:
                self.base.rebuild(chunks=chunks)
            except StoreBusyError:
                self.record.refused["rebuild"] += 1

    def _back_up(self) -> None:
        """Make a backup, and read the contested documents in it."""
        folder = Path(tempfile.mkdtemp(prefix="concurrency-backup-"))
        try:
            with self.record.timed("backup") as (began, now):
                self.base.backup(folder / "copy.kb")
                ended = now()
            with KnowledgeBase(folder / "copy.kb", create=False) as copy:
                findings = copy.check().findings
                if findings:
                    raise AssertionError(f"the check of a backup reports {findings}")
                for document in DOCUMENTS:
                    state = read(copy, document)
                    self.record.operations.append(seen("backup", document, state, began, ended))
        finally:
            shutil.rmtree(folder)


def run_threads(threads: list[Writer] | list[Keeper]) -> None:
    """Run all threads to their end; the error of one ends the others early, and is raised."""
    with ThreadPoolExecutor(len(threads)) as pool:
        futures = [pool.submit(thread.run) for thread in threads]
        done, running = wait(futures, return_when=FIRST_EXCEPTION)
        if running:
            for thread in threads:
                thread.until = 0.0
        for future in done:
            future.result()


def main(arguments: list[str]) -> None:
    """Run as described in the docstring of the module."""
    role, address, out, seconds, patience, *rest = arguments
    os.nice(_NICE)
    faulthandler.dump_traceback_later(float(seconds) + float(patience), exit=True)
    with KnowledgeBase(address, create=False) as base:
        until = time.monotonic() + float(seconds)
        threads: list[Writer] | list[Keeper]
        if role == "keeper":
            threads = [
                Keeper(
                    base,
                    until,
                    is_folder="://" not in address,
                    can_rebuild=not address.startswith("qdrant:"),
                )
            ]
        else:
            name, count = rest
            threads = [Writer(base, f"{name}t{number}", until) for number in range(int(count))]
        run_threads(threads)
    rows = [
        {
            "operations": [operation.as_row() for operation in thread.record.operations],
            "seconds": thread.record.seconds,
            "refused": thread.record.refused,
        }
        for thread in threads
    ]
    Path(out).write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
