"""OpenTelemetry traces of the server: a span for each request, above those of its operations."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from mcp.client.client import Client
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tests.agents import as_agent, output_of
from tests.integration.commands import environment
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.testing.models import ScriptedModel

KB = "/v1/knowledge-bases/notes"
QUESTION = {"question": "How long is the Zyxxonite pier?"}
TRACE, SENDER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as opened:
        opened.add_text("# Pier\n\nThe Zyxxonite pier is 30 m long.", document_id="secret-pier.md")
        yield opened


def call(app: FastAPI, method: str, path: str, **arguments: Any) -> httpx.Response:
    async def answered() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **arguments)

    return asyncio.run(answered())


def requests_of(spans: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.kind == SpanKind.SERVER]


def parents_of(spans: InMemorySpanExporter, name: str) -> list[str]:
    """Return the names of the spans above the span with a name, nearest first."""
    finished = spans.get_finished_spans()
    by_id = {span.context.span_id: span for span in finished if span.context is not None}
    span = next(span for span in finished if span.name == name)
    names = []
    while span.parent is not None and span.parent.span_id in by_id:
        span = by_id[span.parent.span_id]
        names.append(span.name)
    return names


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_operations_are_below_the_span_of_their_request(
    base: KnowledgeBase, spans: InMemorySpanExporter, accept: str
) -> None:
    app = app_of({"notes": base}, llm=ScriptedModel(capable_answer))
    spans.clear()
    headers = {"traceparent": f"00-{TRACE}-{SENDER}-01", "Accept": accept}
    assert call(app, "POST", f"{KB}/ask", json=QUESTION, headers=headers).status_code == 200
    (request,) = requests_of(spans)
    route = "/v1/knowledge-bases/{kb}/ask"
    assert request.name == f"POST {route}"
    assert request.attributes == {
        "http.request.method": "POST",
        "http.route": route,
        "http.response.status_code": 200,
    }
    assert request.parent is not None
    assert f"{request.parent.span_id:016x}" == SENDER
    finished = spans.get_finished_spans()
    assert {f"{span.context.trace_id:032x}" for span in finished if span.context} == {TRACE}
    operations = [span for span in finished if span is not request]
    assert operations
    assert {parents_of(spans, span.name)[-1] for span in operations} == {request.name}


def test_no_span_has_text_of_a_request(
    base: KnowledgeBase, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    key = add_key(tmp_path / "keys.json", "web", role="write")
    app = app_of({"notes": base}, keys=KeyRing(read_keys(tmp_path / "keys.json")))
    spans.clear()
    headers = {"Authorization": f"Bearer {key}"}
    call(app, "POST", f"{KB}/search", json=QUESTION, headers=headers)
    call(app, "POST", f"{KB}/search", json={"question": ""}, headers=headers)
    call(app, "GET", f"{KB}/documents/secret-pier.md?x=Zyxxonite", headers=headers)
    call(app, "GET", f"{KB}/text/Zyxxonite", headers=headers)
    call(app, "GET", f"{KB}/explanation", params=QUESTION, headers=headers)

    async def search(client: Client) -> str:
        return (await output_of(client, "search", **QUESTION))[0]

    assert "30 m" in as_agent(app, search, key=key)
    own = [span for span in spans.get_finished_spans() if span.kind is not SpanKind.CLIENT]
    exported = "".join(span.to_json() for span in own)
    for text in ("Zyxxonite", "secret-pier", key, "Bearer"):
        assert text not in exported, text


def test_a_tool_of_an_agent_is_below_its_request(
    base: KnowledgeBase, spans: InMemorySpanExporter
) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search", "arguments": QUESTION},
    }
    headers = {"Accept": "application/json, text/event-stream"}
    answer = call(app_of({"notes": base}), "POST", "/mcp", json=body, headers=headers)
    assert "30 m" in answer.text
    assert parents_of(spans, "spanwise.search") == ["tools/call search", "POST /mcp"]


def test_refused_and_failed_requests_have_their_status(
    base: KnowledgeBase, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError("Zyxxonite")

    app = app_of({"notes": base})
    spans.clear()
    call(app, "GET", f"{KB}/documents", headers={"Origin": "https://evil.example"})
    monkeypatch.setattr(type(base), "search", crash)
    call(app, "POST", f"{KB}/search", json=QUESTION)
    call(app, "GET", "/healthz")
    refused, failed = requests_of(spans)
    assert refused.attributes is not None
    assert failed.attributes is not None
    assert refused.attributes["http.response.status_code"] == 403
    assert refused.status.status_code is StatusCode.UNSET
    assert failed.attributes["http.response.status_code"] == 500
    assert failed.status.status_code is StatusCode.ERROR
    assert "Zyxxonite" not in failed.to_json()


TRACED = """
import asyncio, httpx, sys
from spanwise.server.app import make_app
from spanwise.server.options import ServerOptions

async def main():
    app = make_app(ServerOptions(knowledge_bases={"notes": sys.argv[1]}))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            response = await client.get("/v1/knowledge-bases")
            assert response.status_code == 200

asyncio.run(main())
"""


@pytest.mark.parametrize("name", ["console", "nothing"])
def test_a_variable_names_the_exporters(tmp_path: Path, name: str) -> None:
    KnowledgeBase(tmp_path / "notes.kb").close()
    done = subprocess.run(
        [sys.executable, "-c", TRACED, str(tmp_path / "notes.kb")],
        env={**environment({}), "OTEL_TRACES_EXPORTER": name},
        capture_output=True,
        text=True,
        check=False,
    )
    if name == "console":
        assert '"name": "GET /v1/knowledge-bases"' in done.stdout, done.stderr
    else:
        assert "OTEL_TRACES_EXPORTER" in done.stderr
        assert done.returncode != 0
    assert os.environ.get("OTEL_TRACES_EXPORTER") is None
