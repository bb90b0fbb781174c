"""What Spanwise asks of models: embedders, tokenizers, rerankers and language models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from spanwise.types import Usage


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """Vendor and model, such as "wordllama:l2-supercat-256"."""

    @property
    def version(self) -> str:
        """Changes when the same text would give another vector."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector a text, (n, dimension), of any length; zeros for an empty text."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EmbedReply:
    """What a model made of some texts."""

    vectors: NDArray[np.float32]
    """One a text, in their order, of any length, (n, dimension)."""
    usage: Usage


class ContextualEmbedder(Embedder, Protocol):
    """Embeds texts by a model that reads them as a whole: a chunk under its header, once.

    Safe for use by several threads, also inside a running event loop.
    """

    @property
    def is_local(self) -> bool:
        """Whether it runs in this process: its vectors cost time alone, and are not kept."""

    @property
    def batch_texts(self) -> int:
        """Most texts of one call."""

    @property
    def concurrency(self) -> int:
        """How many calls at once it takes."""

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return about what a call takes, at most, without calling."""

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return one vector for each of some texts that are not blank, at most `batch_texts`.

        Args:
            texts: The texts.
            kind: Whether they are searched, or searched for.

        Raises:
            ModelError: If the provider fails, refuses or cannot be reached, after all retries.
        """


class Tokenizer(Protocol):
    """Counts the tokens of a reader."""

    @property
    def name(self) -> str:
        """Name under which it is recorded, such as "o200k_base" or "chars:4"."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, at least 1 for a text that is not empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call to a language model. Text of documents stands in fences, in `shared` and `prompt`.

    Two requests that are equal in all but `task` and `typical` have the same answer: it is kept.
    """

    task: str
    """What it is for, such as "sections": for the usage of each task and for listeners."""
    instructions: str
    """The system prompt; never text of a document."""
    prompt: str
    """What is asked by this call."""
    shared: str = ""
    """Stands before the prompt, the same in many calls: providers that can keep it, keep it."""
    answer: type[BaseModel] | None = None
    """Form of the answer, which is JSON then; None for text."""
    images: tuple[bytes, ...] = ()
    """PNG files, which stand after the prompt."""
    max_output_tokens: int = 2_000
    typical: str = ""
    """An answer such as is expected, made without a model: `--dry-run` goes on with it."""

    @property
    def schema(self) -> dict[str, Any] | None:
        """Return the JSON schema of the answer, not to be changed; None for text."""
        return None if self.answer is None else _schema(self.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What a language model answered to one call."""

    text: str
    """The answer; where a form was asked for, what should be JSON of this form."""
    usage: Usage
    model: str
    """Which answered: the fallback, where the first one failed."""
    is_cut: bool = False
    """Whether it ended because it was too long."""
    refusal: str = ""
    """What the model, or a filter of its provider, says where it refuses: there is no answer then,
    and it was paid like one. Empty where it does not refuse."""


class LanguageModel(Protocol):
    """Answers requests. Safe for use by several threads, also inside a running event loop."""

    @property
    def name(self) -> str:
        """Vendor and model, such as "openai:gpt-5-mini"."""

    @property
    def concurrency(self) -> int:
        """How many calls at once it takes; more of them wait."""

    def estimate(self, request: ModelRequest) -> Usage:
        """Return about what a call takes, without calling: input as counted, output at most."""

    def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer to a request, or a reply that says that it is refused.

        Raises:
            ModelError: If the provider fails or cannot be reached, after all retries.
        """

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the pieces of the answer as they come, and last the whole reply.

        Raises:
            ModelError: As `generate`, before the first piece or after some.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankReply:
    """What a reranker said of some texts."""

    scores: tuple[float, ...]
    """One a text, in their order; higher is better, on a scale of its own."""
    usage: Usage


class Reranker(Protocol):
    """Says how well texts answer a query. Safe for use by several threads."""

    @property
    def name(self) -> str:
        """Vendor and model, such as "cohere:rerank-v3.5"."""

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        """Return how well each text answers the query.

        Raises:
            ModelError: If the provider fails, refuses or cannot be reached, after all retries.
        """


@lru_cache(maxsize=64)  # a program has few forms, and each is asked for in many calls
def _schema(form: type[BaseModel]) -> dict[str, Any]:
    return form.model_json_schema()


@runtime_checkable
class GroupReranker(Reranker, Protocol):
    """A reranker that reads several texts at once, so that one may sway what it says of another."""

    def rerank_groups(self, query: str, groups: Sequence[Sequence[str]]) -> RerankReply:
        """Return how well each text of each group answers the query, in their order.

        Texts of different groups are never read together.

        Raises:
            ModelError: As `rerank`.
        """


class OutputCache(Protocol):
    """Keeps what models answered, by a hash of all that was asked. Safe for several threads."""

    def get_output(self, key: str) -> str | None:
        """Return what was kept under a key, or None."""

    def put_output(self, key: str, output: str, *, task: str, model: str) -> None:
        """Keep an output, safe on disk when this returns; the first one under a key stays.

        Where nothing may be written at all, it keeps nothing and logs a warning.

        Raises:
            StoreError: If it cannot be written.
        """
