"""Run the server in one or several processes.

The parent of several processes does not load the application.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
from contextlib import closing
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from spanwise.config import share_metrics
from spanwise.errors import OptionError, SpanwiseError
from spanwise.loading import fast_imports
from spanwise.server.client_connections import LimitedConnection
from spanwise.server.ingest_process import IngestProcess, IngestSettings
from spanwise.server.log import log_to_stderr
from spanwise.server.options import LOOPBACK, ServerOptions
from spanwise.server.queue_storage import jobs_of
from spanwise.temporary_folders import LockedFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from types import FrameType

    from fastapi import FastAPI

    from spanwise.config import Location

_SHUTDOWN_SECONDS = 20
_START_SECONDS = 60  # a process starts slowly on a busy machine


def check_address(host: str, *, keys_file: str) -> None:
    """Check that a server for other machines has keys.

    Raises:
        OptionError: If it has none.
    """
    if not keys_file and not is_loopback(host):
        raise OptionError(
            f"other machines could reach the server at {host!r} without a key; create one with "
            "`spanwise keys add NAME`, and give the key file with --keys"
        )


def check_port(host: str, port: int) -> None:
    """Check that the server can listen at an address.

    Raises:
        OptionError: If the port is in use, or the address is not of this machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise OptionError(
            f"cannot listen at {host}:{port}: {error.strerror}; name another --port or --host"
        ) from None


def check_knowledge_bases(paths: Iterable[str | Location], *, create: bool = False) -> None:
    """Check that knowledge bases can be opened.

    Args:
        paths: Folders and addresses of the knowledge bases.
        create: Whether to create those that do not exist.

    Raises:
        SpanwiseError: If one cannot be opened.
    """
    with fast_imports():
        from spanwise.knowledge_base import KnowledgeBase
    for path in paths:
        if create:
            KnowledgeBase(path).close()
        KnowledgeBase(path, create=False).close()  # as the server opens it: not in memory


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can reach an address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name; other names than this one may have any address
        return host == "localhost"


def accepted_hosts(host: str, *, names: Collection[str]) -> tuple[str, ...] | None:
    """Return the accepted values of the Host header; None to accept all.

    Args:
        host: Address to listen on.
        names: Additional names of the server.
    """
    if is_loopback(host) or names:
        return (*LOOPBACK, host, *names)
    return None


def run_server(
    options: ServerOptions, *, host: str, port: int, workers: int, drain_seconds: float = 0.0
) -> None:
    """Serve until the process is interrupted; running requests are finished first.

    Another process runs ingest jobs. With several processes, SIGHUP replaces all of them one after
    the other.

    Args:
        options: Configuration of the server.
        host: Address to listen at.
        port: Port to listen at.
        workers: Number of processes.
        drain_seconds: Time after SIGTERM in which the server still takes requests, and /readyz
            reports that it is stopping.

    Raises:
        SpanwiseError: If one of several processes cannot start.
    """
    with closing(LockedFolder("spanwise-server-")) as folder, _ingest_process(options) as jobs:
        stop = _Stop(folder.path / "stopping", drain_seconds)
        served = replace(options, runs_jobs=False, stopping_file=str(stop.file))
        config = uvicorn.Config(
            partial(_make_app, served),
            factory=True,
            host=host,
            port=port,
            workers=workers,
            http=LimitedConnection,
            ws="none",
            loop="auto" if workers == 1 else "spanwise.server.fair_loop:FairLoop",
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            timeout_worker_healthcheck=_START_SECONDS,
        )
        if workers == 1:
            _Server(config, stop).run()
            return
        share_metrics(str(folder.path))
        parent = _Workers(config, stop, jobs)
        parent.run()
        if any(process.exitcode == STARTUP_FAILURE for process in parent.processes):
            check_knowledge_bases(options.knowledge_bases.values())
            raise SpanwiseError("the server could not start; its log says why")


class _Stop:
    """Stop of the server: its processes report it, and after a time it is carried out."""

    def __init__(self, file: Path, seconds: float) -> None:
        self.file = file
        self._seconds = seconds

    def begin(self, end: Callable[[], object]) -> None:
        """Report the stop, and call a function after the time to drain; at once if called again."""
        is_begun = self.file.exists()
        self.file.touch()
        if is_begun or not self._seconds:
            end()
            return
        timer = threading.Timer(self._seconds, end)
        timer.daemon = True
        timer.start()


class _Server(uvicorn.Server):
    """Server of a single process."""

    def __init__(self, config: uvicorn.Config, stop: _Stop) -> None:
        super().__init__(config)
        self._stop = stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop the server; Ctrl-C stops it without time to drain."""
        end = partial(super().handle_exit, sig, frame)
        if sig == signal.SIGTERM:
            self._stop.begin(end)
        else:
            end()


class _Workers(Multiprocess):
    """Parent of the processes of a server."""

    def __init__(self, config: uvicorn.Config, stop: _Stop, jobs: IngestProcess) -> None:
        super().__init__(config, sockets=[config.bind_socket()])
        self._stop = stop
        self._jobs = jobs

    def keep_subprocess_alive(self) -> None:
        """Replace processes that have died, also one that dies before it answers."""
        for process in self.processes:
            process.child_conn.close()  # else the wait for an answer outlasts the process
        super().keep_subprocess_alive()

    def handle_term(self) -> None:
        """Stop all processes after the time to drain."""
        self._stop.begin(self.should_exit.set)

    def restart_all(self) -> None:
        """Replace all processes, also the one that runs ingest jobs."""
        super().restart_all()
        self._jobs.replace()


def _make_app(options: ServerOptions) -> FastAPI:
    """Return the application of a process, which ends if the process that started it has died."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        log_to_stderr()

        def follow() -> None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=follow, name="spanwise-parent", daemon=True).start()
        try:
            check_knowledge_bases(options.knowledge_bases.values())
        except SpanwiseError:  # the parent process reports it
            sys.exit(STARTUP_FAILURE)
    with fast_imports():
        from spanwise.server.app import make_app

        return make_app(options)


def _ingest_process(options: ServerOptions) -> IngestProcess:
    settings = IngestSettings(
        knowledge_bases=options.knowledge_bases,
        queue=options.queue,
        llm=options.llm,
        max_cost=options.max_cost,
        allow_private=options.allow_private,
    )
    return IngestProcess(settings, jobs_of(options.knowledge_bases.values()))
