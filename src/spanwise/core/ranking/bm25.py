"""BM25 in the parts that relevance needs: saturation of one term, weights of terms, documents.

The average length is a constant of the knowledge base, not of its present contents, and a
saturation is kept as one byte, so that the score of a chunk depends on nothing but its own text
and on how many living chunks hold each term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_K1 = 1.2
_B = 0.75
_DOCUMENT_B = 0.3
MAX_IMPACT = _K1 + 1
"""What the saturation of one term comes near to, however often a chunk holds it."""
IMPACT_STEP = MAX_IMPACT / 255
"""What one unit of a quantised impact is worth."""


def quantised_impacts(
    frequencies: NDArray[np.int64], lengths: NDArray[np.int64], *, reference_terms: float
) -> NDArray[np.uint8]:
    """Return the BM25 saturation of terms in chunks, in steps of `IMPACT_STEP`, from 1 to 255.

    `tf (k1 + 1) / (tf + k1 (1 - b + b length / reference))`, k1 = 1.2, b = 0.75
    (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009).

    Args:
        frequencies: How often a chunk holds a term, >= 1.
        lengths: Terms of that chunk, >= 1; same shape.
        reference_terms: Length of a chunk that is neither rewarded nor punished, in terms.
    """
    tf = frequencies.astype(np.float64)
    norm = _K1 * (1 - _B + _B * lengths.astype(np.float64) / reference_terms)
    impact = tf * (_K1 + 1) / (tf + norm)
    return np.clip(np.rint(impact / IMPACT_STEP), 1, 255).astype(np.uint8)


def inverse_frequencies(holders: ArrayLike, total: ArrayLike) -> NDArray[np.float64]:
    """Return `ln(1 + (total - holders + 0.5) / (holders + 0.5))`, the weight of a term, > 0.

    Args:
        holders: How many chunks (or documents) hold the term, from 0 to `total`.
        total: How many there are; broadcast against `holders`.
    """
    held = np.asarray(holders, dtype=np.float64)
    return np.log1p((np.asarray(total, dtype=np.float64) - held + 0.5) / (held + 0.5))


def document_scores(
    term_chunks: NDArray[np.int64],
    titles: NDArray[np.bool_],
    chunks: NDArray[np.int64],
    *,
    weights: NDArray[np.float64],
    mean_chunks: float,
) -> NDArray[np.float64]:
    """Return the BM25 score of whole documents, (documents,).

    The frequency of a term is the number of chunks that hold it, plus one where the title does,
    and the length of a document is its number of chunks: on ten datasets this ranks as counts of
    words do, and it needs no positions. k1 = 1.2, b = 0.3.

    Args:
        term_chunks: How many chunks of a document hold a term, (documents, terms).
        titles: Whether its title words hold it, (documents, terms).
        chunks: Chunks of each document, >= 1.
        weights: Weight of each term, over documents.
        mean_chunks: Mean of `chunks` over the documents of the knowledge base.
    """
    frequency = term_chunks + titles.astype(np.float64)
    norm = _K1 * (1 - _DOCUMENT_B + _DOCUMENT_B * chunks / max(mean_chunks, 1e-9))
    scores: NDArray[np.float64] = (frequency * (_K1 + 1) / (frequency + norm[:, None])) @ weights
    return scores
