"""Options of the commands that take a question: `search`, `explain`, `excerpts` and `ask`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, get_args

import click
from click.core import ParameterSource

from spanwise.cli.arguments import (
    as_document_id,
    complete_document_ids,
    knowledge_bases_option,
    tuning_option,
    where_option,
)
from spanwise.cli.query_arguments import QueryArguments, additional_queries, query_options
from spanwise.options import METHOD_PRESETS, SearchOptions, Spread, method_options

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.options import RerankOptions
    from spanwise.types import WrittenQueries

_Command = TypeVar("_Command", bound=Callable[..., Any])


class RerankArguments(TypedDict):
    """Values of the reranker options."""

    rerank: str
    rerank_chunks: int | None


class RerankKeywords(TypedDict):
    """Reranker arguments of `KnowledgeBase.search`."""

    rerank: str | None
    rerank_options: RerankOptions | None


deep_option = click.option(
    "--no-deep",
    is_flag=True,
    help="Do not compare the best candidates with the question by MiniLM, even if it is installed.",
)
"""Option `--no-deep`."""
method_option = click.option(
    "--method",
    type=click.Choice(list(METHOD_PRESETS)),
    default="exact",
    show_default=True,
    help="Segment selection: exact (the best set within the budget) or greedy (relevant segment "
    "extraction as published).",
)
"""Option `--method`."""
PRESET_NAMES = [name for names in METHOD_PRESETS.values() for name in names]
"""Names of the presets of all methods."""
spread_option = click.option(
    "--spread",
    type=click.Choice(get_args(Spread)),
    default="auto",
    show_default=True,
    help="What to return: the best passages, whatever their documents, or the best place of each "
    'document with evidence. auto selects documents for questions such as "Which contracts ...?".',
)
"""Option `--spread`."""


def reranking_options(command: _Command) -> _Command:
    """Add `--rerank` and `--rerank-chunks`."""
    options: tuple[Callable[[Any], Any], ...] = (
        click.option(
            "--rerank",
            metavar="MODEL",
            default="",
            help='Reranker model, such as "cohere:rerank-v3.5", '
            '"server:MODEL@http://host:8080/v1", or "llm:" followed by a language model. Default: '
            "the setting rerank.model.",
        ),
        click.option(
            "--rerank-chunks",
            metavar="NUMBER",
            type=click.IntRange(min=1, max=1000),
            help="Maximum candidates per query that the reranker scores. Default: 5 for each 100 "
            "tokens of the budget, at least 100.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def rerank_keywords(arguments: RerankArguments) -> RerankKeywords:
    """Return the reranker arguments of `KnowledgeBase.search`.

    Raises:
        UsageError: If `--rerank-chunks` is given without a reranker.
    """
    chunks = arguments["rerank_chunks"]
    if not arguments["rerank"]:
        if chunks is not None:
            raise click.UsageError("--rerank-chunks is of no use without --rerank")
        return RerankKeywords(rerank=None, rerank_options=None)
    from spanwise.options import RerankOptions

    options = None if chunks is None else RerankOptions(chunks=chunks)
    return RerankKeywords(rerank=arguments["rerank"], rerank_options=options)


class QuestionKeywords(RerankKeywords):
    """Arguments of `KnowledgeBase.search` other than the question and the options."""

    more_queries: Sequence[str] | WrittenQueries
    documents: Sequence[str] | None
    where: str | None


class QuestionArguments(QueryArguments, RerankArguments):
    """Values of the question options, by parameter name."""

    question: tuple[str, ...]
    query: tuple[str, ...]
    kb: tuple[str, ...] | str | None
    preset: str
    document: tuple[str, ...]
    where: str | None
    tokenizer: str | None
    abstain: bool
    no_deep: bool
    spread: Spread
    tuning: str
    as_json: bool


class SearchArguments(QuestionArguments):
    """Values of the options of a search."""

    budget: int
    max_documents: int
    method: str


def question_options(*command_options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Return a decorator that adds the question and the options shared by these commands.

    Args:
        *command_options: Options of the command itself, shown after `--kb`.
    """
    options: tuple[Callable[[Any], Any], ...] = (
        click.argument("question", metavar="QUESTION", nargs=-1, required=True),
        click.option(
            "--query",
            "-q",
            multiple=True,
            metavar="TEXT",
            help="Additional query for the same question. Repeatable.",
        ),
        knowledge_bases_option(),
        *command_options,
        click.option(
            "--document",
            "-d",
            multiple=True,
            metavar="ID",
            type=as_document_id,
            shell_complete=complete_document_ids,
            help="Search only this document. Repeatable.",
        ),
        where_option,
        click.option(
            "--tokenizer",
            metavar="NAME",
            help="Tokenizer for token counts, such as o200k_base. Default: the tokenizer of the "
            "knowledge base.",
        ),
        click.option(
            "--abstain",
            is_flag=True,
            help="Return nothing if the evidence is too weak for an answer.",
        ),
        deep_option,
        spread_option,
        tuning_option,
        query_options,
        reranking_options,
    )

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def search_options(command: _Command) -> _Command:
    """Add the question and every option of a search, except the output options."""
    return question_options(
        click.option(
            "--budget",
            metavar="TOKENS",
            type=click.IntRange(min=1),
            default=4000,
            show_default=True,
            help="Maximum tokens of all segments together, including their headers.",
        ),
        click.option(
            "--max-documents",
            metavar="NUMBER",
            type=click.IntRange(min=1, max=10_000),
            default=20,
            show_default=True,
            help="Maximum number of documents in a search for documents (see --spread).",
        ),
        method_option,
        click.option(
            "--preset",
            metavar="NAME",
            type=click.Choice(PRESET_NAMES),
            default="balanced",
            show_default=True,
            help="Segment length, from single sentences to long passages: precise, balanced, "
            "comprehensive. With --method greedy: dsrag-balanced (its default), "
            "dsrag-precision, dsrag-find-all.",
        ),
    )(command)


def question_text(words: Sequence[str]) -> str:
    """Return the question, which must be one argument.

    Raises:
        UsageError: If there are several arguments.
    """
    if len(words) > 1:
        raise click.UsageError(f"the question came as {len(words)} arguments; put it in quotes")
    return words[0]


def read_search_options(arguments: SearchArguments) -> SearchOptions:
    """Return the options of a search from the command line."""
    method = arguments["method"]
    # A preset from the settings applies only to the exact method.
    source = click.get_current_context().get_parameter_source("preset")
    has_preset = method == "exact" or source is ParameterSource.COMMANDLINE
    segments, published = method_options(method, preset=arguments["preset"] if has_preset else None)
    return SearchOptions(
        budget_tokens=arguments["budget"],
        segments=segments,
        published=published,
        tokenizer=arguments["tokenizer"],
        abstain=arguments["abstain"],
        deep=not arguments["no_deep"],
        spread=arguments["spread"],
        max_documents=arguments["max_documents"],
    )


def question_keywords(
    knowledge_base: KnowledgeBase, question: str, arguments: QuestionArguments
) -> QuestionKeywords:
    """Return the arguments of a search other than its options.

    A language model is called with `--write-queries`.

    Raises:
        UsageError: If an option is given without another one that it requires.
        SpanwiseError: The errors of `KnowledgeBase.write_queries`.
    """
    reranking = rerank_keywords(arguments)
    documents = arguments["document"] or None
    return QuestionKeywords(
        more_queries=additional_queries(
            knowledge_base,
            question,
            queries=arguments["query"],
            documents=documents,
            where=arguments["where"],
            arguments=arguments,
        ),
        documents=documents,
        where=arguments["where"],
        **reranking,
    )
