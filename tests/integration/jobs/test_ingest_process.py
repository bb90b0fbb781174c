"""The process that runs ingest jobs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.integration.commands import environment

from spanwise.server.ingest_process import IngestSettings
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
