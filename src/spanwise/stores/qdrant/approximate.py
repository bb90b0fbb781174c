"""Approximate search of a large knowledge base by queries to Qdrant.

What is exact: the scores of the chunks that are found, their features, texts and records. What is
estimated:
    Hits: the best chunks by the sparse vector of terms and by the dense vector, each from an index
        of Qdrant. The best by fused score are chosen among these.
    Frequencies: a term in fewer than `RARE_CHUNKS` chunks is counted; the frequency of others comes
        from a sample of chunks, which is chosen by a hash of their ids.
    Means and deviations: from a sample of the chunks in scope. A scope of at most
        `SCOPE_CHUNKS` chunks is read whole.
    Documents: those with hits, and for each term those with the most chunks that contain it.
    Similar spellings: among the words of a sample of documents.

A search takes a fixed number of requests, whatever the number of documents.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spanwise.core.ranking.bm25 import IMPACT_STEP, weighted_sum
from spanwise.core.ranking.scan import Moments, PassageRange, Passages, Scan, ScanQuery
from spanwise.core.ranking.scan_steps import ScoreSums, TermTotals, best_chunks, run_scan
from spanwise.core.ranking.score_statistics import MomentSums
from spanwise.core.ranking.similar_words import (
    SimilarWord,
    most_similar,
    nearest_spellings,
    searched_word,
    word_terms_in,
)
from spanwise.core.ranking.vectors import cosines, quantise_rows
from spanwise.errors import FilterError, StoreChangedError
from spanwise.filters import Filter, check_filter, document_test, record_fields
from spanwise.models.word_vectors import quantise_words
from spanwise.stores.dot_products import dot_products
from spanwise.stores.entries import (
    check_known,
    check_query_vectors,
    known_handles,
    unknown_handle,
)
from spanwise.stores.part import term_hashes
from spanwise.stores.qdrant.fields import has_field, payload_filter
from spanwise.stores.qdrant.points import (
    CHUNKS,
    COUNTS,
    DENSE,
    DOCUMENTS,
    SAMPLE_BUCKETS,
    TERMS,
    TITLES,
    VERSION_FIELDS,
    StoredVersion,
    document_point_id,
    live_documents,
    read_row,
    read_version,
    read_words,
    term_index,
    title_index,
)
from spanwise.stores.qdrant.rows import RowTable
from spanwise.stores.qdrant.snapshot import SnapshotReads

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from qdrant_client import models

    from spanwise.core.ranking.scan_steps import ScanSteps
    from spanwise.filters import FieldKind
    from spanwise.stores.qdrant.meta import Meta
    from spanwise.stores.qdrant.requests import Requests

RARE_CHUNKS = 1_000
"""Number of chunks below which the chunks that contain a term are counted."""
SAMPLE_CHUNKS = 4_096
"""Number of chunks of a sample."""
SCOPE_CHUNKS = 2_000
"""Number of chunks up to which the chunks of a scope are read whole."""
_TERM_DOCUMENTS = 200
_WORD_DOCUMENTS = 300
_SAMPLE_SECONDS = 300
_MAX_SCOPES = 32
_ATTEMPTS = 3
_EF = 512
_CANDIDATES = 2  # chunks read for each hit, because the best by fused score are among them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Sample of the chunks of a scope."""

    rows: RowTable
    chunks: int
    """Number of chunks of the scope."""
    documents: int
    """Number of documents of the scope."""
    read_at: float

    @property
    def factor(self) -> float:
        """Chunks of the scope for each chunk of the sample."""
        return self.chunks / max(1, len(self.rows))

    @property
    def is_current(self) -> bool:
        """Whether the sample is recent enough; a small scope may have changed more."""
        age = time.monotonic() - self.read_at
        return age < min(_SAMPLE_SECONDS, 10 + self.chunks / 1_000)


@dataclass(slots=True)
class Samples:
    """Samples by scope, and words by document sample, shared by the searches of a process."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    samples: OrderedDict[str, Sample] = field(default_factory=OrderedDict)
    words: tuple[float, list[tuple[str, str]]] | None = None

    def find(self, scope: str, read: Callable[[], Sample]) -> Sample:
        """Return the sample of a scope, which is read if it is missing or too old."""
        with self.lock:
            known = self.samples.get(scope)
        if known is not None and known.is_current:
            return known
        sample = read()
        with self.lock:
            self.samples[scope] = sample
            self.samples.move_to_end(scope)
            while len(self.samples) > _MAX_SCOPES:
                self.samples.popitem(last=False)
        return sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scope:
    """Documents to search, as conditions of Qdrant on chunks and on documents."""

    key: str
    """Text that identifies the scope among samples."""
    chunks: models.Filter | None
    documents: models.Filter
    accept: Callable[[StoredVersion], bool]
    """Whether a version is in scope."""


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Chunks that Qdrant found, with the versions that they belong to."""

    versions: list[StoredVersion]
    """Version of each chunk."""
    indexes: NDArray[np.int64]
    rows: RowTable


class ApproximateSnapshot(SnapshotReads):
    """Snapshot of a large knowledge base; implements `JointSnapshot`.

    A document is read at most once, so that all results of a snapshot come from one version of it.
    """

    def __init__(self, meta: Meta, requests: Requests, samples: Samples) -> None:
        super().__init__(requests, dict(meta.settings))
        self._meta = meta
        self._samples = samples
        self._by_handle: dict[int, StoredVersion] = {}
        self._by_point: dict[str, tuple[int, StoredVersion] | None] = {}
        self._rows: dict[tuple[str, int], bytes] = {}
        self._counts: dict[str, int] = {}

    # Documents

    def _find(self, handle: int) -> StoredVersion:
        try:
            return self._by_handle[handle]
        except KeyError:
            raise unknown_handle(handle) from None

    def _remember(self, points: Sequence[str]) -> None:
        """Read the versions of some documents that are not known yet."""
        missing = [point for point in dict.fromkeys(points) if point not in self._by_point]
        found = self._requests.retrieve(DOCUMENTS, missing, fields=VERSION_FIELDS)
        for point in missing:
            self._add(point, found[point].payload if point in found else None)

    def _add(self, point: str, payload: Mapping[str, Any] | None) -> None:
        version = None if payload is None else read_version(point, payload)
        if version is None or version.gone:
            self._by_point[point] = None
            return
        handle = version.number
        while handle in self._by_handle:
            handle += 1
        self._by_handle[handle] = version
        self._by_point[point] = handle, version

    def _version_at(self, point: str) -> StoredVersion | None:
        known = self._by_point[point]
        return None if known is None else known[1]

    def handle_of(self, version: StoredVersion) -> int:
        """Return the handle of a version that is known."""
        known = self._by_point[version.point]
        if known is None:
            raise unknown_handle(version.number)
        return known[0]

    def find_documents(self, documents: Sequence[str]) -> tuple[int | None, ...]:
        """Return the handle of each document id, None if there is no such document."""
        points = [document_point_id(document_id) for document_id in documents]
        self._remember(points)
        known = [self._by_point[point] for point in points]
        return tuple(None if one is None else one[0] for one in known)

    def fields(self) -> Mapping[str, frozenset[FieldKind]]:
        """Return the kinds of the values of each field that documents have or had."""
        return {name: frozenset(kinds) for name, kinds in self._meta.kinds.items()}

    def former_fields(self) -> frozenset[str]:
        """Return the names of metadata fields that documents had and no document has now."""
        return self._former_fields

    @cached_property
    def _former_fields(self) -> frozenset[str]:
        from qdrant_client import models

        names = sorted(self._meta.kinds)
        queries = [
            models.QueryRequest(
                filter=models.Filter(must=[live_documents(), has_field(name)]),
                limit=1,
                with_payload=False,
            )
            for name in names
        ]
        found = self._requests.query(DOCUMENTS, queries)
        return frozenset(name for name, points in zip(names, found, strict=True) if not points)

    def _check_fields(self, where: Filter) -> None:
        """Check that a filter fits the fields that documents have or had.

        Raises:
            FilterError: As `check_known`.
        """
        try:
            check_filter(where, self.fields())
        except FilterError:  # the kinds of former fields do not matter
            former = self.former_fields()
            present = {name: own for name, own in self.fields().items() if name not in former}
            check_known(where, present, former=lambda: former)

    def languages(self) -> tuple[str, ...]:
        """Return the languages of live documents, ascending; "" if unknown."""
        return self._languages

    @cached_property
    def _languages(self) -> tuple[str, ...]:
        return tuple(sorted(self._requests.values(DOCUMENTS, "language", live_documents())))

    # Terms

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return the estimated frequency of each term, (T,), and the number of live chunks."""
        missing = [term for term in dict.fromkeys(terms) if term not in self._counts]
        sample = self._sample(self._everything)
        if missing:
            hashes = term_hashes(missing)
            queries = [
                _sparse_query({index: 1.0}, TERMS, limit=RARE_CHUNKS, payload=False)
                for index in term_index(hashes).tolist()
            ]
            found = self._requests.query(CHUNKS, queries)
            held = np.count_nonzero(sample.rows.impacts_of(hashes), axis=1)
            for term, points, count in zip(missing, found, held.tolist(), strict=True):
                estimate = min(sample.chunks, max(len(points), round(count * sample.factor)))
                is_rare = len(points) < RARE_CHUNKS
                self._counts[term] = len(points) if is_rare else estimate
        counts = np.array([self._counts[term] for term in terms], dtype=np.int64)
        return counts, sample.chunks

    def count_titles(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of documents whose title words contain each term, (T,).

        Documents are counted up to `RARE_CHUNKS`.
        """
        queries = [
            _sparse_query({index: 1.0}, TITLES, limit=RARE_CHUNKS, payload=False)
            for index in term_index(term_hashes(terms)).tolist()
        ]
        found = self._requests.query(DOCUMENTS, queries)
        return np.array([len(points) for points in found], dtype=np.int64)

    # Scopes and samples

    @cached_property
    def _everything(self) -> Scope:
        return Scope(key="", chunks=None, documents=live_documents(), accept=lambda _: True)

    def scope(self, where: Filter | None, handles: Sequence[int] | None) -> Scope:
        """Return the scope of a filter and of some documents."""
        from qdrant_client import models

        if where is None and handles is None:
            return self._everything
        key = str(where)
        chunk_parts: list[Any] = []
        document_parts: list[Any] = [live_documents()]
        test = None if where is None else document_test(where)
        wanted = None if handles is None else {self._find(handle).point for handle in handles}
        pushed = None if where is None else payload_filter(where, self.fields())
        if where is not None and test is not None and pushed is None:
            passing = self._evaluate(test)
            wanted = passing if wanted is None else wanted & passing
        if pushed is not None:
            chunk_parts.append(pushed)
            document_parts.append(pushed)
        if wanted is not None:
            points = sorted(wanted)
            key += "\0".join(("", *points))
            chunk_parts.append(
                models.FieldCondition(key="document", match=models.MatchAny(any=points or ["none"]))
            )
            document_parts.append(models.HasIdCondition(has_id=[*points] or [_NOBODY]))

        def accept(version: StoredVersion) -> bool:
            passes = test is None or test(record_fields(version.record))
            return passes and (wanted is None or version.point in wanted)

        return Scope(
            key=key,
            chunks=models.Filter(must=chunk_parts),
            documents=models.Filter(must=document_parts),
            accept=accept,
        )

    def _evaluate(self, test: Callable[[Mapping[str, Any]], bool]) -> set[str]:
        """Return the points of the documents whose fields pass a test, from all records."""
        points = self._requests.scroll(DOCUMENTS, live_documents(), fields=VERSION_FIELDS)
        versions = (read_version(str(point.id), point.payload or {}) for point in points)
        return {one.point for one in versions if test(record_fields(one.record))}

    def _sample(self, scope: Scope) -> Sample:
        return self._samples.find(scope.key, lambda: self._read_sample(scope))

    def sample(self, scope: Scope) -> Sample:
        """Return a sample of the chunks in scope."""
        return self._sample(scope)

    def _read_sample(self, scope: Scope) -> Sample:
        from qdrant_client import models

        chunks = self._requests.count_points(CHUNKS, scope.chunks)
        conditions: list[Any] = [scope.chunks] if scope.chunks is not None else []
        if chunks > max(SCOPE_CHUNKS, SAMPLE_CHUNKS):
            limit = SAMPLE_BUCKETS * SAMPLE_CHUNKS // chunks
            conditions.append(
                models.FieldCondition(key="sample", range=models.Range(lt=max(1, limit)))
            )
        points = self._requests.scroll(
            CHUNKS, models.Filter(must=conditions), fields=["row"], limit=2 * SAMPLE_CHUNKS
        )
        rows = [read_row(point.payload or {}) for point in points]
        return Sample(
            rows=RowTable.of(rows, dimension=self._dimension),
            chunks=chunks,
            documents=self._requests.count_points(DOCUMENTS, scope.documents),
            read_at=time.monotonic(),
        )

    # Searches

    def scan(
        self,
        query: ScanQuery,
        *,
        where: Filter | None = None,
        documents: Sequence[str] | None = None,
    ) -> Scan:
        """Return the best hits and the estimated statistics, see `Searchable.scan`."""
        if where is not None:
            self._check_fields(where)
        handles = None
        if documents is not None:
            handles = known_handles(documents, self.find_documents(documents))
        return run_scan(self.start_scan(query, where=where, documents=handles))

    def start_scan(
        self, query: ScanQuery, *, where: Filter | None, documents: Sequence[int] | None
    ) -> ScanSteps:
        """Return the steps of a search, see `JointSnapshot.start_scan`."""
        if query.vector is not None:
            check_query_vectors(query.vector[None, :], dimension=self._dimension)
        return ApproximateScan(self, query, self.scope(where, documents))

    def nearest(
        self, query: ScanQuery, weights: NDArray[np.float64], scope: Scope, *, limit: int
    ) -> _Found:
        """Return the chunks that Qdrant finds by terms and by vector, from one request.

        A document that was replaced between the two requests of this method is searched again.
        """
        hashes = term_hashes(query.terms)
        values: dict[int, float] = {}
        for indexes, step in (
            (term_index(hashes), IMPACT_STEP),
            (title_index(hashes), IMPACT_STEP),
        ):
            for index, weight in zip(indexes.tolist(), weights.tolist(), strict=True):
                values[index] = values.get(index, 0.0) + weight * step
        queries = []
        if values:
            queries.append(_sparse_query(values, TERMS, limit=limit, where=scope.chunks))
        if query.vector is not None:
            queries.append(_dense_query(query.vector, limit=limit, where=scope.chunks))
        for attempt in range(_ATTEMPTS):
            points = {
                str(point.id): point.payload or {}
                for found in self._requests.query(CHUNKS, queries)
                for point in found
            }
            self._remember([payload["document"] for payload in points.values()])
            stale = {
                payload["document"]
                for payload in points.values()
                if (version := self._version_at(payload["document"])) is None
                or version.token != payload["token"]
            }
            if not stale or attempt == _ATTEMPTS - 1:
                break
        return self._gather(points, scope)

    def _gather(self, points: Mapping[str, Mapping[str, Any]], scope: Scope) -> _Found:
        """Return the found chunks of current versions, ordered by handle and index."""
        kept: list[tuple[int, int, StoredVersion, bytes]] = []
        for payload in points.values():
            version = self._version_at(payload["document"])
            if version is None or version.token != payload["token"] or not scope.accept(version):
                continue
            row = read_row(payload)
            self._rows[version.token, int(payload["index"])] = row
            kept.append((self.handle_of(version), int(payload["index"]), version, row))
        kept.sort(key=lambda one: one[:2])
        return _Found(
            [version for _, _, version, _ in kept],
            np.array([index for _, index, _, _ in kept], dtype=np.int64),
            RowTable.of([row for *_, row in kept], dimension=self._dimension),
        )

    def document_counts(
        self, query: ScanQuery, scope: Scope, found: Sequence[StoredVersion]
    ) -> tuple[list[int], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the term counts of the documents with hits, and of those with most of a term.

        Returns:
            Handles, ascending, (D,); number of chunks with each term, (D, T); whether the title has
            each term, (D, T).
        """
        from qdrant_client import models

        points = sorted({version.point for version in found})
        hashes = term_hashes(query.terms)
        indexes = term_index(hashes).tolist()
        own = models.Filter(must=[models.HasIdCondition(has_id=[*points] or [_NOBODY])])
        queries = []
        for name in (COUNTS, TITLES):
            for index in indexes:
                one = {index: 1.0}
                queries.append(_sparse_query(one, name, limit=max(1, len(points)), where=own))
        queries += [
            _sparse_query({index: 1.0}, COUNTS, limit=_TERM_DOCUMENTS, where=scope.documents)
            for index in indexes
        ]
        tables = self._requests.query(DOCUMENTS, queries)
        others = [str(point.id) for table in tables[2 * len(indexes) :] for point in table]
        self._remember(others)
        accepted = {
            point
            for point in {*points, *others}
            if (version := self._version_at(point)) is not None and scope.accept(version)
        }
        return self._tables(query, tables, accepted)

    def _tables(
        self,
        query: ScanQuery,
        tables: Sequence[Sequence[models.ScoredPoint]],
        accepted: set[str],
    ) -> tuple[list[int], NDArray[np.int64], NDArray[np.bool_]]:
        handles = sorted(known[0] for point in accepted if (known := self._by_point[point]))
        place = {self._by_handle[handle].point: i for i, handle in enumerate(handles)}
        terms = len(query.terms)
        counts = np.zeros((len(handles), terms), dtype=np.int64)
        titles = np.zeros((len(handles), terms), dtype=np.bool_)
        for number, table in enumerate(tables):
            kind, term = divmod(number, max(1, terms))
            for point in table:
                row = place.get(str(point.id))
                if row is None:
                    continue
                if kind == 1:
                    titles[row, term] = True
                else:
                    counts[row, term] = round(point.score)
        return handles, counts, titles

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
        table = self._read_rows(ranges)
        similarities = np.zeros((len(vectors), len(table)), dtype=np.float32)
        for number, vector in enumerate(vectors):
            similarities[number] = row_cosines(table, vector)
        return Passages(
            impacts=(table.impacts_of(term_hashes(terms)) * IMPACT_STEP).astype(np.float32),
            similarities=similarities,
            digits=(table.digits / 255).astype(np.float32),
            chars=table.chars.astype(np.int64),
            tokens=table.tokens.astype(np.int64),
            openings=table.openings.astype(np.bool_),
        )

    def _read_rows(self, ranges: Sequence[PassageRange]) -> RowTable:
        """Return the rows of some ranges; those that are not known come from one request.

        Raises:
            StoreChangedError: If a version was replaced and deleted.
        """
        places: list[tuple[str, int]] = []
        ids: dict[str, tuple[str, int]] = {}
        for span in ranges:
            version = self._find(span.handle)
            start, end = max(0, span.start), min(span.end, version.chunks)
            for index, one in enumerate(version.chunk_ids(start, end), start):
                places.append((version.token, index))
                if places[-1] not in self._rows:
                    ids[one] = places[-1]
        found = self._requests.retrieve(CHUNKS, list(ids), fields=["row"])
        for one, place in ids.items():
            if one not in found:
                raise StoreChangedError("a document was replaced while it was read; read it again")
            self._rows[place] = read_row(found[one].payload or {})
        return RowTable.of([self._rows[place] for place in places], dimension=self._dimension)

    # Words

    def similar_words(
        self,
        handles: Sequence[int],
        words: Sequence[str],
        *,
        languages: Sequence[str] | None = None,
    ) -> tuple[tuple[SimilarWord, ...], ...]:
        """Return the words of some documents that are most similar to each of some words."""
        lower = [searched_word(word) for word in words]
        sought = [word for word in dict.fromkeys(lower) if word]
        points = [self._find(handle).point for handle in handles]
        queries, query_scales = quantise_words(sought)
        if not queries.size or not points:
            return ((),) * len(words)
        known = self.languages() if languages is None else languages
        pairs = self._read_pairs(points)
        rows, scales = quantise_words([word for _, word in pairs])
        found = {
            word: most_similar(
                cosines(dot_products(rows, query), scales, query_scale=scale),
                pairs.__getitem__,
                word=word,
                terms=word_terms_in(word, known),
            )
            for word, query, scale in zip(sought, queries, query_scales, strict=True)
        }
        return tuple(found.get(word, ()) for word in lower)

    def _read_pairs(self, points: Sequence[str]) -> list[tuple[str, str]]:
        """Return the distinct pairs of a term and a word of some documents, ascending."""
        found = self._requests.retrieve(DOCUMENTS, points, fields=["words"])
        texts = [(record.payload or {})["words"] for record in found.values()]
        return sorted({pair for text in texts for pair in read_words(text)})

    def similar_spellings(
        self,
        words: Sequence[str],
        *,
        count_chunks: Callable[[Sequence[str]], NDArray[np.int64]] | None = None,
    ) -> tuple[SimilarWord | None, ...]:
        """Return the word of a sample of documents with the nearest spelling to some words."""
        known = self._samples.words
        if known is None or time.monotonic() - known[0] > _SAMPLE_SECONDS:
            points = self._requests.scroll(
                DOCUMENTS, live_documents(), fields=["words"], limit=_WORD_DOCUMENTS
            )
            texts = [(point.payload or {})["words"] for point in points]
            pairs = sorted({pair for text in texts for pair in read_words(text)})
            known = self._samples.words = time.monotonic(), pairs
        return nearest_spellings(
            words,
            [term for term, _ in known[1]],
            [word for _, word in known[1]],
            count_chunks=count_chunks or (lambda terms: self.term_counts(terms)[0]),
        )


class ApproximateScan:
    """Search of a large knowledge base in steps; implements `ScanSteps`."""

    def __init__(self, snapshot: ApproximateSnapshot, query: ScanQuery, scope: Scope) -> None:
        self._snapshot = snapshot
        self._query = query
        self._scope = scope

    def count(self) -> TermTotals:
        """Return the estimated counts of the query terms."""
        counts, chunks = self._snapshot.term_counts(self._query.terms)
        return TermTotals(
            chunks=chunks,
            documents=self._snapshot.sample(self._snapshot.scope(None, None)).documents,
            term_chunks=counts,
            title_documents=self._snapshot.count_titles(self._query.terms),
        )

    def score(self, totals: TermTotals) -> ScoreSums:
        """Score a sample of the chunks in scope, and return the sums of the scores."""
        self._totals = totals
        self._weights = totals.weights(self._query.words)
        sample = self._snapshot.sample(self._scope)
        body, keyword = self._keywords(sample.rows)
        vector = self._query.vector
        return ScoreSums(
            chunks=sample.chunks,
            documents=sample.documents,
            keyword=MomentSums.of(keyword),
            body=MomentSums.of(body),
            vector=None if vector is None else MomentSums.of(row_cosines(sample.rows, vector)),
        )

    def _keywords(self, rows: RowTable) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the keyword score of each row without and with the title."""
        hashes = term_hashes(self._query.terms)
        body = weighted_sum(rows.impacts_of(hashes) * IMPACT_STEP, self._weights)
        return body, body + weighted_sum(rows.titles_of(hashes), self._weights)

    def find(self, sums: ScoreSums) -> Scan:
        """Return the best hits, and the documents with a term or a hit."""
        query, totals = self._query, self._totals
        hits = max(0, query.hits)
        found = self._snapshot.nearest(
            query, self._weights, self._scope, limit=max(1, _CANDIDATES * hits)
        )
        _, keyword = self._keywords(found.rows)
        cosine = None if query.vector is None else row_cosines(found.rows, query.vector)
        best = best_chunks(
            keyword,
            None if cosine is None else cosine.astype(np.float64),
            hits=hits,
            keyword_share=query.keyword_share,
            sums=sums,
        )
        owners = [found.versions[i] for i in best.tolist()]
        handles, counts, titles = self._snapshot.document_counts(query, self._scope, owners)
        numbers = np.array(handles, dtype=np.int64)
        hit_handles = [self._snapshot.handle_of(version) for version in owners]
        sizes = [self._snapshot.record(handle).chunks for handle in handles]
        return Scan(
            chunks=sums.chunks,
            documents=max(sums.documents, len(handles)),
            all_chunks=totals.chunks,
            all_documents=totals.documents,
            term_chunks=totals.term_chunks,
            title_documents=totals.title_documents,
            keyword=Moments(*sums.keyword.result()),
            body=Moments(*sums.body.result()),
            vector=None if sums.vector is None else Moments(*sums.vector.result()),
            handles=numbers,
            document_chunks=np.array(sizes, dtype=np.int64),
            document_terms=counts,
            document_titles=titles,
            hit_documents=np.searchsorted(numbers, np.array(hit_handles, dtype=np.int64)),
            hit_chunks=found.indexes[best],
            hit_keywords=keyword[best],
            hit_vectors=np.zeros(len(best)) if cosine is None else cosine[best].astype(np.float64),
        )


def row_cosines(rows: RowTable, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of each row to a vector, (n,)."""
    queries, scales = quantise_rows(vector[None, :])
    return cosines(dot_products(rows.vectors, queries[0]), rows.scales, query_scale=scales[0])


_NOBODY = "00000000-0000-0000-0000-000000000000"
_HIT_FIELDS = ["document", "token", "index", "row"]


def _sparse_query(
    values: Mapping[int, float],
    name: str,
    *,
    limit: int,
    where: models.Filter | None = None,
    payload: bool | None = None,
) -> models.QueryRequest:
    from qdrant_client import models

    ordered = sorted(values)
    fields = _HIT_FIELDS if payload is None and name == TERMS else False
    return models.QueryRequest(
        query=models.SparseVector(indices=ordered, values=[values[index] for index in ordered]),
        using=name,
        limit=limit,
        filter=where,
        with_payload=fields,
    )


def _dense_query(
    vector: NDArray[np.float32], *, limit: int, where: models.Filter | None
) -> models.QueryRequest:
    from qdrant_client import models

    return models.QueryRequest(
        query=vector.astype(np.float32).tolist(),
        using=DENSE,
        limit=limit,
        filter=where,
        params=models.SearchParams(hnsw_ef=max(_EF, 2 * limit)),
        with_payload=_HIT_FIELDS,
    )
