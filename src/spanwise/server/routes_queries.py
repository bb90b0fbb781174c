"""Routes of search queries and filters."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from spanwise.server.access import Access, access_for
from spanwise.server.openapi import object_of, result_of
from spanwise.server.requests import QueriesBody
from spanwise.server.results import json_response
from spanwise.server.routes import language_model
from spanwise.types import WrittenQueries

router = APIRouter(prefix="/v1", tags=["questions"])

Reader = Annotated[Access, access_for("read")]
_KB = "/knowledge-bases/{kb}"


@router.post(f"{_KB}/queries", responses=result_of(WrittenQueries))
async def write_queries(kb: str, body: QueriesBody, access: Reader) -> JSONResponse:
    """Write search queries and a metadata filter for a question, without a search."""
    base, llm = access.base(kb), language_model(access)
    arguments = {**body.arguments(), "where": access.where(body.where)}

    def write() -> WrittenQueries:
        access.check_question([kb], body.where, body.documents)
        return base.write_queries(body.question, llm=llm, **arguments)

    return json_response(access.shown(await access.run(write)))


@router.get(f"{_KB}/filter-warning", responses=object_of(warning=str))
async def filter_warning(kb: str, access: Reader, where: str = "") -> JSONResponse:
    """Return a message with similar values if no document passes a filter, else an empty text."""
    base = access.base(kb)

    def warn() -> str:
        if not access.is_restricted:
            return base.filter_warning(where or None)
        passes = access.records(base, where or None)
        return "" if passes or not where else "no document passes the filter"

    return json_response({"warning": await access.run(warn)})
