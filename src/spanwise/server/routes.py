"""Routes of questions and stored documents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from spanwise.errors import OptionError, SpanwiseError
from spanwise.ingest.sources import is_url
from spanwise.server.access import Access, access_for
from spanwise.server.problems import AnyTextResponse, Problem, crash_of, problem_of
from spanwise.server.requests import (
    AskBody,
    ExcerptsBody,
    ExplainBody,
    MetadataBody,
    QuestionBody,
    SearchBody,
    SeveralBody,
    TextBody,
)
from spanwise.threads import is_cancelled
from spanwise.types.plain import to_plain

if TYPE_CHECKING:
    from spanwise.answers.stream import AnswerStream
    from spanwise.search.explanation.explanation import Explanation
    from spanwise.types import ExcerptResult, SearchResult
    from spanwise.types.plain import Plain

router = APIRouter(prefix="/v1")

Reader = Annotated[Access, access_for("read")]
Writer = Annotated[Access, access_for("write")]
_KB = "/knowledge-bases/{kb}"
_MOST_CHARS = 1_000_000
_CITATION = frozenset({"document_id", "source", "text_hash"})
"""Fields by which the JSON of a citation is recognized."""


def _json(value: object) -> JSONResponse:
    """Return a value as JSON without paths of the server."""
    return AnyTextResponse(_without_paths(to_plain(value)))


def _without_paths(value: Plain) -> Plain:
    """Return a JSON value whose citations have no source, unless it is a URL."""
    if isinstance(value, list):
        return [_without_paths(item) for item in value]
    if not isinstance(value, dict):
        return value
    shown = {name: _without_paths(item) for name, item in value.items()}
    if shown.keys() >= _CITATION and not is_url(str(shown["source"])):
        shown["source"] = ""
    return shown


def _question(access: Access, body: QuestionBody, **more: Any) -> dict[str, Any]:
    """Return the keyword arguments that every question has."""
    if body.rerank and access.service.reranker is None:
        raise OptionError("rerank is true, and the server has no reranker; start it with --rerank")
    return {
        "documents": body.documents,
        "where": access.where(body.where),
        "preset": body.preset,
        "segment_options": body.options(),
        "rerank": access.service.reranker if body.rerank else None,
        **more,
    }


def _search_options(body: SearchBody) -> dict[str, Any]:
    return {
        "budget_tokens": body.budget_tokens,
        "headers": body.headers,
        "tokenizer": body.tokenizer,
        "more_queries": body.more_queries,
        "method": body.method,
        "abstain": body.abstain,
        "deep": body.deep,
        "spread": body.spread,
        "max_documents": body.max_documents,
    }


@router.get("/knowledge-bases", tags=["knowledge bases"])
async def list_knowledge_bases(access: Reader) -> JSONResponse:
    """List the knowledge bases, and whether the server has a model that answers."""

    def rows() -> list[dict[str, Any]]:
        listed = []
        for name in access.names():
            records = access.records(access.base(name))
            listed.append(
                {
                    "name": name,
                    "documents": len(records),
                    "chunks": sum(record.chunks for record in records),
                }
            )
        return listed

    found = await access.run(rows)
    return _json({"knowledge_bases": found, "answers": access.service.llm is not None})


@router.post("/search", tags=["questions"])
async def search_several(body: SeveralBody, access: Reader) -> JSONResponse:
    """Search several knowledge bases as one."""
    base = access.several(body.knowledge_bases)
    keywords = _question(access, body, **_search_options(body))

    def find() -> SearchResult:
        access.check_question(body.knowledge_bases, body.where, body.documents)
        return base.search(body.question, **keywords)

    return _json(access.shown(await access.run(find)).to_dict())


@router.post(f"{_KB}/search", tags=["questions"])
async def search(kb: str, body: SearchBody, access: Reader) -> JSONResponse:
    """Find the contiguous segments that answer a question, within a token budget."""
    keywords = _question(access, body, **_search_options(body))
    base = access.base(kb)

    def find() -> SearchResult:
        access.check_question([kb], body.where, body.documents)
        return base.search(body.question, **keywords)

    return _json(access.shown(await access.run(find)).to_dict())


@router.post(f"{_KB}/excerpts", tags=["questions"])
async def excerpts(kb: str, body: ExcerptsBody, access: Reader) -> JSONResponse:
    """Find excerpts of a fixed size around the evidence for a question."""
    keywords = _question(
        access,
        body,
        excerpts=body.excerpts,
        excerpt_tokens=body.excerpt_tokens,
        headers=body.headers,
        tokenizer=body.tokenizer,
        more_queries=body.more_queries,
        abstain=body.abstain,
        deep=body.deep,
        spread=body.spread,
    )
    base = access.base(kb)

    def find() -> ExcerptResult:
        access.check_question([kb], body.where, body.documents)
        return base.excerpts(body.question, **keywords)

    return _json(access.shown(await access.run(find)).to_dict())


@router.post(f"{_KB}/explain", tags=["questions"])
async def explain(kb: str, body: ExplainBody, access: Reader) -> JSONResponse:
    """Search, and also return the scores, values and decisions for each chunk."""
    keywords = _question(
        access, body, budget_tokens=body.budget_tokens, more_queries=body.more_queries
    )
    base = access.base(kb)

    def find() -> Explanation:
        access.check_question([kb], body.where, body.documents)
        return base.explain(body.question, **keywords)

    found = await access.run(find)
    shown = replace(
        found,
        result=access.shown(found.result),
        candidates=found.candidates[: body.candidates],
    )
    return _json(shown)


@router.get(f"{_KB}/explanation", tags=["questions"])
async def explanation_page(
    kb: str,
    question: str,
    access: Reader,
    where: str = "",
    budget_tokens: Annotated[int, Query(ge=1)] = 4_000,
) -> Response:
    """Return the explanation of a search as an HTML page with charts and sliders."""
    if access.is_restricted:
        raise Problem(
            403,
            "restricted",
            "the key has a filter, so it cannot use this page; use POST .../explain",
        )
    base = access.base(kb)
    found = await access.run(
        lambda: base.explain(
            question, where=access.where(where or None), budget_tokens=budget_tokens
        ).to_html()
    )
    policy = (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "frame-ancestors 'none'; sandbox allow-scripts"
    )
    return Response(found, media_type="text/html", headers={"Content-Security-Policy": policy})


@router.post(f"{_KB}/ask", tags=["questions"])
async def ask(kb: str, body: AskBody, access: Reader, request: Request) -> Response:
    """Answer a question with checked quotes; as server-sent events if they are accepted.

    The events are `text` with a piece of the answer, and at the end `answer` with the whole answer
    or `error` with problem details.
    """
    service, base = access.service, access.base(kb)
    if service.llm is None:
        raise Problem(
            422, "no_language_model", "the server has no language model; start it with --llm"
        )
    if body.rerank and service.reranker is None:
        raise OptionError("rerank is true, and the server has no reranker; start it with --rerank")
    keywords: dict[str, Any] = {
        "llm": service.llm,
        "documents": body.documents,
        "where": access.where(body.where),
        "write_queries": body.write_queries,
        "rerank": service.reranker if body.rerank else None,
    }
    await access.run(
        lambda: access.check_question([kb], body.where, body.documents, needs_documents=True)
    )
    if "text/event-stream" not in request.headers.get("accept", ""):
        answer = await access.run(partial(base.ask, body.question, **keywords))
        return _json(access.shown(answer))
    stream = await access.run(partial(base.ask_stream, body.question, **keywords))
    return StreamingResponse(
        _events(stream, access),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(stream: AnswerStream, access: Access) -> AsyncIterator[str]:
    """Yield the pieces of an answer as server-sent events; stop it when the client leaves."""
    end = asyncio.get_running_loop().time() + access.service.seconds
    is_waiting = False

    def piece() -> str | None:
        """Return the next piece; None after the last one."""
        text = next(stream, None)
        if is_cancelled():  # nobody waits any more, so this thread stops the stream
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
            yield _event("text", {"text": text})
        yield _event("answer", _without_paths(to_plain(access.shown(stream.answer))))
    except TimeoutError:
        yield _event("error", access.timeout().body())
    except SpanwiseError as error:
        yield _event("error", problem_of(error).body())
    except Problem as problem:
        yield _event("error", problem.body())
    except Exception as error:  # noqa: BLE001 - the response has begun
        yield _event("error", crash_of(error).body())
    finally:
        if not is_waiting:  # otherwise its thread closes it
            stream.close()


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


@router.get(f"{_KB}/documents", tags=["documents"])
async def list_documents(
    kb: str,
    access: Reader,
    where: str = "",
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> JSONResponse:
    """List documents in the order of their ids."""
    base = access.base(kb)
    records = await access.run(lambda: access.records(base, where or None))
    rows = [_record(record) for record in records[offset : offset + limit]]
    return _json({"documents": rows, "total": len(records), "offset": offset})


@router.get(f"{_KB}/sections/{{document_id:path}}", tags=["documents"])
async def sections(kb: str, document_id: str, access: Reader) -> JSONResponse:
    """Return the sections of a document, with paths and ranges of characters."""
    base = access.base(kb)

    def read() -> object:
        access.record(base, document_id)
        return base.sections(document_id)

    return _json({"sections": await access.run(read)})


@router.get(f"{_KB}/chunks/{{document_id:path}}", tags=["documents"])
async def chunks(kb: str, document_id: str, access: Reader) -> JSONResponse:
    """Return the ranges of characters of the chunks of a document, in order."""
    base = access.base(kb)

    def read() -> object:
        access.record(base, document_id)
        return [[chunk.start, chunk.end] for chunk in base.chunks(document_id)]

    return _json({"chunks": await access.run(read)})


@router.get(f"{_KB}/text/{{document_id:path}}", tags=["documents"])
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
        last = min(len(document.text) if end is None else end, start + _MOST_CHARS)
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


@router.get(f"{_KB}/pages/{{page}}/{{document_id:path}}", tags=["documents"])
async def page_image(
    kb: str,
    document_id: str,
    page: int,
    access: Reader,
    highlight: Annotated[str, Query(pattern=r"^(\d{1,12}-\d{1,12})?$")] = "",
    dots_per_inch: Annotated[int, Query(ge=10, le=300)] = 110,
) -> Response:
    """Return a page of a PDF as a PNG image, with a range of characters ("10-90") highlighted."""
    base = access.base(kb)
    first, _, last = highlight.partition("-")
    place = (int(first), int(last)) if highlight else None

    def draw() -> bytes:
        access.record(base, document_id)
        return base.page_image(document_id, page, dots_per_inch=dots_per_inch, highlight=place)

    return Response(await access.run(draw), media_type="image/png")


@router.get(f"{_KB}/documents/{{document_id:path}}", tags=["documents"])
async def document(kb: str, document_id: str, access: Reader) -> JSONResponse:
    """Return the description of a document."""
    base = access.base(kb)
    return _json(_record(await access.run(lambda: access.record(base, document_id))))


@router.patch(f"{_KB}/documents/{{document_id:path}}", tags=["documents"])
async def set_metadata(
    kb: str, document_id: str, body: MetadataBody, access: Writer
) -> JSONResponse:
    """Change metadata and title of a document."""
    base = access.base(kb)

    def change() -> object:
        access.record(base, document_id)
        return base.update_metadata([document_id], body.fields, title=body.title)

    return _json(await _written(access, change))


@router.delete(f"{_KB}/documents/{{document_id:path}}", tags=["documents"])
async def remove(kb: str, document_id: str, access: Writer) -> JSONResponse:
    """Remove a document."""
    base = access.base(kb)

    def change() -> object:
        access.record(base, document_id)
        return base.remove(document_id)

    return _json({"removed": await _written(access, change)})


@router.put(f"{_KB}/texts", tags=["documents"])
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
        )

    return _json(await _written(access, change))


async def _written(access: Access, change: Callable[[], object]) -> object:
    """Return the result of a change.

    Raises:
        Problem: If the key has a filter, because a changed field could bypass the filter.
    """
    if access.is_restricted:
        raise Problem(
            403,
            "restricted",
            "the key has a filter, so it can only read; use a key without a filter",
        )
    return await access.run(change)


def _record(record: Any) -> dict[str, Any]:
    """Return the fields of a record, without file paths of the server."""
    row: dict[str, Any] = record.to_dict()
    hidden = {"source", "source_root", "recipe"}
    return {name: value for name, value in row.items() if name not in hidden}
