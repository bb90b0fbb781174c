"""Methods of HTTP: HEAD, methods that an address does not accept, and addresses without a route."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from tests.integration.test_server import KB, bearer, call, problem
from tests.servers.running import running

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.types import KnowledgeBaseInfo

DOCUMENT = f"{KB}/documents/pier.md"


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as opened:
        opened.add_text("The pier is 30 m long.", document_id="pier.md")
        yield opened


@pytest.fixture(scope="module")
def app(base: KnowledgeBase) -> FastAPI:
    return app_of({"reports": base})


@pytest.mark.parametrize(
    "path", ["/", "/app.js", "/healthz", "/readyz", "/v1/knowledge-bases", "/v1/openapi.json",
             DOCUMENT, f"{KB}/documents?limit=1", f"{KB}/explanation?question=pier",
             f"{KB}/documents/none.md", "/nothing"],
)  # fmt: skip
def test_head_is_get_without_a_body(app: FastAPI, path: str) -> None:
    whole, head = call(app, "GET", path), call(app, "HEAD", path)
    assert head.status_code == whole.status_code
    assert head.content == b""
    for name in ("content-type", "content-length", "etag"):
        if path != f"{KB}/explanation?question=pier" or name != "content-length":  # has times
            assert head.headers.get(name) == whole.headers.get(name)


def test_head_on_a_connection(app: FastAPI) -> None:
    """The next response on the connection is not mixed up with a body."""
    with running(app) as url, httpx.Client(base_url=url, trust_env=False) as client:
        assert client.head(DOCUMENT).headers["content-length"] != "0"
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.head("/v1/search").status_code == 405
        assert client.get("/healthz").json() == {"status": "ok"}


def test_head_runs_the_work_once(
    app: FastAPI, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    info = base.info()

    def counted(_: KnowledgeBase) -> KnowledgeBaseInfo:
        calls.append(True)
        return info

    monkeypatch.setattr(type(base), "info", counted)
    assert call(app, "HEAD", KB).status_code == 200
    assert calls == [True]


def test_head_needs_the_key_of_get(base: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key = add_key(file, "reader", role="read")
    guarded = app_of({"reports": base}, keys=KeyRing(read_keys(file)))
    refused = call(guarded, "HEAD", DOCUMENT)
    assert (refused.status_code, refused.content) == (401, b"")
    assert call(guarded, "HEAD", DOCUMENT, headers=bearer(key)).status_code == 200
    assert call(guarded, "HEAD", "/metrics", headers=bearer(key)).status_code == 403
    assert call(guarded, "HEAD", "/healthz").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", DOCUMENT, {"GET", "HEAD", "PATCH", "DELETE"}),
        ("PUT", f"{KB}/packs", {"GET", "HEAD", "POST"}),
        ("GET", "/v1/search", {"POST"}),
        ("HEAD", "/v1/search", {"POST"}),
        ("OPTIONS", f"{KB}/texts", {"PUT"}),
        ("DELETE", "/healthz", {"GET", "HEAD"}),
        ("DELETE", "/", {"GET", "HEAD"}),
        ("GET", "/mcp", {"POST"}),
    ],
)
def test_a_refused_method_lists_those_of_the_address(
    app: FastAPI, method: str, path: str, allowed: set[str]
) -> None:
    response = call(app, method, path)
    assert response.status_code == 405
    assert set(response.headers["allow"].split(", ")) == allowed
    if method != "HEAD":
        assert problem(response, 405)["code"] == "method_not_allowed"


def test_an_address_without_a_route_is_a_problem(app: FastAPI) -> None:
    for method in ("GET", "POST"):
        assert problem(call(app, method, "/v1/none"), 404)["code"] == "not_found"
