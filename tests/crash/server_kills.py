"""Kills of a server that ingests uploads: nothing that it accepted may be lost.

Each server answers requests until it is killed (SIGKILL) at a random moment, with its parser and
ingest processes left to end by themselves. An upload is acknowledged by the status 202, a deletion
and a change of metadata by their answer. The next server continues with the jobs.
"""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tests.crash.operations import text_of
from tests.servers.process import jobs_server

from spanwise import KnowledgeBase

_ROOT = Path(__file__).parents[2]
_KB = "/v1/knowledge-bases/notes"
_SLOTS = 6
_START_SECONDS = 900.0
_END_SECONDS = 1800.0
_POLL_SECONDS = 0.05
_LIVE_SECONDS = (0.0, 1.5)

Versions = set[int | None]
"""Permitted versions of a document; None means an absent document."""


@dataclass(slots=True)
class ServerReport:
    """Counts of the kills of servers."""

    kills: int = 0
    accepted: int = 0
    """Number of acknowledged uploads and deletions."""


@dataclass(slots=True)
class _Client:
    """Sends requests to one server until it dies, and records what may be stored."""

    client: httpx.Client
    allowed: dict[str, Versions]
    jobs: dict[str, set[str]]
    """Documents of the accepted jobs whose end was not seen, by id of the job."""
    chooser: random.Random
    next_version: int
    accepted: int = 0
    failure: BaseException | None = None

    def work(self) -> None:
        """Upload and delete until the server dies."""
        try:
            while True:
                self._step()
        except httpx.TransportError:
            return
        except BaseException as error:  # noqa: BLE001 - raised by the main thread
            self.failure = error

    def _step(self) -> None:
        name = f"{self.chooser.randrange(_SLOTS)}.md"
        if self._is_queued(name):  # the order of a deletion and a waiting job is not defined
            self.await_jobs()
        if self.chooser.random() < 0.2 and self.allowed.get(name, {None}) != {None}:
            self.allowed[name] = self.allowed[name] | {None}
            answer = self.client.delete(f"{_KB}/documents/{name}")
            assert answer.status_code in (200, 404), answer.text
            self.allowed[name] = {None}
        else:
            self._upload(name)
        self.accepted += 1

    def _upload(self, name: str) -> None:
        version = self.next_version
        self.next_version += 1
        before = self.allowed.get(name, {None})
        self.allowed[name] = before | {version}
        file = ("file", (name, text_of(name, version).encode()))
        answer = self.client.post(f"{_KB}/documents?replace=true", files=[file])
        assert answer.status_code == 202, answer.text
        self.allowed[name] = {version}
        self.jobs[answer.json()["id"]] = {name}

    def _is_queued(self, name: str) -> bool:
        return any(name in names for names in self.jobs.values())

    def await_jobs(self) -> None:
        """Wait until all accepted jobs are done."""
        for job_id in list(self.jobs):
            while True:
                job = self.client.get(f"{_KB}/jobs/{job_id}").json()
                if job["state"] not in ("queued", "running"):
                    break
                time.sleep(_POLL_SECONDS)
            assert job["state"] == "done", job
            del self.jobs[job_id]


@dataclass(slots=True)
class ServerKills:
    """Rounds of kills of a server of one knowledge base."""

    folder: Path
    base: str
    """Folder or address of the knowledge base."""
    chooser: random.Random
    allowed: dict[str, Versions] = field(default_factory=dict)
    jobs: dict[str, set[str]] = field(default_factory=dict)
    version: int = 1
    report: ServerReport = field(default_factory=ServerReport)

    def run(self, kills: int) -> ServerReport:
        """Kill servers, check after each kill, and finish all jobs at the end.

        Raises:
            AssertionError: If a check fails.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with KnowledgeBase(self.base, embedder=None):
            pass
        for _ in range(kills):
            self._round()
        with self._serving() as (client, process):
            worker = self._client(client)
            worker.await_jobs()
            process.terminate()
            process.wait(_END_SECONDS)
        self._check(is_final=True)
        return self.report

    def _round(self) -> None:
        with self._serving() as (client, process):
            worker = self._client(client)
            thread = threading.Thread(target=worker.work, daemon=True)
            thread.start()
            time.sleep(self.chooser.uniform(*_LIVE_SECONDS))
            process.kill()
            process.wait()
            thread.join(_END_SECONDS)
            assert not thread.is_alive(), "a request does not end"
        if worker.failure is not None:
            raise AssertionError(f"a request failed: {worker.failure!r}") from worker.failure
        self.report.kills += 1
        self.report.accepted += worker.accepted
        self.version = worker.next_version
        self._check(is_final=False)

    def _client(self, client: httpx.Client) -> _Client:
        return _Client(client, self.allowed, self.jobs, self.chooser, self.version)

    @contextmanager
    def _serving(self) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
        path = self.folder / "server.log"
        with path.open("wb") as log:
            try:
                with (
                    jobs_server(
                        self.base, folder=self.folder, output=log, start_seconds=_START_SECONDS
                    ) as (url, process),
                    httpx.Client(base_url=url, timeout=_END_SECONDS) as client,
                ):
                    yield client, process
            except AssertionError as error:
                error.add_note(path.read_text(encoding="utf-8", errors="replace")[-3_000:])
                raise

    def _check(self, *, is_final: bool) -> None:
        """Check that documents are whole; at the end, that all accepted uploads are stored."""
        with KnowledgeBase(self.base, create=False) as base:
            report = base.check()
            assert report.sound, report.findings
            present: dict[str, Any] = {record.id: base.get(record.id) for record in base.list()}
            for name, document in present.items():
                versions = [v for v in range(1, self.version) if document.text == text_of(name, v)]
                assert versions, f"{name} is half there"
                assert not is_final or versions[0] in self.allowed[name], f"{name} is not current"
            for name, versions_allowed in self.allowed.items():
                if is_final:
                    assert name in present or None in versions_allowed, f"{name} is lost"
