"""Terms that are forms of one query word: its stems in the languages of the documents.

A store returns counts per term; relevance is computed per word.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.scan import Passages, Scan


def group_term_counts(
    counts: NDArray[np.int64], words: Sequence[int], *, most: int
) -> NDArray[np.int64]:
    """Return for each term the number of chunks that contain any term of its word.

    Args:
        counts: Number of chunks, or titles, that contain each term, (T,).
        words: Index of the word of each term; empty if every term is a word of its own.
        most: Number of chunks, or titles; a text of mixed languages may contain several terms of
            one word and is counted once at most.

    Returns:
        One number per term, the same for all terms of a word, (T,).
    """
    if not words:
        return counts
    together = np.bincount(words, counts, minlength=max(words) + 1).astype(np.int64)
    return np.asarray(np.minimum(together, most)[list(words)])


def group_scan_terms(scan: Scan, words: Sequence[int]) -> Scan:
    """Return a scan with one column per word in place of one per term.

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
    """Return passages with one row per word in place of one per term, as `group_scan_terms`."""
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
