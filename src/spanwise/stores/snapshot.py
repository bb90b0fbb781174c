"""Snapshot of an embedded store: scan, passages and records in one read transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spanwise.core.ranking.scan import PassageRange, Passages, Scan, ScanQuery
from spanwise.filters import Filter
from spanwise.stores import database
from spanwise.stores.columns import MetadataColumns
from spanwise.stores.entries import check_query_vectors, known_handles
from spanwise.stores.part_checksums import DamagedPartError
from spanwise.stores.passages import read_passages
from spanwise.stores.row_checksums import check_contents
from spanwise.stores.scan import ViewScan, count_terms, scan_view
from spanwise.stores.signals import read_signals
from spanwise.stores.view import View, check_handle, find_positions
from spanwise.stores.words import find_similar_spellings, find_similar_words
from spanwise.types import Chunk, DocumentRecord, Figure, Page, Section

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.scan_steps import ScanSteps, ScoreSums, TermTotals
    from spanwise.core.ranking.similar_words import SimilarWord
    from spanwise.filters import FieldKind

_Result = TypeVar("_Result")
_MAX_RECORDS = 4_096  # about 6 MB
_MAX_CHUNKS = 1_024  # cached by a snapshot, about 1 MB


@dataclass(frozen=True, slots=True)
class KnownDocuments:
    """Cache of verified document data. Numbers are never reused; records may change in place."""

    records: dict[int, tuple[int, DocumentRecord]] = field(default_factory=dict)
    """Document records by number, at most 4,096. Each is stored with the number of the last change
    in place before it was read (`LiveDocuments.updated`), and is valid until the next such
    change."""
    verified: set[tuple[str, int]] = field(default_factory=set)
    """Pairs of table and document number whose rows have been verified."""


class _SnapshotScan:
    """Steps of a search, repeated after a damaged part was replaced; implements `ScanSteps`."""

    def __init__(self, snapshot: EmbeddedSnapshot, make: Callable[[View], ViewScan]) -> None:
        self._snapshot = snapshot
        self._make = make

    def count(self) -> TermTotals:
        def read(view: View) -> TermTotals:
            self._scan = self._make(view)
            return self._scan.count()

        return self._snapshot.read_index(read)

    def score(self, totals: TermTotals) -> ScoreSums:
        def read(view: View) -> ScoreSums:
            if view is not self._scan.view:
                self._scan = self._make(view)
            return self._scan.score(totals)

        return self._snapshot.read_index(read)

    def find(self, sums: ScoreSums) -> Scan:
        return self._scan.find(sums)


class EmbeddedSnapshot:
    """Snapshot of an embedded store; implements `JointSnapshot`. Not thread-safe."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        view: View,
        *,
        columns: MetadataColumns,
        dimension: int,
        recover: Callable[[sqlite3.Connection, View, str], View],
        known: KnownDocuments,
    ) -> None:
        """Create a snapshot from an open read transaction.

        Args:
            connection: Connection inside the read transaction.
            view: Index view of the transaction.
            columns: Document metadata for filters.
            dimension: Dimension of the vectors, 0 for none.
            recover: Function that returns a view in which the documents of a damaged part are
                rebuilt.
            known: Cache of document data that all snapshots of the store share.
        """
        self._connection = connection
        self._view = view
        self._columns = columns
        self._dimension = dimension
        self._recover = recover
        self._known = known
        self._chunks: dict[tuple[int, int], Chunk] = {}  # a search reads most chunks twice or more

    def read_index(self, read: Callable[[View], _Result]) -> _Result:
        """Return the result of `read`, which is repeated whenever a damaged part was replaced."""
        while True:
            try:
                return read(self._view)
            except DamagedPartError as error:
                self._view = self._recover(self._connection, self._view, error.name)

    def languages(self) -> tuple[str, ...]:
        """Return the languages of live documents, ascending; "" if unknown."""
        return database.read_languages(self._connection)

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return the document frequency of each term, (T,), and the number of live chunks."""
        counts = self.read_index(lambda view: count_terms(view, terms))
        return counts, self._view.all_chunks

    def similar_words(
        self,
        handles: Sequence[int],
        words: Sequence[str],
        *,
        languages: Sequence[str] | None = None,
    ) -> tuple[tuple[SimilarWord, ...], ...]:
        """Return the words of some documents that are most similar to each of some words."""
        known = self.languages() if languages is None else languages
        return self.read_index(
            lambda view: find_similar_words(view, handles, words, languages=known)
        )

    def similar_spellings(
        self,
        words: Sequence[str],
        *,
        count_chunks: Callable[[Sequence[str]], NDArray[np.int64]] | None = None,
    ) -> tuple[SimilarWord | None, ...]:
        """Return the word of all documents with the nearest spelling to each of some words."""
        return self.read_index(
            lambda view: find_similar_spellings(view, words, count_chunks=count_chunks)
        )

    def scan(
        self,
        query: ScanQuery,
        *,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
    ) -> Scan:
        """Score all chunks in scope, see `Searchable.scan`."""
        handles = None
        if documents is not None:
            handles = known_handles(documents, self.find_documents(documents))
        scope = self._scope(query, where, handles, is_checked=False)
        return self.read_index(lambda view: scan_view(view, query, scope=scope))

    def start_scan(
        self, query: ScanQuery, *, where: Filter | None, documents: Sequence[int] | None
    ) -> ScanSteps:
        """Return the steps of a search, see `JointSnapshot.start_scan`."""
        scope = self._scope(query, where, documents, is_checked=True)
        return _SnapshotScan(self, lambda view: ViewScan(view, query, scope=scope))

    def _scope(
        self,
        query: ScanQuery,
        where: Filter | None,
        handles: Sequence[int] | None,
        *,
        is_checked: bool,
    ) -> NDArray[np.bool_] | None:
        """Return whether each live document is searched; None for all documents."""
        if query.vector is not None:
            check_query_vectors(query.vector[None, :], dimension=self._dimension)
        scope = None
        numbers = self._view.live.numbers
        if where is not None:
            scope = self._columns.mask(
                self._connection, self._view.live, where, is_checked=is_checked
            )
        if handles is not None:
            named = np.isin(numbers, handles)
            scope = named if scope is None else scope & named
        return scope

    def find_documents(self, documents: Sequence[str]) -> tuple[int | None, ...]:
        """Return the handle of each document id, None if there is no such document."""
        found = [database.find_document(self._connection, one) for one in documents]
        return tuple(None if row is None else row[0] for row in found)

    def fields(self) -> Mapping[str, frozenset[FieldKind]]:
        """Return the kinds of the values of each field that a filter may name."""
        return self._columns.kinds(self._connection, self._view.live)

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
        return self.read_index(
            lambda view: read_passages(view, ranges, terms=terms, vectors=vectors)
        )

    def former_fields(self) -> frozenset[str]:
        """Return the names of metadata fields that documents had and no document has now."""
        return self._columns.former_fields(self._connection, self._view.live)

    def packs(self) -> str:
        """Return the recorded packs, "" for none."""
        return database.read_packs(self._connection)

    def signals(
        self, ranges: Sequence[PassageRange], landmarks: Sequence[str]
    ) -> NDArray[np.float32]:
        """Return the signals of landmarks for the chunks of some ranges, (landmarks, n)."""
        handles = [span.handle for span in ranges]
        find_positions(self._view, handles)
        for handle in set(handles):
            self._verify("signal", handle)
        return read_signals(self._connection, ranges, landmarks)

    def _verify(self, table: str, handle: int) -> None:
        """Verify all rows of a document in a table, once per process."""
        if (table, handle) not in self._known.verified:
            check_contents(self._connection, handle, table)
            self._known.verified.add((table, handle))

    def record(self, handle: int) -> DocumentRecord:
        """Return the record of a document."""
        check_handle(self._view, handle)
        updated = self._view.live.updated
        known = self._known.records.get(handle)
        if known is not None and known[0] == updated:
            return known[1]
        record = database.read_record(self._connection, handle)
        if len(self._known.records) >= _MAX_RECORDS:
            self._known.records.clear()
        self._known.records[handle] = updated, record
        return record

    def sections(self, handle: int, start: int, end: int) -> tuple[Section, ...]:
        """Return the sections `[start, end)` of a document, clipped to the existing ones."""
        check_handle(self._view, handle)
        return database.read_sections(self._connection, handle, start, end)

    def pages(self, handle: int) -> tuple[Page, ...]:
        """Return the pages of a document in order; empty if its format has no pages."""
        check_handle(self._view, handle)
        self._verify("page", handle)
        return database.read_pages(self._connection, handle, verify=False)

    def figures(self, handle: int) -> tuple[Figure, ...]:
        """Return the figures of a document in order."""
        check_handle(self._view, handle)
        self._verify("figure", handle)
        return database.read_figures(self._connection, handle, verify=False)

    def chunks(self, handle: int, start: int, end: int) -> tuple[Chunk, ...]:
        """Return the chunks `[start, end)` of a document."""
        known = []
        for index in range(max(0, start), end):
            chunk = self._chunks.get((handle, index))
            if chunk is None:
                break
            known.append(chunk)
        else:
            if known:
                return tuple(known)
        check_handle(self._view, handle)
        chunks = database.read_chunks(self._connection, handle, start, end)
        if len(self._chunks) < _MAX_CHUNKS:
            self._chunks.update(((handle, chunk.index), chunk) for chunk in chunks)
        return chunks

    def chunk_ranges(self, ranges: Sequence[PassageRange]) -> list[tuple[Chunk, ...]]:
        """Return the chunks of each range; ranges must lie within their documents."""
        places = {(span.handle, index) for span in ranges for index in range(span.start, span.end)}
        missing = places - self._chunks.keys()
        if 1 < len(missing) <= _MAX_CHUNKS - len(self._chunks):
            find_positions(self._view, sorted({handle for handle, _ in missing}))
            self._chunks.update(database.read_single_chunks(self._connection, missing))
        return [self.chunks(span.handle, span.start, span.end) for span in ranges]
