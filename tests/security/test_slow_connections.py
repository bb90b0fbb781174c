"""Clients that send slowly, never, or too much before a request: the server answers others."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress

import httpx
import pytest
from tests.servers.applications import wait_for
from tests.servers.running import running

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.client_connections import LimitedConnection
from spanwise.server.options import RequestLimits

SEARCH = b"POST /v1/knowledge-bases/notes/search HTTP/1.1\r\nHost: 127.0.0.1\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
ENDS_SECONDS = 30  # generous: the machine may be busy


class Short(LimitedConnection):
    """Connection with low limits."""

    head_seconds = 0.5


class Few(LimitedConnection):
    """Connection of a process that has few of them."""

    max_connections = 20


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as opened:
        opened.add_text("The pier is 30 m long.", document_id="pier.md")
        yield opened


@pytest.fixture(scope="module")
def url(base: KnowledgeBase) -> Iterator[str]:
    limits = RequestLimits(seconds=1.0, body_bytes=10_000, concurrent=8)
    with running(app_of({"notes": base}, limits=limits), http=Short) as address:
        yield address


@pytest.fixture
def few(base: KnowledgeBase) -> Iterator[str]:
    with running(app_of({"notes": base}), http=Few) as address:
        yield address


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), ENDS_SECONDS)


def answer(client: socket.socket, *, each: bytes = b"") -> bytes:
    """Return all that the server sends until it closes; meanwhile, send a piece again and again."""
    received, end = b"", time.monotonic() + ENDS_SECONDS
    while time.monotonic() < end:
        if select.select([client], [], [], 0.05)[0]:
            try:
                piece = client.recv(65_536)
            except ConnectionError:
                return received
            if not piece:
                return received
            received += piece
        elif each:
            try:
                client.sendall(each)
            except ConnectionError:
                return received
    raise AssertionError("the connection was not closed")


@pytest.mark.parametrize(
    ("first", "each"),
    [
        (b"", b""),
        (b"", b"\r\n"),
        (b"G", b"E"),
        (GET, b""),
        (GET + b"X-Slow: ", b"a"),
        (GET + b"\r\n", b""),  # idle after a response
        (GET + b"\r\n" + GET, b""),
        (GET + b"\r\n" + GET + b"X: ", b"a"),
    ],
)
def test_a_head_that_does_not_arrive_ends_the_connection(
    url: str, first: bytes, each: bytes
) -> None:
    with closing(connected(url)) as client:
        client.sendall(first)
        received = answer(client, each=each)
    assert received.count(b"HTTP/1.1 200") == first.count(b"\r\n\r\n")


@pytest.mark.parametrize("head", [b"Content-Length: 5000\r\n", b"Transfer-Encoding: chunked\r\n"])
def test_a_body_of_one_byte_at_a_time_is_refused(url: str, head: bytes) -> None:
    """The time is that of the whole body, so each byte does not extend it."""
    each = b"1\r\n \r\n" if b"chunked" in head else b" "
    with closing(connected(url)) as client:
        client.sendall(SEARCH + head + b"Content-Type: application/json\r\n\r\n")
        assert b" 408 " in answer(client, each=each)


@pytest.mark.parametrize(
    "head",
    [
        b"X: " + b"a" * 200_000,
        b"\r\n".join(b"X-%d: a" % number for number in range(20_000)),
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: xyz\r\n\r\n",
        b"Host: evil.example\r\n\r\n",
        b"Bad header\r\n\r\n",
        b"X: \x00\r\n\r\n",
    ],
    ids=["long", "many", "lengths", "negative", "encoding", "hosts", "malformed", "nul"],
)
def test_a_flood_of_headers_or_a_malformed_head_is_refused(url: str, head: bytes) -> None:
    with closing(connected(url)) as client:
        client.sendall(GET)
        with suppress(ConnectionError):
            client.sendall(head)
        received = answer(client)
    assert b"HTTP/1.1 200" not in received
    assert b"evil.example" not in received


def test_half_open_connections_leave_room_for_others(few: str) -> None:
    with ExitStack() as stack:
        waiting = [stack.enter_context(closing(connected(few))) for _ in range(60)]
        for number, client in enumerate(waiting):
            try:
                client.sendall(GET if number % 2 else b"")
            except ConnectionError:
                continue
        question = {"question": "How long is the pier?"}
        path = f"{few}/v1/knowledge-bases/notes/search"
        assert httpx.post(path, json=question, timeout=ENDS_SECONDS).status_code == 200
        wait_for(lambda: sum(map(_is_open, waiting)) <= Few.max_connections)


def test_running_requests_are_not_ended_by_new_connections(few: str) -> None:
    """Also not by more connections than the process accepts."""
    body = b'{"question": "How long is the pier?"}'
    head = SEARCH + b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
    with closing(connected(few)) as running_request, ExitStack() as stack:
        running_request.sendall(head + b"Expect: 100-continue\r\n\r\n")
        assert b"100 Continue" in running_request.recv(65_536)  # the server reads the body
        running_request.sendall(body[:5])
        for _ in range(2 * Few.max_connections):
            stack.enter_context(closing(connected(few)))
        assert httpx.get(f"{few}/healthz", timeout=ENDS_SECONDS).status_code == 200
        running_request.sendall(body[5:])
        assert b"HTTP/1.1 200" in running_request.recv(65_536)


def _is_open(client: socket.socket) -> bool:
    if not select.select([client], [], [], 0)[0]:
        return True
    try:
        return bool(client.recv(1, socket.MSG_PEEK))
    except ConnectionError:
        return False


def test_a_connection_made_before_a_stop_is_answered(base: KnowledgeBase) -> None:
    """Otherwise a restart loses requests that are on their way."""
    with ExitStack() as stack:
        url = stack.enter_context(running(app_of({"notes": base}), http=LimitedConnection))
        with closing(connected(url)) as client:
            assert httpx.get(f"{url}/healthz").status_code == 200  # the connection is accepted
            stopping = threading.Thread(target=stack.close)
            stopping.start()
            wait_for(lambda: not is_listening(url))
            client.sendall(GET + b"\r\n")
            assert answer(client).startswith(b"HTTP/1.1 200")
        stopping.join()


def is_listening(url: str) -> bool:
    """Return whether the server still accepts connections."""
    try:
        connected(url).close()
    except ConnectionError:
        return False
    return True
