"""Both searches over all parts of one moment, exact, as `ports.Snapshot.scan` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.forms import word_counts
from spanwise.core.moments import MomentSums, fused_scores
from spanwise.core.scan import Moments, Scan, ScanQuery
from spanwise.core.scores import inverse_frequencies
from spanwise.core.vectors import quantise_rows
from spanwise.stores.part import term_hashes
from spanwise.stores.scoring import (
    CHUNK_BITS,
    PartScope,
    PartScores,
    PartTerms,
    QueryVector,
    best_rows,
    score_part,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.view import View

__all__ = ["count_terms", "scan_view"]


class _Rows(NamedTuple):
    """Chunks of several parts, with their scores; one entry a chunk."""

    places: NDArray[np.int64]
    """As `scoring.CHUNK_BITS` says; ascending they are ordered by document, then chunk."""
    keyword: NDArray[np.float64]
    cosine: NDArray[np.float64]

    def take(self, indexes: NDArray[np.int64]) -> _Rows:
        return _Rows(self.places[indexes], self.keyword[indexes], self.cosine[indexes])

    def best(self, scores: NDArray[np.float64], hits: int) -> _Rows:
        """Return those with the best scores; ties go to the older document, earlier chunk."""
        if len(scores) <= hits:
            return self
        limit = np.partition(scores, len(scores) - hits)[len(scores) - hits]
        found = np.flatnonzero(scores >= limit)
        if len(found) > hits:  # ties
            found = found[np.lexsort((self.places[found], -scores[found]))[:hits]]
        return self.take(found)


class _Statistics(NamedTuple):
    """Moments over all chunks in scope."""

    keyword: Moments
    body: Moments
    vector: Moments | None


class _Tables(NamedTuple):
    """What documents hold, for those that hold something."""

    positions: NDArray[np.int64]
    terms: NDArray[np.int64]
    titles: NDArray[np.bool_]


def count_terms(view: View, terms: Sequence[str]) -> NDArray[np.int64]:
    """Return how many living chunks hold each term, (T,)."""
    hashes = term_hashes(terms)
    counts = _sum_counts([PartTerms.find(part, hashes) for part in view.parts], len(terms))
    return np.asarray(counts[0])


def _sum_counts(found: Sequence[PartTerms], terms: int) -> NDArray[np.int64]:
    """Return how many living chunks and how many title words hold each term, (2, T)."""
    counts = np.zeros((2, terms), dtype=np.int64)
    for part in found:
        counts += part.count()
    return counts


def scan_view(view: View, query: ScanQuery, *, scope: NDArray[np.bool_] | None) -> Scan:
    """Search the documents in scope.

    Args:
        view: The moment; no document of it is missing.
        query: What is looked for; its vector has the dimension of the parts.
        scope: Whether each living document is searched, None for all of them.
    """
    hashes = term_hashes(query.terms)
    found = [PartTerms.find(part, hashes) for part in view.parts]
    term_chunks, title_documents = _sum_counts(found, len(hashes))
    in_chunks = word_counts(term_chunks, query.words, most=view.all_chunks)
    in_titles = word_counts(title_documents, query.words, most=view.all_documents)
    weights = np.where(
        in_chunks > 0,
        inverse_frequencies(in_chunks, view.all_chunks),
        inverse_frequencies(in_titles, view.all_documents),
    )
    vector = None
    if query.vector is not None:
        rows, scales = quantise_rows(query.vector[None, :])
        vector = QueryVector(rows[0], scales[0])
    scopes = _scopes(found, scope)
    wanted = max(0, query.hits)
    search = _Search(wanted)
    for part in scopes:
        search.add(score_part(part, weights=weights, vector=vector))
    statistics = search.statistics(with_vector=vector is not None)
    hits = _find_hits(search, statistics, hits=wanted)
    hit_positions = hits.places >> CHUNK_BITS
    tables = _tables(view, scopes, hit_positions, terms=len(hashes))
    return Scan(
        chunks=sum(s.size for s in scopes),
        documents=view.all_documents if scope is None else int(np.count_nonzero(scope)),
        all_chunks=view.all_chunks,
        all_documents=view.all_documents,
        term_chunks=term_chunks,
        title_documents=title_documents,
        keyword=statistics.keyword,
        body=statistics.body,
        vector=statistics.vector,
        handles=view.living.numbers[tables.positions],
        document_chunks=view.living.chunks[tables.positions],
        document_terms=tables.terms,
        document_titles=tables.titles,
        hit_documents=np.searchsorted(tables.positions, hit_positions),
        hit_chunks=hits.places & ((1 << CHUNK_BITS) - 1),
        hit_keywords=hits.keyword,
        hit_vectors=hits.cosine,
    )


def _scopes(found: Sequence[PartTerms], scope: NDArray[np.bool_] | None) -> list[PartScope]:
    """Return what is searched of each part, parts without a document in scope left out."""
    scopes = []
    for terms in found:
        positions = terms.view.positions
        if not terms.view.used.any():
            continue
        if scope is not None:
            positions = np.where(terms.view.used & scope[positions], positions, -1)
        made = PartScope(terms=terms, positions=positions)
        if made.documents.any():
            scopes.append(made)
    return scopes


class _Best:
    """Rows of the best scores of one kind, part after part."""

    def __init__(self, hits: int, *, floor: float) -> None:
        self.rows: list[NDArray[np.int64]] = []
        self._hits = hits
        self._floor = floor
        self._values = np.empty(0)

    def add(self, scores: NDArray[np.floating]) -> None:
        """Choose among the scores of the next part, (n,)."""
        found = best_rows(scores, self._hits, floor=self._floor)
        self.rows.append(found)
        self._values = np.concatenate((self._values, scores[found]))
        if 0 < self._hits <= len(self._values):
            place = len(self._values) - self._hits
            self._floor = float(np.partition(self._values, place)[place])
            self._values = self._values[self._values >= self._floor]


class _Search:
    """Scores, sums and best rows of all parts; one part after the other, while it is in cache."""

    def __init__(self, hits: int) -> None:
        self.scored: list[PartScores] = []
        self.by_keyword = _Best(hits, floor=float(np.nextafter(0.0, 1.0)))
        self.by_cosine = _Best(hits, floor=-np.inf)
        self._keyword = MomentSums()
        self._body = MomentSums()
        self._cosine = MomentSums()

    def add(self, part: PartScores) -> None:
        """Take in the scores of the next part."""
        self.scored.append(part)
        body = MomentSums()
        body.add(part.body)
        self._body.merge(body)
        if part.keyword is part.body:
            self._keyword.merge(body)
        else:
            self._keyword.add(part.keyword)
        self.by_keyword.add(part.keyword)
        if part.cosine is not None:
            self._cosine.add(part.cosine)
            self.by_cosine.add(part.cosine)

    def statistics(self, *, with_vector: bool) -> _Statistics:
        """Return the moments over all parts."""
        return _Statistics(
            Moments(*self._keyword.result()),
            Moments(*self._body.result()),
            Moments(*self._cosine.result()) if with_vector else None,
        )


def _gather(scored: Sequence[PartScores], indexes: Sequence[NDArray[np.int64]]) -> _Rows:
    """Return some rows of each part, those of one part after those of another."""
    rows = [_Rows(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))]
    for part, chosen in zip(scored, indexes, strict=True):
        cosine = np.zeros(len(chosen)) if part.cosine is None else part.cosine[chosen]
        rows.append(_Rows(part.places(chosen), part.keyword[chosen], cosine.astype(np.float64)))
    return _join(rows)


def _join(rows: Sequence[_Rows]) -> _Rows:
    return _Rows(
        np.concatenate([some.places for some in rows]),
        np.concatenate([some.keyword for some in rows]),
        np.concatenate([some.cosine for some in rows]),
    )


def _union(*rows: _Rows) -> _Rows:
    """Return all rows, each once, ordered by document, then chunk."""
    joined = _join(rows)
    _, indexes = np.unique(joined.places, return_index=True)
    return joined.take(indexes)


def _find_hits(search: _Search, statistics: _Statistics, *, hits: int) -> _Rows:
    """Return the union of the best chunks of each search, ordered by document, then chunk."""
    rows = _gather(search.scored, search.by_keyword.rows)
    rows = rows.best(rows.keyword, hits)
    if statistics.vector is None:
        return _union(rows)
    near = _gather(search.scored, search.by_cosine.rows)
    near = near.best(near.cosine, hits)
    both = _union(rows, near)
    pool = _union(both, _fused_pool(search.scored, statistics, both, near, hits=hits))
    return _union(both, pool.best(_fused(pool.keyword, pool.cosine, statistics), hits))


def _fused(
    keyword: NDArray[np.float64], cosine: NDArray[np.float64], statistics: _Statistics
) -> NDArray[np.float64]:
    return fused_scores(
        keyword,
        cosine,
        keyword_deviation=statistics.keyword.deviation,
        cosine_deviation=statistics.vector.deviation if statistics.vector else 0.0,
    )


def _fused_pool(
    scored: Sequence[PartScores],
    statistics: _Statistics,
    both: _Rows,
    near: _Rows,
    *,
    hits: int,
) -> _Rows:
    """Return the chunks besides the best of either search that may be among the best of both.

    A chunk that is not among the best by cosine has at most the last of their cosines. So it
    needs a keyword score that lifts it over the last of the best found so far; without a keyword
    score it stays behind all of them.
    """
    if not hits or len(near.places) < hits:  # all chunks in scope are among them
        return near.take(np.empty(0, dtype=np.int64))
    reached = np.sort(_fused(both.keyword, both.cosine, statistics))[-hits]
    cosine = near.cosine.min()
    floor = np.array([0.0])
    gain = _fused(floor + 1.0, floor, statistics)[0] - _fused(floor, floor, statistics)[0]
    if gain <= 0:  # all chunks have the same keyword score
        return near.take(np.empty(0, dtype=np.int64))
    needed = (reached - _fused(floor, floor + cosine, statistics)[0]) / gain
    needed -= 1e-9 * (1.0 + abs(needed))  # rounding must not lose a chunk
    least = max(needed, np.nextafter(0.0, 1.0))
    return _gather(scored, [np.flatnonzero(part.keyword >= least) for part in scored])


def _tables(
    view: View,
    scopes: Sequence[PartScope],
    hits: NDArray[np.int64],
    *,
    terms: int,
) -> _Tables:
    """Return what each document in scope holds, of those that hold a term or a hit."""
    held_terms: list[tuple[int, NDArray[np.int64], NDArray[np.uint32]]] = []
    titles: list[tuple[int, NDArray[np.int64]]] = []
    told = np.zeros(view.all_documents, dtype=bool)
    told[hits] = True
    for scope in scopes:
        part = scope.part
        for t, held in enumerate(scope.terms.documents):
            positions = scope.positions[part.body.documents[held]]
            inside = positions >= 0
            held_terms.append((t, positions[inside], part.body.chunks[held][inside]))
            told[held_terms[-1][1]] = True
        for t, held in enumerate(scope.terms.titles):
            positions = scope.positions[part.title_documents[held]]
            titles.append((t, positions[positions >= 0]))
            told[titles[-1][1]] = True
    places = np.flatnonzero(told)
    rank = np.cumsum(told) - 1
    counts = np.zeros((len(places), terms), dtype=np.int64)
    for t, positions, chunks in held_terms:
        counts[rank[positions], t] = chunks
    named = np.zeros((len(places), terms), dtype=bool)
    for t, positions in titles:
        named[rank[positions], t] = True
    return _Tables(places, counts, named)
