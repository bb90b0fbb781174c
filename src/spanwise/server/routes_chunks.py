"""Route to add documents that another program has divided into chunks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from spanwise.server.access import Access, access_for
from spanwise.server.openapi import result_of
from spanwise.server.requests import ChunksBody
from spanwise.server.results import json_response
from spanwise.types import IngestReport

router = APIRouter(prefix="/v1", tags=["documents"])

Writer = Annotated[Access, access_for("write")]
_KB = "/knowledge-bases/{kb}"


@router.put(f"{_KB}/chunks", responses=result_of(IngestReport))
async def add_chunks(kb: str, body: ChunksBody, access: Writer) -> JSONResponse:
    """Add a document that is already divided into chunks, which are stored unchanged."""
    base = access.base(kb)
    access.require_unrestricted()
    return json_response(await access.run(lambda: base.add_chunks(**body.arguments())))
