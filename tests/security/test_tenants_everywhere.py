"""One tenant of PostgreSQL reads nothing of another one: commands, library, server and agents."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from psycopg import sql
from tests.agents import as_agent, output_of
from tests.integration.commands import environment, spanwise
from tests.security.test_tenants import call
from tests.servers.applications import stop_queues, wait_for
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.errors import SpanwiseError
from spanwise.knowledge_base.internals import store_of
from spanwise.server.app import app_of
from spanwise.stores.postgres.store import PostgresStore
from spanwise.testing.models import ScriptedModel

OWN = "# Leave\n\nEvery employee has 27 days of leave in a year. Unused leave expires in March."
FOREIGN = "# Merger\n\nThe codename of the merger is Zyxxonite. Zyxxonite will be bought in May."
MARKS = ("zyxxonite", "globex", "plan.md", "clearance", "moonshot")
"""Words of the other tenant: text, title, name, id, field and conversation."""
QUESTION = "What is the codename of the merger?"
KB = "/v1/knowledge-bases/acme"


@pytest.fixture(scope="module")
def address(postgres_url: str) -> Iterator[str]:
    """Return the address of the tenant acme, next to documents, jobs and files of globex."""
    suffix = secrets.token_hex(4)
    owner, app = (sql.Identifier(f"{word}_{suffix}") for word in ("owner", "app"))
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute("create extension if not exists vector")
        for role in (owner, app):
            admin.execute(sql.SQL("create role {} login").format(role))
        grant = sql.SQL("grant create on database {} to {}")
        admin.execute(grant.format(sql.Identifier(admin.info.dbname), owner))
        place = f"{postgres_url.replace('postgres@', f'owner_{suffix}@')}?schema=all_{suffix}"
        for tenant, text, name in (("globex", FOREIGN, "plan.md"), ("acme", OWN, "leave.md")):
            with KnowledgeBase(f"{place}&tenant={tenant}", embedder=None) as base:
                metadata: dict[str, Any] = {"clearance": 7} if tenant == "globex" else {}
                base.add_text(text, document_id=name, title=tenant, metadata=metadata)
                model = ScriptedModel(capable_answer)
                thread = "moonshot" if tenant == "globex" else "talk"
                base.ask(QUESTION, llm=model, thread=thread, write_queries=False)
                if tenant == "globex":
                    _upload(app_of({"globex": base}))
        with KnowledgeBase(place, create=False) as base:
            base.compact()
            store = store_of(base)
            assert isinstance(store, PostgresStore)
            store.grant_tenant("acme", role=f"app_{suffix}")
        yield place.replace("owner_", "app_", 1) + "&tenant=acme"
        admin.execute(sql.SQL("drop schema {} cascade").format(sql.Identifier(f"all_{suffix}")))
        for role in (owner, app):
            admin.execute(sql.SQL("drop owned by {0}; drop role {0}").format(role))


def _upload(app: FastAPI) -> None:
    files = {"file": ("zyxxonite.md", FOREIGN.encode())}
    place = "/v1/knowledge-bases/globex"
    job = call(app, "", "POST", f"{place}/documents", files=files).json()["id"]
    wait_for(lambda: call(app, "", "GET", f"{place}/jobs/{job}").json()["state"] == "done")
    stop_queues(app)


COMMANDS = [
    "list", "list --json", "info", "info --json", "doctor", "doctor --json", "threads list",
    "threads show moonshot", "show plan.md", "show plan.md --chunks", "show zyxxonite.md --text",
    "search QUESTION", "search QUESTION --json", "search QUESTION --where clearance=7",
    "excerpts QUESTION --context", "explain QUESTION --json", "set plan.md a=1",
    "remove plan.md", "remove zyxxonite.md", "page plan.md 1 -o page.png",
    "threads remove moonshot", "packs list", "compact", "export exported", "copy ADDRESS copied.kb",
]  # fmt: skip


TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("list_documents", {}),
    ("search", {"question": QUESTION}),
    ("excerpts", {"question": QUESTION}),
    ("read", {"document_id": "plan.md"}),
    ("outline", {"document_id": "zyxxonite.md"}),
    ("remove_document", {"document_id": "plan.md"}),
]


async def outputs(client: Client) -> list[str]:
    """Return the outputs of the tools, and the names of the resources."""
    found = [(await output_of(client, tool, **given))[0] for tool, given in TOOLS]
    return [*found, " ".join(one.name for one in (await client.list_resources()).resources)]


def check_outputs(texts: Sequence[str]) -> None:
    """Check that the result of `outputs` shows the own documents, and no others."""
    echoed = [json.dumps(given) for _, given in TOOLS]
    for text, given in zip(texts, [*echoed, ""], strict=True):
        assert shown(text, f"{given} {QUESTION}") == [], text
    assert "leave.md" in texts[0]


def shown(text: str, given: str) -> list[str]:
    """Return the marks of the other tenant in a text, apart from the words of the request."""
    text = text.lower()
    for word in re.findall(r"[\w.]+", given.lower()):
        text = re.sub(rf"(?<![\w.]){re.escape(word)}(?![\w.])", "", text)
    return [mark for mark in MARKS if mark in text]


@pytest.mark.slow
def test_no_command_shows_another_tenant(address: str, tmp_path: Path) -> None:
    for words in COMMANDS:
        arguments = [QUESTION if word == "QUESTION" else word for word in words.split()]
        if "ADDRESS" in arguments:
            arguments[arguments.index("ADDRESS")] = address
        else:
            arguments += ["--kb", address]
        done = spanwise(*arguments, folder=tmp_path)
        given = f"{words} {QUESTION}"
        assert shown(done.stdout + done.stderr, given) == [], (words, done.stdout, done.stderr)
    assert (tmp_path / "copied.kb").is_dir()
    for folder, _, names in os.walk(tmp_path):
        for name in names:
            data = Path(folder, name).read_bytes().lower()
            assert not [mark for mark in MARKS if mark.encode() in data], name


def test_no_route_and_no_tool_shows_another_tenant(address: str) -> None:
    calls: list[tuple[str, str, Any]] = [
        ("GET", "/documents", None),
        ("GET", "", None),
        ("GET", "/jobs", None),
        ("GET", "/threads", None),
        ("GET", "/threads/moonshot", None),
        ("GET", "/packs", None),
        ("GET", "/evaluations", None),
        ("DELETE", "/threads/moonshot", None),
        *(
            ("GET", f"/{route}/{name}", None)
            for route in ("documents", "content", "text", "sections", "chunks", "pages/1")
            for name in ("plan.md", "zyxxonite.md")
        ),
        ("DELETE", "/documents/plan.md", None),
        ("DELETE", "/documents/zyxxonite.md", None),
        *(
            ("POST", f"/{route}", {"question": QUESTION})
            for route in ("search", "excerpts", "explain", "ask", "ask-each", "queries")
        ),
        ("POST", "/search", {"question": "Zyxxonit"}),
        ("POST", "/search", {"question": QUESTION, "where": "clearance = 7"}),
        ("POST", "/metadata", {"where": "title = 'globex'", "fields": {"a": 1}}),
    ]
    with KnowledgeBase(address, create=False) as base:
        app = app_of({"acme": base}, llm=ScriptedModel(capable_answer), agents_write=True)
        for method, route, body in calls:
            response = call(app, "", method, f"{KB}{route}", **({"json": body} if body else {}))
            assert response.status_code < 500, (route, response.text)
            given = f"{route} {json.dumps(body)} {QUESTION}"
            assert shown(response.text, given) == [], (route, response.text)
        assert call(app, "", "GET", f"{KB}/jobs").json()["total"] == 0
        assert call(app, "", "GET", f"{KB}/documents").json()["total"] == 1
        check_outputs(as_agent(app, outputs))
        for change in (
            lambda: base.get("plan.md"),
            lambda: base.cite("plan.md", 0, 5),
            lambda: base.threads.get("moonshot"),
            lambda: base.search(QUESTION, documents=["plan.md"]),
        ):
            with pytest.raises(SpanwiseError) as caught:
                change()
            assert shown(str(caught.value), "plan.md moonshot") == []


def test_an_agent_over_stdio_sees_no_other_tenant(address: str) -> None:
    arguments = ["-m", "spanwise", "mcp", "--kb", address, "--write"]
    server = StdioServerParameters(
        command=sys.executable, args=arguments, env=dict(environment({}))
    )

    async def connected() -> list[str]:
        async with Client(stdio_client(server)) as client:
            return await outputs(client)

    check_outputs(asyncio.run(connected()))
