"""Event loop of a worker process that shares new connections with the other workers.

All workers accept connections from one socket. A plain asyncio loop accepts all waiting connections
at once, and clients keep their connections open. One worker could then answer all requests of a
client with 16 connections, and the others none.

Rules:
    A worker accepts one connection at a time, and then pauses. The pause is longer if the worker
    has open connections, so the next connection goes to a worker with fewer of them.
    The pause is short: a single worker still accepts 500 connections a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from socket import socket
from typing import Any

_logger = logging.getLogger("spanwise.server")
_PAUSE_SECONDS = 0.0005
"""Pause for each open connection."""
_MAX_PAUSES = 4


class FairLoop(asyncio.SelectorEventLoop):
    """Event loop in which a server on an open socket accepts connections one at a time."""

    async def create_server(self, *args: Any, **options: Any) -> Any:
        """Start a server; without an open socket, that of asyncio."""
        listener = options.get("sock")
        if not isinstance(listener, socket) or options.get("ssl") is not None:
            return await super().create_server(*args, **options)
        listener.settimeout(0)
        listener.listen(options.get("backlog", 100))
        return _FairServer(self, args[0], listener)


class _FairServer(asyncio.AbstractServer):
    """Server that accepts connections one at a time."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol: Callable[[], asyncio.BaseProtocol],
        listener: socket,
    ) -> None:
        self._loop = loop
        self._protocol = protocol
        self._listener = listener
        self._closed = loop.create_future()
        self._open: set[asyncio.BaseTransport] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._listen()

    def _listen(self) -> None:
        if self.is_serving():
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Accept a connection, if no other worker was faster; then pause."""
        pauses = _MAX_PAUSES
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:  # mostly too many open files
            _logger.warning("a connection could not be accepted: %s", error)
        else:
            connection.settimeout(0)
            task = self._loop.create_task(self._serve(connection))
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)
            self._open = {transport for transport in self._open if not transport.is_closing()}
            pauses = min(len(self._open) + 1, _MAX_PAUSES)
        self._loop.remove_reader(self._listener)
        self._loop.call_later(pauses * _PAUSE_SECONDS, self._listen)

    async def _serve(self, connection: socket) -> None:
        with suppress(OSError):  # the client is gone already
            transport, _ = await self._loop.connect_accepted_socket(self._protocol, connection)
            self._open.add(transport)

    def close(self) -> None:
        """Accept no more connections; open ones stay."""
        if self.is_serving():
            self._closed.set_result(None)
            self._loop.remove_reader(self._listener)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop."""
        return self._loop

    def is_serving(self) -> bool:
        """Return whether connections are accepted."""
        return not self._closed.done()

    async def start_serving(self) -> None:
        """Do nothing: a new server accepts connections already."""

    async def serve_forever(self) -> None:
        """Wait until the server is closed."""
        await self._closed

    async def wait_closed(self) -> None:
        """Wait until all accepted connections are served by their protocol."""
        await asyncio.gather(*self._starting)
