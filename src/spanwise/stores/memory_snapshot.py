"""Documents in memory at one moment: what the reference store searches, in full every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.collection import Collection, CountedDocument, count_document
from spanwise.core.packs.landmarks import range_signals
from spanwise.core.scan import PassageRange, Passages, Scan, ScanQuery
from spanwise.core.vectors import cosines, quantise_rows, unit_rows
from spanwise.core.versions import text_version
from spanwise.errors import DocumentNotFoundError, OptionError, StoreError
from spanwise.filters import Filter, check_filter, filter_fields, known_fields, matches
from spanwise.types import Chunk, Document, DocumentRecord, Page, Section

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.ports import DocumentEntry

__all__ = [
    "MemorySnapshot",
    "StoredDocument",
    "read_settings",
    "select_documents",
    "stored_document",
]


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
    counted: CountedDocument
    signals: Mapping[str, NDArray[np.float16]]

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each chunk to a vector, (n,)."""
        rows, scales = quantise_rows(self.vectors)
        query, query_scale = quantise_rows(vector[None, :])
        dots = rows.astype(np.int64) @ query[0].astype(np.int64)
        return cosines(dots, scales, query_scale=query_scale[0])


def stored_document(entry: DocumentEntry, *, handle: int) -> StoredDocument:
    """Return a document as the store holds it."""
    document = entry.document
    vectors = entry.vectors
    return StoredDocument(
        handle=handle,
        document=replace(document, metadata=dict(document.metadata)),
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
            given_fields=document.given_fields,
            language=entry.language,
            status=document.status,
            version=text_version(document.text),
            recipe=entry.recipe,
        ),
        sections=entry.sections,
        chunks=entry.chunks,
        vectors=unit_rows(np.empty((len(entry.chunks), 0)) if vectors is None else vectors),
        counted=count_document(
            entry.chunks,
            title_words=entry.title_words,
            handle=handle,
            language=entry.language,
        ),
        signals=dict(entry.signals),
    )


def select_documents(
    documents: Sequence[StoredDocument], where: Filter | None
) -> tuple[StoredDocument, ...]:
    """Return the documents that a filter leaves, in the order given.

    Raises:
        FilterError: If the filter cannot mean what it says on these documents.
    """
    if where is None:
        return tuple(documents)
    records = [stored.record for stored in documents]
    fields = [
        filter_fields(r.metadata, title=r.title, language=r.language, status=r.status)
        for r in records
    ]
    check_filter(where, known_fields(fields))
    return tuple(s for s, own in zip(documents, fields, strict=True) if matches(where, own))


class MemorySnapshot:
    """Documents of one moment; implements `ports.Snapshot`."""

    def __init__(self, documents: Sequence[StoredDocument], settings: Mapping[str, str]) -> None:
        self._documents = tuple(sorted(documents, key=lambda stored: stored.handle))
        self._by_handle = {stored.handle: stored for stored in self._documents}
        self._dimension, reference_terms = read_settings(settings)
        self._packs = settings.get("packs", "")
        self._collection = Collection(
            documents=tuple(stored.counted for stored in self._documents),
            reference_terms=reference_terms,
        )

    def languages(self) -> tuple[str, ...]:
        """Return the languages of all documents, ascending; "" for what is not known."""
        return tuple(sorted({stored.record.language for stored in self._documents}))

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return how many living chunks hold each term, (T,), and how many there are."""
        return self._collection.term_counts(terms)

    def scan(
        self,
        query: ScanQuery,
        *,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
    ) -> Scan:
        """Search all chunks in scope, as `ports.Snapshot.scan` says."""
        scope = self._scope(where, documents)
        return self._collection.scan(
            query.terms,
            words=query.words,
            cosine=self._cosines(scope, query.vector),
            hits=query.hits,
            scope=[stored.counted for stored in scope],
        )

    def _scope(
        self, where: Filter | None, documents: Sequence[str] | None
    ) -> tuple[StoredDocument, ...]:
        scope = select_documents(self._documents, where)
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
        similarities = [np.empty((0, len(vectors)), dtype=np.float32)]
        spans = []
        for wanted in ranges:
            stored = self._find(wanted.handle)
            columns = np.empty((len(stored.chunks), len(vectors)), dtype=np.float32)
            for column, vector in enumerate(vectors):
                columns[:, column] = stored.cosines(vector)
            similarities.append(columns[wanted.start : wanted.end])
            spans.append((stored.counted, wanted.start, wanted.end))
        return self._collection.passages(
            spans, terms=terms, similarities=np.concatenate(similarities).T
        )

    def packs(self) -> str:
        """Return the packs that are recorded, "" for none."""
        return self._packs

    def signals(
        self, ranges: Sequence[PassageRange], landmarks: Sequence[str]
    ) -> NDArray[np.float32]:
        """Return the signals of landmarks in the chunks of some ranges, (landmarks, n)."""
        handles = {span.handle for span in ranges}
        return range_signals(
            ranges, landmarks, {handle: self._find(handle).signals for handle in handles}
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


def read_settings(settings: Mapping[str, str]) -> tuple[int, float]:
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
