"""Routes of stored conversations.

A conversation shows questions and quotes of everyone who uses the knowledge base, so these routes
need a key with the role `write` and without a filter.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from spanwise.server.access import Access, access_for
from spanwise.server.openapi import object_of, result_of
from spanwise.server.results import json_response
from spanwise.types import Thread, ThreadInfo

router = APIRouter(prefix="/v1", tags=["conversations"])

Writer = Annotated[Access, access_for("write")]
_KB = "/knowledge-bases/{kb}"


@router.get(f"{_KB}/threads", responses=object_of(threads=list[ThreadInfo]))
async def list_threads(kb: str, access: Writer) -> JSONResponse:
    """List the stored conversations, most recent turn first."""
    access.require_conversations()
    return json_response({"threads": await access.run(access.base(kb).threads.list)})


@router.get(f"{_KB}/threads/{{thread_id:path}}", responses=result_of(Thread))
async def get_thread(kb: str, thread_id: str, access: Writer) -> JSONResponse:
    """Return a conversation with its turns."""
    access.require_conversations()
    base = access.base(kb)
    return json_response(await access.run(lambda: base.threads.get(thread_id)))


@router.delete(f"{_KB}/threads/{{thread_id:path}}", responses=object_of(removed=bool))
async def remove_thread(kb: str, thread_id: str, access: Writer) -> JSONResponse:
    """Remove a conversation; `removed` is whether it existed."""
    access.require_conversations()
    base = access.base(kb)
    return json_response({"removed": await access.run(lambda: base.threads.remove(thread_id))})
