"""Snapshots: of all documents with their whole index, which is searched exactly.

A snapshot keeps the records and the index of its moment. Texts, sections, pages and figures are
read when they are needed. Those of a version that was replaced in the meantime stay readable for
`writes.GRACE_SECONDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.scan import PassageRange, Passages, Scan, ScanQuery, range_signals
from spanwise.errors import StoreChangedError
from spanwise.filters import Filter, document_test, record_fields
from spanwise.stores.entries import (
    check_known,
    check_query_vectors,
    known_handles,
    unknown_handle,
)
from spanwise.stores.passages import read_passages
from spanwise.stores.qdrant.points import (
    CHUNK_FIELDS,
    CHUNKS,
    STATE,
    Layout,
    StoredVersion,
    layout_point_id,
    read_chunk,
    read_layout,
)
from spanwise.stores.qdrant.signals import read_signals, signal_point_id
from spanwise.stores.scan import ViewScan, count_terms, scan_view
from spanwise.stores.words import find_similar_spellings, find_similar_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.scan_steps import ScanSteps
    from spanwise.core.ranking.similar_words import SimilarWord
    from spanwise.filters import FieldKind
    from spanwise.stores.qdrant.known import Known
    from spanwise.stores.qdrant.requests import Requests
    from spanwise.types import Block, Chunk, DocumentRecord, Figure, Page, Section


class VersionReader:
    """Reads the parts of versions, each kind in one request, and keeps them while it is used.

    The first layout is read together with those of all versions whose chunks have been read,
    because a search shows the sections of the chunks that it reads.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._chunks: dict[tuple[str, int], Chunk] = {}
        self._layouts: dict[str, Layout] = {}
        self._pieces: dict[str, list[str]] = {}
        self._awaited: dict[str, StoredVersion] = {}
        self._signals: dict[tuple[str, str], Mapping[str, NDArray[np.float16]]] = {}

    def chunks(self, places: Sequence[tuple[StoredVersion, int, int]]) -> list[tuple[Chunk, ...]]:
        """Return the chunks of some ranges of versions, from one request.

        Raises:
            StoreChangedError: If a version was replaced and deleted.
        """
        ids = {
            one: (version.token, index)
            for version, start, end in places
            for index, one in enumerate(version.chunk_ids(start, end), start)
            if (version.token, index) not in self._chunks
        }
        self._awaited.update(
            (version.token, version)
            for version, _, _ in places
            if version.token not in self._pieces
        )
        found = self._requests.retrieve(CHUNKS, list(ids), fields=CHUNK_FIELDS)
        for one, key in ids.items():
            if one not in found:
                raise _changed()
            self._chunks[key] = read_chunk(found[one].payload or {})
        return [
            tuple(self._chunks[version.token, index] for index in range(start, end))
            for version, start, end in places
        ]

    def layout(self, version: StoredVersion) -> Layout:
        """Return the layout of a version.

        Raises:
            StoreChangedError: If the version was replaced and deleted.
        """
        token = version.token
        if token not in self._layouts:
            if token not in self._pieces:
                self._read_pieces([version, *self._awaited.values()])
                self._awaited.clear()
            if len(self._pieces[token]) < version.pieces:
                raise _changed()
            self._layouts[token] = read_layout(self._pieces[token])
        return self._layouts[token]

    def _read_pieces(self, versions: Sequence[StoredVersion]) -> None:
        """Read the layouts of some versions, from one request; those of deleted ones are empty."""
        ids = {
            one.token: [layout_point_id(one.token, number) for number in range(one.pieces)]
            for one in versions
        }
        wanted = [one for own in ids.values() for one in own]
        found = self._requests.retrieve(STATE, wanted, fields=["data"])
        for token, own in ids.items():
            self._pieces[token] = [
                (found[one].payload or {})["data"] for one in own if one in found
            ]

    def signals(
        self, versions: Sequence[StoredVersion], packs: str
    ) -> list[Mapping[str, NDArray[np.float16]]]:
        """Return the signals of some versions by landmark, from one request."""
        keys = [(version.token, packs) for version in versions]
        missing = [key for key in dict.fromkeys(keys) if key not in self._signals]
        ids = {key: signal_point_id(*key) for key in missing}
        found = self._requests.retrieve(STATE, list(ids.values()), fields=["signals"])
        for key, one in ids.items():
            self._signals[key] = read_signals(found[one].payload or {}) if one in found else {}
        return [self._signals[key] for key in keys]


def _changed() -> StoreChangedError:
    return StoreChangedError("a document was replaced while it was read; read it again")


class SnapshotReads(ABC):
    """Reads of a snapshot by handle, which do not depend on how it is searched."""

    def __init__(self, requests: Requests, settings: Mapping[str, str]) -> None:
        self._requests = requests
        self._settings = settings
        self._reader = VersionReader(requests)
        self._dimension = int(settings["dimension"])

    @abstractmethod
    def _find(self, handle: int) -> StoredVersion:
        """Return the version with a handle.

        Raises:
            DocumentNotFoundError: If the snapshot has no such document.
        """

    def packs(self) -> str:
        """Return the recorded packs, "" for none."""
        return self._settings.get("packs", "")

    def signals(
        self, ranges: Sequence[PassageRange], landmarks: Sequence[str]
    ) -> NDArray[np.float32]:
        """Return the signals of landmarks for the chunks of some ranges, (landmarks, n)."""
        handles = list(dict.fromkeys(span.handle for span in ranges))
        versions = [self._find(handle) for handle in handles]
        signals = self._reader.signals(versions, self.packs())
        return range_signals(ranges, landmarks, dict(zip(handles, signals, strict=True)))

    def record(self, handle: int) -> DocumentRecord:
        """Return the record of a document."""
        return self._find(handle).record

    def sections(self, handle: int, start: int, end: int) -> tuple[Section, ...]:
        """Return the sections `[start, end)` of a document, clipped to the existing ones."""
        return self._reader.layout(self._find(handle)).sections[start:end]

    def pages(self, handle: int) -> tuple[Page, ...]:
        """Return the pages of a document in order; empty if its format has no pages."""
        return self._reader.layout(self._find(handle)).document.pages

    def figures(self, handle: int) -> tuple[Figure, ...]:
        """Return the figures of a document in order."""
        return self._reader.layout(self._find(handle)).document.figures

    def blocks(self, handle: int) -> tuple[Block, ...]:
        """Return the tables and pieces of code of a document in order."""
        return self._reader.layout(self._find(handle)).document.blocks

    def chunks(self, handle: int, start: int, end: int) -> tuple[Chunk, ...]:
        """Return the chunks `[start, end)` of a document."""
        return self.chunk_ranges([PassageRange(handle, start, end)])[0]

    def chunk_ranges(self, ranges: Sequence[PassageRange]) -> list[tuple[Chunk, ...]]:
        """Return the chunks of each range, clipped to the existing ones."""
        places = []
        for span in ranges:
            version = self._find(span.handle)
            start = max(0, min(span.start, version.chunks))
            places.append((version, start, max(start, min(span.end, version.chunks))))
        return self._reader.chunks(places)


class ExactSnapshot(SnapshotReads):
    """Snapshot of known documents; implements `JointSnapshot`."""

    def __init__(self, known: Known, requests: Requests) -> None:
        super().__init__(requests, known.meta.settings)
        self._known = known
        self._view = known.view

    def languages(self) -> tuple[str, ...]:
        """Return the languages of live documents, ascending; "" if unknown."""
        versions = self._known.versions.values()
        return tuple(sorted({version.record.language for version in versions}))

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return the document frequency of each term, (T,), and the number of live chunks."""
        return count_terms(self._view, terms), self._view.all_chunks

    def similar_words(
        self,
        handles: Sequence[int],
        words: Sequence[str],
        *,
        languages: Sequence[str] | None = None,
    ) -> tuple[tuple[SimilarWord, ...], ...]:
        """Return the words of some documents that are most similar to each of some words."""
        known = self.languages() if languages is None else languages
        return find_similar_words(self._view, handles, words, languages=known)

    def similar_spellings(
        self,
        words: Sequence[str],
        *,
        count_chunks: Callable[[Sequence[str]], NDArray[np.int64]] | None = None,
    ) -> tuple[SimilarWord | None, ...]:
        """Return the word of all documents with the nearest spelling to each of some words."""
        return find_similar_spellings(self._view, words, count_chunks=count_chunks)

    def scan(
        self,
        query: ScanQuery,
        *,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
    ) -> Scan:
        """Score all chunks in scope, see `Searchable.scan`."""
        if where is not None:
            check_known(where, self._known.fields, former=self._all_former_fields)
        handles = None
        if documents is not None:
            handles = known_handles(documents, self.find_documents(documents))
        return scan_view(self._view, query, scope=self._scope(query, where, handles))

    def start_scan(
        self, query: ScanQuery, *, where: Filter | None, documents: Sequence[int] | None
    ) -> ScanSteps:
        """Return the steps of a search, see `JointSnapshot.start_scan`."""
        return ViewScan(self._view, query, scope=self._scope(query, where, documents))

    def _scope(
        self, query: ScanQuery, where: Filter | None, handles: Sequence[int] | None
    ) -> NDArray[np.bool_] | None:
        """Return whether each live document is searched; None for all documents."""
        if query.vector is not None:
            check_query_vectors(query.vector[None, :], dimension=self._dimension)
        scope = None
        if where is not None:
            test = document_test(where)
            versions = self._known.handles.values()
            scope = np.array([test(record_fields(one.record)) for one in versions], dtype=np.bool_)
        if handles is not None:
            named = np.isin(self._view.live.numbers, handles)
            scope = named if scope is None else scope & named
        return scope

    def find_documents(self, documents: Sequence[str]) -> tuple[int | None, ...]:
        """Return the handle of each document id, None if there is no such document."""
        return tuple(self._known.find(document_id) for document_id in documents)

    def fields(self) -> Mapping[str, frozenset[FieldKind]]:
        """Return the kinds of the values of each field that a filter may name."""
        return self._known.fields

    def _all_former_fields(self) -> frozenset[str]:
        return frozenset(self._known.meta.kinds)

    def former_fields(self) -> frozenset[str]:
        """Return the names of metadata fields that documents had and no document has now."""
        return self._all_former_fields() - self._known.fields.keys()

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
        return read_passages(self._view, ranges, terms=terms, vectors=vectors)

    def _find(self, handle: int) -> StoredVersion:
        try:
            return self._known.handles[handle]
        except KeyError:
            raise unknown_handle(handle) from None
