"""Embedders and rerankers that a library runs in this process, one call at a time.

Most libraries download a model on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from spanwise.config import disable_telemetry
from spanwise.errors import ModelError, OptionError
from spanwise.models.model_checks import model_error, translated_errors
from spanwise.models.ports import EmbedReply, RerankReply
from spanwise.types import Usage

_Model = TypeVar("_Model")
_BATCH_TEXTS = 64


def load(name: str, make: Callable[[str], _Model]) -> _Model:
    """Load a model, and translate the errors of its library.

    Args:
        name: "library:model".
        make: Function that loads the model by its name in the library.

    Raises:
        OptionError: If the name has no model, or the library is not installed.
        ModelError: If the model does not exist or cannot be downloaded.
    """
    library, _, model = name.partition(":")
    if not model.strip():
        raise OptionError(f'model is {name!r}; it is "{library}:MODEL"')
    disable_telemetry()
    try:
        return make(model)
    except ImportError as error:
        raise OptionError(
            f"{name!r} needs a package that is not installed ({error.name}): "
            f"pip install 'spanwise[{library}]'"
        ) from error
    except Exception as error:
        message = f"{name} cannot be loaded: {error}; check its name, and that it can be downloaded"
        raise model_error(name, f"{message} or is on this machine", kind=ModelError) from error


class LocalEmbedder:
    """Contextual embedder in this process."""

    is_local = True
    batch_texts = _BATCH_TEXTS
    concurrency = 1  # a single call uses all processors

    def __init__(
        self,
        name: str,
        *,
        dimension: int,
        embed_documents: Callable[[Sequence[str]], NDArray[np.float32]],
        embed_queries: Callable[[Sequence[str]], NDArray[np.float32]],
        is_thread_safe: bool = False,
    ) -> None:
        """Create the embedder.

        Args:
            name: "library:model".
            dimension: Length of a vector.
            embed_documents: Function that returns the vectors of parts of documents, one per text.
            embed_queries: Function that returns the vectors of queries, one per text.
            is_thread_safe: Whether the functions may be called on several threads at once.
        """
        self.name = name
        self.version = "1"  # new weights with the same name are not detected
        self.dimension = dimension
        self._sides = {"document": embed_documents, "query": embed_queries}
        self._lock: AbstractContextManager[object] = nullcontext() if is_thread_safe else Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of parts of documents, (n, dimension)."""
        return self.embed_texts(texts, kind="document").vectors

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return the usage of a call: zero, because local models are free."""
        del texts
        return Usage()

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return the vectors of texts, (n, dimension).

        Raises:
            ModelError: If the library fails.
        """
        with self._lock, translated_errors(self.name):
            vectors = np.asarray(self._sides[kind](texts), dtype=np.float32)
        return EmbedReply(vectors=vectors, usage=Usage(calls=1))


class LocalReranker:
    """Cross-encoder in this process."""

    def __init__(
        self, name: str, *, score: Callable[[str, Sequence[str]], Sequence[float]]
    ) -> None:
        """Create the reranker.

        Args:
            name: "library:model".
            score: Function that returns the scores of texts for a query.
        """
        self.name = name
        self._score = score
        self._lock = Lock()

    def estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """Return the usage of a call: zero, because local models are free."""
        del query, texts
        return Usage()

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        """Return the score of each text for the query.

        Raises:
            ModelError: If the library fails.
        """
        with self._lock, translated_errors(self.name):
            scores = tuple(float(score) for score in self._score(query, texts))
        return RerankReply(scores=scores, usage=Usage(calls=1))
