"""Requests that a server must survive or refuse: other sites, slow clients, disconnects."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.servers.applications import opened, serving, wait_for
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.server.options import RequestLimits
from spanwise.testing.models import ScriptedModel

if TYPE_CHECKING:
    pass

KB = "/v1/knowledge-bases/notes"
QUESTION = {"question": "How long is the pier?"}
TEXT = "# Pier\n\nThe pier is 30 m long. It was built in 1911 by the harbour company.\n"


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as opened:
        opened.add_text(TEXT, document_id="pier.md")
        yield opened


SITES = [
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
]


@pytest.mark.parametrize("headers", SITES)
def test_a_page_of_another_site_cannot_use_a_server_without_keys(
    base: KnowledgeBase, headers: dict[str, str]
) -> None:
    calls = []

    def answer(prompt: Any) -> Any:
        calls.append(prompt)
        return capable_answer(prompt)

    with serving(app_of({"notes": base}, llm=ScriptedModel(answer))) as url:
        place = f"{url}{KB}"
        responses = [
            httpx.post(f"{place}/ask", json=QUESTION, headers=headers),
            httpx.get(f"{place}/documents", headers=headers),
            httpx.get(f"{place}/explanation", params=QUESTION, headers=headers),
            httpx.delete(f"{place}/documents/pier.md", headers=headers),
            httpx.put(
                f"{place}/texts", json={"document_id": "a", "text": "An a."}, headers=headers
            ),
        ]
    assert {one.status_code for one in responses} == {403}
    assert {one.json()["code"] for one in responses} == {"other_site"}
    assert not calls
    assert [record.id for record in base.list()] == ["pier.md"]


def test_the_own_page_and_programs_use_a_server_without_keys(base: KnowledgeBase) -> None:
    with serving(app_of({"notes": base})) as url:
        for headers in (
            {},
            {"Origin": url, "Sec-Fetch-Site": "same-origin"},
            {"Origin": url},
            {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
        ):
            found = httpx.post(f"{url}{KB}/search", json=QUESTION, headers=headers)
            assert found.status_code == 200, headers
        linked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert httpx.get(url, headers=linked).status_code == 200, "a link to the page"


@pytest.mark.parametrize("path", ["/", f"{KB}/documents", "/healthz", "/nothing", f"{KB}/search"])
def test_every_response_is_for_the_own_site_alone(base: KnowledgeBase, path: str) -> None:
    with serving(app_of({"notes": base})) as url:
        headers = httpx.get(f"{url}{path}").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_slow_bodies_do_not_occupy_the_server(base: KnowledgeBase) -> None:
    limits = RequestLimits(concurrent=2, seconds=0.5)
    with serving(app_of({"notes": base}, limits=limits)) as url:
        head = f"POST {KB}/search HTTP/1.1"
        with opened(url, head, b"{", length=100) as one, opened(url, head, b"{", length=100) as two:
            wait_for(lambda: httpx.post(f"{url}{KB}/search", json=QUESTION).status_code == 200)
            assert b" 408 " in one.recv(1_000)
            assert b" 408 " in two.recv(1_000)


def test_a_body_without_a_key_is_not_read(base: KnowledgeBase, tmp_path: Path) -> None:
    add_key(tmp_path / "keys.json", "web", role="read")
    keys = KeyRing(read_keys(tmp_path / "keys.json"))
    with (
        serving(app_of({"notes": base}, keys=keys)) as url,
        opened(url, f"POST {KB}/search HTTP/1.1", b"{", length=100) as slow,
    ):
        slow.settimeout(5)
        assert b" 401 " in slow.recv(1_000)


def test_abandoned_work_counts_until_it_ends(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client cannot start more work than the limit by giving up, or by running out of time."""
    release = threading.Event()

    def stuck(*_: object, **__: object) -> None:
        release.wait(60)

    monkeypatch.setattr(type(base), "search", stuck)
    limits = RequestLimits(concurrent=2, seconds=0.1)
    with serving(app_of({"notes": base}, limits=limits)) as url:

        def status() -> int:
            return httpx.post(f"{url}{KB}/search", json=QUESTION).status_code

        assert [status(), status(), status(), status()] == [504, 504, 429, 429]
        release.set()
        monkeypatch.undo()
        wait_for(lambda: status() == 200)


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_client_that_leaves_ends_its_answer(
    base: KnowledgeBase, accept: str, caplog: pytest.LogCaptureFixture
) -> None:
    begun = threading.Event()

    def answer(prompt: Any) -> Any:
        begun.set()
        time.sleep(0.4)
        return capable_answer(prompt)

    with (
        serving(app_of({"notes": base}, llm=ScriptedModel(answer))) as url,
        caplog.at_level(logging.ERROR),
    ):
        body = json.dumps({**QUESTION, "write_queries": False}).encode()
        leaving = opened(url, f"POST {KB}/ask HTTP/1.1\r\nAccept: {accept}", body)
        assert begun.wait(5)
        leaving.close()
        names = ("spanwise-async", "spanwise-call")
        wait_for(lambda: not [one for one in threading.enumerate() if one.name in names])
        time.sleep(0.3)
    assert not caplog.records, "a client that leaves is no error of the server"


def test_a_model_that_crashes_in_a_stream_ends_it_with_an_error(base: KnowledgeBase) -> None:
    def answer(_: Any) -> Any:
        raise ZeroDivisionError("/secret/place")

    with serving(app_of({"notes": base}, llm=ScriptedModel(answer))) as url:
        headers = {"Accept": "text/event-stream"}
        streamed = httpx.post(f"{url}{KB}/ask", json=QUESTION, headers=headers)
    assert "event: error" in streamed.text
    assert "secret" not in streamed.text
