"""Adapter to the embedders of pydantic-ai.

Vendors that truncate (Cohere, Voyage) embed the beginning of a text that is too long for a model.
Servers with the interface of OpenAI refuse such a text, and its document fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from spanwise.errors import OptionError
from spanwise.models.ports import EmbedReply
from spanwise.models.providers.catalog import VENDORS, ModelSpec, Vendor, parse_model_spec
from spanwise.models.providers.connections import connect
from spanwise.models.providers.failures import Failure, translate
from spanwise.models.providers.prices import price, text_tokens
from spanwise.models.providers.retry import RetryState, call_with_retries
from spanwise.threads import run_coroutine
from spanwise.types import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult

    from spanwise.models.providers.connections import Connection
    from spanwise.models.providers.retry import SentCall
    from spanwise.options import ModelOptions


_VENDORS = {
    **{
        name: VENDORS[name]
        for name in ("bedrock", "cohere", "compatible", "google", "ollama", "openai")
    },
    "voyage": Vendor(
        name="voyage",
        keys=("VOYAGE_API_KEY",),
        extra="voyage",
        address_variable="VOYAGE_BASE_URL",
    ),
}
_BATCH_TEXTS = 96  # the limit of Cohere, the lowest of all vendors
_CHARS_PER_TOKEN = 4
_PROBE = "length"
_DIMENSIONS = {
    "openai:text-embedding-3-small": 1_536,
    "openai:text-embedding-3-large": 3_072,
    "openai:text-embedding-ada-002": 1_536,
    "cohere:embed-v4.0": 1_536,
    "cohere:embed-english-v3.0": 1_024,
    "cohere:embed-multilingual-v3.0": 1_024,
    "google:gemini-embedding-001": 3_072,
    "voyage:voyage-3.5": 1_024,
    "voyage:voyage-3.5-lite": 1_024,
    "voyage:voyage-3-large": 1_024,
    "bedrock:amazon.titan-embed-text-v2:0": 1_024,
    "bedrock:cohere.embed-english-v3": 1_024,
    "bedrock:cohere.embed-multilingual-v3": 1_024,
}
"""Published dimensions of models; the dimension of another model is found by one call."""


def make_remote_embedder(name: str, options: ModelOptions) -> RemoteEmbedder:
    """Return an embedder by name; nothing is sent.

    Args:
        name: "vendor:model", or "vendor:model@address".
        options: Options of the calls.

    Raises:
        OptionError: If the name is not usable, or the client of the vendor is not installed.
        ModelKeyError: If there is no key.
    """
    spec = parse_model_spec(name, vendors=_VENDORS)
    return RemoteEmbedder(spec, options=options, connection=connect(spec))


class RemoteEmbedder:
    """Embedder of a vendor."""

    is_local = False
    batch_texts = _BATCH_TEXTS
    version = "1"  # vendors rename changed models; other changes are not detected

    def __init__(self, spec: ModelSpec, *, options: ModelOptions, connection: Connection) -> None:
        self._spec = spec
        self._options = options
        self._connection = connection
        self._model = _make_model(spec, connection)
        self._dimension = _DIMENSIONS.get(spec.name)

    @property
    def name(self) -> str:
        """Return vendor and model."""
        return self._spec.name

    @property
    def concurrency(self) -> int:
        """Return the maximum number of concurrent calls to the provider."""
        return self._options.concurrency or self._connection.limiter.default_concurrency

    @property
    def dimension(self) -> int:
        """Return the length of a vector; an unknown one is found by one call.

        Raises:
            ModelError: If that call fails.
        """
        if self._dimension is None:
            self.embed_texts([_PROBE], kind="document")
        return self._dimension or 0

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return the estimated usage of a call, without calling."""
        return self._usage(sum(text_tokens(text, self._spec.vendor) for text in texts))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts as parts of documents; none of them may be blank."""
        return self.embed_texts(texts, kind="document").vectors

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return the vectors of texts.

        Raises:
            ModelError: If the provider fails after all retries, or refuses.
        """
        reply = run_coroutine(self._embed(texts, kind=kind))
        if self._dimension is None:
            self._dimension = reply.vectors.shape[1]
        return reply

    async def _embed(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        state = RetryState(limiter=self._connection.limiter, options=self._options)

        async def call(sent: SentCall) -> EmbeddingResult:
            result = await self._model.embed(
                list(texts), input_type=kind, settings={"truncate": True}
            )
            sent.tokens = result.usage.input_tokens or sent.tokens
            return result

        result = await call_with_retries(
            call,
            state=state,
            tokens=sum(map(len, texts)) // _CHARS_PER_TOKEN,
            translate=self._translate,
        )
        # Google does not report its tokens.
        tokens = result.usage.input_tokens
        usage = self._usage(tokens) if tokens else self.estimate(texts)
        return EmbedReply(
            vectors=np.array(result.embeddings, dtype=np.float32),
            usage=replace(usage, calls=1, retries=state.retries),
        )

    def _usage(self, tokens: int) -> Usage:
        cost = price(
            self._spec,
            address=self._connection.address,
            input_tokens=tokens,
            output_tokens=0,
        )
        return Usage(input_tokens=tokens, cost=cost)

    def _translate(self, error: Exception) -> Failure:
        return translate(
            error,
            spec=self._spec,
            secret=self._connection.secret,
            timeout_seconds=self._options.timeout_seconds,
        )


def _make_model(spec: ModelSpec, connection: Connection) -> EmbeddingModel:
    """Return the client of a model.

    Raises:
        OptionError: If the vendor has no such model.
    """
    from pydantic_ai.embeddings import infer_embedding_model
    from pydantic_ai.exceptions import UserError

    if spec.vendor.name in ("openai", "ollama", "compatible"):
        from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
        from pydantic_ai.providers.openai import OpenAIProvider

        # Retries are made and counted here, not by the client.
        client = connection.provider.client.with_options(max_retries=0)
        return OpenAIEmbeddingModel(spec.model, provider=OpenAIProvider(openai_client=client))
    kind = {"voyage": "voyageai"}.get(spec.vendor.name, spec.vendor.name)
    try:
        return infer_embedding_model(
            f"{kind}:{spec.model}", provider_factory=lambda _: connection.provider
        )
    except UserError as error:
        raise OptionError(f"embedder is {spec.name!r}: {error}") from error
