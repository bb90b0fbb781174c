"""Arguments of `KnowledgeBase.ask` and `ask_stream`, and the request that they form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, Unpack

from spanwise.errors import OptionError, shown
from spanwise.knowledge_base.arguments import make_scope
from spanwise.knowledge_base.components import AnswerRequest
from spanwise.options import method_options
from spanwise.options.checks import check_class

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spanwise.filters import Where
    from spanwise.models.ports import LanguageModel, Reranker
    from spanwise.options import (
        AnswerOptions,
        PublishedOptions,
        QueryOptions,
        RerankOptions,
        SegmentOptions,
    )


class AskArguments(TypedDict, total=False):
    """Arguments of `KnowledgeBase.ask` other than the question, described there."""

    llm: str | LanguageModel | None
    query_llm: str | LanguageModel | None
    documents: Sequence[str] | None
    where: Where | None
    options: AnswerOptions | None
    budget_tokens: int | None
    preset: str | None
    method: str | None
    segment_options: SegmentOptions | PublishedOptions | None
    temperature: float | None
    write_queries: bool
    query_options: QueryOptions | None
    rerank: str | Reranker | None
    rerank_options: RerankOptions | None
    answer_type: type[BaseModel] | None
    thread: str | None
    fresh: bool


def answer_request(**arguments: Unpack[AskArguments]) -> AnswerRequest:
    """Return the request that the arguments of `ask` form.

    Raises:
        TypeError: If an argument is unknown.
        OptionError: If an option is out of range or does not fit another one.
        FilterError: If the filter cannot be parsed.
    """
    from spanwise.options import QueryOptions

    for name in arguments.keys() - AskArguments.__annotations__.keys():
        raise TypeError(f"ask() got an unexpected keyword argument {name!r}")
    check_class("query_options", arguments.get("query_options"), QueryOptions)
    writes = arguments.get("write_queries", True)
    query_llm = arguments.get("query_llm")
    if query_llm is not None and not writes:
        raise OptionError(
            f"query_llm is {shown(query_llm)}, and write_queries is False; leave one of them out"
        )
    return AnswerRequest(
        llm=arguments.get("llm"),
        query_llm=query_llm,
        scope=make_scope(arguments.get("documents"), arguments.get("where")),
        options=_answer_options(arguments),
        query_options=(arguments.get("query_options") or QueryOptions()) if writes else None,
        rerank=arguments.get("rerank"),
        rerank_options=arguments.get("rerank_options"),
        answer_type=arguments.get("answer_type"),
        thread=arguments.get("thread"),
        fresh=arguments.get("fresh", False),
    )


def _answer_options(arguments: AskArguments) -> AnswerOptions:
    """Return the options of an answer, with the values of the keyword arguments.

    Raises:
        OptionError: If an option is out of range or does not fit another one.
    """
    from spanwise.options import AnswerOptions

    options = arguments.get("options")
    if options is not None and not isinstance(options, AnswerOptions):
        raise OptionError(f"options is {shown(options)}; give AnswerOptions")
    options = options or AnswerOptions()
    budget_tokens, temperature = arguments.get("budget_tokens"), arguments.get("temperature")
    method, preset = arguments.get("method"), arguments.get("preset")
    given = arguments.get("segment_options")
    segments, published = options.segments, options.published
    if any(value is not None for value in (method, preset, given)):
        method = method or ("exact" if published is None else "greedy")
        segments, published = method_options(method, preset=preset, given=given)
    return replace(
        options,
        budget_tokens=options.budget_tokens if budget_tokens is None else budget_tokens,
        segments=segments,
        published=published,
        temperature=options.temperature if temperature is None else temperature,
    )
