"""What calls to models leave behind when the process ends, or forks."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.servers.scripted import Reply, ScriptedServer, chat

_MADE = """
import contextlib, os, sys, threading, time
from concurrent.futures import CancelledError
from spanwise.options import ModelOptions
from spanwise.models.ports import ModelRequest
from spanwise.models.registry import make_language_model, make_reranker

request = ModelRequest(task="title", instructions="", prompt="Write one.")

def model():
    return make_language_model(f"compatible:small@{sys.argv[1]}/v1", options=ModelOptions())
"""


def run(
    program: str, *, replies: list[Reply], folder: Path, warnings: str = "default"
) -> list[str]:
    """Run a program against a server, and return its lines; it may say nothing on standard error.

    Args:
        program: What it does, once a model can be made.
        replies: Of the server.
        folder: Its working folder.
        warnings: Whether Python shows them.
    """
    with ScriptedServer(replies) as server:
        done = subprocess.run(
            [sys.executable, "-W", warnings, "-c", _MADE + textwrap.dedent(program), server.url],
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=60,
            check=False,
        )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.split()


def test_connections_are_closed_when_the_process_ends(tmp_path: Path) -> None:
    program = """
        print(model().generate(request).text)
        print(len(list(model().stream(request))))
        reranker = make_reranker(f"server:small@{sys.argv[1]}/v1", options=ModelOptions())
        print(reranker.rerank("dues", ["Harbour dues"]).scores)
    """
    scores = Reply(body=b'{"results": [{"index": 0, "relevance_score": 0.5}]}')
    replies = [chat("Dues"), chat("Dues"), scores]
    assert run(program, replies=replies, folder=tmp_path) == ["Dues", "2", "(0.5,)"]


def test_calls_that_run_do_not_keep_the_process(tmp_path: Path) -> None:
    program = """
        def ask(call):
            with contextlib.suppress(CancelledError):
                call(request)

        for call in (model().generate, lambda request: list(model().stream(request))):
            threading.Thread(target=ask, args=(call,), daemon=True).start()
        time.sleep(1)
        print("ends")
    """
    begun = time.monotonic()
    assert run(program, replies=[chat("late", wait_seconds=60)], folder=tmp_path) == ["ends"]
    assert time.monotonic() - begun < 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_forked_process_calls_by_connections_of_its_own(tmp_path: Path) -> None:
    program = """
        print(model().generate(request).text, flush=True)
        child = os.fork()
        print(model().generate(request).text, flush=True)
        if child:
            os.waitpid(child, 0)
    """
    # What the parent left open is found unclosed by its child, which may not close it.
    lines = run(program, replies=[chat("Dues")], folder=tmp_path, warnings="ignore")
    assert lines == ["Dues"] * 3
