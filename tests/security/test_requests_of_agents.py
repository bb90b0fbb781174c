"""Bad requests of agents: time, concurrency, disconnects, failures of models, messages."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from mcp.client.client import Client
from tests.agents import as_agent, output_of
from tests.servers.applications import opened, serving, wait_for
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.errors import ModelError, StoreError
from spanwise.server.access import key_of
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.server.options import RequestLimits
from spanwise.server.problems import Problem
from spanwise.testing.models import ScriptedModel

QUESTION = "How long is the pier?"
HEAD = "POST /mcp HTTP/1.1\r\nAccept: application/json, text/event-stream"


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as opened_base:
        opened_base.add_text("# Pier\n\nThe pier is 30 m long.", document_id="pier.md")
        yield opened_base


def call_of(tool: str, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(body).encode()


async def search(client: Client) -> tuple[str, bool]:
    return await output_of(client, "search", question=QUESTION)


async def ask(client: Client) -> tuple[str, bool]:
    return await output_of(client, "ask", question=QUESTION)


def test_a_tool_ends_after_its_time_and_keeps_its_place(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def stuck(*_: object, **__: object) -> None:
        release.wait(10)

    app = app_of({"notes": base}, limits=RequestLimits(concurrent=1, seconds=0.2))
    with monkeypatch.context() as patch:
        patch.setattr(type(base), "search", stuck)
        text, is_error = as_agent(app, search)
        assert is_error
        assert "longer than" in text
        text, is_error = as_agent(app, search)
        assert is_error
        assert "too many requests" in text
        release.set()
    wait_for(lambda: not as_agent(app, search)[1])


def test_too_many_requests_of_agents_are_told_to_wait(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, release = threading.Event(), threading.Event()

    def stuck(*_: object, **__: object) -> None:
        begun.set()
        release.wait(10)

    monkeypatch.setattr(type(base), "search", stuck)
    with (
        serving(app_of({"notes": base}, limits=RequestLimits(concurrent=1))) as url,
        opened(url, HEAD, call_of("search", question=QUESTION)),
    ):
        assert begun.wait(5)
        refused = httpx.post(f"{url}/mcp", json={})
        release.set()
    assert refused.status_code == 429
    assert refused.json()["code"] == "too_many_requests"
    assert int(refused.headers["retry-after"]) > 0


def test_an_agent_that_leaves_ends_its_work(base: KnowledgeBase) -> None:
    begun = threading.Event()

    def answer(prompt: Any) -> Any:
        begun.set()
        time.sleep(0.4)
        return capable_answer(prompt)

    with serving(app_of({"notes": base}, llm=ScriptedModel(answer))) as url:
        leaving = opened(url, HEAD, call_of("ask", question=QUESTION))
        assert begun.wait(5)
        leaving.close()
        names = ("spanwise-async", "spanwise-call")
        wait_for(lambda: not [one for one in threading.enumerate() if one.name in names])


@pytest.mark.parametrize(
    "error",
    [
        ModelError("http://10.1.2.3/secret answered 500", provider="x", model="y"),
        StoreError("/secret/place/truth.db cannot be read"),
        ZeroDivisionError("/secret/place"),
    ],
)
def test_no_failure_shows_anything_of_the_server(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    for method in ("search", "ask", "get"):
        monkeypatch.setattr(type(base), method, fail)

    async def outputs(client: Client) -> list[str]:
        texts = [await search(client), await ask(client)]
        assert all(is_error for _, is_error in texts)
        with pytest.raises(Exception, match="log") as failed:
            await client.read_resource("spanwise://notes/pier.md")
        return [*(text for text, _ in texts), str(failed.value)]

    texts = as_agent(app_of({"notes": base}, llm=ScriptedModel(capable_answer)), outputs)
    assert not [text for text in texts if "secret" in text or "Traceback" in text], texts


class _Broken:
    """Stream of an answer whose model fails in the middle."""

    def __init__(self) -> None:
        self._pieces = iter(["The pier ", "is "])

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        for piece in self._pieces:
            return piece
        raise ModelError("http://10.1.2.3/secret closed the connection", provider="x", model="y")

    def close(self) -> None:
        """Do nothing: the failure has ended the stream."""


def test_a_model_that_fails_in_the_middle_ends_the_stream_with_an_error(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(base), "ask_stream", lambda *_, **__: _Broken())
    with serving(app_of({"notes": base}, llm=ScriptedModel(capable_answer))) as url:
        headers = {"Accept": "text/event-stream"}
        path = f"{url}/v1/knowledge-bases/notes/ask"
        streamed = httpx.post(path, json={"question": QUESTION}, headers=headers).text
    *texts, last = streamed.strip().split("\n\n")
    assert [text.partition("\n")[0] for text in texts] == ["event: text"] * 2
    assert last.startswith("event: error\n")
    problem = json.loads(last.partition("data: ")[2])
    assert (problem["status"], problem["code"]) == (502, "model")
    assert "secret" not in streamed


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "1.0", "id": {}, "method": 3}',
        b"\xff",
    ],
)
def test_a_body_that_is_no_request_is_refused(base: KnowledgeBase, body: bytes) -> None:
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    with serving(app_of({"notes": base})) as url:
        refused = httpx.post(f"{url}/mcp", content=body, headers=accept)
        streamed = httpx.get(f"{url}/mcp", headers={"Accept": "text/event-stream"})
    assert 400 <= refused.status_code < 500
    assert "Traceback" not in refused.text
    assert (streamed.status_code, streamed.json()["code"]) == (405, "method_not_allowed")


def test_a_wrong_key_takes_as_long_as_none(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    for number in range(20):
        key = add_key(file, f"key{number}", role="read")
    ring = KeyRing(read_keys(file))
    service = _ServiceWith(ring)
    near = key[:-1] + ("a" if key[-1] != "a" else "b")
    given = ["", "Bearer wrong", f"Bearer {near}", "Basic wrong"]

    def seconds(authorization: str) -> float:
        started = time.process_time()
        for _ in range(100):
            with pytest.raises(Problem):
                key_of(service, authorization)  # type: ignore[arg-type]
        return time.process_time() - started

    best = [min(seconds(one) for _ in range(7)) for one in given]
    assert max(best) < 1.6 * min(best), best


class _ServiceWith:
    def __init__(self, keys: KeyRing) -> None:
        self.keys = keys
