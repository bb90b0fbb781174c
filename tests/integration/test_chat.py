"""Conversations on a real terminal and out of pipes, with a server that answers as it is told."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest
from tests.integration.commands import command, environment, spanwise
from tests.servers.scripted import Received, Reply, ScriptedServer, chat, failure

from spanwise import KnowledgeBase

pytestmark = pytest.mark.slow

LEASE = "The lease of the plant in Austin ends in May 2031."
SECONDS = 60.0
STATEMENT = {"text": "It ends in May 2031.", "quotes": [{"segment": 1, "quote": LEASE}]}


def answer(statements: int = 1, *, event_seconds: float = 0.0) -> Reply:
    """Return an answer of so many statements."""
    form = {
        "answered": True,
        "statements": [STATEMENT] * statements,
        "conflicts": [],
        "missing": "",
    }
    return chat(json.dumps(form), event_seconds=event_seconds)


def reply(received: Received) -> Reply:
    """Answer at once, slowly, or not at all, as the question says."""
    asked = received.prompt.rpartition("The question is: ")[2]
    if "slow" in asked:
        return answer(2_000, event_seconds=0.02)
    return failure(400, "no") if "broken" in asked else answer()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(reply) as made:
        yield made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a knowledge base with one document."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as knowledge_base:
        knowledge_base.add_text(f"{LEASE} It can be extended.", document_id="lease")
    return tmp_path / "a.kb"


def asking(path: Path, server: ScriptedServer, *arguments: str) -> list[str]:
    """Return the words of `spanwise ask` with the server as its model."""
    model = f"compatible:scripted@{server.url}/v1"
    return command("ask", *arguments, "--no-write-queries", "--llm", model, "--kb", path)


def questions(path: Path, thread_id: str) -> list[str]:
    """Return what was asked in a conversation, after the store was checked."""
    with KnowledgeBase(path, create=False) as knowledge_base:
        assert knowledge_base.check().findings == ()
        if all(info.id != thread_id for info in knowledge_base.threads.list()):
            return []
        return [turn.question for turn in knowledge_base.threads.get(thread_id).turns]


_ON_A_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A process on a terminal of its own, as a person has it."""

    def __init__(self, words: list[str]) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ON_A_TERMINAL, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(),
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def type(self, keys: str) -> None:
        """Type keys; "\\x03" is Ctrl-C and "\\x04" Ctrl-D."""
        os.write(self._ours, keys.encode())

    def read_until(self, wanted: str) -> str:
        """Return what is written, up to some words."""
        written = b""
        until = time.monotonic() + SECONDS
        while wanted.encode() not in written:
            assert time.monotonic() < until, f"{wanted!r} does not come; there is {written!r}"
            if select.select([self._ours], [], [], 0.1)[0]:
                written += os.read(self._ours, 1 << 16)
        return written.decode()

    def end(self) -> int:
        """Return the exit code; what is still written is read."""
        until = time.monotonic() + SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < until, "the process does not end"
            if select.select([self._ours], [], [], 0.1)[0]:
                try:
                    os.read(self._ours, 1 << 16)
                except OSError:  # the terminal is closed when the process is gone
                    break
        return self.process.wait(SECONDS)


PROMPT = "\r\n> "


def test_a_conversation_on_a_terminal(path: Path, server: ScriptedServer) -> None:
    """Ctrl-C ends an answer, a failure a question, Ctrl-D the program."""
    with Terminal(asking(path, server, "--chat", "--thread", "mill")) as terminal:
        assert "mill: new conversation" in terminal.read_until(PROMPT)
        terminal.type("When does the lease end?\n")
        written = terminal.read_until(PROMPT)
        assert "It ends in May 2031. [1]" in written
        assert f'"{LEASE}"' in written
        terminal.type("And slowly, of the lease?\n")
        terminal.read_until("[1]")
        began = time.monotonic()
        terminal.type("\x03")
        assert "this answer is not stored" in terminal.read_until(PROMPT)
        assert time.monotonic() - began < 20, "Ctrl-C ends the answer at once"
        terminal.type("And broken, of the lease?\n")
        assert "failed:" in terminal.read_until(PROMPT)
        terminal.type("half a quest")
        terminal.read_until("half a quest")
        time.sleep(1.0)  # Python's readline misses a signal while it still deals with a key
        terminal.type("\x03")
        terminal.read_until("> ")
        terminal.type("/threads\n")
        assert "1 turn" in terminal.read_until(PROMPT)
        terminal.type("Is it the lease of Austin?\n")
        terminal.read_until(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert questions(path, "mill") == ["When does the lease end?", "Is it the lease of Austin?"]
    told = [one.prompt for one in server.received if "<conversation>" in one.prompt]
    assert len(told) == 3
    assert all("Question: When does the lease end?" in prompt for prompt in told)


def test_a_conversation_goes_on_and_is_listed(path: Path, server: ScriptedServer) -> None:
    """Begun by a single question, gone on with on a terminal."""
    words = asking(path, server, "When does the lease end?", "--thread", "mill", "--json")
    done = subprocess.run(words, env=environment(), capture_output=True, check=True)
    assert json.loads(done.stdout)["thread"] == "mill"
    with Terminal(asking(path, server, "--chat", "--thread", "mill")) as terminal:
        assert "continued after 1 turn" in terminal.read_until(PROMPT)
        terminal.type("Of which lease?\n")
        terminal.read_until(PROMPT)
        terminal.type("/quit\n")
        terminal.read_until("--chat --thread mill")
        assert terminal.end() == 0
    listed = spanwise("threads", "list", "--kb", path, folder=path.parent)
    assert listed.stdout.startswith("mill")
    assert "2 turns  When does the lease end?" in listed.stdout


def test_a_pipe_asks_a_question_a_line(path: Path, server: ScriptedServer) -> None:
    """What fails is said, the others are answered, and the code tells."""
    lines = "When does the lease end?\nAnd broken, of the lease?\n/threads\nOf which lease?\n"
    done = subprocess.run(
        asking(path, server, "--chat", "--thread", "mill"),
        input=lines,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("> When does the lease end?\n\nIt ends in May 2031. [1]\n")
    assert done.stdout.count("It ends in May 2031. [1]") == 2
    assert "failed:" in done.stdout
    assert "1 turn  When does the lease end?" in done.stdout
    assert questions(path, "mill") == ["When does the lease end?", "Of which lease?"]


def test_a_kill_leaves_whole_turns(path: Path, server: ScriptedServer) -> None:
    """What is killed between the beginning of an answer and its end leaves no trace."""
    with subprocess.Popen(
        asking(path, server, "--chat", "--thread", "mill"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("When does the lease end?\nAnd slowly, of the lease?\n")
        process.stdin.close()
        lines = iter(process.stdout.readline, "")
        assert any(line.startswith("> And slowly") for line in lines)
        until = time.monotonic() + SECONDS
        while len(server.received) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.3)  # statements come, and the answer is not whole yet
        process.send_signal(signal.SIGKILL)
    assert questions(path, "mill") == ["When does the lease end?"]


def test_processes_talk_in_one_conversation(path: Path, server: ScriptedServer) -> None:
    """No turn is lost, and each process has its own in their order."""
    names = ("left", "right")
    lines = {name: [f"Which lease is {name} {n}?" for n in range(6)] for name in names}
    processes = []
    for name in names:
        process = subprocess.Popen(
            asking(path, server, "--chat", "--thread", "mill"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=environment(),
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write("\n".join(lines[name]))
        process.stdin.close()
        processes.append(process)
    assert [process.wait(SECONDS) for process in processes] == [0, 0]
    asked = questions(path, "mill")
    assert len(asked) == 12
    for name in names:
        assert [one for one in asked if name in one] == lines[name]
