"""Hashed word counts of runs of text: a cheap picture of what each is about.

Rules:
    A word is known by its first six bytes (eight outside of ASCII) of UTF-8, small letters and
    capitals A to Z alike; words of fewer than four bytes tell nothing. Each Chinese or Japanese
    character is a word of its own.
    A count is weighted by its square root and by how few of the runs have the word.
All is done in numpy on bytes, with no Python object for a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["BUCKETS", "word_counts"]

BUCKETS = 512
_BUCKET_BITS = 9
_MIN_BYTES = 4
_KEY_BYTES = 8
_ASCII_KEY_BYTES = 6

_SMALL_LETTERS = np.uint64(0x2020202020202020)
_NOT_ASCII = np.uint64(0x8080808080808080)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, its bits well mixed: Fibonacci hashing
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(_KEY_BYTES + 1)], dtype="<u8")

_IS_WORD = np.zeros(256, dtype=np.bool_)
_IS_WORD[0x80:] = True
for _first, _last in (b"09", b"AZ", b"az"):
    _IS_WORD[_first : _last + 1] = True
_SIGNS = ((0xC2, 2), (0xE2, 3), (0xEF, 3))
"""First byte and length of characters that are mostly spaces, quotes, dashes and signs."""
_ALONE_FIRST, _ALONE_LAST, _ALONE_BYTES = 0xE3, 0xE9, 3
"""First bytes and length of Chinese and Japanese characters."""
_ALONE_SIGNS = 0x80  # second byte of those under the first of these bytes that are punctuation


def word_counts(text: str, bounds: Sequence[int]) -> NDArray[np.float32]:
    """Return the weighted counts of the words of consecutive runs of a text.

    Args:
        text: The text.
        bounds: Where the runs start, rising, and where the last one ends.

    Returns:
        Shape (runs, BUCKETS), not below 0; a row of zeros for a run without words.
    """
    encoded = [text[begin:end].encode("utf-8", "surrogatepass") for begin, end in pairwise(bounds)]
    runs = len(encoded)
    starts, keys = _word_keys(b"".join(encoded))
    run_ends = list(accumulate(map(len, encoded)))
    run_of_word = np.searchsorted(run_ends, starts, side="right")
    buckets = ((keys * _MULTIPLIER) >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
    cells = np.bincount(run_of_word * BUCKETS + buckets, minlength=runs * BUCKETS)
    counts = cells.reshape(runs, BUCKETS).astype(np.float32)
    runs_with = np.count_nonzero(counts, axis=0)
    rarity = np.log((runs + 1) / (runs_with + 0.5)).astype(np.float32)
    weighted: NDArray[np.float32] = np.sqrt(counts) * rarity
    return weighted


def _word_keys(encoded: bytes) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return where the words of a text start, in bytes, and a number for each; in no order."""
    padded = bytes(1) + encoded + bytes(_KEY_BYTES)
    codes = np.frombuffer(padded, dtype=np.uint8)
    is_word = _IS_WORD.take(codes)
    alone = np.zeros(0, dtype=np.int64)
    if not encoded.isascii():
        alone = np.flatnonzero((codes >= _ALONE_FIRST) & (codes <= _ALONE_LAST))
        _clear(is_word, alone, _ALONE_BYTES)
        is_sign = (codes[alone] == _ALONE_FIRST) & (codes[alone + 1] == _ALONE_SIGNS)
        alone = alone[~is_sign]
        for first_byte, length in _SIGNS:
            _clear(is_word, np.flatnonzero(codes == first_byte), length)
    borders = np.flatnonzero(is_word[1:] != is_word[:-1]) + 1
    starts, lengths = borders[::2], borders[1::2] - borders[::2]
    is_long = lengths >= _MIN_BYTES
    starts = np.concatenate([starts[is_long], alone])
    lengths = np.concatenate([lengths[is_long], np.full(len(alone), _ALONE_BYTES)])
    return starts - 1, _first_bytes(padded, starts, lengths)


def _clear(is_word: NDArray[np.bool_], places: NDArray[np.int64], length: int) -> None:
    for offset in range(length):
        is_word[places + offset] = False


def _first_bytes(
    padded: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return the first bytes of each word as a number."""
    every = np.ndarray((len(padded) - _KEY_BYTES + 1,), dtype="<u8", buffer=padded, strides=(1,))
    keys = every[starts] & _MASKS[np.minimum(lengths, _KEY_BYTES)]
    is_ascii = (keys & _NOT_ASCII) == 0
    found: NDArray[np.uint64] = np.where(
        is_ascii, (keys | _SMALL_LETTERS) & _MASKS[_ASCII_KEY_BYTES], keys
    )
    return found
