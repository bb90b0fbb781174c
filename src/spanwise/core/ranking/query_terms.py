"""Terms that stand for one word of a question: its stems in the languages of the documents.

A store is asked for all of them and says what it knows of each; the core wants to know of words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.scan import Passages, Scan


def word_counts(counts: NDArray[np.int64], words: Sequence[int], *, most: int) -> NDArray[np.int64]:
    """Return how often the word of each term is held: by all of its terms together.

    Args:
        counts: How many chunks, or titles, hold each term, (T,).
        words: The word of each term, from 0; empty where each stands for one of its own.
        most: How many there are: where a text mixes languages, it may hold several terms of a word.

    Returns:
        One number a term, the same for all terms of a word, (T,).
    """
    if not words:
        return counts
    together = np.bincount(words, counts, minlength=max(words) + 1).astype(np.int64)
    return np.asarray(np.minimum(together, most)[list(words)])


def word_scan(scan: Scan, words: Sequence[int]) -> Scan:
    """Return what the searches saw of words, where they were asked for terms.

    Args:
        scan: Of T terms.
        words: The word of each term, from 0 to W - 1, each held; empty leaves the scan as it is.

    Returns:
        The scan of W words, in the order of their numbers.
    """
    if not words:
        return scan
    first = [words.index(word) for word in range(max(words) + 1)]
    held = np.minimum(_summed(scan.document_terms, words), scan.document_chunks[:, None])
    return replace(
        scan,
        term_chunks=word_counts(scan.term_chunks, words, most=scan.all_chunks)[first],
        title_documents=word_counts(scan.title_documents, words, most=scan.all_documents)[first],
        document_terms=held,
        document_titles=_summed(scan.document_titles, words) > 0,
    )


def word_passages(passages: Passages, words: Sequence[int]) -> Passages:
    """Return the material of passages by words, where it was asked for by terms, as `word_scan`."""
    if not words:
        return passages
    return replace(passages, impacts=_summed(passages.impacts.T, words).T)


_Number = TypeVar("_Number", bound=np.generic)


def _summed(columns: NDArray[_Number], words: Sequence[int]) -> NDArray[_Number]:
    """Return the sums of the columns of each word, added in their order, (n, W)."""
    total = np.zeros((len(columns), max(words) + 1), dtype=columns.dtype)
    for column, word in zip(columns.T, words, strict=True):
        total[:, word] += column
    return total
