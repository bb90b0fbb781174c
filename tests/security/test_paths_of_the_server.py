"""Responses contain no path of the server, and messages for its operator only no secret."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.testing.models import ScriptedModel

TEXT = "# Pier\n\nThe pier is 30 m long. It was built in 1911 by the harbour company.\n"


def call(app: FastAPI, method: str, path: str, **arguments: Any) -> httpx.Response:
    async def answered() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **arguments)

    return asyncio.run(answered())


def test_results_name_documents_but_no_paths(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "pier.md").write_text(TEXT, encoding="utf-8")
    with KnowledgeBase(first / "notes.kb") as one, KnowledgeBase(second / "notes.kb") as two:
        one.add(first / "pier.md")
        two.add(second / "pier.md")
        app = app_of({"one": one, "two": two}, llm=ScriptedModel(capable_answer))
        kb = "/v1/knowledge-bases/one"
        question = {"question": "How long is the pier?"}
        responses = [
            call(app, "POST", f"{kb}/search", json=question),
            call(app, "POST", f"{kb}/excerpts", json=question),
            call(app, "POST", f"{kb}/explain", json=question),
            call(app, "POST", f"{kb}/ask", json=question),
            call(app, "POST", f"{kb}/ask", json=question, headers={"Accept": "text/event-stream"}),
            call(app, "POST", "/v1/search", json=question),
            call(app, "GET", f"{kb}/documents"),
            call(app, "GET", f"{kb}/documents/pier.md"),
            call(app, "GET", f"{kb}/explanation", params=question),
        ]
        names = {part["knowledge_base"] for part in responses[5].json()["segments"]}
        conflict = call(
            app, "PUT", f"{kb}/texts", json={"document_id": "pier.md", "text": "Another text."}
        )
    for response in responses:
        assert response.status_code == 200, response.text
        assert str(tmp_path) not in response.text
    assert names <= {"one", "two"}
    assert names
    assert str(tmp_path) not in conflict.text


@pytest.mark.parametrize("change", ["removed", "changed"])
def test_an_error_of_a_file_names_the_document_only(tmp_path: Path, change: str) -> None:
    from tests.documents import build_pdf

    file = tmp_path / "pier.pdf"
    file.write_bytes(build_pdf([TEXT]))
    with KnowledgeBase(tmp_path / "notes.kb") as base:
        base.add(file)
        if change == "removed":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes() + b"\n")
        response = call(app_of({"one": base}), "GET", "/v1/knowledge-bases/one/pages/1/pier.pdf")
    assert response.status_code == 422
    assert str(tmp_path) not in response.text
    assert "pier.pdf" in response.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        {"question": "pier", "where": "title = '\ud800'"},
        {"question": "pier", "where": {"\ud800": 1}},
        {"question": "pier", "segment_options": {"min_segment_value": 10**400}},
    ],
)
def test_odd_values_are_no_crash(body: dict[str, Any]) -> None:
    with KnowledgeBase(":memory:") as base:
        base.add_text(TEXT, document_id="pier.md")
        headers = {"Content-Type": "application/json"}
        path = "/v1/knowledge-bases/one/search"
        app = app_of({"one": base})
        response = call(app, "POST", path, content=json.dumps(body), headers=headers)
    assert response.status_code in (200, 422), response.text
    json.loads(response.content)
