"""Keys with a filter, and hostile ids and metadata, on a knowledge base in Qdrant.

Searches are approximate, so that Qdrant evaluates the filters.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from tests.agents import as_agent, output_of
from tests.security.test_agents_of_tenants import CALLS
from tests.security.test_every_route import FORGED, KB, ODD, ROUTES, Site, state_of, without_times
from tests.security.test_tenants import FOREIGN, MARKS, OWN, call, without_echo
from tests.servers.capable import capable_answer
from tests.servers.qdrant_edge import edge_client
from tests.servers.qdrant_rest import rest_server

from spanwise import KnowledgeBase
from spanwise.errors import DocumentNotFoundError, OptionError, SpanwiseError
from spanwise.stores.qdrant.points import META_ID, document_point_id
from spanwise.testing.models import ScriptedModel
from spanwise.types import MetadataValue

SHARED = f"{KB}/shared"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Return the address of a server."""
    with edge_client() as engine, rest_server(engine) as running:
        yield f"qdrant://127.0.0.1:{running.port}"


@pytest.fixture(scope="module")
def base(server: str) -> Iterator[KnowledgeBase]:
    """Return a knowledge base with a document of the key, and with others."""
    with KnowledgeBase(f"{server}/shared?exact_chunks=0", embedder=None) as opened:
        opened.add_text(OWN, document_id="leave.md", metadata={"team": "hr"})
        opened.add_text(OWN, document_id="notes-of-others.md", metadata={"team": "finance"})
        metadata: dict[str, MetadataValue] = {"team": "finance", "clearance": 7}
        opened.add_text(FOREIGN, document_id="plan.md", metadata=metadata)
        model = ScriptedModel(capable_answer)
        opened.ask("What is the codename?", llm=model, thread="secret", write_queries=False)
        yield opened


@pytest.fixture(scope="module")
def site(base: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with closing(Site(base, tmp_path_factory.mktemp("keys"))) as made:
        yield made


@pytest.mark.parametrize("where", FORGED)
def test_no_filter_of_a_request_widens_that_of_the_key(site: Site, where: str) -> None:
    body = {"question": "What is the codename of the merger?", "where": where}
    key = site.keys["filter"]
    for answered in (
        call(site.app, key, "GET", f"{SHARED}/documents", params={"where": where}),
        call(site.app, key, "POST", f"{SHARED}/search", json=body),
    ):
        assert answered.status_code in (200, 422), answered.text
        assert not [mark for mark in ("zyxx", "plan.md", "of-others") if mark in answered.text]


def test_an_excluded_document_looks_like_a_missing_one(site: Site, base: KnowledgeBase) -> None:
    before = state_of(base)
    for route in ROUTES:
        excluded, missing = (site.send("filter", route, id=name) for name in ("plan.md", "gone.md"))
        assert excluded.status_code < 500
        if " /v1/" in route:  # it names no document
            assert not [mark for mark in MARKS if mark in excluded.text.lower()], route
            continue
        assert excluded.status_code == missing.status_code, (route, excluded.text)
        shown = without_times(excluded.text).replace("plan.md", "gone.md")
        assert shown == without_times(missing.text), route
    assert state_of(base) == before


@pytest.mark.parametrize("route", ["search", "excerpts", "explain", "ask"])
def test_no_question_shows_an_excluded_document(site: Site, route: str) -> None:
    for more in (
        {"question": "What is the codename Zyxxonit?"},
        {"where": "team = 'financ'"},
        {"where": "clearance = 7"},
        {"documents": ["plan.md"]},
    ):
        body: dict[str, Any] = {"question": "How many days of leave?", **more}
        answered = call(site.app, site.keys["filter"], "POST", f"{SHARED}/{route}", json=body)
        assert answered.status_code < 500
        shown = without_echo(answered, body).replace("clearance", "")  # the field of the request
        assert not [mark for mark in MARKS if mark in shown], answered.text


def test_no_tool_of_an_agent_shows_an_excluded_document(site: Site) -> None:
    async def outputs(client: Client) -> list[str]:
        return [(await output_of(client, tool, **given))[0] for tool, given in CALLS]

    found = as_agent(site.app, outputs, key=site.keys["filter"])
    for (tool, given), text in zip(CALLS, found, strict=True):
        shown = text.lower().replace("plan.md", "").replace(str(given.get("where")), "")
        shown = shown.replace(str(given.get("question")).lower(), "")
        assert not [mark for mark in MARKS if mark in shown], (tool, given, text)
    assert "leave.md" in found[CALLS.index(("list_documents", {}))]


def test_odd_ids_name_one_document_each(server: str) -> None:
    with KnowledgeBase(f"{server}/odd?exact_chunks=0", embedder=None) as base:
        base.add_text(FOREIGN, document_id="plan.md")
        for odd in ODD:
            with pytest.raises(DocumentNotFoundError):
                base.search("merger", documents=[odd])
            assert base.remove(odd) == ()
            try:
                base.add_text(f"Only {len(odd)} letters.", document_id=odd)
            except SpanwiseError:
                continue
            assert base.get(odd).text == f"Only {len(odd)} letters."
            (segment,) = base.search("letters", documents=[odd]).segments
            assert segment.document_id == odd
            base.remove(odd)
        assert [record.id for record in base.list()] == ["plan.md"]


def test_metadata_named_like_fields_of_points_change_no_other_document(server: str) -> None:
    """A document of somebody cannot look like a deleted, newer or other one, or like settings."""
    victim = document_point_id("leave.md")
    forged: dict[str, MetadataValue] = {
        "kind": "gone", "document": victim, "token": "0" * 32, "changed": 2**52, "meta": "{}",
        "tags": ("team", "hr"), "earlier": (victim, META_ID), "number": 0, "record": "null",
        "team\0text\0hr": "hr", "x": "team\0text\0hr",
    }  # fmt: skip
    with KnowledgeBase(f"{server}/forged?exact_chunks=0", embedder=None) as base:
        base.add_text(OWN, document_id="leave.md", metadata={"team": "hr"})
        kept = base.get("leave.md")
        for name in ("plan.md", META_ID, victim):
            base.add_text(FOREIGN, document_id=name, metadata=forged)
        assert [one.id for one in base.list(where="team = 'hr'")] == ["leave.md"]
        found = base.search("codename merger leave", where="team = 'hr'").segments
        assert {segment.document_id for segment in found} == {"leave.md"}
        assert base.get("leave.md") == kept
        for name in ("plan.md", META_ID, victim):
            base.remove(name)
        assert base.get("leave.md") == kept
        assert base.check().sound


def test_an_address_with_a_tenant_is_refused(server: str, tmp_path: Path) -> None:
    """Qdrant has no tenants here, so the option must not be ignored."""
    with pytest.raises(OptionError, match="'tenant' as an option"):
        KnowledgeBase(f"{server}/shared?tenant=acme")
    with (
        KnowledgeBase(tmp_path / "a.kb", embedder=None) as base,
        pytest.raises(OptionError, match="'tenant' as an option"),
    ):
        base.copy_to(f"{server}/copied?tenant=acme")
