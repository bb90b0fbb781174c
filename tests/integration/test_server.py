"""The HTTP interface: questions, documents, keys, limits, errors."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from tests.documents import build_pdf
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.errors import StoreFullError
from spanwise.knowledge_base.internals import store_of
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.server.options import RequestLimits
from spanwise.testing.models import ScriptedModel
from spanwise.types import SearchResult
from spanwise.types.plain import from_plain

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
QUESTION = "Why did the gross margin fall in 2023?"
KB = "/v1/knowledge-bases/reports"


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as opened:
        opened.add(REPORTS)
        opened.update_metadata(["handbook.md"], {"team": "hr"})
        opened.update_metadata(["annual-report-2023.md"], {"team": "finance"})
        yield opened


def call(app: FastAPI, method: str, path: str, **arguments: Any) -> httpx.Response:
    """Return the response of an application to one request."""

    async def answered() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **arguments)

    return asyncio.run(answered())


@pytest.fixture
def app(base: KnowledgeBase) -> FastAPI:
    return app_of({"reports": base}, llm=ScriptedModel(capable_answer))


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["status"] == status
    assert body["code"]
    assert body["detail"]
    assert "Traceback" not in response.text
    return body


def test_a_search_is_that_of_the_library(app: FastAPI, base: KnowledgeBase) -> None:
    body = {"question": QUESTION, "budget_tokens": 500, "where": {"team": "finance"}}
    response = call(app, "POST", f"{KB}/search", json=body)
    assert response.status_code == 200
    expected = base.search(QUESTION, budget_tokens=500, where={"team": "finance"})
    result = from_plain(SearchResult, response.json())
    without_source = [
        replace(one, citation=replace(one.citation, source="")) for one in expected.segments
    ]
    assert (result.context, list(result.segments)) == (expected.context, without_source)


def test_no_path_of_the_server_is_shown(app: FastAPI, base: KnowledgeBase) -> None:
    source = base.record("handbook.md").source
    assert source.endswith("handbook.md")
    folder = source.removesuffix("handbook.md")
    question = {"question": QUESTION}
    for method, path, body in [
        ("POST", "search", question),
        ("POST", "excerpts", question),
        ("POST", "explain", question),
        ("POST", "ask", question),
        ("GET", "documents", None),
        ("GET", "documents/handbook.md", None),
        ("GET", "content/handbook.md", None),
    ]:
        response = call(app, method, f"{KB}/{path}", json=body)
        assert response.status_code == 200, response.text
        assert folder not in response.text


def test_excerpts_explanation_and_several(app: FastAPI) -> None:
    excerpts = call(app, "POST", f"{KB}/excerpts", json={"question": QUESTION, "excerpts": 1})
    assert len(excerpts.json()["excerpts"]) == 1
    explained = call(app, "POST", f"{KB}/explain", json={"question": QUESTION})
    assert explained.json()["candidates"]
    several = call(app, "POST", "/v1/search", json={"question": QUESTION})
    assert several.json()["segments"]


def test_an_answer_whole_and_as_events(app: FastAPI) -> None:
    question = {"question": "Why did the margin fall in 2023?"}
    whole = call(app, "POST", f"{KB}/ask", json=question).json()
    assert "[1]" in whole["text"]
    accept = {"Accept": "text/event-stream"}
    streamed = call(app, "POST", f"{KB}/ask", json=question, headers=accept)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    events = [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for name, data in (one.split("\n") for one in streamed.text.strip().split("\n\n"))
    ]
    *pieces, (last, answer) = events
    assert last == "answer"
    assert {name for name, _ in pieces} == {"text"}
    assert "".join(data["text"] for _, data in pieces) == answer["text"] == whole["text"]


def test_a_model_that_fails_in_a_stream_ends_it_with_an_error(base: KnowledgeBase) -> None:
    app = app_of({"reports": base}, llm=ScriptedModel(lambda _: "no JSON"))
    accept = {"Accept": "text/event-stream"}
    body = {"question": "Who is it?", "write_queries": False}
    streamed = call(app, "POST", f"{KB}/ask", json=body, headers=accept)
    assert streamed.text.startswith("event: error\n")
    assert json.loads(streamed.text.partition("data: ")[2])["code"] == "model_answer"


def test_documents_are_listed_and_read(app: FastAPI, base: KnowledgeBase) -> None:
    listed = call(app, "GET", f"{KB}/documents", params={"limit": 2, "offset": 1}).json()
    assert (len(listed["documents"]), listed["total"]) == (2, 4)
    name = "annual-report-2023.md"
    described = call(app, "GET", f"{KB}/documents/{name}").json()
    assert described["title"] == "Harrow Mills: Annual report 2023"
    assert not described["source"], "a path of the server"
    sections = call(app, "GET", f"{KB}/sections/{name}").json()["sections"]
    first = sections[1]
    text = call(
        app, "GET", f"{KB}/text/{name}", params={"start": first["start"], "end": first["end"]}
    ).json()
    assert text["text"] == base.get(name).text[first["start"] : first["end"]]
    problem(call(app, "GET", f"{KB}/pages/1/{name}"), 422)


def test_documents_are_changed(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "notes.kb") as notes:
        app = app_of({"notes": notes})
        strange = "a/../b c?.md"
        body = {"document_id": strange, "text": "The pier is 30 m long."}
        added = call(app, "PUT", "/v1/knowledge-bases/default/texts", json=body)
        assert added.json()["added"] == [strange]
        place = "/v1/knowledge-bases/notes/documents/a%2F..%2Fb%20c%3F.md"
        changed = call(app, "PATCH", place, json={"fields": {"team": "hr"}, "title": "Pier"})
        assert changed.status_code == 200, changed.text
        assert notes.record(strange).title == "Pier"
        assert notes.record(strange).metadata["team"] == "hr"
        assert call(app, "DELETE", place).json() == {"removed": [strange]}
        problem(call(app, "DELETE", place), 404)


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("reports/search", {"question": ""}, 422, "question"),
        ("reports/search", {"question": "a", "budget": 3}, 422, "budget"),
        ("reports/search", {"question": "a", "budget_tokens": "many"}, 422, "tokens is 'many'; it"),
        ("reports/search", {"question": 5}, 422, "question is 5; it must be a text"),
        ("reports/search", {}, 422, "question is missing"),
        ("reports/search", {"question": "a", "where": 5}, 422, "5; it must be a text or an object"),
        (
            "reports/search?budgt=1",
            {"question": "a"},
            422,
            "budgt: unknown argument",
        ),
        ("reports/search", {"question": "margin", "budget_tokens": 0}, 422, "budget_tokens"),
        ("reports/search", {"question": "margin", "where": "colour = 'red'"}, 422, "colour"),
        ("reports/search", {"question": "margin", "segment_options": {"x": 1}}, 422, "'x'"),
        ("reports/search", {"question": "margin", "segment_options": {"trim": 1}}, 422, "trim"),
        ("reports/search", {"question": "margin", "options": {"budget": 1}}, 422, "budget"),
        ("reports/search", {"question": "margin", "rerank_options": {"chunks": 0}}, 422, "chunks"),
        ("reports/search", {"question": "margin", "rerank": True}, 422, "--rerank"),
        ("reports/ask", {"question": "margin", "rounds": 9}, 422, "rounds"),
        ("reports/ask", {"question": "margin", "llm": "openai:gpt-5-mini"}, 422, "llm"),
        ("reports/ask-each", {"question": "margin", "options": {"excerpts": 2}}, 422, "excerpts"),
        ("reports/metadata", {"fields": {"a": 1}}, 422, "documents"),
        (
            "reports/metadata",
            {"fields": {"a": 1}, "documents": ["handbook.md"], "where": "a = 1"},
            422,
            "documents",
        ),
        ("reports/search", {"question": "margin", "documents": ["no.md"]}, 404, "no.md"),
        ("other/search", {"question": "margin"}, 404, "reports"),
        ("reports/nothing", {}, 404, "/v1/openapi.json"),
        ("reports/search", {"question": "margin", "budget_tokens": "4000"}, 422, "budget_tokens"),
        ("reports/search", {"question": "margin", "budget_tokens": True}, 422, "is true"),
        ("reports/search", {"question": "margin", "budget_tokens": None}, 422, "is null"),
        ("reports/search", {"question": "margin", "headers": "no"}, 422, "headers"),
        ("reports/search", {"question": "margin", "deep": 1}, 422, "deep"),
        (
            "reports/search",
            {"question": "margin", "segment_options": {"token_price": None}},
            422,
            "segment_options.token_price is null",
        ),
        ("reports/search", {"question": "margin", "more_queries": {}}, 422, "lacks question"),
        ("reports/search", {"question": "margin", "where": {"a": {"b": None}}}, 422, "where.a is"),
        ("reports/locate", {"citation": {"document_id": None}}, 422, "null"),
    ],
)
def test_bad_requests_get_problem_details(
    app: FastAPI, path: str, body: dict[str, Any], status: int, words: str
) -> None:
    response = call(app, "POST", f"/v1/knowledge-bases/{path}", json=body)
    detail = problem(response, status)["detail"]
    assert words in detail
    assert not re.search("None|True|Options|__init__", detail)


def test_the_fault_of_a_metadata_field_names_it(app: FastAPI) -> None:
    fields = {"year": 2024, "owner": {"a": 1}, "tags": ["a", None], "dict": {}}
    response = call(app, "PATCH", f"{KB}/documents/handbook.md", json={"fields": fields})
    detail = problem(response, 422)["detail"]
    for name in ("fields.owner is", "fields.tags.1 is null", "fields.dict is"):
        assert name in detail
    assert "year" not in detail


def test_arguments_of_an_address_are_texts(app: FastAPI) -> None:
    listed = call(app, "GET", f"{KB}/documents?limit=1&descending=yes").json()
    assert len(listed["documents"]) == 1


def test_an_unknown_argument_of_an_address_is_refused(app: FastAPI) -> None:
    """A mistyped `replace` must not replace a document."""
    files = {"file": ("a.txt", b"Text of another file.")}
    sent = call(app, "POST", f"{KB}/documents?replase=false", files=files)
    assert "replase: unknown argument; there are" in problem(sent, 422)["detail"]
    listed = call(app, "GET", f"{KB}/documents?wher=x")
    assert "where" in problem(listed, 422)["detail"]
    one = call(app, "GET", f"{KB}/text/handbook.md?begin=5")
    assert "begin: unknown argument; there are start, end" in problem(one, 422)["detail"]
    assert call(app, "GET", "/?any=thing").status_code == 200


def test_a_body_that_is_no_json_is_refused(app: FastAPI) -> None:
    headers = {"Content-Type": "application/json"}
    cut = problem(call(app, "POST", f"{KB}/search", content=b"{", headers=headers), 422)
    assert "JSON at character 1" in cut["detail"]


def test_a_body_without_its_type_is_refused_with_the_header_to_send(app: FastAPI) -> None:
    response = call(app, "POST", f"{KB}/search", content=b'{"question": "margin"}')
    assert "Content-Type: application/json" in problem(response, 422)["detail"]


def test_a_field_whose_name_is_no_text_is_refused(app: FastAPI) -> None:
    headers = {"Content-Type": "application/json"}
    body = b'{"question": "a", "\\ud800": 1}'
    problem(call(app, "POST", f"{KB}/search", content=body, headers=headers), 422)


def test_no_message_of_the_store_is_shown(
    app: FastAPI, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreFullError("the disk of /secret/place is full")

    monkeypatch.setattr(type(base), "search", full)
    body = problem(call(app, "POST", f"{KB}/search", json={"question": "a"}), 507)
    assert "secret" not in json.dumps(body)


def test_a_crash_shows_nothing(
    app: FastAPI, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError("/secret/place")

    monkeypatch.setattr(type(base), "search", crash)
    body = problem(call(app, "POST", f"{KB}/search", json={"question": "a"}), 500)
    assert "secret" not in json.dumps(body)


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Keys by name, and the path of their file."""
    file = tmp_path / "keys.json"
    return {
        "file": str(file),
        "reader": add_key(file, "reader", role="read"),
        "writer": add_key(file, "writer", role="write"),
        "admin": add_key(file, "admin", role="admin"),
        "other": add_key(file, "other", role="read", knowledge_bases=["other"]),
        "hr": add_key(file, "hr", role="admin", where="team = 'hr'"),
    }


@pytest.fixture
def guarded(base: KnowledgeBase, keys: dict[str, str]) -> FastAPI:
    return app_of({"reports": base}, keys=KeyRing(read_keys(Path(keys["file"]))))


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_keys_give_rights(guarded: FastAPI, keys: dict[str, str]) -> None:
    def status(key: str | None, method: str, path: str, **arguments: Any) -> int:
        headers = {} if key is None else bearer(keys.get(key, key))
        return call(guarded, method, path, headers=headers, **arguments).status_code

    body = {"json": {"question": QUESTION}}
    change = {"json": {"fields": {"reviewed": True}}}
    place = f"{KB}/documents/supply-agreement.txt"
    assert status(None, "POST", f"{KB}/search", **body) == 401
    assert status("wrong", "POST", f"{KB}/search", **body) == 401
    assert status("reader", "POST", f"{KB}/search", **body) == 200
    assert status("other", "POST", f"{KB}/search", **body) == 404
    assert status("reader", "PATCH", place, **change) == 403
    assert status("writer", "PATCH", place, **change) == 200
    assert status("writer", "GET", "/metrics") == 403
    assert status("admin", "GET", "/metrics") == 200
    assert status(None, "GET", "/healthz") == 200


def test_the_file_of_keys_contains_no_key(keys: dict[str, str]) -> None:
    text = Path(keys["file"]).read_text(encoding="utf-8")
    assert not any(key in text for name, key in keys.items() if name != "file")
    assert Path(keys["file"]).stat().st_mode & 0o077 == 0


def test_the_filter_of_a_key_cannot_be_taken_off(guarded: FastAPI, keys: dict[str, str]) -> None:
    headers = bearer(keys["hr"])

    def found(body: dict[str, Any]) -> set[str]:
        response = call(guarded, "POST", f"{KB}/search", json=body, headers=headers)
        return {one["document_id"] for one in response.json().get("segments", [])}

    question = {"question": "How many days of leave, and why did the gross margin fall?"}
    assert found(question) == {"handbook.md"}
    for where in ("team = 'finance'", "team = 'hr' or team = 'finance'", "exists(team)", None):
        assert found({**question, "where": where}) <= {"handbook.md"}
    documents = call(guarded, "GET", f"{KB}/documents", headers=headers).json()
    assert [one["id"] for one in documents["documents"]] == ["handbook.md"]
    name = "annual-report-2023.md"
    problem(call(guarded, "GET", KB, headers=headers), 403)
    for method, path in [
        ("GET", f"{KB}/content/{name}"),
        ("GET", f"{KB}/chunks/{name}"),
        ("GET", f"{KB}/citations/{name}?start=0&end=9"),
        ("GET", f"{KB}/figures/0/{name}"),
        ("GET", f"{KB}/documents/{name}"),
        ("GET", f"{KB}/sections/{name}"),
        ("GET", f"{KB}/text/{name}"),
        ("GET", f"{KB}/pages/1/{name}"),
    ]:
        response = call(guarded, method, path, headers=headers)
        assert problem(response, 404)["code"] == "document_not_found"
    change = {"fields": {"team": "finance"}}
    response = call(guarded, "PATCH", f"{KB}/documents/handbook.md", json=change, headers=headers)
    problem(response, 403)


def test_a_citation_of_a_document_that_a_key_excludes(
    guarded: FastAPI, keys: dict[str, str], base: KnowledgeBase
) -> None:
    for name, status in (("handbook.md", 200), ("annual-report-2023.md", 404), ("no.md", 404)):
        cited = {**base.cite("handbook.md", 0, 20).to_dict(), "document_id": name}
        response = call(
            guarded, "POST", f"{KB}/locate", json={"citation": cited}, headers=bearer(keys["hr"])
        )
        assert response.status_code == status


def test_a_filter_that_nothing_passes_names_no_foreign_value(
    guarded: FastAPI, keys: dict[str, str]
) -> None:
    body = {"question": "leave", "where": "team = 'financ'"}
    response = call(guarded, "POST", f"{KB}/search", json=body, headers=bearer(keys["hr"]))
    assert response.status_code == 200
    assert "finance" not in response.text


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("route", ["ask", "ask-each"])
def test_an_answer_for_a_key_with_a_filter_names_no_foreign_value(
    base: KnowledgeBase, keys: dict[str, str], route: str, accept: str
) -> None:
    ring = KeyRing(read_keys(Path(keys["file"])))
    app = app_of({"reports": base}, llm=ScriptedModel(capable_answer), keys=ring)
    body = {"question": "leave", "where": "team = 'financ'"}
    headers = {**bearer(keys["hr"]), "Accept": accept}
    response = call(app, "POST", f"{KB}/{route}", json=body, headers=headers)
    assert response.status_code == 422, "no document passes"
    assert "finance" not in response.text


def test_large_bodies_are_refused(base: KnowledgeBase) -> None:
    app = app_of({"reports": base}, limits=RequestLimits(body_bytes=1_000))
    body = {"question": "margin " * 500}
    problem(call(app, "POST", f"{KB}/search", json=body), 413)

    async def chunks() -> Any:
        for _ in range(50):
            yield b" " * 100

    headers = {"Content-Type": "application/json"}
    problem(call(app, "POST", f"{KB}/search", content=chunks(), headers=headers), 413)


def test_too_many_requests_are_told_to_wait(base: KnowledgeBase) -> None:
    app = app_of({"reports": base}, limits=RequestLimits(concurrent=2))

    async def many() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            requests = [client.post(f"{KB}/search", json={"question": QUESTION}) for _ in range(12)]
            return await asyncio.gather(*requests)

    responses = asyncio.run(many())
    statuses = {response.status_code for response in responses}
    assert statuses == {200, 429}
    refused = next(response for response in responses if response.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert call(app, "POST", f"{KB}/search", json={"question": QUESTION}).status_code == 200


def test_a_request_without_a_thread_keeps_no_place(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may refuse to start a thread, and start one later."""

    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    app = app_of({"reports": base}, limits=RequestLimits(concurrent=1))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        problem(call(app, "GET", f"{KB}/documents"), 500)
    assert call(app, "GET", f"{KB}/documents").status_code == 200


def test_missing_parts_are_not_found(tmp_path: Path) -> None:
    """A number that is none stays a wrong argument."""
    (tmp_path / "a.pdf").write_bytes(build_pdf(["First page."]))
    with KnowledgeBase(":memory:", embedder=None) as opened:
        opened.add(tmp_path / "a.pdf")
        app = app_of({"reports": opened})
        for path, code in (
            ("pages/99/a.pdf", "page_not_found"),
            ("pages/0/a.pdf", "page_not_found"),
            ("figures/99/a.pdf", "figure_not_found"),
            ("packs/nope", "pack_not_found"),
            ("pages/1/b.pdf", "document_not_found"),
        ):
            assert problem(call(app, "GET", f"{KB}/{path}"), 404)["code"] == code
        for path in ("pages/one/a.pdf", "figures/x/a.pdf", "pages/1/a.pdf?dots_per_inch=5"):
            problem(call(app, "GET", f"{KB}/{path}"), 422)
        body = {"names": ["nope"]}
        assert problem(call(app, "POST", f"{KB}/packs", json=body), 422)["code"] == "pack"


def test_a_request_ends_after_its_time(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spanwise.threads import sleep_unless_cancelled

    ended = []

    def slow(*_: object, **__: object) -> None:
        try:
            sleep_unless_cancelled(30)
        finally:
            ended.append(True)

    monkeypatch.setattr(type(base), "search", slow)
    app = app_of({"reports": base}, limits=RequestLimits(seconds=0.3))
    problem(call(app, "POST", f"{KB}/search", json={"question": "a"}), 504)
    for _ in range(100):
        if ended:
            break
        asyncio.run(asyncio.sleep(0.05))
    assert ended, "the work goes on"


def test_a_server_is_ready_while_its_knowledge_bases_can_be_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise StoreFullError(f"{tmp_path}/truth.db is damaged")

    with KnowledgeBase(tmp_path / "a.kb") as base:
        base.add_text("The pier is 30 m long.", document_id="pier.md")
        assert call(app_of({"a": base}), "GET", "/readyz").status_code == 200
        monkeypatch.setattr(type(store_of(base)), "snapshot", fail)
        app = app_of({"a": base})
        refused = problem(call(app, "GET", "/readyz"), 503)
        assert refused["code"] == "not_ready"
        assert str(tmp_path) not in str(refused)
        assert call(app, "GET", "/healthz").status_code == 200
