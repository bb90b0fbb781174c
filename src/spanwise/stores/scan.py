"""Exact keyword and vector search over all index parts of one view.

Rules:
    The contributions of terms are added in the order of the terms, so equal scores have equal bits
    in every part.
    A document is in scope completely or not at all; rows out of scope are never counted.
    A search of few chunks uses one thread, because more threads make searches slower on busy
        machines. A larger one divides its parts among threads; numpy and simsimd release the GIL.

`Searchable.scan` defines the scores and hits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import find_places, run_indexes
from spanwise.core.ranking.bm25 import IMPACT_STEP
from spanwise.core.ranking.scan import Moments, Scan, ScanQuery
from spanwise.core.ranking.scan_steps import ScoreSums, TermTotals, run_scan
from spanwise.core.ranking.score_statistics import MomentSums, fused_scores
from spanwise.core.ranking.vectors import cosines, quantise_rows
from spanwise.stores.dot_products import dot_products
from spanwise.stores.part import term_hashes
from spanwise.threads import available_cores, map_bounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.part import Part
    from spanwise.stores.view import PartView, View


CHUNK_BITS = 32
"""Bits of the chunk index in a place, which is `document position << CHUNK_BITS | chunk index`."""

_GATHER_SHARE = 0.2  # below this share of rows in scope, their vectors are copied before use
_MAX_GROUP = 64  # scores
_THREADED_ROWS = 250_000  # in scope; a smaller search uses one thread
_MAX_THREADS = 4
_POSITIVE = float(np.nextafter(0.0, 1.0))
_STEPS = np.arange(256) * IMPACT_STEP


class QueryVector(NamedTuple):
    """Quantised query vector."""

    row: NDArray[np.int8]
    scale: np.float32


@dataclass(frozen=True, kw_only=True, eq=False)
class PartTerms:
    """Postings of T query terms in one part."""

    view: PartView
    rows: list[slice]
    """Slice of the row postings of each term, (T,); empty if the part lacks the term."""
    documents: list[slice]
    """Slice of the document postings of each term, (T,)."""
    titles: list[slice]
    """Slice of the title postings of each term, (T,)."""

    @classmethod
    def find(cls, view: PartView, hashes: NDArray[np.uint64]) -> PartTerms:
        """Return the postings of terms in a part, after a check of their checksums.

        Raises:
            DamagedPartError: If the postings do not match their checksums.
        """
        part = view.part
        body = find_places(part.body.terms, hashes).tolist()
        part.check_terms(body)
        titles = find_places(part.title_terms, hashes).tolist()
        return cls(
            view=view,
            rows=[_held(part.body.ends, place) for place in body],
            documents=[_held(part.body.document_ends, place) for place in body],
            titles=[_held(part.title_ends, place) for place in titles],
        )

    def count(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of live chunks and of titles with each term, (T,) each."""
        part, used = self.view.part, self.view.used
        if self.view.whole:
            chunks = [held.stop - held.start for held in self.rows]
            titles = [held.stop - held.start for held in self.titles]
        else:
            documents, counts = part.body.documents, part.body.chunks
            chunks = [
                int(counts[held][used[documents[held]]].sum(dtype=np.int64))
                for held in self.documents
            ]
            titles = [
                int(np.count_nonzero(used[part.title_documents[held]])) for held in self.titles
            ]
        return np.array(chunks, dtype=np.int64), np.array(titles, dtype=np.int64)


def _held(ends: NDArray[np.int64], place: int) -> slice:
    return slice(int(ends[place]), int(ends[place + 1])) if place >= 0 else slice(0, 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class PartScope:
    """Searched subset of a part with d documents and n rows."""

    terms: PartTerms
    positions: NDArray[np.int64]
    """Position among the live documents of each document in scope, otherwise -1, (d,)."""

    @property
    def part(self) -> Part:
        """Index part."""
        return self.terms.view.part

    @cached_property
    def documents(self) -> NDArray[np.bool_]:
        """Whether each document is in scope, (d,)."""
        return self.positions >= 0

    @cached_property
    def rows(self) -> NDArray[np.int64] | None:
        """Rows in scope, ascending; None for all rows of the part."""
        if self.documents.all():
            return None
        if self.positions is self.terms.view.positions:
            return self.terms.view.rows
        starts = self.part.starts
        return run_indexes(starts[:-1][self.documents], np.diff(starts)[self.documents])

    @cached_property
    def size(self) -> int:
        """Number of rows in scope."""
        return self.part.rows if self.rows is None else len(self.rows)


class PartScores(NamedTuple):
    """Scores of the rows in scope; item i belongs to the i-th row in scope."""

    scope: PartScope
    body: NDArray[np.float64]
    keyword: NDArray[np.float64]
    """Sum of body and title score; the array `body` itself if no title in scope has a term."""
    cosine: NDArray[np.float32] | None
    """Cosine of each row in scope; None without a query vector."""

    def cosines(self, indexes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cosines of some rows in scope; zeros without a query vector."""
        if self.cosine is None:
            return np.zeros(len(indexes))
        return self.cosine[indexes].astype(np.float64)

    def places(self, indexes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return `document position << 32 | chunk index` of some rows in scope."""
        rows = indexes if self.scope.rows is None else self.scope.rows[indexes]
        starts = self.scope.part.starts
        ordinals = np.searchsorted(starts, rows, side="right") - 1
        places: NDArray[np.int64] = self.scope.positions[ordinals] << CHUNK_BITS
        places |= rows - starts[ordinals]
        return places


def score_part(
    scope: PartScope, *, weights: NDArray[np.float64], cosine: NDArray[np.float32] | None
) -> PartScores:
    """Return the scores of all rows in scope.

    Args:
        scope: Searched subset of the part.
        weights: Weight of each term, (T,).
        cosine: Cosine of each row in scope; None without a query vector.
    """
    body = _body_scores(scope, weights)
    keyword = _add_titles(scope, body, weights)
    return PartScores(scope=scope, body=body, keyword=keyword, cosine=cosine)


def _body_scores(scope: PartScope, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    postings = scope.part.body
    rows = [postings.rows[held] for held in scope.terms.rows]
    scores = [
        (_STEPS * weight)[postings.impacts[held]]
        for held, weight in zip(scope.terms.rows, weights.tolist(), strict=True)
    ]
    # `bincount` adds in the order of its arguments, which is the order of the terms.
    total = np.bincount(
        np.concatenate([np.empty(0, dtype=np.uint32), *rows], dtype=np.int64),
        weights=np.concatenate([np.empty(0), *scores]),
        minlength=scope.part.rows,
    ).astype(np.float64, copy=False)  # integers if there are no postings
    return total if scope.rows is None else total[scope.rows]


def _add_titles(
    scope: PartScope, body: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sum of body and title scores; `body` itself if there are no title scores."""
    part = scope.part
    titles = np.zeros(part.documents)
    for held, weight in zip(scope.terms.titles, weights.tolist(), strict=True):
        titles[part.title_documents[held]] += weight
    titles = titles[scope.documents]
    if not titles.any():
        return body
    lengths = np.diff(part.starts)[scope.documents]
    return body + np.repeat(titles, lengths)


def all_cosines(scope: PartScope, vector: QueryVector) -> NDArray[np.float32]:
    """Return the cosine of each row in scope, from the vectors that the part holds.

    Raises:
        DamagedPartError: If the vectors do not match their checksums.
    """
    part, rows = scope.part, scope.rows
    part.check_vectors()
    if rows is not None and len(rows) < _GATHER_SHARE * part.rows:
        dots = dot_products(part.vectors.take(rows, axis=0), vector.row)
        return cosines(dots, part.scales[rows], query_scale=vector.scale)
    dots = dot_products(part.vectors, vector.row)
    similarities = cosines(dots, part.scales, query_scale=vector.scale)
    return similarities if rows is None else similarities[rows]


def best_rows(scores: NDArray[np.floating], hits: int) -> NDArray[np.int64]:
    """Return the indexes of the best scores, ascending; ties go to the smaller index.

    Args:
        scores: Scores, (n,).
        hits: Maximum number of indexes.
    """
    if not hits:
        return np.empty(0, dtype=np.int64)
    candidates = np.flatnonzero(scores >= _lower_bound(scores, hits))
    values = scores[candidates]
    if len(values) <= hits:
        return candidates
    limit = np.partition(values, len(values) - hits)[len(values) - hits]
    selected = values > limit
    missing = hits - int(np.count_nonzero(selected))
    selected[np.flatnonzero(values == limit)[:missing]] = True
    best: NDArray[np.int64] = candidates[selected]
    return best


def _lower_bound(scores: NDArray[np.floating], hits: int) -> float:
    """Return a lower bound of the score with rank `hits`, close to this score if n is large.

    It is the maximum with rank `hits` among the maxima of disjoint groups of scores, which is
    faster to find because there are fewer maxima than scores.
    """
    columns = max(len(scores) // _MAX_GROUP, 2 * hits)
    size = len(scores) // columns
    if size < 2:
        return -np.inf
    maxima = scores[: columns * size].reshape(size, columns).max(axis=0)
    return float(np.partition(maxima, columns - hits)[columns - hits])


class _Rows(NamedTuple):
    """Chunks of several parts with their scores, one entry per chunk."""

    places: NDArray[np.int64]
    """Places (see `CHUNK_BITS`); ascending places are ordered by document, then chunk."""
    keyword: NDArray[np.float64]
    cosine: NDArray[np.float64]

    def take(self, indexes: NDArray[np.int64]) -> _Rows:
        return _Rows(self.places[indexes], self.keyword[indexes], self.cosine[indexes])

    def best(self, scores: NDArray[np.float64], hits: int) -> _Rows:
        """Return the rows with the best scores; ties go to the older document, earlier chunk."""
        if len(scores) <= hits:
            return self
        limit = np.partition(scores, len(scores) - hits)[len(scores) - hits]
        best = np.flatnonzero(scores >= limit)
        if len(best) > hits:  # ties
            best = best[np.lexsort((self.places[best], -scores[best]))[:hits]]
        return self.take(best)


class _Tables(NamedTuple):
    """Tables of the query terms in each document that contains a query term or a hit."""

    positions: NDArray[np.int64]
    terms: NDArray[np.int64]
    titles: NDArray[np.bool_]


def count_terms(view: View, terms: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of live chunks with each term, (T,)."""
    hashes = term_hashes(terms)
    counts = np.zeros(len(terms), dtype=np.int64)
    for part in view.parts:
        counts += _count_chunks(part, hashes)
    return counts


def _count_chunks(view: PartView, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of live chunks of a part with each term, (T,)."""
    if not view.whole:
        return PartTerms.find(view, hashes).count()[0]
    body = view.part.body
    places = find_places(body.terms, hashes)
    return np.where(places >= 0, body.ends[places + 1] - body.ends[places], 0)


def _sum_counts(part_terms: Sequence[PartTerms], terms: int) -> NDArray[np.int64]:
    """Return the number of live chunks and of titles with each term, (2, T)."""
    counts = np.zeros((2, terms), dtype=np.int64)
    for terms_of_part in part_terms:
        counts += terms_of_part.count()
    return counts


def scan_view(view: View, query: ScanQuery, *, scope: NDArray[np.bool_] | None) -> Scan:
    """Search the documents in scope; see `ViewScan`."""
    return run_scan(ViewScan(view, query, scope=scope))


class ViewScan:
    """Search of the documents of a view in steps; implements `ScanSteps`."""

    def __init__(
        self,
        view: View,
        query: ScanQuery,
        *,
        scope: NDArray[np.bool_] | None,
    ) -> None:
        """Create a search.

        Args:
            view: Index view without missing documents.
            query: Query; its vector has the dimension of the parts.
            scope: Whether each live document is searched; None for all documents.
        """
        self.view = view
        self._query = query
        self._scope = scope

    def count(self) -> TermTotals:
        """Return the counts of the query terms.

        Raises:
            DamagedPartError: If postings do not match their checksums.
        """
        term_chunks, title_documents = _sum_counts(self._terms, len(self._query.terms))
        return TermTotals(
            chunks=self.view.all_chunks,
            documents=self.view.all_documents,
            term_chunks=term_chunks,
            title_documents=title_documents,
        )

    @cached_property
    def _terms(self) -> list[PartTerms]:
        hashes = term_hashes(self._query.terms)
        return [PartTerms.find(part, hashes) for part in self.view.parts]

    def score(self, totals: TermTotals) -> ScoreSums:
        """Score all chunks in scope.

        Raises:
            DamagedPartError: If postings or vectors do not match their checksums.
        """
        self._totals = totals
        weights = totals.weights(self._query.words)
        vector = None
        if self._query.vector is not None:
            rows, scales = quantise_rows(self._query.vector[None, :])
            vector = QueryVector(rows[0], scales[0])
        self._scopes = _scopes(self._terms, self._scope)
        hits = max(0, self._query.hits)

        def score(part: PartScope) -> _PartResult:
            cosine = None if vector is None else all_cosines(part, vector)
            return _PartResult.of(score_part(part, weights=weights, cosine=cosine), hits=hits)

        if sum(part.size for part in self._scopes) < _THREADED_ROWS:
            results = list(map(score, self._scopes))
        else:
            results = map_bounded(score, self._scopes, limit=min(_MAX_THREADS, available_cores()))
        self._search = _Search(results, hits=hits)
        scope = self._scope
        return ScoreSums(
            chunks=sum(part.size for part in self._scopes),
            documents=self.view.all_documents if scope is None else int(np.count_nonzero(scope)),
            keyword=self._search.keyword,
            body=self._search.body,
            vector=None if vector is None else self._search.cosine,
        )

    def find(self, sums: ScoreSums) -> Scan:
        """Return the hits and the documents with a term or a hit."""
        view, query, totals = self.view, self._query, self._totals
        most = max(0, query.hits)
        hits = _find_hits(self._search, sums, hits=most, keyword_share=query.keyword_share)
        hit_positions = hits.places >> CHUNK_BITS
        tables = _tables(view, self._scopes, hit_positions, terms=len(query.terms))
        return Scan(
            chunks=sums.chunks,
            documents=sums.documents,
            all_chunks=totals.chunks,
            all_documents=totals.documents,
            term_chunks=totals.term_chunks,
            title_documents=totals.title_documents,
            keyword=Moments(*sums.keyword.result()),
            body=Moments(*sums.body.result()),
            vector=None if sums.vector is None else Moments(*sums.vector.result()),
            handles=view.live.numbers[tables.positions],
            document_chunks=view.live.chunks[tables.positions],
            document_terms=tables.terms,
            document_titles=tables.titles,
            hit_documents=np.searchsorted(tables.positions, hit_positions),
            hit_chunks=hits.places & ((1 << CHUNK_BITS) - 1),
            hit_keywords=hits.keyword,
            hit_vectors=hits.cosine,
        )


def _scopes(part_terms: Sequence[PartTerms], scope: NDArray[np.bool_] | None) -> list[PartScope]:
    """Return the searched subset of each part that has a document in scope."""
    scopes = []
    for terms in part_terms:
        positions = terms.view.positions
        if not terms.view.used.any():
            continue
        if scope is not None:
            positions = np.where(terms.view.used & scope[positions], positions, -1)
        part_scope = PartScope(terms=terms, positions=positions)
        if part_scope.documents.any():
            scopes.append(part_scope)
    return scopes


class _PartResult(NamedTuple):
    """Scores of one part, their sums, and its best rows by each score."""

    scores: PartScores
    body: MomentSums
    keyword: MomentSums
    cosine: MomentSums
    by_keyword: NDArray[np.int64]
    by_cosine: NDArray[np.int64]

    @classmethod
    def of(cls, scores: PartScores, *, hits: int) -> _PartResult:
        found = np.flatnonzero(scores.keyword > 0)
        keywords = scores.keyword[found]
        body = keyword = MomentSums.of(keywords, zeros=len(scores.keyword) - len(found))
        if scores.body is not scores.keyword:
            body = MomentSums.of(scores.body[found], zeros=len(scores.body) - len(found))
        cosine, near = MomentSums(), np.empty(0, dtype=np.int64)
        if scores.cosine is not None:
            cosine, near = MomentSums.of(scores.cosine), best_rows(scores.cosine, hits)
        return cls(scores, body, keyword, cosine, found[best_rows(keywords, hits)], near)


def _best_of_parts(
    scores: Sequence[NDArray[np.floating]], rows: Sequence[NDArray[np.int64]], hits: int
) -> list[NDArray[np.int64]]:
    """Return those of the best rows of each part that are among the best rows of all parts."""
    values = [some[chosen] for some, chosen in zip(scores, rows, strict=True)]
    joined = np.concatenate([np.empty(0), *values])
    if not 0 < hits < len(joined):
        return list(rows)
    place = len(joined) - hits
    limit = np.partition(joined, place)[place]
    return [chosen[some >= limit] for chosen, some in zip(rows, values, strict=True)]


class _Search:
    """Scores, statistics and best rows of all parts."""

    def __init__(self, results: Sequence[_PartResult], *, hits: int) -> None:
        self.scored = [result.scores for result in results]
        keywords = [part.keyword for part in self.scored]
        self.by_keyword = _best_of_parts(keywords, [one.by_keyword for one in results], hits)
        self.by_cosine: list[NDArray[np.int64]] = []
        cosines_of = [part.cosine for part in self.scored if part.cosine is not None]
        if len(cosines_of) == len(results):
            self.by_cosine = _best_of_parts(cosines_of, [one.by_cosine for one in results], hits)
        self.keyword = MomentSums.joined(result.keyword for result in results)
        self.body = MomentSums.joined(result.body for result in results)
        self.cosine = MomentSums.joined(result.cosine for result in results)

    def near(self, hits: int) -> _Rows:
        """Return the best rows by cosine."""
        near = _gather(self.scored, self.by_cosine)
        return near.best(near.cosine, hits)


def _gather(scored: Sequence[PartScores], indexes: Sequence[NDArray[np.int64]]) -> _Rows:
    """Return the selected rows of each part, part by part."""
    rows = [_Rows(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))]
    for part, chosen in zip(scored, indexes, strict=True):
        rows.append(_Rows(part.places(chosen), part.keyword[chosen], part.cosines(chosen)))
    return _join(rows)


def _join(rows: Sequence[_Rows]) -> _Rows:
    return _Rows(
        np.concatenate([some.places for some in rows]),
        np.concatenate([some.keyword for some in rows]),
        np.concatenate([some.cosine for some in rows]),
    )


def _union(*rows: _Rows) -> _Rows:
    """Return the union of rows without duplicates, ordered by document, then chunk."""
    joined = _join(rows)
    _, indexes = np.unique(joined.places, return_index=True)
    return joined.take(indexes)


def _find_hits(search: _Search, sums: ScoreSums, *, hits: int, keyword_share: float) -> _Rows:
    """Return the union of the best chunks by each score, ordered by document, then chunk."""
    rows = _gather(search.scored, search.by_keyword)
    rows = rows.best(rows.keyword, hits)
    if sums.vector is None:
        return _union(rows)
    near = search.near(hits)
    both = _union(rows, near)
    if keyword_share >= 1:  # the fused ranking is the one by keyword score
        return both
    fused = _fused(sums, keyword_share)
    pool = _union(both, _fused_pool(search.scored, fused, both, near, hits=hits))
    return _union(both, pool.best(fused(pool.keyword, pool.cosine), hits))


_Fused = Callable[["NDArray[np.float64]", "NDArray[np.float64]"], "NDArray[np.float64]"]


def _fused(sums: ScoreSums, keyword_share: float) -> _Fused:
    """Return the function that computes fused scores from keyword scores and cosines."""
    keyword_deviation, cosine_deviation = sums.deviations
    return partial(
        fused_scores,
        keyword_deviation=keyword_deviation,
        cosine_deviation=cosine_deviation,
        keyword_share=keyword_share,
    )


def _fused_pool(
    scored: Sequence[PartScores], fused: _Fused, both: _Rows, near: _Rows, *, hits: int
) -> _Rows:
    """Return the chunks that may be hits by fused score without being among the best by cosine."""
    least = _least_keyword(both, near, fused, hits=hits)
    if least == np.inf:
        return near.take(np.empty(0, dtype=np.int64))
    return _gather(scored, [np.flatnonzero(part.keyword >= least) for part in scored])


def _least_keyword(both: _Rows, near: _Rows, fused: _Fused, *, hits: int) -> float:
    """Return the lowest keyword score of a hit by fused score that is not among the nearest chunks.

    The cosine of such a chunk is at most the lowest cosine of the best chunks by cosine. This bound
    gives the lowest keyword score with which the chunk can reach the fused score of the last
    current hit. The result is infinite if there are no such hits.
    """
    if not hits or len(near.places) < hits:  # all chunks in scope are among the best by cosine
        return np.inf
    reached = np.sort(fused(both.keyword, both.cosine))[-hits]
    cosine = near.cosine.min()
    floor = np.array([0.0])
    gain = fused(floor + 1.0, floor)[0] - fused(floor, floor)[0]
    if gain <= 0:  # all chunks have the same keyword score
        return np.inf
    needed = (reached - fused(floor, floor + cosine)[0]) / gain
    needed -= 1e-9 * (1.0 + abs(needed))  # margin for rounding errors
    return float(max(needed, _POSITIVE))


def _tables(
    view: View,
    scopes: Sequence[PartScope],
    hits: NDArray[np.int64],
    *,
    terms: int,
) -> _Tables:
    """Return the tables of query terms for the documents in scope with a query term or a hit."""
    held_terms: list[tuple[int, NDArray[np.int64], NDArray[np.uint32]]] = []
    titles: list[tuple[int, NDArray[np.int64]]] = []
    has_match = np.zeros(view.all_documents, dtype=bool)
    has_match[hits] = True
    for scope in scopes:
        part = scope.part
        for t, held in enumerate(scope.terms.documents):
            positions = scope.positions.take(part.body.documents[held])
            inside = positions >= 0
            held_terms.append((t, positions[inside], part.body.chunks[held][inside]))
            has_match[held_terms[-1][1]] = True
        for t, held in enumerate(scope.terms.titles):
            positions = scope.positions.take(part.title_documents[held])
            titles.append((t, positions[positions >= 0]))
            has_match[titles[-1][1]] = True
    places = np.flatnonzero(has_match)
    rank = np.cumsum(has_match) - 1
    counts = np.zeros((len(places), terms), dtype=np.int64)
    for t, positions, chunks in held_terms:
        counts[rank[positions], t] = chunks
    named = np.zeros((len(places), terms), dtype=bool)
    for t, positions in titles:
        named[rank[positions], t] = True
    return _Tables(places, counts, named)
