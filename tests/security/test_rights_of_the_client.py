"""Rights of keys in the routes of the client: conversations, packs, queries and chunks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from tests.security.test_tenants import FOREIGN, KB, MARKS, OWN, call
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.testing.models import ScriptedModel
from spanwise.types import WrittenQueries

QUESTION = {"question": "How many days of leave are there?"}
FOREIGN_FILTERS = ("clearance = 7", "team = 'finance'", "team = 'financ'")


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as opened:
        opened.add_text(OWN, document_id="leave.md", metadata={"team": "hr"})
        opened.add_text(
            FOREIGN, document_id="plan.md", metadata={"team": "finance", "clearance": 7}
        )
        model = ScriptedModel(capable_answer)
        opened.ask("What is the codename?", llm=model, thread="secret", write_queries=False)
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def app_with(base: KnowledgeBase, file: Path) -> tuple[FastAPI, ScriptedModel]:
    model = ScriptedModel(capable_answer)
    app = app_of({"shared": base}, llm=model, keys=KeyRing(read_keys(file)))
    return app, model


RESTRICTED: list[tuple[str, str, dict[str, Any] | None]] = [
    ("GET", "/threads", None),
    ("GET", "/threads/secret", None),
    ("DELETE", "/threads/secret", None),
    ("POST", "/ask", {**QUESTION, "thread": "secret"}),
    ("GET", "/packs", None),
    ("GET", "/packs/contracts", None),
    ("POST", "/packs", {"names": ["contracts"], "in_use": False}),
    ("PUT", "/chunks", {"document_id": "leave.md", "chunks": ["None."]}),
]


@pytest.mark.parametrize(("method", "route", "body"), RESTRICTED, ids=str)
def test_a_key_with_a_filter_is_refused(
    base: KnowledgeBase, file: Path, method: str, route: str, body: dict[str, Any] | None
) -> None:
    key = add_key(file, "hr", role="admin", where="team = 'hr'")
    app, model = app_with(base, file)
    response = call(app, key, method, f"{KB}{route}", **({"json": body} if body else {}))
    assert (response.status_code, response.json()["code"]) == (403, "restricted")
    assert not model.requests
    assert not any(mark in response.text.lower() for mark in MARKS)


@pytest.mark.parametrize(
    ("method", "route", "body"),
    [request for request in RESTRICTED if request[:2] not in {("GET", "/packs")}],
    ids=str,
)
def test_a_key_that_only_reads(
    base: KnowledgeBase, file: Path, method: str, route: str, body: dict[str, Any] | None
) -> None:
    key = add_key(file, "reader", role="read")
    app, model = app_with(base, file)
    response = call(app, key, method, f"{KB}{route}", **({"json": body} if body else {}))
    if route == "/packs/contracts":
        assert response.status_code == 200
        return
    assert (response.status_code, response.json()["code"]) == (403, "role")
    assert not model.requests
    assert base.threads.get("secret").info.turns == 1


@pytest.mark.parametrize("route", [*dict.fromkeys(request[1] for request in RESTRICTED)])
def test_a_key_of_another_knowledge_base(base: KnowledgeBase, file: Path, route: str) -> None:
    key = add_key(file, "other", role="admin", knowledge_bases=["other"])
    app, _ = app_with(base, file)
    for method, where, body in RESTRICTED:
        if where == route:
            more = {"json": body} if body else {}
            assert call(app, key, method, f"{KB}{where}", **more).status_code == 404


def test_queries_show_the_model_only_the_own_documents(base: KnowledgeBase, file: Path) -> None:
    key = add_key(file, "hr", role="read", where="team = 'hr'")
    app, model = app_with(base, file)
    response = call(app, key, "POST", f"{KB}/queries", json=QUESTION)
    assert response.status_code == 200
    written = response.json()
    assert (written["where"], written["warnings"]) == ("", [])
    prompts = "".join(request.prompt for request in model.requests).lower()
    assert prompts
    assert not any(mark in prompts + response.text.lower() for mark in MARKS)
    for where in FOREIGN_FILTERS:
        refused = call(app, key, "POST", f"{KB}/queries", json={**QUESTION, "where": where})
        text = refused.text.lower().replace(where, "").replace("'clearance'", "")
        assert not any(mark in text for mark in MARKS[1:]), "beyond what the request says"
    response = call(app, key, "POST", f"{KB}/queries", json={**QUESTION, "documents": ["plan.md"]})
    assert response.status_code == 404


def test_a_forged_filter_of_queries_finds_nothing_else(base: KnowledgeBase, file: Path) -> None:
    key = add_key(file, "hr", role="read", where="team = 'hr'")
    app, _ = app_with(base, file)
    for route in ("search", "excerpts"):
        found = {}
        for where in (*FOREIGN_FILTERS, "unknown = 7"):
            queries = WrittenQueries(
                question="codename", standalone="codename", more_queries=(), model_filter=where
            )
            body = {"question": "codename", "more_queries": queries.to_dict()}
            found[where] = call(app, key, "POST", f"{KB}/{route}", json=body)
            text = found[where].text.lower()
            assert not any(mark in text for mark in ("zyxxonite", "merger", "plan.md"))
        unknown = found["unknown = 7"]
        assert unknown.status_code == 422
        foreign = found["clearance = 7"]
        assert (foreign.status_code, foreign.json()["code"]) == (422, unknown.json()["code"])
        assert foreign.text.count("clearance") == 2, "the filter of the request is repeated"


def test_the_filter_warning_of_a_restricted_key(base: KnowledgeBase, file: Path) -> None:
    key = add_key(file, "hr", role="read", where="team = 'hr'")
    app, _ = app_with(base, file)

    def warned(where: str) -> tuple[int, str]:
        response = call(app, key, "GET", f"{KB}/filter-warning", params={"where": where})
        return response.status_code, response.json().get("warning", "")

    assert warned("team = 'hr'") == (200, "")
    assert warned("team = 'financ'") == (200, "no document passes the filter")
    assert warned("team = 'finance'") == (200, "no document passes the filter")
    assert warned("clearance = 7")[0] == 422


def test_progress_of_a_restricted_key(base: KnowledgeBase, file: Path) -> None:
    key = add_key(file, "hr", role="read", where="team = 'hr'")
    app, _ = app_with(base, file)
    response = call(
        app,
        key,
        "POST",
        f"{KB}/ask-each",
        json=QUESTION,
        headers={"Accept": "text/event-stream"},
    )
    assert 'event: progress\ndata: {"done": 1, "total": 1}' in response.text
    assert "event: answers" in response.text
    assert not any(mark in response.text.lower() for mark in MARKS)


@pytest.mark.parametrize("name", ["/etc/passwd", "../a.toml", "contracts.toml", ""])
def test_no_pack_file_of_the_server_is_read(base: KnowledgeBase, file: Path, name: str) -> None:
    key = add_key(file, "writer", role="write")
    app, _ = app_with(base, file)
    used = call(app, key, "POST", f"{KB}/packs", json={"names": [name]})
    assert (used.status_code, used.json()["code"]) == (422, "pack")
    assert "cannot be read" not in used.text


@pytest.mark.parametrize(
    "name",
    [
        "../spanwise.metadata.csv",
        ".hidden/spanwise.metadata.csv",
        "a.kb/spanwise.metadata.jsonl",
        "spanwise.metadata.csv",
    ],
)
def test_a_sidecar_file_is_no_document_and_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    with KnowledgeBase(tmp_path / "shared.kb") as opened:
        app = app_of({"shared": opened})
        rows = b"path,title\n../../shared.kb/truth.db,Bad\n"
        response = call(app, "", "POST", f"{KB}/documents", files=[("file", (name, rows))])
        assert response.status_code == 422, "without a document, there is nothing to add"
        app.state.service.queues["shared"].stop()
        assert opened.list() == []
    assert [path.name for path in tmp_path.rglob("spanwise.metadata*")] == []
