"""The log of the server: texts of documents and other servers neither control nor imitate it."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.commands import environment
from tests.security.test_terminal import ATTACK, STEERS

from spanwise.cli.program import logged_warnings
from spanwise.server.ingest_process import IngestSettings
from spanwise.server.log import log_to_stderr
from spanwise.server.options import QueueOptions
from spanwise.types.plain import to_plain

FORGED = f"boom {ATTACK}\nERROR forged record\r\n{ATTACK}"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    found = logging.getLogger("spanwise")
    before = [*found.handlers]
    yield found
    found.handlers[:] = before


def record_attacks(logger: logging.Logger) -> None:
    """Write records with hostile texts in message and exception."""
    logger.error("a request failed: %s", FORGED, exc_info=ValueError(FORGED))


def test_a_process_of_the_server_writes_clean_records(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    log_to_stderr()
    record_attacks(logger)
    written = capsys.readouterr().err
    assert STEERS.findall(written) == []
    assert "boom" in written
    assert "ValueError" in written
    assert [line for line in written.splitlines() if not line.startswith("  ")] == [
        written.splitlines()[0]
    ]


def test_the_command_writes_clean_records(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    with logged_warnings():
        record_attacks(logger)
    written = capsys.readouterr().err
    assert STEERS.findall(written) == []
    assert "ValueError" in written
    lines = [line for line in written.splitlines() if not line.startswith("  ")]
    assert len(lines) == 1
    assert "forged" in lines[0]


def test_the_ingest_process_uses_this_log(tmp_path: Path) -> None:
    """The path of a knowledge base stands for a text of others in a record."""
    place = tmp_path / "missing\nERROR forged record.kb"
    settings = IngestSettings(knowledge_bases={"notes": str(place)}, queue=QueueOptions())
    done = subprocess.run(
        [sys.executable, "-m", "spanwise.server.ingest_process"],
        input=f"{json.dumps(to_plain(settings))}\n".encode(),
        capture_output=True,
        cwd=tmp_path,
        env=environment({}),
        check=False,
        timeout=60,
    )
    lines = done.stderr.decode().splitlines()
    assert "cannot open a knowledge base" in lines[0]
    assert not [line for line in lines if line.startswith("ERROR")]
