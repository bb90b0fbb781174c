"""Interface between a store and the core for one query: its terms, counts, scores and features.

A store counts terms. A query word may have several terms, its stems in the languages of the
documents; `group_scan_terms` and `group_passage_terms` add up the terms of each word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spanwise.core.ranking.score_statistics import KEYWORD_SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanQuery:
    """Terms and vector of one query."""

    terms: tuple[str, ...]
    """Distinct terms (`core.text.terms`); may be empty."""
    words: tuple[int, ...] = ()
    """Index of the query word of each term; empty if every term is a separate word.

    Terms of one word are counted together and have one weight.
    """
    vector: NDArray[np.float32] | None
    """Query vector of unit length; None for a keyword search."""
    keyword_share: float = KEYWORD_SHARE
    """Weight `s` of the keyword score in the fused score, in [0, 1]; the cosine has `1 - s`."""
    hits: int = 400
    """Number of best chunks to return from each ranking."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and population standard deviation of a score over the chunks in scope."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scan:
    """Result of a search, with T terms, D documents that contain a term or a hit, and H hits.

    The scope consists of the documents that pass both the filter and the list of documents. Term
    weights are counted over all live chunks, so a filter never changes the score of a chunk.
    """

    chunks: int
    """Number of live chunks in scope."""
    documents: int
    """Number of documents in scope."""
    all_chunks: int
    """Number of live chunks in the knowledge base."""
    all_documents: int
    """Number of documents in the knowledge base."""
    term_chunks: NDArray[np.int64]
    """Number of live chunks in the knowledge base that contain each term, (T,)."""
    title_documents: NDArray[np.int64]
    """Number of documents in the knowledge base whose title words contain each term, (T,)."""
    keyword: Moments
    """Moments of the keyword score of chunk text and title together."""
    body: Moments
    """Moments of the keyword score of the chunk text alone."""
    vector: Moments | None
    """Moments of the cosine; None without a vector."""
    handles: NDArray[np.int64]
    """Store handle of each document in scope with a term or a hit, ascending, (D,)."""
    document_chunks: NDArray[np.int64]
    """Number of chunks of each document, (D,)."""
    document_terms: NDArray[np.int64]
    """Number of chunks of each document that contain each term, (D, T)."""
    document_titles: NDArray[np.bool_]
    """Whether the title words of each document contain each term, (D, T)."""
    hit_documents: NDArray[np.int64]
    """Position in `handles` of the document of each hit, (H,)."""
    hit_chunks: NDArray[np.int64]
    """Chunk index of each hit inside its document, (H,)."""
    hit_keywords: NDArray[np.float64]
    """Keyword score of each hit (chunk text and title), (H,)."""
    hit_vectors: NDArray[np.float64]
    """Cosine of each hit, (H,); zeros without a vector."""


@dataclass(frozen=True, slots=True)
class PassageRange:
    """Chunks `[start, end)` of one document."""

    handle: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passages:
    """Inputs of the features for the n chunks of some ranges, one range after the other."""

    impacts: NDArray[np.float32]
    """BM25 saturation of each term in each chunk (`core.ranking.bm25`), 0 if absent, (T, n)."""
    similarities: NDArray[np.float32]
    """Cosine of each chunk to each requested vector, (m, n)."""
    digits: NDArray[np.float32]
    """Share of digits among the characters of each chunk, (n,)."""
    chars: NDArray[np.int64]
    """Length of each chunk in characters, (n,)."""
    tokens: NDArray[np.int64]
    """Length of each chunk in tokens of the knowledge base's tokenizer, (n,)."""
    openings: NDArray[np.bool_]
    """Whether each chunk is the first of a section of its document, (n,)."""


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_STEPS = 255


def digit_share(text: str) -> float:
    """Return the share of digits (`str.isdigit`) among the characters; 0 for an empty text.

    The share is rounded to multiples of 1/255, so that a store can hold it in one byte.
    """
    if not text:
        return 0.0
    encoded = text.encode("utf-8", "surrogatepass")
    digits = len(encoded) - len(encoded.translate(None, b"0123456789"))  # much faster than a loop
    if not text.isascii():
        digits += sum(map(str.isdigit, "".join(_NOT_ASCII.findall(text))))
    return round(digits / len(text) * _STEPS) / _STEPS


def section_openings(sections: Sequence[int]) -> NDArray[np.bool_]:
    """Return whether each chunk of a document is the first of a section; the first chunk always is.

    Args:
        sections: Index of the section of each chunk, (n,).
    """
    openings = np.ones(len(sections), dtype=np.bool_)
    openings[1:] = np.diff(np.asarray(sections, dtype=np.int64)) != 0
    return openings


def range_signals(
    ranges: Sequence[PassageRange],
    landmarks: Sequence[str],
    signals: Mapping[int, Mapping[str, NDArray[np.float16]]],
) -> NDArray[np.float32]:
    """Return the signals of the chunks of several ranges, concatenated, (landmarks, n).

    Args:
        ranges: Ranges of chunks inside documents.
        landmarks: Names of signals.
        signals: Signals of each document, by handle and name; missing signals count as 0.
    """
    ends = np.cumsum([span.end - span.start for span in ranges], dtype=np.int64).tolist()
    joined = np.zeros((len(landmarks), ends[-1] if ends else 0), dtype=np.float32)
    for span, end in zip(ranges, ends, strict=True):
        of_document = signals.get(span.handle, {})
        begin = end - (span.end - span.start)
        for row, landmark in enumerate(landmarks):
            if landmark in of_document:
                joined[row, begin:end] = of_document[landmark][span.start : span.end]
    return joined


def group_term_counts(
    counts: NDArray[np.int64], words: Sequence[int], *, most: int
) -> NDArray[np.int64]:
    """Return, for each term, the number of chunks that contain any term of its word, (T,).

    Args:
        counts: Number of chunks, or titles, that contain each term, (T,).
        words: Index of the query word of each term; empty if every term is a separate word.
        most: Number of all chunks, or titles. It limits the sum, because a text of mixed languages
            may contain several terms of one word.
    """
    if not words:
        return counts
    together = np.bincount(words, counts, minlength=max(words) + 1).astype(np.int64)
    return np.asarray(np.minimum(together, most)[list(words)])


def group_scan_terms(scan: Scan, words: Sequence[int]) -> Scan:
    """Return a scan with one column per word instead of one per term.

    Args:
        scan: Scan of T terms.
        words: Index of the word of each term, from 0 to W - 1 without gaps; empty for no change.

    Returns:
        The scan of W words, in the order of their indexes.
    """
    if not words:
        return scan
    first = [words.index(word) for word in range(max(words) + 1)]
    document_terms = np.minimum(
        _sum_by_word(scan.document_terms, words), scan.document_chunks[:, None]
    )
    return replace(
        scan,
        term_chunks=group_term_counts(scan.term_chunks, words, most=scan.all_chunks)[first],
        title_documents=group_term_counts(scan.title_documents, words, most=scan.all_documents)[
            first
        ],
        document_terms=document_terms,
        document_titles=_sum_by_word(scan.document_titles, words) > 0,
    )


def group_passage_terms(passages: Passages, words: Sequence[int]) -> Passages:
    """Return passages with one row per word instead of one per term, like `group_scan_terms`."""
    if not words:
        return passages
    return replace(passages, impacts=_sum_by_word(passages.impacts.T, words).T)


_Number = TypeVar("_Number", bound=np.generic)


def _sum_by_word(columns: NDArray[_Number], words: Sequence[int]) -> NDArray[_Number]:
    """Return the sum of the columns of each word, added in order, (n, W)."""
    total = np.zeros((len(columns), max(words) + 1), dtype=columns.dtype)
    for column, word in zip(columns.T, words, strict=True):
        total[:, word] += column
    return total
