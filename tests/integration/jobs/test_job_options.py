"""Options, metrics and stored form of ingest jobs: metadata, crawls, parts written by a model."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from tests.ingest_jobs import (
    KB,
    PIER,
    Held,
    MakeApp,
    assert_files,
    finished,
    upload,
    wait_until,
)
from tests.integration.test_server import bearer, call, problem
from tests.models import made_answer
from tests.servers.web_site import Answer, page, serving

from spanwise import KnowledgeBase
from spanwise.options import FetchOptions
from spanwise.server import job_file
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.server.options import QueueOptions
from spanwise.testing.models import ScriptedModel


def ended(app: FastAPI, response: httpx.Response, *, state: str = "done") -> dict[str, Any]:
    """Return the job of a response once it has ended in a state."""
    job = finished(app, response)
    assert job["state"] == state, job
    return job


def test_options_apply_to_all_documents_of_an_upload(
    make_app: MakeApp, base: KnowledgeBase
) -> None:
    app = make_app()
    options = {
        "metadata": {"year": 2023, "final": True, "tags": ["a", "b"], "rate": 0.5},
        "exclude": ["draft*"],
        "given": {"docs/a/pier.md": {"title": "The pier"}},
    }
    files = [("docs/a/pier.md", PIER), ("docs/b/quay.md", PIER), ("docs/draft.md", PIER)]
    parts: list[Any] = [("options", (None, json.dumps(options)))]
    parts += [("file", file) for file in files]
    job = ended(app, call(app, "POST", f"{KB}/documents", files=parts))
    assert job["options"] == options
    assert job["report"]["added"] == ["docs/a/pier.md", "docs/b/quay.md"]
    pier, quay = base.record("docs/a/pier.md"), base.record("docs/b/quay.md")
    assert (pier.title, quay.title) == ("The pier", "Pier")
    assert {"year": 2023, "final": True, "tags": ("a", "b"), "rate": 0.5}.items() <= {
        **quay.metadata
    }.items()
    assert [record.id for record in base.list("year >= 2023 and final = true")]


def test_an_upload_may_name_its_document(make_app: MakeApp, base: KnowledgeBase) -> None:
    app = make_app()
    query = "?document_id=2023/the-pier.md"
    assert ended(app, upload(app, ("x.md", PIER), query=query))["documents"] == ["2023/the-pier.md"]
    problem(upload(app, ("x.md", PIER), ("y.md", PIER), query=query), 422)
    problem(upload(app, ("x.md", PIER), query="?document_id=../x.md"), 422)
    assert_files(base, {"2023/the-pier.md"})


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"metadata": {"year": None}}, 422),
        ({"metadata": {"": 1}}, 422),
        ({"metadata": {"year": {"a": 1}}}, 422),
        ({"metadata": [1]}, 422),
        ({"include": "*.md"}, 422),
        ({"crawl": {"depth": 1}}, 422),
        ({"given": {"a.md": {"titel": "A"}}}, 422),
        ({"context": {}}, 422),
        ({"context": {"sections": "yes"}}, 422),
        ({"context": {"sections": True}}, 403),
        ({"unknown": 1}, 422),
        ({"llm": "openai:gpt-5"}, 422),
    ],
)
def test_bad_options_leave_nothing(
    make_app: MakeApp, base: KnowledgeBase, options: dict[str, Any], status: int
) -> None:
    app = make_app(llm="openai:gpt-5-mini")  # for answers only
    parts: list[Any] = [("file", ("a.md", PIER)), ("options", (None, json.dumps(options)))]
    problem(call(app, "POST", f"{KB}/documents", files=parts), status)
    if "crawl" not in options:
        body = {"url": "http://a.example/x", **options}
        problem(call(app, "POST", f"{KB}/documents", json=body), status)
    assert_files(base, set())
    assert call(app, "GET", f"{KB}/jobs").json()["total"] == 0


@pytest.mark.parametrize(
    "crawl",
    [
        {"sitemaps": ["file:///etc/passwd"]},
        {"sitemaps": ["http://user:secret@a.example/sitemap.xml"]},
        {"sitemaps": ["http://a.example/sitemap.xml?sig=secret&se=1"]},
        {"depth": -1},
        {"pages": 5},
    ],
)
def test_bad_crawls_are_refused(make_app: MakeApp, crawl: dict[str, Any]) -> None:
    app = make_app()
    body = {"url": "http://a.example/", "crawl": crawl}
    response = call(app, "POST", f"{KB}/documents", json=body)
    assert "secret" not in json.dumps(problem(response, 422))


def test_the_model_of_the_server_writes_parts_if_that_is_allowed(
    make_app: MakeApp, base: KnowledgeBase
) -> None:
    app = make_app(llm=ScriptedModel(made_answer), queue=QueueOptions(allow_generation=True))
    parts: list[Any] = [
        ("file", ("a.md", PIER)), ("options", (None, '{"context": {"headers": true}}'))
    ]  # fmt: skip
    job = ended(app, call(app, "POST", f"{KB}/documents", files=parts))
    assert job["report"]["usage"]
    assert job["options"] == {"context": {"headers": True}}


def test_sitemaps_and_crawls_are_added(tmp_path: Path) -> None:
    fetch = FetchOptions(allow_private=True)
    texts = {name: f"The {name} is {size} m long." for size, name in enumerate("abcd", 30)}
    pages = {f"/docs/{name}": page(text) for name, text in texts.items()}
    robots = Answer(b"User-agent: *\nDisallow: /docs/b")
    start = page("Start.", "/docs/a", "/docs/b", "/no/c")
    with (
        serving({**pages, "/": start, "/robots.txt": robots}) as site,
        KnowledgeBase(tmp_path / "notes.kb", fetch=fetch) as base,
    ):
        urls = "".join(f"<url><loc>{site.url}/docs/{name}</loc></url>" for name in "cd")
        site.pages["/sitemap.xml"] = Answer(f"<urlset>{urls}</urlset>".encode())
        app = app_of({"notes": base})
        bodies = [
            {
                "url": f"{site.url}/sitemap.xml",
                "crawl": {"depth": 0, "delay_seconds": 0},
                "metadata": {"kind": "map"},
            },
            {
                "url": f"{site.url}/",
                "crawl": {"depth": 1, "delay_seconds": 0},
                "include": ["docs/**"],
                "metadata": {"kind": "crawl"},
            },
        ]
        jobs = [ended(app, call(app, "POST", f"{KB}/documents", json=body)) for body in bodies]
        app.state.service.queues["notes"].stop()
        assert jobs[0]["report"]["added"] == [f"{site.url}/docs/c", f"{site.url}/docs/d"]
        assert f"{site.url}/docs/a" in jobs[1]["report"]["added"]
        assert f"{site.url}/docs/b" not in jobs[1]["report"]["added"], "robots.txt forbids it"
        assert {record.id for record in base.list("kind = 'map'")} == set(
            jobs[0]["report"]["added"]
        )


def test_failures_of_a_url_job_keep_no_signature(make_app: MakeApp) -> None:
    """A job without a signature is resumed, one with a signature is not."""
    app = make_app()
    for query, resumable in (("", True), ("?sig=secret&se=1", False)):
        address = f"http://127.0.0.1:1/x{query}"
        response = call(app, "POST", f"{KB}/documents", json={"url": address})
        assert ended(app, response, state="failed")["resumable"] is resumable
        resumed = call(app, "POST", f"{response.headers['location']}/resume")
        assert resumed.status_code == (202 if resumable else 409)
        ended(app, response, state="failed")
    folder = Path(app.state.service.bases["notes"].info().path).with_name("notes.kb.server")
    assert b"secret" not in b"".join(file.read_bytes() for file in folder.glob("jobs.db*"))


def test_metrics_count_jobs_and_documents(
    make_app: MakeApp, base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys.json"
    admin = bearer(add_key(file, "admin", role="admin"))
    other = bearer(add_key(file, "other", role="admin", knowledge_bases=["else"]))
    app = make_app(keys=KeyRing(read_keys(file)))

    def metrics(headers: dict[str, str]) -> dict[str, float]:
        lines = call(app, "GET", "/metrics", headers=headers).text.splitlines()
        rows = (line.rsplit(" ", 1) for line in lines if 'knowledge_base="notes"' in line)
        return {name.replace('knowledge_base="notes"', ""): float(value) for name, value in rows}

    first = upload(app, ("pier.md", PIER), ("empty.md", b""), headers=admin)
    wait_until(
        lambda: metrics(admin), lambda rows: rows['spanwise_jobs_ended_total{,state="done"}'] == 1
    )
    held = Held(monkeypatch)
    for name in ("a.md", "b.md"):
        upload(app, (name, PIER), headers=admin)
    assert held.begun.wait(5)
    rows = metrics(admin)
    assert first.status_code == 202
    assert rows['spanwise_jobs{,state="running"}'] == 1
    assert rows['spanwise_jobs{,state="queued"}'] == 1
    assert rows["spanwise_jobs_oldest_wait_seconds{}"] > 0
    assert rows["spanwise_job_wait_seconds_count{}"] == 2
    assert rows['spanwise_ingest_documents_total{,outcome="added"}'] == 1
    assert rows['spanwise_ingest_documents_total{,outcome="failed"}'] == 1
    assert rows["spanwise_ingest_restarts_total{}"] == 0
    assert metrics(other) == {}, "its knowledge base is not allowed"
    held.released.set()


def test_a_job_file_of_an_earlier_version_is_read(make_app: MakeApp, base: KnowledgeBase) -> None:
    state = Path(base.info().path).with_name("notes.kb.server")
    state.mkdir()
    with closing(sqlite3.connect(state / "jobs.db")) as connection:
        connection.executescript(job_file._MIGRATIONS[0] + "PRAGMA user_version = 1")
        connection.execute(
            "INSERT INTO jobs (id, state, url, names, is_replacing, created_at) "
            "VALUES ('old', 'done', '', '[\"a.md\"]', 1, 0)"
        )
        connection.commit()
    app = make_app()
    assert call(app, "GET", f"{KB}/jobs/old").json()["options"] == {}
    assert finished(app, upload(app, ("pier.md", PIER)))["state"] == "done"
    with closing(sqlite3.connect(state / "jobs.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    problem(call(app, "GET", f"{KB}/jobs"), 500)
