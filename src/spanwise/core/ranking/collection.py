"""Exhaustive in-memory search of a few documents, the reference implementation of `scan`.

Every query scores all chunks. It is meant for small collections, and as the reference in tests of
other stores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.documents.headers import searched_header, searched_text
from spanwise.core.ranking.bm25 import (
    IMPACT_STEP,
    quantised_impacts,
    weighted_sum,
)
from spanwise.core.ranking.scan import (
    Moments,
    Passages,
    Scan,
    ScanQuery,
    digit_share,
    section_openings,
)
from spanwise.core.ranking.scan_steps import ScoreSums, TermTotals, best_chunks, run_scan
from spanwise.core.ranking.score_statistics import KEYWORD_SHARE, MomentSums
from spanwise.core.ranking.similar_words import (
    SimilarWord,
    listed_words,
    most_similar,
    nearest_spellings,
    searched_word,
    word_terms_in,
)
from spanwise.core.ranking.vectors import cosines
from spanwise.core.text.terms import term_words, text_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.types import Chunk, Section


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedDocument:
    """Term counts and features of a document of n chunks."""

    handle: int
    """Handle of the document in its store; an older document has a lower handle."""
    frequencies: tuple[Mapping[str, int], ...]
    """Number of occurrences of each term in the text of each chunk, (n,)."""
    headers: tuple[Mapping[str, int], ...]
    """Number of occurrences of each term in the header of the section of each chunk, (n,)."""
    title_terms: frozenset[str]
    """Terms of the title, file name and path."""
    digits: NDArray[np.float32]
    """Share of digits among the characters of each chunk, (n,)."""
    chars: NDArray[np.int64]
    """Length of each chunk in characters, (n,)."""
    tokens: NDArray[np.int64]
    """Length of each chunk in tokens, (n,)."""
    openings: NDArray[np.bool_]
    """Whether each chunk is the first of a section, (n,)."""
    words: frozenset[tuple[str, str]]
    """Pairs of a term and its word (see `core.ranking.similar_words`)."""

    def __len__(self) -> int:
        return len(self.frequencies)

    def impacts(self, terms: Sequence[str], *, reference_terms: float) -> NDArray[np.uint8]:
        """Return the quantised saturation of each term in each chunk, 0 if absent, (T, n)."""
        frequencies = _occurrences(terms, self.frequencies)
        headers = _occurrences(terms, self.headers)
        lengths = np.array([sum(counts.values()) for counts in self.frequencies], dtype=np.int64)
        is_found = frequencies + headers > 0
        impacts = quantised_impacts(
            np.where(is_found, frequencies, 1),
            np.broadcast_to(lengths, frequencies.shape),
            headers=headers,
            reference_terms=reference_terms,
        )
        return np.where(is_found, impacts, np.uint8(0))


def _occurrences(terms: Sequence[str], texts: Sequence[Mapping[str, int]]) -> NDArray[np.int64]:
    """Return the number of occurrences of each term in each text, (T, n)."""
    counts = [[text.get(term, 0) for text in texts] for term in terms]
    return np.array(counts, dtype=np.int64).reshape(len(terms), len(texts))


def count_document(
    chunks: Sequence[Chunk],
    *,
    title_words: str,
    handle: int,
    language: str = "",
    sections: Sequence[Section] = (),
) -> CountedDocument:
    """Return the term counts and features of a document.

    Args:
        chunks: All chunks of the document, in order.
        title_words: Words of its title, file name and path.
        handle: Handle of the document.
        language: Language of its text, as for `core.text.terms.word_terms`.
        sections: All sections of the document, in order; empty for no headers.
    """
    searched = [searched_text(c.text, table_head=c.table_head, context=c.context) for c in chunks]
    headers = [searched_header(section) for section in sections]
    in_headers = [Counter(text_terms(header, language=language)) for header in headers]
    nothing: Counter[str] = Counter()
    return CountedDocument(
        handle=handle,
        frequencies=tuple(Counter(text_terms(text, language=language)) for text in searched),
        headers=tuple(in_headers[chunk.section] if headers else nothing for chunk in chunks),
        title_terms=frozenset(text_terms(title_words, language=language)),
        digits=np.array([digit_share(chunk.text) for chunk in chunks], dtype=np.float32),
        chars=np.array([len(chunk.text) for chunk in chunks], dtype=np.int64),
        tokens=np.array([chunk.tokens for chunk in chunks], dtype=np.int64),
        openings=section_openings([chunk.section for chunk in chunks]),
        words=listed_words(
            pair
            for run in {run for text in (*searched, *headers) for run in text.split()}
            for pair in term_words(run, language=language)
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collection:
    """Documents that are searched together; they determine the term weights."""

    documents: tuple[CountedDocument, ...]
    """Documents in ascending order of their handles."""
    reference_terms: float
    """Average length of a chunk in terms, for `core.ranking.bm25`."""

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return the number of chunks that contain each term, (T,), and the number of chunks."""
        impacts = self.impacts(self.documents, terms)
        return np.count_nonzero(impacts, axis=1), impacts.shape[1]

    def similar_words(
        self,
        documents: Sequence[CountedDocument],
        words: Sequence[str],
        *,
        languages: Sequence[str],
        quantise: Callable[[Sequence[str]], tuple[NDArray[np.int8], NDArray[np.float32]]],
    ) -> tuple[tuple[SimilarWord, ...], ...]:
        """Return the words of some documents that are similar to words of a question.

        See `stores.port.Searchable.similar_words`.

        Args:
            documents: Documents to read.
            words: Words of a question.
            languages: Languages of all documents.
            quantise: Function that returns the quantised vectors of words and their scales.
        """
        pairs = sorted({pair for document in documents for pair in document.words})
        rows, scales = quantise([word for _, word in pairs])
        lower = [searched_word(word) for word in words]
        sought = [word for word in dict.fromkeys(lower) if word]
        queries, query_scales = quantise(sought)
        found = {
            word: most_similar(
                cosines(rows.astype(np.int64) @ query.astype(np.int64), scales, query_scale=scale),
                pairs.__getitem__,
                word=word,
                terms=word_terms_in(word, languages),
            )
            for word, query, scale in zip(sought, queries, query_scales, strict=True)
        }
        return tuple(found.get(word, ()) for word in lower)

    def similar_spellings(
        self,
        words: Sequence[str],
        *,
        count_chunks: Callable[[Sequence[str]], NDArray[np.int64]] | None = None,
    ) -> tuple[SimilarWord | None, ...]:
        """Return for each word the word of all documents with the nearest spelling, or None."""
        pairs = sorted({pair for document in self.documents for pair in document.words})
        return nearest_spellings(
            words,
            [term for term, _ in pairs],
            [word for _, word in pairs],
            count_chunks=count_chunks or (lambda terms: self.term_counts(terms)[0]),
        )

    def scan(
        self,
        terms: Sequence[str],
        *,
        words: Sequence[int] = (),
        cosine: NDArray[np.float64] | None,
        hits: int,
        keyword_share: float = KEYWORD_SHARE,
        scope: Sequence[CountedDocument] | None = None,
    ) -> Scan:
        """Search all chunks in scope, as specified by `stores.port.Searchable.scan`.

        Args:
            terms: Distinct terms of the query, (T,).
            words: Index of the word of each term, as in `ScanQuery.words`.
            cosine: Cosine of every chunk in scope, one document after the other; None for a keyword
                search.
            hits: Number of best chunks of each ranking.
            keyword_share: Weight of the keyword score in the fused score, in [0, 1].
            scope: Documents to search, by handle; None for all.
        """
        return run_scan(
            self.start_scan(
                ScanQuery(
                    terms=tuple(terms),
                    words=tuple(words),
                    vector=None,
                    hits=hits,
                    keyword_share=keyword_share,
                ),
                cosine=cosine,
                scope=self.documents if scope is None else tuple(scope),
            )
        )

    def start_scan(
        self,
        query: ScanQuery,
        *,
        cosine: NDArray[np.float64] | None,
        scope: tuple[CountedDocument, ...],
    ) -> CollectionScan:
        """Return the steps of a search.

        Args:
            query: Query; its vector is not used.
            cosine: Cosine of every chunk in scope, one document after the other; None for a keyword
                search.
            scope: Documents to search, by handle.
        """
        return CollectionScan(collection=self, query=query, cosine=cosine, searched=scope)

    def passages(
        self,
        spans: Sequence[tuple[CountedDocument, int, int]],
        *,
        terms: Sequence[str],
        similarities: NDArray[np.float32],
    ) -> Passages:
        """Return the features of the chunks in some ranges (see `stores.port.Searchable.passages`).

        Args:
            spans: Documents with the first chunk and the index after the last chunk.
            terms: Distinct terms of the query, (T,).
            similarities: Cosines of the chunks of the ranges, one range after the other, (m, n).
        """
        impacts = [np.empty((len(terms), 0), dtype=np.uint8)]
        impacts += [
            self.impacts((document,), terms)[:, start:end] for document, start, end in spans
        ]
        return Passages(
            impacts=(np.concatenate(impacts, axis=1) * IMPACT_STEP).astype(np.float32),
            similarities=similarities,
            digits=np.concatenate([np.zeros(0, np.float32), *(d.digits[s:e] for d, s, e in spans)]),
            chars=np.concatenate([np.zeros(0, np.int64), *(d.chars[s:e] for d, s, e in spans)]),
            tokens=np.concatenate([np.zeros(0, np.int64), *(d.tokens[s:e] for d, s, e in spans)]),
            openings=np.concatenate([np.zeros(0, bool), *(d.openings[s:e] for d, s, e in spans)]),
        )

    def impacts(
        self, documents: Sequence[CountedDocument], terms: Sequence[str]
    ) -> NDArray[np.uint8]:
        """Return the impacts of terms in all chunks of the documents, (T, chunks)."""
        parts = [
            document.impacts(terms, reference_terms=self.reference_terms) for document in documents
        ]
        return np.concatenate([np.empty((len(terms), 0), dtype=np.uint8), *parts], axis=1)


@dataclass(kw_only=True, eq=False)
class CollectionScan:
    """Search of the documents of a collection in steps; implements `ScanSteps`."""

    collection: Collection
    query: ScanQuery
    cosine: NDArray[np.float64] | None
    """Cosine of every chunk in scope; None for a keyword search."""
    searched: tuple[CountedDocument, ...]
    """Documents in scope."""

    def count(self) -> TermTotals:
        """Return the counts of the query terms."""
        term_chunks, chunks = self.collection.term_counts(self.query.terms)
        documents = self.collection.documents
        return TermTotals(
            chunks=chunks,
            documents=len(documents),
            term_chunks=term_chunks,
            title_documents=np.count_nonzero(_titles(documents, self.query.terms), axis=0),
        )

    def score(self, totals: TermTotals) -> ScoreSums:
        """Score all chunks in scope."""
        terms, searched = self.query.terms, self.searched
        weights = totals.weights(self.query.words)
        self._totals = totals
        self._sizes = np.array([len(document) for document in searched], dtype=np.int64)
        self._titles = _titles(searched, terms)
        body = weighted_sum(self.collection.impacts(searched, terms) * IMPACT_STEP, weights)
        self._keyword = body + np.repeat(weighted_sum(self._titles.T, weights), self._sizes)
        return ScoreSums(
            chunks=int(self._sizes.sum()),
            documents=len(searched),
            keyword=MomentSums.of(self._keyword),
            body=MomentSums.of(body),
            vector=None if self.cosine is None else MomentSums.of(self.cosine),
        )

    def find(self, sums: ScoreSums) -> Scan:
        """Return the hits and the documents with a term or a hit."""
        totals, keyword, cosine, sizes = self._totals, self._keyword, self.cosine, self._sizes
        best = best_chunks(
            keyword,
            cosine,
            hits=self.query.hits,
            keyword_share=self.query.keyword_share,
            sums=sums,
        )
        starts = np.concatenate(([0], np.cumsum(sizes)))
        owners = np.searchsorted(starts, best, side="right") - 1
        counts = self._count_chunks(self.searched, self.query.terms)
        matched = np.asarray(counts.any(axis=1) | self._titles.any(axis=1))
        matched[owners] = True
        places = np.flatnonzero(matched)
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
            handles=np.array([self.searched[place].handle for place in places], dtype=np.int64),
            document_chunks=sizes[places],
            document_terms=counts[places],
            document_titles=self._titles[places],
            hit_documents=np.searchsorted(places, owners),
            hit_chunks=best - starts[owners],
            hit_keywords=keyword[best],
            hit_vectors=np.zeros(len(best)) if cosine is None else cosine[best],
        )

    def _count_chunks(
        self, documents: Sequence[CountedDocument], terms: Sequence[str]
    ) -> NDArray[np.int64]:
        """Return the number of chunks of each document that contain each term, (documents, T)."""
        counts = [
            np.count_nonzero(self.collection.impacts((document,), terms), axis=1)
            for document in documents
        ]
        return np.array(counts, dtype=np.int64).reshape(len(documents), len(terms))


def _titles(documents: Sequence[CountedDocument], terms: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether the title words of each document contain each term, (documents, T)."""
    contained = [[term in document.title_terms for term in terms] for document in documents]
    return np.array(contained, dtype=np.bool_).reshape(len(documents), len(terms))
