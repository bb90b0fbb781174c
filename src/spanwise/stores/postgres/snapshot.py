"""Snapshot of a store in PostgreSQL: scan, passages and records in one read transaction.

A search reads the postings of its terms in one statement, and compares the vectors of all chunks,
which the process has read once (see `vectors`). The data of documents is read for all documents of
the passages at once, and cached by the process, because a document never changes under the same
number (except for its record).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from spanwise.core.arrays import distinct
from spanwise.core.ranking.scan import PassageRange, Passages, Scan, ScanQuery
from spanwise.core.ranking.scan_steps import run_scan
from spanwise.stores.bounded_cache import BoundedCache
from spanwise.stores.entries import check_query_vectors, known_handles
from spanwise.stores.part import term_hashes
from spanwise.stores.part_checksums import DamagedPartError
from spanwise.stores.passages import read_passages
from spanwise.stores.postgres import documents as rows_of
from spanwise.stores.postgres.fields import read_former_fields
from spanwise.stores.postgres.filters import matching_documents, read_kinds
from spanwise.stores.postgres.parts import (
    Fetch,
    PartCache,
    StoredPart,
    document_word_keys,
    fetch_rows,
    read_rows,
    receive_terms,
    request_terms,
    stored_words,
)
from spanwise.stores.postgres.signals import read_signals
from spanwise.stores.scan import ViewScan, count_terms
from spanwise.stores.view import View, check_handle, find_positions, with_parts
from spanwise.stores.words import find_similar_spellings, find_similar_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.scan_steps import ScanSteps, ScoreSums, TermTotals
    from spanwise.core.ranking.similar_words import SimilarWord
    from spanwise.filters import FieldKind, Filter
    from spanwise.stores.part import Part, Postings
    from spanwise.stores.postgres.connections import Connection
    from spanwise.types import Block, Chunk, DocumentRecord, Figure, Page, Section

_Result = TypeVar("_Result")
_Item = TypeVar("_Item")
_MAX_RECORDS = 20_000  # about 30 MB
_MAX_CACHE_BYTES = 64 << 20
_CHUNK_BYTES = 600  # of a cached chunk, besides its text
_ITEM_BYTES = 500  # of a cached section, page or figure
_MAX_NEAR = 256  # documents whose data is read at once


def _cache() -> BoundedCache[Any, Any]:
    return BoundedCache(_MAX_CACHE_BYTES)


@dataclass(slots=True)
class KnownDocuments:
    """Data of documents that a process has read. Numbers are never used again."""

    records: dict[int, tuple[int, DocumentRecord]] = field(default_factory=dict)
    """Records by number, each with the last change in place before it was read
    (`LiveDocuments.updated`); it is valid until the next such change."""
    chunks: BoundedCache[tuple[int, int], Chunk] = field(default_factory=_cache)
    """Chunks by number of the document and index."""
    sections: BoundedCache[int, tuple[Section, ...]] = field(default_factory=_cache)
    pages: BoundedCache[int, tuple[Page, ...]] = field(default_factory=_cache)
    figures: BoundedCache[int, tuple[Figure, ...]] = field(default_factory=_cache)
    blocks: BoundedCache[int, tuple[Block, ...]] = field(default_factory=_cache)
    filtered: BoundedCache[tuple[Filter, bool, int], NDArray[np.bool_]] = field(
        default_factory=_cache
    )
    """Whether each live document matches a filter, by the filter, whether it was checked before,
    and the last change of a document."""
    languages: tuple[int, tuple[str, ...]] = (-1, ())
    """Last change of a document, and the languages of the live documents after it."""


class IndexView(NamedTuple):
    """View of a transaction, and how to read its stored parts."""

    view: View
    stored: tuple[StoredPart, ...]
    """Stored parts; they precede the parts in memory in the view."""
    dimension: int
    """Dimension of the vectors, 0 for none."""
    packs: str
    """Recorded packs, "" for none."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the stored parts."""
        return tuple(part.number for part in self.stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexAccess:
    """Access of snapshots to the index of their store."""

    load_vectors: Callable[[StoredPart, Fetch], NDArray[np.int8]]
    """Function that returns the vectors of a part."""
    recover: Callable[[Connection, IndexView, int], IndexView]
    """Function that returns a view without a damaged part, given its number."""
    cache: PartCache
    """Cache of parts."""
    known: KnownDocuments
    """Cache of the data of documents."""


class _SnapshotScan:
    """Steps of a search, repeated after a damaged part was replaced; implements `ScanSteps`."""

    def __init__(self, snapshot: PostgresSnapshot, make: Callable[[], ViewScan]) -> None:
        self._read = snapshot.read_index
        self._make = make
        self._scan: ViewScan | None = None

    def count(self) -> TermTotals:
        def read() -> TermTotals:
            self._scan = self._make()
            return self._scan.count()

        return self._read(read)

    def score(self, totals: TermTotals) -> ScoreSums:
        self._totals = totals
        return self._read(self._scored)

    def find(self, sums: ScoreSums) -> Scan:
        def read() -> Scan:
            if self._scan is None:
                self._scored()
            return self._current().find(sums)

        return self._read(read)

    def _current(self) -> ViewScan:
        if self._scan is None:
            self._scan = self._make()
            self._scan.count()
        return self._scan

    def _scored(self) -> ScoreSums:
        scan = self._current()
        self._scan = None  # made again if a row is damaged
        sums = scan.score(self._totals)
        self._scan = scan
        return sums


class PostgresSnapshot:
    """Snapshot of a store in PostgreSQL; implements `JointSnapshot`. Not thread-safe."""

    def __init__(self, connection: Connection, found: IndexView, access: IndexAccess) -> None:
        """Create a snapshot from an open read transaction.

        Args:
            connection: Connection inside the read transaction.
            found: View of the transaction.
            access: Access to the index of the store.
        """
        self._connection = connection
        self._found = found
        self._access = access
        self._cache = access.cache
        self._known = access.known
        self._near: tuple[int, ...] = ()
        self._joined: dict[bytes, Mapping[int, Postings]] = {}

    def _fetch(self, keys: Sequence[int]) -> Mapping[int, bytes]:
        return fetch_rows(self._connection, keys)

    @property
    def _view(self) -> View:
        return self._found.view

    def read_index(self, read: Callable[[], _Result]) -> _Result:
        """Return the result of `read`, which is repeated whenever a damaged part was replaced."""
        while True:
            try:
                return read()
            except DamagedPartError as error:
                self._joined.clear()
                self._found = self._access.recover(self._connection, self._found, int(error.name))

    # Index

    def _view_of(self, terms: Sequence[str], *, vectors: bool = False) -> View:
        """Return a view with the postings of some terms.

        Args:
            terms: Terms.
            vectors: Whether the parts hold their vectors.
        """
        view, stored = self._view, self._found.stored
        postings = self._postings(distinct(term_hashes(terms)))
        parts: list[Part] = []
        for index, entry in enumerate(view.parts):
            own = stored[index] if index < len(stored) else None
            if own is None or own.number not in postings:
                parts.append(entry.part)
                continue
            part = replace(entry.part, body=postings[own.number])
            if vectors:
                part = replace(part, vectors=self._access.load_vectors(own, self._fetch))
            parts.append(part)
        return with_parts(view, parts)

    def _postings(self, hashes: NDArray[np.uint64]) -> Mapping[int, Postings]:
        """Return the postings of some terms by part.

        The passages of a search have the terms whose chunks were counted or scored before.
        """
        known = self._joined.get(hashes.tobytes())
        if known is not None:
            return known
        used = [
            own
            for own, entry in zip(self._found.stored, self._view.parts, strict=False)
            if entry.used.any()
        ]
        request = request_terms(used, hashes, self._cache)
        keys = list(request.wanted)
        received = receive_terms(request, self._fetch(keys) if keys else {}, self._cache)
        joined = {own.number: body for own, body in zip(used, received, strict=True)}
        self._joined[hashes.tobytes()] = joined
        return joined

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return the document frequency of each term, (T,), and the number of live chunks."""
        counts = self.read_index(lambda: count_terms(self._view_of(terms), terms))
        return counts, self._view.all_chunks

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
        return run_scan(_SnapshotScan(self, lambda: self._new_scan(query, scope)))

    def start_scan(
        self, query: ScanQuery, *, where: Filter | None, documents: Sequence[int] | None
    ) -> ScanSteps:
        """Return the steps of a search, see `JointSnapshot.start_scan`."""
        scope = self._scope(query, where, documents, is_checked=True)
        return _SnapshotScan(self, lambda: self._new_scan(query, scope))

    def _new_scan(self, query: ScanQuery, scope: NDArray[np.bool_] | None) -> ViewScan:
        view = self._view_of(query.terms, vectors=query.vector is not None)
        return ViewScan(view, query, scope=scope)

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
            check_query_vectors(query.vector[None, :], dimension=self._found.dimension)
        numbers = self._view.live.numbers
        scope = None
        if where is not None:
            scope = self._filtered(where, is_checked=is_checked)
        if handles is not None:
            named = np.isin(numbers, handles)
            scope = named if scope is None else scope & named
        return scope

    def _filtered(self, where: Filter, *, is_checked: bool) -> NDArray[np.bool_]:
        """Return whether each live document matches a filter; cached until a document changes."""
        live = self._view.live
        key = (where, is_checked, live.seq)
        known = self._known.filtered.find([key]).get(key)
        if known is None:
            found = matching_documents(self._connection, where, is_checked=is_checked)
            known = np.isin(live.numbers, found)
            self._known.filtered.add(key, known, known.nbytes + _ITEM_BYTES)
        return known

    def passages(
        self,
        ranges: Sequence[PassageRange],
        *,
        terms: Sequence[str],
        vectors: NDArray[np.float32],
    ) -> Passages:
        """Return the raw features of chunk ranges, see `Searchable.passages`."""
        if len(vectors):
            check_query_vectors(vectors, dimension=self._found.dimension)
        self._near = tuple(sorted({span.handle for span in ranges}))[:_MAX_NEAR]

        def read() -> Passages:
            view = self._view_of(terms, vectors=bool(len(vectors)))
            return read_passages(view, ranges, terms=terms, vectors=vectors)

        return self.read_index(read)

    def similar_words(
        self,
        handles: Sequence[int],
        words: Sequence[str],
        *,
        languages: Sequence[str] | None = None,
    ) -> tuple[tuple[SimilarWord, ...], ...]:
        """Return the words of some documents that are most similar to each of some words."""
        known = self.languages() if languages is None else languages

        def read() -> tuple[tuple[SimilarWord, ...], ...]:
            self._prefetch_words(handles)
            return find_similar_words(self._word_view(), handles, words, languages=known)

        return self.read_index(read)

    def similar_spellings(
        self,
        words: Sequence[str],
        *,
        count_chunks: Callable[[Sequence[str]], NDArray[np.int64]] | None = None,
    ) -> tuple[SimilarWord | None, ...]:
        """Return the word of all documents with the nearest spelling to each of some words."""
        count = count_chunks or (lambda terms: self.term_counts(terms)[0])
        return self.read_index(
            lambda: find_similar_spellings(self._word_view(), words, count_chunks=count)
        )

    def _word_view(self) -> View:
        """Return a view with word lists that are read when they are used."""
        stored = self._found.stored
        words = [stored_words(own, self._fetch, self._cache) for own in stored]
        parts = [
            replace(entry.part, words=words[index]) if index < len(stored) else entry.part
            for index, entry in enumerate(self._view.parts)
        ]
        return with_parts(self._view, parts)

    def _prefetch_words(self, handles: Sequence[int]) -> None:
        """Read the words of some documents in all parts at once."""
        positions = find_positions(self._view, handles)
        owners, ordinals = self._view.part_of[positions], self._view.ordinals[positions]
        keys: list[int] = []
        for index, own in enumerate(self._found.stored):
            keys += document_word_keys(own, ordinals[owners == index])
        read_rows(keys, self._fetch, self._cache)

    # Documents

    def languages(self) -> tuple[str, ...]:
        """Return the languages of live documents, ascending; "" if unknown."""
        seq, languages = self._known.languages
        if seq != self._view.live.seq:
            languages = rows_of.read_languages(self._connection)
            self._known.languages = self._view.live.seq, languages
        return languages

    def find_documents(self, documents: Sequence[str]) -> tuple[int | None, ...]:
        """Return the handle of each document id, None if there is no such document."""
        found = rows_of.find_numbers(self._connection, documents)
        return tuple(map(found.get, documents))

    def fields(self) -> Mapping[str, frozenset[FieldKind]]:
        """Return the kinds of the values of each field that a filter may name."""
        return read_kinds(self._connection)

    def former_fields(self) -> frozenset[str]:
        """Return the names of metadata fields that documents had and no document has now."""
        return read_former_fields(self._connection) - read_kinds(self._connection).keys()

    def packs(self) -> str:
        """Return the recorded packs, "" for none."""
        return self._found.packs

    def signals(
        self, ranges: Sequence[PassageRange], landmarks: Sequence[str]
    ) -> NDArray[np.float32]:
        """Return the signals of landmarks for the chunks of some ranges, (landmarks, n)."""
        find_positions(self._view, [span.handle for span in ranges])
        return read_signals(self._connection, ranges, landmarks)

    def record(self, handle: int) -> DocumentRecord:
        """Return the record of a document."""
        check_handle(self._view, handle)
        updated, records = self._view.live.updated, self._known.records
        known = records.get(handle)
        if known is not None and known[0] == updated:
            return known[1]
        wanted = [
            number
            for number in dict.fromkeys((handle, *self._near))
            if number not in records or records[number][0] != updated
        ]
        if len(records) > _MAX_RECORDS:
            records.clear()
        for row in rows_of.read_rows(self._connection, wanted):
            records[row.number] = updated, row.record()
        return records[handle][1]

    def sections(self, handle: int, start: int, end: int) -> tuple[Section, ...]:
        """Return the sections `[start, end)` of a document, clipped to the existing ones."""
        read = self._of_document(handle, self._known.sections, rows_of.read_sections_of)
        return read[max(0, start) : max(0, end)]

    def pages(self, handle: int) -> tuple[Page, ...]:
        """Return the pages of a document in order; empty if its format has no pages."""
        return self._of_document(handle, self._known.pages, rows_of.read_pages_of)

    def figures(self, handle: int) -> tuple[Figure, ...]:
        """Return the figures of a document in order."""
        return self._of_document(handle, self._known.figures, rows_of.read_figures_of)

    def blocks(self, handle: int) -> tuple[Block, ...]:
        """Return the tables and pieces of code of a document in order."""
        return self._of_document(handle, self._known.blocks, rows_of.read_blocks_of)

    def _of_document(
        self,
        handle: int,
        known: BoundedCache[int, tuple[_Item, ...]],
        read: Callable[[Connection, Sequence[int]], Mapping[int, tuple[_Item, ...]]],
    ) -> tuple[_Item, ...]:
        """Return data of a document; that of all documents of the passages is read at once."""
        check_handle(self._view, handle)
        found = known.find([handle])
        if handle not in found:
            near = self._near if handle in self._near else ()
            wanted = list(dict.fromkeys((handle, *near)))
            held = known.find(wanted)
            missing = [number for number in wanted if number not in held]
            rows = read(self._connection, missing)
            for number in missing:
                items = rows.get(number, ())
                known.add(number, items, _ITEM_BYTES * (1 + len(items)))
            return rows.get(handle, ())
        return found[handle]

    def chunks(self, handle: int, start: int, end: int) -> tuple[Chunk, ...]:
        """Return the chunks `[start, end)` of a document."""
        check_handle(self._view, handle)
        places = [(handle, index) for index in range(max(0, start), end)]
        if len(places) <= _MAX_NEAR:
            found = self._known.chunks.find(places)
            if places and len(found) == len(places):
                return tuple(found[place] for place in places)
        chunks = rows_of.read_chunks(self._connection, handle, start, end)
        self._remember({(handle, chunk.index): chunk for chunk in chunks})
        return chunks

    def chunk_ranges(self, ranges: Sequence[PassageRange]) -> list[tuple[Chunk, ...]]:
        """Return the chunks of each range; ranges must lie within their documents."""
        places = list(
            dict.fromkeys(
                (span.handle, index) for span in ranges for index in range(span.start, span.end)
            )
        )
        found = self._known.chunks.find(places)
        missing = [place for place in places if place not in found]
        if missing:
            find_positions(self._view, sorted({handle for handle, _ in missing}))
            read = rows_of.read_single_chunks(self._connection, missing)
            self._remember(read)
            found |= read
        return [
            tuple(found[span.handle, index] for index in range(span.start, span.end))
            for span in ranges
        ]

    def _remember(self, chunks: Mapping[tuple[int, int], Chunk]) -> None:
        for place, chunk in chunks.items():
            self._known.chunks.add(place, chunk, _CHUNK_BYTES + 2 * len(chunk.text))
