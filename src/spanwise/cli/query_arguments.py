"""Options for queries written by a language model, and the searches that use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click
from click.core import ParameterSource

from spanwise.cli.arguments import llm_option, max_cost_option
from spanwise.cli.layout import usage_words
from spanwise.types import WrittenQueries

if TYPE_CHECKING:
    from spanwise.cli.layout import Page
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import Answer, ExcerptResult, SearchResult


_Command = TypeVar("_Command", bound=Callable[..., Any])
_Result = TypeVar("_Result", bound="SearchResult | ExcerptResult")


class QueryArguments(TypedDict):
    """Values of the options for queries written by a model."""

    write_queries: bool
    llm: str
    guidance: str
    max_cost: float | None


def query_options(command: _Command) -> _Command:
    """Add `--write-queries`, `--llm`, `--guidance` and `--max-cost`."""
    options: tuple[Callable[[Any], Any], ...] = (
        click.option(
            "--write-queries",
            is_flag=True,
            help="Let the language model write additional queries, and a metadata filter if the "
            "question names metadata values.",
        ),
        llm_option(),
        click.option(
            "--guidance",
            metavar="TEXT",
            default="",
            help="Background for the language model about the documents or the question.",
        ),
        max_cost_option(
            "Maximum total cost of model calls in US dollars. Default: the setting llm.max_cost."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def additional_queries(
    knowledge_base: KnowledgeBase,
    question: str,
    *,
    queries: Sequence[str],
    documents: Sequence[str] | None,
    where: str | None,
    arguments: QueryArguments,
) -> Sequence[str] | WrittenQueries:
    """Return the queries of the command line, and those of a model with `--write-queries`.

    Raises:
        UsageError: If `--write-queries` is given without a language model, or an option of the
            model is given without `--write-queries`.
        SpanwiseError: The errors of `KnowledgeBase.write_queries`.
    """
    if not arguments["write_queries"]:
        for name in ("llm", "guidance"):
            source = click.get_current_context().get_parameter_source(name)
            if source is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name} is of no use here without --write-queries")
        return queries
    if not arguments["llm"]:
        raise click.UsageError(
            "--write-queries needs a language model; name one with --llm vendor:model, or set "
            "llm.model"
        )
    from spanwise.options import QueryOptions

    written = knowledge_base.write_queries(
        question,
        llm=arguments["llm"],
        options=QueryOptions(guidance=arguments["guidance"]),
        documents=documents,
        where=where,
    )
    return replace(written, more_queries=(*queries, *written.more_queries))


def with_written(result: _Result, queries: Sequence[str] | WrittenQueries) -> _Result:
    """Return a result with the warnings and the usage of writing its queries added."""
    if not isinstance(queries, WrittenQueries):
        return result
    first = int(result.no_document_passes)  # the warning about the filter stays first
    warnings = (*result.warnings[:first], *queries.warnings, *result.warnings[first:])
    return replace(result, warnings=warnings, usage=queries.usage + result.usage)


def draw_queries(result: SearchResult | ExcerptResult | Answer, page: Page) -> None:
    """Write the additional queries, required phrases, filter and model usage of a result."""
    for query in result.queries[1:]:
        page.wrapped(f"also searched: {query}", "dim")
    if result.where:
        page.wrapped(f"only documents where {result.where}", "dim")
    for phrase in getattr(result, "phrases", ()):  # an answer has none
        page.wrapped(f'required: "{phrase}"', "dim")
    words = usage_words(result.usage)
    if words:
        page.wrapped(page.joined(words), "dim")
