"""Cosines of texts with a question, by the embedder of a knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from spanwise.calls.embedding import embedding_usage, one_side

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.ports import Embedder
    from spanwise.query import Searcher
    from spanwise.types import Usage

__all__ = ["TextVectors"]

_BATCH = 4_096


class TextVectors:
    """Cosines of texts with a question."""

    def __init__(self, texts: Sequence[str], *, searcher: Searcher) -> None:
        """Embed texts; what an embedder on a network made is kept in the knowledge base.

        Args:
            texts: The texts.
            searcher: That of a knowledge base with an embedder, which is taken.

        Raises:
            ModelError: If the embedder fails.
        """
        self._searcher = searcher
        side = self._side("document")
        batches = [texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH)]
        self._vectors = np.concatenate(
            [np.zeros((0, side.dimension), np.float32), *(_units(side.embed(b)) for b in batches)]
        )

    def scores(self, question: str) -> tuple[NDArray[np.float64], Usage]:
        """Return the cosine of each text, (n,), and what the embedder took for the question."""
        side = self._side("query")
        vector = _units(side.embed([question]))[0]
        return (self._vectors @ vector).astype(np.float64), embedding_usage(side)

    def _side(self, kind: Literal["document", "query"]) -> Embedder:
        side = one_side(self._searcher.embedder, kind, cache=self._searcher.store)
        assert side is not None  # noqa: S101 - `check_method` looks first
        return side


def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
