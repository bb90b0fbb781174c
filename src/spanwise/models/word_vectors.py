"""Vectors of single words. Their cosine measures how similar two words are in meaning.

The WordLlama token vectors of a word are summed and normalised to unit length, a fixed mean is
subtracted, and the difference is normalised again. The mean is a large part of every word vector;
without the subtraction, all cosines would be high. `benchmarks/word_mean.py` computed the mean.
Without the package `wordllama`, words have no vectors.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.ranking.vectors import quantise_rows
from spanwise.loading import package_text
from spanwise.models.providers.wordllama import WordLlama, find_wordllama

if TYPE_CHECKING:
    from numpy.typing import NDArray


_VERSION = "1"  # version of the vectors; a change rebuilds indexes
_BLOCK_WORDS = 2_048
_MAX_WORDS = 50_000  # maximum size of the cache, about 20 MB
_ROW = np.dtype([("integers", np.int8, WordLlama.dimension), ("scale", np.float32)])


@lru_cache(maxsize=1)
def word_vectors_version() -> str:
    """Return the version of the word vectors; "" without the package `wordllama`.

    An index with another version is rebuilt.
    """
    return "" if find_wordllama() is None else _VERSION


def quantise_words(words: Sequence[str]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return the quantised vectors of words and their scales (see `core.ranking.vectors`).

    Args:
        words: Words in lower case, none empty, (n,).

    Returns:
        The integers, (n, 256), or (n, 0) without word vectors, and the scales, (n,).

    Raises:
        StoreError: If the files of `wordllama` are damaged.
    """
    if not word_vectors_version():
        return np.zeros((len(words), 0), dtype=np.int8), np.zeros(len(words), dtype=np.float32)
    return _word_rows().read(words)


def unit_word_vectors(words: Sequence[str], model: WordLlama) -> NDArray[np.float64]:
    """Return the sum of the token vectors of each word, normalised to unit length, (n, 256)."""
    return _at_unit_length(model.sum_tokens(words).astype(np.float64))


def _at_unit_length(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


@lru_cache(maxsize=1)
def _word_rows() -> _WordRows:
    return _WordRows()


class _WordRows:
    """Cache of the quantised vectors of words. Thread-safe."""

    def __init__(self) -> None:
        self._model = WordLlama()
        text = package_text("spanwise.models", "word_mean.json")
        self._mean = np.array(json.loads(text), dtype=np.float64)
        self._lock = threading.Lock()
        self._rows: dict[str, bytes] = {}

    def read(self, words: Sequence[str]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Return the quantised vectors of words, (n, 256), and their scales, (n,)."""
        table = np.empty(len(words), dtype=_ROW)
        for first in range(0, len(words), _BLOCK_WORDS):
            block = words[first : first + _BLOCK_WORDS]
            with self._lock:
                self._learn(block)
                data = b"".join([self._rows[word] for word in block])
            table[first : first + len(block)] = np.frombuffer(data, dtype=_ROW)
        return np.ascontiguousarray(table["integers"]), np.ascontiguousarray(table["scale"])

    def _learn(self, words: Sequence[str]) -> None:
        if len(self._rows) > _MAX_WORDS:
            self._rows.clear()
        new = [word for word in dict.fromkeys(words) if word not in self._rows]
        if not new:
            return
        rows = np.empty(len(new), dtype=_ROW)
        units = unit_word_vectors(new, self._model)
        rows["integers"], rows["scale"] = quantise_rows(units - self._mean)
        data, size = rows.tobytes(), _ROW.itemsize
        self._rows.update(
            (word, data[place : place + size])
            for word, place in zip(new, range(0, len(data), size), strict=True)
        )
