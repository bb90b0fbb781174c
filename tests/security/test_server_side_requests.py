"""Addresses of private networks are not requested, whatever spells or hides them, by any interface.

A server on this machine stands for the private network; no test may make a connection to it.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpcore
import httpx
import pytest
from fastapi import FastAPI
from mcp.client.client import Client
from tests.agents import as_agent, output_of
from tests.integration.commands import read_json
from tests.security.test_tenants import call
from tests.servers.applications import stop_queues, wait_for

from spanwise import CrawlOptions, KnowledgeBase
from spanwise.server.app import app_of

PUBLIC = "93.184.215.14"
NAMES = {
    "metadata.test": ["169.254.169.254"],
    "inside.test": ["127.0.0.1"],
    "mixed.test": [PUBLIC, "127.0.0.1"],
    "mapped.test": ["::ffff:127.0.0.1"],
}
HOSTS = [
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "0.0.0.0", "localhost",
    "LOCALHOST.", "127.0.0.1.", "127。0。0。1", "①②⑦.0.0.1", "１２７.0.0.1", "[::1]", "[::]",
    "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::80ff:fffe]", "[fe80::1]",
    "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]", "169.254.169.254", "100.100.100.200",
    "192.168.0.1", "172.31.255.255", "198.18.0.1", "224.0.0.1", "255.255.255.255", "192.0.2.1",
    *NAMES,
]  # fmt: skip
REFUSED = re.compile(r'"code": ?"refused"|^refused: ')
"""Code of a failure, in JSON or in the text for an agent."""


class Inside:
    """Server of a private network, which counts its connections."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.connections = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            client.close()

    def close(self) -> None:
        """Take no more connections."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture(autouse=True)
def attempts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, int]]]:
    """Record the connections that are attempted; there must be none."""
    found: list[tuple[str, int]] = []

    def connect(_: object, host: str, port: int, **options: object) -> httpcore.NetworkStream:
        found.append((host, port))
        raise httpcore.ConnectError("no connection may be attempted")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    yield found
    assert found == []


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Inside]:
    look_up = socket.getaddrinfo

    def answer(host: object, port: object, *args: object, **options: object) -> object:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if name not in NAMES:
            return look_up(host, port, *args, **options)  # type: ignore[arg-type]
        return [
            (
                socket.AF_INET6 if ":" in one else socket.AF_INET,
                socket.SOCK_STREAM,
                6,
                "",
                (one, port),
            )
            for one in NAMES[name]
        ]

    monkeypatch.setattr("socket.getaddrinfo", answer)
    with closing(Inside()) as server:
        yield server
        assert server.connections == 0


@pytest.mark.parametrize("host", HOSTS)
def test_no_spelling_of_a_private_address_is_requested(host: str, inside: Inside) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        report = base.add(f"http://{host}:{inside.port}/latest/meta-data")
        crawled = base.add(f"http://{host}:{inside.port}/", crawl=CrawlOptions(depth=1))
        assert base.list() == []
    for failed in (report.failed, crawled.failed):
        assert failed
        assert {failure.code for failure in failed} <= {"refused", "network"}, failed


def test_no_interface_requests_a_private_address(inside: Inside, tmp_path: Path) -> None:
    address = f"http://inside.test:{inside.port}/page"
    plain = f"http://127.0.0.1:{inside.port}/page"

    async def add(client: Client) -> str:
        return (await output_of(client, "add_url", url=address))[0]

    def job_of(app: FastAPI, url: str) -> str:
        made = call(app, "", "POST", "/v1/knowledge-bases/notes/documents", json={"url": url})
        path = f"/v1/knowledge-bases/notes/jobs/{made.json()['id']}"

        def ended() -> httpx.Response | None:
            response = call(app, "", "GET", path)
            return response if response.json()["state"] in ("done", "failed") else None

        text = wait_for(ended).text
        stop_queues(app)
        return str(text)

    with KnowledgeBase(tmp_path / "notes.kb", embedder=None) as base:
        app = app_of({"notes": base}, agents_write=True)
        outputs = [as_agent(app, add, key=""), job_of(app, address)]
        outputs.append(json.dumps(read_json("add", plain, folder=tmp_path, code=3)))
        assert base.list() == []
    for output in outputs:
        assert REFUSED.search(output), output
