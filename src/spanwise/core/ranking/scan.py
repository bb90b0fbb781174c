"""What a search of a store gives to the core: counts and raw scores, no judgement.

What a store keeps of each chunk beside its terms and its vector.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.score_statistics import KEYWORD_SHARE

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanQuery:
    """What a question looks for."""

    terms: tuple[str, ...]
    """Distinct terms (`core.terms`), possibly none."""
    words: tuple[int, ...] = ()
    """Which word of the question each term stands for; terms of one word weigh what it weighs,
    counted as often as they are together. Empty where each stands for a word of its own."""
    vector: NDArray[np.float32] | None
    """Of unit length; None for keywords alone."""
    keyword_share: float = KEYWORD_SHARE
    """Weight of the keyword score in the fused score, in [0, 1]; the rest is the cosine's."""
    hits: int = 400
    """How many best chunks are wanted from each search."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and (population) standard deviation of a score over the chunks in scope."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scan:
    """What both searches saw. T terms; D documents that hold a term or a hit; H hits.

    The scope is what the filter and the named documents leave; weights of terms are counted over
    all living chunks, so that a filter never changes the score of a chunk.
    """

    chunks: int
    """Living chunks in scope."""
    documents: int
    """Documents in scope."""
    all_chunks: int
    """Living chunks of the knowledge base."""
    all_documents: int
    term_chunks: NDArray[np.int64]
    """Living chunks of the knowledge base that hold each term, (T,)."""
    title_documents: NDArray[np.int64]
    """Documents of the knowledge base whose title words hold each term, (T,)."""
    keyword: Moments
    """Of the keyword score, body and title."""
    body: Moments
    """Of the keyword score of the body alone."""
    vector: Moments | None
    """Of the cosine; None without a vector."""
    handles: NDArray[np.int64]
    """The store's own number of each document in scope with a term or a hit, ascending, (D,)."""
    document_chunks: NDArray[np.int64]
    """Chunks of each, (D,)."""
    document_terms: NDArray[np.int64]
    """How many chunks of each document hold each term, (D, T)."""
    document_titles: NDArray[np.bool_]
    """Whether the title words of each document hold each term, (D, T)."""
    hit_documents: NDArray[np.int64]
    """Position in `handles` of the document of each hit, (H,)."""
    hit_chunks: NDArray[np.int64]
    """Chunk index inside its document, (H,)."""
    hit_keywords: NDArray[np.float64]
    """Keyword score of each hit, body and title, (H,)."""
    hit_vectors: NDArray[np.float64]
    """Cosine of each hit, (H,); zeros without a vector."""


@dataclass(frozen=True, slots=True)
class PassageRange:
    """Chunks `[start, end)` of the document with this handle."""

    handle: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passages:
    """Raw material of the features: the n chunks of some ranges, one range after the other."""

    impacts: NDArray[np.float32]
    """BM25 saturation of each term in each chunk (`core.scores`), 0 where it is absent, (T, n)."""
    similarities: NDArray[np.float32]
    """Cosine of each chunk to each of the vectors asked for, (m, n)."""
    digits: NDArray[np.float32]
    """Share of digits among its characters, (n,)."""
    chars: NDArray[np.int64]
    """Length, (n,)."""
    tokens: NDArray[np.int64]
    """Length under the tokenizer of the knowledge base, (n,)."""
    openings: NDArray[np.bool_]
    """Whether each chunk begins a section of its document, (n,)."""


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_STEPS = 255


def digit_share(text: str) -> float:
    """Return the share of digits (`str.isdigit`) among the characters, 0 for an empty text.

    Rounded to multiples of 1/255, so that a store can keep it in one byte.
    """
    if not text:
        return 0.0
    digits = sum(map(text.count, "0123456789"))  # a tenth of the time of asking each character
    if not text.isascii():
        digits += sum(map(str.isdigit, "".join(_NOT_ASCII.findall(text))))
    return round(digits / len(text) * _STEPS) / _STEPS


def section_openings(sections: Sequence[int]) -> NDArray[np.bool_]:
    """Return whether each chunk of a document begins a section; its first chunk always does.

    Args:
        sections: Index of the section of each chunk, (n,).
    """
    openings = np.ones(len(sections), dtype=np.bool_)
    openings[1:] = np.diff(np.asarray(sections, dtype=np.int64)) != 0
    return openings
