"""Reference store: documents in memory, searched completely and without an index.

Every store must return the same results as this one. It is slow, and meant for tests and for a few
documents.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.collection import Collection, CountedDocument, count_document
from spanwise.core.ranking.scan import PassageRange, Passages, Scan, ScanQuery, range_signals
from spanwise.core.ranking.vectors import cosines, quantise_rows, unit_rows
from spanwise.errors import StoreError, StoreRebuiltError, unknown_document
from spanwise.filters import Filter, document_test, known_fields, record_fields
from spanwise.models.word_vectors import quantise_words
from spanwise.stores.entries import (
    check_changeable,
    check_entry,
    check_known,
    check_origin,
    check_packs,
    check_query_vectors,
    check_sections,
    check_turn,
    check_update,
    detached,
    ids_by_root,
    stored_record,
    unknown_handle,
)
from spanwise.stores.port import DocumentEntry
from spanwise.types import (
    Block,
    CheckReport,
    Chunk,
    Document,
    DocumentRecord,
    Figure,
    Page,
    Section,
    Thread,
    ThreadInfo,
    Turn,
    WholeDocument,
)
from spanwise.types.output_cache import CachedOutput

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from spanwise.core.ranking.scan_steps import ScanSteps
    from spanwise.core.ranking.similar_words import SimilarWord
    from spanwise.filters import FieldKind
    from spanwise.stores.memory_rebuild import MemoryRebuild
    from spanwise.stores.port import Accept, DocumentUpdate, PutOutcome


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredDocument:
    """Document with its record, chunks and vectors in memory."""

    handle: int
    """Sequence number; a replaced document gets a new one."""
    document: Document
    record: DocumentRecord
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    vectors: NDArray[np.float16]
    """Unit vectors of the chunks, (chunks, dimension); dimension 0 without an embedder."""
    title_words: str
    """See `DocumentEntry.title_words`."""
    counted: CountedDocument
    signals: Mapping[str, NDArray[np.float16]]

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine similarity of each chunk to a vector, (n,)."""
        rows, scales = quantise_rows(self.vectors)
        query, query_scale = quantise_rows(vector[None, :])
        dots = rows.astype(np.int64) @ query[0].astype(np.int64)
        return cosines(dots, scales, query_scale=query_scale[0])


def stored_document(entry: DocumentEntry, *, handle: int) -> StoredDocument:
    """Return the stored form of an entry."""
    document = entry.document
    vectors = entry.vectors
    return StoredDocument(
        handle=handle,
        document=replace(document, metadata=dict(document.metadata)),
        record=stored_record(entry),
        sections=entry.sections,
        chunks=tuple(entry.chunks),
        vectors=unit_rows(np.empty((len(entry.chunks), 0)) if vectors is None else vectors),
        title_words=entry.title_words,
        counted=count_document(
            entry.chunks,
            title_words=entry.title_words,
            handle=handle,
            language=entry.language,
            sections=entry.sections,
        ),
        signals=dict(entry.signals),
    )


def entry_of(stored: StoredDocument, *, packs: str) -> DocumentEntry:
    """Return the entry of a stored document.

    Args:
        stored: Stored document.
        packs: Recorded packs of the store.
    """
    record = stored.record
    return DocumentEntry(
        document=stored.document,
        title=record.title,
        summary=record.summary,
        title_words=stored.title_words,
        sections=stored.sections,
        chunks=stored.chunks,
        vectors=stored.vectors if stored.vectors.shape[1] else None,
        language=record.language,
        signals=stored.signals,
        packs=packs,
        recipe=record.recipe,
    )


def updated_document(stored: StoredDocument, update: DocumentUpdate) -> StoredDocument:
    """Return a stored document with a new title and new metadata."""
    stored = replace(
        stored,
        document=replace(
            stored.document,
            metadata=dict(update.metadata),
            given_fields=update.given_fields,
            origins=update.origins,
        ),
        record=replace(
            stored.record,
            title=update.title,
            metadata=dict(update.metadata),
            given_fields=update.given_fields,
            origins=update.origins,
        ),
    )
    if update.searched is None:
        return stored
    sections = tuple(
        replace(section, header_tokens=tokens)
        for section, tokens in zip(stored.sections, update.searched.header_tokens, strict=True)
    )
    return replace(
        stored,
        record=replace(stored.record, language=update.searched.language),
        sections=sections,
        title_words=update.searched.title_words,
        counted=count_document(
            stored.chunks,
            title_words=update.searched.title_words,
            handle=stored.handle,
            language=update.searched.language,
            sections=sections,
        ),
    )


def filter_documents(
    documents: Sequence[StoredDocument],
    where: Filter | None,
    *,
    former_fields: frozenset[str] = frozenset(),
) -> tuple[StoredDocument, ...]:
    """Return the documents that match a filter, in the given order.

    Args:
        documents: Documents to choose from.
        where: Filter; None for all documents.
        former_fields: Names of fields that documents had earlier.

    Raises:
        FilterError: As `check_known`.
    """
    if where is None:
        return tuple(documents)
    fields = [record_fields(stored.record) for stored in documents]
    check_known(where, known_fields(fields), former=lambda: former_fields)
    test = document_test(where)
    return tuple(s for s, own in zip(documents, fields, strict=True) if test(own))


class MemorySnapshot:
    """Snapshot of a memory store; implements `JointSnapshot`."""

    def __init__(
        self,
        documents: Sequence[StoredDocument],
        settings: Mapping[str, str],
        *,
        former_fields: frozenset[str] = frozenset(),
    ) -> None:
        self._former_fields = former_fields
        self._documents = tuple(sorted(documents, key=lambda stored: stored.handle))
        self._by_handle = {stored.handle: stored for stored in self._documents}
        self._dimension, reference_terms = read_settings(settings)
        self._packs = settings.get("packs", "")
        self._collection = Collection(
            documents=tuple(stored.counted for stored in self._documents),
            reference_terms=reference_terms,
        )

    def languages(self) -> tuple[str, ...]:
        """Return the languages of all documents, ascending; "" if unknown."""
        return tuple(sorted({stored.record.language for stored in self._documents}))

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return the document frequency of each term, (T,), and the number of live chunks."""
        return self._collection.term_counts(terms)

    def similar_words(
        self,
        handles: Sequence[int],
        words: Sequence[str],
        *,
        languages: Sequence[str] | None = None,
    ) -> tuple[tuple[SimilarWord, ...], ...]:
        """Return the words of some documents that are most similar to each of some words."""
        return self._collection.similar_words(
            [self._find(handle).counted for handle in handles],
            words,
            languages=self.languages() if languages is None else languages,
            quantise=quantise_words,
        )

    def similar_spellings(
        self,
        words: Sequence[str],
        *,
        count_chunks: Callable[[Sequence[str]], NDArray[np.int64]] | None = None,
    ) -> tuple[SimilarWord | None, ...]:
        """Return the word of all documents with the nearest spelling to each of some words."""
        return self._collection.similar_spellings(words, count_chunks=count_chunks)

    def fields(self) -> Mapping[str, frozenset[FieldKind]]:
        """Return the kinds of the values of each field that a filter may name."""
        return known_fields(record_fields(stored.record) for stored in self._documents)

    def find_documents(self, documents: Sequence[str]) -> tuple[int | None, ...]:
        """Return the handle of each document id, None if there is no such document."""
        handles = {stored.record.id: stored.handle for stored in self._documents}
        return tuple(handles.get(document_id) for document_id in documents)

    def start_scan(
        self, query: ScanQuery, *, where: Filter | None, documents: Sequence[int] | None
    ) -> ScanSteps:
        """Return the steps of a search, see `JointSnapshot.start_scan`."""
        test = None if where is None else document_test(where)
        scope = tuple(
            stored
            for stored in self._documents
            if (test is None or test(record_fields(stored.record)))
            and (documents is None or stored.handle in documents)
        )
        return self._collection.start_scan(
            query,
            cosine=self._cosines(scope, query.vector),
            scope=tuple(stored.counted for stored in scope),
        )

    def scan(
        self,
        query: ScanQuery,
        *,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
    ) -> Scan:
        """Score all chunks in scope, see `Searchable.scan`."""
        scope = self._scope(where, documents)
        return self._collection.scan(
            query.terms,
            words=query.words,
            cosine=self._cosines(scope, query.vector),
            hits=query.hits,
            keyword_share=query.keyword_share,
            scope=[stored.counted for stored in scope],
        )

    def _scope(
        self, where: Filter | None, documents: Sequence[str] | None
    ) -> tuple[StoredDocument, ...]:
        scope = filter_documents(self._documents, where, former_fields=self._former_fields)
        if documents is None:
            return scope
        known = {stored.record.id for stored in self._documents}
        for document_id in documents:
            if document_id not in known:
                raise unknown_document(document_id)
        return tuple(stored for stored in scope if stored.record.id in set(documents))

    def _cosines(
        self, documents: Sequence[StoredDocument], vector: NDArray[np.float32] | None
    ) -> NDArray[np.float64] | None:
        """Return the cosine similarity of each chunk of some documents to a vector, or None."""
        if vector is None:
            return None
        check_query_vectors(vector[None, :], dimension=self._dimension)
        return np.concatenate([np.empty(0), *(stored.cosines(vector) for stored in documents)])

    def passages(
        self,
        ranges: Sequence[PassageRange],
        *,
        terms: Sequence[str],
        vectors: NDArray[np.float32],
    ) -> Passages:
        """Return the raw features of chunk ranges, see `Searchable.passages`."""
        if len(vectors):
            check_query_vectors(vectors, dimension=self._dimension)
        similarities = [np.empty((0, len(vectors)), dtype=np.float32)]
        spans = []
        for span in ranges:
            stored = self._find(span.handle)
            columns = np.empty((len(stored.chunks), len(vectors)), dtype=np.float32)
            for column, vector in enumerate(vectors):
                columns[:, column] = stored.cosines(vector)
            similarities.append(columns[span.start : span.end])
            spans.append((stored.counted, span.start, span.end))
        return self._collection.passages(
            spans, terms=terms, similarities=np.concatenate(similarities).T
        )

    def former_fields(self) -> frozenset[str]:
        """Return the names of metadata fields that documents had and no document has now."""
        present = known_fields(record_fields(stored.record) for stored in self._documents)
        return self._former_fields - present.keys()

    def packs(self) -> str:
        """Return the recorded packs, "" for none."""
        return self._packs

    def signals(
        self, ranges: Sequence[PassageRange], landmarks: Sequence[str]
    ) -> NDArray[np.float32]:
        """Return the signals of landmarks for the chunks of some ranges, (landmarks, n)."""
        handles = {span.handle for span in ranges}
        return range_signals(
            ranges, landmarks, {handle: self._find(handle).signals for handle in handles}
        )

    def _find(self, handle: int) -> StoredDocument:
        try:
            return self._by_handle[handle]
        except KeyError:
            raise unknown_handle(handle) from None

    def record(self, handle: int) -> DocumentRecord:
        """Return the record of a document."""
        return self._find(handle).record

    def sections(self, handle: int, start: int, end: int) -> tuple[Section, ...]:
        """Return the sections `[start, end)` of a document, clipped to the existing ones."""
        return self._find(handle).sections[start:end]

    def pages(self, handle: int) -> tuple[Page, ...]:
        """Return the pages of a document in order; empty if its format has no pages."""
        return self._find(handle).document.pages

    def figures(self, handle: int) -> tuple[Figure, ...]:
        """Return the figures of a document in order."""
        return self._find(handle).document.figures

    def blocks(self, handle: int) -> tuple[Block, ...]:
        """Return the tables and pieces of code of a document in order."""
        return self._find(handle).document.blocks

    def chunks(self, handle: int, start: int, end: int) -> tuple[Chunk, ...]:
        """Return the chunks `[start, end)` of a document."""
        return self._find(handle).chunks[start:end]

    def chunk_ranges(self, ranges: Sequence[PassageRange]) -> list[tuple[Chunk, ...]]:
        """Return the chunks of each range; ranges must lie within their documents."""
        return [self.chunks(span.handle, span.start, span.end) for span in ranges]


def read_settings(settings: Mapping[str, str]) -> tuple[int, float]:
    """Return the vector dimension and the reference length in terms.

    Raises:
        StoreError: If they are not recorded.
    """
    try:
        return int(settings["dimension"]), float(settings["reference_terms"])
    except KeyError as error:
        raise StoreError(
            f"the setting {error.args[0]!r} is not recorded; call ensure_settings with "
            "'dimension' and 'reference_terms' first"
        ) from None


class MemoryStore:
    """Documents in memory; implements `Store`. Safe for use by several threads.

    The settings "dimension" (of the vectors, "0" for none) and "reference_terms" (typical length of
    a chunk in terms, see `core.ranking.bm25`) must be recorded before the first document.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._settings: Mapping[str, str] = {}
        self._documents: Mapping[str, StoredDocument] = {}  # replaced as a whole, never modified
        self._former_fields: frozenset[str] = frozenset()
        self._outputs: dict[str, CachedOutput] = {}
        self._threads: dict[str, Thread] = {}
        self._next_handle = 1
        self._closed = False
        self._successor: MemoryStore | None = None

    @property
    def rebuilt(self) -> bool:
        """Whether the store was rebuilt."""
        return self._successor is not None

    def reopened(self) -> MemoryStore:
        """Return the store of the current state, which shares outputs and conversations."""
        return self if self._successor is None else self._successor

    def _check_settings(self) -> None:
        if self.rebuilt:
            raise StoreRebuiltError("the store was rebuilt with other settings; reopen it")

    @contextmanager
    def open_rebuild(self, settings: Mapping[str, str]) -> Iterator[MemoryRebuild]:
        """Open a new state, see `Store.open_rebuild`; an unfinished one is not kept."""
        from spanwise.stores.memory_rebuild import MemoryRebuild

        self._live()
        yield MemoryRebuild(self, settings)

    def discard_rebuild(self) -> bool:
        """Return False, because no unfinished state is kept."""
        self._live()
        return False

    def _live(self) -> Mapping[str, StoredDocument]:
        """Return the current documents by id."""
        if self._closed:
            raise StoreError("the store is closed; open it again")
        return self._documents if self._successor is None else self._successor._live()

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Record settings that are not recorded yet, and return all recorded settings."""
        if self._successor is not None:
            return self._successor.ensure_settings(settings)
        with self._lock:
            self._live()
            self._settings = {**settings, **self._settings}
            return dict(sorted(self._settings.items()))

    def record_settings(self, settings: Mapping[str, str]) -> None:
        """Record settings and overwrite existing values.

        Raises:
            OptionError: If a setting is fixed once recorded.
        """
        check_changeable(settings)
        if self._successor is not None:
            return self._successor.record_settings(settings)
        with self._lock:
            self._live()
            self._settings = {**self._settings, **settings}
        return None

    def record_packs(
        self, packs: str, make: Callable[[Sequence[str]], Mapping[str, NDArray[np.float16]]]
    ) -> None:
        """Replace the recorded packs and the signals of all documents."""
        if self._successor is not None:
            return self._successor.record_packs(packs, make)
        with self._lock:
            renewed = {
                name: replace(stored, signals=make([chunk.text for chunk in stored.chunks]))
                for name, stored in self._live().items()
            }
            self._settings = {**self._settings, "packs": packs}
            self._documents = renewed
        return None

    def list_signals(self) -> dict[str, tuple[str, ...]]:
        """Return the sorted landmarks of each document with signals, by document id."""
        live = sorted(self._live().items())
        return {name: tuple(sorted(stored.signals)) for name, stored in live if stored.signals}

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False, accept: Accept | None = None
    ) -> PutOutcome:
        """Store a document and replace a document with the same id.

        Raises:
            ConflictError, OptionError: As `Store.put_document`.
            StoreRebuiltError: If the store was rebuilt.
        """
        dimension, _ = read_settings(self._settings)
        check_entry(entry, dimension=dimension)
        stored = stored_document(entry, handle=0)
        with self._lock:
            self._check_settings()
            before = self._live().get(entry.document.id)
            check_packs(entry, recorded=self._settings.get("packs", ""))
            if before is not None and not replace:
                check_origin(
                    entry.document.id, before.record.source_root, entry.document.source_root
                )
            if accept is not None and not accept(None if before is None else before.record):
                return "refused"
            self._remember(before)
            self._keep(stored)
        return "added" if before is None else "replaced"

    def _remember(self, stored: StoredDocument | None) -> None:
        """Remember the fields of a document that is deleted or changed; the lock is held."""
        if stored is not None:
            self._former_fields |= stored.record.metadata.keys()

    def _keep(self, stored: StoredDocument) -> None:
        """Store a document; the caller holds the lock."""
        handle = self._next_handle
        numbered = replace(stored, handle=handle, counted=replace(stored.counted, handle=handle))
        self._next_handle += 1
        self._documents = {**self._documents, stored.record.id: numbered}

    def delete_document(self, document_id: str, *, record: DocumentRecord | None = None) -> bool:
        """Delete a document, see `Store.delete_document`; return whether it was deleted."""
        if self._successor is not None:
            return self._successor.delete_document(document_id, record=record)
        with self._lock:
            live = self._live()
            if document_id not in live or record not in (None, live[document_id].record):
                return False
            self._remember(live[document_id])
            self._documents = {name: live[name] for name in live if name != document_id}
            return True

    def update_document(
        self, document_id: str, update: DocumentUpdate, *, record: DocumentRecord
    ) -> bool:
        """Change title and metadata, see `Store.update_document`; return whether it was changed.

        Raises:
            OptionError, StoreRebuiltError: As `Store.update_document`.
        """
        check_update(document_id, update)
        if update.searched is not None:
            self._check_settings()
        if self._successor is not None:
            return self._successor.update_document(document_id, update, record=record)
        with self._lock:
            stored = self._live().get(document_id)
            if stored is None or stored.record != record:
                return False
            check_sections(document_id, update, stored.sections)
            self._remember(stored)
            changed = updated_document(stored, update)
            if update.searched is not None:
                self._keep(changed)
            else:
                self._documents = {**self._documents, document_id: changed}
            return True

    @contextmanager
    def group_commits(self) -> Iterator[Callable[[], None]]:
        """Yield a function that does nothing, because nothing is on disk."""
        yield lambda: None

    def get_record(self, document_id: str) -> DocumentRecord | None:
        """Return the record of a document, or None."""
        stored = self._live().get(document_id)
        return None if stored is None else detached(stored.record)

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        """Return the records of all documents that match a filter, ordered by id.

        Raises:
            FilterError: As `filter_documents`.
        """
        live = tuple(self._live().values())
        found = filter_documents(live, where, former_fields=self._former_fields)
        records = [detached(stored.record) for stored in found]
        return sorted(records, key=lambda record: record.id)

    def ids_from(self, roots: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the documents from some source roots, ascending, by source root."""
        return ids_by_root(self.list_records(), roots)

    def get_document(self, document_id: str) -> Document | None:
        """Return a document as it was stored, or None."""
        stored = self._live().get(document_id)
        return None if stored is None else detached(stored.document)

    def get_whole(self, document_id: str) -> WholeDocument | None:
        """Return a document with its record and sections, or None."""
        stored = self._live().get(document_id)
        if stored is None:
            return None
        return WholeDocument(
            record=stored.record, document=stored.document, sections=stored.sections
        )

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return all chunks of a document; empty if there is no such document."""
        stored = self._live().get(document_id)
        return () if stored is None else stored.chunks

    def get_sections(self, document_id: str) -> tuple[Section, ...]:
        """Return all sections of a document; empty if there is no such document."""
        stored = self._live().get(document_id)
        return () if stored is None else stored.sections

    def get_embedded(
        self, document_id: str
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
        """Return the chunks and stored vectors of a document, read consistently, or None."""
        self._check_settings()
        stored = self._live().get(document_id)
        if stored is None or not stored.vectors.shape[1]:
            return None
        return stored.chunks, stored.vectors.astype(np.float32)

    def read_entry(self, document_id: str) -> DocumentEntry | None:
        """Return a document with all its parts, see `Store.read_entry`, or None."""
        self._check_settings()
        with self._lock:
            stored = self._live().get(document_id)
            packs = self._settings.get("packs", "")
        return None if stored is None else entry_of(stored, packs=packs)

    def record_former_fields(self, names: Iterable[str]) -> None:
        """Record names of metadata fields that documents had earlier; other names stay."""
        if self._successor is not None:
            return self._successor.record_former_fields(names)
        with self._lock:
            self._live()
            self._former_fields |= set(names)
        return None

    @contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        """Open a snapshot."""
        self._check_settings()
        yield MemorySnapshot(
            tuple(self._live().values()), self._settings, former_fields=self._former_fields
        )

    def get_outputs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the cached model outputs of some keys, by key."""
        self._live()
        found = {key: self._outputs.get(key) for key in keys}
        return {key: cached.output for key, cached in found.items() if cached is not None}

    def put_outputs(self, outputs: Sequence[CachedOutput]) -> None:
        """Cache model outputs, except for keys that exist."""
        with self._lock:
            self._live()
            for cached in outputs:
                self._outputs.setdefault(cached.key, cached)

    def remove_output(self, key: str) -> None:
        """Remove the output of a key, if there is one."""
        with self._lock:
            self._live()
            self._outputs.pop(key, None)

    def count_outputs(self) -> tuple[int, int]:
        """Return the number of cached model outputs and their size in bytes."""
        with self._lock:
            self._live()
            sizes = [
                len(cached.output.encode(errors="surrogatepass"))
                for cached in self._outputs.values()
            ]
        return len(sizes), sum(sizes)

    def list_outputs(self, *, after: str = "", limit: int = 100) -> list[CachedOutput]:
        """Return cached model outputs, see `Store.list_outputs`."""
        with self._lock:
            self._live()
            keys = sorted(key for key in self._outputs if key > after)[:limit]
            return [self._outputs[key] for key in keys]

    def forget_outputs(self) -> int:
        """Delete all cached model outputs, and return their number."""
        with self._lock:
            self._live()
            forgotten = len(self._outputs)
            self._outputs.clear()
        return forgotten

    def append_turn(self, thread_id: str, turn: Turn) -> None:
        """Append a turn to a conversation; the first turn creates it.

        Raises:
            OptionError: If the id or the question contains a lone surrogate.
        """
        check_turn(thread_id, turn)
        with self._lock:
            self._live()
            before = self._threads.get(thread_id)
            turns = (turn,) if before is None else (*before.turns, turn)
            info = ThreadInfo(
                id=thread_id,
                title=turns[0].question,
                turns=len(turns),
                created_at=turns[0].asked_at,
                changed_at=turn.asked_at,
            )
            self._threads[thread_id] = Thread(info=info, turns=turns)

    def get_thread(self, thread_id: str) -> Thread | None:
        """Return a conversation with its turns in order, or None."""
        self._live()
        return self._threads.get(thread_id)

    def list_threads(self) -> list[ThreadInfo]:
        """Return all conversations, latest turn first; ties by id."""
        with self._lock:
            self._live()
            infos = [self._threads[name].info for name in sorted(self._threads)]
        return sorted(infos, key=lambda info: info.changed_at, reverse=True)

    def delete_thread(self, thread_id: str) -> bool:
        """Delete a conversation, and return whether it existed."""
        with self._lock:
            self._live()
            return self._threads.pop(thread_id, None) is not None

    def reclaimable_bytes(self) -> int:
        """Return 0, because nothing is on disk."""
        self._live()
        return 0

    def compact(self) -> None:
        """Do nothing, because there is no derived data."""
        self._live()

    def check(self, *, repair: bool = False) -> CheckReport:
        """Return a report with counts and no defects, because data in memory cannot be damaged."""
        _ = repair
        documents = self._live().values()
        return CheckReport(
            path=":memory:",
            documents=len(documents),
            chunks=sum(len(stored.chunks) for stored in documents),
            chars=sum(stored.record.chars for stored in documents),
            index_parts=0,
            index_chunks=0,
            pending_chunks=0,
            findings=(),
            seconds=0.0,
        )

    def backup(
        self, target: Path, *, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Raise an error, because nothing is on disk.

        Raises:
            StoreError: Always.
        """
        _ = on_progress
        self._live()
        raise StoreError(
            f"a store in memory cannot be copied to {target}; add the documents to one on disk"
        )

    def close(self) -> None:
        """Release all documents; later calls raise StoreError."""
        with self._lock:
            self._closed = True
            self._documents = {}
