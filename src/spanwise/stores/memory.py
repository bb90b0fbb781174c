"""The reference store: everything in memory, computed in full for every search.

What it answers is what every store has to answer; how fast does not matter here. It is for tests
and for a handful of documents.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from spanwise.core.columns import digit_share
from spanwise.core.moments import fused_scores, moments
from spanwise.core.scan import Moments, PassageRange, Passages, Scan, ScanQuery
from spanwise.core.scores import IMPACT_STEP, inverse_frequencies, quantised_impacts
from spanwise.core.terms import text_terms
from spanwise.core.vectors import cosines, quantise_rows, unit_rows
from spanwise.errors import ConflictError, DocumentNotFoundError, OptionError, StoreError
from spanwise.filters import Filter, check_filter, known_fields, matches
from spanwise.stores.entries import check_entry
from spanwise.types import Chunk, Document, DocumentRecord, Page, Section

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.ports import DocumentEntry

__all__ = ["MemorySnapshot", "MemoryStore", "StoredDocument"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredDocument:
    """A document as the store holds it."""

    handle: int
    """Counts up; a replaced document gets a new one."""
    document: Document
    record: DocumentRecord
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    vectors: NDArray[np.float16]
    """Of unit length, (chunks, dimension); dimension 0 for keywords alone."""
    frequencies: tuple[Mapping[str, int], ...]
    """How often each chunk holds each of its terms."""
    title_terms: frozenset[str]

    def impacts(self, terms: Sequence[str], *, reference_terms: float) -> NDArray[np.uint8]:
        """Return the quantised saturation of each term in each chunk, 0 for none, (T, n)."""
        shape = (len(terms), len(self.chunks))
        held = [[counts.get(term, 0) for counts in self.frequencies] for term in terms]
        frequencies = np.array(held, dtype=np.int64).reshape(shape)
        lengths = np.array([sum(counts.values()) for counts in self.frequencies], dtype=np.int64)
        impacts = quantised_impacts(
            np.maximum(frequencies, 1),
            np.broadcast_to(np.maximum(lengths, 1), shape),
            reference_terms=reference_terms,
        )
        return np.where(frequencies > 0, impacts, np.uint8(0))

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each chunk to a vector, (n,)."""
        rows, scales = quantise_rows(self.vectors)
        query, query_scale = quantise_rows(vector[None, :])
        dots = rows.astype(np.int64) @ query[0].astype(np.int64)
        return cosines(dots, scales, query_scale=query_scale[0])


def _stored(entry: DocumentEntry, *, handle: int) -> StoredDocument:
    document = entry.document
    vectors = entry.vectors
    return StoredDocument(
        handle=handle,
        document=replace(document, headings=(), blocks=(), metadata=dict(document.metadata)),
        record=DocumentRecord(
            id=document.id,
            title=entry.title,
            summary=entry.summary,
            metadata=dict(document.metadata),
            media_type=document.media_type,
            source=document.source,
            source_root=document.source_root,
            content_hash=document.content_hash,
            chars=len(document.text),
            chunks=len(entry.chunks),
            tokens=sum(chunk.tokens for chunk in entry.chunks),
            pages=len(document.pages),
        ),
        sections=entry.sections,
        chunks=entry.chunks,
        vectors=unit_rows(np.empty((len(entry.chunks), 0)) if vectors is None else vectors),
        frequencies=tuple(Counter(text_terms(chunk.text)) for chunk in entry.chunks),
        title_terms=frozenset(text_terms(entry.title_words)),
    )


def _select(
    documents: Sequence[StoredDocument], where: Filter | None
) -> tuple[StoredDocument, ...]:
    """Return the documents that a filter leaves, in the order given.

    Raises:
        FilterError: If the filter cannot mean what it says on these documents.
    """
    if where is None:
        return tuple(documents)
    check_filter(where, known_fields(stored.record.metadata for stored in documents))
    return tuple(stored for stored in documents if matches(where, stored.record.metadata))


class MemorySnapshot:
    """Documents of one moment; implements `ports.Snapshot`."""

    def __init__(self, documents: Sequence[StoredDocument], settings: Mapping[str, str]) -> None:
        self._documents = tuple(sorted(documents, key=lambda stored: stored.handle))
        self._by_handle = {stored.handle: stored for stored in self._documents}
        self._dimension, self._reference_terms = _read_settings(settings)

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return how many living chunks hold each term, (T,), and how many there are."""
        impacts = self._impacts(self._documents, terms)
        return np.count_nonzero(impacts, axis=1), impacts.shape[1]

    def scan(
        self,
        query: ScanQuery,
        *,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
    ) -> Scan:
        """Search all chunks in scope, as `ports.Snapshot.scan` says."""
        scope = self._scope(where, documents)
        terms = query.terms
        term_chunks, all_chunks = self.term_counts(terms)
        title_documents = np.count_nonzero(_titles(self._documents, terms), axis=0)
        weights = np.where(
            term_chunks > 0,
            inverse_frequencies(term_chunks, all_chunks),
            inverse_frequencies(title_documents, len(self._documents)),
        )
        sizes = np.array([len(stored.chunks) for stored in scope], dtype=np.int64)
        titles = _titles(scope, terms)
        body = _weighted_sum(self._impacts(scope, terms) * IMPACT_STEP, weights)
        keyword = body + np.repeat(_weighted_sum(titles.T, weights), sizes)
        cosine = self._cosines(scope, query.vector)
        hits = _best_chunks(keyword, cosine, hits=query.hits)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        owners = np.searchsorted(starts, hits, side="right") - 1
        counts = self._count_chunks(scope, terms)
        told = np.asarray(counts.any(axis=1) | titles.any(axis=1))
        told[owners] = True
        places = np.flatnonzero(told)
        return Scan(
            chunks=int(sizes.sum()),
            documents=len(scope),
            all_chunks=all_chunks,
            all_documents=len(self._documents),
            term_chunks=term_chunks,
            title_documents=title_documents,
            keyword=Moments(*moments(keyword)),
            body=Moments(*moments(body)),
            vector=None if cosine is None else Moments(*moments(cosine)),
            handles=np.array([scope[place].handle for place in places], dtype=np.int64),
            document_chunks=sizes[places],
            document_terms=counts[places],
            document_titles=titles[places],
            hit_documents=np.searchsorted(places, owners),
            hit_chunks=hits - starts[owners],
            hit_keywords=keyword[hits],
            hit_vectors=np.zeros(len(hits)) if cosine is None else cosine[hits],
        )

    def _scope(
        self, where: Filter | None, documents: Sequence[str] | None
    ) -> tuple[StoredDocument, ...]:
        scope = _select(self._documents, where)
        if documents is None:
            return scope
        known = {stored.record.id for stored in self._documents}
        for document_id in documents:
            if document_id not in known:
                raise DocumentNotFoundError(
                    f"no document {document_id!r}; name documents that are in the knowledge base"
                )
        return tuple(stored for stored in scope if stored.record.id in set(documents))

    def _cosines(
        self, documents: Sequence[StoredDocument], vector: NDArray[np.float32] | None
    ) -> NDArray[np.float64] | None:
        """Return the cosine of every chunk of some documents, None without a vector."""
        if vector is None:
            return None
        _check_vectors(vector[None, :], dimension=self._dimension)
        return np.concatenate([np.empty(0), *(stored.cosines(vector) for stored in documents)])

    def _count_chunks(
        self, documents: Sequence[StoredDocument], terms: Sequence[str]
    ) -> NDArray[np.int64]:
        """Return how many chunks of each document hold each term, (documents, T)."""
        counts = [np.count_nonzero(self._impacts((stored,), terms), axis=1) for stored in documents]
        return np.array(counts, dtype=np.int64).reshape(len(documents), len(terms))

    def _impacts(
        self, documents: Sequence[StoredDocument], terms: Sequence[str]
    ) -> NDArray[np.uint8]:
        """Return the impacts of terms in all chunks of some documents, (T, chunks)."""
        reference_terms = self._reference_terms
        parts = [stored.impacts(terms, reference_terms=reference_terms) for stored in documents]
        return np.concatenate([np.empty((len(terms), 0), dtype=np.uint8), *parts], axis=1)

    def passages(
        self,
        ranges: Sequence[PassageRange],
        *,
        terms: Sequence[str],
        vectors: NDArray[np.float32],
    ) -> Passages:
        """Return the raw material of some ranges, as `ports.Snapshot.passages` says."""
        if len(vectors):
            _check_vectors(vectors, dimension=self._dimension)
        impacts = [np.empty((len(terms), 0), dtype=np.uint8)]
        similarities = [np.empty((0, len(vectors)), dtype=np.float32)]
        chunks: list[Chunk] = []
        for wanted in ranges:
            stored = self._find(wanted.handle)
            place = slice(wanted.start, wanted.end)
            impacts.append(self._impacts((stored,), terms)[:, place])
            chunks += stored.chunks[place]
            columns = np.empty((len(stored.chunks), len(vectors)), dtype=np.float32)
            for column, vector in enumerate(vectors):
                columns[:, column] = stored.cosines(vector)
            similarities.append(columns[place])
        return Passages(
            impacts=(np.concatenate(impacts, axis=1) * IMPACT_STEP).astype(np.float32),
            similarities=np.concatenate(similarities).T,
            digits=np.array([digit_share(chunk.text) for chunk in chunks], dtype=np.float32),
            chars=np.array([len(chunk.text) for chunk in chunks], dtype=np.int64),
            tokens=np.array([chunk.tokens for chunk in chunks], dtype=np.int64),
        )

    def _find(self, handle: int) -> StoredDocument:
        try:
            return self._by_handle[handle]
        except KeyError:
            raise DocumentNotFoundError(
                f"no document with the handle {handle!r}; take handles of a scan of this snapshot"
            ) from None

    def record(self, handle: int) -> DocumentRecord:
        """Return what is known of a document."""
        return self._find(handle).record

    def sections(self, handle: int, start: int, end: int) -> tuple[Section, ...]:
        """Return its sections `[start, end)`, those that exist."""
        return self._find(handle).sections[start:end]

    def pages(self, handle: int) -> tuple[Page, ...]:
        """Return its pages in order, none where the format has no pages."""
        return self._find(handle).document.pages

    def chunks(self, handle: int, start: int, end: int) -> tuple[Chunk, ...]:
        """Return its chunks `[start, end)`."""
        return self._find(handle).chunks[start:end]


def _read_settings(settings: Mapping[str, str]) -> tuple[int, float]:
    """Return dimension and reference length in terms.

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


def _check_vectors(vectors: NDArray[np.float32], *, dimension: int) -> None:
    if vectors.ndim != 2 or vectors.shape[1] != dimension or not dimension:
        raise OptionError(
            f"vectors of shape {vectors.shape} are looked for, and the knowledge base has "
            f"dimension {dimension}; embed the question as the documents were"
        )


def _titles(documents: Sequence[StoredDocument], terms: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether the title words of each document hold each term, (documents, T)."""
    held = [[term in stored.title_terms for term in terms] for stored in documents]
    return np.array(held, dtype=np.bool_).reshape(len(documents), len(terms))


def _weighted_sum(rows: NDArray[np.generic], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of rows times weights, added in the order of the rows, (columns,)."""
    total = np.zeros(rows.shape[1])
    for row, weight in zip(rows, weights, strict=True):
        total += row * weight
    return total


def _best_chunks(
    keyword: NDArray[np.float64], cosine: NDArray[np.float64] | None, *, hits: int
) -> NDArray[np.int64]:
    """Return the union of the best chunks of each search, ascending."""
    by_keyword = np.argsort(-keyword, kind="stable")[:hits]
    found = [by_keyword[keyword[by_keyword] > 0]]
    if cosine is not None:
        found.append(np.argsort(-cosine, kind="stable")[:hits])
        fused = fused_scores(
            keyword,
            cosine,
            keyword_deviation=moments(keyword)[1],
            cosine_deviation=moments(cosine)[1],
        )
        found.append(np.argsort(-fused, kind="stable")[:hits])
    return np.unique(np.concatenate(found)).astype(np.int64)


class MemoryStore:
    """Documents in memory; implements `ports.Store`. Safe for use by several threads.

    Needs the settings "dimension" (of the vectors, "0" for none) and "reference_terms" (length of
    a usual chunk in terms, as `core.scores` wants it) before the first document.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settings: Mapping[str, str] = {}
        self._documents: Mapping[str, StoredDocument] = {}  # replaced whole, never changed
        self._next_handle = 1
        self._closed = False

    def _living(self) -> Mapping[str, StoredDocument]:
        """Return the documents of this moment by id."""
        if self._closed:
            raise StoreError("the store is closed; open it again")
        return self._documents

    def ensure_settings(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Record the settings that are not recorded yet, and return all that are recorded."""
        with self._lock:
            self._living()
            self._settings = {**settings, **self._settings}
            return dict(sorted(self._settings.items()))

    def put_document(
        self, entry: DocumentEntry, *, replace: bool = False
    ) -> Literal["added", "replaced"]:
        """Store a document, in place of one with the same id.

        Raises:
            ConflictError: If the id belongs to another source root and `replace` is False.
            OptionError: If the entry does not fit together.
        """
        dimension, _ = _read_settings(self._settings)
        check_entry(entry, dimension=dimension)
        stored = _stored(entry, handle=0)
        with self._lock:
            before = self._living().get(entry.document.id)
            if before is not None and not replace:
                _check_root(before.record, entry.document.source_root)
            self._keep(stored)
        return "added" if before is None else "replaced"

    def _keep(self, stored: StoredDocument) -> None:
        """Put a document in place, under the lock."""
        numbered = replace(stored, handle=self._next_handle)
        self._next_handle += 1
        self._documents = {**self._documents, stored.record.id: numbered}

    def delete_document(self, document_id: str) -> bool:
        """Delete a document whole; return whether there was one."""
        with self._lock:
            living = self._living()
            self._documents = {name: living[name] for name in living if name != document_id}
            return document_id in living

    def get_record(self, document_id: str) -> DocumentRecord | None:
        """Return what is known of a document, or None."""
        stored = self._living().get(document_id)
        return None if stored is None else stored.record

    def list_records(self, where: Filter | None = None) -> list[DocumentRecord]:
        """Return the records of all documents that a filter leaves, ordered by id.

        Raises:
            FilterError: If the filter cannot mean what it says on these documents.
        """
        records = [stored.record for stored in _select(tuple(self._living().values()), where)]
        return sorted(records, key=lambda record: record.id)

    def get_document(self, document_id: str) -> Document | None:
        """Return a document without headings and blocks, or None."""
        stored = self._living().get(document_id)
        return None if stored is None else stored.document

    def get_chunks(self, document_id: str) -> tuple[Chunk, ...]:
        """Return all chunks of a document, none when there is no such document."""
        stored = self._living().get(document_id)
        return () if stored is None else stored.chunks

    def get_sections(self, document_id: str) -> tuple[Section, ...]:
        """Return all sections of a document, none when there is no such document."""
        stored = self._living().get(document_id)
        return () if stored is None else stored.sections

    def get_embedded(
        self, document_id: str
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float32]] | None:
        """Return its chunks and their vectors as stored, of one moment, or None."""
        stored = self._living().get(document_id)
        if stored is None or not stored.vectors.shape[1]:
            return None
        return stored.chunks, stored.vectors.astype(np.float32)

    @contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        """Open a snapshot."""
        yield MemorySnapshot(tuple(self._living().values()), self._settings)

    def optimise(self) -> None:
        """Do nothing: nothing here is derived."""
        self._living()

    def close(self) -> None:
        """Release everything; a closed store raises StoreError."""
        with self._lock:
            self._closed = True
            self._documents = {}


def _check_root(before: DocumentRecord, source_root: str) -> None:
    if before.source_root != source_root:
        raise ConflictError(
            f"the id {before.id!r} belongs to a document from {before.source_root!r}; this one "
            f"comes from {source_root!r}; give it another id, or replace the other one by name",
            source=before.id,
            code="conflict",
        )
