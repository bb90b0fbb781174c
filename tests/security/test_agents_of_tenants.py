"""Agents over HTTP: the key of a request limits every tool and resource of MCP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from mcp.client.client import Client
from tests.agents import as_agent, output_of
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, Role, add_key, read_keys
from spanwise.testing.models import ScriptedModel

OWN = "# Leave\n\nEvery employee has 27 days of leave in a year. Unused leave expires in March."
FOREIGN = "# Merger\n\nThe codename of the merger is Zyxxonite. Zyxxonite will be bought in May."
MARKS = ("zyxxonite", "merger", "finance", "clearance", "others")
"""Words of the documents that the key excludes."""
READING = {"search", "excerpts", "list_documents", "outline", "read", "ask"}
WRITING = {"add_text", "add_url", "remove_document"}


@pytest.fixture(scope="module")
def bases() -> Iterator[dict[str, KnowledgeBase]]:
    with KnowledgeBase(":memory:") as shared, KnowledgeBase(":memory:") as other:
        shared.add_text(OWN, document_id="leave.md", metadata={"team": "hr"})
        shared.add_text(FOREIGN, document_id="plan.md", metadata={"team": "finance"})
        shared.add_text(FOREIGN, document_id="others.md", metadata={"clearance": 7})
        other.add_text(FOREIGN, document_id="secret.md", metadata={"clearance": 7})
        yield {"shared": shared, "other": other}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def application(
    bases: dict[str, KnowledgeBase], file: Path, *, agents_write: bool = False
) -> FastAPI:
    keys = KeyRing(read_keys(file)) if file.exists() else None
    model = ScriptedModel(capable_answer)
    return app_of(bases, llm=model, keys=keys, agents_write=agents_write)


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"question": "What is the codename?"}),
    ("search", {"question": "How many days of leave?", "where": "team = 'financ'"}),
    ("search", {"question": "leave", "where": "nothing = 1"}),
    ("search", {"question": "leave", "knowledge_base": "other"}),
    ("search", {"question": "leave", "documents": ["plan.md"]}),
    ("excerpts", {"question": "What is the codename of the plan?"}),
    ("list_documents", {}),
    ("list_documents", {"where": "team = 'financ'"}),
    ("list_documents", {"where": "nothing = 1"}),
    ("outline", {"document_id": "plan.md"}),
    ("outline", {"document_id": "plan.md", "knowledge_base": "shared"}),
    ("read", {"document_id": "plan.md"}),
    ("read", {"document_id": "secret.md", "knowledge_base": "other"}),
    ("read", {"document_id": "secret.md", "section": 99}),
    ("ask", {"question": "What is the codename?"}),
    ("ask", {"question": "How many days of leave?", "where": "team = 'financ'"}),
]


def test_no_tool_shows_a_document_that_the_key_excludes(
    bases: dict[str, KnowledgeBase], file: Path
) -> None:
    key = add_key(file, "hr", role="read", where="team = 'hr'")

    async def outputs(client: Client) -> list[str]:
        return [(await output_of(client, tool, **given))[0] for tool, given in CALLS]

    found = as_agent(application(bases, file), outputs, key=key)
    for (tool, given), text in zip(CALLS, found, strict=True):
        shown = text.lower()
        for value in given.values():
            shown = shown.replace(str(value).lower(), "")
        for echoed in given.get("documents", ()):
            shown = shown.replace(echoed, "")
        assert not [mark for mark in MARKS if mark in shown], (tool, given, text)
    assert "27 days" in found[0]
    assert "leave.md" in found[CALLS.index(("list_documents", {}))]


def test_resources_are_those_that_the_key_includes(
    bases: dict[str, KnowledgeBase], file: Path
) -> None:
    key = add_key(file, "hr", role="read", where="team = 'hr'")

    async def resources(client: Client) -> tuple[list[str], list[str]]:
        listed = [one.name for one in (await client.list_resources()).resources]
        failures = []
        for uri in ("shared/plan.md", "other/secret.md", "shared/gone.md", "gone/plan.md"):
            try:
                await client.read_resource(f"spanwise://{uri}")
            except Exception as error:  # noqa: BLE001 - any refusal of the client
                failures.append(str(error))
        assert (await client.read_resource("spanwise://shared/leave.md")).contents
        return listed, failures

    listed, failures = as_agent(application(bases, file), resources, key=key)
    assert listed == ["leave.md"]
    assert len(failures) == 4
    assert failures[0].replace("plan.md", "gone.md") == failures[2]


def test_a_key_for_one_knowledge_base_shows_no_other(
    bases: dict[str, KnowledgeBase], file: Path
) -> None:
    key = add_key(file, "one", role="read", knowledge_bases=["shared"])

    async def outputs(client: Client) -> list[tuple[str, bool]]:
        return [
            await output_of(client, "list_documents"),
            await output_of(client, "search", question="codename", knowledge_base="other"),
            await output_of(client, "search", question="codename", knowledge_base="missing"),
            await output_of(client, "read", document_id="secret.md"),
        ]

    listed, other, missing, read = as_agent(application(bases, file), outputs, key=key)
    assert "plan.md" in listed[0]
    assert "secret.md" not in listed[0]
    assert other[1]
    assert other[0].replace("other", "missing") == missing[0]
    assert read[1]


@pytest.mark.parametrize(
    ("role", "where", "agents_write", "tools"),
    [
        ("read", "", True, READING),
        ("write", "", False, READING),
        ("write", "", True, READING | WRITING),
        ("admin", "team = 'hr'", True, READING),
    ],
)
def test_only_keys_that_may_write_get_tools_that_write(
    bases: dict[str, KnowledgeBase],
    file: Path,
    role: Role,
    where: str,
    agents_write: bool,
    tools: set[str],
) -> None:
    key = add_key(file, "agent", role=role, where=where)

    async def calls(client: Client) -> tuple[set[str], bool]:
        names = {tool.name for tool in (await client.list_tools()).tools}
        _, failed = await output_of(
            client, "remove_document", document_id="gone.md", knowledge_base="shared"
        )
        return names, failed

    app = application(bases, file, agents_write=agents_write)
    assert as_agent(app, calls, key=key) == (tools, True)


def test_an_agent_with_a_write_key_adds_and_removes(tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys.json", "agent", role="write")

    async def calls(client: Client) -> str:
        await output_of(client, "add_text", document_id="n.md", text="The pier is 30 m long.")
        found, _ = await output_of(client, "search", question="How long is the pier?")
        await output_of(client, "remove_document", document_id="n.md")
        return found

    with KnowledgeBase(tmp_path / "notes.kb") as base:
        app = application({"notes": base}, tmp_path / "keys.json", agents_write=True)
        assert "30 m" in as_agent(app, calls, key=key)
        assert not base.list()


LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def post(app: FastAPI, *, headers: dict[str, str], **content: Any) -> httpx.Response:
    import asyncio

    async def answered() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.post("/mcp", headers={**ACCEPT, **headers}, **content)

    return asyncio.run(answered())


def test_a_wrong_key_and_no_key_get_the_same_answer(
    bases: dict[str, KnowledgeBase], file: Path
) -> None:
    add_key(file, "agent", role="read")
    app = application(bases, file)
    given: list[dict[str, str]] = [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "x"}]
    refused = [post(app, json=LIST, headers=headers) for headers in given]
    assert {one.status_code for one in refused} == {401}
    assert len({one.text for one in refused}) == 1
    assert refused[0].json()["code"] == "key_missing_or_wrong"


def test_a_page_of_another_site_is_no_agent(bases: dict[str, KnowledgeBase], file: Path) -> None:
    app = application(bases, file)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        refused = post(app, json=LIST, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "other_site")
    assert post(app, json=LIST, headers={}).status_code == 200


def test_a_large_body_of_an_agent_is_refused(bases: dict[str, KnowledgeBase], file: Path) -> None:
    app = application(bases, file)

    async def pieces() -> Any:
        for _ in range(30):
            yield b" " * 100_000

    headers = {"Content-Type": "application/json"}
    for content in (b" " * 2_000_000, pieces()):
        refused = post(app, content=content, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
