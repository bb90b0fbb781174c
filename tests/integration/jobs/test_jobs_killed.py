"""Ingest jobs survive a killed server or ingest process, and no process is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.integration.commands import environment
from tests.servers.process import jobs_server

from spanwise import KnowledgeBase
from spanwise.server.job_file import JobFile

needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
KB = "/v1/knowledge-bases/notes"
LONG = "".join(
    f"# Part {part}\n\n" + "The pier is 30 m long. " * 200 + "\n\n" for part in range(40)
)


@contextmanager
def serving(
    folder: Path, *, workers: int = 1
) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
    """Run a server, and yield a client of it with its process."""
    started = jobs_server("notes.kb", folder=folder, workers=workers, environment=environment({}))
    with started as (url, process), httpx.Client(base_url=url, timeout=30) as client:
        yield client, process


def jobs_of(client: httpx.Client) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = client.get(f"{KB}/jobs").json()["jobs"]
    return jobs[::-1]


def upload(client: httpx.Client, names: list[str], text: str = LONG) -> None:
    files = [("file", (name, f"{name}\n\n{text}".encode())) for name in names]
    assert client.post(f"{KB}/documents", files=files).status_code == 202


def wait_until(passes: Callable[[], object], *, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not passes():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def children_of(process: int) -> dict[int, str]:
    """Return the command lines of the direct children of a process."""
    found = {}
    for thread in Path(f"/proc/{process}/task").iterdir():
        try:
            children = (thread / "children").read_text(encoding="ascii").split()
        except FileNotFoundError:  # the thread has ended
            continue
        for child in children:
            with suppress(FileNotFoundError):
                words = Path(f"/proc/{child}/cmdline").read_bytes()
                found[int(child)] = words.replace(b"\0", b" ").decode()
    return found


def ingest_processes(process: int) -> list[int]:
    return [child for child, words in children_of(process).items() if "ingest_process" in words]


def serving_processes(process: int) -> list[int]:
    return [child for child, words in children_of(process).items() if "spawn_main" in words]


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").split()[2] != "Z"
    except FileNotFoundError:
        return False


@needs_proc
@pytest.mark.slow
def test_a_killed_ingest_process_is_replaced(tmp_path: Path) -> None:
    """The server answers meanwhile; a stopped server ends the process and keeps the job."""
    KnowledgeBase(tmp_path / "notes.kb").close()
    with serving(tmp_path) as (client, process):
        assert not ingest_processes(process.pid), "there are no jobs yet"
        upload(client, [f"{number}.md" for number in range(24)])
        wait_until(lambda: jobs_of(client)[0]["progress"])
        (first,) = ingest_processes(process.pid)
        assert os.getpriority(os.PRIO_PROCESS, first) > os.getpriority(os.PRIO_PROCESS, process.pid)
        os.kill(first, signal.SIGKILL)
        assert jobs_of(client)[0]["state"] == "running"
        wait_until(lambda: first not in (found := ingest_processes(process.pid)) and found)
        wait_until(lambda: jobs_of(client)[0]["state"] == "done")
        (job,) = jobs_of(client)
        assert job["report"]["unchanged"], "documents before the kill are not added again"
        metrics = client.get("/metrics").text
        assert 'spanwise_ingest_restarts_total{knowledge_base="notes"} 1.0' in metrics
        upload(client, [f"{number}-new.md" for number in range(90)])
        wait_until(lambda: jobs_of(client)[1]["progress"])
        (second,) = ingest_processes(process.pid)
        process.terminate()
        process.wait(30)
        wait_until(lambda: not is_running(second), seconds=5)
    queued = JobFile(tmp_path / "notes.kb.server" / "jobs.db").find(state=None, offset=0, limit=1)
    assert queued[0][0].state == "queued"


@needs_proc
@pytest.mark.slow
def test_a_killed_server_leaves_no_process(tmp_path: Path) -> None:
    KnowledgeBase(tmp_path / "notes.kb").close()
    with serving(tmp_path, workers=2) as (client, process):
        upload(client, [f"{number}.md" for number in range(20)])
        wait_until(lambda: jobs_of(client)[0]["progress"])
        (ingest,) = ingest_processes(process.pid)
        family = {*children_of(process.pid), *children_of(ingest)}
        assert len(family) > 1
        process.kill()
        process.wait(10)
        wait_until(lambda: not any(map(is_running, family)), seconds=20)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_killed_server_loses_no_accepted_job(tmp_path: Path) -> None:
    names = [f"{number}.md" for number in range(8)]
    KnowledgeBase(tmp_path / "notes.kb").close()
    with serving(tmp_path) as (client, process):
        files = [("file", (name, f"{name}\n\n{LONG}".encode())) for name in names]
        assert client.post(f"{KB}/documents", files=files).status_code == 202
        late = [("file", ("late.md", b"# Late\n\nThe quay is 9 m wide."))]
        assert client.post(f"{KB}/documents", files=late).status_code == 202
        for _ in range(600):
            running, waiting = jobs_of(client)
            if running["progress"] is not None:
                break
            time.sleep(0.02)
        assert (running["state"], waiting["state"]) == ("running", "queued")
        os.kill(process.pid, signal.SIGKILL)
    with serving(tmp_path) as (client, _):
        for _ in range(600):
            jobs = jobs_of(client)
            if {job["state"] for job in jobs} == {"done"}:
                break
            time.sleep(0.05)
        assert [job["state"] for job in jobs] == ["done", "done"]
        report = jobs[0]["report"]  # the ingest process may finish a short job after the kill
        assert {*report["added"], *report["unchanged"]} == set(names)
    with KnowledgeBase(tmp_path / "notes.kb") as base:
        assert {record.id for record in base.list()} == {*names, "late.md"}
        assert base.check().sound


@needs_proc
@pytest.mark.slow
def test_a_process_that_dies_before_it_answers_is_replaced(tmp_path: Path) -> None:
    """The parent process asks each process whether it is alive, and waits a minute at most."""
    KnowledgeBase(tmp_path / "notes.kb").close()
    with serving(tmp_path, workers=2) as (_, process):
        first = serving_processes(process.pid)
        assert len(first) == 2
        os.kill(first[0], signal.SIGSTOP)
        time.sleep(2)  # the parent process is now waiting for the answer
        os.kill(first[0], signal.SIGKILL)
        wait_until(lambda: len({*serving_processes(process.pid)} - {first[0]}) == 2, seconds=20)


@pytest.mark.slow
def test_processes_that_cannot_start_end_the_server(tmp_path: Path) -> None:
    """The error is that of the knowledge base, as with a single process."""
    (tmp_path / "notes.kb").mkdir()
    (tmp_path / "notes.kb" / "notes.txt").write_text("no knowledge base", encoding="utf-8")
    command = [sys.executable, "-m", "spanwise", "serve", "--kb", "notes.kb", "--port", "8765"]
    done = [
        subprocess.run(
            [*command, "--workers", workers],
            cwd=tmp_path,
            env=environment({}),
            capture_output=True,
            timeout=60,
            check=False,
        )
        for workers in ("1", "2")
    ]
    assert done[0].returncode == done[1].returncode != 0
    assert done[1].stderr.splitlines()[-1] == done[0].stderr.splitlines()[-1]
    assert b"Traceback" not in done[1].stderr
