"""Routes of questions and stored documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Never, TypeVar

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from spanwise.answers.citation_lookup import citation_of
from spanwise.errors import DocumentError, DocumentNotFoundError, OptionError, unknown_document
from spanwise.ingest.page_images import check_figure, check_page
from spanwise.ingest.sources import is_url
from spanwise.search.explanation import Explanation
from spanwise.server.access import Access, access_for
from spanwise.server.document_list import DocumentsQuery
from spanwise.server.events import (
    accepts_events,
    answer_events,
    event_response,
    progress_events,
)
from spanwise.server.keys import ROLES
from spanwise.server.openapi import media_of, object_of, result_of
from spanwise.server.problems import Problem
from spanwise.server.requests import (
    AskBody,
    AskEachBody,
    ExcerptsBody,
    ExplainBody,
    LocateBody,
    MetadataBody,
    MetadataChangesBody,
    PageQuery,
    QuestionBody,
    SearchBody,
    SeveralBody,
    TextBody,
)
from spanwise.server.results import json_response as _json
from spanwise.server.results import public_form
from spanwise.types import (
    Answer,
    Chunk,
    Citation,
    CitationLocation,
    Document,
    DocumentAnswers,
    DocumentRecord,
    ExcerptResult,
    IngestReport,
    KnowledgeBaseInfo,
    MetadataReport,
    SearchResult,
    Section,
)

if TYPE_CHECKING:
    from spanwise.filters import Filter
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel

_Result = TypeVar("_Result")

router = APIRouter(prefix="/v1")

Reader = Annotated[Access, access_for("read")]
Writer = Annotated[Access, access_for("write")]
_KB = "/knowledge-bases/{kb}"
_MAX_CHARS = 1_000_000


def question_arguments(access: Access, body: QuestionBody) -> dict[str, Any]:
    """Return the keyword arguments of the method that answers a question."""
    arguments = {**body.arguments(), "where": access.where(body.where)}
    if hasattr(body, "rerank"):
        if body.rerank and access.service.reranker is None:
            raise OptionError(
                "rerank is true, and the server has no reranker; start it with --rerank"
            )
        arguments["rerank"] = access.service.reranker if body.rerank else None
    return arguments


async def found_for(
    access: Access, body: QuestionBody, names: Sequence[str], search: Callable[..., _Result]
) -> _Result:
    """Return the result of a search, after a check of its filter and documents.

    Args:
        access: Rights of the request.
        body: Arguments of the search.
        names: Names of the knowledge bases as the request gives them.
        search: Method that searches.
    """
    keywords = question_arguments(access, body)

    def find() -> _Result:
        access.check_question(names, body.where, body.documents)
        if body.written_filter:
            access.check_question(names, body.written_filter, body.documents)
        return search(body.question, **keywords)

    return await access.run(find)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Knowledge base in a list."""

    name: str
    documents: int
    """Number of documents that the key may read."""
    chunks: int
    """Number of their chunks."""


@router.get(
    "/knowledge-bases",
    tags=["knowledge bases"],
    responses=object_of(
        knowledge_bases=list[Listed], answers=bool, role=Literal[ROLES], restricted=bool
    ),
)
async def list_knowledge_bases(access: Reader) -> JSONResponse:
    """List the knowledge bases, with the rights of the key.

    `answers` is whether the server has a language model. `role` is the role of the key.
    `restricted` is whether the key has a filter; such a key can only read.
    """

    def rows() -> list[Listed]:
        listed = []
        for name in access.names():
            records = access.records(access.base(name))
            chunks = sum(record.chunks for record in records)
            listed.append(Listed(name=name, documents=len(records), chunks=chunks))
        return listed

    found = await access.run(rows)
    rights = {"role": access.role, "restricted": access.is_restricted}
    answers = access.service.llm is not None
    return _json({"knowledge_bases": found, "answers": answers, **rights})


@router.get(_KB, tags=["knowledge bases"], responses=result_of(KnowledgeBaseInfo))
async def describe(kb: str, access: Reader) -> JSONResponse:
    """Return size, settings and metadata fields of a knowledge base. `path` is its name."""
    access.require_unrestricted("a key with a filter gets no sizes of a knowledge base")
    base = access.base(kb)
    info = await access.run(base.info)
    return _json(replace(info, path=kb))


@router.post("/search", tags=["questions"], responses=result_of(SearchResult))
async def search_several(body: SeveralBody, access: Reader) -> JSONResponse:
    """Search several knowledge bases as one."""
    search = access.several(body.knowledge_bases).search
    return _json(access.shown(await found_for(access, body, body.knowledge_bases, search)))


@router.post(f"{_KB}/search", tags=["questions"], responses=result_of(SearchResult))
async def search(kb: str, body: SearchBody, access: Reader) -> JSONResponse:
    """Find the contiguous segments that answer a question, within a token budget."""
    return _json(access.shown(await found_for(access, body, [kb], access.base(kb).search)))


@router.post(f"{_KB}/excerpts", tags=["questions"], responses=result_of(ExcerptResult))
async def excerpts(kb: str, body: ExcerptsBody, access: Reader) -> JSONResponse:
    """Find excerpts of a fixed size around the evidence for a question."""
    return _json(access.shown(await found_for(access, body, [kb], access.base(kb).excerpts)))


@router.post(f"{_KB}/explain", tags=["questions"], responses=result_of(Explanation))
async def explain(kb: str, body: ExplainBody, access: Reader) -> JSONResponse:
    """Search, and also return the scores, values and decisions for each chunk."""
    found = await found_for(access, body, [kb], access.base(kb).explain)
    shown = replace(
        found,
        result=access.shown(found.result),
        candidates=found.candidates[: body.candidates],
    )
    return _json(shown)


@router.get(
    f"{_KB}/explanation",
    tags=["questions"],
    responses=media_of("text/html"),
    response_class=Response,
)
async def explanation_page(
    kb: str,
    question: str,
    access: Reader,
    where: str = "",
    budget_tokens: Annotated[int, Query(ge=1)] = 4_000,
) -> Response:
    """Return the explanation of a search as an HTML page with charts and sliders."""
    access.require_unrestricted(
        "the key has a filter, so it cannot use this page; use POST .../explain"
    )
    base = access.base(kb)
    found = await access.run(
        lambda: base.explain(
            question, where=access.where(where or None), budget_tokens=budget_tokens
        ).to_html()
    )
    return explanation_response(found)


def explanation_response(page: str) -> Response:
    """Return the response with the page of an explanation, with headers that restrict it."""
    policy = (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "frame-ancestors 'none'; sandbox allow-scripts"
    )
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": policy})


@router.post(
    f"{_KB}/ask", tags=["questions"], responses=result_of(Answer, stream="text/event-stream")
)
async def ask(kb: str, body: AskBody, access: Reader, request: Request) -> Response:
    """Answer a question with checked quotes.

    With `Accept: text/event-stream`, the response is a stream of server-sent events: `text` with a
    piece of the answer, and at the end `answer` with the complete answer, or `error` with problem
    details.
    """
    return await answer_of(access.base(kb), [kb], body, access=access, request=request)


async def answer_of(
    base: KnowledgeBase, names: Sequence[str], body: AskBody, *, access: Access, request: Request
) -> Response:
    """Return the answer of one or several knowledge bases; the arguments as `answers_of_each`."""
    if body.thread is not None:
        access.require_conversations()
    keywords = {**question_arguments(access, body), "llm": language_model(access)}
    await access.run(
        lambda: access.check_question(names, body.where, body.documents, needs_documents=True)
    )
    if not accepts_events(request):
        answer = await access.run(partial(base.ask, body.question, **keywords))
        return _json(access.shown(answer))
    stream = await access.run(partial(base.ask_stream, body.question, **keywords))
    return event_response(answer_events(stream, access))


@router.post(
    f"{_KB}/ask-each",
    tags=["questions"],
    responses=result_of(DocumentAnswers, stream="text/event-stream"),
)
async def ask_each(kb: str, body: AskEachBody, access: Reader, request: Request) -> Response:
    """Put a question to each document separately.

    With `Accept: text/event-stream`, the response is a stream of server-sent events: `progress`
    with the numbers of finished and of all documents, and at the end `answers` with the complete
    list, or `error` with problem details.
    """
    return await answers_of_each(access.base(kb), [kb], body, access=access, request=request)


async def answers_of_each(
    base: KnowledgeBase,
    names: Sequence[str],
    body: AskEachBody,
    *,
    access: Access,
    request: Request,
) -> Response:
    """Return the answers of all documents of one or several knowledge bases.

    Args:
        base: Knowledge base, or several as one.
        names: Their names as the request gives them.
        body: Arguments of the question.
        access: Rights of the request.
        request: Request, which may accept events.
    """
    keywords = {**question_arguments(access, body), "llm": language_model(access)}

    await access.run(
        lambda: access.check_question(names, body.where, body.documents, needs_documents=True)
    )

    def read(on_progress: Callable[[int, int], None] | None = None) -> DocumentAnswers:
        return base.ask_each(body.question, on_progress=on_progress, **keywords)

    if accepts_events(request):
        return event_response(progress_events(access, read, result="answers"))
    return _json(access.shown(await access.run(read)))


def language_model(access: Access) -> str | LanguageModel:
    """Return the language model of the server.

    Raises:
        Problem: If it has none.
    """
    if access.service.llm is None:
        raise Problem(
            422, "no_language_model", "the server has no language model; start it with --llm"
        )
    return access.service.llm


@router.get(
    f"{_KB}/documents",
    tags=["documents"],
    responses=object_of(documents=list[DocumentRecord], total=int, offset=int),
)
async def list_documents(
    kb: str, access: Reader, query: Annotated[DocumentsQuery, Query()]
) -> JSONResponse:
    """List documents, ordered by id by default."""
    base = access.base(kb)
    found = await access.run(lambda: query.selected(access.records(base, query.where or None)))
    rows = found[query.offset : query.offset + query.limit]
    return _json({"documents": rows, "total": len(found), "offset": query.offset})


@router.get(
    f"{_KB}/sections/{{document_id:path}}",
    tags=["documents"],
    responses=object_of(sections=list[Section]),
)
async def sections(kb: str, document_id: str, access: Reader) -> JSONResponse:
    """Return the sections of a document, with paths and ranges of characters."""
    base = access.base(kb)

    def read() -> object:
        access.record(base, document_id)
        return base.sections(document_id)

    return _json({"sections": await access.run(read)})


@router.get(
    f"{_KB}/chunks/{{document_id:path}}",
    tags=["documents"],
    responses=object_of(chunks=list[Chunk | tuple[int, int]]),
)
async def chunks(
    kb: str,
    document_id: str,
    access: Reader,
    full: bool = False,  # noqa: FBT001, FBT002 - a parameter of the query
) -> JSONResponse:
    """Return the character ranges of the chunks of a document; with `full`, the chunks."""
    base = access.base(kb)

    def read() -> object:
        access.record(base, document_id)
        if full:
            return base.chunks(document_id)
        return [[chunk.start, chunk.end] for chunk in base.chunks(document_id)]

    return _json({"chunks": await access.run(read)})


@router.get(
    f"{_KB}/content/{{document_id:path}}", tags=["documents"], responses=result_of(Document)
)
async def content(kb: str, document_id: str, access: Reader) -> JSONResponse:
    """Return a complete document: text, pages, headings, tables, figures and metadata."""
    base = access.base(kb)

    def read() -> object:
        access.record(base, document_id)
        return public_form(base.get(document_id))

    return JSONResponse(await access.run(read))


@router.get(
    f"{_KB}/text/{{document_id:path}}",
    tags=["documents"],
    responses=object_of(text=str, start=int, end=int, chars=int, pages=list[tuple[int, int]]),
)
async def text(
    kb: str,
    document_id: str,
    access: Reader,
    start: Annotated[int, Query(ge=0)] = 0,
    end: Annotated[int | None, Query(ge=0)] = None,
) -> JSONResponse:
    """Return a range of the text of a document, at most 1,000,000 characters."""
    base = access.base(kb)

    def read() -> dict[str, Any]:
        access.record(base, document_id)
        document = base.get(document_id)
        last = min(len(document.text) if end is None else end, start + _MAX_CHARS)
        part = document.text[start:last]
        pages = [[page.start, page.end] for page in document.pages]
        return {
            "text": part,
            "start": start,
            "end": start + len(part),
            "chars": len(document.text),
            "pages": pages,
        }

    return _json(await access.run(read))


@router.get(
    f"{_KB}/pages/{{page}}/{{document_id:path}}",
    tags=["documents"],
    responses=media_of("image/png"),
    response_class=Response,
)
async def page_image(
    kb: str,
    document_id: str,
    page: int,
    access: Reader,
    query: Annotated[PageQuery, Query()],
) -> Response:
    """Return a page of a PDF as a PNG image, with a range of characters or words highlighted."""
    base = access.base(kb)
    place, dots_per_inch = query.place, query.dots_per_inch

    def draw() -> bytes:
        return base.page_image(document_id, page, dots_per_inch=dots_per_inch, highlight=place)

    def check(record: DocumentRecord) -> None:
        try:
            check_page(record, page)
        except OptionError as error:
            raise Problem(404, "page_not_found", str(error)) from error

    image = await access.run(partial(_drawn, access, base, document_id, draw, check))
    return Response(image, media_type="image/png")


@router.get(
    f"{_KB}/figures/{{number}}/{{document_id:path}}",
    tags=["documents"],
    responses=media_of("image/*"),
    response_class=Response,
)
async def figure_image(kb: str, document_id: str, number: int, access: Reader) -> Response:
    """Return a figure of a document as an image file."""
    base = access.base(kb)
    draw = partial(base.figure_image, document_id, number)

    def check(record: DocumentRecord) -> None:
        try:
            check_figure(record, base.figures(document_id), number)
        except OptionError as error:
            raise Problem(404, "figure_not_found", str(error)) from error

    image = await access.run(partial(_drawn, access, base, document_id, draw, check))
    kinds = {b"\x89P": "image/png", b"\xff\xd8": "image/jpeg", b"GI": "image/gif"}
    return Response(image, media_type=kinds.get(image[:2], "image/webp"))


def _drawn(
    access: Access,
    base: KnowledgeBase,
    document_id: str,
    draw: Callable[[], bytes],
    check: Callable[[DocumentRecord], None],
) -> bytes:
    """Return an image from the original file of a document.

    Args:
        access: Rights of the request.
        base: Knowledge base.
        document_id: Id of the document.
        draw: Function that returns the image.
        check: Function that refuses a document without the page or figure.

    Raises:
        Problem: If the document has no such page or figure.
        DocumentNotFoundError: If the document may not be read.
        DocumentError: If the file cannot be read; the message does not name its path.
    """
    record = access.record(base, document_id)
    check(record)
    try:
        return draw()
    except DocumentError as error:
        if is_url(record.source):
            raise
        message = str(error).replace(record.source or os.devnull, document_id)
        raise type(error)(message, source=document_id, code=error.code) from error


@router.get(
    f"{_KB}/citations/{{document_id:path}}", tags=["documents"], responses=result_of(Citation)
)
async def cite(kb: str, document_id: str, start: int, end: int, access: Reader) -> JSONResponse:
    """Return the citation of a range of a document."""
    base = access.base(kb)

    def read() -> object:
        access.record(base, document_id)
        return base.cite(document_id, start, end)

    return _json(await access.run(read))


@router.post(f"{_KB}/locate", tags=["documents"], responses=result_of(CitationLocation))
async def locate(kb: str, body: LocateBody, access: Reader) -> JSONResponse:
    """Return the current place of a cited text, whose document may have changed."""
    base = access.base(kb)

    def read() -> object:
        if access.is_restricted:
            access.record(base, citation_of(body.citation).document_id)
        return base.locate(body.citation)

    return _json(await access.run(read))


@router.get(
    f"{_KB}/documents/{{document_id:path}}", tags=["documents"], responses=result_of(DocumentRecord)
)
async def document(kb: str, document_id: str, access: Reader) -> JSONResponse:
    """Return the description of a document."""
    base = access.base(kb)
    return _json(await access.run(lambda: access.record(base, document_id)))


@router.patch(
    f"{_KB}/documents/{{document_id:path}}", tags=["documents"], responses=result_of(MetadataReport)
)
async def set_metadata(
    kb: str, document_id: str, body: MetadataBody, access: Writer
) -> JSONResponse:
    """Change metadata and title of a document."""
    base = access.base(kb)

    def change() -> object:
        access.record(base, document_id)
        return base.update_metadata([document_id], body.fields, title=body.title)

    return _json(await _written(access, change))


@router.delete(
    f"{_KB}/documents/{{document_id:path}}",
    tags=["documents"],
    responses=object_of(removed=list[str]),
)
async def remove(kb: str, document_id: str, access: Writer) -> JSONResponse:
    """Remove a document, or all members of an archive, mailbox or e-mail."""
    base = access.base(kb)

    def change() -> object:
        records = _with_members(base, document_id)
        removed = base.remove(document_id)
        for record in records:
            access.forget_upload(kb, record)
        return removed or _raise_missing(document_id)

    return _json({"removed": await _written(access, change)})


@router.post(f"{_KB}/metadata", tags=["documents"], responses=result_of(MetadataReport))
async def set_metadata_of_several(
    kb: str, body: MetadataChangesBody, access: Writer
) -> JSONResponse:
    """Change metadata of the documents with some ids, or of all that pass a filter."""
    base, where = access.base(kb), access.where(body.where)
    if (body.documents is None) == (body.where is None):
        raise OptionError("give documents or where: the ids of documents, or a filter")

    def change() -> object:
        selected: list[str] | Filter | dict[str, object] = body.documents or []
        if body.documents is None:
            selected = {} if where is None else where  # an empty filter selects all documents
        return base.update_metadata(selected, body.fields, title=body.title, dry_run=body.dry_run)

    return _json(await _written(access, change))


@router.put(f"{_KB}/texts", tags=["documents"], responses=result_of(IngestReport))
async def add_text(kb: str, body: TextBody, access: Writer) -> JSONResponse:
    """Add a text as a document, or replace the text with the same id."""
    base = access.base(kb)

    def change() -> object:
        return base.add_text(
            body.text,
            document_id=body.document_id,
            title=body.title,
            media_type=body.media_type,
            metadata=body.metadata,
            given=body.parts(),
            replace=body.replace,
        )

    return _json(await _written(access, change))


async def _written(access: Access, change: Callable[[], object]) -> object:
    """Return the result of a change.

    Raises:
        Problem: If the key has a filter, because a changed field could bypass the filter.
    """
    access.require_unrestricted()
    return await access.run(change)


def _with_members(base: KnowledgeBase, document_id: str) -> list[DocumentRecord]:
    """Return the record of a document, or those of the members of an archive or mailbox."""
    try:
        return [base.record(document_id)]
    except DocumentNotFoundError:
        return [record for record in base.list() if record.id.startswith(f"{document_id}!/")]


def _raise_missing(document_id: str) -> Never:
    raise unknown_document(document_id)
