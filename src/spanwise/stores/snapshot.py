"""Snapshot of an embedded store: scan, passages and records in one read transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from spanwise.core.ranking.scan import PassageRange, Passages, Scan, ScanQuery
from spanwise.stores import database
from spanwise.stores.bounded_cache import BoundedCache
from spanwise.stores.columns import MetadataColumns
from spanwise.stores.entries import check_query_vectors, known_handles
from spanwise.stores.part_checksums import DamagedPartError
from spanwise.stores.passages import read_passages
from spanwise.stores.row_checksums import check_contents, damaged_document, document_name
from spanwise.stores.scan import ViewScan, count_terms, scan_view
from spanwise.stores.signals import read_signals
from spanwise.stores.view import View, check_handle, find_positions
from spanwise.stores.words import find_similar_spellings, find_similar_words
from spanwise.types import Chunk, DocumentRecord, Figure, Section

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.scan_steps import ScanSteps, ScoreSums, TermTotals
    from spanwise.core.ranking.similar_words import SimilarWord
    from spanwise.filters import FieldKind, Filter
    from spanwise.stores.view import LiveDocuments
    from spanwise.types import Block, Page

_Result = TypeVar("_Result")
_Item = TypeVar("_Item")
_MAX_RECORDS = 4_096  # about 6 MB
_MAX_CHUNK_BYTES = 32 << 20
_MAX_ITEM_BYTES = 8 << 20
_CHUNK_BYTES = 600  # of a cached chunk, besides its text
_ITEM_BYTES = 500  # of a cached section, page or figure
_MAX_RANGE = 256  # chunks; larger ranges are not cached


def _items() -> BoundedCache[Any, Any]:
    return BoundedCache(_MAX_ITEM_BYTES)


@dataclass(slots=True)
class KnownDocuments:
    """Cache of verified document data. Numbers are never reused; records may change in place."""

    records: dict[int, tuple[int, DocumentRecord]] = field(default_factory=dict)
    """Document records by number, at most 4,096. Each is stored with the number of the last change
    in place before it was read (`LiveDocuments.updated`), and is valid until the next such
    change."""
    chunks: BoundedCache[tuple[int, int], Chunk] = field(
        default_factory=lambda: BoundedCache(_MAX_CHUNK_BYTES)
    )
    """Chunks by number of the document and index, at most 32 MB."""
    sections: BoundedCache[tuple[int, int], Section] = field(default_factory=_items)
    """Sections by number of the document and index, at most 8 MB."""
    pages: BoundedCache[int, tuple[Page, ...]] = field(default_factory=_items)
    """Pages by number of the document, at most 8 MB."""
    figures: BoundedCache[int, tuple[Figure, ...]] = field(default_factory=_items)
    """Figures by number of the document, at most 8 MB."""
    blocks: BoundedCache[int, tuple[Block, ...]] = field(default_factory=_items)
    """Tables and code by number of the document, at most 8 MB."""
    languages: tuple[int, tuple[str, ...]] = (-1, ())
    """Last change of the documents, and the languages of the live documents after it."""
    verified: set[int] = field(default_factory=set)
    """Numbers of the documents whose signals have been verified."""
    documents: set[int] = field(default_factory=set)
    """Numbers of the documents with cached data."""
    seq: int = -1
    """Last change after which the data of deleted documents was removed."""

    def follow(self, live: LiveDocuments) -> None:
        """Remove the data of documents that are deleted, if the documents have changed.

        Snapshots of an earlier state read the data again.
        """
        if self.seq == live.seq:
            return
        self.seq = live.seq
        cached = np.array(sorted(self.documents | self.verified), dtype=np.int64)
        first = np.searchsorted(live.numbers, cached, side="left")
        gone = frozenset(cached[first == np.searchsorted(live.numbers, cached, "right")].tolist())
        if not gone:
            return
        self.documents -= gone
        self.verified -= gone
        for number in gone:
            self.records.pop(number, None)
        self.chunks.remove(lambda place: place[0] in gone)
        self.sections.remove(lambda place: place[0] in gone)
        self.pages.remove(gone.__contains__)
        self.figures.remove(gone.__contains__)
        self.blocks.remove(gone.__contains__)


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
        self._checked: set[int] = set()  # handles of documents of the view
        known.follow(view.live)

    def read_index(self, read: Callable[[View], _Result]) -> _Result:
        """Return the result of `read`, which is repeated whenever a damaged part was replaced."""
        while True:
            try:
                return read(self._view)
            except DamagedPartError as error:
                self._view = self._recover(self._connection, self._view, error.name)

    def languages(self) -> tuple[str, ...]:
        """Return the languages of live documents, ascending; "" if unknown."""
        seq, languages = self._known.languages
        if seq != self._view.live.seq:
            languages = database.read_languages(self._connection)
            self._known.languages = self._view.live.seq, languages
        return languages

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
        for handle in set(handles) - self._known.verified:
            check_contents(self._connection, handle, "signal")
            self._known.verified.add(handle)
        return read_signals(self._connection, ranges, landmarks)

    def _check(self, handle: int) -> None:
        if handle not in self._checked:
            check_handle(self._view, handle)
            self._checked.add(handle)
            self._known.documents.add(handle)

    def record(self, handle: int) -> DocumentRecord:
        """Return the record of a document."""
        self._check(handle)
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
        self._check(handle)
        places = [(handle, index) for index in range(max(0, start), end)]
        found = self._known.sections.find(places)
        if len(found) == len(places):
            return tuple(found.values())
        sections = database.read_sections(self._connection, handle, start, end)
        for place, section in zip(places, sections, strict=False):
            self._known.sections.add(place, section, _ITEM_BYTES + 2 * len(section.summary))
        return sections

    def pages(self, handle: int) -> tuple[Page, ...]:
        """Return the pages of a document in order; empty if its format has no pages."""
        return self._of_document(handle, self._known.pages, database.read_pages)

    def figures(self, handle: int) -> tuple[Figure, ...]:
        """Return the figures of a document in order."""
        return self._of_document(handle, self._known.figures, database.read_figures)

    def blocks(self, handle: int) -> tuple[Block, ...]:
        """Return the tables and pieces of code of a document in order."""
        return self._of_document(handle, self._known.blocks, database.read_blocks)

    def _of_document(
        self,
        handle: int,
        known: BoundedCache[int, tuple[_Item, ...]],
        read: Callable[[sqlite3.Connection, int], tuple[_Item, ...]],
    ) -> tuple[_Item, ...]:
        self._check(handle)
        found = known.find((handle,))
        if handle in found:
            return found[handle]
        items = read(self._connection, handle)
        known.add(handle, items, _ITEM_BYTES * (1 + len(items)))
        return items

    def chunks(self, handle: int, start: int, end: int) -> tuple[Chunk, ...]:
        """Return the chunks `[start, end)` of a document."""
        self._check(handle)
        places = range(max(0, start), end)
        is_small = len(places) <= _MAX_RANGE
        if is_small:
            found = self._known.chunks.find([(handle, index) for index in places])
            if len(found) == len(places):
                return tuple(found.values())
        chunks = database.read_chunks(self._connection, handle, start, end)
        if len(chunks) < len(places):  # the document ends there, or rows are missing
            (position,) = find_positions(self._view, [handle])
            if len(chunks) < len(range(places.start, min(end, self._view.live.chunks[position]))):
                name = document_name(self._connection, handle)
                raise damaged_document(name, "`chunk`", "has fewer rows than the record says")
        if is_small:
            self._remember({(handle, chunk.index): chunk for chunk in chunks})
        return chunks

    def chunk_ranges(self, ranges: Sequence[PassageRange]) -> list[tuple[Chunk, ...]]:
        """Return the chunks of each range; ranges must lie within their documents."""
        spans = [[(span.handle, index) for index in range(span.start, span.end)] for span in ranges]
        places = set(chain.from_iterable(spans))
        find_positions(self._view, [span.handle for span in ranges])
        self._known.documents.update(span.handle for span in ranges)
        found = self._known.chunks.find(places)
        missing = places - found.keys()
        if missing:
            read = database.read_single_chunks(self._connection, missing)
            self._remember(read)
            found |= read
        try:
            return [tuple([found[place] for place in span]) for span in spans]
        except KeyError:  # a damaged chunk
            return [self.chunks(span.handle, span.start, span.end) for span in ranges]

    def _remember(self, chunks: Mapping[tuple[int, int], Chunk]) -> None:
        for place, chunk in chunks.items():
            self._known.chunks.add(place, chunk, _CHUNK_BYTES + 2 * len(chunk.text))
