"""The event loop of a worker process: connections are accepted one at a time."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack

from spanwise.server.fair_loop import FairLoop


class Greeting(asyncio.Protocol):
    """Protocol that sends a byte to each client."""

    accepted = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        Greeting.accepted += 1
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"1")
        transport.close()


def test_waiting_connections_are_left_to_other_workers_but_none_is_lost() -> None:
    Greeting.accepted = 0
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        address = listener.getsockname()
        clients = [stack.enter_context(socket.create_connection(address)) for _ in range(16)]

        async def served() -> int:
            loop = asyncio.get_running_loop()
            server = await loop.create_server(Greeting, sock=listener, backlog=64)
            while not Greeting.accepted:
                await asyncio.sleep(0)
            first = Greeting.accepted
            while Greeting.accepted < len(clients):
                await asyncio.sleep(0.001)
            assert server.is_serving()
            server.close()
            assert not server.is_serving()
            await server.wait_closed()
            return first

        with asyncio.Runner(loop_factory=FairLoop) as runner:
            assert runner.run(served()) == 1
        assert [client.recv(1) for client in clients] == [b"1"] * len(clients)


def test_a_server_without_an_open_socket_is_that_of_asyncio() -> None:
    async def served() -> bytes:
        server = await asyncio.get_running_loop().create_server(Greeting, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            received = await reader.read()
            writer.close()
            return received

    with asyncio.Runner(loop_factory=FairLoop) as runner:
        assert runner.run(served()) == b"1"
