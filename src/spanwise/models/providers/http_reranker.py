"""How servers of rerankers are asked, and what they answer.

Written after the published references:
    Cohere    https://docs.cohere.com/reference/rerank
    Voyage    https://docs.voyageai.com/reference/reranker-api
    Jina      https://api.jina.ai/redoc#tag/rerank
    vLLM      https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html (Jina's form)
    llama.cpp https://github.com/ggml-org/llama.cpp/tree/master/tools/server (Jina's form)
    TEI       https://huggingface.github.io/text-embeddings-inference (Text Embeddings Inference)

Rerankers behind HTTP: Cohere, Voyage, Jina, and every server with `/rerank`.
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
from spanwise.models.event_loop import close_at_exit, run
from spanwise.models.ports import RerankReply
from spanwise.models.providers.addresses import find_place, is_own_server
from spanwise.models.providers.catalog import ModelSpec, Vendor, parse_model_spec
from spanwise.models.providers.failures import Failure, key_advice, status_failure
from spanwise.models.providers.retry import Attempts, Sent, Traffic, call_with_retries, traffic_of
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.config import Secret
    from spanwise.options import ModelOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How one kind of server is asked."""

    vendor: Vendor
    texts: int
    """Most texts of one call; below what the server refuses."""
    path: str = "rerank"
    """Behind the address."""
    texts_name: str = "documents"
    """Of the field that holds the texts."""
    scores_name: str = "results"
    """Of the field that holds the scores; empty where the answer is their list."""
    score_name: str = "relevance_score"
    extra: tuple[tuple[str, object], ...] = ()
    """Further fields of the request."""

    def body(self, model: str, query: str, texts: Sequence[str]) -> dict[str, object]:
        """Return what is sent."""
        body: dict[str, object] = {"model": model, "query": query, self.texts_name: list(texts)}
        return body | dict(self.extra)


_GREATEST = sys.float_info.max  # JSON may hold greater whole numbers, and infinity
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
        texts=250,  # all together at most 600,000 tokens, the query counted with each text
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
FORMATS = {one.vendor.name: one for one in _ALL}
"""By name of the vendor; "server" is any other server with `/rerank` (vLLM, llama.cpp ...)."""


def read_scores(answer: object, count: int, *, form: Format) -> list[float]:
    """Return one score a text, in the order of the texts.

    Args:
        answer: What the JSON of an answer holds.
        count: How many texts there are.
        form: How the server answers.

    Raises:
        ValueError: If it is of another form, or a text has no score or several.
    """
    name = form.scores_name
    found = answer.get(name) if isinstance(answer, Mapping) else answer
    if not (isinstance(found, list) and len(found) == count):
        given = len(found) if isinstance(found, list) else "no"
        raise ValueError(f"it holds {given} scores for {count} texts")
    scores: dict[int, float] = {}
    for one in found:
        index, score = _number(one, "index"), _number(one, form.score_name)
        if index is None or index not in range(count) or index in scores or score is None:
            raise ValueError(f"it gives the text {index!r} of {count} the score {score!r}")
        scores[int(index)] = float(score)
    return [scores[index] for index in range(count)]


def read_tokens(answer: object) -> int:
    """Return the tokens that a server says it read; 0 where it does not."""
    if not isinstance(answer, Mapping):
        return 0
    usage, meta = answer.get("usage"), answer.get("meta")
    counts: list[object] = []
    if isinstance(usage, Mapping):
        counts = [usage.get("total_tokens"), usage.get("prompt_tokens")]
    elif isinstance(meta, Mapping) and isinstance(meta.get("tokens"), Mapping):
        counts = [meta["tokens"].get("input_tokens")]
    # Cohere gives whole numbers as floats.
    numbers = (one for one in counts if isinstance(one, int | float))
    return next((int(one) for one in numbers if 0 <= one <= _GREATEST), 0)


def _number(one: object, name: str) -> int | float | None:
    """Return the number in a field; None where there is none that a float can hold."""
    value = one.get(name) if isinstance(one, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= _GREATEST else None


_MAX_ANSWER_BYTES = 32_000_000
_WORDS_CHARS = 300
_CHARS_A_TOKEN = 4


class HttpReranker:
    """A reranker behind HTTP; its calls run on the loop that all clients of vendors share."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        form: Format,
        address: str,
        secret: Secret | None,
        options: ModelOptions,
    ) -> None:
        """Take what is called; nothing is sent.

        Args:
            spec: Which model.
            form: How it is asked.
            address: Where, without the path.
            secret: The key; None for none.
            options: How it is called.
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
        """Return how well each text answers the query, as the server says.

        Raises:
            ModelError: If it fails, refuses or cannot be reached, after all retries.
        """
        size = self._form.texts
        groups = [texts[start : start + size] for start in range(0, len(texts), size)]
        replies = run(self._rerank_all(query, groups))
        return RerankReply(
            scores=tuple(score for reply in replies for score in reply.scores),
            usage=sum((reply.usage for reply in replies), Usage()),
        )

    async def _rerank_all(self, query: str, groups: Sequence[Sequence[str]]) -> list[RerankReply]:
        calls = [asyncio.ensure_future(self._rerank(query, group)) for group in groups]
        try:
            return await asyncio.gather(*calls)
        finally:
            for call in calls:  # where one failed, the others are of no use
                call.cancel()

    async def _rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        key = "" if self._secret is None else self._secret.reveal()
        traffic = _traffic(os.getpid(), self._url, key, own=self._spec.vendor.is_own)
        attempts = Attempts(traffic=traffic, options=self._options)
        chars = sum(map(len, texts)) + len(query) * len(texts)
        answer = await call_with_retries(
            partial(self._post, self._form.body(self._spec.model, query, texts)),
            attempts=attempts,
            tokens=chars // _CHARS_A_TOKEN,
            translate=self._translate,
        )
        try:
            scores = read_scores(answer, len(texts), form=self._form)
        except ValueError as error:
            raise self._failed(
                f"answered what cannot be used: {error}", ModelAnswerError
            ) from error
        usage = Usage(
            calls=1,
            retries=attempts.retries,
            input_tokens=read_tokens(answer),
            cost=self._cost,
        )
        return RerankReply(scores=tuple(scores), usage=usage)

    async def _post(self, body: Mapping[str, object], sent: Sent) -> object:
        """Return what the JSON of the answer holds."""
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
            async for piece in response.aiter_raw():
                data += piece
                if len(data) > _MAX_ANSWER_BYTES:
                    raise self._failed("answered more than 32 MB", ModelAnswerError)
        if response.status_code != httpx.codes.OK:
            raise _StatusError(response, bytes(data))
        answer: object = json.loads(data)
        sent.tokens = read_tokens(answer) or sent.tokens
        return answer

    def _translate(self, error: Exception) -> Failure:
        """Return what an exception means; no cause that may hold the key goes with it."""
        if isinstance(error, _StatusError):
            said = error.words if self._secret is None else self._secret.hide_in(error.words)
            return status_failure(
                error.status, said, spec=self._spec, asked_seconds=error.asked_seconds
            )
        if isinstance(error, TimeoutError | httpx.TimeoutException):
            said = f"did not answer within {self._options.timeout_seconds:g} seconds"
            advice = "try later, allow more timeout_seconds, or lower concurrency"
            return Failure(error=self._failed(f"{said}; {advice}"), is_late=True)
        if isinstance(error, httpx.TransportError):
            words = str(error) if self._secret is None else self._secret.hide_in(str(error))
            said = f"cannot be reached at {self._url}, or broke off: {words}"
            return Failure(error=self._failed(f"{said}; check the address and the network"))
        return Failure(error=self._failed(f"answered what is no JSON: {type(error).__name__}"))

    def _failed(self, said: str, kind: type[ModelError] = ModelError) -> ModelError:
        return kind(
            f"{self.name} {said}",
            provider=self._spec.vendor.name,
            model=self._spec.model,
            retryable=kind is ModelError,
        )


@cache
def _traffic(process: int, url: str, key: str, *, own: bool) -> Traffic:
    """Return what goes to one address with one key, whoever sends it."""
    del process, url, key
    return traffic_of(own=own)


@cache
def _client(process: int) -> httpx.AsyncClient:
    """Return the client of all rerankers of a process, which keeps connections open to its end."""
    del process  # the key alone
    client = httpx.AsyncClient()
    close_at_exit(client.aclose)
    return client


class _StatusError(Exception):
    """An answer with another status than 200."""

    def __init__(self, response: httpx.Response, data: bytes) -> None:
        super().__init__(f"status {response.status_code}")
        self.status = response.status_code
        self.words = _words(data)
        self.asked_seconds = _asked_seconds(response.headers.get("retry-after", ""))


def _words(data: bytes) -> str:
    """Return what a server says of a failure, without what is wrapped around it."""
    try:
        found: object = json.loads(data)
    except ValueError:
        found = data.decode("utf-8", errors="replace")
    for name in ("error", "message", "detail"):
        if isinstance(found, Mapping) and name in found:
            found = found[name]
    return " ".join(str(found).split())[:_WORDS_CHARS]


def _asked_seconds(given: str) -> float | None:
    """Return the wait that `Retry-After` asks for, in seconds or until a time; None for none."""
    try:
        seconds = float(given)
    except ValueError:
        pass
    else:
        return None if isnan(seconds) else max(seconds, 0.0)
    try:
        until = parsedate_to_datetime(given).astimezone(UTC)
    except (OverflowError, ValueError):
        return None
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)


def make_http_reranker(name: str, options: ModelOptions) -> HttpReranker:
    """Return a reranker behind HTTP; nothing is sent.

    Args:
        name: "vendor:model", or "vendor:model@address" for a server of one's own.
        options: How it is called.

    Raises:
        OptionError: If no model or address is named that can be meant.
        ModelKeyError: If there is no key, and the vendor needs one.
    """
    spec = parse_model_spec(name, vendors={one: form.vendor for one, form in FORMATS.items()})
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
