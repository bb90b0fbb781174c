"""Several servers of one knowledge base in PostgreSQL: rolling restarts, and an outage."""

from __future__ import annotations

import itertools
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from tests.integration.commands import command, environment
from tests.servers.postgres import postgres_server

from spanwise import KnowledgeBase

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="needs SIGTERM"),
]
KB = "/v1/knowledge-bases/default"
QUESTION = {"question": "How long is the pier?", "budget_tokens": 300}
_POLL_SECONDS = 0.1
_DRAIN_SECONDS = 1.0


@dataclass
class Server:
    """A process of `spanwise serve`, with an address that it keeps over restarts."""

    folder: Path
    """Folder of its own, as the disk of a machine."""
    kb: str
    url: str = ""
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"

    def start(self) -> None:
        words = ("serve", "--kb", self.kb, "--drain-seconds", str(_DRAIN_SECONDS))
        port = self.url.rpartition(":")[2]
        temporary = {"TMPDIR": str(self.folder)}
        self.process = subprocess.Popen(
            command(*words, "--port", port), cwd=self.folder, env=environment(temporary)
        )

    def wait_until_ready(self) -> None:
        assert self.process is not None
        for _ in range(1_200):
            assert self.process.poll() is None, "the server has ended"
            if is_ready(self.url):
                return
            time.sleep(0.05)
        pytest.fail("the server does not become ready")

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=10).status_code == 200
    except httpx.TransportError:
        return False


@dataclass
class Balancer:
    """Sends requests to ready servers, as a load balancer does.

    A request goes to another server only if the connection is refused. Every other failure counts.
    """

    urls: list[str]
    ready: dict[str, bool] = field(default_factory=dict)
    outcomes: Counter[int | str] = field(default_factory=Counter)
    ended: threading.Event = field(default_factory=threading.Event)
    _turns: Iterator[int] = field(default_factory=itertools.count)

    def watch(self) -> None:
        while not self.ended.is_set():
            self.ready = {url: is_ready(url) for url in self.urls}
            self.ended.wait(_POLL_SECONDS)

    def send(self, client: httpx.Client, method: str, path: str, **body: Any) -> httpx.Response:
        for turn in itertools.islice(self._turns, 200):
            url = self.urls[turn % len(self.urls)]
            if not self.ready.get(url, False):
                time.sleep(0.01)
                continue
            try:
                response = client.request(method, f"{url}{path}", **body)
            except httpx.ConnectError:
                continue
            except httpx.TransportError as error:
                self.outcomes[repr(error)] += 1
                raise
            self.outcomes[response.status_code] += 1
            return response
        self.outcomes["no server is ready"] += 1
        raise AssertionError("no server is ready")

    def search(self) -> None:
        with httpx.Client(timeout=60) as client:
            while not self.ended.is_set():
                self.send(client, "POST", f"{KB}/search", json=QUESTION)
                time.sleep(0.02)


@contextmanager
def balancing(balancer: Balancer, *, searches: int) -> Iterator[None]:
    threads = [threading.Thread(target=balancer.watch)]
    threads += [threading.Thread(target=balancer.search) for _ in range(searches)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        balancer.ended.set()
        for thread in threads:
            thread.join(60)


@contextmanager
def serving(folder: Path, address: str, *, servers: int) -> Iterator[list[Server]]:
    """Run servers that share nothing but the database."""
    with ExitStack() as stack:
        started = [Server(folder / f"machine-{number}", address) for number in range(servers)]
        for server in started:
            stack.callback(server.stop)
            server.start()
        for server in started:
            server.wait_until_ready()
        yield started


def wait_until(passes: Callable[[], object], *, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not passes():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@pytest.fixture
def address(postgres_url: str, tmp_path: Path) -> str:
    address = f"{postgres_url}?schema=servers_{os.urandom(4).hex()}"
    (tmp_path / "pier.md").write_text("# Pier\n\nThe pier is 30 m long.", encoding="utf-8")
    with KnowledgeBase(address) as base:
        base.add(tmp_path / "pier.md")
    return address


def test_a_rolling_restart_loses_no_request(tmp_path: Path, address: str) -> None:
    """Searches and uploads go on; each job is run once, by any server."""
    places: list[str] = []
    with serving(tmp_path, address, servers=2) as servers:
        balancer = Balancer([server.url for server in servers])
        restarted = threading.Event()

        def add() -> None:
            with httpx.Client(timeout=60) as client:
                while not (restarted.is_set() and len(places) >= 4):
                    number = len(places)
                    text = f"# Quay {number}\n\nThe quay {number} is {number} m wide.\n\n" * 20
                    files = {"file": (f"quay-{number}.md", text.encode())}
                    added = balancer.send(client, "POST", f"{KB}/documents", files=files)
                    assert added.status_code == 202
                    places.append(added.headers["location"])
                    time.sleep(5)

        with balancing(balancer, searches=1):
            wait_until(lambda: all(balancer.ready.values()) and balancer.ready)
            adding = threading.Thread(target=add)
            adding.start()
            for server in servers:
                server.stop()
                server.start()
                server.wait_until_ready()
            restarted.set()
            adding.join(60)
        assert set(balancer.outcomes) == {200, 202}
        assert balancer.outcomes[202] == len(places)
        with httpx.Client(base_url=servers[0].url, timeout=60) as client:
            wait_until(lambda: client.get(f"{KB}/jobs?state=done").json()["total"] == len(places))
            for number, place in enumerate(places):
                report = client.get(place).json()["report"]
                assert report["added"] + report["unchanged"] == [f"quay-{number}.md"]
            metrics = client.get("/metrics").text
    ended = re.findall(
        r'^spanwise_jobs_ended_total\{.*state="(\w+)"\} (.+)$', metrics, re.MULTILINE
    )
    assert dict(ended) == {"done": str(float(len(places))), "failed": "0.0", "cancelled": "0.0"}
    with KnowledgeBase(address, create=False) as base:
        names = {f"quay-{number}.md" for number in range(len(places))}
        assert {record.id for record in base.list()} == {"pier.md", *names}
        assert base.check().sound
    left = [path for server in servers for path in server.folder.rglob("*") if path.is_file()]
    assert left == []


def test_servers_recover_from_an_outage_of_the_database(tmp_path: Path) -> None:
    with postgres_server() as database, ExitStack() as stack:
        with psycopg.connect(f"{database.address}/postgres", autocommit=True) as connection:
            connection.execute("create database reports")
        address = f"{database.address}/reports"
        with KnowledgeBase(address) as base:
            (tmp_path / "pier.md").write_text("# Pier\n\nThe pier is 30 m long.", encoding="utf-8")
            base.add(tmp_path / "pier.md")
        (server,) = stack.enter_context(serving(tmp_path, address, servers=1))
        client = stack.enter_context(httpx.Client(base_url=server.url, timeout=60))
        file = {"file": ("quay.md", b"# Quay\n\nThe quay is 9 m wide.")}
        place = client.post(f"{KB}/documents", files=file).headers["location"]
        wait_until(lambda: client.get(place).json()["state"] == "done")
        database.stop()
        answers = {
            "search": client.post(f"{KB}/search", json=QUESTION),
            "list": client.get(f"{KB}/documents"),
            "upload": client.post(f"{KB}/documents", files=file),
            "jobs": client.get(f"{KB}/jobs"),
            "ready": client.get("/readyz"),
        }
        assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(
            answers, 503
        )
        assert all("retry-after" in answer.headers for answer in answers.values())
        assert client.get("/healthz").status_code == 200
        database.start()
        wait_until(lambda: client.get("/readyz").status_code == 200, seconds=20)
        found = client.post(f"{KB}/search", json=QUESTION)
        assert found.status_code == 200
        file = {"file": ("mole.md", b"# Mole\n\nThe mole is 7 m high.")}
        place = client.post(f"{KB}/documents", files=file).headers["location"]
        wait_until(lambda: client.get(place).json()["state"] == "done")


def test_a_server_is_not_ready_for_a_newer_format(tmp_path: Path, address: str) -> None:
    """A server of a newer version has migrated the tables."""
    url, _, schema = address.partition("?schema=")
    with serving(tmp_path, address, servers=1) as (server,):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'update "{schema}".format set number = number + 1')
        wait_until(lambda: not is_ready(server.url), seconds=5)
