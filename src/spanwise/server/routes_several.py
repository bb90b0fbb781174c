"""Routes of questions to several knowledge bases as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fastapi import APIRouter, Request, Response

from spanwise.core.ranking.documents_question import asks_documents
from spanwise.search.explanation.page import explanation_data
from spanwise.server.openapi import object_of, result_of
from spanwise.server.requests import AskEachSeveralBody, AskSeveralBody, SeveralBody
from spanwise.server.results import json_response
from spanwise.server.routes import (
    Reader,
    answer_of,
    answers_of_each,
    explanation_response,
    found_for,
)
from spanwise.types import Answer, DocumentAnswers, SearchResult
from spanwise.types.plain import Plain

router = APIRouter(prefix="/v1")


@router.post(
    "/explanation",
    tags=["questions"],
    responses=object_of(
        "text/html",
        result=SearchResult,
        data=Mapping[str, Plain],
        documents=SearchResult | None,
    ),
)
async def explanation(body: SeveralBody, access: Reader, request: Request) -> Response:
    """Search, and also return the data to select segments with other settings.

    The data are those of the explanation page, with the words to highlight in the results. The
    explanation is of the search for passages. If the question asks for documents, `documents` is
    the result of the search for the best place of each document; otherwise it is null.

    With `Accept: text/html`, the response is the explanation page, which a key with a filter does
    not get.
    """
    bases = access.several(body.knowledge_bases)
    if "text/html" in request.headers.get("accept", ""):
        access.require_unrestricted("the key has a filter, so it cannot use this page")
        explained = await found_for(access, body, body.knowledge_bases, bases.explain)
        return explanation_response(await access.run(explained.to_html))
    documents = None
    if asks_documents(body.question):
        by_document = await found_for(access, body, body.knowledge_bases, bases.search)
        documents = None if by_document.documents is None else access.shown(by_document)
    found = await found_for(access, body, body.knowledge_bases, bases.explain)
    shown = replace(found, result=access.shown(found.result))
    data = await access.run(lambda: explanation_data(shown))
    return json_response({"result": shown.result, "data": data, "documents": documents})


@router.post("/ask", tags=["questions"], responses=result_of(Answer, stream="text/event-stream"))
async def ask_several(body: AskSeveralBody, access: Reader, request: Request) -> Response:
    """Answer a question from several knowledge bases; the events are those of one."""
    names = body.knowledge_bases
    return await answer_of(access.several(names), names, body, access=access, request=request)


@router.post(
    "/ask-each",
    tags=["questions"],
    responses=result_of(DocumentAnswers, stream="text/event-stream"),
)
async def ask_each_several(body: AskEachSeveralBody, access: Reader, request: Request) -> Response:
    """Put a question to each document of several knowledge bases; the events are those of one."""
    names = body.knowledge_bases
    return await answers_of_each(access.several(names), names, body, access=access, request=request)
