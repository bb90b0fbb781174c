"""The client of a server: busy and broken servers, keys, streams that end early."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.servers.capable import capable_answer
from tests.servers.running import running

from spanwise import KnowledgeBase, connect
from spanwise.errors import (
    DocumentNotFoundError,
    ModelAnswerError,
    OptionError,
    ServerError,
    StoreFullError,
)
from spanwise.models.ports import ModelReply, ModelRequest
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.server.limits import RequestLimits
from spanwise.testing.models import ScriptedModel

Reply = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as opened:
        opened.add_text("The gross margin fell to 23.1 per cent in 2023.", document_id="report")
        yield opened


@contextmanager
def replying(*replies: Reply) -> Iterator[tuple[str, list[float]]]:
    """Serve replies one after the other, and yield the address and the times of the requests."""
    left, times = list(replies), list[float]()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.do_GET()

        def do_GET(self) -> None:
            times.append(time.monotonic())
            status, headers, body = left.pop(0)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", times
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def problem(status: int, code: str, **headers: str) -> Reply:
    body = {"status": status, "code": code, "detail": f"what happened: {code}"}
    return status, headers, json.dumps(body).encode()


LISTED: Reply = (200, {}, json.dumps({"documents": [], "total": 0}).encode())


def test_a_busy_server_is_asked_again() -> None:
    busy = problem(429, "too_many_requests", **{"Retry-After": "1"})
    with replying(busy, problem(503, "store_busy"), LISTED) as (url, times):
        with connect(url) as kb:
            assert kb.list() == []
        assert len(times) == 3
        assert times[1] - times[0] >= 1


def test_retries_end() -> None:
    busy = problem(429, "too_many_requests")
    with replying(busy, busy) as (url, times):
        with connect(url, retries=1) as kb, pytest.raises(ServerError) as raised:
            kb.list()
        assert raised.value.status == 429
        assert len(times) == 2


def test_a_wait_that_is_too_long_is_not_waited_for() -> None:
    busy = problem(503, "overloaded", **{"Retry-After": "3600"})
    with replying(busy) as (url, _), connect(url) as kb:
        started = time.monotonic()
        with pytest.raises(ServerError, match="overloaded"):
            kb.list()
        assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    "reply",
    [
        (200, {}, b"<html>"),
        (200, {}, b"[]"),
        (200, {}, b'{"documents": [{"id": 3}]}'),
        (500, {}, b"Internal Server Error"),
        (404, {"Content-Type": "text/html"}, b"<html>"),
        (302, {"Location": "http://127.0.0.1:9/"}, b""),
        (200, {"Content-Length": "500"}, b'{"documents": ['),
        (422, {}, b'{"detail": [{"loc": ["body"]}]}'),
        (200, {}, b"[" * 100_000),
        (422, {}, b"[" * 100_000),
    ],
    ids=range(10),
)
def test_a_response_of_another_server_is_an_error(reply: Reply) -> None:
    with replying(reply) as (url, _), connect(url, retries=0) as kb:
        with pytest.raises(ServerError) as raised:
            kb.list()
        assert raised.value.status in (None, reply[0])


def test_a_server_that_is_not_there() -> None:
    with replying() as (url, _):
        pass
    with connect(url, retries=1) as kb, pytest.raises(ServerError, match="spanwise serve"):
        kb.list()


def test_a_slow_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        started = time.monotonic()
        with connect(url, timeout_seconds=0.2) as kb, pytest.raises(ServerError, match="timeout"):
            kb.list()
        assert time.monotonic() - started < 5


def test_errors_of_the_store_have_their_class(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreFullError("the disk of /secret/place is full")

    monkeypatch.setattr(type(base), "remove", full)
    with running(app_of({"reports": base})) as url, connect(url) as kb:
        with pytest.raises(StoreFullError) as raised:
            kb.remove("report")
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "more"),
    [
        ("127.0.0.1:8000", {}),
        ("ftp://127.0.0.1", {}),
        ("http://user:word@127.0.0.1", {}),
        ("http://127.0.0.1", {"key": ""}),
        ("http://127.0.0.1", {"key": 5}),
        ("http://127.0.0.1", {"key": "a\r\nHost: b"}),
        ("http://127.0.0.1", {"knowledge_base": ""}),
        ("http://127.0.0.1", {"knowledge_base": []}),
        ("http://127.0.0.1", {"retries": -1}),
        ("http://127.0.0.1", {"timeout_seconds": 0}),
    ],
)
def test_arguments_are_checked(url: str, more: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        connect(url, **more)


def test_keys(base: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    reader = add_key(file, "reader", role="read")
    with running(app_of({"reports": base}, keys=KeyRing(read_keys(file)))) as url:
        for key, status in ((None, 401), ("wrong", 401), (reader, 403)):
            with connect(url, key=key) as kb, pytest.raises(ServerError) as raised:
                kb.remove("report")
            assert raised.value.status == status
        with connect(f"{url}/v1/", key=reader) as kb:
            assert [one.id for one in kb.list()] == ["report"]
        with connect(url, key=reader, knowledge_base="other") as kb:
            with pytest.raises(ServerError, match="reports") as raised:
                kb.search("margin")
            assert raised.value.status == 404


@pytest.mark.parametrize(
    "arguments",
    [
        {"llm": "openai:gpt-5-mini"},
        {"thread": "a"},
        {"rerank": "cohere:rerank-v3.5"},
        {"rerank": True},
        {},
    ],
    ids=str,
)
def test_what_the_server_does_not_offer(base: KnowledgeBase, arguments: dict[str, Any]) -> None:
    with running(app_of({"reports": base})) as url, connect(url) as kb, pytest.raises(OptionError):
        kb.ask("Why did the margin fall?", **arguments)


def test_a_text_that_no_address_can_contain(base: KnowledgeBase) -> None:
    with running(app_of({"reports": base})) as url, connect(url) as kb:
        with pytest.raises(OptionError):
            kb.list("team = '\ud800'")
        with pytest.raises(DocumentNotFoundError):
            kb.get("\ud800")
        with pytest.raises(OptionError):
            kb.search("margin \ud800")


def test_many_requests_use_one_connection(base: KnowledgeBase) -> None:
    clients = set()
    app = app_of({"reports": base}, limits=RequestLimits(concurrent=1))

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        clients.add(scope["client"])
        await app(scope, receive, send)

    with running(counted) as url, connect(url) as kb:
        for _ in range(5):
            assert kb.search("margin").segments
    assert len(clients) == 1


class Endless(ScriptedModel):
    """Model that writes until nobody reads."""

    ended: threading.Event

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the beginning of an answer, then white space without end."""
        try:
            whole = capable_answer(request)
            yield whole[: len(whole) // 2]
            while True:
                time.sleep(0.01)
                yield " "
        finally:
            self.ended.set()


def test_a_stream_that_is_closed_ends_the_work() -> None:
    with KnowledgeBase(":memory:") as reports:
        reports.add(Path(__file__).resolve().parents[2] / "examples" / "reports")
        model = Endless(capable_answer)
        Endless.ended = threading.Event()
        with running(app_of({"reports": reports}, llm=model)) as url, connect(url) as kb:
            stream = kb.ask_stream("Why did the margin fall in 2023?", write_queries=False)
            assert next(stream)
            assert not Endless.ended.is_set()
            stream.close()
            assert Endless.ended.wait(10), "the model is still writing"
            with pytest.raises(RuntimeError):
                _ = stream.answer


def test_a_model_that_fails_in_a_stream(base: KnowledgeBase) -> None:
    model = ScriptedModel(lambda _: "no JSON")
    with running(app_of({"reports": base}, llm=model)) as url, connect(url) as kb:
        with pytest.raises(ModelAnswerError) as raised:
            list(kb.ask_stream("Why did the margin fall?", write_queries=False))
        assert raised.value.model


def events(*pieces: tuple[str, object]) -> Reply:
    text = "".join(
        f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n" for name, data in pieces
    )
    return 200, {"Content-Type": "text/event-stream"}, text.encode()


def test_text_with_unusual_line_ends_is_one_piece() -> None:
    text = "a\u2028b\u0085c\x0bd"
    with replying(events(("text", {"text": text}))) as (url, _), connect(url) as kb:
        stream = kb.ask_stream("Why?")
        assert next(stream) == text
        with pytest.raises(ServerError, match="before the answer was complete"):
            next(stream)


def test_threads_share_a_client(base: KnowledgeBase) -> None:
    app = app_of({"reports": base}, limits=RequestLimits(concurrent=2))
    with running(app) as url, connect(url) as kb, ThreadPoolExecutor(6) as pool:
        found = pool.map(lambda _: len(kb.search("margin").segments), range(6))
    assert list(found) == [1] * 6
