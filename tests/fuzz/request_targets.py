"""Targets of requests: the routes of the server and the tools of agents, without sockets."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from tests.fuzz.target import JSON_VALUES, Target, check
from tests.rebuilds import HashEmbedder
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.errors import SpanwiseError
from spanwise.mcp.scope import OpenScope
from spanwise.mcp.server import make_mcp_server
from spanwise.mcp.tools import DocumentTools
from spanwise.server.app import app_of
from spanwise.server.options import QueueOptions
from spanwise.server.queue import queues_of
from spanwise.server.readiness import Readiness
from spanwise.testing.models import ScriptedModel

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["request_targets"]

_EXAMPLES = Path(__file__).parents[2] / "docs" / "http_examples.toml"
_KB = "/v1/knowledge-bases/notes"
_READING = re.compile(r"(search|excerpts|explain|explanation|ask|ask-each|queries|locate)$")
"""Last parts of the routes with POST that change nothing."""
_WRITING = ("add_text", "remove_document")
"""Tools of agents that change documents; "add_url" is not called."""
_TEXT = (
    "# Pier\n\nThe pier is 30 m long. It was built in 1911.\n\n## Dues\n\n| Year | Dues |\n"
    "|---|---|\n| 1910 | 5 |\n"
)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of the knowledge bases, with a closed one to copy."""
    folder = tempfile.TemporaryDirectory(prefix="fuzz-")
    with KnowledgeBase(Path(folder.name, "sound.kb"), embedder=HashEmbedder()) as base:
        base.add_text(
            _TEXT, document_id="handbook.md", media_type="text/markdown", metadata={"year": 1910}
        )
    return folder


def _base(name: str) -> KnowledgeBase:
    """Return a new knowledge base with one document, in place of an earlier one of this name."""
    sound, path = Path(_folder().name, "sound.kb"), Path(_folder().name, f"{name}.kb")
    shutil.rmtree(path, ignore_errors=True)
    return KnowledgeBase(shutil.copytree(sound, path), create=False, embedder=HashEmbedder())


class _Server:
    """Application with one knowledge base, which is new after each request that may change it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._model = ScriptedModel(capable_answer)
        self._base = _base("server")
        self._app: FastAPI = app_of({"notes": self._base}, llm=self._model)
        self._renew()

    def _renew(self) -> None:
        self._base.close()
        self._base = _base("server")
        bases = {"notes": self._base}
        # The jobs of an upload are not run: they would open what an address names.
        queues = queues_of(bases, QueueOptions(), llm=self._model, runs_jobs=False)
        self._app.state.service = replace(
            self._app.state.service, bases=bases, queues=queues, readiness=Readiness(bases)
        )

    def send(self, method: str, target: str, body: bytes) -> int:
        """Return the status of the response to a request."""
        try:
            return self._loop.run_until_complete(self._send(method, target, body))
        finally:
            reads = method == "POST" and _READING.search(target.partition("?")[0])
            if method != "GET" and not reads:
                self._renew()

    async def _send(self, method: str, target: str, body: bytes) -> int:
        path, _, query = target.partition("?")
        boundary = re.match(rb"--([\w-]{1,70})\r?\n", body)
        kind = b"application/json"
        if boundary:
            kind = b"multipart/form-data; boundary=" + boundary[1]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                (b"host", b"127.0.0.1"),
                (b"content-type", kind),
                (b"content-length", str(len(body)).encode()),
            ],
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", 80),
            "state": {},
        }
        parts = [{"type": "http.request", "body": body, "more_body": False}]
        statuses: list[int] = []
        forever = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if not parts:
                await forever.wait()
            return parts.pop()

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await self._app(scope, receive, send)  # type: ignore[arg-type]
        return statuses[0]


@cache
def _server() -> _Server:
    return _Server()


_REQUEST = re.compile(rb"([A-Z]{3,7}) (/[!-~]*)\n(.*)", re.DOTALL)


def _request(data: bytes) -> None:
    """Send a request: method and address on the first line, then the body."""
    found = _REQUEST.fullmatch(data)
    if found is None:
        return
    method, target, body = found.groups()
    status = _server().send(method.decode(), target.decode(), body)
    check(status < 500 or status in (501, 503), f"the status is {status}")


def _requests() -> list[bytes]:
    """Return the requests of the documentation, with small values."""
    examples = tomllib.loads(_EXAMPLES.read_text(encoding="utf-8"))
    found = []
    for command in examples.values():
        found += [request for line in command.splitlines() for request in _example(line)]
    found.append(
        f'POST {_KB}/documents\n--b\r\nContent-Disposition: form-data; name="file"; '
        'filename="a.txt"\r\n\r\nThe pier.\r\n--b--\r\n'.encode()
    )
    found.append(
        f'PUT {_KB}/chunks\n{{"document_id": "a", "chunks": [{{"text": "Pier.", "page": 1}}], '
        '"vectors": [[1.0, 2.0]], "metadata": {"year": 1910}, "overlap": "remove"}'.encode()
    )
    return found


def _example(line: str) -> Iterator[bytes]:
    """Yield the request of a line of a shell command, if it needs no variable."""
    if "curl" not in line or "$" in line:
        return
    words = shlex.split(line)
    target = next(word for word in words if word.startswith(("KB", "/")))
    body = words[words.index("--json") + 1] if "--json" in words else ""
    if "-F" in words:
        return
    method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
    yield f"{method} {target.replace('KB', _KB, 1)}\n{body}".encode()


class _Tools:
    """Tools of agents with one knowledge base, which is new after each call that may change it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._bases = {"notes": _base("tools")}
        self._server = make_mcp_server(lambda: DocumentTools(OpenScope(self._bases)), writes=True)

    def call(self, name: str, arguments: dict[str, object]) -> None:
        """Call a tool."""
        try:
            self._loop.run_until_complete(self._server.call_tool(name, arguments))
        finally:
            if name in _WRITING:
                self._bases["notes"].close()
                self._bases["notes"] = _base("tools")


@cache
def _tools() -> _Tools:
    return _Tools()


def _call(data: bytes) -> None:
    """Call a tool of agents with the arguments of the input, a JSON object."""
    try:
        call = json.loads(data)
    except (ValueError, RecursionError):
        return
    name = call.get("name") if isinstance(call, dict) else None
    arguments = call.get("arguments") if isinstance(call, dict) else None
    if not isinstance(name, str) or not isinstance(arguments, dict) or name == "add_url":
        return  # the protocol refuses other types, and a URL would be fetched
    try:
        _tools().call(name, arguments)
    except UnexpectedToolError:
        raise
    except ToolError:
        return


def _calls() -> list[bytes]:
    calls: list[tuple[str, dict[str, object]]] = [
        ("search", {"question": "How long is the pier?", "where": "year >= 1910", "documents": []}),
        ("excerpts", {"question": "How long?", "token_budget": 500}),
        ("list_documents", {"where": "", "start": 0}),
        ("outline", {"document_id": "handbook.md", "knowledge_base": "notes"}),
        ("read", {"document_id": "handbook.md", "section": 1}),
        ("read", {"document_id": "handbook.md", "start": 5}),
        ("add_text", {"document_id": "a.md", "text": "# A", "title": "A"}),
        ("remove_document", {"document_id": "a.md"}),
    ]
    return [json.dumps({"name": name, "arguments": given}).encode() for name, given in calls]


def request_targets() -> list[Target]:
    """Return the targets."""
    values = (*JSON_VALUES, b"%00", b"&")
    return [
        Target(
            name="http",
            run=_request,
            seeds=_requests,
            allowed=(),
            tokens=(*values, b"?limit=-1", b"%ED%A0%80", b"offset=99999999999999999999"),
        ),
        Target(
            name="agent-tools", run=_call, seeds=_calls, allowed=(SpanwiseError,), tokens=values
        ),
    ]
