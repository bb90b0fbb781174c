"""The reranker of a search: its options, and what they mean.

What all commands that take a question share: its options, and what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click
from click.core import ParameterSource

from spanwise.cli.arguments import (
    as_document_id,
    complete_document_ids,
    knowledge_base_option,
    tuning_option,
    where_option,
)
from spanwise.cli.query_arguments import WritingArguments, writing_options
from spanwise.options import METHOD_PRESETS

if TYPE_CHECKING:
    from spanwise.options import RerankOptions

_Command = TypeVar("_Command", bound=Callable[..., Any])


class RerankArguments(TypedDict):
    """What a command line says of the reranker."""

    rerank: str
    rerank_chunks: int | None


class RerankKeywords(TypedDict):
    """What `KnowledgeBase.search` takes of it."""

    rerank: str | None
    rerank_options: RerankOptions | None


def reranking_options(command: _Command) -> _Command:
    """Add `--rerank`, and how much it reads."""
    options: tuple[Callable[[Any], Any], ...] = (
        click.option(
            "--rerank",
            metavar="MODEL",
            default="",
            help='Reranker that reads the best candidates, such as "cohere:rerank-v3.5", '
            '"server:MODEL@http://host:8080/v1", or "llm:" and a language model.',
        ),
        click.option(
            "--rerank-chunks",
            metavar="NUMBER",
            type=click.IntRange(min=1, max=1000),
            help="How many candidates of each query it reads, at most. Without it 100.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def rerank_keywords(arguments: RerankArguments) -> RerankKeywords:
    """Return which reranker reads how much.

    Raises:
        UsageError: If it is said how much, and no reranker is named.
    """
    chunks = arguments["rerank_chunks"]
    if not arguments["rerank"]:
        if chunks is not None:
            raise click.UsageError("--rerank-chunks is of no use without --rerank")
        return RerankKeywords(rerank=None, rerank_options=None)
    from spanwise.options import RerankOptions

    options = None if chunks is None else RerankOptions(chunks=chunks)
    return RerankKeywords(rerank=arguments["rerank"], rerank_options=options)


class QuestionArguments(WritingArguments, RerankArguments):
    """What a command line says of a question, by name of its parameters."""

    question: tuple[str, ...]
    query: tuple[str, ...]
    kb: str | None
    preset: str
    document: tuple[str, ...]
    where: str | None
    tokenizer: str | None
    no_abstain: bool
    tuning: str
    as_json: bool


class AskingArguments(QuestionArguments):
    """What a command line says of a search."""

    budget: int
    method: str


class SearchKeywords(RerankKeywords):
    """What `KnowledgeBase.search` takes."""

    question: str
    queries: Sequence[str]
    budget_tokens: int
    method: str
    preset: str | None
    documents: Sequence[str] | None
    where: str | None
    tokenizer: str | None
    abstain: bool


def question_options(*own: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Add the question and where it is looked for, and between them options of the command."""
    options: tuple[Callable[[Any], Any], ...] = (
        click.argument("question", metavar="QUESTION", nargs=-1, required=True),
        click.option(
            "--query",
            "-q",
            multiple=True,
            metavar="TEXT",
            help="A further search for the same question; repeat for more. What any of them finds "
            "counts.",
        ),
        knowledge_base_option,
        *own,
        click.option(
            "--document",
            "-d",
            multiple=True,
            metavar="ID",
            type=as_document_id,
            shell_complete=complete_document_ids,
            help="Search this document alone; repeat for more.",
        ),
        where_option,
        click.option(
            "--tokenizer",
            metavar="NAME",
            help="Whose tokens the budget counts, such as o200k_base. Without it those of the "
            "knowledge base.",
        ),
        click.option(
            "--no-abstain",
            is_flag=True,
            help="Show text even where there is hardly any evidence.",
        ),
        tuning_option,
        writing_options,
        reranking_options,
    )

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def search_options(command: _Command) -> _Command:
    """Add the question and every option of a search but its output."""
    return question_options(
        click.option(
            "--budget",
            metavar="TOKENS",
            type=click.IntRange(min=1),
            default=4000,
            show_default=True,
            help="Most tokens of all segments together, headers included.",
        ),
        click.option(
            "--method",
            type=click.Choice(list(METHOD_PRESETS)),
            default="exact",
            show_default=True,
            help="How segments are chosen: exact under the budget, or greedy as published.",
        ),
        click.option(
            "--preset",
            metavar="NAME",
            type=click.Choice([name for names in METHOD_PRESETS.values() for name in names]),
            default="balanced",
            show_default=True,
            help="From single sentences to long passages: precise, balanced or comprehensive; of "
            "the method greedy dsrag-balanced (its default), dsrag-precision or dsrag-find-all.",
        ),
    )(command)


def asked_question(words: Sequence[str]) -> str:
    """Return the question of a command line.

    Raises:
        UsageError: If it is not one argument.
    """
    if len(words) > 1:
        raise click.UsageError(f"the question came as {len(words)} arguments; put it in quotes")
    return words[0]


def _preset(arguments: AskingArguments) -> str | None:
    """Return the preset that holds; one that is set, not said, is of the exact method alone."""
    source = click.get_current_context().get_parameter_source("preset")
    is_said = source is ParameterSource.COMMANDLINE
    return arguments["preset"] if is_said or arguments["method"] == "exact" else None


def search_keywords(arguments: AskingArguments) -> SearchKeywords:
    """Return what a command line asks for.

    Raises:
        UsageError: If the question is not one argument.
    """
    return SearchKeywords(
        question=asked_question(arguments["question"]),
        queries=arguments["query"],
        budget_tokens=arguments["budget"],
        method=arguments["method"],
        preset=_preset(arguments),
        documents=arguments["document"] or None,
        where=arguments["where"],
        tokenizer=arguments["tokenizer"],
        abstain=not arguments["no_abstain"],
        **rerank_keywords(arguments),
    )
