"""Every route of the server: keys, knowledge bases of others, excluded documents, odd values.

The routes are those of the OpenAPI document, so a new route fails these tests until it has an
example here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI
from tests.security.test_tenants import FOREIGN, MARKS, OWN, call
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.testing.models import ScriptedModel
from spanwise.types.plain import to_plain

OPEN = {"/healthz", "/readyz", "/v1/openapi.json"}
"""Paths that need no key."""
QUESTION: dict[str, Any] = {"question": "How many days of leave are there?"}
BODIES: dict[str, dict[str, Any]] = {
    "POST /v1/search": QUESTION,
    "POST /v1/explanation": QUESTION,
    "POST /v1/ask": QUESTION,
    "POST /v1/ask-each": QUESTION,
    "POST /search": {**QUESTION, "documents": ["{id}"]},
    "POST /excerpts": {**QUESTION, "documents": ["{id}"]},
    "POST /explain": {**QUESTION, "documents": ["{id}"]},
    "POST /ask": {**QUESTION, "documents": ["{id}"]},
    "POST /ask-each": {**QUESTION, "documents": ["{id}"]},
    "POST /queries": {**QUESTION, "documents": ["{id}"]},
    "POST /locate": {"citation": {"document_id": "{id}", "start": 0, "end": 5, "quote": "It"}},
    "PATCH /documents/{document_id}": {"fields": {"team": "hr"}},
    "POST /metadata": {"documents": ["{id}"], "fields": {"team": "hr"}},
    "PUT /texts": {"document_id": "{id}", "text": "Nothing.", "replace": True},
    "PUT /chunks": {"document_id": "{id}", "chunks": ["Nothing."], "replace": True},
    "POST /documents": {"url": "http://192.0.2.1/{id}"},
    "POST /packs": {"names": ["contracts"]},
}
"""Body of each route that has one, by method and path after the knowledge base."""
WITHOUT_BODY = {
    "GET /v1/knowledge-bases", "GET ", "GET /explanation", "GET /filter-warning", "GET /documents",
    "GET /documents/{document_id}", "DELETE /documents/{document_id}",
    "GET /sections/{document_id}",
    "GET /chunks/{document_id}", "GET /content/{document_id}", "GET /text/{document_id}",
    "GET /pages/{page}/{document_id}", "GET /figures/{number}/{document_id}",
    "GET /citations/{document_id}", "GET /jobs", "GET /jobs/{job_id}", "DELETE /jobs/{job_id}",
    "POST /jobs/{job_id}/resume", "GET /packs", "GET /packs/{name}", "GET /threads",
    "GET /threads/{thread_id}", "DELETE /threads/{thread_id}", "GET /evaluations",
    "GET /evaluations/{name}", "GET /metrics",
}  # fmt: skip
ROUTES = sorted(BODIES.keys() | WITHOUT_BODY)
KB = "/v1/knowledge-bases"
CHANGES = (
    "PATCH", "PUT", "DELETE", "POST /metadata", "POST /documents", "POST /packs", "POST /jobs",
)  # fmt: skip


@pytest.fixture(scope="module", params=["folder", "postgres"])
def base(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KnowledgeBase]:
    """Return a knowledge base with a document of the key, and with others."""
    place: Any = tmp_path_factory.mktemp("routes") / "shared.kb"
    if request.param == "postgres":
        place = f"{request.getfixturevalue('postgres_url')}?schema=every_route"
    with KnowledgeBase(place, embedder=None) as opened:
        opened.add_text(OWN, document_id="leave.md", metadata={"team": "hr"})
        opened.add_text(OWN, document_id="notes-of-others.md", metadata={"team": "finance"})
        opened.add_text(
            FOREIGN, document_id="plan.md", metadata={"team": "finance", "clearance": 7}
        )
        model = ScriptedModel(capable_answer)
        opened.ask("What is the codename?", llm=model, thread="secret", write_queries=False)
        yield opened


class Site:
    """Server with keys of several kinds."""

    def __init__(self, base: KnowledgeBase, folder: Path) -> None:
        file = folder / "keys.json"
        self.keys = {
            "filter": add_key(file, "filter", role="admin", where="team = 'hr'"),
            "other": add_key(file, "other", role="admin", knowledge_bases=["other"]),
            "read": add_key(file, "read", role="read"),
            "admin": add_key(file, "admin", role="admin"),
            "none": "",
            "wrong": "spanwise_" + "A" * 43,
        }
        self._other = KnowledgeBase(":memory:", embedder=None)
        self._other.add_text(OWN, document_id="leave.md", metadata={"team": "hr"})
        ring = KeyRing(read_keys(file))
        bases = {"shared": base, "other": self._other}
        self.app: FastAPI = app_of(bases, llm=ScriptedModel(capable_answer), keys=ring)

    def close(self) -> None:
        """Close the other knowledge base."""
        self._other.close()

    def send(self, key: str, route: str, *, kb: str = "shared", **names: str) -> httpx.Response:
        """Send the request of a route with one of the keys.

        Args:
            key: Kind of key.
            route: Method and path.
            kb: Name of the knowledge base.
            **names: Values of the placeholders; `id` is that of the document.
        """
        document_id = names.get("id", "plan.md")
        places = {
            "document_id": document_id, "page": "1", "number": "0", "job_id": "0" * 24,
            "name": "contracts", "thread_id": "secret", **names,
        }  # fmt: skip
        method, _, path = route.partition(" ")
        path = re.sub(r"\{(\w+)\}", lambda found: quote(places[found[1]], safe=""), path)
        is_whole = path.startswith(("/v1/", "/metrics"))
        more: dict[str, Any] = {}
        if route in BODIES:
            text = json.dumps(BODIES[route]).replace("{id}", json.dumps(document_id)[1:-1])
            more["content"] = text
            more["headers"] = {"Content-Type": "application/json"}
        query = {"question": "leave", "start": "0", "end": "9", "where": "clearance = 7"}
        if method == "GET" and not is_whole:
            template = f"{KB}/{{kb}}{route.partition(' ')[2]}"
            operation = self.app.openapi()["paths"][template]["get"]
            known = {one["name"] for one in operation["parameters"] if one["in"] == "query"}
            more["params"] = {name: value for name, value in query.items() if name in known}
        place = path if is_whole else f"{KB}/{quote(kb, safe='')}{path}"
        return call(self.app, self.keys[key], method, place, **more)


@pytest.fixture(scope="module")
def site(base: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(base, tmp_path_factory.mktemp("keys"))
    yield made
    made.close()


def state_of(base: KnowledgeBase) -> list[object]:
    """Return all that a request may not change."""
    records = [to_plain(record) for record in base.list()]
    return [records, [to_plain(thread) for thread in base.threads.list()]]


def test_every_route_is_tried(site: Site) -> None:
    described = site.app.openapi()["paths"]
    found = {
        f"{method.upper()} {path.removeprefix(f'{KB}/{{kb}}')}"
        for path, methods in described.items()
        for method in methods
        if path not in OPEN
    }
    assert found == set(ROUTES)


@pytest.mark.parametrize("key", ["none", "wrong"])
def test_no_route_works_without_a_key(site: Site, base: KnowledgeBase, key: str) -> None:
    before = state_of(base)
    refused = [site.send(key, route) for route in ROUTES]
    assert {one.status_code for one in refused} == {401}
    assert len({str(one.json()) for one in refused}) == 1
    assert state_of(base) == before


def test_a_knowledge_base_of_others_looks_like_a_missing_one(
    site: Site, base: KnowledgeBase
) -> None:
    before = state_of(base)
    for route in ROUTES:
        own = site.send("other", route)
        if route == "GET /metrics":
            assert own.status_code == 403
        elif " /v1/" in route:
            assert own.status_code < 500
            assert not [mark for mark in MARKS if mark in own.text.lower()], route
        else:
            missing = site.send("other", route, kb="absent")
            assert own.status_code == missing.status_code == 404, route
            assert own.text.replace("shared", "absent") == missing.text
    assert state_of(base) == before


@pytest.mark.parametrize("document_id", ["plan.md", "notes-of-others.md"])
def test_an_excluded_document_looks_like_a_missing_one(
    site: Site, base: KnowledgeBase, document_id: str
) -> None:
    before = state_of(base)
    for route in ROUTES:
        excluded = site.send("filter", route, id=document_id)
        if " /v1/" in route:  # it names no document
            assert not [mark for mark in MARKS if mark in excluded.text.lower()], route
            continue
        missing = site.send("filter", route, id="gone.md")
        assert excluded.status_code == missing.status_code < 500, (route, excluded.text)
        shown = without_times(excluded.text).replace(document_id, "gone.md")
        assert shown == without_times(missing.text), route
    assert state_of(base) == before


FORGED = [
    "team = 'hr' or team = 'finance'",
    "team = 'x') or (team = 'finance'",
    "team = 'x' or 1 = 1",
    "not team = 'hr'",
    "team != 'zzz'",
    "team = 'finance' --",
    "team = 'finance'/**/",
    "team = 'ｆｉｎａｎｃｅ' or team = 'FINANCE'",
    "`team` = 'finance'",
    "ｔｅａｍ = 'finance'",
    "team = 'x\u0000' or team in ('finance')",
    "team contains 'finan'",
]


def test_no_filter_of_a_request_widens_that_of_the_key(site: Site) -> None:
    key = site.keys["filter"]
    for where in FORGED:
        body = {"question": "What is the codename of the merger?", "where": where}
        for answered in (
            call(site.app, key, "GET", f"{KB}/shared/documents", params={"where": where}),
            call(site.app, key, "POST", f"{KB}/shared/search", json=body),
        ):
            assert answered.status_code in (200, 422), (where, answered.text)
            assert "zyxxonite" not in answered.text.lower()
            assert "plan.md" not in answered.text
            assert "notes-of-others.md" not in answered.text


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d+(e-?\d+)?", "0", text)


def test_a_key_that_reads_changes_nothing(site: Site, base: KnowledgeBase) -> None:
    before = state_of(base)
    for route in ROUTES:
        answered = site.send("read", route)
        assert answered.status_code < 500, (route, answered.text)
        if route.startswith(CHANGES):
            assert (answered.status_code, answered.json()["code"]) == (403, "role"), route
    assert state_of(base) == before


ODD = [
    "../../etc/passwd",
    "/etc/passwd",
    "..\\..\\secret",
    "a\x00b",
    "new\nline\r\nX-Header: 1",
    "\x1b]0;owned\x07",
    "x'; drop table document; --",
    "%s%n{0}${jndi:x}",
    "plan.md\u200b\u202e",
    "x" * 9_000,
    "%2e%2e%2fplan.md",
]
NAMING = [
    route
    for route in ROUTES
    if "{" in route + json.dumps(BODIES.get(route, ""))[1:]
    and not route.startswith(("PUT", "POST /documents", "POST /ask", "POST /queries"))
]
"""Routes that name a document, job, conversation or pack, and neither add one nor ask a model."""


def test_odd_ids_are_answered(site: Site, base: KnowledgeBase) -> None:
    """No value in a path or body is a crash, a path of the server, or another document."""
    before = state_of(base)
    for odd in ODD:
        names = {"id": odd, "job_id": odd, "thread_id": odd, "name": odd}
        for route in NAMING:
            answered = site.send("admin", route, **names)
            assert answered.status_code < 500, (route, odd, answered.text)
            assert "X-Header" not in answered.headers
            assert not re.search("zyxxonite|root:", answered.text, re.IGNORECASE), (route, odd)
    assert state_of(base) == before
