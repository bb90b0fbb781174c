"""Embedders with an interface of their own, with exchanges written from the published references.

Cohere  https://docs.cohere.com/reference/embed
Voyage  https://docs.voyageai.com/reference/embeddings-api
Bedrock https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable

import numpy as np
import pytest
from tests.servers.scripted import Received, Reply, ScriptedServer, busy, failure

from spanwise.errors import ModelError, ModelKeyError
from spanwise.models.ports import ContextualEmbedder
from spanwise.models.registry import make_embedder
from spanwise.options import ModelOptions

KEY = "key-that-must-not-be-shown"
OPTIONS = ModelOptions(timeout_seconds=5, retries=2, max_wait_seconds=2)
TEXTS = ["margins fell", "boil eggs"]
VECTORS = {"margins fell": [1.0, 0.5, 0.25], "boil eggs": [0.0, -1.0, 2.0]}
Answer = Callable[[Received], Reply]


def as_reply(answer: object) -> Reply:
    return Reply(body=json.dumps(answer).encode(), headers={"Content-Type": "application/json"})


def cohere(received: Received) -> Reply:
    assert received.path == "/v2/embed"
    assert received.body["truncate"] == "END"
    assert received.body["embedding_types"] == ["float"]
    texts = received.body["texts"]
    return as_reply(
        {
            "id": "da6e531f-54c5-4a73-bf92-f60566d8d753",
            "embeddings": {"float": [VECTORS[text] for text in texts]},
            "texts": texts,
            "meta": {
                "api_version": {"version": "2", "is_experimental": False},
                "billed_units": {"input_tokens": 11},
            },
        }
    )


def voyage(received: Received) -> Reply:
    assert received.path == "/embeddings"
    assert received.body["truncation"] is True
    found: list[dict[str, object]] = []
    for at, text in enumerate(received.body["input"]):
        vector: object = VECTORS[text]
        if received.body.get("encoding_format") == "base64":
            vector = b64encode(np.array(vector, dtype="<f4").tobytes()).decode()
        found.append({"object": "embedding", "embedding": vector, "index": at})
    model = received.body["model"]
    return as_reply(
        {"object": "list", "data": found, "model": model, "usage": {"total_tokens": 11}}
    )


def titan(received: Received) -> Reply:
    assert received.path.startswith("/model/amazon.titan-embed-text-v2")
    vector = VECTORS[received.body["inputText"]]
    by_type = {"float": vector}
    return as_reply({"embedding": vector, "inputTextTokenCount": 5, "embeddingsByType": by_type})


VENDORS: list[tuple[str, str, str, str, Answer]] = [
    ("cohere:embed-v4.0", "CO_API_KEY", "CO_API_URL", "", cohere),
    ("voyage:voyage-3.5", "VOYAGE_API_KEY", "VOYAGE_BASE_URL", "", voyage),
    (
        "bedrock:amazon.titan-embed-text-v2:0",
        "AWS_ACCESS_KEY_ID",  # its bearer tokens go over HTTPS alone
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        "us-east-1",
        titan,
    ),
]
each_vendor = pytest.mark.parametrize(
    ("name", "key", "address", "region", "answer"), VENDORS, ids=["cohere", "voyage", "bedrock"]
)


def opened(
    server: ScriptedServer, name: str, key: str, address: str, region: str
) -> ContextualEmbedder:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(key, KEY)
        patch.setenv(address, server.url)
        if region:
            patch.setenv("AWS_DEFAULT_REGION", region)
            patch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
        return make_embedder(name, options=OPTIONS)  # type: ignore[return-value]


@each_vendor
def test_each_vendor_is_read(
    name: str, key: str, address: str, region: str, answer: Answer
) -> None:
    with ScriptedServer(answer) as server:
        reply = opened(server, name, key, address, region).embed_texts(TEXTS, kind="document")
        first = server.received[0]
    assert np.allclose(reply.vectors, [VECTORS[text] for text in TEXTS])
    assert (reply.usage.calls, reply.usage.cost) == (1, 0.0)  # a server on this machine
    assert reply.usage.input_tokens in (10, 11)
    assert KEY in first.headers["authorization"]


@pytest.mark.parametrize(
    ("vendor", "sides"),
    [(0, ["search_document", "search_query"]), (1, ["document", "query"])],
    ids=["cohere", "voyage"],
)
def test_each_side_of_a_search_is_named(vendor: int, sides: list[str]) -> None:
    name, key, address, region, answer = VENDORS[vendor]
    with ScriptedServer(answer) as server:
        embedder = opened(server, name, key, address, region)
        embedder.embed_texts(TEXTS[:1], kind="document")
        embedder.embed_texts(TEXTS[:1], kind="query")
        assert [one.body["input_type"] for one in server.received] == sides


@each_vendor
def test_a_busy_vendor_is_asked_again_and_each_time_counted(
    name: str, key: str, address: str, region: str, answer: Answer
) -> None:
    with ScriptedServer(
        lambda received: busy(0) if len(server.received) < 3 else answer(received)
    ) as server:
        reply = opened(server, name, key, address, region).embed_texts(TEXTS[:1], kind="query")
        assert len(server.received) == 3
    assert reply.usage.retries == 2


@each_vendor
def test_a_vendor_that_stays_down_is_asked_no_more_than_is_allowed(
    name: str, key: str, address: str, region: str, answer: Answer
) -> None:
    del answer
    with ScriptedServer(failure(503, "overloaded")) as server:
        with pytest.raises(ModelError) as raised:
            opened(server, name, key, address, region).embed_texts(TEXTS[:1], kind="query")
        assert len(server.received) == 3
    assert raised.value.status == 503
    assert raised.value.retryable


@each_vendor
def test_a_text_that_is_refused_has_the_status_of_it(
    name: str, key: str, address: str, region: str, answer: Answer
) -> None:
    del answer
    with ScriptedServer(failure(400, "the text is too long")) as server:
        with pytest.raises(ModelError) as raised:
            opened(server, name, key, address, region).embed_texts(TEXTS[:1], kind="query")
        assert len(server.received) == 1
    assert (raised.value.status, raised.value.retryable) == (400, False)


@pytest.mark.parametrize("vendor", [0, 1], ids=["cohere", "voyage"])
def test_a_refused_key_is_named_and_not_shown(vendor: int) -> None:
    name, key, address, region, _ = VENDORS[vendor]
    with ScriptedServer(failure(401, f"invalid api token {KEY}")) as server:
        embedder = opened(server, name, key, address, region)
        with pytest.raises(ModelKeyError) as raised:
            embedder.embed_texts(TEXTS[:1], kind="query")
    assert key in str(raised.value)
    assert KEY not in f"{raised.value!r} {raised.value.__cause__!r}"
