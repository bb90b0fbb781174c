"""Arguments of a remote knowledge base, and their form in requests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from spanwise.errors import OptionError, shown
from spanwise.filters import read_filter
from spanwise.types.plain import to_plain

if TYPE_CHECKING:
    from spanwise.filters import Where
    from spanwise.options import (
        AnswerOptions,
        ContextOptions,
        CrawlOptions,
        ExcerptOptions,
        PublishedOptions,
        QueryOptions,
        RerankOptions,
        SearchOptions,
        SegmentOptions,
        Spread,
    )
    from spanwise.types import GivenParts, GivenValue, IngestProgress, Turn, WrittenQueries


class _QuestionArguments(TypedDict, total=False):
    documents: Sequence[str] | None
    where: Where | None


class _RetrievalArguments(_QuestionArguments, total=False):
    preset: str | None
    headers: bool
    tokenizer: str | None
    more_queries: Sequence[str] | WrittenQueries
    abstain: bool
    deep: bool
    spread: Spread
    rerank: bool
    rerank_options: RerankOptions | None


class SearchArguments(_RetrievalArguments, total=False):
    """Arguments of `search` and `explain`; `rerank` is whether the server's reranker is used."""

    options: SearchOptions | None
    budget_tokens: int
    segment_options: SegmentOptions | PublishedOptions | None
    method: str
    max_documents: int


class ExcerptArguments(_RetrievalArguments, total=False):
    """Arguments of `excerpts`; `rerank` is whether the server's reranker is used."""

    options: ExcerptOptions | None
    excerpts: int
    excerpt_tokens: int
    segment_options: SegmentOptions | None


class _AnswerArguments(_QuestionArguments, total=False):
    options: AnswerOptions | None
    budget_tokens: int | None
    temperature: float | None
    write_queries: bool
    query_options: QueryOptions | None
    fresh: bool


class AskArguments(_AnswerArguments, total=False):
    """Arguments of `ask` and `ask_stream`; `rerank` is whether the server's reranker is used."""

    preset: str | None
    method: str | None
    segment_options: SegmentOptions | PublishedOptions | None
    rerank: bool
    rerank_options: RerankOptions | None
    thread: str | None


class AskEachArguments(_AnswerArguments, total=False):
    """Arguments of `ask_each` other than `on_progress`."""

    dry_run: bool


class QueryArguments(_QuestionArguments, total=False):
    """Arguments of `write_queries`."""

    options: QueryOptions | None
    history: Sequence[Turn]


class AddArguments(TypedDict, total=False):
    """Arguments of `add` other than the sources."""

    document_id: str | None
    include: Sequence[str]
    exclude: Sequence[str]
    replace: bool
    metadata: Mapping[str, GivenValue] | None
    context: ContextOptions | None
    given: Mapping[str, GivenParts] | None
    prefix: str | None
    follow_links: bool
    crawl: CrawlOptions | None
    on_document: Callable[[IngestProgress], None] | None


NOT_OFFERED: Mapping[str, str] = {
    "llm": "the server uses its own model",
    "query_llm": "the server uses its own model",
    "answer_type": "the server gives no structured answers",
    "dry_run": "the server adds files without an estimate before",
}
"""Arguments of `KnowledgeBase` that a remote knowledge base refuses unless they are None."""


def question_body(
    method: str, question: str, arguments: Mapping[str, Any], *, allowed: type
) -> dict[str, Any]:
    """Return the body of a request with a question.

    Args:
        method: Name of the method, for messages.
        question: Question.
        arguments: Arguments of the method.
        allowed: Typed dictionary of the arguments.

    Raises:
        TypeError: If an argument is unknown.
        OptionError: If the server does not offer an argument, or it is of the wrong type.
        FilterError: If the filter cannot be parsed.
    """
    known = check_arguments(method, arguments, allowed=allowed)
    body = {name: plain_argument(name, arguments[name]) for name in known if name in arguments}
    return {"question": question, **body}


def check_arguments(
    method: str, arguments: Mapping[str, Any], *, allowed: type
) -> Mapping[str, Any]:
    """Check the names of the arguments of a method, and return the known names.

    Raises:
        TypeError: If an argument is unknown.
        OptionError: If the server does not offer an argument.
    """
    known = allowed.__annotations__
    for name, value in arguments.items():
        if name in known:
            continue
        if name not in NOT_OFFERED:
            raise TypeError(f"{method}() got an unexpected keyword argument {name!r}")
        if value is not None and value is not False:
            raise OptionError(f"{name} is {shown(value)}, but {NOT_OFFERED[name]}; leave it out")
    return known


def plain_argument(name: str, value: Any) -> Any:
    """Return an argument as a value for JSON.

    Raises:
        OptionError: If it has the wrong type.
        FilterError: If it is a filter that cannot be parsed.
    """
    if name == "where":
        return filter_text(value) or None
    if name == "rerank" and value is not None and not isinstance(value, bool):
        raise OptionError(
            f"rerank is {shown(value)}, but the server has its own reranker; give True to use it"
        )
    if name == "documents" and isinstance(value, str):
        from spanwise.knowledge_base.arguments import checked_list

        return checked_list(name, value)  # raises the error of the library
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_plain(value)
    if name == "more_queries" and not isinstance(value, str | list | tuple):
        raise OptionError(f"more_queries is {shown(value)}; give a list of texts")
    if name == "history":
        return [to_plain(turn) for turn in value]
    return value


def plain_chunks(chunks: Iterable[Any]) -> list[Any]:
    """Return given chunks as values for JSON.

    Raises:
        OptionError: If they are one text.
    """
    if isinstance(chunks, str):
        raise OptionError(f"chunks is {shown(chunks)}; give a list of texts or GivenChunk")
    return [to_plain(chunk) if dataclasses.is_dataclass(chunk) else chunk for chunk in chunks]


def plain_vectors(vectors: Any) -> Any:
    """Return given vectors as lists; None for none."""
    return vectors.tolist() if hasattr(vectors, "tolist") else vectors


def filter_text(where: Where | None) -> str:
    """Return the text of a filter; empty for none.

    Raises:
        FilterError: If the filter cannot be parsed.
    """
    tree = read_filter(where)
    return "" if tree is None else str(tree)
