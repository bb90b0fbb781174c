"""Uploads to servers of a knowledge base in PostgreSQL: nothing is kept on the disk of a server."""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI
from tests.documents import build_pdf
from tests.ingest_jobs import KB, PIER, Held, MakeApp, finished, making_apps, upload, wait_until
from tests.integration.test_server import call, problem

from spanwise import KnowledgeBase
from spanwise.errors import StoreError
from spanwise.server import postgres_uploads, routes_jobs
from spanwise.server.options import QueueOptions
from spanwise.stores.postgres.store import open_postgres
from spanwise.stores.postgres.uploads import PostgresUploads


@pytest.fixture
def address(postgres_url: str) -> str:
    return f"{postgres_url}?schema=uploads_{secrets.token_hex(4)}"


@pytest.fixture
def base(address: str) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(address) as opened:
        yield opened


@pytest.fixture
def make_app(base: KnowledgeBase) -> Iterator[MakeApp]:
    with making_apps(base) as make:
        yield make


@pytest.fixture
def other_app(address: str) -> Iterator[FastAPI]:
    """Return an application of another machine: it shares nothing but the database."""
    with KnowledgeBase(address) as opened, making_apps(opened) as make:
        yield make()


def stored(address: str) -> set[str]:
    """Return the names of the uploaded files in the database."""
    url, _, schema = address.partition("?schema=")
    with psycopg.connect(url) as connection:
        return {row[0] for row in connection.execute(f'select name from "{schema}".upload')}


def assert_stored(address: str, expected: set[str]) -> None:
    """Check the uploaded files; the server tidies them just after a job has ended."""
    wait_until(lambda: stored(address), lambda names: names == expected)


def test_files_are_added_replaced_and_removed(
    make_app: MakeApp, base: KnowledgeBase, address: str, other_app: FastAPI
) -> None:
    app = make_app()
    files = (("pier.md", PIER), ("a/quay.md", b"# Quay\n\nOld."), ("empty.md", b""))
    sidecar = ("spanwise.metadata.csv", b"path,author\npier.md,Ada\n")
    job = finished(app, upload(app, *files, sidecar))
    assert (job["state"], job["report"]["added"]) == ("done", ["a/quay.md", "pier.md"])
    (failure,) = job["report"]["failed"]
    assert failure["source"] == "empty.md"
    assert tempfile.gettempdir() not in json.dumps(job)
    assert base.record("pier.md").metadata["author"] == "Ada"
    assert_stored(address, {"pier.md", "a/quay.md"})
    assert call(other_app, "GET", f"{KB}/jobs").json()["jobs"][0]["id"] == job["id"]
    new = PIER.replace(b"30", b"40")
    job = finished(other_app, upload(other_app, ("pier.md", new)))
    assert job["report"]["replaced"] == ["pier.md"]
    assert "40 m" in base.get("pier.md").text
    assert call(app, "DELETE", f"{KB}/documents/pier.md").status_code == 200
    assert_stored(address, {"a/quay.md"})
    assert base.check().sound


def test_pages_are_drawn_on_another_machine(
    make_app: MakeApp, address: str, other_app: FastAPI
) -> None:
    app = make_app()
    finished(app, upload(app, ("a/report.pdf", build_pdf(["The pier is 30 m long."]))))
    assert call(other_app, "GET", f"{KB}/pages/1/a/report.pdf").content.startswith(b"\x89PNG")
    with KnowledgeBase(address, create=False) as opened:
        assert opened.page_image("a/report.pdf", 1).startswith(b"\x89PNG")


def test_large_files_are_stored_in_blocks(
    make_app: MakeApp, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_uploads, "_BLOCK_BYTES", 1_000)
    monkeypatch.setattr(routes_jobs, "_PIECE_BYTES", 700)
    app = make_app()
    text = "".join(f"Line {number} of the report.\n\n" for number in range(1_000))
    finished(app, upload(app, ("long.md", text.encode()), ("pier.md", PIER)))
    assert base.get("long.md").text.split() == text.split()


@pytest.mark.parametrize("name", ["../quay.md", "/tmp/quay.md", "a/../../quay.md", "a//quay.md"])
def test_no_file_is_written_outside_of_the_folder_of_its_job(address: str, name: str) -> None:
    """Names are checked when they are read too, because other programs can write the table."""
    with closing(open_postgres(address)) as store:
        uploads = PostgresUploads(store.connections)
        uploads.append(uploads.create("job", name), 0, b"text")
        place = postgres_uploads.PostgresUploadPlace(uploads)
        with pytest.raises(StoreError, match=r"quay\.md"), place.files("job"):
            pass


def test_a_file_that_is_removed_while_it_is_read_is_an_error(address: str) -> None:
    """Its beginning is not taken for the whole file."""
    with closing(open_postgres(address)) as store:
        uploads = PostgresUploads(store.connections)
        number = uploads.create("job", "pier.md")
        for position in range(2):
            uploads.append(number, position, b"text")
        blocks = uploads.read(number)
        assert next(blocks) == b"text"
        uploads.remove("job")
        with pytest.raises(StoreError, match="removed"):
            list(blocks)
        assert list(uploads.read(number)) == []


@pytest.mark.parametrize(
    "files",
    [
        [("pier.md", PIER), ("pier.md", PIER)],
        [("a", PIER), ("a/pier.md", PIER)],
        [("a/pier.md", PIER), ("a", PIER)],
        [("pier.md", PIER), ("../quay.md", PIER)],
    ],
)
def test_refused_uploads_leave_nothing(
    make_app: MakeApp, address: str, files: list[tuple[str, bytes]]
) -> None:
    problem(upload(make_app(), *files), 422)
    assert stored(address) == set()


def test_a_failed_job_is_resumed_on_another_machine(
    make_app: MakeApp, address: str, other_app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(queue=QueueOptions(keep_uploads=False))
    with monkeypatch.context() as patch:
        patch.setattr(KnowledgeBase, "add", _fails)
        response = upload(app, ("pier.md", PIER))
        job = finished(app, response)
    app.state.service.queues["notes"].stop()
    assert (job["state"], job["resumable"]) == ("failed", True)
    assert_stored(address, {"pier.md"})
    call(other_app, "POST", f"{response.headers['location']}/resume")
    assert finished(other_app, response)["report"]["added"] == ["pier.md"]
    assert_stored(address, {"pier.md"})


def _fails(*_: Any, **__: Any) -> None:
    raise ValueError("it fails")


def test_a_job_of_a_stopped_server_is_continued(
    make_app: MakeApp, other_app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its documents are recognised as unchanged there."""
    app = make_app()
    finished(app, upload(app, ("pier.md", PIER)))
    held = Held(monkeypatch)
    response = upload(app, ("quay.md", b"# Quay\n\nNew."), ("b.md", b"# B\n\nB."))
    assert held.begun.wait(10)
    app.state.service.queues["notes"].stop()
    assert call(app, "GET", response.headers["location"]).json()["state"] == "queued"
    held.released.set()
    other_app.state.service.queues["notes"].start()
    assert finished(other_app, response)["report"]["added"] == ["b.md", "quay.md"]
    call(other_app, "DELETE", f"{KB}/jobs/{response.json()['id']}")
    listed = call(other_app, "GET", f"{KB}/jobs").json()["jobs"]
    assert [job["state"] for job in listed] == ["done", "done"]


def test_abandoned_uploads_are_removed(make_app: MakeApp, address: str) -> None:
    app = make_app()
    finished(app, upload(app, ("pier.md", PIER)))
    app.state.service.queues["notes"].stop()
    url, _, schema = address.partition("?schema=")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            f'insert into "{schema}".upload (job, name, written_at) values '
            "('old', 'old.md', clock_timestamp() - interval '2 hours'), "
            "('new', 'new.md', clock_timestamp())"
        )
    make_app().state.service.queues["notes"].start()
    assert_stored(address, {"pier.md", "new.md"})


def test_nothing_is_written_to_the_disk_of_the_server(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    app = make_app(queue=QueueOptions(keep_uploads=True))
    finished(app, upload(app, ("pier.md", PIER)))
    app.state.service.queues["notes"].stop()
    assert list(tmp_path.iterdir()) == []
