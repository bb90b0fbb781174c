"""Asynchronous requests to a Spanwise server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, TypeVar

import httpx

from spanwise.client.connection import closed
from spanwise.client.session import Attempts, EventReader, Session
from spanwise.client.steps import Call, EventCall, Pause, Step, Steps
from spanwise.threads import run_in_thread

_Result = TypeVar("_Result")
_logger = logging.getLogger("spanwise.waits")


class AsyncConnection:
    """Connections to one server, which are reused. For one event loop."""

    def __init__(self, session: Session) -> None:
        """Prepare connections; the first request opens one."""
        self.session = session
        self._client = httpx.AsyncClient(**session.client_options())

    async def run(self, steps: Steps[_Result]) -> _Result:
        """Carry out the steps of a method, and return its result.

        A cancellation closes the request, which ends the work of the server. It is also thrown into
        the generator, which may then cancel its jobs.
        """
        try:
            step = next(steps)
            while True:
                try:
                    value = await self._carried_out(step)
                except BaseException as error:  # noqa: BLE001 - the generator raises it
                    step = steps.throw(error)
                else:
                    step = steps.send(value)
        except StopIteration as end:
            result: _Result = end.value
            return result

    async def events(self, call: Call) -> AsyncGenerator[tuple[str, Any]]:
        """Yield the server-sent events of the response, see `Connection.events`."""
        response, reader = await self._sent(call, is_stream=True), EventReader(self.session)
        try:
            async for piece in response.aiter_bytes():
                for event in reader.feed(piece):
                    yield event
        except httpx.HTTPError as error:
            raise self.session.failure(error) from error
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _carried_out(self, step: Step) -> Any:
        if isinstance(step, Call):
            return self.session.result(step, await self._sent(step))
        if isinstance(step, EventCall):
            async with aclosing(self.events(step.call)) as events:
                async for name, data in events:
                    step.on_event(name, data)
            return None
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        return await run_in_thread(step.action)

    async def _sent(self, call: Call, *, is_stream: bool = False) -> httpx.Response:
        """Return the response to a request, which is sent again while the server is busy."""
        attempts = Attempts(self.session, call)
        while True:
            if self._client.is_closed:
                raise closed(self.session)
            request = self.session.request(self._client, call, is_stream=is_stream)
            try:
                response = await self._client.send(request, stream=is_stream)
                if is_stream and not response.is_success:
                    await response.aread()
            except httpx.RequestError as error:
                wait = attempts.wait_after_error(error)
            else:
                if response.is_success:
                    return response
                wait = attempts.wait_after_refusal(response)
            _logger.info("waiting for %s: retry %d", self.session.url, attempts.retries)
            await asyncio.sleep(wait)
