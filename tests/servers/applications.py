"""Applications of the server on a real port, and connections that send half of a request."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

if TYPE_CHECKING:
    from fastapi import FastAPI


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve an application on a thread; yield its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def opened(url: str, head: str, body: bytes = b"", length: int | None = None) -> socket.socket:
    """Return a connection on which a request was begun."""
    connection = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
    size = len(body) if length is None else length
    lines = [head, "Host: 127.0.0.1", "Content-Type: application/json", f"Content-Length: {size}"]
    connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
    return connection


def wait_for(condition: Callable[[], Any], *, seconds: float = 60.0) -> Any:
    """Return the value of a condition as soon as it is true; fail after some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if value := condition():
            return value
        time.sleep(0.05)
    pytest.fail("it did not happen")


def stop_queues(app: FastAPI) -> None:
    """Stop the threads that run the ingest jobs of an application."""
    for queue in app.state.service.queues.values():
        queue.stop()
