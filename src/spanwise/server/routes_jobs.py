"""Routes of ingest jobs: upload of files, addition of URLs, state, cancellation and resumption."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect

from spanwise.ingest.locations import unsigned
from spanwise.ingest.sources import check_address, is_url
from spanwise.server.access import Access, access_for
from spanwise.server.job_options import job_options
from spanwise.server.jobs import Job, JobState, NewJob
from spanwise.server.openapi import object_of, result_of
from spanwise.server.problems import Problem
from spanwise.server.requests import JobBody, UrlBody
from spanwise.server.uploads import UploadReceiver
from spanwise.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.server.queue import IngestQueue
    from spanwise.server.uploads import UploadTarget

_Body = TypeVar("_Body", bound=JobBody)

router = APIRouter(prefix="/v1", tags=["jobs"])

Reader = Annotated[Access, access_for("read")]
Writer = Annotated[Access, access_for("write")]
_KB = "/knowledge-bases/{kb}"
_PIECE_BYTES = 1 << 20
_STALL_SECONDS = 60.0
_JOB = result_of(Job)
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "options": JobBody.model_json_schema(),
                    },
                }
            },
            "application/json": {"schema": UrlBody.model_json_schema()},
        },
    }
}


@router.post(f"{_KB}/documents", status_code=202, responses={202: _JOB[200]}, openapi_extra=_BODY)
async def add_documents(
    kb: str,
    access: Writer,
    request: Request,
    prefix: Annotated[str, Query(max_length=1_000)] = "",
    document_id: Annotated[str, Query(max_length=1_000)] = "",
    replace: bool = True,  # noqa: FBT001, FBT002 - a parameter of the address
) -> JSONResponse:
    """Add uploaded files, a URL, a sitemap or a crawl to the ingest queue.

    The response describes the job. Files are sent as a form, a URL as a JSON object. A form may
    also have a part `options` without file name: a JSON object with the arguments below, except
    `url`, `replace` and `crawl`. The id of a file is its name, which may be a relative path, after
    the prefix. `document_id` replaces the name of a single file.
    """
    queue = access.queue(kb)
    await access.start(queue.check_room)  # `run` asks for a disconnect, which takes parts of a body
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        receiving = partial(
            UploadReceiver,
            content_type=request.headers["content-type"],
            prefix=prefix,
            document_id=document_id,
        )
        with queue.receiving():
            job = await _add_files(access, queue, request, receiving, replace=replace)
    elif kind == "application/json":
        job = await _add_url(access, queue, await request.body())
    else:
        raise Problem(
            415,
            "unsupported_media_type",
            "send files as multipart/form-data, or a URL as application/json",
        )
    place = quote(request.url.path.removesuffix("/documents")) + f"/jobs/{job.id}"
    return JSONResponse(job.to_dict(), 202, headers={"Location": place})


@router.get(f"{_KB}/jobs", responses=object_of(jobs=tuple[Job, ...], total=int, offset=int))
async def list_jobs(
    kb: str,
    access: Reader,
    state: JobState | None = None,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> JSONResponse:
    """List ingest jobs, newest first.

    Finished jobs are kept for seven days by default, and at most 1,000 of them.
    """
    queue = access.queue(kb)
    jobs, total = await access.run(
        partial(queue.jobs.find, state=state, offset=offset, limit=limit)
    )
    rows = [job.to_dict() for job in jobs]
    return JSONResponse({"jobs": rows, "total": total, "offset": offset})


@router.get(f"{_KB}/jobs/{{job_id}}", responses=_JOB)
async def describe_job(kb: str, job_id: str, access: Reader) -> JSONResponse:
    """Return the state, progress and report of an ingest job."""
    job = await access.run(partial(_found, access.queue(kb), job_id))
    return JSONResponse(job.to_dict())


@router.delete(f"{_KB}/jobs/{{job_id}}", responses=_JOB)
async def cancel_job(
    kb: str,
    job_id: str,
    access: Writer,
    discard: bool = False,  # noqa: FBT001, FBT002 - a parameter of the address
) -> JSONResponse:
    """Cancel an ingest job. Documents that it has already added stay.

    A cancelled job can be resumed. With `discard`, its files are removed instead, also if it has
    already failed or was cancelled. A job that is done does not change.
    """
    queue = access.queue(kb)

    def cancel() -> Job:
        _found(queue, job_id)
        queue.cancel(job_id, discard=discard)
        return _found(queue, job_id)

    return JSONResponse((await access.run(cancel)).to_dict())


@router.post(f"{_KB}/jobs/{{job_id}}/resume", status_code=202, responses={202: _JOB[200]})
async def resume_job(kb: str, job_id: str, access: Writer) -> JSONResponse:
    """Add a failed or cancelled job to the end of the queue again.

    Documents that it has already added are recognised as unchanged.
    """
    queue = access.queue(kb)

    def resume() -> Job:
        _found(queue, job_id)
        queue.resume(job_id)
        return _found(queue, job_id)

    return JSONResponse((await access.run(resume)).to_dict(), 202)


def _found(queue: IngestQueue, job_id: str) -> Job:
    job = queue.jobs.get(job_id)
    if job is None:
        raise Problem(404, "job_not_found", f"there is no job {job_id[:80]!r}")
    return job


async def _add_url(access: Access, queue: IngestQueue, content: bytes) -> Job:
    body = _read(UrlBody, content, place="body")
    address = body.url.strip()
    if not is_url(address):
        raise Problem(422, "invalid_url", "url must begin with http:// or https://")
    check_address(address)
    options = job_options(body, llm=queue.llm)
    job_id, _ = queue.new_upload()
    job = NewJob(
        id=job_id, names=[unsigned(address)], url=address, replace=body.replace, options=options
    )
    await access.run(partial(queue.submit, job))
    return await access.run(partial(_found, queue, job_id))


def _read(kind: type[_Body], content: bytes, *, place: str) -> _Body:
    """Return the arguments of a request.

    Raises:
        RequestValidationError: If they are not valid.
    """
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        faults: list[Any] = [
            {**fault, "loc": (place, *fault["loc"])} for fault in error.errors(include_url=False)
        ]
        is_json = faults[0]["type"] != "json_invalid"
        given = from_json(content) if is_json else None
        raise RequestValidationError(faults, body=given) from error


async def _add_files(
    access: Access,
    queue: IngestQueue,
    request: Request,
    receiving: Callable[[UploadTarget], UploadReceiver],
    *,
    replace: bool,
) -> Job:
    """Store the files of a request, and add their job."""
    job_id, target = queue.new_upload()
    receiver = await run_in_thread(partial(receiving, target))
    try:
        await _receive(request, receiver)
        await run_in_thread(receiver.finish)
        body = _read(JobBody, receiver.options or b"{}", place="options")
        options = job_options(body, llm=queue.llm)
    except BaseException:
        await run_in_thread(receiver.discard)
        raise
    job = NewJob(id=job_id, names=receiver.names, replace=replace, options=options)
    try:
        await run_in_thread(partial(queue.submit, job))
    except Exception:  # after a cancellation, the job may exist
        await run_in_thread(receiver.discard)
        raise
    return await access.run(partial(_found, queue, job_id))


async def _receive(request: Request, receiver: UploadReceiver) -> None:
    """Pass the body of a request to a receiver, in large pieces.

    Raises:
        Problem: If the client disconnects, or sends nothing for a minute.
    """
    waiting = bytearray()
    pieces = aiter(request.stream())
    try:
        while True:
            piece = await asyncio.wait_for(anext(pieces, None), _STALL_SECONDS)
            if piece is None:
                break
            waiting += piece
            if len(waiting) >= _PIECE_BYTES:
                await run_in_thread(partial(receiver.write, bytes(waiting)))
                waiting.clear()
    except TimeoutError as error:
        raise Problem(408, "upload_stalled", "no data arrived for a minute; send again") from error
    except ClientDisconnect as error:
        raise Problem(499, "client_closed", "the client has left") from error
    await run_in_thread(partial(receiver.write, bytes(waiting)))
