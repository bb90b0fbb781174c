"""Embedders of vendors, called through pydantic-ai.

If a text is too long for a model, Cohere and Voyage embed its beginning. Servers with the interface
of OpenAI reject the text, and its document fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from spanwise.errors import OptionError
from spanwise.models.ports import EmbedReply
from spanwise.models.providers.catalog import VENDORS, ModelSpec, Vendor, parse_model_spec
from spanwise.models.providers.connections import Connection, VendorClient, connect
from spanwise.models.providers.prices import price, text_tokens
from spanwise.models.providers.retry import SentCall, call_with_retries
from spanwise.threads import run_coroutine
from spanwise.types import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from openai import AsyncOpenAI
    from openai.types import CreateEmbeddingResponse
    from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult

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
_BATCH_TEXTS = 96  # lowest limit of all vendors (Cohere)
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
"""Published dimensions of models by name. Other models are called once to find the dimension."""


def make_remote_embedder(name: str, options: ModelOptions) -> RemoteEmbedder:
    """Return an embedder by name; nothing is sent.

    Args:
        name: "vendor:model", or "vendor:model@address".
        options: Options of the calls.

    Raises:
        OptionError: If the name is not usable, or the client of the vendor is not installed.
        ModelKeyError: If the API key is missing.
    """
    spec = parse_model_spec(name, vendors=_VENDORS)
    connection = connect(spec)
    model = _make_model(spec, connection)
    return RemoteEmbedder(spec=spec, options=options, connection=connection, model=model)


@dataclass(slots=True, kw_only=True, eq=False)
class RemoteEmbedder(VendorClient):
    """Embedder of a vendor."""

    model: EmbeddingModel
    """Client of the model."""
    is_local: ClassVar[bool] = False
    batch_texts: ClassVar[int] = _BATCH_TEXTS
    version: ClassVar[str] = "1"  # vendors rename changed models; other changes are not detected
    _dimension: int | None = None

    @property
    def dimension(self) -> int:
        """Return the length of a vector; the model is called if it is unknown.

        Raises:
            ModelError: If this call fails.
        """
        known = _DIMENSIONS.get(self.name) or self._dimension
        return known or self.embed_texts([_PROBE], kind="document").vectors.shape[1]

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return the estimated usage of a call, without calling the model."""
        return self._usage(sum(text_tokens(text, self.spec.vendor) for text in texts))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of parts of documents, (n, dimension); no text may be blank."""
        return self.embed_texts(texts, kind="document").vectors

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return the vectors of texts, (n, dimension).

        Raises:
            ModelError: If the provider fails after all retries, or refuses.
        """
        reply = run_coroutine(self._embed(texts, kind=kind))
        self._dimension = self._dimension or reply.vectors.shape[1]
        return reply

    async def _embed(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        state = self.new_retry_state()

        async def call(sent: SentCall) -> EmbeddingResult:
            result = await self.model.embed(
                list(texts), input_type=kind, settings={"truncate": True}
            )
            sent.tokens = result.usage.input_tokens or sent.tokens
            return result

        result = await call_with_retries(
            call,
            state=state,
            tokens=sum(map(len, texts)) // _CHARS_PER_TOKEN,
            translate=self.translate,
        )
        # Google does not report tokens.
        tokens = result.usage.input_tokens
        usage = self._usage(tokens) if tokens else self.estimate(texts)
        vectors = np.array(result.embeddings)
        if vectors.dtype.kind in "fi":  # texts would be converted too; the caller refuses them
            vectors = vectors.astype(np.float32)
        return EmbedReply(
            vectors=vectors,
            usage=replace(usage, calls=1, retries=state.retries),
        )

    def _usage(self, tokens: int) -> Usage:
        address = self.connection.address
        cost = price(self.spec, address=address, input_tokens=tokens, output_tokens=0)
        return Usage(input_tokens=tokens, cost=cost)


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

        # Retries are disabled in the client, because they are made and counted here.
        client = connection.provider.client.with_options(max_retries=0)
        _sort_embeddings(client)
        return OpenAIEmbeddingModel(spec.model, provider=OpenAIProvider(openai_client=client))
    kind = {"voyage": "voyageai"}.get(spec.vendor.name, spec.vendor.name)
    try:
        return infer_embedding_model(
            f"{kind}:{spec.model}", provider_factory=lambda _: connection.provider
        )
    except UserError as error:
        raise OptionError(f"embedder is {spec.name!r}: {error}") from error


def _sort_embeddings(client: AsyncOpenAI) -> None:
    """Make a client return vectors in the order of their texts.

    A server may send them in another order, with the number of each text (`index`), which
    pydantic-ai ignores.
    """
    embeddings: Any = client.embeddings
    create = embeddings.create

    async def create_in_order(**arguments: object) -> CreateEmbeddingResponse:
        response: CreateEmbeddingResponse = await create(**arguments)
        rows = {row.index: row for row in response.data}
        if rows.keys() == set(range(len(response.data))):  # some servers send no numbers
            response.data = [rows[number] for number in range(len(rows))]
        return response

    embeddings.create = create_in_order
