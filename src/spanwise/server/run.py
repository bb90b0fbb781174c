"""Run the server in one or several processes."""

from __future__ import annotations

import socket
from functools import partial
from ipaddress import ip_address
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.supervisors import Multiprocess

from spanwise.config import share_metrics
from spanwise.errors import OptionError
from spanwise.server.app import LOOPBACK, ServerOptions, make_app

if TYPE_CHECKING:
    from collections.abc import Collection

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


def run_server(options: ServerOptions, *, host: str, port: int, workers: int) -> None:
    """Serve until the process is interrupted; running requests are finished first.

    With several processes, SIGHUP replaces them one after the other.

    Args:
        options: Configuration of the server.
        host: Address to listen at.
        port: Port to listen at.
        workers: Number of processes.
    """
    config = uvicorn.Config(
        partial(make_app, options),
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=_START_SECONDS,
    )
    if workers == 1:
        uvicorn.Server(config).run()
        return
    with TemporaryDirectory(prefix="spanwise-metrics-") as folder:
        share_metrics(folder)
        Multiprocess(config, sockets=[config.bind_socket()]).run()
