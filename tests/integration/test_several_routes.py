"""Questions to several knowledge bases over HTTP, and the data of the selection of segments."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.testing.models import ScriptedModel

if TYPE_CHECKING:
    from fastapi import FastAPI

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
QUESTION = "Why did the margin fall in 2023?"
EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture(scope="module")
def bases() -> Iterator[dict[str, KnowledgeBase]]:
    with KnowledgeBase(":memory:") as annual, KnowledgeBase(":memory:") as others:
        annual.add(REPORTS / "annual-report-2022.md", REPORTS / "annual-report-2023.md")
        others.add(REPORTS / "handbook.md", REPORTS / "supply-agreement.txt")
        annual.update_metadata(["annual-report-2022.md"], {"team": "hr"})
        others.update_metadata(["handbook.md"], {"team": "hr"})
        yield {"annual": annual, "others": others}


@pytest.fixture
def app(bases: dict[str, KnowledgeBase]) -> FastAPI:
    return app_of(bases, llm=ScriptedModel(capable_answer))


def post(app: FastAPI, path: str, body: object, **headers: str) -> httpx.Response:
    async def answered() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.post(path, json=body, headers=headers)

    return asyncio.run(answered())


def events(response: httpx.Response) -> list[tuple[str, Any]]:
    parts = [part.split("\n") for part in response.text.split("\n\n") if part]
    return [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for name, data in parts
    ]


def test_the_data_of_a_selection_name_rows_and_words(app: FastAPI) -> None:
    body = post(app, "/v1/explanation", {"question": QUESTION, "budget_tokens": 400}).json()
    result, data = body["result"], body["data"]
    assert [segment["knowledge_base"] for segment in result["segments"]]
    documents = {(one["knowledge_base"], one["document_id"]): one for one in data["documents"]}
    for segment, selected in zip(result["segments"], data["segments"], strict=True):
        runs = documents[segment["knowledge_base"], segment["document_id"]]["runs"]
        first, end = selected["rows"]
        run = next(run for run in runs if run["row"] <= first < run["row"] + run["count"])
        assert run["start"] + first - run["row"] == segment["first_chunk"]
        assert end - first == segment["last_chunk"] - segment["first_chunk"]
    assert data["words"]["margin"] == ["margin", None]
    assert len(data["tokens"]) == len(data["shares"]) == len(data["relevances"])


def test_a_question_for_documents_has_a_place_of_each(app: FastAPI) -> None:
    body = post(app, "/v1/explanation", {"question": "Which reports mention margins?"}).json()
    found = body["documents"]
    assert found["documents"]["shown"] == len(found["segments"]) > 1
    other = post(app, "/v1/explanation", {"question": QUESTION}).json()
    assert other["documents"] is None


def test_an_explanation_is_also_a_page(bases: dict[str, KnowledgeBase], tmp_path: Path) -> None:
    body = {"question": QUESTION, "documents": ["annual-report-2022.md"], "preset": "precise"}
    response = post(app_of(bases), "/v1/explanation", body, Accept="text/html")
    assert response.headers["content-type"].startswith("text/html")
    assert "sandbox" in response.headers["content-security-policy"]
    assert "annual-report-2022.md" in response.text
    assert "annual-report-2023.md" not in response.text
    key = add_key(tmp_path / "keys.json", "team", role="read", where='team = "hr"')
    app = app_of(bases, keys=KeyRing(read_keys(tmp_path / "keys.json")))
    headers = {"Accept": "text/html", "Authorization": f"Bearer {key}"}
    assert post(app, "/v1/explanation", body, **headers).status_code == 403


def test_one_of_several_knowledge_bases_is_chosen(app: FastAPI) -> None:
    body = {"question": QUESTION, "knowledge_bases": ["others"]}
    data = post(app, "/v1/explanation", body).json()["data"]
    assert {one["document_id"] for one in data["documents"]} <= {
        "handbook.md",
        "supply-agreement.txt",
    }
    unknown = post(app, "/v1/explanation", {**body, "knowledge_bases": ["x"]})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "knowledge_base_not_found")


def test_several_knowledge_bases_are_asked_as_one(app: FastAPI) -> None:
    answer = post(app, "/v1/ask", {"question": QUESTION}).json()
    assert {one["citation"]["knowledge_base"] for one in answer["citations"]} == {"annual"}
    streamed = events(post(app, "/v1/ask", {"question": QUESTION}, **EVENTS))
    assert streamed[-1][0] == "answer"
    assert streamed[-1][1]["text"] == answer["text"]


@pytest.mark.parametrize("path", ["/v1/ask-each", "/v1/knowledge-bases/annual/ask-each"])
def test_a_question_to_each_document_reports_progress(app: FastAPI, path: str) -> None:
    estimate = post(app, path, {"question": QUESTION, "dry_run": True}).json()
    total = len(estimate["documents"])
    assert estimate["usage"]["calls"] >= total
    streamed = events(post(app, path, {"question": QUESTION}, **EVENTS))
    progress = [data for name, data in streamed if name == "progress"]
    assert progress[-1] == {"done": total, "total": total}
    name, answers = streamed[-1]
    assert name == "answers"
    assert len(answers["documents"]) == total


def test_an_error_in_a_stream_is_an_event(bases: dict[str, KnowledgeBase]) -> None:
    app = app_of(bases, llm=ScriptedModel(lambda _: "no JSON at all"))
    streamed = events(post(app, "/v1/ask-each", {"question": QUESTION, "fresh": True}, **EVENTS))
    name, last = streamed[-1]
    assert (name, last["code"]) == ("error", "model_answer")
    refused = post(app, "/v1/ask-each", {"question": QUESTION, "where": "no = 1"}, **EVENTS)
    assert events(refused)[-1][1]["code"] == "filter"


def test_a_key_with_a_filter_sees_only_its_documents(
    bases: dict[str, KnowledgeBase], tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    key = add_key(file, "hr", role="read", where="team = 'hr'")
    other = add_key(file, "other", role="read", knowledge_bases=["others"])
    model = ScriptedModel(capable_answer)
    app = app_of(bases, keys=KeyRing(read_keys(file)), llm=model)
    body = {"question": QUESTION}
    allowed = {"annual-report-2022.md", "handbook.md"}

    found = post(app, "/v1/explanation", body, Authorization=f"Bearer {key}").json()
    assert {one["document_id"] for one in found["data"]["documents"]} <= allowed
    assert "23.1" not in json.dumps(found), "a number of a document that the key excludes"
    each = events(post(app, "/v1/ask-each", body, Authorization=f"Bearer {key}", **EVENTS))
    assert {one["document_id"] for one in each[-1][1]["documents"]} == allowed
    answer = post(app, "/v1/ask", body, Authorization=f"Bearer {key}").json()
    assert {one["document_id"] for one in answer["sources"]} <= allowed

    found = post(app, "/v1/explanation", body, Authorization=f"Bearer {other}").json()
    assert {one["knowledge_base"] for one in found["data"]["documents"]} <= {"", "others"}
    for path in ("/v1/explanation", "/v1/ask", "/v1/ask-each"):
        refused = post(
            app, path, {**body, "knowledge_bases": ["annual"]}, Authorization=f"Bearer {other}"
        )
        assert refused.status_code == 404
        assert post(app, path, body).status_code == 401
