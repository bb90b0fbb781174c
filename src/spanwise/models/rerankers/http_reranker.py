"""Rerankers over HTTP: Cohere, Voyage, Jina, and every server with `/rerank`.

Published references:
    Cohere    https://docs.cohere.com/reference/rerank
    Voyage    https://docs.voyageai.com/reference/reranker-api
    Jina      https://api.jina.ai/redoc#tag/rerank
    vLLM      https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html (Jina's form)
    llama.cpp https://github.com/ggml-org/llama.cpp/tree/master/tools/server (Jina's form)
    TEI       https://huggingface.github.io/text-embeddings-inference (Text Embeddings Inference)
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from math import isnan
from typing import TYPE_CHECKING

import httpx

from spanwise.errors import ModelAnswerError, ModelError, ModelKeyError, OptionError
from spanwise.models.ports import RerankReply
from spanwise.models.providers.addresses import find_place, is_own_server
from spanwise.models.providers.catalog import ModelSpec, Vendor, parse_model_spec
from spanwise.models.providers.failures import Failure, key_advice, status_failure
from spanwise.models.providers.retry import (
    RateLimiter,
    RetryState,
    SentCall,
    call_with_retries,
    make_rate_limiter,
)
from spanwise.threads import close_at_exit, run_coroutine
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.config import Secret
    from spanwise.options import ModelOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """Format of the requests and answers of one kind of server."""

    vendor: Vendor
    texts: int
    """Maximum number of texts of one call, below the limit of the server."""
    path: str = "rerank"
    """Path after the base URL."""
    texts_name: str = "documents"
    """Field of the request with the texts."""
    scores_name: str = "results"
    """Field of the answer with the list of scores; empty if the answer itself is the list."""
    score_name: str = "relevance_score"
    """Field with the score, in each entry of that list."""
    extra: tuple[tuple[str, object], ...] = ()
    """Additional fields of the request."""

    def body(self, model: str, query: str, texts: Sequence[str]) -> dict[str, object]:
        """Return the body of a request."""
        body: dict[str, object] = {"model": model, "query": query, self.texts_name: list(texts)}
        return body | dict(self.extra)


_MAX_FLOAT = sys.float_info.max  # JSON may contain larger integers, and infinity
_SERVER_KEYS, _SERVER_ADDRESS = ("RERANK_API_KEY",), "RERANK_BASE_URL"
_ALL = (
    Format(
        vendor=Vendor(
            name="cohere",
            keys=("CO_API_KEY",),
            address_variable="CO_API_URL",
            address="https://api.cohere.com",
        ),
        path="v2/rerank",
        texts=500,
    ),
    Format(
        vendor=Vendor(
            name="voyage",
            keys=("VOYAGE_API_KEY",),
            address_variable="VOYAGE_BASE_URL",
            address="https://api.voyageai.com/v1",
        ),
        texts=250,  # limit: 600,000 tokens in total, where the query counts once per text
        scores_name="data",
    ),
    Format(
        vendor=Vendor(
            name="jina",
            keys=("JINA_API_KEY",),
            address_variable="JINA_BASE_URL",
            address="https://api.jina.ai/v1",
        ),
        texts=250,
        extra=(("return_documents", False),),
    ),
    Format(
        vendor=Vendor(
            name="server",
            keys=_SERVER_KEYS,
            needs_key=False,
            address_variable=_SERVER_ADDRESS,
            is_own=True,
        ),
        texts=100,
    ),
    Format(
        vendor=Vendor(
            name="tei",
            keys=_SERVER_KEYS,
            needs_key=False,
            address_variable=_SERVER_ADDRESS,
            is_own=True,
        ),
        texts=32,  # its default for --max-client-batch-size
        texts_name="texts",
        scores_name="",
        score_name="score",
        extra=(("truncate", True),),
    ),
)
FORMATS = {form.vendor.name: form for form in _ALL}
"""Formats by vendor; "server" is any other server with `/rerank` (vLLM, llama.cpp ...)."""


def read_scores(answer: object, count: int, *, form: Format) -> list[float]:
    """Return the scores of an answer, in the order of the texts.

    Args:
        answer: Parsed JSON of the answer.
        count: Number of texts.
        form: Format of the server.

    Raises:
        ValueError: If the answer has another format, or a text has no score or several.
    """
    name = form.scores_name
    entries = answer.get(name) if isinstance(answer, Mapping) else answer
    if not (isinstance(entries, list) and len(entries) == count):
        number = len(entries) if isinstance(entries, list) else "no"
        raise ValueError(f"it holds {number} scores for {count} texts")
    scores: dict[int, float] = {}
    for entry in entries:
        index, score = _number(entry, "index"), _number(entry, form.score_name)
        if index is None or index not in range(count) or index in scores or score is None:
            raise ValueError(f"it gives the text {index!r} of {count} the score {score!r}")
        scores[int(index)] = float(score)
    return [scores[index] for index in range(count)]


def read_tokens(answer: object) -> int:
    """Return the input tokens that a server reports; 0 if it reports none."""
    if not isinstance(answer, Mapping):
        return 0
    usage, meta = answer.get("usage"), answer.get("meta")
    counts: list[object] = []
    if isinstance(usage, Mapping):
        counts = [usage.get("total_tokens"), usage.get("prompt_tokens")]
    elif isinstance(meta, Mapping) and isinstance(meta.get("tokens"), Mapping):
        counts = [meta["tokens"].get("input_tokens")]
    # Cohere reports integers as floats.
    numbers = (number for number in counts if isinstance(number, int | float))
    return next((int(number) for number in numbers if 0 <= number <= _MAX_FLOAT), 0)


def _number(entry: object, name: str) -> int | float | None:
    """Return the number in a field; None if there is none in the range of a float."""
    value = entry.get(name) if isinstance(entry, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= _MAX_FLOAT else None


_MAX_ANSWER_BYTES = 32_000_000
_MESSAGE_CHARS = 300
_CHARS_PER_TOKEN = 4


class HttpReranker:
    """Reranker over HTTP; its calls run on the event loop that all clients share."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        form: Format,
        address: str,
        secret: Secret | None,
        options: ModelOptions,
    ) -> None:
        """Create the reranker; nothing is sent.

        Args:
            spec: The parsed name of the model.
            form: Format of the server.
            address: Base URL.
            secret: API key; None for none.
            options: Options of the calls.
        """
        self._spec = spec
        self._form = form
        self._url = f"{address}/{form.path}"
        self._secret = secret
        self._options = options

    @property
    def name(self) -> str:
        """Return vendor and model."""
        return self._spec.name

    @property
    def _cost(self) -> float | None:
        """Cost of a call: 0 on a self-hosted server, unknown elsewhere."""
        return 0.0 if is_own_server(self._url) else None

    def estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """Return the usage of a call: free on a self-hosted server, of unknown cost elsewhere."""
        del query, texts
        return Usage(cost=self._cost)

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        """Return how well each text answers the query.

        Raises:
            ModelError: If the server fails, refuses or cannot be reached, after all retries.
        """
        size = self._form.texts
        groups = [texts[start : start + size] for start in range(0, len(texts), size)]
        replies = run_coroutine(self._rerank_all(query, groups))
        return RerankReply(
            scores=tuple(score for reply in replies for score in reply.scores),
            usage=sum((reply.usage for reply in replies), Usage()),
        )

    async def _rerank_all(self, query: str, groups: Sequence[Sequence[str]]) -> list[RerankReply]:
        calls = [asyncio.ensure_future(self._rerank(query, group)) for group in groups]
        try:
            return await asyncio.gather(*calls)
        finally:
            for call in calls:  # after a failure the other replies are not used
                call.cancel()

    async def _rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        key = "" if self._secret is None else self._secret.reveal()
        is_self_hosted = self._spec.vendor.is_own
        limiter = _limiter(os.getpid(), self._url, key, is_self_hosted=is_self_hosted)
        state = RetryState(limiter=limiter, options=self._options)
        chars = sum(map(len, texts)) + len(query) * len(texts)
        answer = await call_with_retries(
            partial(self._post, self._form.body(self._spec.model, query, texts)),
            state=state,
            tokens=chars // _CHARS_PER_TOKEN,
            translate=self._translate,
        )
        try:
            scores = read_scores(answer, len(texts), form=self._form)
        except ValueError as error:
            raise self._failed(
                f"gave an answer that cannot be used: {error}", ModelAnswerError
            ) from error
        usage = Usage(
            calls=1,
            retries=state.retries,
            input_tokens=read_tokens(answer),
            cost=self._cost,
        )
        return RerankReply(scores=tuple(scores), usage=usage)

    async def _post(self, body: Mapping[str, object], sent: SentCall) -> object:
        """Return the parsed JSON of the answer."""
        headers = {"Accept-Encoding": "identity"}
        if self._secret is not None:
            headers["Authorization"] = f"Bearer {self._secret.reveal()}"
        async with _client(os.getpid()).stream(
            "POST", self._url, json=body, headers=headers, timeout=self._options.timeout_seconds
        ) as response:
            encoding = response.headers.get("content-encoding", "identity")
            if encoding.strip().lower() != "identity":
                # A compressed answer was not asked for, and can expand to any size in one piece.
                raise self._failed(
                    f"answered with Content-Encoding {encoding[:100]!r}; only answers that are not "
                    "compressed are read",
                    ModelAnswerError,
                )
            data = bytearray()
            async for block in response.aiter_raw():
                data += block
                if len(data) > _MAX_ANSWER_BYTES:
                    raise self._failed("answered more than 32 MB", ModelAnswerError)
        if response.status_code != httpx.codes.OK:
            raise _StatusError(response, bytes(data))
        answer: object = json.loads(data)
        sent.tokens = read_tokens(answer) or sent.tokens
        return answer

    def _translate(self, error: Exception) -> Failure:
        """Return the failure of an exception, without a cause, which may contain the key."""
        if isinstance(error, _StatusError):
            message = error.message if self._secret is None else self._secret.hide_in(error.message)
            return status_failure(
                error.status,
                message,
                spec=self._spec,
                retry_after_seconds=error.retry_after_seconds,
            )
        if isinstance(error, TimeoutError | httpx.TimeoutException):
            fault = f"did not answer within {self._options.timeout_seconds:g} seconds"
            advice = "try later, allow more timeout_seconds, or lower concurrency"
            return Failure(error=self._failed(f"{fault}; {advice}"), timed_out=True)
        if isinstance(error, httpx.TransportError):
            message = str(error) if self._secret is None else self._secret.hide_in(str(error))
            fault = f"cannot be reached at {self._url}, or broke off: {message}"
            return Failure(error=self._failed(f"{fault}; check the address and the network"))
        return Failure(
            error=self._failed(f"gave an answer that is not JSON: {type(error).__name__}")
        )

    def _failed(self, fault: str, kind: type[ModelError] = ModelError) -> ModelError:
        return kind(
            f"{self.name} {fault}",
            provider=self._spec.vendor.name,
            model=self._spec.model,
            retryable=kind is ModelError,
        )


@cache
def _limiter(process: int, url: str, key: str, *, is_self_hosted: bool) -> RateLimiter:
    """Return the rate limiter of one address and key, shared by all rerankers of a process."""
    del process, url, key  # the cache key
    return make_rate_limiter(is_self_hosted=is_self_hosted)


@cache
def _client(process: int) -> httpx.AsyncClient:
    """Return the HTTP client that all rerankers of a process share until it ends."""
    del process  # the cache key
    client = httpx.AsyncClient()
    close_at_exit(client.aclose)
    return client


class _StatusError(Exception):
    """Answer with another status than 200."""

    def __init__(self, response: httpx.Response, data: bytes) -> None:
        super().__init__(f"status {response.status_code}")
        self.status = response.status_code
        self.message = _error_message(data)
        self.retry_after_seconds = _retry_after_seconds(response.headers.get("retry-after", ""))


def _error_message(data: bytes) -> str:
    """Return the message in the body of an error, unwrapped from the JSON around it."""
    try:
        body: object = json.loads(data)
    except ValueError:
        body = data.decode("utf-8", errors="replace")
    for name in ("error", "message", "detail"):
        if isinstance(body, Mapping) and name in body:
            body = body[name]
    return " ".join(str(body).split())[:_MESSAGE_CHARS]


def _retry_after_seconds(header: str) -> float | None:
    """Return the seconds of a `Retry-After` header, a number or a date; None if it has neither."""
    try:
        seconds = float(header)
    except ValueError:
        pass
    else:
        return None if isnan(seconds) else max(seconds, 0.0)
    try:
        until = parsedate_to_datetime(header).astimezone(UTC)
    except (OverflowError, ValueError):
        return None
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)


def make_http_reranker(name: str, options: ModelOptions) -> HttpReranker:
    """Return a reranker over HTTP by name; nothing is sent.

    Args:
        name: "vendor:model", or "vendor:model@address" for a self-hosted server.
        options: Options of the calls.

    Raises:
        OptionError: If the name has no usable model or address.
        ModelKeyError: If the vendor needs a key and there is none.
    """
    spec = parse_model_spec(name, vendors={key: form.vendor for key, form in FORMATS.items()})
    vendor = spec.vendor
    address, secret = find_place(spec)
    if not address:
        raise OptionError(
            f"reranker is {name!r}; it needs an address: {vendor.name}:MODEL@http://host:8080/v1, "
            f"or set {vendor.address_variable}"
        )
    if secret is None and vendor.needs_key:
        raise ModelKeyError(
            f"there is no key for {name!r}: {key_advice(vendor)}",
            provider=vendor.name,
            model=spec.model,
        )
    form = FORMATS[vendor.name]
    return HttpReranker(spec, form=form, address=address, secret=secret, options=options)
