"""A store as another package would write it: rows of JSON in a SQLite file, and no index.

It uses only the modules that `docs/extending.md` names for authors of a store.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spanwise.errors import OptionError, StoreError
from spanwise.filters import Filter
from spanwise.stores.entries import (
    check_changeable,
    check_entry,
    check_origin,
    check_packs,
    check_sections,
    check_turn,
    check_update,
    detached,
    ids_by_root,
)
from spanwise.stores.memory import (
    MemorySnapshot,
    StoredDocument,
    entry_of,
    filter_documents,
    read_settings,
    stored_document,
)
from spanwise.stores.port import (
    Accept,
    DocumentEntry,
    DocumentUpdate,
    PutOutcome,
    StoreRebuild,
)
from spanwise.types import (
    CheckReport,
    Chunk,
    Document,
    DocumentRecord,
    Section,
    Thread,
    ThreadInfo,
    Turn,
    WholeDocument,
)
from spanwise.types.output_cache import CachedOutput
from spanwise.types.plain import from_plain, to_plain

_TABLES = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS documents (
    handle INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, entry TEXT NOT NULL,
    vectors BLOB, signals TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS former_fields (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS outputs (
    key TEXT PRIMARY KEY, output TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS turns (
    number INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, turn TEXT NOT NULL
);
"""
_FIND = "SELECT handle, entry, vectors, signals FROM documents WHERE id = ?"
_TEXTS = ("title", "summary", "title_words", "language", "packs", "recipe")


class RowStore:
    """Documents as rows of a SQLite file; implements `spanwise.stores.port.Store`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "rows.db"
        self._closed = False
        self._known: dict[tuple[int, str], StoredDocument] = {}
        with self._transaction() as rows:
            for statement in filter(str.strip, _TABLES.split(";")):
                rows.execute(statement)

    @contextmanager
    def _transaction(self, *, writes: bool = True) -> Iterator[sqlite3.Connection]:
        if self._closed:
            raise StoreError("the store is closed; open it again")
        with closing(sqlite3.connect(self._path, timeout=60, isolation_level=None)) as rows:
            rows.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                yield rows
            except BaseException:
                rows.execute("ROLLBACK")
                raise
            rows.execute("COMMIT")

    def _stored(self, row: Sequence[Any]) -> StoredDocument:
        """Return the document of a row; each version of a row is read once."""
        handle, entry, vectors, signals = row
        stored = self._known.get((handle, entry))
        if stored is None:
            stored = stored_document(_entry(entry, vectors), handle=handle)
            self._known[handle, entry] = stored
        return replace(stored, signals=_signals(signals))

    def _live(self) -> tuple[StoredDocument, ...]:
        with self._transaction(writes=False) as rows:
            found = rows.execute("SELECT handle, entry, vectors, signals FROM documents")
            return tuple(self._stored(row) for row in found)

    def _former_fields(self) -> frozenset[str]:
        with self._transaction(writes=False) as rows:
            return frozenset(
                json.loads(name) for (name,) in rows.execute("SELECT name FROM former_fields")
            )

    def _find(self, document_id: str) -> StoredDocument | None:
        with self._transaction(writes=False) as rows:
            row = rows.execute(_FIND, [json.dumps(document_id)]).fetchone()
        return None if row is None else self._stored(row)

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        with self._transaction(writes=bool(settings)) as rows:
            rows.executemany("INSERT OR IGNORE INTO settings VALUES (?, ?)", settings.items())
            return dict(rows.execute("SELECT name, value FROM settings ORDER BY name"))

    def record_settings(self, settings: Mapping[str, str]) -> None:
        check_changeable(settings)
        with self._transaction() as rows:
            rows.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", settings.items())

    def record_packs(
        self, packs: str, make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]]
    ) -> None:
        with self._transaction() as rows:
            found = rows.execute("SELECT handle, entry, vectors, signals FROM documents").fetchall()
            for stored in map(self._stored, found):
                made = make([chunk.text for chunk in stored.chunks])
                rows.execute(
                    "UPDATE documents SET signals = ? WHERE handle = ?",
                    [_as_text(made), stored.handle],
                )
            rows.execute("INSERT OR REPLACE INTO settings VALUES ('packs', ?)", [packs])

    def list_signals(self) -> dict[str, tuple[str, ...]]:
        live = {stored.record.id: stored for stored in self._live()}
        return {
            name: tuple(sorted(live[name].signals)) for name in sorted(live) if live[name].signals
        }

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        settings = self.ensure_settings({})
        check_entry(entry, dimension=read_settings(settings)[0])
        document_id = entry.document.id
        vectors = None if entry.vectors is None else stored_document(entry, handle=0).vectors
        with self._transaction() as rows:
            recorded = dict(rows.execute("SELECT name, value FROM settings"))
            check_packs(entry, recorded=recorded.get("packs", ""))
            found = rows.execute(_FIND, [json.dumps(document_id)]).fetchone()
            before = None if found is None else self._stored(found)
            if before is not None and not replace:
                check_origin(document_id, before.record.source_root, entry.document.source_root)
            if accept is not None and not accept(None if before is None else before.record):
                return "refused"
            _remember(rows, before)
            deleted = rows.execute("DELETE FROM documents WHERE id = ?", [json.dumps(document_id)])
            rows.execute(
                "INSERT INTO documents (id, entry, vectors, signals) VALUES (?, ?, ?, ?)",
                [
                    json.dumps(document_id),
                    _entry_text(entry),
                    None if vectors is None else vectors.tobytes(),
                    _as_text(entry.signals),
                ],
            )
        return "replaced" if deleted.rowcount else "added"

    def update_document(
        self, document_id: str, update: DocumentUpdate, *, record: DocumentRecord
    ) -> bool:
        check_update(document_id, update)
        with self._transaction() as rows:
            row = rows.execute(_FIND, [json.dumps(document_id)]).fetchone()
            stored = None if row is None else self._stored(row)
            if stored is None or stored.record != record:
                return False
            check_sections(document_id, update, stored.sections)
            _remember(rows, stored)
            handle, entry, vectors, signals = row
            updated = _entry_text(_updated(_entry(entry, vectors), update))
            rows.execute("UPDATE documents SET entry = ? WHERE handle = ?", [updated, handle])
            if update.searched is not None:  # the newest document has the highest handle
                rows.execute("DELETE FROM documents WHERE handle = ?", [handle])
                rows.execute(
                    "INSERT INTO documents (id, entry, vectors, signals) VALUES (?, ?, ?, ?)",
                    [json.dumps(document_id), updated, vectors, signals],
                )
        return True

    def delete_document(self, document_id: str, *, record: DocumentRecord | None = None) -> bool:
        with self._transaction() as rows:
            row = rows.execute(_FIND, [json.dumps(document_id)]).fetchone()
            stored = None if row is None else self._stored(row)
            if stored is None or record not in (None, stored.record):
                return False
            _remember(rows, stored)
            rows.execute("DELETE FROM documents WHERE handle = ?", [stored.handle])
        return True

    @contextmanager
    def group_commits(self) -> Iterator[Callable[[], None]]:
        yield lambda: None

    def get_record(self, document_id: str) -> DocumentRecord | None:
        stored = self._find(document_id)
        return None if stored is None else detached(stored.record)

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        found = filter_documents(self._live(), where, former_fields=self._former_fields())
        records = [detached(stored.record) for stored in found]
        return sorted(records, key=lambda record: record.id)

    def ids_from(self, roots: Sequence[str]) -> dict[str, list[str]]:
        return ids_by_root(self.list_records(), roots)

    def get_document(self, document_id: str) -> Document | None:
        stored = self._find(document_id)
        return None if stored is None else detached(stored.document)

    def get_whole(self, document_id: str) -> WholeDocument | None:
        stored = self._find(document_id)
        if stored is None:
            return None
        return WholeDocument(
            record=stored.record, document=stored.document, sections=stored.sections
        )

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        stored = self._find(document_id)
        return () if stored is None else stored.chunks

    def get_sections(self, document_id: str) -> tuple[Section, ...]:
        stored = self._find(document_id)
        return () if stored is None else stored.sections

    def get_embedded(
        self, document_id: str
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
        stored = self._find(document_id)
        if stored is None or not stored.vectors.shape[1]:
            return None
        return stored.chunks, stored.vectors.astype(np.float32)

    def read_entry(self, document_id: str) -> DocumentEntry | None:
        stored = self._find(document_id)
        packs = self.ensure_settings({}).get("packs", "")
        return None if stored is None else entry_of(stored, packs=packs)

    def record_former_fields(self, names: Iterable[str]) -> None:
        with self._transaction() as rows:
            values = [(json.dumps(name),) for name in names]
            rows.executemany("INSERT OR IGNORE INTO former_fields VALUES (?)", values)

    @contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        yield MemorySnapshot(
            self._live(), self.ensure_settings({}), former_fields=self._former_fields()
        )

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        with self._transaction(writes=False) as rows:
            query = "SELECT output FROM outputs WHERE key = ?"
            found = {key: rows.execute(query, [json.dumps(key)]).fetchone() for key in keys}
        return {key: json.loads(row[0]) for key, row in found.items() if row is not None}

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        values = [
            (json.dumps(one.key), json.dumps(one.output), one.task, one.model) for one in outputs
        ]
        with self._transaction() as rows:
            rows.executemany("INSERT OR IGNORE INTO outputs VALUES (?, ?, ?, ?)", values)

    def remove_output(self, key: str) -> None:
        with self._transaction() as rows:
            rows.execute("DELETE FROM outputs WHERE key = ?", [json.dumps(key)])

    def count_outputs(self) -> tuple[int, int]:
        with self._transaction(writes=False) as rows:
            outputs = [json.loads(text) for (text,) in rows.execute("SELECT output FROM outputs")]
        return len(outputs), sum(len(text.encode(errors="surrogatepass")) for text in outputs)

    def list_outputs(self, *, after: str = "", limit: int = 100) -> list[CachedOutput]:
        with self._transaction(writes=False) as rows:
            found = rows.execute("SELECT key, output, task, model FROM outputs").fetchall()
        outputs = [
            CachedOutput(key=json.loads(key), output=json.loads(output), task=task, model=model)
            for key, output, task, model in found
        ]
        outputs.sort(key=lambda cached: cached.key)
        return [cached for cached in outputs if cached.key > after][:limit]

    def forget_outputs(self) -> int:
        with self._transaction() as rows:
            return rows.execute("DELETE FROM outputs").rowcount

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        check_turn(thread_id, turn)
        with self._transaction() as rows:
            values = [json.dumps(thread_id), json.dumps(to_plain(turn))]
            rows.execute("INSERT INTO turns (thread, turn) VALUES (?, ?)", values)

    def _threads(self) -> dict[str, tuple[Turn, ...]]:
        with self._transaction(writes=False) as rows:
            found = rows.execute("SELECT thread, turn FROM turns ORDER BY number").fetchall()
        threads: dict[str, tuple[Turn, ...]] = {}
        for name, text in found:
            turn = from_plain(Turn, json.loads(text))
            threads[json.loads(name)] = (*threads.get(json.loads(name), ()), turn)
        return threads

    def get_thread(self, thread_id: str) -> Thread | None:
        turns = self._threads().get(thread_id)
        return None if turns is None else Thread(info=_info(thread_id, turns), turns=turns)

    def list_threads(self) -> list[ThreadInfo]:
        infos = [_info(name, turns) for name, turns in sorted(self._threads().items())]
        return sorted(infos, key=lambda info: info.changed_at, reverse=True)

    def delete_thread(self, thread_id: str) -> bool:
        with self._transaction() as rows:
            gone = rows.execute("DELETE FROM turns WHERE thread = ?", [json.dumps(thread_id)])
        return bool(gone.rowcount)

    def compact(self) -> None:
        self._live()
        with closing(sqlite3.connect(self._path)) as rows:
            rows.execute("VACUUM")

    def reclaimable_bytes(self) -> int:
        self._live()
        return 0

    @property
    def rebuilt(self) -> bool:
        return False

    def reopened(self) -> RowStore:
        return self

    def open_rebuild(self, settings: Mapping[str, str]) -> AbstractContextManager[StoreRebuild]:
        raise StoreError(f"this store cannot be rebuilt with {settings}; add the documents anew")

    def discard_rebuild(self) -> bool:
        self._live()
        return False

    def check(self, *, repair: bool = False) -> CheckReport:
        live = self._live()
        return CheckReport(
            path=str(self._path),
            documents=len(live),
            chunks=sum(len(stored.chunks) for stored in live),
            chars=sum(stored.record.chars for stored in live),
            index_parts=0,
            index_chunks=0,
            pending_chunks=0,
            findings=(),
            seconds=0.0,
        )

    def backup(
        self, target: Path, *, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        if self._closed:
            raise StoreError("the store is closed; open it again")
        if target.exists():
            raise OptionError(f"{target} exists; name a new folder")
        target.mkdir()
        with closing(sqlite3.connect(self._path)) as rows:
            rows.execute("VACUUM INTO ?", [str(target / self._path.name)])

    def close(self) -> None:
        self._closed = True


def _entry_text(entry: DocumentEntry) -> str:
    texts = {name: getattr(entry, name) for name in _TEXTS}
    parts = {
        "document": to_plain(entry.document),
        "sections": to_plain(entry.sections),
        "chunks": to_plain(entry.chunks),
    }
    return json.dumps({**texts, **parts})


def _entry(text: str, vectors: bytes | None) -> DocumentEntry:
    plain = json.loads(text)
    chunks = tuple(from_plain(Chunk, chunk) for chunk in plain["chunks"])
    rows = None
    if vectors is not None:
        rows = np.frombuffer(vectors, dtype=np.float16).reshape(len(chunks), -1)
    return DocumentEntry(
        document=from_plain(Document, plain["document"]),
        sections=tuple(from_plain(Section, section) for section in plain["sections"]),
        chunks=chunks,
        vectors=rows,
        **{name: plain[name] for name in _TEXTS},
    )


def _as_text(signals: Mapping[str, NDArray[np.float16]]) -> str:
    return json.dumps({name: signal.astype(float).tolist() for name, signal in signals.items()})


def _signals(text: str) -> dict[str, NDArray[np.float16]]:
    return {name: np.array(row, dtype=np.float16) for name, row in json.loads(text).items()}


def _info(thread_id: str, turns: Sequence[Turn]) -> ThreadInfo:
    return ThreadInfo(
        id=thread_id,
        title=turns[0].question,
        turns=len(turns),
        created_at=turns[0].asked_at,
        changed_at=turns[-1].asked_at,
    )


def _remember(rows: sqlite3.Connection, stored: StoredDocument | None) -> None:
    """Remember the names of the fields of a document that is deleted or changed."""
    names = () if stored is None else stored.record.metadata
    rows.executemany(
        "INSERT OR IGNORE INTO former_fields VALUES (?)", [(json.dumps(name),) for name in names]
    )


def _updated(entry: DocumentEntry, update: DocumentUpdate) -> DocumentEntry:
    """Return an entry with a new title and new metadata."""
    document = replace(
        entry.document,
        metadata=dict(update.metadata),
        given_fields=update.given_fields,
        origins=update.origins,
    )
    entry = replace(entry, document=document, title=update.title)
    if update.searched is None:
        return entry
    return replace(
        entry,
        title_words=update.searched.title_words,
        language=update.searched.language,
        sections=tuple(
            replace(section, header_tokens=tokens)
            for section, tokens in zip(entry.sections, update.searched.header_tokens, strict=True)
        ),
    )
