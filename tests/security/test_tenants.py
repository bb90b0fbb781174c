"""The filter of a key: no route and no message shows anything of the documents that it excludes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.errors import OptionError
from spanwise.server.app import ServerOptions, app_of, make_app
from spanwise.server.keys import KeyRing, add_key, read_keys, remove_key
from spanwise.testing.models import ScriptedModel

KB = "/v1/knowledge-bases/shared"
OWN = "# Leave\n\nEvery employee has 27 days of leave in a year. Unused leave expires in March."
FOREIGN = "# Merger\n\nThe codename of the merger is Zyxxonite. Zyxxonite will be bought in May."
MARKS = ("zyxxonite", "merger", "finance", "clearance", "notes-of-others")
"""Words of the documents that the key excludes: text, title, values, fields and ids."""


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as opened:
        opened.add_text(OWN, document_id="leave.md", metadata={"team": "hr"})
        opened.add_text(OWN, document_id="notes-of-others.md", metadata={"team": "finance"})
        opened.add_text(
            FOREIGN, document_id="plan.md", metadata={"team": "finance", "clearance": 7}
        )
        yield opened


@pytest.fixture
def other() -> Iterator[KnowledgeBase]:
    """Knowledge base without the field of the key's filter."""
    with KnowledgeBase(":memory:") as opened:
        opened.add_text(FOREIGN, document_id="plan.md", metadata={"clearance": 7})
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


@pytest.fixture
def key(file: Path) -> str:
    return add_key(file, "hr", role="admin", where="team = 'hr'")


@pytest.fixture
def app(base: KnowledgeBase, other: KnowledgeBase, file: Path, key: str) -> FastAPI:
    assert key
    bases = {"shared": base, "other": other}
    return app_of(bases, llm=ScriptedModel(capable_answer), keys=KeyRing(read_keys(file)))


def call(app: FastAPI, key: str, method: str, path: str, **arguments: Any) -> httpx.Response:
    async def answered() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {key}", **arguments.pop("headers", {})}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, headers=headers, **arguments)

    return asyncio.run(answered())


def without_echo(response: httpx.Response, body: dict[str, Any]) -> str:
    """Return the text of a response without the arguments that it repeats."""
    text = response.text.lower()
    for value in (body["question"], *body.get("documents", ())):
        text = text.replace(str(value).lower(), "")
    return text


@pytest.mark.parametrize("route", ["search", "excerpts", "explain", "ask", "stream"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"where": "nothing = 3"},
        {"where": "level = 'x'"},
        {"where": "team = 'financ'"},
        {"documents": ["plan.md"]},
        {"question": "What is the codename Zyxxonit?"},
    ],
)
def test_questions_show_nothing_of_other_documents(
    app: FastAPI, key: str, route: str, more: dict[str, Any]
) -> None:
    body = {"question": "How many days of leave?", **more}
    headers = {"Accept": "text/event-stream"} if route == "stream" else {}
    path = f"{KB}/{'ask' if route == 'stream' else route}"
    response = call(app, key, "POST", path, json=body, headers=headers)
    assert response.status_code < 500
    assert not [mark for mark in MARKS if mark in without_echo(response, body)], response.text


def test_a_field_of_other_documents_is_unknown(app: FastAPI, key: str) -> None:
    """An excluded field gets the response of a field that does not exist, also with other types."""
    for path, body in [(f"{KB}/search", {"question": "leave"}), ("/v1/search", {"question": "a"})]:
        refused = [
            call(app, key, "POST", path, json={**body, "where": where})
            for where in ("clearance = 7", "clearance = 'x'", "nonsense1 = 7", "nonsense1 = 'x'")
        ]
        assert {one.status_code for one in refused} == {422}
        details = [one.json()["detail"].partition(";")[0] for one in refused]
        assert details[:2] == [one.replace("nonsense1", "clearance") for one in details[2:]]
    listed = call(app, key, "GET", f"{KB}/documents", params={"where": "clearance = 'x'"})
    assert "unknown field" in listed.json()["detail"]


@pytest.mark.parametrize("route", ["search", "excerpts", "explain", "ask"])
def test_an_excluded_document_looks_like_a_missing_one(app: FastAPI, key: str, route: str) -> None:
    excluded, missing = (
        call(app, key, "POST", f"{KB}/{route}", json={"question": "leave", "documents": [name]})
        for name in ("plan.md", "gone.md")
    )
    assert excluded.status_code == missing.status_code == 404
    assert excluded.json()["detail"].replace("plan.md", "gone.md") == missing.json()["detail"]


def test_a_knowledge_base_without_the_field_of_the_filter_is_empty(app: FastAPI, key: str) -> None:
    listed = call(app, key, "GET", "/v1/knowledge-bases").json()["knowledge_bases"]
    assert {one["name"]: one["documents"] for one in listed} == {"shared": 1, "other": 0}
    documents = call(app, key, "GET", "/v1/knowledge-bases/other/documents")
    assert documents.json()["documents"] == []
    for route in ("search", "ask"):
        path = f"/v1/knowledge-bases/other/{route}"
        refused = call(app, key, "POST", path, json={"question": "What is the codename?"})
        assert refused.status_code == 404
        assert "clearance" not in refused.text
    found = call(app, key, "POST", "/v1/search", json={"question": "How many days of leave?"})
    assert [one["document_id"] for one in found.json()["segments"]] == ["leave.md"]


def test_a_file_without_keys_opens_nothing(base: KnowledgeBase, file: Path, key: str) -> None:
    remove_key(file, "hr")
    closed = app_of({"shared": base}, keys=KeyRing(read_keys(file)))
    for given in (key, ""):
        assert call(closed, given, "GET", "/v1/knowledge-bases").status_code == 401
    with pytest.raises(OptionError, match="keys add"):
        make_app(ServerOptions(knowledge_bases={}, keys_file=str(file)))
