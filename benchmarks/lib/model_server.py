"""A language model that takes a known time: python -m benchmarks.lib.model_server --latency 0.2.

It answers what Spanwise asks when a document is added, as a capable model would: sections of some
3,000 characters, titles and summaries made of the first words. The server is a process of its own,
so that its work is not taken for that of the program that is measured.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from tests.servers.scripted import Received, Reply, ScriptedServer, chat

SECTION_CHARS = 3_000
_ASKED = re.compile(r'Answer in JSON[^{]*\{"(\w+)"')
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_WORDS = re.compile(r"\w+")


@dataclass(slots=True)
class RunningModel:
    """A model that answers, and tells at the end when it did."""

    url: str
    _input: IO[str]
    _output: IO[str]
    _calls: list[tuple[float, float]] | None = None

    def calls(self) -> list[tuple[float, float]]:
        """End it, and return when each call came and was answered, by the monotonic clock."""
        if self._calls is None:
            self._input.close()
            self._calls = json.loads(self._output.read())
        return self._calls


@contextmanager
def running_model(latency_seconds: float) -> Iterator[RunningModel]:
    """Run the server until the end of the block."""
    command = [sys.executable, "-m", __name__, "--latency", str(latency_seconds)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        model = RunningModel(process.stdout.readline().strip(), process.stdin, process.stdout)
        try:
            yield model
        finally:
            model.calls()


class TimedServer(ScriptedServer):
    """Remembers when each call came and was answered."""

    def __init__(self, *, latency_seconds: float) -> None:
        """Take the time of a call."""
        super().__init__(answer, latency_seconds=latency_seconds)
        self.calls: list[tuple[float, float]] = []
        self._thread_began = threading.local()

    def begin(self, received: Received) -> Reply:
        """Note when a call came."""
        self._thread_began.at = received.at
        return super().begin(received)

    def end(self) -> None:
        """Note when it was answered."""
        self.calls.append((self._thread_began.at, time.monotonic()))
        super().end()


def answer(received: Received) -> Reply:
    """Return what a capable model would answer, in the form that is asked for."""
    asked = _ASKED.search(received.instructions)
    form = "title" if asked is None else asked.group(1)
    words = " ".join(_WORDS.findall(received.prompt)[:10])
    made: dict[str, object] = {"title": words}
    if form == "summary":
        made = {"summary": f"This section is about: {words}."}
    if form == "sections":
        made = {"sections": _sections(received.prompt)}
    return chat(json.dumps(made), input_tokens=len(received.prompt) // 4)


def _sections(prompt: str) -> list[dict[str, object]]:
    """Return sections of about `SECTION_CHARS` of the numbered lines of a prompt."""
    sections: list[dict[str, object]] = []
    chars = SECTION_CHARS
    for number, line in _NUMBERED.findall(prompt):
        if chars >= SECTION_CHARS:
            title = " ".join(_WORDS.findall(line)[:8]) or "Further text"
            section = {"first_line": int(number), "title": title, "summary": f"About {title}."}
            sections.append(section)
            chars = 0
        chars += len(line)
    return sections


def main() -> None:
    """Serve until standard input ends, then print when each call came and was answered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, required=True, help="seconds before each answer")
    with TimedServer(latency_seconds=parser.parse_args().latency) as server:
        print(server.url, flush=True)
        sys.stdin.read()
        print(json.dumps(server.calls), flush=True)


if __name__ == "__main__":
    main()
