"""Rerankers over HTTP: Cohere, Voyage, Jina, and self-hosted servers with `/rerank`.

References of the interfaces:
    Cohere    https://docs.cohere.com/reference/rerank
    Voyage    https://docs.voyageai.com/reference/reranker-api
    Jina      https://api.jina.ai/redoc#tag/rerank
    vLLM      https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html (as Jina)
    llama.cpp https://github.com/ggml-org/llama.cpp/tree/master/tools/server (as Jina)
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

from spanwise.errors import ModelAnswerError, ModelError
from spanwise.models.ports import RerankReply
from spanwise.models.providers.addresses import find_access, is_own_server
from spanwise.models.providers.catalog import ModelSpec, Vendor, parse_model_spec
from spanwise.models.providers.failures import Failure, status_failure
from spanwise.models.providers.retry import (
    RateLimiter,
    RetryState,
    SentCall,
    call_with_retries,
)
from spanwise.threads import close_at_exit, run_coroutine
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.config import Secret
    from spanwise.options import ModelOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """JSON format of the requests and responses of one kind of server."""

    vendor: Vendor
    texts: int
    """Maximum number of texts in one request."""
    path: str = "rerank"
    """Path of the endpoint below the base URL."""
    texts_name: str = "documents"
    """Name of the request field with the texts."""
    scores_name: str = "results"
    """Name of the response field with the list of results; empty if the response is the list."""
    score_name: str = "relevance_score"
    """Name of the field with the score in each result."""
    extra: tuple[tuple[str, object], ...] = ()
    """Names and values of additional request fields."""

    def body(self, model: str, query: str, texts: Sequence[str]) -> dict[str, object]:
        """Return the JSON body of a request."""
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
        texts=32,  # default of its option --max-client-batch-size
        texts_name="texts",
        scores_name="",
        score_name="score",
        extra=(("truncate", True),),
    ),
)
FORMATS = {form.vendor.name: form for form in _ALL}
"""Formats by name of the vendor; "server" is any server with the interface of Jina."""


def read_scores(answer: object, count: int, *, form: Format) -> list[float]:
    """Return the scores in a response, in the order of the texts.

    Args:
        answer: Parsed JSON of the response.
        count: Number of texts.
        form: Format of the server.

    Raises:
        ValueError: If the format differs, or a text does not have exactly one score.
    """
    name = form.scores_name
    entries = answer.get(name) if isinstance(answer, Mapping) else answer
    if not (isinstance(entries, list) and len(entries) == count):
        number = len(entries) if isinstance(entries, list) else "no"
        raise ValueError(f"it contains {number} scores for {count} texts")
    scores: dict[int, float] = {}
    for entry in entries:
        index, score = _number(entry, "index"), _number(entry, form.score_name)
        if index is None or index not in range(count) or index in scores or score is None:
            raise ValueError(f"it gives the text {index!r} of {count} the score {score!r}")
        scores[int(index)] = float(score)
    return [scores[index] for index in range(count)]


def read_tokens(answer: object) -> int:
    """Return the number of input tokens that a response reports; 0 if it reports none."""
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
    """Return the number in a field; None if it is missing or out of the range of a float."""
    value = entry.get(name) if isinstance(entry, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= _MAX_FLOAT else None


_MAX_ANSWER_BYTES = 32_000_000
_MESSAGE_CHARS = 300
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HttpReranker:
    """Reranker over HTTP."""

    spec: ModelSpec
    form: Format
    url: str
    """URL of the endpoint."""
    secret: Secret | None
    """API key; None if there is none."""
    options: ModelOptions

    @property
    def name(self) -> str:
        """Return "vendor:model", or "vendor:model@address"."""
        return self.spec.name

    @property
    def _cost(self) -> float | None:
        """Cost of a call in US dollars: 0 on a self-hosted server, otherwise unknown (None)."""
        return 0.0 if is_own_server(self.url) else None

    def estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """Return the usage of a call: no cost on a self-hosted server, otherwise unknown cost."""
        del query, texts
        return Usage(cost=self._cost)

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        """Return the score of each text for the query.

        Raises:
            ModelError: If the server fails, refuses or cannot be reached, after all retries.
        """
        size = self.form.texts
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
            for call in calls:  # after a failure, the other replies are not needed
                call.cancel()

    async def _rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        key = "" if self.secret is None else self.secret.reveal()
        is_self_hosted = self.spec.vendor.is_own
        limiter = _limiter(os.getpid(), self.url, key, is_self_hosted=is_self_hosted)
        state = RetryState(limiter=limiter, options=self.options)
        chars = sum(map(len, texts)) + len(query) * len(texts)
        answer = await call_with_retries(
            partial(self._post, self.form.body(self.spec.model, query, texts)),
            state=state,
            tokens=chars // _CHARS_PER_TOKEN,
            translate=self._translate,
        )
        try:
            scores = read_scores(answer, len(texts), form=self.form)
        except ValueError as error:
            raise self._unusable(f"gave an answer that cannot be used: {error}") from error
        tokens = read_tokens(answer)
        usage = Usage(calls=1, retries=state.retries, input_tokens=tokens, cost=self._cost)
        return RerankReply(scores=tuple(scores), usage=usage)

    async def _post(self, body: Mapping[str, object], sent: SentCall) -> object:
        """Send a request, and return the parsed JSON of the response; redirects are errors."""
        headers = {"Accept-Encoding": "identity"}
        if self.secret is not None:
            headers["Authorization"] = f"Bearer {self.secret.reveal()}"
        async with _client(os.getpid()).stream(
            "POST", self.url, json=body, headers=headers, timeout=self.options.timeout_seconds
        ) as response:
            encoding = response.headers.get("content-encoding", "identity")
            if encoding.strip().lower() != "identity":
                # Not requested, and a compressed block could expand to any size.
                raise self._unusable(
                    f"answered with Content-Encoding {encoding[:100]!r}; only answers that are not "
                    "compressed are read"
                )
            data = bytearray()
            async for block in response.aiter_raw():
                data += block
                if len(data) > _MAX_ANSWER_BYTES:
                    raise self._unusable("answered more than 32 MB")
        if response.status_code != httpx.codes.OK:
            raise _StatusError(response, bytes(data))
        answer: object = json.loads(data)
        sent.tokens = read_tokens(answer) or sent.tokens
        return answer

    def _translate(self, error: Exception) -> Failure:
        """Return the failure for an exception, without a cause, which could contain the key."""
        if isinstance(error, _StatusError):
            return status_failure(
                error.status,
                self._without_key(error.message),
                spec=self.spec,
                retry_after_seconds=error.retry_after_seconds,
                address=self.url,
            )
        timed_out = isinstance(error, TimeoutError | httpx.TimeoutException)
        if timed_out:
            fault = f"at {self.url} did not answer within {self.options.timeout_seconds:g} seconds"
            fault += "; try later, allow more timeout_seconds, or lower concurrency"
        elif isinstance(error, httpx.TransportError):
            fault = f"cannot be reached at {self.url}, or broke off: "
            fault += f"{self._without_key(str(error))}; check the address and the network"
        else:
            fault = f"gave an answer that is not JSON: {type(error).__name__}"
        failed = self.spec.error(f"{self.name} {fault}", kind=ModelError, retryable=True)
        return Failure(error=failed, timed_out=timed_out)

    def _without_key(self, message: str) -> str:
        return message if self.secret is None else self.secret.hide_in(message)

    def _unusable(self, fault: str) -> ModelAnswerError:
        return self.spec.error(f"{self.name} {fault}", kind=ModelAnswerError)


@cache
def _limiter(process: int, url: str, key: str, *, is_self_hosted: bool) -> RateLimiter:
    """Return the rate limiter that all rerankers of a process with this URL and key share."""
    del process, key  # only part of the cache key
    return RateLimiter(server=url, is_self_hosted=is_self_hosted)


@cache
def _client(process: int) -> httpx.AsyncClient:
    """Return the HTTP client that all rerankers of a process share until it ends."""
    del process  # only part of the cache key
    client = httpx.AsyncClient()
    close_at_exit(client.aclose)
    return client


class _StatusError(Exception):
    """Response with a status other than 200."""

    def __init__(self, response: httpx.Response, data: bytes) -> None:
        super().__init__(f"status {response.status_code}")
        self.status = response.status_code
        self.message = _error_message(data)
        self.retry_after_seconds = _retry_after_seconds(response.headers.get("retry-after", ""))


def _error_message(data: bytes) -> str:
    """Return the message of a server, extracted from the JSON of an error response."""
    try:
        body: object = json.loads(data)
    except ValueError:
        body = data.decode("utf-8", errors="replace")
    for name in ("error", "message", "detail"):
        if isinstance(body, Mapping) and name in body:
            body = body[name]
    return " ".join(str(body).split())[:_MESSAGE_CHARS]


def _retry_after_seconds(header: str) -> float | None:
    """Return the wait of a `Retry-After` header, a number of seconds or a date; None if invalid."""
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
        OptionError: If the model or the address in the name is missing or invalid.
        ModelKeyError: If the vendor needs a key, and there is none.
    """
    spec = parse_model_spec(name, vendors={key: form.vendor for key, form in FORMATS.items()})
    address, secret = find_access(spec, kind="reranker")
    form = FORMATS[spec.vendor.name]
    url = f"{address}/{form.path}"
    return HttpReranker(spec=spec, form=form, url=url, secret=secret, options=options)
