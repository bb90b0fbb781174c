"""The process that runs ingest jobs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integration.commands import environment
from tests.servers.applications import wait_for

from spanwise import KnowledgeBase
from spanwise.server.ingest_process import IngestProcess, IngestSettings
from spanwise.server.job_file import JobFile
from spanwise.server.jobs import NewJob
from spanwise.server.options import QueueOptions
from spanwise.types.plain import to_plain


def test_a_process_that_cannot_open_a_knowledge_base_ends_with_a_message(tmp_path: Path) -> None:
    """It ends by itself while its standard input is open, without an abort of the interpreter."""
    settings = IngestSettings(
        knowledge_bases={"notes": str(tmp_path / "missing.kb")}, queue=QueueOptions()
    )
    command = [sys.executable, "-m", "spanwise.server.ingest_process"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment({})
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(f"{json.dumps(to_plain(settings))}\n".encode())
        process.stdin.flush()
        message = process.stderr.read().decode()
        assert process.wait(60) == 1, message
    assert "cannot open a knowledge base" in message
    assert "Fatal" not in message


def test_a_process_that_cannot_be_started_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As when the system has no memory or processes left for a while; no job waits for ever."""
    base = tmp_path / "a.kb"
    with KnowledgeBase(base, embedder=None):
        pass
    jobs = JobFile(tmp_path / "jobs.db")
    jobs.add(NewJob(id="first", names=("a.md",), url="", replace=True), max_waiting=1)
    started: list[subprocess.Popen[bytes]] = []
    start: Any = subprocess.Popen

    def start_later(*given: Any, **options: Any) -> subprocess.Popen[bytes]:
        if "refused" not in caplog.text:
            raise BlockingIOError(11, "refused")
        started.append(start(*given, **options, env=environment({})))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start_later)
    settings = IngestSettings(knowledge_bases={"notes": str(base)}, queue=QueueOptions())
    with IngestProcess(settings, [jobs]):
        wait_for(lambda: started)
    assert "cannot be started" in caplog.text
