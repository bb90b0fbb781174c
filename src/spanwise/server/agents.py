"""MCP over HTTP inside the server: streamable HTTP at /mcp, with the rights of the key.

Each request is independent (stateless mode), so any process can answer it. A read key gets the
tools that read. A write key also gets those that write, if the server was started with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request
from starlette.routing import Route

from spanwise.errors import OptionError, SpanwiseError
from spanwise.server.access import Access, key_of
from spanwise.server.problems import Problem, crash_of, problem_of

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import Message, Receive, Scope, Send

    from spanwise.mcp.tools import DocumentTools
    from spanwise.server.access import Service
    from spanwise.server.keys import Key

_Result = TypeVar("_Result")

PATH = "/mcp"
"""Path of the endpoint."""
_EXTRA_SECONDS = 5.0  # after the time limit of the work, for its error message
_tools: ContextVar[DocumentTools] = ContextVar("spanwise_agent_tools")
"""Tools of the current request."""


class _AgentAccess(Access):
    """Rights of an agent. Errors have the messages of the HTTP interface."""

    async def run(self, action: Callable[[], _Result]) -> _Result:
        """Return the result of blocking work.

        Raises:
            SpanwiseError: If it fails, with a message that shows nothing of the server.
        """
        try:
            return await super().run(action)
        except Problem as problem:
            detail = str(problem.detail)
        except SpanwiseError as error:
            detail = str(problem_of(error).detail)
        except Exception as error:  # noqa: BLE001 - its message may contain paths
            detail = str(crash_of(error).detail)
        raise SpanwiseError(detail)


class AgentEndpoint:
    """ASGI application that answers agents."""

    def __init__(self, *, writes: bool) -> None:
        """Create the endpoint.

        Args:
            writes: Whether keys with the role "write" may add and remove documents.

        Raises:
            OptionError: If writes are wanted, and the package mcp is not installed.
        """
        self._writes = writes
        self._route = Route(PATH, self, include_in_schema=False)
        self._servers: dict[tuple[bool, bool], Server[Any]] = {}
        if writes:
            self._server(answers=False, writes=True)

    def route(self) -> Route:
        """Return the route of the endpoint."""
        return self._route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        Raises:
            Problem: If it is refused, or the package mcp is not installed.
        """
        scope["route"] = self._route  # for metrics and traces, as the other routes do
        request = Request(scope, receive)
        if request.method != "POST":  # no stream of notifications, and no session to end
            raise Problem(405, "method_not_allowed", "use POST", headers={"Allow": "POST"})
        service: Service = scope["app"].state.service
        key = key_of(service, request.headers.get("authorization", ""))
        body = await request.body()
        access = _AgentAccess(service, key, request)
        if not access.names():
            raise Problem(
                404, "knowledge_base_not_found", "the key allows no knowledge base of this server"
            )
        try:
            server = self._server(
                answers=service.llm is not None, writes=self._may_write(access, key)
            )
        except OptionError as error:
            raise Problem(501, "mcp_missing", str(error)) from error
        await self._answer(server, access, scope, _replayed(body, receive), send)

    def _may_write(self, access: Access, key: Key | None) -> bool:
        """Return whether a request may change documents; a key with a filter may not."""
        has_role = key is None or key.allows("write")
        return self._writes and has_role and not access.is_restricted

    async def _answer(
        self, server: Server[Any], access: Access, scope: Scope, receive: Receive, send: Send
    ) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        from spanwise.mcp.tools import DocumentTools

        manager = StreamableHTTPSessionManager(
            app=server,
            json_response=True,
            stateless=True,
            # The limits of the server check host and origin, by the same rules as for HTTP.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        token = _tools.set(DocumentTools(access, llm=access.service.llm))
        try:
            async with asyncio.timeout(access.service.seconds + _EXTRA_SECONDS), manager.run():
                await manager.handle_request(scope, receive, send)
        except TimeoutError:
            raise access.timeout() from None
        finally:
            _tools.reset(token)

    def _server(self, *, answers: bool, writes: bool) -> Server[Any]:
        """Return the MCP server with some tools, from a cache.

        Raises:
            OptionError: If the package mcp is not installed.
        """
        if (answers, writes) not in self._servers:
            from spanwise.mcp.server import make_mcp_server

            made = make_mcp_server(_tools.get, answers=answers, writes=writes)
            made.streamable_http_app()  # makes the session manager, which has the server
            self._servers[answers, writes] = made.session_manager.app
        return self._servers[answers, writes]


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives a body that was already read, then what follows it."""
    is_given = False

    async def replayed() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed
