"""BM25: saturation of a term, inverse document frequency, and scores of whole documents.

The average length is a constant of the knowledge base, independent of its current contents. A
saturation is quantised to one byte. The score of a chunk therefore depends only on its own text and
header, and on the number of live chunks that contain each term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_K1 = 1.2
_B = 0.75
_DOCUMENT_B = 0.3
_HEADER_WEIGHT = 0.3
MAX_IMPACT = _K1 + 1
"""Upper limit of the saturation of one term, whatever its frequency."""
IMPACT_STEP = MAX_IMPACT / 255
"""Saturation of one unit of a quantised impact."""


def quantised_impacts(
    frequencies: NDArray[np.int64],
    lengths: NDArray[np.int64],
    *,
    headers: NDArray[np.int64],
    reference_terms: float,
) -> NDArray[np.uint8]:
    """Return the BM25F saturation of terms in chunks, in steps of `IMPACT_STEP`, from 1 to 255.

    `tf (k1 + 1) / (tf + k1)` with `tf = text / (1 - b + b length / reference) + w header`,
    k1 = 1.2, b = 0.75, w = 0.3 (Robertson and Zaragoza, The Probabilistic Relevance Framework,
    2009). The header of a section adds the same to all its chunks, whatever their length.

    Args:
        frequencies: Number of occurrences of a term in the text of a chunk.
        lengths: Number of terms of that text; 0 counts as 1; same shape.
        headers: Number of occurrences in the header of the chunk's section; same shape. It is at
            least 1 if the term does not occur in the text.
        reference_terms: Average length of a text, in terms.
    """
    norm = 1 - _B + _B * np.maximum(lengths, 1).astype(np.float64) / reference_terms
    tf = frequencies + _HEADER_WEIGHT * norm * headers
    impact = tf * (_K1 + 1) / (tf + _K1 * norm)
    return np.clip(np.rint(impact / IMPACT_STEP), 1, 255).astype(np.uint8)


def inverse_frequencies(holders: ArrayLike, total: ArrayLike) -> NDArray[np.float64]:
    """Return `ln(1 + (total - holders + 0.5) / (holders + 0.5))`, the weight of a term, > 0.

    Args:
        holders: Number of chunks (or documents) that contain the term, from 0 to `total`.
        total: Number of chunks (or documents); broadcast against `holders`.
    """
    holding = np.asarray(holders, dtype=np.float64)
    return np.log1p((np.asarray(total, dtype=np.float64) - holding + 0.5) / (holding + 0.5))


def term_weights(
    chunks: NDArray[np.int64], titles: NDArray[np.int64], *, all_chunks: int, all_documents: int
) -> NDArray[np.float64]:
    """Return the inverse frequency of each term among chunks, or titles if in no chunk, (T,).

    Args:
        chunks: Number of chunks that contain each term, (T,).
        titles: Number of documents whose title words contain each term, (T,).
        all_chunks: Number of chunks.
        all_documents: Number of documents.
    """
    over_chunks = inverse_frequencies(chunks, all_chunks)
    return np.where(chunks > 0, over_chunks, inverse_frequencies(titles, all_documents))


def weighted_sum(rows: NDArray[np.generic], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted sum of rows, (columns,), added in order, so equal on every machine."""
    total = np.zeros(rows.shape[1])
    for row, weight in zip(rows, weights, strict=True):
        total += weight * row.astype(np.float64, copy=False)
    return total


def document_scores(
    term_chunks: NDArray[np.int64],
    titles: NDArray[np.bool_],
    chunks: NDArray[np.int64],
    *,
    weights: NDArray[np.float64],
    mean_chunks: float,
) -> NDArray[np.float64]:
    """Return the BM25 score of whole documents, (documents,).

    The frequency of a term is the number of chunks that contain it, plus one if the title does; the
    length of a document is its number of chunks. On ten datasets this ranked as well as word
    counts, and it needs no positions. k1 = 1.2, b = 0.3.

    Args:
        term_chunks: Number of chunks of each document that contain each term, (documents, terms).
        titles: Whether the title words contain the term, (documents, terms).
        chunks: Number of chunks of each document, >= 1.
        weights: Inverse frequency of each term among documents, (terms,).
        mean_chunks: Mean of `chunks` over the documents of the knowledge base.
    """
    frequency = term_chunks + titles.astype(np.float64)
    norm = _K1 * (1 - _DOCUMENT_B + _DOCUMENT_B * chunks / max(mean_chunks, 1e-9))
    scores: NDArray[np.float64] = (frequency * (_K1 + 1) / (frequency + norm[:, None])) @ weights
    return scores
