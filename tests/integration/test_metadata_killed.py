"""Metadata updates of a process that is killed: each document is changed completely or not."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spanwise import KnowledgeBase

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = 3
CHILD = """
import os, sys
from itertools import count
from spanwise import KnowledgeBase

base, log = sys.argv[1:]
file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
with KnowledgeBase(base, embedder=None) as knowledge_base:
    for number in count(1):
        title = f"title{number}" if number % 2 else None
        document = f"{number % 3}"
        knowledge_base.update_metadata([document], {"number": number}, title=title)
        os.write(file, f"{document} {number}\\n".encode())
"""


def acknowledged(log: Path) -> dict[str, int]:
    """Return the last acknowledged number of each document."""
    pairs = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return {document: int(number) for document, number in pairs}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot send SIGKILL")
def test_a_killed_process_leaves_each_document_whole(tmp_path: Path) -> None:
    path, log = tmp_path / "a.kb", tmp_path / "log"
    with KnowledgeBase(path, embedder=None) as base:
        for number in range(DOCUMENTS):
            base.add_text("Steady words. " * 2_000, document_id=f"{number}")
    for pause in (0.05, 0.23):
        log.unlink(missing_ok=True)
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(log)], cwd=ROOT)
        while not log.exists() or not log.stat().st_size:
            time.sleep(0.005)
        time.sleep(pause)
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=60)
        with KnowledgeBase(path, create=False) as base:
            assert base.check().findings == ()
            for document, number in acknowledged(log).items():
                record = base.record(document)
                stored = record.metadata["number"]
                assert isinstance(stored, int)
                assert stored in (number, number + DOCUMENTS), "acknowledged, or the one begun"
                titled = stored if stored % 2 else stored - DOCUMENTS
                if titled > 0:
                    assert record.title == f"title{titled}"
                    found = base.search(f"title{titled}").segments
                    assert {segment.document_id for segment in found} == {document}
