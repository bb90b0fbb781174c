"""A server on this machine that answers as it is told: a model's provider at its best and worst.

::

    with ScriptedServer(chat("hello")) as server:            # this answer, again and again
        ...                                                  # server.url, server.received
    with ScriptedServer([busy(2), chat("hello")]) as server: # one after the other; the last stays
        ...
    with ScriptedServer(lambda received: chat(answer_to(received.prompt))) as server:
        ...

An answer of `chat` is a stream of events where the request asks for a stream.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

__all__ = [
    "Received",
    "Reply",
    "ScriptedServer",
    "busy",
    "chat",
    "failure",
    "refusal",
    "streamed",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request that came."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    """What its JSON holds; None where there is none."""
    raw: bytes
    at: float
    """When it came, by the monotonic clock."""

    @property
    def prompt(self) -> str:
        """Return all text of a chat request but its instructions."""
        parts: list[str] = []
        for message in self.body["messages"]:
            if message["role"] in ("system", "developer"):
                continue
            content = message["content"]
            texts = [{"text": content}] if isinstance(content, str) else content
            parts += [one["text"] for one in texts if "text" in one]
        return "\n".join(parts)

    @property
    def instructions(self) -> str:
        """Return the instructions of a chat request."""
        return "\n".join(
            message["content"]
            for message in self.body["messages"]
            if message["role"] in ("system", "developer")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What is answered to a request."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[bytes] = ()
    """In place of the body, where the request asks for a stream."""
    wait_seconds: float = 0.0
    """Before anything is answered."""
    event_seconds: float = 0.0
    """Before each event of a stream."""
    cut_at: int | None = None
    """Bytes of the body, or events of the stream, after which the connection is closed."""
    byte_seconds: float = 0.0
    """Before each byte of the body."""
    drops: bool = False
    """Whether the connection is reset in place of an answer."""


def chat(
    text: str,
    *,
    input_tokens: int = 100,
    cached_input_tokens: int = 0,
    output_tokens: int | None = None,
    finish: str = "stop",
    model: str = "scripted",
    wait_seconds: float = 0.0,
    event_seconds: float = 0.0,
    cut_at: int | None = None,
) -> Reply:
    """Return a chat completion, whole and as a stream of its words."""
    output_tokens = len(text.split()) if output_tokens is None else output_tokens
    usage = {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
        "prompt_tokens_details": {"cached_tokens": cached_input_tokens},
    }
    head = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": model}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    body = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    pieces = [f" {word}" if number else word for number, word in enumerate(text.split(" "))]
    deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": piece}, None) for piece in pieces]
    deltas.append(({}, finish))
    events: list[Mapping[str, object]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in deltas
    ]
    events.append({"choices": [], "usage": usage})
    lines = [{**head, "object": "chat.completion.chunk", **event} for event in events]
    return Reply(
        body=json.dumps(body).encode(),
        events=streamed(lines),
        wait_seconds=wait_seconds,
        event_seconds=event_seconds,
        cut_at=cut_at,
    )


def streamed(events: Sequence[Mapping[str, object]]) -> list[bytes]:
    """Return server-sent events, with the mark of their end."""
    return [f"data: {json.dumps(one)}\n\n".encode() for one in events] + [b"data: [DONE]\n\n"]


def refusal(words: str = "I'm sorry, I can't help with that.") -> Reply:
    """Return a chat completion that is a refusal of the model, whole and as a stream."""
    head = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "scripted"}
    usage = {"prompt_tokens": 100, "completion_tokens": 8, "total_tokens": 108}
    message = {"role": "assistant", "content": None, "refusal": words}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    deltas: list[tuple[Mapping[str, object], str | None]] = [
        ({"role": "assistant", "content": None, "refusal": ""}, None),
        ({"refusal": words}, None),
        ({}, "stop"),
    ]
    events: list[Mapping[str, object]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in deltas
    ]
    events.append({"choices": [], "usage": usage})
    lines = [{**head, "object": "chat.completion.chunk", **event} for event in events]
    return Reply(body=json.dumps(body).encode(), events=streamed(lines))


def failure(
    status: int, message: str = "the server failed", *, headers: Mapping[str, str] | None = None
) -> Reply:
    """Return an error in the form of a chat server."""
    error = {"message": message, "type": "server_error", "param": None, "code": None}
    return Reply(
        body=json.dumps({"error": error}).encode(), status=status, headers=dict(headers or {})
    )


def busy(retry_after: float | str | None = None) -> Reply:
    """Return what is answered to too many requests, with the wait that is asked for."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return failure(429, "Rate limit reached for requests", headers=headers)


class ScriptedServer:
    """Answers over HTTP on a free port of 127.0.0.1, each request on a thread of its own."""

    def __init__(
        self,
        replies: Reply | Sequence[Reply] | Callable[[Received], Reply],
        *,
        latency_seconds: float = 0.0,
    ) -> None:
        """Take what is answered: one reply, several in order of which the last stays, or by a rule.

        Args:
            replies: What is answered.
            latency_seconds: Before each answer.
        """
        self.received: list[Received] = []
        self.most_at_once = 0
        """Requests that were open at the same time, at most."""
        self._replies = replies
        self._latency_seconds = latency_seconds
        self._open = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.is_closed = False
        """Whether connections are refused."""
        self._handler = type("_OwnHandler", (_Handler,), {"owner": self})
        self._server = _Server(("127.0.0.1", 0), self._handler)
        self._thread = self._new_thread()

    @property
    def url(self) -> str:
        """Return its address, without a path; an OpenAI client adds "/v1"."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Answer nothing more; what still waits is dropped."""
        self._ended.set()
        if not self.is_closed:
            self._stop()

    def close_port(self) -> None:
        """Refuse new connections, and reset those that are open at their next request."""
        self.is_closed = True
        self._stop()

    def open_port(self) -> None:
        """Answer again, at the same address."""
        self._server = _Server(self._server.server_address, self._handler)
        self._thread = self._new_thread()
        self.is_closed = False
        self._thread.start()

    def _new_thread(self) -> threading.Thread:
        serve = self._server.serve_forever
        return threading.Thread(target=serve, kwargs={"poll_interval": 0.01}, daemon=True)

    def _stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # What follows is called by the threads that answer.

    def begin(self, received: Received) -> Reply:
        """Note a request and return what is answered to it."""
        with self._lock:
            position = len(self.received)
            self.received.append(received)
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
        replies = self._replies
        if isinstance(replies, Reply):
            return replies
        if isinstance(replies, Sequence):
            return replies[min(position, len(replies) - 1)]
        return replies(received)

    def end(self) -> None:
        """Note that a request is answered."""
        with self._lock:
            self._open -= 1

    def wait(self, seconds: float) -> None:
        """Wait, or less long if the server ends."""
        self._ended.wait(seconds)

    def pause(self, reply: Reply) -> None:
        """Wait as long as a reply takes."""
        self.wait(self._latency_seconds + reply.wait_seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.resets: set[socket.socket] = set()
        """Connections to be closed by a reset."""

    def shutdown_request(self, request: Any) -> None:
        """Close a connection; one to be reset is not ended regularly (FIN) before."""
        if request in self.resets:
            self.resets.remove(request)
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: ScriptedServer

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        received = Received(
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=_read_json(data),
            raw=data,
            at=time.monotonic(),
        )
        reply = self.owner.begin(received)
        try:
            self.owner.pause(reply)
            if reply.drops or self.owner.is_closed:
                self._reset()
                return
            wants_stream = isinstance(received.body, dict) and received.body.get("stream")
            if reply.events and (wants_stream or not reply.body):
                self._send_events(reply)
            else:
                self._send_whole(reply)
        finally:
            self.owner.end()

    def do_GET(self) -> None:
        self.do_POST()

    def do_DELETE(self) -> None:
        self.do_POST()

    def _send_whole(self, reply: Reply) -> None:
        self._send_head(reply, "application/json")
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if reply.byte_seconds:
            self._send_slowly(reply)
        else:
            self.wfile.write(reply.body[: reply.cut_at])
        self.close_connection = reply.cut_at is not None

    def _send_slowly(self, reply: Reply) -> None:
        for byte in reply.body[: reply.cut_at]:
            self.owner.wait(reply.byte_seconds)
            self.wfile.write(bytes([byte]))

    def _reset(self) -> None:
        """Close the connection by a reset (RST) in place of its regular end."""
        linger = struct.pack("ii", 1, 0)  # on, 0 seconds
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        assert isinstance(self.server, _Server)
        self.server.resets.add(self.connection)
        self.close_connection = True

    def _send_events(self, reply: Reply) -> None:
        self._send_head(reply, "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in reply.events[: reply.cut_at]:
            self.owner.wait(reply.event_seconds)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            self.wfile.flush()
        if reply.cut_at is None:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = reply.cut_at is not None

    def _send_head(self, reply: Reply, content_type: str) -> None:
        self.send_response(reply.status)
        for name, value in {"Content-Type": content_type, **reply.headers}.items():
            self.send_header(name, value)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def _read_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
