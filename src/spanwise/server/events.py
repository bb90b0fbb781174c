"""Server-sent events: an answer while it is written, and the progress of long work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeAlias

from fastapi import Request
from fastapi.responses import StreamingResponse

from spanwise.errors import SpanwiseError
from spanwise.server.problems import Problem, crash_of, problem_of
from spanwise.server.results import public_form
from spanwise.threads import check_cancelled

if TYPE_CHECKING:
    from spanwise.answers.stream import AnswerStream
    from spanwise.server.access import Access
    from spanwise.types import Answer

_Report: TypeAlias = "Callable[[Mapping[str, object]], None]"
"""Function that sends the data of an event."""
_MEDIA_TYPE = "text/event-stream"


def accepts_events(request: Request) -> bool:
    """Return whether a request accepts server-sent events."""
    return _MEDIA_TYPE in request.headers.get("accept", "")


def event_response(events: AsyncIterator[str]) -> StreamingResponse:
    """Return the response that sends events, with headers against buffering by proxies."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type=_MEDIA_TYPE, headers=headers)


def answer_events(stream: AnswerStream, access: Access) -> AsyncIterator[str]:
    """Yield the pieces of an answer, then the answer or its error, as events.

    The whole answer holds one place. It is stopped when the client disconnects, or at the time
    limit of a request. For a key with a filter, the last piece is as the key may see it: it may be
    a refusal, whose text has the filter of the key.
    """

    def read(report: _Report) -> Answer:
        held = ""
        with closing(stream):
            for text in stream:
                check_cancelled()
                shown = text
                if access.is_restricted:
                    held, shown = text, held
                if shown:
                    report({"text": shown})
            answer = stream.answer
        if held:
            report({"text": access.shown(answer).text if answer.refused else held})
        return answer

    return _work_events(access, read, part="text", result="answer")


def progress_events(
    access: Access, work: Callable[[Callable[[int, int], None]], Any], *, result: str
) -> AsyncIterator[str]:
    """Yield the progress of blocking work, then its result or its error, as events.

    The work is cancelled when the client disconnects, or at the time limit of a request.

    Args:
        access: Rights of the request.
        work: Function that is called with a function for the numbers of finished and of all parts.
        result: Name of the event with the result.
    """

    def run(report: _Report) -> Any:
        return work(lambda done, total: report({"done": done, "total": total}))

    return _work_events(access, run, part="progress", result=result)


async def _work_events(
    access: Access, work: Callable[[_Report], Any], *, part: str, result: str
) -> AsyncIterator[str]:
    """Yield what blocking work reports from its thread, then its result or its error, as events.

    Args:
        access: Rights of the request.
        work: Function that is called with a function for the data of an event.
        part: Name of the events that the work reports.
        result: Name of the event with the result.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + access.service.seconds
    reported: asyncio.Queue[Mapping[str, object] | None] = asyncio.Queue()

    def report(data: Mapping[str, object]) -> None:
        loop.call_soon_threadsafe(reported.put_nowait, data)

    running = asyncio.ensure_future(access.start(lambda: work(report)))
    running.add_done_callback(lambda _: reported.put_nowait(None))
    try:
        while True:
            data = await asyncio.wait_for(reported.get(), max(end - loop.time(), 0))
            if data is None:
                break
            yield _event(part, data)
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
