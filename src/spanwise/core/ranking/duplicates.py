"""Near-duplicate chunks, such as boilerplate that occurs in many documents.

Rules:
    Two chunks are near-duplicates if they have the same numbers and nearly the same shingles of
    three words. A table row with the same words but other figures is not a duplicate.
    Chunks that differ in the terms of the question are not duplicates for that question.
    A group of duplicates is represented by its chunk in the document with the greatest sum of
    shares. One document then shows the whole passage.
    Smoothing gives the neighbours of a duplicate a part of its share. When a duplicate is removed,
    its neighbours lose their shares too, on both sides as long as the shares decrease. The best
    chunk of a query keeps its share.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.scan import Passages

    Bools = NDArray[np.bool_]


_IDEOGRAPHS = "\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+")
_NUMBER = re.compile(r"\d+")
_MIN_SHINGLES = 10  # shorter texts are headings and phrases
_MIN_JACCARD = 0.8
_LENGTH_RATIO = 0.9
_IMPACT_GAP = 0.12
_COSINE_GAP = 0.03
_DIGIT_GAP = 0.01
_SLOPE = 5  # chunks on either side of a duplicate whose share may come from it


def candidate_pairs(
    passages: Passages, rows: NDArray[np.int64], documents: NDArray[np.int64], *, shown: Bools
) -> list[tuple[int, int]]:
    """Return pairs of chunks of different documents that may be near-duplicates by their features.

    Args:
        passages: Inputs of the features of the question.
        rows: Candidates of the question, (n,).
        documents: Document of each candidate, (n,).
        shown: Whether each candidate is likely to be in the result, (n,). Only pairs with at least
            one such candidate are returned.

    Returns:
        Pairs of positions in `rows`. The first one is `shown`; if both are, it is the smaller one.
    """
    impacts, chars = passages.impacts[:, rows], passages.chars[rows]
    digits = passages.digits[rows]
    cosines = passages.similarities[:1, rows]
    pairs: list[tuple[int, int]] = []
    for group in _same_terms(impacts, shown):
        leaders = group[shown[group]]
        alike = documents[leaders][:, None] != documents[group]
        alike &= (leaders[:, None] < group) | ~shown[group]
        alike &= np.abs(digits[leaders][:, None] - digits[group]) <= _DIGIT_GAP
        shorter = np.minimum(chars[leaders][:, None], chars[group])
        alike &= shorter >= _LENGTH_RATIO * np.maximum(chars[leaders][:, None], chars[group])
        for cosine in cosines:
            alike &= np.abs(cosine[leaders][:, None] - cosine[group]) <= _COSINE_GAP
        first, second = np.nonzero(alike)
        gap = np.abs(impacts[:, leaders[first]] - impacts[:, group[second]]).max(axis=0, initial=0)
        close = gap <= _IMPACT_GAP
        pairs += zip(leaders[first[close]].tolist(), group[second[close]].tolist(), strict=True)
    return pairs


def term_keys(impacts: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return the set of terms in each chunk as bits of an integer, (n,); 0 for no term.

    One bit per term; a query has at most 64 terms.

    Args:
        impacts: Impacts of the terms of one query in each chunk, (T, n).
    """
    keys = np.zeros(impacts.shape[1], dtype=np.uint64)
    for number, row in enumerate(impacts):
        keys ^= (row > 0).astype(np.uint64) << np.uint64(number % 64)
    return keys


def _same_terms(impacts: NDArray[np.float32], shown: Bools) -> list[NDArray[np.int64]]:
    """Return groups of two or more chunks with the same terms, at least one of them `shown`."""
    keys = term_keys(impacts)
    rows = np.flatnonzero(np.isin(keys, keys[shown]) & (keys != 0))
    order = rows[np.argsort(keys[rows], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
    return [group for group in groups if len(group) > 1]


@dataclass(frozen=True, slots=True)
class TextFingerprint:
    """Numbers and shingles of a text."""

    numbers: tuple[str, ...]
    """Numbers of the text, sorted, with repetitions."""
    shingles: frozenset[tuple[str, ...]]
    """Sequences of three words; three characters for Chinese and Japanese, which have no spaces."""

    @classmethod
    def of(cls, text: str) -> TextFingerprint:
        """Return the fingerprint of a text."""
        words = _WORD.findall(text.casefold())
        return cls(
            tuple(sorted(_NUMBER.findall(text))),
            frozenset(zip(words, words[1:], words[2:], strict=False)),
        )


def are_near_duplicates(first: TextFingerprint, second: TextFingerprint) -> bool:
    """Return whether two texts have the same numbers and similar shingles (Jaccard >= 0.8)."""
    if (
        min(len(first.shingles), len(second.shingles)) < _MIN_SHINGLES
        or first.numbers != second.numbers
    ):
        return False
    return len(first.shingles & second.shingles) >= _MIN_JACCARD * len(
        first.shingles | second.shingles
    )


def find_representatives(
    pairs: Sequence[tuple[int, int]],
    *,
    shares: NDArray[np.float64],
    documents: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the representative row of each row, (n,): itself if it has no duplicate.

    Duplicates are grouped by union-find.

    Args:
        pairs: Rows that are duplicates of each other.
        shares: Share of each row, (n,).
        documents: Document of each row, (n,).
    """
    leader = np.arange(len(shares))
    for first_row, second_row in pairs:
        first, second = _root(leader, first_row), _root(leader, second_row)
        leader[max(first, second)] = min(first, second)
    members: dict[int, list[int]] = {}
    for row in sorted({row for pair in pairs for row in pair}):
        members.setdefault(_root(leader, row), []).append(row)
    document_shares = np.bincount(documents, shares)
    for group in members.values():
        best = min(group, key=lambda row: (-document_shares[documents[row]], -shares[row], row))
        leader[group] = best
    return leader


def _root(leader: NDArray[np.int64], row: int) -> int:
    while leader[row] != row:
        row = int(leader[row])
    return row


def deduplicate_shares(
    shares: NDArray[np.float64],
    copy_of: NDArray[np.int64],
    *,
    starts: NDArray[np.int64],
    protected: Sequence[int] = (),
) -> NDArray[np.float64]:
    """Return shares in which each group of duplicates counts once, (n,).

    The representative of a group gets the sum of the group's shares.

    Args:
        shares: Share of each row, (n,).
        copy_of: Representative of each row, (n,).
        starts: First row of each range, ascending, (r,).
        protected: Rows that never lose their share as a neighbour of a duplicate.
    """
    deduplicated = np.bincount(copy_of, shares, minlength=len(shares)).astype(np.float64)
    ends = np.append(starts[1:], len(shares))
    copies = np.flatnonzero(copy_of != np.arange(len(shares)))
    is_kept = np.isin(np.arange(len(shares)), [*copy_of[copies].tolist(), *protected])
    range_indexes = np.searchsorted(starts, copies, side="right") - 1
    for row, at in zip(copies.tolist(), range_indexes.tolist(), strict=True):
        left = range(row - 1, max(int(starts[at]), row - _SLOPE) - 1, -1)
        right = range(row + 1, min(int(ends[at]), row + _SLOPE + 1))
        for side in (left, right):
            last = shares[row]
            for near in side:
                if shares[near] > last or is_kept[near]:
                    break
                last = shares[near]
                deduplicated[near] = 0.0
    return deduplicated
