"""Inverted lists of rows or documents per term, and their merge.

Entries are moved to positions computed from counts per term, without sorting, so time and memory
grow linearly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.arrays import distinct, run_indexes

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Lists(NamedTuple):
    """Inverted lists: the rows or documents that contain each term, with a value for each entry."""

    terms: NDArray[np.uint64]
    ends: NDArray[np.int64]
    entries: NDArray[np.uint32]
    values: NDArray[np.uint8]


def merge_lists(lists: Sequence[Lists], targets: Sequence[NDArray[np.int64]]) -> Lists:
    """Return the merged lists with renumbered entries; terms without entries are left out."""
    return join_lists(
        [renumber_lists(item, target) for item, target in zip(lists, targets, strict=True)]
    )


def join_lists(moved: Sequence[Lists]) -> Lists:
    """Return the merged lists; their entries already have the final numbers."""
    terms = distinct(np.concatenate([one.terms for one in moved]))
    places = [np.searchsorted(terms, one.terms) for one in moved]
    lengths = [np.diff(one.ends) for one in moved]
    totals = np.zeros(len(terms), dtype=np.int64)
    for place, length in zip(places, lengths, strict=True):
        totals[place] += length
    ends = np.concatenate(([0], np.cumsum(totals)))
    entries = np.empty(int(ends[-1]), dtype=np.uint32)
    values = np.empty(int(ends[-1]), dtype=np.uint8)
    filled = ends[:-1].copy()
    for item, place, length in zip(moved, places, lengths, strict=True):
        target = run_indexes(filled[place], length)
        entries[target] = item.entries
        values[target] = item.values
        filled[place] += length
    return Lists(terms, ends, entries, values)


def renumber_lists(lists: Lists, targets: NDArray[np.int64]) -> Lists:
    """Return lists with renumbered entries; entries whose target is -1 are dropped."""
    entries = targets[lists.entries]
    if not (targets < 0).any():
        return lists._replace(entries=entries.astype(np.uint32))
    is_kept = entries >= 0
    before = np.concatenate(([0], np.cumsum(is_kept)))
    ends = before[lists.ends]
    used = ends[1:] > ends[:-1]
    return Lists(
        lists.terms[used],
        np.concatenate((ends[:-1][used], ends[-1:])),
        entries[is_kept].astype(np.uint32),
        lists.values[is_kept],
    )


def count_documents(
    ends: NDArray[np.int64], rows: NDArray[np.integer], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return document postings computed from row postings.

    Args:
        ends: End offsets of the row postings, (H + 1,).
        rows: Row postings, ascending per term, (P,).
        starts: First row of each document, and the total number of rows, (d + 1,).

    Returns:
        End offsets, (H + 1,); ordinals of documents, and the number of chunks with the term in each
        of them, (Q,).
    """
    return count_runs(ends, document_ordinals(starts)[rows])


def document_ordinals(starts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the ordinal of the document of each row, given the first row of each document."""
    return np.repeat(np.arange(len(starts) - 1, dtype=np.uint32), np.diff(starts))


def count_runs(
    ends: NDArray[np.int64], ordinals: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return document postings, given the ordinals of the documents of row postings.

    Args:
        ends: End offsets of the row postings, (H + 1,).
        ordinals: Ordinal of the document of each row posting, ascending per term, (P,).

    Returns:
        As `count_documents`.
    """
    first = np.ones(len(ordinals), dtype=bool)
    first[1:] = ordinals[1:] != ordinals[:-1]
    first[ends[:-1][ends[:-1] < len(first)]] = True  # a new term starts a new run
    places = np.flatnonzero(first)
    chunks = np.diff(places, append=len(ordinals)).astype(np.uint32)
    return np.searchsorted(places, ends), ordinals[places], chunks
