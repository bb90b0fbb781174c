"""The three steps of a search, with which several stores are searched as one.

1. Each store counts the query terms. The totals over all stores determine the weights of the terms.
2. Each store scores its chunks with these weights. The sums over all stores determine the mean and
   the deviation of each score.
3. Each store returns its best chunks. The best of them are the hits.

Counts and sums are exact integers, so the result is that of one store with all the documents, in
the order of the stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from spanwise.core.arrays import distinct
from spanwise.core.ranking.bm25 import term_weights
from spanwise.core.ranking.scan import Scan, ScanQuery, group_term_counts
from spanwise.core.ranking.score_statistics import MomentSums, fused_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

HANDLE_BITS = 48
"""Number of bits of a document handle; the bits above them are the index of its store."""


def joint_handle(store: int, handle: int) -> int:
    """Return the handle of a document among several stores; later stores have higher handles."""
    return store << HANDLE_BITS | handle


def split_handle(handle: int) -> tuple[int, int]:
    """Return the index of the store of a document, and its handle in this store."""
    return handle >> HANDLE_BITS, handle & ((1 << HANDLE_BITS) - 1)


class TermTotals(NamedTuple):
    """Counts of T query terms over all live documents, independent of the scope."""

    chunks: int
    """Number of live chunks."""
    documents: int
    """Number of live documents."""
    term_chunks: NDArray[np.int64]
    """Number of live chunks that contain each term, (T,)."""
    title_documents: NDArray[np.int64]
    """Number of live documents whose title words contain each term, (T,)."""

    def weights(self, words: Sequence[int]) -> NDArray[np.float64]:
        """Return the weight of each term, (T,).

        Args:
            words: Index of the query word of each term (`ScanQuery.words`).
        """
        return term_weights(
            group_term_counts(self.term_chunks, words, most=self.chunks),
            group_term_counts(self.title_documents, words, most=self.documents),
            all_chunks=self.chunks,
            all_documents=self.documents,
        )

    @classmethod
    def joined(cls, totals: Sequence[TermTotals]) -> TermTotals:
        """Return the sum of the totals of several stores."""
        return cls(
            chunks=sum(own.chunks for own in totals),
            documents=sum(own.documents for own in totals),
            term_chunks=np.sum([own.term_chunks for own in totals], axis=0, dtype=np.int64),
            title_documents=np.sum([own.title_documents for own in totals], axis=0, dtype=np.int64),
        )


class ScoreSums(NamedTuple):
    """Sums of the scores of all chunks in scope."""

    chunks: int
    """Number of chunks in scope."""
    documents: int
    """Number of documents in scope."""
    keyword: MomentSums
    """Sums of the keyword score of chunk text and title together."""
    body: MomentSums
    """Sums of the keyword score of the chunk text alone."""
    vector: MomentSums | None
    """Sums of the cosine; None without a vector."""

    @property
    def deviations(self) -> tuple[float, float]:
        """Standard deviations of the keyword score and of the cosine."""
        return self.keyword.result()[1], 0.0 if self.vector is None else self.vector.result()[1]

    @classmethod
    def joined(cls, sums: Sequence[ScoreSums]) -> ScoreSums:
        """Return the sums over several stores."""
        vectors = [own.vector for own in sums if own.vector is not None]
        return cls(
            chunks=sum(own.chunks for own in sums),
            documents=sum(own.documents for own in sums),
            keyword=MomentSums.joined(own.keyword for own in sums),
            body=MomentSums.joined(own.body for own in sums),
            vector=MomentSums.joined(vectors) if vectors else None,
        )


class ScanSteps(Protocol):
    """Search of one store for one query, called step by step in this order."""

    def count(self) -> TermTotals:
        """Return the counts of the query terms in this store."""

    def score(self, totals: TermTotals) -> ScoreSums:
        """Score all chunks in scope, and return the sums of the scores.

        Args:
            totals: Counts over all stores that are searched together.
        """

    def find(self, sums: ScoreSums) -> Scan:
        """Return the best hits of this store, and the documents with a term or a hit.

        Args:
            sums: Sums over all stores that are searched together.
        """


def run_scan(steps: ScanSteps) -> Scan:
    """Return the result of a search of one store."""
    return steps.find(steps.score(steps.count()))


def run_scans(stores: Sequence[ScanSteps], query: ScanQuery) -> Scan:
    """Return the result of a search of several stores as one, with joint handles."""
    totals = TermTotals.joined([steps.count() for steps in stores])
    sums = ScoreSums.joined([steps.score(totals) for steps in stores])
    return _joined([steps.find(sums) for steps in stores], query, sums)


def _joined(scans: Sequence[Scan], query: ScanQuery, sums: ScoreSums) -> Scan:
    """Return the scans of several stores as one, with the best of all hits."""
    sizes = [len(scan.handles) for scan in scans]
    firsts = (np.cumsum(sizes) - sizes).tolist()
    owners = np.concatenate(
        [scan.hit_documents + first for scan, first in zip(scans, firsts, strict=True)]
    )
    keywords = np.concatenate([scan.hit_keywords for scan in scans])
    cosines = np.concatenate([scan.hit_vectors for scan in scans])
    best = best_chunks(
        keywords,
        None if sums.vector is None else cosines,
        hits=query.hits,
        keyword_share=query.keyword_share,
        sums=sums,
    )
    terms = np.concatenate([scan.document_terms for scan in scans])
    titles = np.concatenate([scan.document_titles for scan in scans])
    stays = np.asarray(terms.any(axis=1) | titles.any(axis=1))
    stays[owners[best]] = True
    handles = np.concatenate([scan.handles + joint_handle(i, 0) for i, scan in enumerate(scans)])
    return replace(
        scans[0],  # the statistics of all stores are equal
        handles=handles[stays],
        document_chunks=np.concatenate([scan.document_chunks for scan in scans])[stays],
        document_terms=terms[stays],
        document_titles=titles[stays],
        hit_documents=(np.cumsum(stays) - 1)[owners[best]],
        hit_chunks=np.concatenate([scan.hit_chunks for scan in scans])[best],
        hit_keywords=keywords[best],
        hit_vectors=cosines[best],
    )


def best_chunks(
    keyword: NDArray[np.float64],
    cosine: NDArray[np.float64] | None,
    *,
    hits: int,
    keyword_share: float,
    sums: ScoreSums,
) -> NDArray[np.int64]:
    """Return the union of the best chunks of each ranking, ascending; ties go to the first one.

    Args:
        keyword: Keyword score of each chunk, (n,).
        cosine: Cosine of each chunk, (n,); None for a keyword search.
        hits: Number of best chunks of each ranking.
        keyword_share: Weight of the keyword score in the fused score, in [0, 1].
        sums: Sums of the scores of all chunks in scope.
    """
    hits = max(0, hits)
    by_keyword = np.argsort(-keyword, kind="stable")[:hits]
    rankings = [by_keyword[keyword[by_keyword] > 0]]
    if cosine is not None:
        rankings.append(np.argsort(-cosine, kind="stable")[:hits])
    if cosine is not None and keyword_share < 1:
        keyword_deviation, cosine_deviation = sums.deviations
        fused = fused_scores(
            keyword,
            cosine,
            keyword_deviation=keyword_deviation,
            cosine_deviation=cosine_deviation,
            keyword_share=keyword_share,
        )
        rankings.append(np.argsort(-fused, kind="stable")[:hits])
    return distinct(np.concatenate(rankings)).astype(np.int64)
