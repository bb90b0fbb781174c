"""An ingest with a language model that is killed or interrupted: what is paid for stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.models import made_answer

from spanwise import ContextOptions, KnowledgeBase
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
CONTEXT = ContextOptions(sections=True, headers=True, chunk_contexts=True)
SLOW = pytest.mark.slow
DOCUMENTS = 8
CONCURRENCY = DOCUMENTS_AT_ONCE = 4  # of the scripted model
CHILD = """
import os, sys, time
from spanwise import ContextOptions, KnowledgeBase
from spanwise.testing.models import ScriptedModel
from tests.models import made_answer

base, folder, log, seconds = sys.argv[1:]
file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def answer(request):
    os.write(file, b"call\\n")
    time.sleep(float(seconds))
    return made_answer(request)

def acknowledged(progress):
    os.write(file, f"done {progress.document_id}\\n".encode())

context = ContextOptions(sections=True, headers=True, chunk_contexts=True)
with KnowledgeBase(base, embedder=None) as knowledge_base:
    knowledge_base.add(
        folder, llm=ScriptedModel(answer), context=context, on_document=acknowledged
    )
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(DOCUMENTS):
        text = f"# Ship {number}\n\n" + f"Freight of ship {number} cost more than before. " * 15
        (folder / f"{number}.md").write_text(text)
    return folder


def start(tmp_path: Path, folder: Path, *, seconds: float) -> subprocess.Popen[bytes]:
    arguments = [str(tmp_path / "a.kb"), str(folder), str(tmp_path / "log"), str(seconds)]
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
    )


def await_calls(log: Path, calls: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while not log.exists() or log.read_text().count("call\n") < calls:
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < until
        time.sleep(0.002)


def calls_needed(folder: Path) -> int:
    model = ScriptedModel(made_answer)
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add(folder, llm=model, context=CONTEXT)
    return len(model.requests)


@pytest.mark.parametrize(
    "share", [pytest.param(0.2, marks=SLOW), 0.5, pytest.param(0.9, marks=SLOW)]
)
def test_what_was_answered_before_a_kill_is_not_asked_again(
    tmp_path: Path, folder: Path, share: float
) -> None:
    needed = calls_needed(folder)
    log = tmp_path / "log"
    with start(tmp_path, folder, seconds=0.01) as process:
        await_calls(log, int(share * needed), process)
        process.kill()
        process.wait()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    lines = log.read_text().splitlines()
    acknowledged = {line.removeprefix("done ") for line in lines if line.startswith("done ")}
    model = ScriptedModel(made_answer)
    with KnowledgeBase(tmp_path / "a.kb") as base:
        stored = {record.id for record in base.list()}
        assert acknowledged <= stored
        assert base.check().findings == ()
        assert all(base.record(one).title == "Made title" for one in stored)
        report = base.add(folder, llm=model, context=CONTEXT)
        assert set(report.unchanged) == stored
        assert len(base.list()) == DOCUMENTS
    begun = lines.count("call")
    in_flight = begun + len(model.requests) - needed
    assert 0 <= in_flight <= DOCUMENTS_AT_ONCE * CONCURRENCY, "no other calls were lost"


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is sent otherwise there")
def test_an_interrupt_waits_for_no_model(tmp_path: Path, folder: Path) -> None:
    with start(tmp_path, folder, seconds=30) as process:
        await_calls(tmp_path / "log", 1, process)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert time.monotonic() - started < 5
    assert b"KeyboardInterrupt" in errors


def test_an_error_ends_all_calls(folder: Path) -> None:
    """The documents that are being made ask no more once the run has ended."""
    asked: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        asked.append(request)
        time.sleep(0.01)
        return made_answer(request)

    def stop(_: object) -> None:
        raise InterruptedError

    with KnowledgeBase(":memory:", embedder=None) as base:
        with pytest.raises(InterruptedError):
            base.add(folder, llm=ScriptedModel(answer), context=CONTEXT, on_document=stop)
        time.sleep(0.2)
        count = len(asked)
        time.sleep(0.2)
        assert len(asked) == count
