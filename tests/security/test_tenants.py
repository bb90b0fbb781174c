"""The filter of a key: no route and no message shows anything of the documents that it excludes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.errors import OptionError
from spanwise.server.app import app_of, make_app
from spanwise.server.keys import KeyRing, add_key, read_keys, remove_key
from spanwise.server.options import ServerOptions
from spanwise.testing.models import ScriptedModel
from spanwise.types.plain import to_plain

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


@pytest.fixture(params=["team = 'hr'", "not team = 'finance' and not clearance > 0"])
def any_key(request: pytest.FixtureRequest, file: Path, key: str) -> str:
    """Key whose filter includes only the own document; the filter itself is not shown either."""
    return add_key(file, "any", role="admin", where=request.param) if request.param else key


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
    for word in re.findall(r"\w+", body["question"].lower()):
        text = text.replace(f'"{word}"', "")  # the words to mark
    return text.replace("codename or a merger", "")  # topic of the question


@pytest.mark.parametrize("route", ["search", "excerpts", "explain", "ask", "ask-each", "stream"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"where": "nothing = 3"},
        {"where": "level = 'x'"},
        {"where": "team = 'financ'"},
        {"documents": ["plan.md"]},
        {"question": "What is the codename Zyxxonit?"},
        {"question": "Who painted the moon?"},
        {"question": "Which documents mention a codename or a merger?"},
        {"question": "Compare Leave and Merger"},
        {"question": "Show the section Merger"},
    ],
)
def test_questions_show_nothing_of_other_documents(
    any_key: str, app: FastAPI, route: str, more: dict[str, Any]
) -> None:
    body = {"question": "How many days of leave?", **more}
    headers = {"Accept": "text/event-stream"} if route == "stream" else {}
    path = f"{KB}/{'ask' if route == 'stream' else route}"
    response = call(app, any_key, "POST", path, json=body, headers=headers)
    assert response.status_code < 500
    assert not [mark for mark in MARKS if mark in without_echo(response, body)], response.text


def test_metrics_are_for_keys_without_restrictions(
    app: FastAPI, base: KnowledgeBase, file: Path, key: str
) -> None:
    """Metrics count the work of all keys and knowledge bases."""
    one_base = add_key(file, "one", role="admin", knowledge_bases=["shared"])
    admin = add_key(file, "all", role="admin")
    fresh = app_of({"shared": base}, keys=KeyRing(read_keys(file)))
    assert [call(fresh, one, "GET", "/metrics").status_code for one in (key, one_base, admin)] == [
        403,
        403,
        200,
    ]


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


def test_a_change_of_metadata_moves_a_document_at_once(tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys.json", "hr", role="read", where="team = 'hr'")
    keys = KeyRing(read_keys(tmp_path / "keys.json"))
    with (
        KnowledgeBase(tmp_path / "shared.kb") as opened,
        KnowledgeBase(tmp_path / "shared.kb") as own,
    ):
        for name, team in (("a.md", "hr"), ("b.md", "finance")):
            opened.add_text(OWN, document_id=name, metadata={"team": team, f"only_{team}": 1})
        app = app_of({"shared": opened}, keys=keys)

        def seen() -> tuple[list[str], int, int]:
            listed = call(app, key, "GET", f"{KB}/documents").json()["documents"]
            body = {"question": "How many days of leave?", "documents": ["b.md"]}
            asked = call(app, key, "POST", f"{KB}/search", json=body)
            body = {"question": "leave", "where": "only_finance = 1"}
            filtered = call(app, key, "POST", f"{KB}/search", json=body)
            return [one["id"] for one in listed], asked.status_code, filtered.status_code

        assert seen() == (["a.md"], 404, 422)
        own.update_metadata(["b.md"], {"team": "hr"})  # as another process does
        assert seen() == (["a.md", "b.md"], 200, 200)
        own.update_metadata(["b.md"], {"team": "finance"})
        assert seen() == (["a.md"], 404, 422)


def test_a_citation_of_an_excluded_document_is_not_located(
    app: FastAPI, base: KnowledgeBase, key: str
) -> None:
    """Also not through another id with the source, version and quote of the document."""
    cited = to_plain(base.cite("plan.md", 0, 20))
    assert isinstance(cited, dict)
    for document_id in ("plan.md", "leave.md", "gone.md"):
        body = {"citation": {**cited, "document_id": document_id}}
        response = call(app, key, "POST", f"{KB}/locate", json=body)
        located = {**response.json(), "cited": None}  # the citation of the request
        assert "zyxxonite" not in str(located).lower()
        assert not located.get("citation")


def test_a_citation_inside_of_a_citation_is_not_located(
    app: FastAPI, base: KnowledgeBase, key: str
) -> None:
    """A segment contains its citation, so its own id is not the one that is looked up."""
    cited = to_plain(base.cite("plan.md", 0, len(FOREIGN)))
    assert isinstance(cited, dict)
    guess = "The codename of the merger is unknown. It will be bought in May."
    inner = {**cited, "quote": guess, "start": 0, "end": len(FOREIGN), "text_hash": "0" * 64}
    for outer in ({"document_id": "leave.md", "text": ""}, {"text": ""}):
        body = {"citation": {**outer, "citation": inner}}
        response = call(app, key, "POST", f"{KB}/locate", json=body)
        assert response.status_code == 404
        assert "zyxxonite" not in response.text.lower()
