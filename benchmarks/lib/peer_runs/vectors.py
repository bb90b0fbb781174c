"""Embedder and exact vector search shared by all peers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spanwise.models.providers.wordllama import WordLlama

_BATCH = 512
_STATIC = WordLlama()
DIMENSION = _STATIC.dimension


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return the static vectors of texts, as lists."""
    rows: list[list[float]] = []
    for at in range(0, len(texts), _BATCH):
        rows += _STATIC.embed(list(texts[at : at + _BATCH])).tolist()
    return rows


class ExactVectors:
    """Exact cosine search over all vectors in scope, in place of the stores of the frameworks."""

    def __init__(self) -> None:
        self.scope: tuple[str, ...] | None = None
        self._keys: list[str] = []
        self._documents: list[str] = []
        self._blocks: list[NDArray[np.float32]] = []

    def add(
        self, keys: Sequence[str], vectors: Sequence[Sequence[float]], documents: Sequence[str]
    ) -> None:
        """Add vectors, each with a key and a document."""
        if not keys:
            return
        rows = np.array(vectors, dtype=np.float32)
        self._keys += keys
        self._documents += documents
        self._blocks.append(rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9))

    def nearest(self, vector: Sequence[float], count: int) -> list[tuple[str, float]]:
        """Return the keys and cosines of the nearest vectors in scope, best first."""
        if len(self._blocks) > 1:
            self._blocks = [np.concatenate(self._blocks)]
        query = np.array(vector, dtype=np.float32)
        cosines = self._blocks[0] @ (query / (np.linalg.norm(query) + 1e-9))
        if self.scope is not None:
            inside = np.isin(np.array(self._documents), self.scope)
            cosines = np.where(inside, cosines, -np.inf)
        order = np.argsort(-cosines, kind="stable")[:count]
        return [(self._keys[at], float(cosines[at])) for at in order if cosines[at] > -np.inf]
