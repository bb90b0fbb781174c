"""Process that sends the same kind of request many times over connections that stay open.

It is started by its path, and uses asyncio's streams alone: a client that parses responses would
take more processor time from the server than it should. Arguments: host, port, path, the file of
bodies (one line each, sent once in turn), the number of connections and the number of requests; 0
sends until the standard input closes. It prints one line of JSON: the seconds of each request, the
numbers of answers by status, and the elapsed time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, cycle, takewhile
from pathlib import Path

_FAILED = "connection failed"
_LENGTH = b"content-length:"


class Load:
    """Requests of several connections, and what was measured."""

    def __init__(self, address: tuple[str, int], path: str, bodies: Iterator[bytes]) -> None:
        self.seconds: list[float] = []
        self.statuses: Counter[str] = Counter()
        self._address = address
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        ).encode()
        self._bodies = bodies

    async def run(self) -> None:
        """Send requests over one connection, one after the other, until there are no more."""
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        for body in self._bodies:
            started = time.perf_counter()
            try:
                if streams is None:
                    streams = await asyncio.open_connection(*self._address, limit=1 << 20)
                reader, writer = streams
                writer.write(b"%s%d\r\n\r\n%s" % (self._head, len(body), body))
                status = await _status(reader)
            except (OSError, EOFError, ValueError):
                self.statuses[_FAILED] += 1
                streams = None
                continue
            self.statuses[status] += 1
            self.seconds.append(time.perf_counter() - started)
        if streams is not None:
            streams[1].close()
            with suppress(OSError):
                await streams[1].wait_closed()


async def _status(reader: asyncio.StreamReader) -> str:
    """Return the status of a response after all of it was read."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next(int(line[len(_LENGTH) :]) for line in lines if line.startswith(_LENGTH))
    await reader.readexactly(length)
    return lines[0].split(b" ")[1].decode()


async def _until_closed(tasks: list[asyncio.Task[None]], stopped: list[bool]) -> None:
    """Wait for the tasks; stop the bodies when the standard input closes."""
    waiting = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await waiting
    stopped.append(True)
    await asyncio.gather(*tasks)


async def main() -> None:
    """Send the requests, and print what was measured."""
    host, port, path, bodies_file, clients, requests = sys.argv[1:]
    lines = Path(bodies_file).read_bytes().splitlines()
    stopped: list[bool] = []
    numbers = range(int(requests)) if int(requests) else count()
    every = cycle(lines)
    bodies = (next(every) for _ in takewhile(lambda _: not stopped, numbers))
    load = Load((host, int(port)), path, bodies)
    started = time.perf_counter()
    tasks = [asyncio.ensure_future(load.run()) for _ in range(int(clients))]
    if int(requests):
        await asyncio.gather(*tasks)
    else:
        await _until_closed(tasks, stopped)
    elapsed = time.perf_counter() - started
    measured = {"seconds": load.seconds, "statuses": load.statuses, "elapsed": elapsed}
    print(json.dumps(measured))


if __name__ == "__main__":
    asyncio.run(main())
