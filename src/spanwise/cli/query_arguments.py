"""Queries that a language model writes for a search: their options, and what came of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click
from click.core import ParameterSource

from spanwise.cli.arguments import llm_option, max_cost_option
from spanwise.cli.usage import usage_words
from spanwise.types import Usage

if TYPE_CHECKING:
    from spanwise.cli.layout import Page
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import Answer, ExcerptResult, SearchResult


_Command = TypeVar("_Command", bound=Callable[..., Any])
_Result = TypeVar("_Result", "SearchResult", "ExcerptResult")


class WritingArguments(TypedDict):
    """What a command line says of the queries that are written."""

    write_queries: bool
    llm: str
    guidance: str
    max_cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenQueries:
    """What is searched beside the question, as it was said and as a model wrote it."""

    queries: Sequence[str]
    where: str | None
    said_where: str | None
    """Without what the model wrote."""
    warnings: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def wants_more(self, result: SearchResult | ExcerptResult) -> bool:
        """Return whether nothing was found, under a filter that the model wrote."""
        return result.not_found and self.where != self.said_where

    def widened(self, result: SearchResult | ExcerptResult) -> WrittenQueries:
        """Return the same without the filter that the model wrote, after a result under it."""
        said = (
            f"nothing was found where `{self.where}`: searched without what the model wrote of it"
        )
        return replace(
            self,
            where=self.said_where,
            warnings=(*self.warnings, said),
            usage=self.usage + result.usage,
        )

    def completed(self, result: _Result) -> _Result:
        """Return a result with what writing took and what came of it."""
        warnings = (*self.warnings, *result.warnings)
        return replace(result, warnings=warnings, usage=self.usage + result.usage)


def writing_options(command: _Command) -> _Command:
    """Add `--write-queries`, and by whom and how they are written."""
    options: tuple[Callable[[Any], Any], ...] = (
        click.option(
            "--write-queries",
            is_flag=True,
            help="Let a language model write further queries, and a filter where the question "
            "says values of metadata.",
        ),
        llm_option(),
        click.option(
            "--guidance",
            metavar="TEXT",
            default="",
            help="What the model should know of the documents or of what is asked.",
        ),
        max_cost_option("Most US dollars that models may cost."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def searched_by(
    knowledge_base: KnowledgeBase,
    question: str,
    *,
    queries: Sequence[str],
    documents: Sequence[str] | None,
    where: str | None,
    writing: WritingArguments,
) -> WrittenQueries:
    """Return what is searched beside a question: what was said, and what a model writes.

    Raises:
        UsageError: If a model is to write and none is named, or is told how and is not to.
        SpanwiseError: As `KnowledgeBase.write_queries`.
    """
    from spanwise.options import QueryOptions

    if not writing["write_queries"]:
        for name in ("llm", "guidance"):
            source = click.get_current_context().get_parameter_source(name)
            if source is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name} is of no use here without --write-queries")
        return WrittenQueries(queries=queries, where=where, said_where=where)
    if not writing["llm"]:
        raise click.UsageError(
            "--write-queries needs a language model; name one by --llm vendor:model, or set "
            "llm.model"
        )
    written = knowledge_base.write_queries(
        question,
        llm=writing["llm"],
        options=QueryOptions(guidance=writing["guidance"]),
        documents=documents,
        where=where,
    )
    from spanwise.knowledge_base.asking import filter_of

    return WrittenQueries(
        queries=(*queries, *written.queries),
        where=written.where or None,
        said_where=None if where is None else str(filter_of(where)),
        warnings=written.warnings,
        usage=written.usage,
    )


def draw_searched(result: SearchResult | ExcerptResult | Answer, page: Page) -> None:
    """Write by what was searched beside the question, and what models took, where there is any."""
    for query in result.queries[1:]:
        page.wrapped(f"also searched: {query}", "dim")
    if result.where:
        page.wrapped(f"only documents where {result.where}", "dim")
    words = usage_words(result.usage)
    if words:
        page.wrapped(page.joined(words), "dim")
