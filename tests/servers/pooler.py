"""A transaction pooler for PostgreSQL, as PgBouncer is one.

Each transaction of a client gets the server session that was idle for the longest time, and the
session is reset afterwards. Nothing that a client sets for its session is therefore there in its
next transaction.
"""

from __future__ import annotations

import queue
import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

__all__ = ["transaction_pooler"]

_NO_ENCRYPTION = (80877103, 80877104)  # requests for TLS and GSSAPI
_CANCEL = 80877102
_SYNCED = b"QS"  # messages that the server answers with ReadyForQuery
_UNSYNCED = b"PBDECHd"
_RESETS = tuple(
    b"Q" + struct.pack("!i", 5 + len(text)) + text + b"\0" for text in (b"rollback", b"discard all")
)


def _receive(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = source.recv(size - len(data))
        if not piece:
            raise ConnectionError("the peer closed the connection")
        data += piece
    return data


def _read_message(source: socket.socket) -> bytes:
    head = _receive(source, 5)
    return head + _receive(source, struct.unpack("!i", head[1:])[0] - 4)


def _read_startup(client: socket.socket) -> bytes:
    while True:
        head = _receive(client, 8)
        size, code = struct.unpack("!ii", head)
        if code == _CANCEL:
            raise ConnectionError("requests to cancel are not supported")
        if code not in _NO_ENCRYPTION:
            return head + _receive(client, size - 8)
        client.sendall(b"N")


@dataclass
class _Pooler:
    host: str
    port: int
    sessions: int
    transactions: int = 0

    def __post_init__(self) -> None:
        self.idle: queue.Queue[socket.socket] = queue.Queue()
        self.lock = threading.Lock()
        self.opened: list[socket.socket] = []
        self.greeting = b""

    def prepare(self, startup: bytes) -> None:
        """Open all sessions when the first client comes."""
        with self.lock:
            while len(self.opened) < self.sessions:
                server = socket.create_connection((self.host, self.port))
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server.sendall(startup)
                self.opened.append(server)
                greeting = self._answer(server)
                self.greeting = self.greeting or greeting
                self.idle.put(server)

    def _answer(self, server: socket.socket) -> bytes:
        """Return all messages up to ReadyForQuery."""
        answer = b""
        while True:
            message = _read_message(server)
            answer += message
            if message[:1] == b"Z":
                return answer

    def serve(self, client: socket.socket) -> None:
        """Relay the transactions of a client until it leaves."""
        with client, suppress(OSError):  # a peer left, or the test ended
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.prepare(_read_startup(client))
            client.sendall(self.greeting)
            while True:
                first = _read_message(client)
                if first[:1] == b"X":
                    return
                server = self.idle.get(timeout=60)
                try:
                    self._relay(client, server, first)
                finally:
                    for reset in _RESETS:
                        server.sendall(reset)
                        self._answer(server)
                    self.transactions += 1
                    self.idle.put(server)

    def _relay(self, client: socket.socket, server: socket.socket, first: bytes) -> None:
        """Relay messages until the session is idle and no answer is awaited."""
        awaited, is_synced = 0, True
        messages = [first]
        while True:
            for message in messages:
                kind = message[:1]
                awaited += kind in _SYNCED
                is_synced = kind in _SYNCED or (is_synced and kind not in _UNSYNCED)
                server.sendall(message)
            ready, _, _ = select.select([client, server], [], [])
            messages = [_read_message(client)] if client in ready else []
            if server in ready:
                answer = _read_message(server)
                client.sendall(answer)
                if answer[:1] == b"Z":
                    awaited -= 1
                    if not awaited and is_synced and not messages and answer[5:] == b"I":
                        return


@contextmanager
def transaction_pooler(host: str, port: int, *, sessions: int = 3) -> Iterator[tuple[int, _Pooler]]:
    """Run a pooler in front of a server; yield its port and an object that counts transactions."""
    pooler = _Pooler(host, port, sessions)
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=pooler.serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1], pooler
    finally:
        listener.close()
        for server in pooler.opened:
            server.close()
