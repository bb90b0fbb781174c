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
from functools import cached_property
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
_ASCII_WORDS, _ASCII_NUMBERS = (  # for `str.translate`, which finds the same much faster
    "".join(letter.lower() if pattern.match(letter) else " " for letter in map(chr, range(128)))
    for pattern in (_WORD, _NUMBER)
)
_MIN_SHINGLES = 10  # shorter texts are headings and phrases
_MIN_JACCARD = 0.8
_LENGTH_RATIO = 0.9
_IMPACT_GAP = 0.12
_COSINE_GAP = 0.03
_DIGIT_GAP = 0.01
_SLOPE = 5  # chunks on either side of a duplicate whose share may come from it


def candidate_pairs(
    passages: Passages, rows: NDArray[np.int64], documents: NDArray[np.int64], *, shown: Bools
) -> NDArray[np.int64]:
    """Return pairs of chunks of different documents that may be near-duplicates by their features.

    Args:
        passages: Inputs of the features of the question.
        rows: Candidates of the question, (n,).
        documents: Document of each candidate, (n,).
        shown: Whether each candidate is likely to be in the result, (n,). Only pairs with at least
            one such candidate are returned.

    Returns:
        Pairs of positions in `rows`, (p, 2). The first one is `shown`; if both are, it is the
        smaller one.
    """
    impacts, chars, digits = passages.impacts[:, rows], passages.chars[rows], passages.digits[rows]
    first, second = _same_terms(impacts, shown)
    alike = documents[first] != documents[second]
    alike &= (first < second) | ~shown[second]
    alike &= np.abs(digits[first] - digits[second]) <= _DIGIT_GAP
    shorter, longer = (
        np.minimum(chars[first], chars[second]),
        np.maximum(chars[first], chars[second]),
    )
    alike &= shorter >= _LENGTH_RATIO * longer
    for cosine in passages.similarities[:1, rows]:
        alike &= np.abs(cosine[first] - cosine[second]) <= _COSINE_GAP
    first, second = first[alike], second[alike]
    gap = np.abs(impacts[:, first] - impacts[:, second]).max(axis=0, initial=0)
    pairs: NDArray[np.int64] = np.stack([first, second], axis=1)[gap <= _IMPACT_GAP]
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


def _same_terms(
    impacts: NDArray[np.float32], shown: Bools
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all pairs of a `shown` chunk and a chunk with the same terms, at least one."""
    keys = term_keys(impacts)
    order = np.argsort(keys, kind="stable")
    leaders = np.flatnonzero(shown & (keys != 0))
    starts = np.searchsorted(keys, keys[leaders], sorter=order)
    counts = np.searchsorted(keys, keys[leaders], side="right", sorter=order) - starts
    first_pairs = np.cumsum(counts) - counts
    pairs = np.arange(counts.sum())
    return np.repeat(leaders, counts), order[pairs + np.repeat(starts - first_pairs, counts)]


@dataclass(frozen=True)
class TextFingerprint:
    """Numbers and shingles of a text, computed on first use. Most pairs differ in numbers."""

    text: str
    """The text."""

    @cached_property
    def numbers(self) -> list[str]:
        """Numbers of the text, sorted, with repetitions."""
        if self.text.isascii():
            return sorted(self.text.translate(_ASCII_NUMBERS).split())
        return sorted(_NUMBER.findall(self.text))

    @cached_property
    def words(self) -> list[str]:
        """Words of the text in order; single characters of Chinese and Japanese."""
        if self.text.isascii():
            return self.text.translate(_ASCII_WORDS).split()
        return _WORD.findall(self.text.casefold())

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The different words."""
        return frozenset(self.words)

    @cached_property
    def shingles(self) -> frozenset[tuple[str, ...]]:
        """Sequences of three words."""
        return frozenset(zip(self.words, self.words[1:], self.words[2:], strict=False))


def are_near_duplicates(first: TextFingerprint, second: TextFingerprint) -> bool:
    """Return whether two texts have the same numbers and similar shingles (Jaccard >= 0.8)."""
    if first.numbers != second.numbers:
        return False
    # A word that only one text has is in a shingle that only this text has. A shingle has at most
    # three of them, so more words than this exclude a similarity of 0.8.
    if 3 * len(first.vocabulary ^ second.vocabulary) > len(first.words) + len(second.words):
        return False
    one, other = len(first.shingles), len(second.shingles)
    if min(one, other) < max(_MIN_SHINGLES, _MIN_JACCARD * max(one, other)):
        return False
    shared = len(first.shingles & second.shingles)
    return shared >= _MIN_JACCARD * (one + other - shared)


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
    copies = np.flatnonzero(copy_of != np.arange(len(shares)))
    if not len(copies):
        return shares
    deduplicated = np.bincount(copy_of, shares, minlength=len(shares)).astype(np.float64)
    ends = np.append(starts[1:], len(shares))
    is_kept = np.zeros(len(shares), dtype=bool)
    is_kept[[*copy_of[copies].tolist(), *protected]] = True
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
