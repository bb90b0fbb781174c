"""Routes of the evaluation reports in the archive of a knowledge base."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from spanwise.knowledge_base.report_archive import ArchivedReport, ReportArchive
from spanwise.server.access import Access, access_for
from spanwise.server.openapi import object_of
from spanwise.server.problems import Problem
from spanwise.server.results import json_response

router = APIRouter(prefix="/v1", tags=["evaluations"])

Reader = Annotated[Access, access_for("read")]
_REPORTS = "/knowledge-bases/{kb}/evaluations"


@router.get(_REPORTS, responses=object_of(evaluations=list[ArchivedReport], total=int, offset=int))
async def list_evaluations(
    kb: str,
    access: Reader,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> JSONResponse:
    """List the evaluation reports in the archive of a knowledge base, newest first."""
    archive = _archive(access, kb)
    if archive is None:
        return json_response({"evaluations": [], "total": 0, "offset": offset})
    found, total = await access.run(partial(archive.list, offset=offset, limit=limit))
    return json_response({"evaluations": found, "total": total, "offset": offset})


@router.get(
    f"{_REPORTS}/{{name}}",
    responses=object_of(
        name=str, created_at=str, datasets=list[str], retrievers=list[str], budgets=list[int]
    ),
)
async def describe_evaluation(kb: str, name: str, access: Reader) -> JSONResponse:
    """Return an evaluation report: figures with intervals, comparisons and values by question."""
    archive = _archive(access, kb)
    report: dict[str, Any] | None = None
    if archive is not None:
        report = await access.run(partial(archive.read, name))
    if report is None:
        raise Problem(404, "evaluation_not_found", f"there is no evaluation {name[:80]!r}")
    return json_response(report)


def _archive(access: Access, kb: str) -> ReportArchive | None:
    """Return the archive of a knowledge base; None if it has none.

    Raises:
        Problem: If there is no such knowledge base, or the key has a filter: reports name all
            documents.
    """
    base = access.base(kb)
    access.require_unrestricted("a key with a filter has no access to evaluations")
    return ReportArchive.of(base)
