"""Reference implementation of a store search: scores are computed chunk by chunk."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spanwise.core.documents.headers import searched_header, searched_text
from spanwise.core.ranking.bm25 import IMPACT_STEP, inverse_frequencies, quantised_impacts
from spanwise.core.ranking.scan import ScanQuery
from spanwise.core.ranking.similar_words import SimilarWord
from spanwise.core.ranking.vectors import quantise_rows, unit_rows
from spanwise.core.text.terms import term_words, text_terms
from spanwise.models.word_vectors import quantise_words
from spanwise.stores.port import DocumentEntry
from spanwise.types import Chunk

_LETTERS = 3  # minimum length of a word with similar words
_COSINE = 0.25
_SIMILAR = 32
_SHORT, _LONG = 4, 8  # minimum lengths of words that may differ by one and by two edits

ChunkPlace = tuple[str, int]
"""Document id, and index of a chunk in the document."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExpectedScan:
    """Expected result of a scan; documents are identified by id instead of handle."""

    query: ScanQuery
    entries: Sequence[DocumentEntry]
    """All documents, oldest first."""
    scope: Sequence[DocumentEntry]
    """Documents to search, oldest first."""
    reference_terms: float
    """Setting of the store: length of an average chunk, in terms."""

    @cached_property
    def places(self) -> list[ChunkPlace]:
        """Chunks in scope, oldest document first."""
        return [(entry.document.id, chunk.index) for entry in self.scope for chunk in entry.chunks]

    @cached_property
    def term_chunks(self) -> list[int]:
        """Number of chunks that contain each term, over all documents."""
        bodies = [held for entry in self.entries for held in _bodies(entry)]
        return [sum(term in body for body in bodies) for term in self.query.terms]

    @cached_property
    def title_documents(self) -> list[int]:
        """Number of documents whose title words contain each term."""
        titles = [_title(entry) for entry in self.entries]
        return [sum(term in title for title in titles) for term in self.query.terms]

    @cached_property
    def weights(self) -> list[float]:
        """Inverse document frequency of each term: by chunks, or by titles if no chunk has it."""
        chunks = sum(len(entry.chunks) for entry in self.entries)
        in_chunks = self._word_counts(self.term_chunks, most=chunks)
        in_titles = self._word_counts(self.title_documents, most=len(self.entries))
        return [
            float(inverse_frequencies(body, chunks))
            if body
            else float(inverse_frequencies(title, len(self.entries)))
            for body, title in zip(in_chunks, in_titles, strict=True)
        ]

    def _word_counts(self, counts: list[int], *, most: int) -> list[int]:
        """Return for each term the sum of the counts of all terms of the same word."""
        words = self.query.words or tuple(range(len(counts)))
        return [
            min(most, sum(n for n, other in zip(counts, words, strict=True) if other == word))
            for word in words
        ]

    @cached_property
    def body(self) -> dict[ChunkPlace, float]:
        """Keyword score of the text of each chunk in scope."""
        return {
            (entry.document.id, chunk.index): sum(
                weight
                * expected_impact(
                    term,
                    _searched(chunk),
                    header=_header(entry, chunk),
                    reference_terms=self.reference_terms,
                    language=entry.language,
                )
                for term, weight in zip(self.query.terms, self.weights, strict=True)
            )
            for entry in self.scope
            for chunk in entry.chunks
        }

    @cached_property
    def keyword(self) -> dict[ChunkPlace, float]:
        """Keyword score of each chunk in scope, including its document title."""
        titles: dict[str, float] = {}
        for entry in self.scope:
            held = _title(entry)
            titles[entry.document.id] = sum(
                weight
                for term, weight in zip(self.query.terms, self.weights, strict=True)
                if term in held
            )
        return {place: score + titles[place[0]] for place, score in self.body.items()}

    @cached_property
    def cosine(self) -> dict[ChunkPlace, float]:
        """Cosine of each chunk in scope and the query; 0 without a query vector."""
        if self.query.vector is None:
            return dict.fromkeys(self.places, 0.0)
        return {
            (entry.document.id, chunk.index): expected_similarity(
                entry, chunk.index, self.query.vector
            )
            for entry in self.scope
            for chunk in entry.chunks
        }

    @cached_property
    def documents(self) -> dict[str, tuple[int, list[int], list[bool]]]:
        """Chunk count, chunks per term and title matches of each reported document."""
        found: dict[str, tuple[int, list[int], list[bool]]] = {}
        with_hits = {document_id for document_id, _ in self.hits}
        for entry in self.scope:
            bodies = _bodies(entry)
            counts = [sum(term in body for body in bodies) for term in self.query.terms]
            title = _title(entry)
            held = [term in title for term in self.query.terms]
            if any(counts) or any(held) or entry.document.id in with_hits:
                found[entry.document.id] = (len(entry.chunks), counts, held)
        return found

    @cached_property
    def hits(self) -> list[ChunkPlace]:
        """Hits, oldest document first."""
        found = {place for place in self._best(self.keyword) if self.keyword[place] > 0}
        if self.query.vector is not None:
            found |= set(self._best(self.cosine))
            found |= set(self._best(self._fused()))
        return [place for place in self.places if place in found]

    def _fused(self) -> dict[ChunkPlace, float]:
        keyword, cosine = _z_scores(self.keyword), _z_scores(self.cosine)
        share = self.query.keyword_share
        return {
            place: share * keyword[place] + (1 - share) * cosine[place] for place in self.places
        }

    def _best(self, scores: dict[ChunkPlace, float]) -> list[ChunkPlace]:
        # Scores are rounded so that equal chunks tie. The sort is stable: the older chunk is first.
        order = sorted(self.places, key=lambda place: -round(scores[place], 9))
        return order[: self.query.hits]


def _bodies(entry: DocumentEntry) -> list[set[str]]:
    return [
        set(text_terms(f"{_header(entry, chunk)}\n{_searched(chunk)}", language=entry.language))
        for chunk in entry.chunks
    ]


def _searched(chunk: Chunk) -> str:
    return searched_text(chunk.text, table_head=chunk.table_head, context=chunk.context)


def _header(entry: DocumentEntry, chunk: Chunk) -> str:
    return searched_header(entry.sections[chunk.section])


def _title(entry: DocumentEntry) -> set[str]:
    return set(text_terms(entry.title_words, language=entry.language))


def mean_and_deviation(scores: dict[ChunkPlace, float]) -> tuple[float, float]:
    """Return the mean and the population standard deviation of scores; zeros without scores."""
    if not scores:
        return 0.0, 0.0
    mean = math.fsum(scores.values()) / len(scores)
    return mean, math.sqrt(math.fsum((s - mean) ** 2 for s in scores.values()) / len(scores))


def _z_scores(scores: dict[ChunkPlace, float]) -> dict[ChunkPlace, float]:
    """Return the z-scores; zeros if the standard deviation is 0."""
    mean, deviation = mean_and_deviation(scores)
    if deviation < 1e-7:
        return dict.fromkeys(scores, 0.0)
    return {place: (score - mean) / deviation for place, score in scores.items()}


def expected_impact(
    term: str, text: str, *, header: str = "", reference_terms: float, language: str = ""
) -> float:
    """Return the BM25 impact of a term in a text with a header; 0 if the term does not occur."""
    counts = Counter(text_terms(text, language=language))
    in_header = text_terms(header, language=language).count(term)
    if not counts[term] + in_header:
        return 0.0
    steps = quantised_impacts(
        np.array([counts[term]]),
        np.array([counts.total()]),
        headers=np.array([in_header]),
        reference_terms=reference_terms,
    )
    return float(steps[0]) * IMPACT_STEP


def expected_similarity(entry: DocumentEntry, chunk: int, vector: NDArray[np.float32]) -> float:
    """Return the cosine of a chunk and a query, computed from quantised vectors."""
    if entry.vectors is None:
        raise ValueError(f"the entry {entry.document.id!r} has no vectors")
    row, row_scale = quantise_rows(unit_rows(entry.vectors[chunk : chunk + 1]))
    query, query_scale = quantise_rows(vector[None, :])
    dot = sum(int(left) * int(right) for left, right in zip(row[0], query[0], strict=True))
    return dot * float(row_scale[0]) * float(query_scale[0])


def expected_scan(
    entries: Sequence[DocumentEntry],
    query: ScanQuery,
    *,
    reference_terms: float,
    scope: Container[str] | None = None,
) -> ExpectedScan:
    """Return the expected result of a search.

    Args:
        entries: Documents in the order in which they were stored.
        query: Query to run.
        reference_terms: Setting of the store.
        scope: Ids of the documents to search; None for all.
    """
    return ExpectedScan(
        query=query,
        entries=entries,
        scope=[entry for entry in entries if scope is None or entry.document.id in scope],
        reference_terms=reference_terms,
    )


def expected_similar_words(
    entries: Sequence[DocumentEntry], word: str, *, languages: Sequence[str]
) -> list[SimilarWord]:
    """Return the expected similar words of one word.

    Args:
        entries: Documents to read.
        word: Word of a question.
        languages: Languages of all documents of the store.
    """
    own = {term for language in languages for term in text_terms(word, language=language)}
    lower = word.lower()
    pairs = sorted({pair for entry in entries for pair in _document_words(entry)})
    rows, scales = quantise_words([lower, *(listed for _, listed in pairs)])
    if not rows.size or len(lower) < _LETTERS or not lower.isalpha():
        return []
    cosines: dict[str, list[tuple[float, int, str]]] = {}
    for (term, listed), row, scale in zip(pairs, rows[1:], scales[1:], strict=True):
        dot = np.float32(sum(int(a) * int(b) for a, b in zip(row, rows[0], strict=True)))
        cosine = float(dot * (scale * scales[0]))
        if cosine > _COSINE and term not in own and listed != lower:
            cosines.setdefault(term, []).append((-cosine, len(listed), listed))
    best = sorted((*min(found), term) for term, found in cosines.items())
    return [SimilarWord(listed, term, -minus) for minus, _, listed, term in best[:_SIMILAR]]


def expected_similar_spelling(entries: Sequence[DocumentEntry], word: str) -> SimilarWord | None:
    """Return the expected word whose spelling is nearest to a word, or None."""
    lower = word.lower()
    allowed = 0 if len(lower) < _SHORT else 1 if len(lower) < _LONG else 2
    bodies = [held for entry in entries for held in _bodies(entry)]
    best = []
    for entry in entries:
        for term, listed in _document_words(entry):
            edits = _edits(lower, listed)
            chunks = sum(term in body for body in bodies)
            if edits <= allowed and allowed and lower.isalpha():
                best.append((edits, -chunks, len(listed), listed, term))
    if not best:
        return None
    edits, _, _, listed, term = min(best)
    return SimilarWord(listed, term, 1 - edits / len(lower))


def _document_words(entry: DocumentEntry) -> set[tuple[str, str]]:
    """Return the pairs of a term and a word of a document."""
    return {
        (term, word)
        for chunk in entry.chunks
        for term, word in term_words(
            f"{_header(entry, chunk)}\n{_searched(chunk)}", language=entry.language
        )
        if len(word) >= _LETTERS
    }


def _edits(left: str, right: str) -> int:
    """Return the number of insertions, deletions, replacements and swaps between two words."""
    table = {(0, column): column for column in range(len(right) + 1)}
    for row in range(1, len(left) + 1):
        table[row, 0] = row
        for column in range(1, len(right) + 1):
            table[row, column] = min(
                table[row - 1, column] + 1,
                table[row, column - 1] + 1,
                table[row - 1, column - 1] + (left[row - 1] != right[column - 1]),
            )
            swapped = left[row - 2 : row] == right[column - 2 : column][::-1]
            if row > 1 and column > 1 and swapped:
                table[row, column] = min(table[row, column], table[row - 2, column - 2] + 1)
    return table[len(left), len(right)]
