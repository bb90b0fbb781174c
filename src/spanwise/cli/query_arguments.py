"""Options for queries written by a language model, and the searches that use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click
from click.core import ParameterSource

from spanwise.cli.arguments import llm_option, max_cost_option
from spanwise.cli.layout import usage_words
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.cli.layout import Page
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import Answer, ExcerptResult, SearchResult


_Command = TypeVar("_Command", bound=Callable[..., Any])
_Result = TypeVar("_Result", "SearchResult", "ExcerptResult")


class QueryArguments(TypedDict):
    """Values of the options for written queries."""

    write_queries: bool
    llm: str
    guidance: str
    max_cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQueries:
    """Additional queries and filter of a search, from the command line and from a model."""

    queries: Sequence[str]
    """Additional queries of both sources."""
    where: str | None
    """Metadata filter of both sources; None for no filter."""
    explicit_where: str | None
    """Metadata filter of the command line alone; None for no filter."""
    warnings: tuple[str, ...] = ()
    """Warnings to add to the result."""
    usage: Usage = field(default_factory=Usage)
    """Usage of models so far."""

    def needs_wider_filter(self, result: SearchResult | ExcerptResult) -> bool:
        """Return whether a filter written by the model left no result."""
        return result.not_found and self.where != self.explicit_where

    def with_wider_filter(self, result: SearchResult | ExcerptResult) -> SearchQueries:
        """Return a copy without the filter of the model, with the usage of the failed search."""
        warning = (
            f"the filter `{self.where}` left no result; searched again without the part written by "
            "the model"
        )
        return replace(
            self,
            where=self.explicit_where,
            warnings=(*self.warnings, warning),
            usage=self.usage + result.usage,
        )

    def completed(self, result: _Result) -> _Result:
        """Return a result with the usage and the warnings of query writing."""
        warnings = (*self.warnings, *result.warnings)
        return replace(result, warnings=warnings, usage=self.usage + result.usage)


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


def search_queries(
    knowledge_base: KnowledgeBase,
    question: str,
    *,
    queries: Sequence[str],
    documents: Sequence[str] | None,
    where: str | None,
    arguments: QueryArguments,
) -> SearchQueries:
    """Return the queries and the filter of a search; call a model where `--write-queries` is given.

    Raises:
        UsageError: If `--write-queries` lacks a language model, or an option of the model lacks
            `--write-queries`.
        SpanwiseError: As `KnowledgeBase.write_queries`.
    """
    from spanwise.options import QueryOptions

    if not arguments["write_queries"]:
        for name in ("llm", "guidance"):
            source = click.get_current_context().get_parameter_source(name)
            if source is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name} is of no use here without --write-queries")
        return SearchQueries(queries=queries, where=where, explicit_where=where)
    if not arguments["llm"]:
        raise click.UsageError(
            "--write-queries needs a language model; name one with --llm vendor:model, or set "
            "llm.model"
        )
    written = knowledge_base.write_queries(
        question,
        llm=arguments["llm"],
        options=QueryOptions(guidance=arguments["guidance"]),
        documents=documents,
        where=where,
    )
    from spanwise.knowledge_base.asking import filter_of

    return SearchQueries(
        queries=(*queries, *written.queries),
        where=written.where or None,
        explicit_where=None if where is None else str(filter_of(where)),
        warnings=written.warnings,
        usage=written.usage,
    )


def draw_queries(result: SearchResult | ExcerptResult | Answer, page: Page) -> None:
    """Write the additional queries, the filter and the model usage of a result, if any."""
    for query in result.queries[1:]:
        page.wrapped(f"also searched: {query}", "dim")
    if result.where:
        page.wrapped(f"only documents where {result.where}", "dim")
    words = usage_words(result.usage)
    if words:
        page.wrapped(page.joined(words), "dim")
