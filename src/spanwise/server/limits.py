"""Limits of requests: size of the body, concurrency, host name, other sites and time.

A body is read only if the key is valid. A server without keys accepts no requests from web pages of
other sites: a browser on the same machine would send them.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

from prometheus_client import Counter, Histogram

from spanwise import __version__
from spanwise.server.access import key_of
from spanwise.server.agents import PATH as PATH_OF_AGENTS
from spanwise.server.problems import MEDIA_TYPE, Problem, too_many_requests

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spanwise.server.keys import Key
    from spanwise.server.options import RequestLimits

REQUESTS = Counter("spanwise_requests", "Answered requests.", ["route", "status"])
SECONDS = Histogram(
    "spanwise_request_seconds",
    "Time to answer a request.",
    ["route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
_HEADERS = {
    b"cross-origin-resource-policy": b"same-origin",
    b"x-content-type-options": b"nosniff",
    b"spanwise-version": __version__.encode(),
}
"""Headers of every response."""
_INTERFACE, _DESCRIPTION = "/v1/", "/v1/openapi.json"
_LENGTH_DIGITS = 18
_PIECE_BYTES = 1 << 20
_DISCARDED_BYTES, _DISCARD_SECONDS = 4 << 20, 1.0
"""Limits on the part of an unused body that is read."""
_LARGE_BODY = re.compile(
    r"(POST /v1/knowledge-bases/[^/]+/documents)|PUT /v1/knowledge-bases/[^/]+/(texts|chunks)"
)
"""Requests whose body may be as large as an upload; group 1 only as a form with files."""
UNLIMITED = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths without limits, metrics and traces, which show the state of the server."""


class LimitMiddleware:
    """Middleware that refuses requests above the limits, and records metrics of the others."""

    def __init__(
        self, app: ASGIApp, *, limits: RequestLimits, hosts: Collection[str] | None
    ) -> None:
        """Wrap an application.

        Args:
            app: The application.
            limits: Limits of requests.
            hosts: Values of the Host header that are accepted, without port; None for all. It
                protects a server on this machine from web pages of other sites (DNS rebinding).
        """
        self._app = app
        self._limits = limits
        self._hosts = None if hosts is None else frozenset(hosts)
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _with_headers(send)
        try:
            limit = self._checked(scope)
        except Problem as problem:
            if problem.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                await _discard_body(scope, receive)
            await _refuse(problem, answer)
            return
        if scope["path"] in UNLIMITED:
            await self._app(scope, receive, answer)
            return
        self._active += 1
        started = time.perf_counter()
        status = 500

        async def measured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await client.send(message)

        client = _Client(answer, self._limits.seconds)
        try:
            await self._app(scope, _limited(receive, limit, self._limits.seconds), measured)
        except Exception:
            if not client.is_gone:
                raise
        finally:
            self._active -= 1
            route = getattr(scope.get("route"), "path", "other")
            REQUESTS.labels(route, str(status)).inc()
            SECONDS.labels(route).observe(time.perf_counter() - started)

    def _checked(self, scope: Scope) -> int:
        """Return the maximum size of the body of a request.

        Raises:
            Problem: If the request is refused.
        """
        headers = _joined(scope["headers"])
        host = headers.get(b"host", "").rpartition("@")[2].lower()
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        if self._hosts is not None and name not in self._hosts:
            raise Problem(
                421,
                "wrong_host",
                f"the host {name[:80]!r} is not a name of this server; use its address, or start "
                "it with --name",
            )
        key = _check_sender(scope, headers)
        if self._active >= self._limits.concurrent and scope["path"] not in UNLIMITED:
            raise too_many_requests()
        may_be_large = _is_upload(scope, headers) and (
            key is None or (key.allows("write") and not key.where)
        )
        limit = self._limits.upload_bytes if may_be_large else self._limits.body_bytes
        length = headers.get(b"content-length", "0")
        is_number = length.isdecimal() and len(length) <= _LENGTH_DIGITS
        if not is_number or int(length) > limit:
            raise _too_large(limit)
        return limit


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, str]:
    """Return headers by name; the values of repeated headers are joined, as RFC 9110 says.

    Two keys in one request are therefore refused as one wrong key.
    """
    found: dict[bytes, str] = {}
    for name, value in headers:
        text, key = value.decode("latin-1"), name.lower()
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _is_upload(scope: Scope, headers: Mapping[bytes, str]) -> bool:
    """Return whether a request adds files, a text or chunks."""
    found = _LARGE_BODY.fullmatch(f"{scope['method']} {_path(scope)}")
    is_form = headers.get(b"content-type", "").lower().startswith("multipart/")
    return found is not None and (found.group(1) is None or is_form)


def _path(scope: Scope) -> str:
    """Return the path of a request without that of an outer application."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _check_sender(scope: Scope, headers: Mapping[bytes, str]) -> Key | None:
    """Check the key of a request, or without keys that no page of another site has sent it.

    Return the key; None if the server has no keys, or the path needs none.

    Raises:
        Problem: If the key is missing or wrong, or another site has sent the request.
    """
    path = _path(scope)
    service = getattr(scope["app"].state, "service", None)
    is_guarded = path == PATH_OF_AGENTS or (path.startswith(_INTERFACE) and path != _DESCRIPTION)
    if service is None or not is_guarded:
        return None
    if service.keys is not None:
        return key_of(service, headers.get(b"authorization", ""))
    if _is_other_site(headers):
        raise Problem(
            403,
            "other_site",
            "a web page of another site has sent the request; use the page of this server, or "
            "start the server with keys",
        )
    return None


def _is_other_site(headers: Mapping[bytes, str]) -> bool:
    """Return whether a web page of another site has sent a request; programs send no origin."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get(b"origin")
    return origin is not None and origin.partition("://")[2] != headers.get(b"host")


def _with_headers(send: Send) -> Send:
    """Return a function that adds the headers of every response."""

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            more = [(name, value) for name, value in _HEADERS.items() if name not in names]
            message = {**message, "headers": [*given, *more]}
        await send(message)

    return answer


class _Client:
    """Client that receives a response; disconnected if it does not read for some time."""

    def __init__(self, send: Send, seconds: float) -> None:
        self.is_gone = False
        self._send = send
        self._seconds = seconds

    async def send(self, message: Message) -> None:
        """Send a part of the response; a large body in pieces, each within the time.

        The server of ASGI waits for the client between two parts, not inside of one.

        Raises:
            OSError: If the client has disconnected, or has not read the parts before in time.
        """
        try:
            for part in _pieces(message):
                async with asyncio.timeout(self._seconds):
                    await self._send(part)
        except OSError:  # also a timeout
            self.is_gone = True
            raise


def _pieces(message: Message) -> Iterator[Message]:
    """Yield a part of a response, a large body as several parts."""
    body = message.get("body", b"")
    if len(body) <= _PIECE_BYTES:
        yield message
        return
    for start in range(0, len(body), _PIECE_BYTES):
        has_more = start + _PIECE_BYTES < len(body) or message.get("more_body", False)
        piece = body[start : start + _PIECE_BYTES]
        yield {**message, "body": piece, "more_body": has_more}


def _too_large(limit: int) -> Problem:
    return Problem(413, "too_large", f"the body has more than {limit:,} bytes; send less")


def _limited(receive: Receive, limit: int, seconds: float) -> Receive:
    """Return a function that receives a body up to a size, within some time."""
    size, end = 0, asyncio.get_running_loop().time() + seconds
    is_whole = False

    async def limited() -> Message:
        nonlocal size, is_whole
        try:
            async with asyncio.timeout_at(None if is_whole else end):
                message = await receive()
        except TimeoutError:
            detail = f"the body did not arrive within {seconds:g} s; send it faster"
            raise Problem(408, "slow_body", detail, headers={"Connection": "close"}) from None
        is_whole = is_whole or not message.get("more_body", False)
        size += len(message.get("body", b""))
        if size > limit:
            raise _too_large(limit)
        return message

    return limited


async def _discard_body(scope: Scope, receive: Receive) -> None:
    """Read a body that is not used, up to a limit.

    If a connection is closed before its body is read, the client may not receive the response.
    """
    if any(name.lower() == b"expect" for name, _ in scope["headers"]):  # it waits for the response
        return
    size, has_more = 0, True
    with suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while has_more and size < _DISCARDED_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                has_more = message.get("more_body", False)


async def _refuse(problem: Problem, send: Send) -> None:
    body = json.dumps(problem.body()).encode()
    headers = {
        "content-type": MEDIA_TYPE,
        "content-length": str(len(body)),
        "connection": "close",
        **(problem.headers or {}),
    }
    await send(
        {
            "type": "http.response.start",
            "status": problem.status_code,
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})
