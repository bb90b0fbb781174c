"""Agents: the official MCP client over HTTP, against a server or an application."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from fastapi import FastAPI

_Result = TypeVar("_Result")


def as_agent(
    server: FastAPI | str, calls: Callable[[Client], Awaitable[_Result]], *, key: str = ""
) -> _Result:
    """Return the result of the calls of an agent.

    Args:
        server: Application, or the address of a server.
        calls: Function that calls the server through a connected client.
        key: Key that the agent sends; empty for none.
    """

    async def connected() -> _Result:
        transport = None if isinstance(server, str) else httpx2.ASGITransport(app=server)
        address = server if isinstance(server, str) else "http://127.0.0.1"
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            httpx2.AsyncClient(transport=transport, headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
        ):
            return await calls(client)

    return asyncio.run(connected())


async def output_of(client: Client, tool: str, **arguments: Any) -> tuple[str, bool]:
    """Return the text of a tool, and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert content.type == "text"
    return content.text, bool(result.is_error)
