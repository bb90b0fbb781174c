"""Interfaces of models: embedders, tokenizers, rerankers, language models and the output cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from spanwise.models.guards import model_version
from spanwise.types.output_cache import OutputCache as OutputCache  # noqa: PLC0414 - exported

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from spanwise.types import Usage


class Embedder(Protocol):
    """Static embedder: turns texts into vectors without a cost."""

    @property
    def name(self) -> str:
        """Vendor and model, such as "wordllama:l2-supercat-256"."""

    @property
    def version(self) -> str:
        """Version of the model; a change means that the same text has another vector."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, (n, dimension), of any norm; zeros for an empty text."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EmbedReply:
    """Reply of a contextual embedder to one call."""

    vectors: NDArray[np.float32]
    """Vectors of the texts, in their order, of any norm, (n, dimension)."""
    usage: Usage


class ContextualEmbedder(Embedder, Protocol):
    """Embedder that reads a text as a whole: a chunk is embedded once, under its header.

    Thread-safe, also inside a running event loop.
    """

    @property
    def is_local(self) -> bool:
        """Whether the model runs in this process; its vectors are free and not cached."""

    @property
    def batch_texts(self) -> int:
        """Maximum number of texts of one call."""

    @property
    def concurrency(self) -> int:
        """Maximum number of concurrent calls, at least 1."""

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return an estimate of the usage of a call, an upper bound, without calling."""

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return the vectors of at most `batch_texts` texts.

        Args:
            texts: The texts; none of them is blank.
            kind: Whether they are parts of documents or queries.

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
    """One call to a language model. Text of documents is fenced, in `shared` and `prompt`.

    Requests that differ in `task` and `typical` only share one cached answer.
    """

    task: str
    """Task of the call, such as "sections", for usage by task and for listeners."""
    instructions: str
    """System prompt; never text of a document."""
    prompt: str
    """User prompt."""
    shared: str = ""
    """Text before the prompt that many calls have in common; providers may cache it."""
    answer: type[BaseModel] | None = None
    """Pydantic model of a JSON answer; None for a text."""
    images: tuple[bytes, ...] = ()
    """PNG files, placed after the prompt."""
    max_output_tokens: int = 2_000
    typical: str = ""
    """A plausible answer that is made without a model; dry runs continue with it."""

    @property
    def schema(self) -> dict[str, Any] | None:
        """Return the JSON schema of the answer, not to be changed; None for text."""
        return None if self.answer is None else _schema(self.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """Reply of a language model to one call."""

    text: str
    """Text of the answer; JSON, not yet validated, where the request has an `answer` model."""
    usage: Usage
    model: str
    """Vendor and model that answered: the fallback, if the first model failed."""
    is_cut: bool = False
    """Whether the answer ended because it was too long."""
    refusal: str = ""
    """Reason of a refusal by the model or by a filter of its provider; a refusal has no answer and
    is paid like one. Empty if the model did not refuse."""


class LanguageModel(Protocol):
    """Answers requests. Thread-safe, also inside a running event loop.

    A model may have a `version: str`, which is part of the keys of its cached answers.
    """

    @property
    def name(self) -> str:
        """Vendor and model, such as "openai:gpt-5-mini"."""

    @property
    def concurrency(self) -> int:
        """Maximum number of concurrent calls, at least 1; further calls wait."""

    def estimate(self, request: ModelRequest) -> Usage:
        """Return an estimate of the usage of a call: counted input tokens, maximum output."""

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer to a request, or a reply with a refusal.

        Raises:
            ModelError: If the provider fails or cannot be reached, after all retries.
        """

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the parts of the answer as they arrive, and last the complete reply.

        Raises:
            ModelError: As for `generate`, before the first part or later.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankReply:
    """Reply of a reranker to one call."""

    scores: tuple[float, ...]
    """Score of each text, in their order; higher is better, on any scale."""
    usage: Usage


class Reranker(Protocol):
    """Scores how well texts answer a query. Thread-safe.

    A reranker may have a `version: str`, which is part of the keys of its cached scores.
    """

    @property
    def name(self) -> str:
        """Vendor and model, such as "cohere:rerank-v3.5"."""

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        """Return how well each text answers the query.

        Raises:
            ModelError: If the provider fails, refuses or cannot be reached, after all retries.
        """


@lru_cache(maxsize=64)  # a program has few answer models, each used by many calls
def _schema(answer: type[BaseModel]) -> dict[str, Any]:
    return answer.model_json_schema()


@runtime_checkable
class GroupReranker(Reranker, Protocol):
    """Reranker that reads several texts in one call, so that one may influence another's score."""

    def rerank_groups(self, query: str, groups: Sequence[Sequence[str]]) -> RerankReply:
        """Return how well each text of each group answers the query, in their order.

        Texts of different groups are never read in one call.

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
    def concurrency(self) -> int:
        """Return the maximum number of concurrent calls of the wrapped model."""
        return self.model.concurrency

    def estimate(self, request: ModelRequest) -> Usage:
        """Return the estimate of the wrapped model."""
        return self.model.estimate(request)
