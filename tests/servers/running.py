"""A real server for an ASGI application, in a thread of the test."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

__all__ = ["running"]


@contextmanager
def running(app: Any, **options: Any) -> Iterator[str]:
    """Serve an application on a free port of this machine, and yield its address.

    Args:
        app: ASGI application.
        **options: More options of uvicorn, such as `ssl_certfile` or `lifespan`.
    """
    options.setdefault("lifespan", "off")
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=5, **options)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server did not start"
                time.sleep(0.01)
            scheme = "https" if options.get("ssl_certfile") else "http"
            yield f"{scheme}://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(20)
