"""Interfaces of models: embedders, tokenizers, rerankers, language models and the output cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from spanwise.models.model_checks import accepts_images, model_version

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from spanwise.types import Usage


class Embedder(Protocol):
    """Static embedder: computes vectors of texts in this process, at no cost."""

    @property
    def name(self) -> str:
        """Vendor and model, such as "wordllama:l2-supercat-256"."""

    @property
    def version(self) -> str:
        """Version of the model; it changes when the vector of the same text changes."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, (n, dimension), of any norm; zeros for an empty text."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EmbedReply:
    """Reply of a contextual embedder to one call."""

    vectors: NDArray[np.float32]
    """Vectors of the texts in their order, (n, dimension), of any norm."""
    usage: Usage
    """Usage of the call."""


class ContextualEmbedder(Embedder, Protocol):
    """Embedder whose vectors depend on the whole text; chunks are embedded with their header.

    Thread-safe, also inside a running event loop.
    """

    @property
    def is_local(self) -> bool:
        """Whether the model runs in this process; its vectors are then free and not cached."""

    @property
    def batch_texts(self) -> int:
        """Maximum number of texts of one call."""

    @property
    def concurrency(self) -> int:
        """Maximum number of concurrent calls, at least 1."""

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return an upper bound of the usage of a call, without calling the model."""

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return the vectors of at most `batch_texts` texts.

        Args:
            texts: Texts that are not blank.
            kind: Whether the texts are parts of documents or queries.

        Raises:
            ModelError: If the provider fails, refuses or cannot be reached, after all retries.
        """


class Tokenizer(Protocol):
    """Counts the tokens of texts for a reader, such as a language model."""

    @property
    def name(self) -> str:
        """Name in the settings of a knowledge base, such as "o200k_base" or "chars:4"."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, at least 1 for a text that is not empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """Request to a language model. Text of documents is fenced, in `shared` and `prompt`.

    Requests that differ only in `task` and `typical` share one cached answer.
    """

    task: str
    """Name of the task, such as "sections", for usage reports and listeners."""
    instructions: str
    """System prompt, without text of documents."""
    prompt: str
    """User prompt."""
    shared: str = ""
    """Beginning of the user prompt that many requests have in common; providers may cache it."""
    answer: type[BaseModel] | None = None
    """Pydantic model of a JSON answer; None for an answer in plain text."""
    images: tuple[bytes, ...] = ()
    """PNG files that follow the prompt."""
    max_output_tokens: int = 2_000
    """Maximum tokens of the answer."""
    temperature: float = 0.0
    """Sampling temperature, from 0 to 2."""
    typical: str = ""
    """Example of an answer, used instead of a model's answer in a dry run."""

    @property
    def schema(self) -> dict[str, Any] | None:
        """Return the JSON schema of the answer; None for plain text. Must not be modified."""
        return None if self.answer is None else _schema(self.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """Reply of a language model to one call."""

    text: str
    """Text of the answer; unvalidated JSON if the request has an `answer` model."""
    usage: Usage
    """Usage of the call."""
    model: str
    """Vendor and model that answered; the fallback if the first model failed."""
    is_cut: bool = False
    """Whether the answer was cut off at the maximum number of output tokens."""
    refusal: str = ""
    """Reason why the model or its provider's filter refused to answer; empty for an answer. A
    refusal costs as much as an answer."""


class LanguageModel(Protocol):
    """Language model. Thread-safe, also inside a running event loop.

    A model may have an attribute `version: str`, which is then part of its cache keys, and an
    attribute `accepts_images: bool`; a model without it accepts images.
    """

    @property
    def name(self) -> str:
        """Vendor and model, such as "openai:gpt-5-mini"."""

    @property
    def concurrency(self) -> int:
        """Maximum number of concurrent calls, at least 1; more calls wait."""

    def estimate(self, request: ModelRequest) -> Usage:
        """Return an estimate of the usage of a call, with the maximum number of output tokens."""

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer to a request, or a reply with a refusal.

        Raises:
            ModelError: If the provider fails or cannot be reached, after all retries.
        """

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the parts of the answer as they arrive, and then the complete reply.

        Raises:
            ModelError: As for `generate`, before or after the first part.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankReply:
    """Reply of a reranker to one call."""

    scores: tuple[float, ...]
    """Score of each text in order, on any scale; higher is better."""
    usage: Usage
    """Usage of the call."""


class Reranker(Protocol):
    """Model that scores how well texts answer a query. Thread-safe.

    A reranker may have an attribute `version: str`, which is then part of its cache keys.
    """

    @property
    def name(self) -> str:
        """Vendor and model, such as "cohere:rerank-v3.5"."""

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        """Return the score of each text for the query.

        Raises:
            ModelError: If the provider fails, refuses or cannot be reached, after all retries.
        """


@lru_cache(maxsize=64)  # a program has few answer models, each used by many calls
def _schema(answer: type[BaseModel]) -> dict[str, Any]:
    return answer.model_json_schema()


@runtime_checkable
class GroupReranker(Reranker, Protocol):
    """Reranker that reads several texts at once, so that a text may influence other scores.

    Texts are passed in groups, such as one per document, that must not influence each other.
    """

    def rerank_groups(self, query: str, groups: Sequence[Sequence[str]]) -> RerankReply:
        """Return the score of each text for the query, group by group.

        The model never reads texts of different groups in one call.

        Raises:
            ModelError: As for `rerank`.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedModel:
    """Base of language models that wrap another one and share its name, limits and estimates."""

    model: LanguageModel

    @property
    def name(self) -> str:
        """Return the name of the wrapped model, so that both share cached answers."""
        return self.model.name

    @property
    def version(self) -> str:
        """Return the version of the wrapped model; empty if it has none."""
        return model_version(self.model)

    @property
    def accepts_images(self) -> bool:
        """Return whether the wrapped model accepts images."""
        return accepts_images(self.model)

    @property
    def concurrency(self) -> int:
        """Return the maximum number of concurrent calls of the wrapped model."""
        return self.model.concurrency

    def estimate(self, request: ModelRequest) -> Usage:
        """Return the estimate of the wrapped model."""
        return self.model.estimate(request)
