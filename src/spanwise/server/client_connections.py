"""Limits on the connections of clients: their number, and the time until a request arrives.

Rules:
    1. A connection is closed if the complete head of a request does not arrive in time, also after
       an earlier request. `limits` has the limits of bodies and responses.
    2. Above the maximum number, each new connection ends another one: first one that is being
       closed, then the oldest that waits for a request, else the new one itself. Running requests
       are not interrupted.
    3. A head has at most 64 KB (h11).
    4. When the process stops, a new connection still has a short time to send its first request,
       which may be on its way. It is answered, and the connection is closed.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


class LimitedConnection(H11Protocol):
    """Connection of a client to the server."""

    head_seconds = 20.0
    """Maximum time until the head of the next request is complete, in seconds."""
    max_connections = 500
    """Maximum number of connections of one process. Many systems allow 1,024 open files."""
    last_seconds = 1.0
    """Time for the first request of a connection when the process stops, in seconds."""
    _is_stopping = False
    _head_timer: asyncio.TimerHandle | None = None
    _waits_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Start waiting for a request."""
        super().connection_made(transport)
        self._wait_for_request()
        if len(self.connections) > self.max_connections:
            least = min(self._others(), key=LimitedConnection._rank)
            self.connections.discard(least)  # it is lost only after further connections
            least.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request; when the process stops, it is the last request."""
        super().data_received(data)
        if self._is_stopping and self.cycle is not None:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Close the connection when the process stops, after the response to a request."""
        if self.cycle is not None or self.transport.is_closing():
            super().shutdown()
            return
        self._is_stopping = True
        self._stop_waiting()
        self._head_timer = self.loop.call_later(self.last_seconds, self._end_wait)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting for a request."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Start waiting for the next request, which may have arrived already."""
        self._wait_for_request()
        super().on_response_complete()

    def _others(self) -> list[LimitedConnection]:
        """Return all connections of the process."""
        return [other for other in self.connections if isinstance(other, LimitedConnection)]

    def _rank(self) -> tuple[bool, bool, float]:
        """Return a key of the order in which connections end."""
        return not self.transport.is_closing(), not self._is_waiting(), self._waits_since

    def _is_waiting(self) -> bool:
        """Return whether the client has sent no complete head of a request yet."""
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_request(self) -> None:
        self._stop_waiting()
        self._waits_since = self.loop.time()
        self._head_timer = self.loop.call_later(self.head_seconds, self._end_wait)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_wait(self) -> None:
        """Close the connection if it still waits, or end one whose client reads nothing."""
        if self.transport.is_closing():
            self.transport.abort()
        elif self._is_waiting():
            self.timeout_keep_alive_handler()
            self._wait_for_request()
