"""Merging of index parts, without deleted documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from spanwise.stores.part import Part, Postings
from spanwise.stores.part_lists import Lists, count_documents, merge_lists
from spanwise.stores.words import merge_words

if TYPE_CHECKING:
    from numpy.typing import NDArray


_Item = TypeVar("_Item", bound=np.generic)


class MergeSource(NamedTuple):
    """Part to merge, and its documents to keep."""

    part: Part
    kept: NDArray[np.bool_]
    """Whether each document of the part is kept."""


class _Move(NamedTuple):
    """New positions of the rows and documents of a source; -1 for dropped ones."""

    rows: NDArray[np.int64]
    documents: NDArray[np.int64]


def merge_parts(sources: Sequence[MergeSource]) -> Part:
    """Return one part with the kept documents of all sources.

    Args:
        sources: At least one source. Their kept documents must be ascending by number, over all
            sources.

    Raises:
        ValueError: If the documents are not in order.
    """
    kept_rows = [np.repeat(s.kept, np.diff(s.part.starts)) for s in sources]
    moves = _moves(sources, kept_rows)
    numbers = np.concatenate([s.part.numbers[s.kept] for s in sources])
    if (np.diff(numbers) <= 0).any():
        raise ValueError(f"the documents of the parts to merge are not in order: {numbers!r}")
    counts = np.concatenate([np.diff(s.part.starts)[s.kept] for s in sources])
    starts = np.concatenate(([0], np.cumsum(counts)))
    body = merge_lists(
        [Lists(b.terms, b.ends, b.rows, b.impacts) for b in (s.part.body for s in sources)],
        [move.rows for move in moves],
    )
    title = merge_lists(
        [
            Lists(p.title_terms, p.title_ends, p.title_documents, _no_values(p.title_documents))
            for p in (s.part for s in sources)
        ],
        [move.documents for move in moves],
    )
    document_ends, documents, chunks = count_documents(body.ends, body.entries, starts)
    return Part(
        numbers=numbers,
        starts=starts,
        vectors=_gather([s.part.vectors for s in sources], kept_rows),
        scales=_gather([s.part.scales for s in sources], kept_rows),
        digits=_gather([s.part.digits for s in sources], kept_rows),
        chars=_gather([s.part.chars for s in sources], kept_rows),
        tokens=_gather([s.part.tokens for s in sources], kept_rows),
        openings=_gather([s.part.openings for s in sources], kept_rows),
        body=Postings(
            terms=body.terms,
            ends=body.ends,
            rows=body.entries,
            impacts=body.values,
            document_ends=document_ends,
            documents=documents,
            chunks=chunks,
        ),
        title_terms=title.terms,
        title_ends=title.ends,
        title_documents=title.entries,
        words=merge_words([(s.part.words, s.kept) for s in sources]),
    )


def _no_values(entries: NDArray[np.uint32]) -> NDArray[np.uint8]:
    return np.zeros(len(entries), dtype=np.uint8)


def _gather(arrays: Sequence[NDArray[_Item]], kept: Sequence[NDArray[np.bool_]]) -> NDArray[_Item]:
    return np.concatenate(
        [array if mask.all() else array[mask] for array, mask in zip(arrays, kept, strict=True)]
    )


def _moves(sources: Sequence[MergeSource], kept_rows: Sequence[NDArray[np.bool_]]) -> list[_Move]:
    moves = []
    row = document = 0
    for source, rows in zip(sources, kept_rows, strict=True):
        moves.append(_Move(_targets(rows, row), _targets(source.kept, document)))
        row += int(np.count_nonzero(rows))
        document += int(np.count_nonzero(source.kept))
    return moves


def _targets(kept: NDArray[np.bool_], first: int) -> NDArray[np.int64]:
    """Return the new position of each item, counted from `first`; -1 for dropped items."""
    return np.where(kept, first + np.cumsum(kept) - 1, -1)
