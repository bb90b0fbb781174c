"""The passage of a text that is most like a quote that does not stand in it any more.

Texts are compared by their runs of five characters, so that any script will do, with or without
spaces between its words. The time is linear in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Passage", "nearest_passage"]

_RUN = 5
_MIN_SIMILARITY = 0.4  # of passages that have nothing to do with each other, none of 240 has it
_LENGTHS = (0.6, 1.0, 1.5)  # of the quote: what was cut out, or put in between
_MAX_WORD_CHARS = 40
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SPACES = {ord(character): " " for character in "\t\n\v\f\r\x85\xa0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage and how much it is like a quote."""

    start: int
    end: int
    similarity: float
    """Dice coefficient of the runs of five characters of both, in (0, 1]."""


def nearest_passage(text: str, quote: str, *, near: int) -> Passage | None:
    """Return the passage of a text that is most like a quote, whole words, if any is like it.

    Args:
        text: The text.
        quote: What is looked for; white space of any kind counts alike.
        near: Place in the text; of two passages that are as like the nearer one counts.
    """
    wanted, runs = _runs(quote), _runs(text)
    known = np.unique(wanted)
    if not len(known):
        return None
    found = np.searchsorted(known, runs)
    found[found == len(known)] = 0
    places = np.flatnonzero(known[found] == runs)
    if not len(places):
        return None
    kinds = found[places]
    weights = 1.0 / np.bincount(kinds)[kinds]  # what is everywhere tells nothing
    passages = []
    for share in _LENGTHS:
        first, last = _densest(places, weights, length=round(share * len(wanted)), near=near)
        # What the quote has before and after its part that is found was edited here.
        before = int(np.flatnonzero(wanted == runs[first])[0])
        after = len(wanted) - 1 - int(np.flatnonzero(wanted == runs[last])[-1])
        start, end = _whole_words(text, max(0, first - before), last + _RUN + after)
        similarity = _similarity(wanted, _runs(text[start:end]))
        passages.append(Passage(start=start, end=end, similarity=similarity))
    best = max(passages, key=lambda passage: (passage.similarity, passage.start - passage.end))
    return best if best.similarity >= _MIN_SIMILARITY else None


def _runs(text: str) -> NDArray[np.uint64]:
    """Return a hash of each run of five characters, in order; none of a shorter text."""
    encoded = text.translate(_SPACES).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(encoded, dtype="<u4").astype(np.uint64)
    count = max(0, len(codes) - _RUN + 1)
    hashes = np.zeros(count, dtype=np.uint64)
    for place in range(_RUN):
        hashes = hashes * _FACTOR + codes[place : place + count]
    return hashes


def _densest(
    places: NDArray[np.int64], weights: NDArray[np.float64], *, length: int, near: int
) -> tuple[int, int]:
    """Return the first and the last of the places in the window that holds most weight."""
    sums = np.concatenate(([0.0], np.cumsum(weights)))
    ends = np.searchsorted(places, places + max(1, length))
    held = sums[ends] - sums[:-1]
    best = np.flatnonzero(held >= held.max() - 1e-9)
    first = int(best[np.argmin(np.abs(places[best] - near))])
    return int(places[first]), int(places[ends[first] - 1])


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range that cuts no word, but one that is no word by its length."""
    first, last = start, min(end, len(text))
    while first > 0 and start - first < _MAX_WORD_CHARS and _joins(text, first):
        first -= 1
    while last < len(text) and last - end < _MAX_WORD_CHARS and _joins(text, last):
        last += 1
    return first, last


def _joins(text: str, place: int) -> bool:
    """Return whether the characters on both sides of a place are of one word."""
    return text[place - 1].isalnum() and text[place].isalnum()


def _similarity(wanted: NDArray[np.uint64], found: NDArray[np.uint64]) -> float:
    """Return the Dice coefficient of two multisets."""
    kinds, counts = np.unique(wanted, return_counts=True)
    others, other_counts = np.unique(found, return_counts=True)
    _, here, there = np.intersect1d(kinds, others, assume_unique=True, return_indices=True)
    common = np.minimum(counts[here], other_counts[there]).sum()
    return float(2 * common / (len(wanted) + len(found)))
