"""Routes of ingest jobs: upload of files, addition of URLs, state and cancellation."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from spanwise.ingest.locations import unsigned
from spanwise.ingest.sources import check_address, is_sitemap, is_url
from spanwise.server.access import Access, access_for
from spanwise.server.jobs import Job, JobState
from spanwise.server.problems import Problem
from spanwise.server.requests import UrlBody
from spanwise.server.uploads import UploadReceiver, upload_id
from spanwise.threads import run_in_thread

if TYPE_CHECKING:
    from spanwise.server.queue import IngestQueue

router = APIRouter(prefix="/v1", tags=["jobs"])

Reader = Annotated[Access, access_for("read")]
Writer = Annotated[Access, access_for("write")]
_KB = "/knowledge-bases/{kb}"
_PIECE_BYTES = 1 << 20
_STALL_SECONDS = 60.0
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "array", "items": {"type": "string", "format": "binary"}}
                    },
                }
            },
            "application/json": {"schema": UrlBody.model_json_schema()},
        },
    }
}


@router.post(f"{_KB}/documents", status_code=202, openapi_extra=_BODY)
async def add_documents(
    kb: str,
    access: Writer,
    request: Request,
    prefix: Annotated[str, Query(max_length=1_000)] = "",
    replace: bool = True,  # noqa: FBT001, FBT002 - a parameter of the address
) -> JSONResponse:
    """Add uploaded files or a URL to the ingest queue; the response describes the job.

    The id of a file is its name, after the prefix if there is one.
    """
    queue = access.queue(kb)
    await access.run(queue.check_room)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        job = await _add_files(access, queue, request, prefix=prefix, replace=replace)
    elif kind == "application/json":
        job = await _add_url(access, queue, await request.body())
    else:
        raise Problem(
            415,
            "unsupported_media_type",
            "send files as multipart/form-data, or a URL as application/json",
        )
    place = str(request.url.path).removesuffix("/documents") + f"/jobs/{job.id}"
    return JSONResponse(job.to_dict(), 202, headers={"Location": place})


@router.get(f"{_KB}/jobs")
async def list_jobs(
    kb: str,
    access: Reader,
    state: JobState | None = None,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> JSONResponse:
    """List ingest jobs, newest first; the last 1,000 finished ones are kept."""
    queue = access.queue(kb)
    jobs, total = await access.run(
        partial(queue.jobs.find, state=state, offset=offset, limit=limit)
    )
    rows = [job.to_dict() for job in jobs]
    return JSONResponse({"jobs": rows, "total": total, "offset": offset})


@router.get(f"{_KB}/jobs/{{job_id}}")
async def describe_job(kb: str, job_id: str, access: Reader) -> JSONResponse:
    """Return the state, progress and report of an ingest job."""
    job = await access.run(partial(_found, access.queue(kb), job_id))
    return JSONResponse(job.to_dict())


@router.delete(f"{_KB}/jobs/{{job_id}}")
async def cancel_job(kb: str, job_id: str, access: Writer) -> JSONResponse:
    """Cancel an ingest job. Documents that are already added stay; a finished job is unchanged."""
    queue = access.queue(kb)

    def cancel() -> Job:
        _found(queue, job_id)
        queue.cancel(job_id)
        return _found(queue, job_id)

    return JSONResponse((await access.run(cancel)).to_dict())


def _found(queue: IngestQueue, job_id: str) -> Job:
    job = queue.jobs.get(job_id)
    if job is None:
        raise Problem(404, "job_not_found", f"there is no job {job_id[:80]!r}")
    return job


async def _add_url(access: Access, queue: IngestQueue, content: bytes) -> Job:
    try:
        body = UrlBody.model_validate_json(content)
    except ValidationError as error:
        faults: list[Any] = [
            {**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_url=False)
        ]
        raise RequestValidationError(faults) from error
    address = body.url.strip()
    if not is_url(address):
        raise Problem(422, "invalid_url", "url must begin with http:// or https://")
    if is_sitemap(address):
        raise Problem(422, "invalid_url", "sitemaps are added on the command line (spanwise add)")
    check_address(address)
    job_id, _ = queue.new_upload()
    submit = partial(queue.submit, job_id, [unsigned(address)], url=address, replace=body.replace)
    await access.run(submit)
    return await access.run(partial(_found, queue, job_id))


async def _add_files(
    access: Access, queue: IngestQueue, request: Request, *, prefix: str, replace: bool
) -> Job:
    """Write the files of a request to disk, and add their job."""
    if prefix:
        upload_id("name", prefix=prefix)
    job_id, folder = queue.new_upload()
    receiver = await run_in_thread(
        partial(UploadReceiver, folder, request.headers["content-type"], prefix=prefix)
    )
    try:
        await _receive(request, receiver)
        await run_in_thread(receiver.finish)
    except BaseException:
        await run_in_thread(receiver.discard)
        raise
    try:
        await run_in_thread(partial(queue.submit, job_id, receiver.names, replace=replace))
    except Exception:  # after a cancellation, the job may exist
        await run_in_thread(receiver.discard)
        raise
    return await access.run(partial(_found, queue, job_id))


async def _receive(request: Request, receiver: UploadReceiver) -> None:
    """Pass the body of a request to a receiver, in large pieces.

    Raises:
        Problem: If the client leaves, or sends nothing for a minute.
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
