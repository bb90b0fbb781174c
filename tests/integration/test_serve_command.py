"""`spanwise serve` and `spanwise keys` as processes: addresses, workers, restarts."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client
from tests.agents import as_agent, output_of
from tests.integration.commands import command, environment, spanwise
from tests.servers.applications import wait_for
from tests.servers.process import free_port, running_server

from spanwise import KnowledgeBase
from spanwise.server.client_connections import LimitedConnection

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
QUESTION = {"question": "Why did the gross margin fall in 2023?", "budget_tokens": 300}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("serve")
    with KnowledgeBase(made / "reports.kb") as base:
        base.add(REPORTS)
    return made


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run the server, and yield its address once it is ready, with its process."""
    words = command("serve", "--kb", "reports.kb", *arguments)
    with running_server(words, folder=folder, environment=environment({})) as started:
        yield started


def test_the_server_answers_and_ends(folder: Path) -> None:
    with serving(folder) as (url, process):
        listed = httpx.get(f"{url}/v1/knowledge-bases").json()["knowledge_bases"]
        assert listed == [{"name": "reports", "documents": 4, "chunks": listed[0]["chunks"]}]
        found = httpx.post(f"{url}/v1/knowledge-bases/reports/search", json=QUESTION).json()
        assert found["segments"][0]["document_id"] == "annual-report-2023.md"
        foreign = httpx.get(f"{url}/v1/knowledge-bases", headers={"Host": "evil.example"})
        assert foreign.status_code == 421
    assert process.returncode in (0, -signal.SIGTERM, 143)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL and locks")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_next_start_removes_the_folder_of_a_killed_server(
    folder: Path, tmp_path: Path, workers: str
) -> None:
    words = command("serve", "--kb", "reports.kb", "--workers", workers)
    place = environment({"TMPDIR": str(tmp_path)})
    with running_server(words, folder=folder, environment=place) as (_, running):
        with running_server(words, folder=folder, environment=place) as (_, killed):
            assert len(server_folders(tmp_path)) == 2
            killed.kill()
            killed.wait()
        left = server_folders(tmp_path)
        assert len(left) == 2
        with running_server(words, folder=folder, environment=place):
            assert len(server_folders(tmp_path)) == 2
            assert len(server_folders(tmp_path) & left) == 1
        assert running.poll() is None
    assert server_folders(tmp_path) == set()


def server_folders(place: Path) -> set[str]:
    """Return the names of the folders of servers in a temporary folder."""
    return {path.name for path in place.glob("spanwise-server-*")}


@pytest.mark.skipif(sys.platform != "linux", reason="opens many files")
def test_idle_connections_leave_room_for_requests(folder: Path) -> None:
    """More connections than a process accepts neither stop the server nor stay open."""
    extra = 20
    with serving(folder) as (url, _), ExitStack() as stack:
        place = ("127.0.0.1", int(url.rpartition(":")[2]))
        idle = [
            stack.enter_context(closing(socket.create_connection(place, 30)))
            for _ in range(LimitedConnection.max_connections + extra)
        ]
        found = httpx.post(f"{url}/v1/knowledge-bases/reports/search", json=QUESTION, timeout=60)
        assert found.status_code == 200
        wait_for(lambda: len(_closed(idle)) >= extra)


def _closed(connections: list[socket.socket]) -> list[socket.socket]:
    """Return the connections that the server has closed."""
    waiting = select.poll()
    by_number = {one.fileno(): one for one in connections}
    for number in by_number:
        waiting.register(number, select.POLLIN)
    return [by_number[number] for number, _ in waiting.poll(0)]


@pytest.mark.skipif(os.name == "nt", reason="needs SIGHUP")
def test_a_restart_of_all_workers_loses_no_request(folder: Path) -> None:
    statuses: list[int | str] = []
    ended = threading.Event()

    def load(url: str) -> None:
        while not ended.is_set():
            try:
                response = httpx.post(
                    f"{url}/v1/knowledge-bases/reports/search", json=QUESTION, timeout=60
                )
                statuses.append(response.status_code)
            except httpx.TransportError as error:
                statuses.append(repr(error))

    with serving(folder, "--workers", "2") as (url, process):
        threads = [threading.Thread(target=load, args=(url,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        before = set(children_of(process.pid))
        process.send_signal(signal.SIGHUP)
        for _ in range(600):
            after = set(children_of(process.pid))
            if len(after) == len(before) and not after & before:
                break
            time.sleep(0.1)
        else:
            pytest.fail("the workers were not replaced")
        time.sleep(0.5)
        ended.set()
        for thread in threads:
            thread.join()
    assert statuses
    assert set(statuses) == {200}, f"{len(statuses) - statuses.count(200)} requests were lost"


def test_agents_use_any_worker(folder: Path) -> None:
    async def calls(client: Client) -> tuple[list[str], list[str], str]:
        found = [
            await output_of(client, "search", question=QUESTION["question"], token_budget=300)
            for _ in range(6)
        ]
        resources = [one.name for one in (await client.list_resources()).resources]
        (content,) = (await client.read_resource("spanwise://reports/handbook.md")).contents
        return [text for text, _ in found], resources, str(content)

    with serving(folder, "--workers", "2") as (url, _):
        found, resources, content = as_agent(url, calls)
        page = httpx.get(url)
    assert all("Energy cost 3.2 million more" in text for text in found)
    assert "handbook.md" in resources
    assert "handbook" in content.lower()
    assert page.status_code == 200


def children_of(process: int) -> list[int]:
    """Return the worker processes of a server."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    return [
        int(child)
        for child in children
        if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


@pytest.mark.skipif(os.name == "nt", reason="needs SIGTERM")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_stops_is_not_ready_and_still_answers(folder: Path, workers: str) -> None:
    with serving(folder, "--workers", workers, "--drain-seconds", "4") as (url, process):
        process.send_signal(signal.SIGTERM)
        for _ in range(100):
            refused = httpx.get(f"{url}/readyz")
            if refused.status_code != 200:
                break
            time.sleep(0.02)
        assert (refused.status_code, refused.json()["code"]) == (503, "not_ready")
        assert httpx.get(f"{url}/healthz").status_code == 200
        found = httpx.post(f"{url}/v1/knowledge-bases/reports/search", json=QUESTION)
        assert found.status_code == 200
        process.wait(30)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{url}/healthz")


@pytest.mark.parametrize("host", ["0.0.0.0", "127.example.com"])
def test_an_address_for_others_needs_a_key(folder: Path, host: str) -> None:
    (folder / "none.json").write_text('{"format": 1, "keys": []}', encoding="utf-8")
    for keys in ([], ["--keys", "none.json"]):
        refused = spanwise("serve", "--kb", "reports.kb", "--host", host, *keys, folder=folder)
        assert refused.returncode == 2
        assert "spanwise keys add" in refused.stderr


def test_a_key_is_made_used_and_removed(folder: Path) -> None:
    made = spanwise("keys", "add", "web", "--where", "title = 'Staff handbook'", folder=folder)
    key = made.stdout.strip()
    listed = json.loads(spanwise("keys", "list", "--json", folder=folder).stdout)
    assert [(one["name"], one["role"]) for one in listed] == [("web", "read")]
    with serving(folder, "--keys", "spanwise.keys.json") as (url, _):
        place = f"{url}/v1/knowledge-bases/reports/documents"
        assert httpx.get(place).status_code == 401
        shown = httpx.get(place, headers={"Authorization": f"Bearer {key}"}).json()
        assert [one["id"] for one in shown["documents"]] == ["handbook.md"]
    assert spanwise("keys", "remove", "web", folder=folder).returncode == 0
    assert json.loads(spanwise("keys", "list", "--json", folder=folder).stdout) == []


def test_a_wrong_name_of_a_knowledge_base_ends_the_command(folder: Path) -> None:
    refused = spanwise("serve", "--kb", "report.kb", "--port", str(free_port()), folder=folder)
    assert refused.returncode == 1
    assert "report.kb" in refused.stderr
    assert not (folder / "report.kb").exists()


def test_a_knowledge_base_of_a_newer_version_ends_the_command(folder: Path) -> None:
    KnowledgeBase(folder / "newer.kb").close()
    with closing(sqlite3.connect(folder / "newer.kb" / "truth.db")) as connection:
        connection.execute("pragma user_version = 999")
    for words in (["serve", "--port", str(free_port())], ["mcp"]):
        refused = spanwise(*words, "--kb", "newer.kb", folder=folder)
        assert refused.returncode == 1
        assert "update spanwise" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1


def test_a_port_in_use_ends_the_command(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = spanwise("serve", "--kb", "reports.kb", "--port", port, folder=folder)
    assert refused.returncode == 2
    assert port in refused.stderr
    assert "serves" not in refused.stderr
