"""Servers that run as processes of their own, on a free port of 127.0.0.1."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx

__all__ = ["free_port", "jobs_server", "running_server"]

_POLL_SECONDS = 0.05
_END_SECONDS = 60.0
_JOBS_PROGRAM = """
import sys
from spanwise.server.options import QueueOptions, ServerOptions
from spanwise.server.run import run_server

if __name__ == "__main__":
    _, base, workers, _, port = sys.argv
    options = ServerOptions(knowledge_bases={"notes": base}, queue=QueueOptions(lease_seconds=1))
    run_server(options, host="127.0.0.1", port=int(port), workers=int(workers))
"""


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running_server(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    output: IO[bytes] | None = None,
    start_seconds: float = 120.0,
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run a server, and yield its address once it is ready, with its process.

    Args:
        command: Command line; `--port` and a free port are added.
        folder: Folder of the process.
        environment: Environment of the process; None for that of the tests.
        output: File for the output and errors of the process; None for those of the tests.
        start_seconds: Time after which a server that is not ready is a failure.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [*command, "--port", str(port)], cwd=folder, env=environment, stdout=output, stderr=output
    ) as process:
        try:
            _wait_until_ready(url, process, start_seconds)
            yield url, process
        finally:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            finally:
                process.kill()


@contextmanager
def jobs_server(
    base: str,
    *,
    folder: Path,
    workers: int = 1,
    environment: Mapping[str, str] | None = None,
    output: IO[bytes] | None = None,
    start_seconds: float = 120.0,
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run a server of a knowledge base "notes" whose jobs are soon taken over; kill it at the end.

    Args:
        base: Folder or address of the knowledge base.
        folder: As for `running_server`, as are the further arguments.
        workers: Processes that answer requests.
        environment: See `folder`.
        output: See `folder`.
        start_seconds: See `folder`.
    """
    program = folder / "program.py"
    program.write_text(_JOBS_PROGRAM, encoding="utf-8")
    with running_server(
        [sys.executable, program.name, base, str(workers)],
        folder=folder,
        environment=environment,
        output=output,
        start_seconds=start_seconds,
    ) as (url, process):
        try:
            yield url, process
        finally:
            process.kill()


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        assert process.poll() is None, f"the server ended with code {process.returncode}"
        assert time.monotonic() < until, "the server does not start"
        try:
            if httpx.get(f"{url}/readyz", timeout=5).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(_POLL_SECONDS)
