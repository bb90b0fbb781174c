"""Calls of an embedder, and checks of its vectors."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeGuard

import numpy as np

from spanwise.models.ledger import Ledger
from spanwise.models.model_checks import translated_errors, unusable_answer
from spanwise.threads import without_turn
from spanwise.types import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.models.ports import ContextualEmbedder, Embedder
    from spanwise.types.output_cache import OutputCache

TASK = "embed"
"""Name of the task in the ledger."""


def is_contextual(embedder: Embedder) -> TypeGuard[ContextualEmbedder]:
    """Return whether an embedder is contextual, not static."""
    return hasattr(embedder, "embed_texts")


def make_embed_caller(
    embedder: Embedder | None,
    kind: Literal["document", "query"],
    *,
    cache: OutputCache,
    recorded_dimension: int = 0,
    ledger: Ledger | None = None,
) -> Embedder | None:
    """Return a caller of an embedder for documents or for queries; None without an embedder.

    Args:
        embedder: Static or contextual embedder; None if there is none.
        kind: Whether parts of documents or queries are embedded.
        cache: Cache of the vectors of remote models.
        recorded_dimension: Dimension of the stored vectors; 0 if unknown.
        ledger: Ledger with the usage and cost limit of the calls; None for a new one.

    Raises:
        OptionError: If there is a cost limit, and the price of the embedder is unknown.
    """
    if embedder is None:
        return None
    if not is_contextual(embedder):
        return StaticEmbedCaller(embedder=embedder)
    ledger = Ledger() if ledger is None else ledger
    ledger.check_price(embedder.name, partial(embedder.estimate, ["price"]))
    from spanwise.models.contextual_caller import ContextualCaller

    return ContextualCaller(
        embedder=embedder,
        kind=kind,
        cache=cache,
        recorded_dimension=recorded_dimension,
        ledger=ledger,
    )


def embedding_usage(embedder: Embedder | None) -> Usage:
    """Return the usage so far of the calls of an embedder; zero for a static embedder or None."""
    if embedder is None or isinstance(embedder, StaticEmbedCaller):
        return Usage()
    from spanwise.models.contextual_caller import ContextualCaller

    if not isinstance(embedder, ContextualCaller):
        return Usage()
    return embedder.ledger.usage_by_task.get(TASK, Usage())


@dataclass(slots=True, kw_only=True)
class WrappedEmbedder:
    """Base class of embedders that delegate to another embedder."""

    embedder: Embedder

    @property
    def name(self) -> str:
        """Return the name of the wrapped embedder."""
        return self.embedder.name

    @property
    def version(self) -> str:
        """Return the version of the wrapped embedder."""
        return self.embedder.version


@dataclass(slots=True, kw_only=True)
class StaticEmbedCaller(WrappedEmbedder):
    """Embedder that calls a static embedder, and checks its vectors."""

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        return self.embedder.dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, (n, dimension).

        Raises:
            ModelAnswerError: If vectors are missing, of another dimension or not finite.
            ModelError: If the embedder fails.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with without_turn(), translated_errors(self.name):
            vectors = self.embedder.embed(composed_texts(texts))
        return checked_vectors(vectors, (len(texts), self.dimension), name=self.name)


def composed_texts(texts: Sequence[str]) -> Sequence[str]:
    """Return texts in Unicode normal form C, so that canonically equal texts have equal vectors."""
    if all(map(str.isascii, texts)):
        return texts
    return [unicodedata.normalize("NFC", text) for text in texts]


def checked_vectors(vectors: object, shape: tuple[int, int], *, name: str) -> NDArray[np.float32]:
    """Return the vectors of an embedder as an array, after a check of their shape and values.

    Args:
        vectors: Object that the embedder returned.
        shape: Expected shape, (n, dimension).
        name: Vendor and model.

    Raises:
        ModelAnswerError: If the shape differs, or a value is not a finite number.
    """
    try:
        array = np.asarray(vectors)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    fault = ""
    if array.dtype.kind not in "fiu":
        fault = f"of the type {type(vectors).__name__}, not numbers"
    elif array.shape != shape:
        fault = f"of the shape {array.shape}"
    elif not np.isfinite(array).all():
        fault = "not finite"
    if fault:
        raise unusable_answer(
            name,
            f"gave vectors that are {fault}, and {shape} is expected; if the model "
            "changed, embed all documents again with `spanwise rebuild`",
        )
    return array
