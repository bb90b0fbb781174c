"""Server-sent events: an answer while it is written, and the progress of long work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import StreamingResponse

from spanwise.errors import SpanwiseError
from spanwise.server.problems import Problem, crash_of, problem_of
from spanwise.server.results import public_form
from spanwise.threads import is_cancelled

if TYPE_CHECKING:
    from spanwise.answers.stream import AnswerStream
    from spanwise.server.access import Access

_MEDIA_TYPE = "text/event-stream"


def accepts_events(request: Request) -> bool:
    """Return whether a request accepts server-sent events."""
    return _MEDIA_TYPE in request.headers.get("accept", "")


def event_response(events: AsyncIterator[str]) -> StreamingResponse:
    """Return the response that sends events, with headers against buffering by proxies."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type=_MEDIA_TYPE, headers=headers)


async def answer_events(stream: AnswerStream, access: Access) -> AsyncIterator[str]:
    """Yield the pieces of an answer as events; stop it when the client disconnects."""
    try:
        async with aclosing(_texts(stream, access)) as texts:
            async for text in texts:
                yield _event("text", {"text": text})
            yield _event("answer", public_form(access.shown(stream.answer)))
    except Exception as error:  # noqa: BLE001 - the response has begun
        yield _event("error", _problem(error, access).body())


async def _texts(stream: AnswerStream, access: Access) -> AsyncGenerator[str]:
    """Yield the pieces of an answer; for a key with a filter, the last one as the key may see it.

    The last piece may be a refusal, whose text has the filter of the key.
    """
    end = asyncio.get_running_loop().time() + access.service.seconds
    is_waiting, held = False, ""

    def piece() -> str | None:
        """Return the next piece; None after the last one."""
        text = next(stream, None)
        if is_cancelled():  # the request has ended, so this thread stops the stream
            stream.close()
        return text

    try:
        while True:
            left = end - asyncio.get_running_loop().time()
            is_waiting = True
            text = await asyncio.wait_for(access.start(piece), max(left, 0))
            is_waiting = False
            if text is None:
                break
            if access.is_restricted:
                held, text = text, held
            if text:
                yield text
        if held:
            answer = access.shown(stream.answer)
            yield answer.text if answer.refused else held
    finally:
        if not is_waiting:  # otherwise its thread closes it
            stream.close()


async def progress_events(
    access: Access, work: Callable[[Callable[[int, int], None]], Any], *, result: str
) -> AsyncIterator[str]:
    """Yield the progress of blocking work, then its result or its error, as events.

    The work is cancelled when the client disconnects, or at the time limit of a request.

    Args:
        access: Rights of the request.
        work: Function that is called with a function for the numbers of finished and of all parts.
        result: Name of the event with the result.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + access.service.seconds
    reached: asyncio.Queue[tuple[int, int] | None] = asyncio.Queue()

    def report(done: int, total: int) -> None:
        loop.call_soon_threadsafe(reached.put_nowait, (done, total))

    running = asyncio.ensure_future(access.start(lambda: work(report)))
    running.add_done_callback(lambda _: reached.put_nowait(None))
    try:
        while True:
            numbers = await asyncio.wait_for(reached.get(), max(end - loop.time(), 0))
            if numbers is None:
                break
            yield _event("progress", {"done": numbers[0], "total": numbers[1]})
        yield _event(result, public_form(access.shown(running.result())))
    except Exception as error:  # noqa: BLE001 - the response has begun
        yield _event("error", _problem(error, access).body())
    finally:
        running.cancel()


def _problem(error: Exception, access: Access) -> Problem:
    """Return the problem of an error in a response that has begun."""
    if isinstance(error, TimeoutError):
        return access.timeout()
    if isinstance(error, SpanwiseError):
        return problem_of(error)
    return error if isinstance(error, Problem) else crash_of(error)


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
