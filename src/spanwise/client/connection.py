"""Blocking requests to a Spanwise server: retries, timeouts and errors."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import closing
from typing import Any, TypeVar

import httpx

from spanwise.client.session import Attempts, EventReader, Session
from spanwise.client.steps import Call, EventCall, Pause, Step, Steps
from spanwise.errors import StoreError
from spanwise.threads import sleep_unless_cancelled

_Result = TypeVar("_Result")
_logger = logging.getLogger("spanwise.waits")


class Connection:
    """Connections to one server, which are reused. Safe for use by several threads."""

    def __init__(self, session: Session) -> None:
        """Prepare connections; the first request opens one."""
        self.session = session
        self._client = httpx.Client(**session.client_options())

    def run(self, steps: Steps[_Result]) -> _Result:
        """Carry out the steps of a method, and return its result.

        An interrupt is thrown into the generator, which may then cancel its work on the server.
        """
        try:
            step = next(steps)
            while True:
                try:
                    value = self._carried_out(step)
                except BaseException as error:  # noqa: BLE001 - the generator raises it
                    step = steps.throw(error)
                else:
                    step = steps.send(value)
        except StopIteration as end:
            result: _Result = end.value
            return result

    def events(self, call: Call) -> Generator[tuple[str, Any]]:
        """Yield the server-sent events of the response: name and JSON value.

        A caller that stops early closes the connection, which ends the work of the server.

        Raises:
            SpanwiseError: The error that the server reports.
            ServerError: If the server cannot be reached, or its response is incomplete.
        """
        response, reader = self._sent(call, is_stream=True), EventReader(self.session)
        try:
            for piece in response.iter_bytes():
                yield from reader.feed(piece)
        except httpx.HTTPError as error:
            raise self.session.failure(error) from error
        finally:
            response.close()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _carried_out(self, step: Step) -> Any:
        if isinstance(step, Call):
            return self.session.result(step, self._sent(step))
        if isinstance(step, EventCall):
            with closing(self.events(step.call)) as events:
                for name, data in events:
                    step.on_event(name, data)
            return None
        if isinstance(step, Pause):
            return sleep_unless_cancelled(step.seconds)
        return step.action()

    def _sent(self, call: Call, *, is_stream: bool = False) -> httpx.Response:
        """Return the response to a request, which is sent again while the server is busy."""
        attempts = Attempts(self.session, call)
        while True:
            if self._client.is_closed:
                raise closed(self.session)
            request = self.session.request(self._client, call, is_stream=is_stream)
            try:
                response = self._client.send(request, stream=is_stream)
                if is_stream and not response.is_success:
                    response.read()
            except httpx.RequestError as error:
                wait = attempts.wait_after_error(error)
            else:
                if response.is_success:
                    return response
                wait = attempts.wait_after_refusal(response)
            _logger.info("waiting for %s: retry %d", self.session.url, attempts.retries)
            sleep_unless_cancelled(wait)


def closed(session: Session) -> StoreError:
    """Return the error of a method that is called after `close`."""
    return StoreError(f"the connection to {session.url} is closed; connect again")
