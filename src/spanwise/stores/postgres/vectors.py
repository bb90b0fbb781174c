"""Nearest chunks and cosines of a search in PostgreSQL.

A large knowledge base has an HNSW index (Malkov and Yashunin, 2018) on the vectors of its chunks,
built by pgvector. A search finds the nearest chunks by it, and reads the vectors of the best chunks
by keyword score. A search of few chunks reads the vectors of all of them.

`compact` builds the index from a copy of the vectors, so that writers neither wait for it nor
maintain it. A search compares the vectors of later documents one by one. Chunks that were deleted
since the index was built are found in vain, so a search asks for more.

The moments of the cosine are estimated from a fixed sample of one of 32 chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from psycopg import sql

from spanwise.core.ranking.vectors import quantise_rows
from spanwise.stores.part import PartRows
from spanwise.stores.postgres.parts import (
    Fetch,
    PartCache,
    RowsOf,
    StoredPart,
    read_part_vectors,
    sampled_rows,
)
from spanwise.stores.postgres.values import bigints, half_vectors, read_half_vectors
from spanwise.stores.row_checksums import POSITION_BITS
from spanwise.stores.scan import ChunkVectors, QueryVector, best_rows, row_cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.part import Part
    from spanwise.stores.postgres.connections import Connection
    from spanwise.stores.scan import PartScope
    from spanwise.stores.view import LiveDocuments, View

NARROW_ROWS = 20_000
"""Maximum number of chunks in scope of which a search reads all vectors."""

_SEARCH_WIDTH = 1_000  # `hnsw.ef_search`: the limit of pgvector; 400 finds 6 % fewer hits
_MAX_VISITED = 40_000  # chunks that a search with a filter visits
_BUILD_MEMORY = 1 << 30  # bytes; a larger setting of the server is kept
_MAX_CHANGED_SHARE = 0.1  # of the chunks, until the index is built again


class NearIndex(NamedTuple):
    """HNSW index of the vectors of the documents up to a number."""

    batch: int
    """Number of the build, which is part of the name of the index."""
    high: int
    """Highest number of an indexed document."""
    rows: int
    """Number of indexed chunks."""

    def wanted(self, live: LiveDocuments, *, hits: int) -> int:
        """Return the number of chunks to find, some of which may be deleted."""
        indexed = int(live.chunks[live.numbers <= self.high].sum())
        return min(2 * hits, round(hits * self.rows / max(1, indexed)))

    def is_current(self, live: LiveDocuments) -> bool:
        """Return whether few chunks were added or deleted since the index was built."""
        indexed = int(live.chunks[live.numbers <= self.high].sum())
        changed = self.rows - indexed + int(live.chunks.sum()) - indexed
        return changed <= _MAX_CHANGED_SHARE * self.rows


def build_near_index(connection: Connection, *, dimension: int, before: NearIndex | None) -> None:
    """Build the HNSW index of all documents.

    Searches and writers continue meanwhile. The role must own the tables.

    Args:
        connection: Connection inside the write transaction.
        dimension: Dimension of the vectors.
        before: Index to replace, if any.
    """
    batch = 1 if before is None else before.batch + 1
    connection.execute(
        "select set_config('maintenance_work_mem', %s, true)"
        " where pg_size_bytes(current_setting('maintenance_work_mem')) < %s",
        (f"{_BUILD_MEMORY >> 10}kB", _BUILD_MEMORY),
    )
    connection.execute("delete from near")
    connection.execute(
        "insert into near (batch, tenant, document, key, embedding)"
        " select %s, tenant, document, key, embedding from vector",
        (batch,),
    )
    connection.execute(
        sql.SQL(
            "create index {} on near using hnsw ((embedding::halfvec({})) halfvec_ip_ops)"
            " where batch = {}"
        ).format(_index_name(batch), sql.Literal(dimension), sql.Literal(batch))
    )
    connection.execute("delete from near_index")
    connection.execute(
        "insert into near_index (batch, high, rows) select %s, coalesce(max(document), 0), count(*)"
        " from near where batch = %s",
        (batch, batch),
    )
    if before is not None:  # last, because it waits for searches, and others wait for it
        connection.execute(sql.SQL("drop index if exists {}").format(_index_name(before.batch)))


def _index_name(batch: int) -> sql.Identifier:
    return sql.Identifier(f"near_{batch}")


class NearQuery(NamedTuple):
    """Statements that find the nearest chunks to a vector."""

    settings: tuple[str, tuple[str, ...]]
    select: tuple[sql.Composed, tuple[object, ...]]


def near_query(
    vector: NDArray[np.float32],
    *,
    index: NearIndex,
    hits: int,
    numbers: NDArray[np.int64] | None,
    halfvec_oid: int,
) -> NearQuery:
    """Return the statements that find the nearest chunks.

    Args:
        vector: Query vector.
        index: Index to search.
        hits: Number of chunks to find.
        numbers: Numbers of the documents to search; None for all.
        halfvec_oid: OID of the type `halfvec`.
    """
    settings = (
        "select set_config('hnsw.ef_search', %s, true),"
        " set_config('hnsw.iterative_scan', 'relaxed_order', true),"
        " set_config('hnsw.max_scan_tuples', %s, true), set_config('enable_seqscan', 'off', true)"
    )
    kind = sql.SQL("halfvec({})").format(sql.Literal(len(vector)))
    where, values = sql.SQL(""), []
    if numbers is not None:
        where, values = sql.SQL("and document = any(%s::bigint[])"), [bigints(numbers)]
    select = sql.SQL(
        "select key, embedding from near where batch = {batch} {where}"
        " order by embedding::{kind} <#> (%s::halfvec[])[1]::{kind} limit %s"
    ).format(batch=sql.Literal(index.batch), where=where, kind=kind)
    one = half_vectors(vector[None, :].astype(np.float16), oid=halfvec_oid)
    return NearQuery(
        (settings, (str(_SEARCH_WIDTH), str(_MAX_VISITED))), (select, (*values, one, hits))
    )


class Near(NamedTuple):
    """Query vector, and the nearest chunks that the HNSW index found."""

    built: NearIndex
    vector: QueryVector
    found: Sequence[tuple[int, bytes]]
    """Key and embedding of each chunk."""
    narrow_rows: int
    """Number of chunks in scope up to which all their vectors are read."""
    load: Callable[[StoredPart, int], NDArray[np.int8]]
    """Function that returns the vectors of a part from a row on."""


class NearestChunks:
    """Vectors of the chunks of a snapshot for one search; implements `CosineSource`."""

    def __init__(
        self,
        view: View,
        stored: Mapping[int, StoredPart],
        *,
        near: Near | None,
        dimension: int,
        fetch: Fetch,
        cache: PartCache,
    ) -> None:
        """Create the source.

        Args:
            view: View that is searched.
            stored: Stored part of each part of the view that has one, by `part_identity`.
            near: Nearest chunks that the index found; None if they are not needed.
            dimension: Dimension of the vectors.
            fetch: Function that reads rows of parts.
            cache: Cache of the rows.
        """
        self._view = view
        self._stored = stored
        self._near = near
        self._dimension = dimension
        self._fetch = fetch
        self._cache = cache

    def reads_all(self, rows: int) -> bool:
        """Return whether the scope is small enough to read the vectors of all its rows."""
        return self._near is None or rows <= self._near.narrow_rows

    def read_vectors(self, items: Sequence[PartRows]) -> list[NDArray[np.int8]]:
        """Return the quantised vectors of rows of several parts, read in one statement."""
        stored = [self._stored.get(part_identity(part)) for part, _ in items]
        wanted = [
            RowsOf(own, rows)
            for own, (_, rows) in zip(stored, items, strict=True)
            if own is not None
        ]
        read = iter(read_part_vectors(wanted, self._fetch, self._cache) if wanted else ())
        return [
            part.vectors[rows] if own is None else next(read)
            for own, (part, rows) in zip(stored, items, strict=True)
        ]

    def sample(self, part: Part) -> ChunkVectors:
        """Return the rows of a part that are in the fixed sample."""
        stored = self._stored.get(part_identity(part))
        if stored is not None:
            return ChunkVectors(stored.sample, stored.sample_vectors)
        rows = sampled_rows(part)
        return ChunkVectors(rows, part.vectors[rows])

    def nearest(self, scopes: Sequence[PartScope], *, hits: int) -> list[ChunkVectors]:
        """Return the nearest rows of the index and of later documents, for each scope."""
        view, near = self._view, self._near
        if near is None:
            return [
                ChunkVectors(np.empty(0, np.int64), np.empty((0, self._dimension), np.int8))
            ] * len(scopes)
        keys = np.array([key for key, _ in near.found], dtype=np.int64)
        numbers, chunks = keys >> POSITION_BITS, keys & ((1 << POSITION_BITS) - 1)
        places = np.searchsorted(view.live.numbers, numbers)
        is_live = np.append(view.live.numbers, -1)[places] == numbers
        halves = read_half_vectors([data for _, data in near.found], dimension=self._dimension)
        vectors, _ = quantise_rows(halves[is_live])
        positions, chunks = places[is_live], chunks[is_live]
        owners, ordinals = view.part_of[positions], view.ordinals[positions]
        found = []
        for scope in scopes:
            index = next(i for i, entry in enumerate(view.parts) if entry.part is scope.part)
            here = np.flatnonzero(owners == index)
            here = here[scope.documents[ordinals[here]]]
            rows = scope.part.starts[ordinals[here]] + chunks[here]
            order = np.argsort(rows)
            found.append(ChunkVectors(rows[order], vectors[here[order]]))
        return [
            self._with_later(scope, own, near, hits=hits)
            for scope, own in zip(scopes, found, strict=True)
        ]

    def _with_later(
        self, scope: PartScope, found: ChunkVectors, near: Near, *, hits: int
    ) -> ChunkVectors:
        """Return found rows and the nearest rows of documents that the index lacks."""
        part = scope.part
        first = int(np.searchsorted(part.numbers, near.built.high, side="right"))
        start = int(part.starts[first])
        if start == part.rows:
            return found
        stored = self._stored.get(part_identity(part))
        vectors = part.vectors[start:] if stored is None else near.load(stored, start)
        rows = np.arange(start, part.rows)
        inside = np.flatnonzero(scope.has_rows(rows))
        rows, vectors = rows[inside], vectors[inside]
        best = best_rows(row_cosines(PartRows(part, rows), vectors, near.vector), hits)
        return ChunkVectors(
            np.concatenate((found.rows, rows[best])), np.concatenate((found.vectors, vectors[best]))
        )


def part_identity(part: Part) -> int:
    """Return a number that is equal for copies of a part with other postings."""
    return id(part.numbers)
