"""Scores of the chunks of one index part for one query.

Rules:
    Contributions are added in the order of the terms, so a score has the same bits wherever its
    chunk stands.
    What is in scope is decided a document: rows outside are never counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.scores import IMPACT_STEP
from spanwise.core.vectors import cosines
from spanwise.stores.dots import dot_products
from spanwise.stores.part import find_terms, run_indexes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.part import Part
    from spanwise.stores.view import PartView

__all__ = [
    "CHUNK_BITS",
    "PartScope",
    "PartScores",
    "PartTerms",
    "QueryVector",
    "best_rows",
    "score_part",
]

CHUNK_BITS = 32
"""A place is `position of the document << CHUNK_BITS | chunk index`."""

_GATHER_SHARE = 0.2  # below it, the vectors in scope are gathered before they are multiplied
_GROUPS = 64
_STEPS = np.arange(256) * IMPACT_STEP


class QueryVector(NamedTuple):
    """Vector of a question, quantised."""

    row: NDArray[np.int8]
    scale: np.float32


@dataclass(frozen=True, kw_only=True, eq=False)
class PartTerms:
    """Where the postings of a query's terms stand in a part. T terms."""

    view: PartView
    rows: list[slice]
    """Postings of rows of each term, (T,); empty where the part has none."""
    documents: list[slice]
    """Postings of documents of each term, (T,)."""
    titles: list[slice]
    """Postings of title words of each term, (T,)."""

    @classmethod
    def find(cls, view: PartView, hashes: NDArray[np.uint64]) -> PartTerms:
        """Look the terms up, and verify their postings.

        Raises:
            DamagedPartError: If they differ from their checksums.
        """
        part = view.part
        body = find_terms(part.body.terms, hashes).tolist()
        part.check_terms(body)
        titles = find_terms(part.title_terms, hashes).tolist()
        return cls(
            view=view,
            rows=[_held(part.body.ends, place) for place in body],
            documents=[_held(part.body.document_ends, place) for place in body],
            titles=[_held(part.title_ends, place) for place in titles],
        )

    def count(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many living chunks hold each term, and how many title words, (T,) each."""
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
    """What of a part is searched. d documents, n rows in the part."""

    terms: PartTerms
    positions: NDArray[np.int64]
    """Position of each document in scope among the living ones, -1 for the others, (d,)."""

    @property
    def part(self) -> Part:
        """The part."""
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


@dataclass(frozen=True, kw_only=True, eq=False)
class PartScores:
    """Scores of the rows in scope, s of them; index i stands for the i-th row in scope."""

    scope: PartScope
    body: NDArray[np.float64]
    keyword: NDArray[np.float64]
    """Body and title; the same array as `body` where no title in scope holds a term."""
    cosine: NDArray[np.float32] | None

    def places(self, indexes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return `position of the document << 32 | chunk index` of some rows in scope."""
        rows = indexes if self.scope.rows is None else self.scope.rows[indexes]
        starts = self.scope.part.starts
        ordinals = np.searchsorted(starts, rows, side="right") - 1
        places: NDArray[np.int64] = self.scope.positions[ordinals] << CHUNK_BITS
        places |= rows - starts[ordinals]
        return places


def score_part(
    scope: PartScope, *, weights: NDArray[np.float64], vector: QueryVector | None
) -> PartScores:
    """Return the scores of all rows in scope.

    Args:
        scope: What is searched.
        weights: Of the terms, (T,).
        vector: The question's, or None.

    Raises:
        DamagedPartError: If the vectors differ from their checksums.
    """
    body = _body_scores(scope, weights)
    return PartScores(
        scope=scope,
        body=body,
        keyword=_add_titles(scope, body, weights),
        cosine=None if vector is None else _cosines(scope, vector),
    )


def _body_scores(scope: PartScope, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    postings = scope.part.body
    rows = [postings.rows[held] for held in scope.terms.rows]
    scores = [
        (_STEPS * weight)[postings.impacts[held]]
        for held, weight in zip(scope.terms.rows, weights.tolist(), strict=True)
    ]
    # Sums by `bincount` are made in the order of its arguments: in the order of the terms.
    total = np.bincount(
        np.concatenate([np.empty(0, dtype=np.uint32), *rows], dtype=np.int64),
        weights=np.concatenate([np.empty(0), *scores]),
        minlength=scope.part.rows,
    ).astype(np.float64, copy=False)  # without postings it gives integers
    return total if scope.rows is None else total[scope.rows]


def _add_titles(
    scope: PartScope, body: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    part = scope.part
    titles = np.zeros(part.documents)
    for held, weight in zip(scope.terms.titles, weights.tolist(), strict=True):
        titles[part.title_documents[held]] += weight
    titles = titles[scope.documents]
    holders = np.flatnonzero(titles)
    if not len(holders):
        return body
    lengths = np.diff(part.starts)[scope.documents]
    if 2 * int(lengths[holders].sum()) > len(body):
        return body + np.repeat(titles, lengths)
    starts = np.cumsum(lengths) - lengths
    keyword = body.copy()
    indexes = run_indexes(starts[holders], lengths[holders])
    keyword[indexes] += np.repeat(titles[holders], lengths[holders])
    return keyword


def _cosines(scope: PartScope, vector: QueryVector) -> NDArray[np.float32]:
    part, rows = scope.part, scope.rows
    part.check_vectors()
    if rows is not None and len(rows) < _GATHER_SHARE * part.rows:
        dots = dot_products(part.vectors[rows], vector.row)
        return cosines(dots, part.scales[rows], query_scale=vector.scale)
    found = cosines(dot_products(part.vectors, vector.row), part.scales, query_scale=vector.scale)
    return found if rows is None else found[rows]


def best_rows(
    scores: NDArray[np.floating], hits: int, *, floor: float = -np.inf
) -> NDArray[np.int64]:
    """Return the indexes of the best scores, ascending; the first of equal ones.

    Args:
        scores: (n,).
        hits: How many are wanted; all where there are fewer.
        floor: Scores below it are not wanted.
    """
    if not hits:
        return np.empty(0, dtype=np.int64)
    found = np.flatnonzero(scores >= max(floor, _lower_bound(scores, hits)))
    values = scores[found]
    if len(values) <= hits:
        return found
    limit = np.partition(values, len(values) - hits)[len(values) - hits]
    kept = values > limit
    missing = hits - int(np.count_nonzero(kept))
    kept[np.flatnonzero(values == limit)[:missing]] = True
    best: NDArray[np.int64] = found[kept]
    return best


def _lower_bound(scores: NDArray[np.floating], hits: int) -> float:
    """Return a score that at least `hits` scores reach, close to the best such one if n is large.

    The maxima of groups are scores themselves, and there are fewer of them to part.
    """
    columns = len(scores) // _GROUPS
    if columns <= hits:
        return -np.inf
    maxima = scores[: columns * _GROUPS].reshape(_GROUPS, columns).max(axis=0)
    return float(np.partition(maxima, columns - hits)[columns - hits])
