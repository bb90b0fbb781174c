"""Limits on the size of requests, by route and role; large responses that nobody reads."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, Response
from tests.security.test_tenants import call
from tests.servers.running import running

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.server.limits import LimitMiddleware
from spanwise.server.options import RequestLimits

KB = "/v1/knowledge-bases/shared"
LIMITS = RequestLimits(body_bytes=1_000, upload_bytes=100_000)
LARGE = json.dumps({"question": "x" * 50_000}).encode()


@pytest.mark.parametrize("path", [f"{KB}/search", "/v1/ask", f"{KB}/documents/texts", "/mcp"])
def test_a_content_type_raises_no_limit(path: str) -> None:
    """Only bodies that are written to disk piece by piece, and new texts, may be large."""
    with KnowledgeBase(":memory:") as base:
        app = app_of({"shared": base}, limits=LIMITS)
        for content_type in ("application/json", "multipart/form-data; boundary=x"):
            method = "PATCH" if path.endswith("texts") else "POST"
            headers = {"Content-Type": content_type}
            response = call(app, "", method, path, content=LARGE, headers=headers)
            assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_only_keys_that_may_write_send_large_bodies(tmp_path: Path) -> None:
    """A body is parsed before the route checks the role."""
    file = tmp_path / "keys.json"
    reader = add_key(file, "reader", role="read")
    own = add_key(file, "own", role="write", where="team = 'hr'")
    writer = add_key(file, "writer", role="write")
    with KnowledgeBase(":memory:") as base:
        app = app_of({"shared": base}, keys=KeyRing(read_keys(file)), limits=LIMITS)
        body = {"document_id": "a.md", "text": "A text. " * 5_000}
        statuses = [
            call(app, key, "PUT", f"{KB}/texts", json=body).status_code
            for key in (reader, own, writer)
        ]
        assert statuses == [413, 413, 200]


def test_a_large_response_that_nobody_reads_is_given_up() -> None:
    """The server sends it piece by piece, so it keeps no body after the time of a request."""
    app = FastAPI()
    app.add_middleware(LimitMiddleware, limits=RequestLimits(seconds=0.3), hosts=None)
    size = 64_000_000

    @app.get("/large")
    async def large() -> Response:
        return Response(bytes(size))

    with running(app) as url:
        place = httpx.URL(url)
        with socket.create_connection((place.host, place.port or 80)) as client:
            client.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            time.sleep(1.5)
            client.settimeout(5)
            received = 0
            try:
                while piece := client.recv(1 << 20):
                    received += len(piece)
            except OSError:  # reset
                pass
    assert received < size
