"""Clients that leave, or stop to read: their work ends, and their places are free again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any, Self

import pytest
from fastapi import FastAPI

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.options import RequestLimits
from spanwise.testing.models import ScriptedModel
from spanwise.threads import sleep_unless_cancelled
from spanwise.types import Answer

Message = MutableMapping[str, Any]
KB = "/v1/knowledge-bases/notes"


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as opened:
        opened.add_text("The gross margin fell because of prices.", document_id="a")
        yield opened


class Client:
    """Client of one request at the level of ASGI."""

    def __init__(self, path: str, *, accept: str = "*/*", leaves: bool = False) -> None:
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [
                (b"host", b"127.0.0.1"),
                (b"content-type", b"application/json"),
                (b"accept", accept.encode()),
            ],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        self.status = 0
        self.reads = True
        self.has_left = False
        self._leaves = leaves
        self._sent = False

    async def receive(self) -> Message:
        if not self._sent:
            self._sent = True
            body = json.dumps({"question": "Why did the margin fall?"}).encode()
            return {"type": "http.request", "body": body, "more_body": False}
        if not self._leaves:
            await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self.has_left:
            raise OSError("the client has left")
        self.status = message.get("status", self.status)
        if message["type"] == "http.response.body" and not self.reads:
            await asyncio.sleep(60)


async def until(condition: list[bool]) -> None:
    async with asyncio.timeout(5):
        while not condition:
            await asyncio.sleep(0.01)


def app_with(base: KnowledgeBase, *, seconds: float) -> FastAPI:
    limits = RequestLimits(concurrent=1, seconds=seconds)
    return app_of({"notes": base}, llm=ScriptedModel(lambda _: ""), limits=limits)


async def search_works(app: FastAPI) -> bool:
    client = Client(f"{KB}/search")
    await app(client.scope, client.receive, client.send)
    return client.status == 200


def test_a_client_that_leaves_during_a_search_frees_its_place_and_thread(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []

    def slow(*_: object, **__: object) -> None:
        try:
            sleep_unless_cancelled(30)
        finally:
            ended.append(True)

    async def leave() -> bool:
        app = app_with(base, seconds=60)
        client = Client(f"{KB}/search", leaves=True)
        with monkeypatch.context() as patch:
            patch.setattr(type(base), "search", slow)
            await asyncio.wait_for(app(client.scope, client.receive, client.send), 5)
            await until(ended)
        return await search_works(app)

    assert asyncio.run(leave())


class EndlessStream:
    """Stream of an answer without an end."""

    def __init__(self, closed: list[bool]) -> None:
        self._closed = closed

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        sleep_unless_cancelled(0.01)
        return "text " * 1_000

    def close(self) -> None:
        self._closed.append(True)


@pytest.mark.parametrize("reads", [True, False])
def test_a_client_that_leaves_or_does_not_read_ends_its_stream(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, *, reads: bool
) -> None:
    closed: list[bool] = []
    monkeypatch.setattr(type(base), "ask_stream", lambda *_, **__: EndlessStream(closed))

    async def stop() -> bool:
        app = app_with(base, seconds=60 if reads else 0.5)
        client = Client(f"{KB}/ask", accept="text/event-stream")
        client.reads = reads
        work = asyncio.ensure_future(app(client.scope, client.receive, client.send))
        if reads:
            await asyncio.sleep(0.3)
            client.has_left = True
        await asyncio.wait([work], timeout=5)
        assert work.done(), "the stream holds its place"
        await until(closed)
        return await search_works(app)

    assert asyncio.run(stop())


class EightPieces(EndlessStream):
    """Stream of an answer with eight pieces."""

    def __init__(self, closed: list[bool], *, piece_seconds: float) -> None:
        super().__init__(closed)
        self._pieces = iter("12345678")
        self._piece_seconds = piece_seconds
        self.answer = Answer(
            question="Why?", text="12345678", citations=(), refused=False, queries=()
        )

    def __next__(self) -> str:
        sleep_unless_cancelled(self._piece_seconds)
        return next(self._pieces)


class Reader(Client):
    """Client that reads events, and runs a function after the first one."""

    def __init__(self, after_first: Callable[[], Awaitable[object]]) -> None:
        super().__init__(f"{KB}/ask", accept="text/event-stream")
        self.events = ""
        self._after_first = after_first

    async def send(self, message: Message) -> None:
        await super().send(message)
        is_first = not self.events
        self.events += message.get("body", b"").decode()
        if is_first and self.events:
            await self._after_first()


def test_an_answer_that_has_begun_keeps_its_place(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []
    stream = EightPieces(closed, piece_seconds=0.02)
    monkeypatch.setattr(type(base), "ask_stream", lambda *_, **__: stream)

    async def read() -> str:
        app = app_with(base, seconds=60)
        places = app.state.service.places

        async def take_place() -> None:
            assert not places.acquire(blocking=False)

        reader = Reader(take_place)
        await asyncio.wait_for(app(reader.scope, reader.receive, reader.send), 5)
        assert await search_works(app)
        return reader.events

    events = asyncio.run(read())
    assert events.count("event: text") == 8
    assert "event: answer" in events
    assert closed


def test_an_answer_that_takes_too_long_is_closed_and_frees_its_place(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []
    stream = EightPieces(closed, piece_seconds=0.1)
    monkeypatch.setattr(type(base), "ask_stream", lambda *_, **__: stream)

    async def read() -> str:
        app = app_with(base, seconds=0.4)
        reader = Reader(lambda: asyncio.sleep(0.1))
        await asyncio.wait_for(app(reader.scope, reader.receive, reader.send), 5)
        await until(closed)
        assert await search_works(app)
        return reader.events

    assert "504" in asyncio.run(read())


def test_a_client_that_does_not_read_a_result_frees_its_place(base: KnowledgeBase) -> None:
    async def stop() -> bool:
        app = app_with(base, seconds=1.0)
        client = Client(f"{KB}/search")
        client.reads = False
        work = asyncio.ensure_future(app(client.scope, client.receive, client.send))
        await asyncio.wait([work], timeout=5)
        assert work.done(), "the response holds its place"
        return await search_works(app)

    assert asyncio.run(stop())
