"""Chunks that say the same: boilerplate that stands in many documents.

Rules:
    Two chunks are copies when they hold the same numbers and nearly the same runs of three words.
    A row of a table with other figures is no copy, whatever its words.
    Chunks that the question tells apart are no copies of each other for this question: those that
    do not hold the same of its terms.
    Of a group of copies the chunk stands for all whose document holds the most shares: so that
    one document shows the whole passage, and not a chunk from each.
    The chunks around a copy have shares because it stands there: they go with it, as far as shares
    fall, but for what a query finds best.
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
_LEAST_RUNS = 10  # shorter texts are headings and phrases
_LEAST_ALIKE = 0.8
_LENGTH_RATIO = 0.9
_IMPACT_GAP = 0.12
_COSINE_GAP = 0.03
_DIGIT_GAP = 0.01
_SLOPE = 5  # chunks on either side of a copy that may have their share from it


def alike_pairs(
    passages: Passages, rows: NDArray[np.int64], documents: NDArray[np.int64], *, shown: Bools
) -> list[tuple[int, int]]:
    """Return pairs of chunks of two documents that may be copies, by what a question knows of them.

    Args:
        passages: Raw material of the question.
        rows: Its candidates, (n,).
        documents: Document of each candidate, (n,).
        shown: Candidates that may come to be shown, (n,); one of a pair is such a chunk.

    Returns:
        Pairs of positions in `rows`, a shown one first; of two shown ones the smaller.
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
    """Return a number for each chunk, (n,): the same where chunks hold the same terms, 0 for none.

    A query searches by 64 terms at most: each has its bit.

    Args:
        impacts: Of the terms of one query in each chunk, (T, n).
    """
    keys = np.zeros(impacts.shape[1], dtype=np.uint64)
    for number, row in enumerate(impacts):
        keys ^= (row > 0).astype(np.uint64) << np.uint64(number % 64)
    return keys


def _same_terms(impacts: NDArray[np.float32], shown: Bools) -> list[NDArray[np.int64]]:
    """Return groups of two and more chunks, a shown one among them, that hold the same terms."""
    keys = term_keys(impacts)
    rows = np.flatnonzero(np.isin(keys, keys[shown]) & (keys != 0))
    order = rows[np.argsort(keys[rows], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
    return [group for group in groups if len(group) > 1]


@dataclass(frozen=True, slots=True)
class TextMarks:
    """What tells whether two texts say the same."""

    numbers: tuple[str, ...]
    """Sorted, with repetitions."""
    runs: frozenset[tuple[str, ...]]
    """Three words in a row; of Chinese and Japanese, which have no spaces, three characters."""

    @classmethod
    def of(cls, text: str) -> TextMarks:
        """Return the marks of a text."""
        words = _WORD.findall(text.casefold())
        return cls(
            tuple(sorted(_NUMBER.findall(text))),
            frozenset(zip(words, words[1:], words[2:], strict=False)),
        )


def are_copies(one: TextMarks, other: TextMarks) -> bool:
    """Return whether two texts say the same: the same numbers, nearly the same words in a row."""
    if min(len(one.runs), len(other.runs)) < _LEAST_RUNS or one.numbers != other.numbers:
        return False
    return len(one.runs & other.runs) >= _LEAST_ALIKE * len(one.runs | other.runs)


def originals(
    pairs: Sequence[tuple[int, int]],
    *,
    shares: NDArray[np.float64],
    documents: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the row that stands for each row, (n,): its own where it has no copy.

    Args:
        pairs: Rows that are copies of each other.
        shares: Share of each row, (n,).
        documents: Document of each row, (n,).
    """
    leader = np.arange(len(shares))
    for one, other in pairs:
        first, second = _root(leader, one), _root(leader, other)
        leader[max(first, second)] = min(first, second)
    members: dict[int, list[int]] = {}
    for row in sorted({row for pair in pairs for row in pair}):
        members.setdefault(_root(leader, row), []).append(row)
    held = np.bincount(documents, shares)
    for group in members.values():
        best = min(group, key=lambda row: (-held[documents[row]], -shares[row], row))
        leader[group] = best
    return leader


def _root(leader: NDArray[np.int64], row: int) -> int:
    while leader[row] != row:
        row = int(leader[row])
    return row


def shares_without_copies(
    shares: NDArray[np.float64],
    copy_of: NDArray[np.int64],
    *,
    starts: NDArray[np.int64],
    kept: Sequence[int] = (),
) -> NDArray[np.float64]:
    """Return shares in which a text counts once, (n,): the chunk that stands for it has them all.

    Args:
        shares: Share of each row, (n,).
        copy_of: Row that stands for each, (n,).
        starts: First row of each range, ascending, (r,).
        kept: Rows that go with no copy beside them.
    """
    once = np.bincount(copy_of, shares, minlength=len(shares)).astype(np.float64)
    ends = np.append(starts[1:], len(shares))
    copies = np.flatnonzero(copy_of != np.arange(len(shares)))
    stays = np.isin(np.arange(len(shares)), [*copy_of[copies].tolist(), *kept])
    homes = np.searchsorted(starts, copies, side="right") - 1
    for row, at in zip(copies.tolist(), homes.tolist(), strict=True):
        left = range(row - 1, max(int(starts[at]), row - _SLOPE) - 1, -1)
        right = range(row + 1, min(int(ends[at]), row + _SLOPE + 1))
        for side in (left, right):
            last = shares[row]
            for near in side:
                if shares[near] > last or stays[near]:
                    break
                last = shares[near]
                once[near] = 0.0
    return once
