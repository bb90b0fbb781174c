"""Ingest jobs of the server: uploads, URLs, the queue on disk, limits and keys."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.documents import build_pdf, build_zip
from tests.ingest_jobs import (
    FINAL,
    KB,
    PIER,
    Held,
    MakeApp,
    assert_files,
    files_of,
    finished,
    upload,
    wait_until,
)
from tests.integration.test_server import bearer, call, problem
from tests.servers.running import running
from tests.servers.web_site import page, serving

from spanwise import KnowledgeBase
from spanwise.errors import StoreError, StoreFullError, StoreUnavailableError
from spanwise.options import FetchOptions
from spanwise.server import job_runner, routes_jobs, upload_folders, uploads
from spanwise.server.app import app_of
from spanwise.server.job_file import JobFile
from spanwise.server.jobs import NewJob, Outcome
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.server.options import QueueOptions, RequestLimits
from spanwise.server.queue import IngestQueue
from spanwise.server.upload_retention import UploadRetention


def test_files_are_added_and_described(make_app: MakeApp, base: KnowledgeBase) -> None:
    app = make_app()
    response = upload(app, ("pier.md", PIER), ("empty.md", b""), query="?prefix=2023/q1")
    job = finished(app, response)
    assert (job["state"], job["kind"]) == ("done", "upload")
    assert job["documents"] == ["2023/q1/pier.md", "2023/q1/empty.md"]
    assert job["report"]["added"] == ["2023/q1/pier.md"]
    (failure,) = job["report"]["failed"]
    assert failure["source"] == "2023/q1/empty.md"
    assert job["progress"]["documents_done"] == 2
    assert job["created_at"] <= job["started_at"] <= job["finished_at"]
    assert base.record("2023/q1/pier.md").title == "Pier"
    assert str(Path(base.info().path).parent) not in json.dumps(job)
    assert_files(base, {"2023/q1/pier.md"})  # the file without a document is removed
    listed = call(app, "GET", f"{KB}/jobs").json()
    assert (listed["jobs"], listed["total"]) == ([job], 1)
    assert call(app, "GET", f"{KB}/jobs?state=queued").json()["total"] == 0
    assert base.check().sound
    state = Path(base.info().path).with_name("notes.kb.server")
    assert all(path.stat().st_mode & 0o077 == 0 for path in [state, *state.glob("*")])


def test_an_upload_arrives_while_the_queue_is_slow(
    make_app: MakeApp, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body is not lost while the server checks whether another job may wait."""
    monkeypatch.setattr(routes_jobs, "_STALL_SECONDS", 1.0)
    check = IngestQueue.check_room

    def slow(queue: IngestQueue) -> None:
        time.sleep(0.6)
        check(queue)

    monkeypatch.setattr(IngestQueue, "check_room", slow)
    app = make_app()
    assert finished(app, upload(app, ("pier.md", PIER)))["state"] == "done"
    assert base.record("pier.md").title == "Pier"


def test_a_new_upload_replaces_document_and_file(make_app: MakeApp, base: KnowledgeBase) -> None:
    app = make_app()
    finished(app, upload(app, ("pier.md", PIER), ("quay.md", b"# Quay\n\nOld.")))
    job = finished(app, upload(app, ("pier.md", PIER.replace(b"30", b"40"))))
    assert job["report"]["replaced"] == ["pier.md"]
    assert "40 m" in base.get("pier.md").text
    folder = Path(base.info().path).with_name("notes.kb.server") / "uploads"
    wait_until(
        lambda: sorted(path.name for path in folder.glob("*/*")),
        lambda names: names == ["pier.md", "quay.md"],
    )
    assert call(app, "DELETE", f"{KB}/documents/pier.md").status_code == 200
    assert_files(base, {"quay.md"})


def test_another_source_is_replaced_if_that_is_wanted(
    make_app: MakeApp, base: KnowledgeBase, tmp_path: Path
) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "pier.md").write_bytes(PIER)
    base.add(tmp_path / "secret")
    app = make_app()
    kept = finished(app, upload(app, ("pier.md", b"# New\n\nNew."), query="?replace=false"))
    assert kept["state"] == "failed"
    assert kept["report"]["failed"][0]["code"] == "conflict"
    assert "secret" not in json.dumps(kept)
    assert base.record("pier.md").title == "Pier"
    replaced = finished(app, upload(app, ("pier.md", b"# New\n\nNew.")))
    assert replaced["report"]["replaced"] == ["pier.md"]


@pytest.mark.parametrize("keeps", [True, False])
def test_pages_are_drawn_from_kept_uploads(
    make_app: MakeApp, base: KnowledgeBase, keeps: bool
) -> None:
    app = make_app(queue=QueueOptions(keep_uploads=keeps))
    finished(app, upload(app, ("report.pdf", build_pdf(["The pier is 30 m long."]))))
    assert_files(base, {"report.pdf"} if keeps else set())
    page = call(app, "GET", f"{KB}/pages/1/report.pdf")
    if keeps:
        assert page.content.startswith(b"\x89PNG")
    else:
        assert str(Path(base.info().path).parent) not in problem(page, 422)["detail"]


@pytest.mark.parametrize(
    "name",
    [
        "../pier.md", "/etc/passwd", "a//b.md", "a/../b.md", "..", ".hidden", ".git/config", "a/",
        "a\\b.md", "C:\\pier.md", "x.kb/pier.md", "truth.db", "spanwise.metadata.csv", "a!/b.md",
        " pier.md", "pier\n.md", f"{'n' * 256}.md", f"{'a/' * 600}b.md",
    ],
)  # fmt: skip
def test_names_that_leave_the_folder_are_refused(
    make_app: MakeApp, base: KnowledgeBase, name: str
) -> None:
    app = make_app()
    head = b'--X\r\nContent-Disposition: form-data; name="file"; filename="'
    escaped = name.replace("\\", "\\\\").encode().replace(b"\n", b"\x07")
    body = head + escaped + b'"\r\n\r\nx\r\n--X--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=X"}
    response = call(app, "POST", f"{KB}/documents", content=body, headers=headers)
    assert response.status_code in (422, 202)
    if response.status_code == 202:  # Windows paths of old browsers lose their folders
        assert finished(app, response)["documents"] == [name.rpartition("\\")[2]]
    else:
        assert problem(response, 422)["code"] in ("invalid_name", "invalid_upload")
        assert_files(base, set())


def test_the_escapes_of_forms_are_removed_from_names(make_app: MakeApp) -> None:
    """The standard of HTML forms escapes quotation marks and line breaks, but no percent sign."""
    app = make_app()
    head = b'--X\r\nContent-Disposition: form-data; name="file"; filename="'
    tail = b'"\r\n\r\nx\r\n--X--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=X"}
    for name, query, expected in (
        (b"a %22b%22.md", "", 'a "b".md'),
        (b"50%25 %41.md", "", "50%25 %41.md"),
        (b"a%22.md", "?document_id=a%2522.md", "a%22.md"),
    ):
        path = f"{KB}/documents{query}"
        response = call(app, "POST", path, content=head + name + tail, headers=headers)
        assert finished(app, response)["documents"] == [expected]
    body = head + b"a%0D%0A.md" + tail  # an id has no line breaks
    response = call(app, "POST", f"{KB}/documents", content=body, headers=headers)
    assert problem(response, 422)["code"] == "invalid_name"


@pytest.mark.parametrize("prefix", ["..", "a/../..", "/", ".x", "x.kb", "a\\b"])
def test_a_prefix_is_a_path_of_names(make_app: MakeApp, prefix: str) -> None:
    app = make_app()
    response = upload(app, ("pier.md", PIER), query=f"?prefix={prefix}")
    if prefix == "/":
        assert finished(app, response)["documents"] == ["pier.md"]
    else:
        problem(response, 422)


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("multipart/form-data; boundary=X", b"--X", 422),
        ("multipart/form-data; boundary=X", b"nothing", 422),
        ("multipart/form-data", b"--X--", 422),
        ("multipart/form-data; boundary=X", b"--X--\r\n", 422),
        (
            "multipart/form-data; boundary=X",
            b'--X\r\nContent-Disposition: form-data; name="prefix"\r\n\r\na\r\n--X--\r\n',
            422,
        ),
        (
            "multipart/form-data; boundary=X",
            b'--X\r\nContent-Disposition: form-data; name="a"; filename="a.md"\r\n\r\nhalf',
            422,
        ),
        ("text/plain", b"text", 415),
        ("application/json", b"{", 422),
        ("application/json", b'{"url": "http://a.example/x", "more": 1}', 422),
        ("application/json", b'{"url": "/etc/passwd"}', 422),
        ("application/json", b'{"url": "file:///etc/passwd"}', 422),
        ("application/json", b'{"url": "s3://bucket/x"}', 422),
        ("application/json", b'{"url": "http://user:secret@a.example/x"}', 422),
    ],
)
def test_bad_bodies_leave_nothing(
    make_app: MakeApp, base: KnowledgeBase, kind: str, body: bytes, status: int
) -> None:
    app = make_app()
    headers = {"Content-Type": kind}
    response = call(app, "POST", f"{KB}/documents", content=body, headers=headers)
    assert "secret" not in json.dumps(problem(response, status))
    assert_files(base, set())
    assert call(app, "GET", f"{KB}/jobs").json()["total"] == 0


def test_an_upload_over_the_limit_is_refused(make_app: MakeApp, base: KnowledgeBase) -> None:
    app = make_app(limits=RequestLimits(upload_bytes=100_000))
    problem(upload(app, ("big.md", b"x" * 200_000)), 413)

    async def pieces() -> Any:
        yield b'--X\r\nContent-Disposition: form-data; name="a"; filename="a.md"\r\n\r\n'
        for _ in range(50):
            yield b"x" * 4_000

    headers = {"Content-Type": "multipart/form-data; boundary=X"}
    problem(call(app, "POST", f"{KB}/documents", content=pieces(), headers=headers), 413)
    assert_files(base, set())


def test_a_full_disk_is_reported(
    make_app: MakeApp, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(upload_folders, "force_to_disk", full)
    app = make_app()
    problem(upload(app, ("pier.md", PIER)), 507)
    assert_files(base, set())


def test_a_job_that_was_taken_over_is_not_changed_by_its_first_owner(tmp_path: Path) -> None:
    jobs = JobFile(tmp_path / "state" / "jobs.db")
    jobs.add(NewJob(id="one", names=["pier.md"], replace=True), max_waiting=5)
    assert jobs.claim("first", lease_seconds=0.01) is not None
    time.sleep(0.02)
    taken = jobs.claim("second", lease_seconds=60)
    assert taken is not None
    assert jobs.claim("third", lease_seconds=60) is None
    assert not jobs.renew("one", "first", lease_seconds=60, progress=None)
    jobs.release("one", "first")
    assert not jobs.finish("one", "first", Outcome(state="failed"), progress=None)
    assert jobs.renew("one", "second", lease_seconds=60, progress={"documents_done": 1})
    assert jobs.finish("one", "second", Outcome(state="done"), progress=None)
    job = jobs.get("one")
    assert job is not None
    assert (job.state, job.progress) == ("done", {"documents_done": 1})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://127.0.0.1"}, 202),
        ({"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}, 202),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://127.0.0.1:9999", "Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_pages_of_other_sites_add_no_files(
    make_app: MakeApp, base: KnowledgeBase, headers: dict[str, str], status: int
) -> None:
    response = upload(make_app(), ("pier.md", PIER), headers=headers)
    assert response.status_code == status
    if status == 403:
        assert_files(base, set())


def raising(error: Exception) -> Callable[..., Any]:
    def fails(*_: object, **__: object) -> None:
        raise error

    return fails


def test_jobs_are_cancelled(
    make_app: MakeApp, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    app = make_app(queue=QueueOptions(lease_seconds=0.4))
    running, waiting = (upload(app, (f"{name}.md", PIER)) for name in ("first", "second"))
    assert held.begun.wait(5)
    assert call(app, "DELETE", waiting.headers["location"]).json()["state"] == "cancelled"
    place = running.headers["location"]
    assert call(app, "GET", place).json()["state"] == "running"
    assert call(app, "DELETE", place).status_code == 200
    assert finished(app, running)["state"] == "cancelled"
    assert len(held.ended) == 1
    assert_files(base, {"first.md", "second.md"})  # the jobs may be resumed
    held.released.set()
    assert finished(app, upload(app, ("third.md", PIER)))["state"] == "done"
    assert call(app, "DELETE", place).json()["state"] == "cancelled"
    problem(call(app, "DELETE", f"{KB}/jobs/none"), 404)
    assert [record.id for record in base.list()] == ["third.md"]
    assert call(app, "DELETE", f"{place}?discard=true").json()["resumable"] is False
    assert_files(base, {"second.md", "third.md"})
    assert problem(call(app, "POST", f"{place}/resume"), 409)["code"] == "not_resumable"


def test_cancelled_jobs_are_resumed(
    make_app: MakeApp, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    app = make_app()
    first, second = (upload(app, (f"{name}.md", PIER)) for name in ("first", "second"))
    assert held.begun.wait(5)
    for response in (first, second):
        call(app, "DELETE", response.headers["location"])
    assert finished(app, first)["resumable"]
    held.released.set()
    for response in (first, second):
        resumed = call(app, "POST", f"{response.headers['location']}/resume")
        assert (resumed.status_code, resumed.json()["report"]) == (202, None)
        job = finished(app, response)
        assert (job["state"], job["resumable"]) == ("done", False)
    assert {record.id for record in base.list()} == {"first.md", "second.md"}
    place = first.headers["location"]
    assert problem(call(app, "POST", f"{place}/resume"), 409)["code"] == "not_resumable"
    problem(call(app, "POST", f"{KB}/jobs/none/resume"), 404)


def test_a_job_on_a_full_disk_is_resumed(
    make_app: MakeApp, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(KnowledgeBase, "add", raising(StoreFullError("/secret/place: full")))
        app = make_app(queue=QueueOptions(keep_uploads=False))
        job = finished(app, response := upload(app, ("pier.md", PIER)))
    assert (job["state"], job["error"]["code"], job["resumable"]) == ("failed", "store_full", True)
    assert "resume" in job["error"]["detail"]
    assert "secret" not in json.dumps(job)
    assert_files(base, {"pier.md"})
    call(app, "POST", f"{response.headers['location']}/resume")
    job = finished(app, response)
    assert (job["state"], job["error"], job["report"]["added"]) == ("done", None, ["pier.md"])
    assert_files(base, set())


def test_the_end_of_a_job_waits_for_room(
    make_app: MakeApp, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is not repeated when its end cannot be written."""
    monkeypatch.setattr(job_runner, "_RETRY_SECONDS", 0.02)
    finish, failures = JobFile.finish, iter(range(5))

    def full(jobs: JobFile, *arguments: Any, **keywords: Any) -> bool:
        if next(failures, None) is not None:
            raise StoreFullError("full")
        return finish(jobs, *arguments, **keywords)

    monkeypatch.setattr(JobFile, "finish", full)
    app = make_app()
    assert finished(app, upload(app, ("pier.md", PIER)))["report"]["added"] == ["pier.md"]


def test_a_job_outlasts_an_outage_of_the_database(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_runner, "_RETRY_SECONDS", 0.02)
    add, finish, failures = KnowledgeBase.add, JobFile.finish, iter(range(5))
    ends = iter(range(2))

    def unreachable(base: KnowledgeBase, *arguments: Any, **keywords: Any) -> Any:
        if next(failures, None) is not None:
            raise StoreUnavailableError("it cannot be reached")
        return add(base, *arguments, **keywords)

    def unwritten(jobs: JobFile, *arguments: Any, **keywords: Any) -> bool:
        if next(ends, None) is not None:
            raise StoreUnavailableError("it cannot be reached")
        return finish(jobs, *arguments, **keywords)

    monkeypatch.setattr(KnowledgeBase, "add", unreachable)
    monkeypatch.setattr(JobFile, "finish", unwritten)
    app = make_app()
    assert finished(app, upload(app, ("pier.md", PIER)))["report"]["added"] == ["pier.md"]


def test_files_that_cannot_be_removed_do_not_look_like_an_unfinished_job(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("the files cannot be listed")

    monkeypatch.setattr(UploadRetention, "tidy_after", fail)
    app = make_app()
    assert finished(app, upload(app, ("pier.md", PIER)))["state"] == "done"
    wait_until(lambda: "the files cannot be listed" in caplog.text, bool)
    assert "repeated" not in caplog.text


def test_finished_jobs_are_deleted_with_their_files(
    make_app: MakeApp, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    finished(app, upload(app, ("empty.md", b"")))
    finished(app, upload(app, ("pier.md", PIER)))
    app.state.service.queues["notes"].stop()
    assert_files(base, {"empty.md", "pier.md"})  # a failed job may be resumed
    time.sleep(0.01)
    app = make_app(queue=QueueOptions(keep_days=1e-9))
    app.state.service.queues["notes"].start()
    assert_files(base, {"pier.md"})
    assert call(app, "GET", f"{KB}/jobs").json()["total"] == 0


def test_too_many_waiting_jobs_are_refused(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    app = make_app(queue=QueueOptions(max_waiting=2))
    first = upload(app, ("a.md", PIER))
    assert upload(app, ("b.md", PIER)).status_code == 202
    refused = upload(app, ("c.md", PIER))
    assert problem(refused, 429)["code"] == "queue_full"
    assert int(refused.headers["retry-after"]) >= 1
    held.released.set()
    finished(app, first)
    wait_until(lambda: upload(app, ("c.md", PIER)).status_code, lambda status: status == 202)


def test_one_job_at_a_time_over_several_servers(
    make_app: MakeApp, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    active, most = 0, 0
    lock = threading.Lock()
    add = KnowledgeBase.add

    def counted(*arguments: Any, **keywords: Any) -> Any:
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        try:
            time.sleep(0.05)
            return add(*arguments, **keywords)
        finally:
            with lock:
                active -= 1

    monkeypatch.setattr(KnowledgeBase, "add", counted)
    apps = [make_app() for _ in range(3)]
    responses = [upload(app, (f"{number}.md", PIER)) for number, app in enumerate(apps)]
    assert {finished(apps[0], response)["state"] for response in responses} == {"done"}
    assert most == 1


def test_a_stopped_server_leaves_its_job_to_the_next(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    first = make_app(queue=QueueOptions(lease_seconds=0.4))
    response = upload(first, ("pier.md", PIER))
    assert held.begun.wait(5)
    first.state.service.queues["notes"].stop()
    held.released.set()
    second = make_app()
    assert call(second, "GET", response.headers["location"]).json()["state"] == "queued"
    second.state.service.queues["notes"].start()
    assert finished(second, response)["report"]["added"] == ["pier.md"]


def test_a_job_that_ends_its_process_again_and_again_fails(
    make_app: MakeApp, base: KnowledgeBase
) -> None:
    app = make_app(queue=QueueOptions(lease_seconds=0.05))
    queue = app.state.service.queues["notes"]
    queue.jobs.add(NewJob(id="lost", names=["lost.md"], replace=True), max_waiting=5)
    for _ in range(3):
        assert queue.jobs.claim("killed", lease_seconds=0.01) is not None
        time.sleep(0.02)
    queue.start()
    place = f"{KB}/jobs/lost"
    job = wait_until(lambda: call(app, "GET", place).json(), lambda job: job["state"] in FINAL)
    assert (job["state"], job["error"]["code"]) == ("failed", "interrupted")


def test_ids_are_shown_as_they_are(make_app: MakeApp, base: KnowledgeBase) -> None:
    path = Path(base.info().path).parent.as_posix().strip("/")
    app = make_app()
    job = finished(app, upload(app, (f"{path}/pier.md", PIER)))
    assert job["report"]["added"] == [f"{path}/pier.md"]


def test_private_addresses_are_not_fetched(make_app: MakeApp) -> None:
    app = make_app()
    response = call(app, "POST", f"{KB}/documents", json={"url": "http://127.0.0.1:1/x?sig=s&se=1"})
    job = finished(app, response)
    assert (job["state"], job["kind"]) == ("failed", "url")
    assert job["documents"] == ["http://127.0.0.1:1/x"]
    (failure,) = job["report"]["failed"]
    assert failure["code"] == "refused"
    assert "sig=" not in json.dumps(job)


def test_jobs_need_a_key_without_filter(
    make_app: MakeApp, base: KnowledgeBase, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    keys = {
        "reader": add_key(file, "reader", role="read"),
        "writer": add_key(file, "writer", role="write"),
        "other": add_key(file, "other", role="write", knowledge_bases=["other"]),
        "filtered": add_key(file, "filtered", role="write", where="team = 'hr'"),
    }
    app = make_app(keys=KeyRing(read_keys(file)))
    response = upload(app, ("pier.md", PIER), headers=bearer(keys["writer"]))
    place = response.headers["location"]
    for name, read, write in [
        ("reader", 200, 403), ("writer", 200, 202), ("other", 404, 404), ("filtered", 403, 403)
    ]:  # fmt: skip
        headers = bearer(keys[name])
        assert call(app, "GET", place, headers=headers).status_code == read
        assert call(app, "GET", f"{KB}/jobs", headers=headers).status_code == read
        assert upload(app, ("quay.md", PIER), headers=headers).status_code == write
        if write != 202:
            assert call(app, "DELETE", place, headers=headers).status_code == write
            assert call(app, "POST", f"{place}/resume", headers=headers).status_code == write
    assert upload(app, ("pier.md", PIER)).status_code == 401


def test_a_knowledge_base_in_memory_takes_no_files() -> None:
    with KnowledgeBase(":memory:") as base:
        app = app_of({"notes": base})
        assert problem(upload(app, ("pier.md", PIER)), 422)["code"] == "no_queue"


def test_members_of_archives_are_added_and_their_archive_is_kept(
    make_app: MakeApp, base: KnowledgeBase
) -> None:
    app = make_app()
    job = finished(app, upload(app, ("notes.zip", build_zip({"pier.md": PIER}))))
    assert job["report"]["added"] == ["notes.zip!/pier.md"]
    assert_files(base, {"notes.zip"})
    call(app, "DELETE", f"{KB}/documents/notes.zip!%2Fpier.md")
    assert_files(base, set())


def test_unused_files_are_removed_when_the_server_starts(
    make_app: MakeApp, base: KnowledgeBase
) -> None:
    app = make_app()
    finished(app, upload(app, ("pier.md", PIER), ("quay.md", b"# Quay\n\nThe quay is wide.")))
    app.state.service.queues["notes"].stop()
    base.remove("pier.md")
    folder = Path(base.info().path).with_name("notes.kb.server") / "uploads"
    for name, age in (("old", 2 * uploads.ABANDONED_SECONDS), ("new", 0)):
        (folder / name).mkdir()
        file = folder / name / f"{name}.md"
        file.write_bytes(PIER)
        for path in (file, folder / name):
            os.utime(path, (time.time() - age,) * 2)
    make_app().state.service.queues["notes"].start()
    wait_until(lambda: files_of(base), lambda files: files == {"quay.md", "new.md"})


def test_an_upload_without_data_ends(
    make_app: MakeApp, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes_jobs, "_STALL_SECONDS", 0.1)

    async def pieces() -> Any:
        yield b'--X\r\nContent-Disposition: form-data; name="a"; filename="a.md"\r\n\r\nx'
        await asyncio.sleep(5)

    headers = {"Content-Type": "multipart/form-data; boundary=X"}
    app = make_app()
    problem(call(app, "POST", f"{KB}/documents", content=pieces(), headers=headers), 408)
    assert_files(base, set())


def test_slow_and_aborted_uploads_free_their_places(make_app: MakeApp, base: KnowledgeBase) -> None:
    """A second upload is refused during a slow one; when its client leaves, there is room again."""
    app = make_app(queue=QueueOptions(max_uploads=1))
    head = (
        f"POST {KB}/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n"
        "Content-Type: multipart/form-data; boundary=X\r\n\r\n--X\r\n"
        'Content-Disposition: form-data; name="file"; filename="slow.md"\r\n\r\n'
    ).encode()
    folder = Path(base.info().path).with_name("notes.kb.server") / "uploads"
    with running(app) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        for _ in range(2):
            with socket.create_connection(address) as slow:
                slow.sendall(head + b"x" * 2_000_000)
                wait_until(lambda: files_of(base), lambda files: files == {"slow.md"})
                parts = {"file": ("pier.md", PIER)}
                refused = httpx.post(f"{url}{KB}/documents", files=parts)
                assert problem(refused, 429)["code"] == "too_many_uploads"
                assert int(refused.headers["retry-after"]) >= 1
            wait_until(lambda: list(folder.iterdir()), lambda folders: not folders)
        assert finished(app, httpx.post(f"{url}{KB}/documents", files=parts))["state"] == "done"


def test_an_aborted_upload_leaves_nothing(make_app: MakeApp, base: KnowledgeBase) -> None:
    app = make_app()
    head = b'--X\r\nContent-Disposition: form-data; name="a"; filename="a.md"\r\n\r\nx'
    messages = iter(
        [
            {"type": "http.request", "body": head, "more_body": True},
            {"type": "http.disconnect"},
        ]
    )
    scope = {
        "type": "http", "method": "POST", "path": f"{KB}/documents", "query_string": b"",
        "headers": [(b"content-type", b"multipart/form-data; boundary=X")], "http_version": "1.1",
        "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1), "root_path": "",
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 499
    assert_files(base, set())


def test_a_url_is_fetched_if_it_is_allowed(tmp_path: Path) -> None:
    fetch = FetchOptions(allow_private=True)
    with (
        serving({"/pier": page("The pier is 30 m long.")}) as site,
        KnowledgeBase(tmp_path / "notes.kb", fetch=fetch) as base,
    ):
        app = app_of({"notes": base})
        address = f"{site.url}/pier"
        job = finished(app, call(app, "POST", f"{KB}/documents", json={"url": address}))
        app.state.service.queues["notes"].stop()
        assert (job["state"], job["kind"]) == ("done", "url")
        assert job["report"]["added"] == [address]
