"""A model that a library runs in this process: loaded, called one at a time, its errors as ours.

The libraries download a model when it is first named, from where their documentation says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from spanwise.config import disable_telemetry
from spanwise.errors import ModelError, OptionError
from spanwise.models.ports import EmbedReply, RerankReply
from spanwise.types import Usage

_Model = TypeVar("_Model")
_BATCH_TEXTS = 64


def load(name: str, make: Callable[[str], _Model]) -> _Model:
    """Return a model.

    Args:
        name: "library:model".
        make: Loads the model of that name.

    Raises:
        OptionError: If no model is named, or its library is not installed.
        ModelError: If it cannot be loaded: there is no such model, or it cannot be downloaded.
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
        raise ModelError(
            f"{name} cannot be loaded: {error}; check its name, and that it can be downloaded or "
            "lies on this machine",
            provider=library,
            model=model,
        ) from error


@contextmanager
def _failing_as(name: str) -> Iterator[None]:
    """Turn what a library raises into an error of ours."""
    try:
        yield
    except Exception as error:
        library, _, model = name.partition(":")
        raise ModelError(
            f"{name} failed: {type(error).__name__}: {error}; try another model",
            provider=library,
            model=model,
        ) from error


class LocalEmbedder:
    """A contextual embedder in this process."""

    is_local = True
    batch_texts = _BATCH_TEXTS
    concurrency = 1  # a call uses all processors

    def __init__(
        self,
        name: str,
        *,
        dimension: int,
        embed_documents: Callable[[Sequence[str]], NDArray[np.float32]],
        embed_queries: Callable[[Sequence[str]], NDArray[np.float32]],
    ) -> None:
        """Take the two sides of a model, each from texts to one row a text.

        Args:
            name: "library:model".
            dimension: Length of a vector.
            embed_documents: Embeds what is searched.
            embed_queries: Embeds what is searched for.
        """
        self.name = name
        self.version = "1"  # files that change under the same name are not noticed
        self.dimension = dimension
        self._sides = {"document": embed_documents, "query": embed_queries}
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector a text, as of documents."""
        return self.embed_texts(texts, kind="document").vectors

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return what a call takes: nothing that is paid."""
        del texts
        return Usage()

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return one vector a text.

        Raises:
            ModelError: If the library fails.
        """
        with self._lock, _failing_as(self.name):
            vectors = np.asarray(self._sides[kind](texts), dtype=np.float32)
        return EmbedReply(vectors=vectors, usage=Usage(calls=1))


class LocalReranker:
    """A cross-encoder in this process."""

    def __init__(
        self, name: str, *, score: Callable[[str, Sequence[str]], Sequence[float]]
    ) -> None:
        """Take what scores texts for a query.

        Args:
            name: "library:model".
            score: From a query and texts to one score a text.
        """
        self.name = name
        self._score = score
        self._lock = Lock()

    def estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """Return no usage: a call in this process costs nothing."""
        del query, texts
        return Usage()

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        """Return how well each text answers the query.

        Raises:
            ModelError: If the library fails.
        """
        with self._lock, _failing_as(self.name):
            scores = tuple(float(score) for score in self._score(query, texts))
        return RerankReply(scores=scores, usage=Usage(calls=1))
