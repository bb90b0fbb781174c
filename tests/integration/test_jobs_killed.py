"""Ingest jobs survive a killed server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.integration.commands import environment

from spanwise import KnowledgeBase

KB = "/v1/knowledge-bases/notes"
LONG = "".join(
    f"# Part {part}\n\n" + "The pier is 30 m long. " * 200 + "\n\n" for part in range(40)
)
PROGRAM = """
import sys
from spanwise.server.app import ServerOptions
from spanwise.server.queue import QueueOptions
from spanwise.server.run import run_server

if __name__ == "__main__":
    options = ServerOptions(
        knowledge_bases={"notes": "notes.kb"}, queue=QueueOptions(lease_seconds=1)
    )
    run_server(options, host="127.0.0.1", port=int(sys.argv[1]), workers=1)
"""


@contextmanager
def serving(folder: Path) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
    """Run a server, and yield a client of it with its process."""
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, "program.py", str(port)]
    with (
        subprocess.Popen(command, cwd=folder, env=environment({})) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        try:
            for _ in range(600):
                assert process.poll() is None, "the server has ended"
                try:
                    client.get("/readyz")
                    break
                except httpx.TransportError:
                    time.sleep(0.05)
            yield client, process
        finally:
            process.kill()
            process.wait(60)


def jobs_of(client: httpx.Client) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = client.get(f"{KB}/jobs").json()["jobs"]
    return jobs[::-1]


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
        assert jobs[0]["report"]["unchanged"], "documents before the kill are not added again"
    with KnowledgeBase(tmp_path / "notes.kb") as base:
        assert {record.id for record in base.list()} == {*names, "late.md"}
        assert base.check().sound
