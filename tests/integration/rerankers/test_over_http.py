"""Rerankers behind HTTP, with exchanges written from the published references of their vendors.

Cohere    https://docs.cohere.com/reference/rerank
Voyage    https://docs.voyageai.com/reference/reranker-api
Jina      https://api.jina.ai/redoc#tag/rerank
vLLM      https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
llama.cpp https://github.com/ggml-org/llama.cpp/tree/master/tools/server
TEI       https://huggingface.github.io/text-embeddings-inference
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest
from tests.servers.scripted import Received, Reply, ScriptedServer, busy, failure

from spanwise.errors import ModelAnswerError, ModelError, ModelKeyError, OptionError
from spanwise.models.ports import Reranker
from spanwise.models.registry import make_reranker
from spanwise.options import ModelOptions
from spanwise.testing.rerankers import check_reranker

KEY = "key-that-must-not-be-shown"
OPTIONS = ModelOptions(timeout_seconds=5, retries=2, max_wait_seconds=2)
VENDORS = {
    "cohere": ("rerank-v3.5", "CO_API_KEY"),
    "voyage": ("rerank-2.5", "VOYAGE_API_KEY"),
    "jina": ("jina-reranker-v2-base-multilingual", "JINA_API_KEY"),
    "server": ("bge-reranker-v2-m3", "RERANK_API_KEY"),
    "tei": ("bge-reranker-large", "RERANK_API_KEY"),
}
ADDRESSES = {
    "cohere": "CO_API_URL",
    "voyage": "VOYAGE_BASE_URL",
    "jina": "JINA_BASE_URL",
    "server": "RERANK_BASE_URL",
    "tei": "RERANK_BASE_URL",
}


def words_shared(query: str, text: str) -> float:
    """Return a score such as a reranker gives: higher where more words are shared."""
    asked = set(query.lower().split())
    return round(len(asked & set(text.lower().split())) / len(asked), 4)


def ranked(received: Received, texts: str, score: str) -> list[dict[str, Any]]:
    """Return the list that all servers give: best first, each with the place of its text."""
    body = received.body
    found = [
        {"index": at, score: words_shared(body["query"], text)}
        for at, text in enumerate(body[texts])
    ]
    return sorted(found, key=lambda one: -one[score])


def as_reply(answer: object) -> Reply:
    return Reply(body=json.dumps(answer).encode())


def cohere(received: Received) -> Reply:
    assert received.path == "/v2/rerank"
    return as_reply(
        {
            "results": ranked(received, "documents", "relevance_score"),
            "id": "07734bd2-2473-4f07-94e1-0d9f0e6843cf",
            "meta": {
                "api_version": {"version": "2", "is_experimental": False},
                "billed_units": {"search_units": 1},
            },
        }
    )


def voyage(received: Received) -> Reply:
    return as_reply(
        {
            "object": "list",
            "data": ranked(received, "documents", "relevance_score"),
            "model": received.body["model"],
            "usage": {"total_tokens": 26},
        }
    )


def jina(received: Received) -> Reply:
    assert received.body["return_documents"] is False
    return as_reply(
        {
            "model": received.body["model"],
            "object": "list",
            "usage": {"total_tokens": 38},
            "results": ranked(received, "documents", "relevance_score"),
        }
    )


def vllm(received: Received) -> Reply:
    found = ranked(received, "documents", "relevance_score")
    for one in found:
        one["document"] = {"text": received.body["documents"][one["index"]]}
    return as_reply(
        {
            "id": "rerank-fae51b2b664d4ed38f5969b612edff77",
            "model": received.body["model"],
            "usage": {"total_tokens": 56},
            "results": found,
        }
    )


def llama_cpp(received: Received) -> Reply:
    return as_reply(
        {
            "model": received.body["model"],
            "object": "list",
            "usage": {"prompt_tokens": 42, "total_tokens": 42},
            "results": [
                {"index": one["index"], "relevance_score": one["relevance_score"] * 20 - 10}
                for one in ranked(received, "documents", "relevance_score")
            ],
        }
    )


def tei(received: Received) -> Reply:
    if len(received.body["texts"]) > 32:
        said = {
            "error": "batch size 40 > maximum allowed batch size 32",
            "error_type": "Validation",
        }
        return Reply(body=json.dumps(said).encode(), status=422)
    return as_reply(ranked(received, "texts", "score"))


ANSWERS: list[tuple[str, Callable[[Received], Reply], int]] = [
    ("cohere", cohere, 0),
    ("voyage", voyage, 26),
    ("jina", jina, 38),
    ("server", vllm, 56),
    ("server", llama_cpp, 42),
    ("tei", tei, 0),
]
IDS = ["cohere", "voyage", "jina", "vllm", "llama.cpp", "tei"]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for _, name in VENDORS.values():
        monkeypatch.setenv(name, KEY)


def reranker_at(server: ScriptedServer, vendor: str = "server") -> Reranker:
    name = f"{vendor}:{VENDORS[vendor][0]}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ADDRESSES[vendor], server.url)
        return make_reranker(name, options=OPTIONS)


@pytest.mark.parametrize(("vendor", "answer", "tokens"), ANSWERS, ids=IDS)
def test_each_server_is_read(vendor: str, answer: Callable[[Received], Reply], tokens: int) -> None:
    with ScriptedServer(answer) as server:
        reply = reranker_at(server, vendor).rerank(
            "why margins fell", ["boil eggs", "margins fell"]
        )
        received = server.received[0]
    assert reply.scores[1] > reply.scores[0]
    assert reply.usage.calls == 1
    assert reply.usage.input_tokens == tokens
    assert reply.usage.cost == 0.0  # a server on this machine
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.body["query"] == "why margins fell"


@pytest.mark.parametrize(("vendor", "answer", "tokens"), ANSWERS, ids=IDS)
def test_each_keeps_what_rerankers_promise(
    vendor: str, answer: Callable[[Received], Reply], tokens: int
) -> None:
    with ScriptedServer(answer) as server:
        check_reranker(reranker_at(server, vendor))


def test_more_texts_than_a_server_takes_go_in_several_calls() -> None:
    with ScriptedServer(tei) as server:
        texts = [f"text {'margins ' * (number % 3)}" for number in range(70)]
        reply = reranker_at(server, "tei").rerank("margins", texts)
        sent = sorted(len(one.body["texts"]) for one in server.received)
    assert sent == [6, 32, 32]
    assert reply.usage.calls == 3
    assert list(reply.scores) == [words_shared("margins", text) for text in texts]


def test_a_vendor_of_unknown_price_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(cohere) as server:
        reranker = reranker_at(server, "cohere")
        monkeypatch.setattr(
            "spanwise.models.rerankers.http_reranker.is_own_server", lambda address: False
        )
        assert reranker.rerank("why", ["because"]).usage.cost is None


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    with ScriptedServer([busy(0), busy(until), as_reply({"results": [
        {"index": 0, "relevance_score": 0.5}
    ]})]) as server:  # fmt: skip
        reply = reranker_at(server).rerank("why", ["because"])
    assert reply.scores == (0.5,)
    assert reply.usage.retries == 2


def test_a_wait_that_is_no_time_is_as_if_none_was_asked() -> None:
    whole = as_reply(
        {"results": [{"index": 0, "relevance_score": 0.5}], "usage": {"total_tokens": 10**400}}
    )
    waits = ("nan", "Mon, 01 Jan 0001 00:00:00 +2300")
    with ScriptedServer([*map(busy, waits), whole]) as server:
        reply = reranker_at(server).rerank("why", ["because"])
    assert reply.scores == (0.5,)
    assert (reply.usage.retries, reply.usage.input_tokens) == (2, 0)


def test_calls_that_are_of_no_use_any_more_are_ended() -> None:
    """The one that is down would be made again while the other one is refused for good."""
    with ScriptedServer(
        lambda received: failure(400 if len(received.body["documents"]) < 100 else 500)
    ) as server:
        reranker = reranker_at(server)
        with pytest.raises(ModelError, match="answered 400"):
            reranker.rerank("why", [f"text {number}" for number in range(101)])
        time.sleep(0.7)  # it would be made again after half a second at most
        assert len(server.received) <= 2


def test_one_limit_holds_for_all_rerankers_of_a_server() -> None:
    options = ModelOptions(concurrency=1)
    slow = Reply(
        body=as_reply({"results": [{"index": 0, "relevance_score": 1}]}).body, wait_seconds=0.2
    )
    with ScriptedServer(slow) as server:
        rerankers = [make_reranker(f"server:{one}@{server.url}", options=options) for one in "abc"]
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda one: one.rerank("why", ["because"]), rerankers))
        times = [one.at for one in server.received]
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.15


def test_a_server_that_stays_down_fails_in_the_end() -> None:
    with ScriptedServer(failure(503, "loading the model")) as server:
        with pytest.raises(ModelError, match=r"answered 503 .*loading the model") as raised:
            reranker_at(server).rerank("why", ["because"])
        assert len(server.received) == 3
    assert raised.value.status == 503
    assert raised.value.retryable
    assert raised.value.provider == "server"


def test_a_wait_that_is_too_long_is_not_waited() -> None:
    with (
        ScriptedServer(busy(3600)) as server,
        pytest.raises(ModelError, match="wait of 3,600 seconds"),
    ):
        reranker_at(server).rerank("why", ["because"])


def test_a_refused_key_is_named_and_not_shown() -> None:
    said = {"detail": f"Provided API key {KEY} is invalid."}
    reply = Reply(body=json.dumps(said).encode(), status=401)
    with ScriptedServer(reply) as server, pytest.raises(ModelKeyError) as raised:
        reranker_at(server, "voyage").rerank("why", ["because"])
    assert "VOYAGE_API_KEY" in str(raised.value)
    assert "***" in str(raised.value)
    assert KEY not in repr(raised.value) + str(raised.value.__cause__) + str(raised.value.args)


def test_a_server_that_does_not_answer_is_left() -> None:
    with ScriptedServer(Reply(body=b"{}", wait_seconds=30)) as server:
        options = ModelOptions(timeout_seconds=0.2, retries=0)
        slow = make_reranker(f"server:m@{server.url}", options=options)
        with pytest.raises(ModelError, match=r"did not answer within 0\.2 seconds"):
            slow.rerank("why", ["because"])


def test_a_server_that_is_not_there_is_named() -> None:
    options = ModelOptions(retries=0)
    with pytest.raises(ModelError, match=r"cannot be reached at http://127\.0\.0\.1:9/rerank"):
        make_reranker("server:m@http://127.0.0.1:9", options=options).rerank("why", ["because"])


def test_an_answer_that_breaks_off_is_asked_for_again() -> None:
    whole = as_reply({"results": [{"index": 0, "relevance_score": 0.5}]})
    cut = Reply(body=whole.body, cut_at=10)
    with ScriptedServer([cut, whole]) as server:
        assert reranker_at(server).rerank("why", ["because"]).usage.retries == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"results": []},
        {"results": [{"index": 0, "relevance_score": 0.5}] * 2},
        {"results": [{"index": 0, "relevance_score": 0.5}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 2, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": -1, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": "high"}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": None}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": True, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 0.5, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": 10**400}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 10**400, "relevance_score": 1}]},
        {"results": ["a", "b"]},
        {"results": {"index": 0}},
        {"data": []},
        [],
        "no",
        None,
    ],
)
def test_scores_that_fit_no_text_are_refused(answer: object) -> None:
    with (
        ScriptedServer(as_reply(answer)) as server,
        pytest.raises(ModelAnswerError, match="cannot be used"),
    ):
        reranker_at(server).rerank("why", ["because", "since"])


def test_what_is_no_json_is_refused() -> None:
    with (
        ScriptedServer(Reply(body=b"<html>login</html>")) as server,
        pytest.raises(ModelError, match="not JSON"),
    ):
        reranker_at(server).rerank("why", ["because"])


def test_an_endless_answer_is_stopped() -> None:
    with (
        ScriptedServer(Reply(body=b" " * 33_000_000)) as server,
        pytest.raises(ModelAnswerError, match="more than 32 MB"),
    ):
        reranker_at(server).rerank("why", ["because"])


def test_a_missing_key_is_told_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CO_API_KEY")
    monkeypatch.setattr("spanwise.config.settings._from_keyring", lambda name: "")
    with pytest.raises(ModelKeyError, match="set CO_API_KEY"):
        make_reranker("cohere:rerank-v3.5", options=OPTIONS)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("server:m", "needs an address"),
        ("cohere:", "vendor:model"),
        ("cohere", "vendor:model"),
        ("oracle:9", "known: cohere, fastembed, jina"),
        ("server:m@http://user:secret@host/v1", "holds a user, a password or a query"),
        ("cohere:m@http://host/v2", "only models of server and tei"),
    ],
)
def test_a_name_that_means_nothing_is_refused(name: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        make_reranker(name, options=OPTIONS)


def test_an_address_may_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(vllm) as server:
        monkeypatch.setenv("RERANK_BASE_URL", f"{server.url}/v1/")
        make_reranker("server:bge", options=OPTIONS).rerank("why", ["because"])
        assert server.received[0].path == "/v1/rerank"
