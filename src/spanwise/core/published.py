"""The published method: values from relevance, rank and length, segments chosen greedily.

Rules:
    A chunk's value for a query is `(relevance * exp(-rank / decay) - penalty) * length /
    reference`; a chunk that the query did not find has relevance 0.
    Only documents that hold one of the best chunks of some query are looked at.
    Each query values chunks by itself; a chunk that several queries find counts once for each.

This is relevant segment extraction as dsRAG 0.5.6 does it. Earlier versions took the length as it
is ("proportional"), without any for chunks that were not found, and then with a floor of 350.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.greedy import GreedyRun, extract_greedily
from spanwise.core.nesting import NumbersByDocument, by_document
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from spanwise.options import PublishedOptions

__all__ = ["RankedChunk", "extract_published", "published_values"]

RankedChunk = tuple[int, int, float]
"""Index of a document, index of a chunk in it, and relevance in [0, 1]."""


def published_values(
    relevances: ArrayLike,
    ranks: ArrayLike,
    lengths_chars: ArrayLike,
    *,
    options: PublishedOptions,
) -> NDArray[np.float64]:
    """Return the value of each chunk for one query, (n,).

    Args:
        relevances: Of each chunk, in [0, 1]; of one that was not found it does not count.
        ranks: Rank of each, from 0, which is best; -1 for one that was not found.
        lengths_chars: Length of each in characters.
        options: Penalty, decay and formula of length.

    Raises:
        OptionError: If the lengths of the lists differ.
    """
    relevance = np.asarray(relevances, dtype=np.float64)
    rank = np.asarray(ranks, dtype=np.int64)
    length = np.asarray(lengths_chars, dtype=np.float64)
    if not relevance.shape == rank.shape == length.shape:
        raise OptionError(
            f"there are {relevance.shape!r} relevances, {rank.shape!r} ranks and {length.shape!r} "
            "lengths; give one of each for each chunk"
        )
    decayed = np.where(
        rank >= 0, relevance * np.exp(-np.maximum(rank, 0) / options.rank_decay), 0.0
    )
    values = decayed - options.irrelevant_chunk_penalty
    if options.length_adjustment == "none":
        return values
    if options.unretrieved_length != "real":
        absent = options.reference_chars if options.unretrieved_length == "reference" else 0
        length = np.where(rank >= 0, length, absent)
    if options.length_adjustment == "floor":
        length = np.maximum(length, options.floor_chars)
    return np.asarray(values * (length / options.reference_chars))


def extract_published(
    rankings: Sequence[Sequence[RankedChunk]],
    lengths_chars: NumbersByDocument,
    *,
    options: PublishedOptions,
) -> list[GreedyRun]:
    """Return the segments that the published method gives for one question.

    Args:
        rankings: For each query the chunks it found, best first: document, chunk, relevance.
        lengths_chars: Length in characters of every chunk of each document, or of one document in
            a flat list.
        options: Limits, penalty, decay and formula of length; presets are its constants.

    Returns:
        Runs in the order of their choice, queries in turn; none where nothing is worth the minimum.

    Raises:
        OptionError: If a ranking names a chunk that there is not, or one twice, or a relevance is
            outside [0, 1].
    """
    lengths = by_document(lengths_chars)
    for ranking in rankings:
        _check_ranking(ranking, [len(row) for row in lengths])
    tops = [ranking[: options.document_ranks] for ranking in rankings]
    documents = sorted({document for top in tops for document, _, _ in top})
    found = {document: lengths[document] for document in documents}
    runs = extract_greedily(
        [_document_values(ranking, found, options) for ranking in rankings],
        max_segment_chunks=options.max_segment_chunks,
        budget_chunks=options.budget_chunks + options.further_query_chunks * (len(rankings) - 1),
        min_segment_value=options.min_segment_value,
    )
    return [replace(run, document=documents[run.document]) for run in runs]


def _check_ranking(ranking: Sequence[RankedChunk], counts: Sequence[int]) -> None:
    seen: set[tuple[int, int]] = set()
    for document, chunk, relevance in ranking:
        if not 0 <= document < len(counts) or not 0 <= chunk < counts[document]:
            raise OptionError(
                f"a ranking names chunk {chunk!r} of document {document!r}, which there is not; "
                "give the length of every chunk"
            )
        if not 0 <= relevance <= 1:
            raise OptionError(
                f"chunk {chunk!r} of document {document!r} has relevance {relevance!r}; it must be "
                "in [0, 1]"
            )
        if (document, chunk) in seen:
            raise OptionError(f"a ranking names chunk {chunk!r} of document {document!r} twice")
        seen.add((document, chunk))


def _document_values(
    ranking: Sequence[RankedChunk],
    lengths: Mapping[int, NDArray[np.int64]],
    options: PublishedOptions,
) -> list[NDArray[np.float64]]:
    """Return the chunk values of some documents for one query."""
    relevances = {document: np.zeros(len(row)) for document, row in lengths.items()}
    ranks = {document: np.full(len(row), -1) for document, row in lengths.items()}
    for rank, (document, chunk, relevance) in enumerate(ranking):
        if document in lengths:
            relevances[document][chunk] = relevance
            ranks[document][chunk] = rank
    return [
        published_values(relevances[document], ranks[document], row, options=options)
        for document, row in lengths.items()
    ]
