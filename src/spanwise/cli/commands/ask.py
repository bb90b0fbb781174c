"""`spanwise ask`: answer a question with checked citations."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from spanwise.cli.answer_layout import AnswerText, draw_notes
from spanwise.cli.arguments import (
    as_document_id,
    complete_document_ids,
    json_option,
    knowledge_base_option,
    llm_option,
    max_cost_option,
    tuning_option,
    where_option,
)
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page
from spanwise.cli.progress import waiting
from spanwise.cli.search_arguments import question_text
from spanwise.config import knowledge_base_path, model_options
from spanwise.options import AnswerOptions, QueryOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel
    from spanwise.types import Answer


class _AskOptions(TypedDict):
    question: tuple[str, ...]
    kb: str | None
    llm: str
    budget: int
    excerpts: int
    excerpt_tokens: int
    queries: int
    no_write_queries: bool
    rerank: str
    guidance: str
    document: tuple[str, ...]
    where: str | None
    tuning: str
    abstain: bool
    max_cost: float | None
    thread: str | None
    chat: bool
    as_json: bool


@click.command(
    cls=ExampleCommand,
    short_help="Answer a question with checked citations.",
    examples=[
        (
            "answer a question with citations",
            'spanwise ask "Why did the margin fall in 2018?" --llm openai:gpt-5-mini',
        ),
        (
            "answer a hard question from six long excerpts",
            'spanwise ask "How did the risks change over the years?" --excerpts 6',
        ),
        (
            "write JSON, and spend at most five cents",
            'spanwise ask "What are the fees?" -d msa.pdf --json --max-cost 0.05',
        ),
        ("start a conversation", "spanwise ask --chat --llm ollama:qwen3"),
    ],
    exit_codes=(ExitCode.NOTHING_FOUND,),
)
@click.argument("question", metavar="[QUESTION]", nargs=-1)
@llm_option()
@knowledge_base_option
@click.option(
    "--budget",
    metavar="TOKENS",
    type=click.IntRange(min=1),
    default=AnswerOptions().budget_tokens,
    show_default=True,
    help="Maximum tokens of the segments that the model reads.",
)
@click.option(
    "--excerpts",
    metavar="NUMBER",
    type=click.IntRange(min=0, max=32),
    default=0,
    help="Number of longer excerpts for hard questions: the model reads each one separately and "
    "combines the results. Default: 0, read segments instead.",
)
@click.option(
    "--excerpt-tokens",
    metavar="TOKENS",
    type=click.IntRange(min=1),
    default=AnswerOptions().excerpt_tokens,
    show_default=True,
    help="Maximum tokens per excerpt.",
)
@click.option(
    "--queries",
    metavar="NUMBER",
    type=click.IntRange(min=1, max=6),
    default=QueryOptions().queries,
    show_default=True,
    help="Maximum number of additional queries written by the model.",
)
@click.option(
    "--no-write-queries",
    is_flag=True,
    help="Search for the question only. Saves one model call.",
)
@click.option(
    "--rerank",
    metavar="MODEL",
    default="",
    help='Reranker model, such as "cohere:rerank-v3.5". Default: the setting rerank.model.',
)
@click.option(
    "--guidance", metavar="TEXT", default="", help="Instruction to the model on how to answer."
)
@click.option(
    "--document",
    "-d",
    multiple=True,
    metavar="ID",
    type=as_document_id,
    shell_complete=complete_document_ids,
    help="Answer only from this document. Repeatable.",
)
@where_option
@click.option(
    "--abstain",
    is_flag=True,
    help="Refuse without calling the model for an answer if there is hardly any evidence.",
)
@tuning_option
@max_cost_option("Maximum cost of the answer in US dollars. Default: the setting llm.max_cost.")
@click.option(
    "--thread",
    metavar="ID",
    help="Conversation to continue, or to start under this id. The model sees its earlier turns; "
    "the answer is stored in it.",
)
@click.option(
    "--chat",
    is_flag=True,
    help="Start an interactive conversation, or read one question per line from standard input. "
    "Type /help for its commands.",
)
@json_option
def ask(**arguments: Unpack[_AskOptions]) -> ExitCode:
    """Answer a question from the documents, with a language model.

    Every statement has a citation mark. [1] is a quote that was found in the stored text; its
    document, page and character range are listed below the answer. [1?] is a quote that was not
    found. [?] is a statement without a quote. If the documents contain no answer, the output lists
    the queries that were searched.
    """
    from spanwise.knowledge_base import KnowledgeBase

    if arguments["chat"]:
        return _chat(arguments)
    if not arguments["question"]:
        raise click.UsageError("the question is missing; give one in quotes, or use --chat")
    question = question_text(arguments["question"])
    models = model_options(max_cost=arguments["max_cost"])
    path = knowledge_base_path(arguments["kb"])
    tuning = arguments["tuning"] or None
    with KnowledgeBase(path, create=False, models=models, tuning=tuning) as knowledge_base:
        if arguments["as_json"]:
            answer = knowledge_base.ask(question, **_keywords(arguments))
            # Wall times are left out as in a search; `usage` differs between runs.
            fields = {name: value for name, value in answer.to_dict().items() if name != "seconds"}
            write_json(fields, sys.stdout)
        else:
            answer = _draw(knowledge_base, question, _keywords(arguments), Page())
    return ExitCode.NOTHING_FOUND if answer.refused else ExitCode.OK


def _chat(arguments: _AskOptions) -> ExitCode:
    """Answer questions until the input ends."""
    from spanwise.cli.chat import Chat
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.registry import make_language_model

    if arguments["question"] or arguments["as_json"]:
        raise click.UsageError("--chat cannot be combined with a question or --json")
    if not arguments["llm"]:
        raise click.UsageError(
            "--chat needs a language model; name one with --llm vendor:model, or set llm.model"
        )
    models = model_options(max_cost=arguments["max_cost"])
    keywords, page = _keywords(arguments), Page()
    # Created once, so that its limits apply to all questions together.
    keywords["llm"] = make_language_model(arguments["llm"], options=models)
    path = knowledge_base_path(arguments["kb"])
    tuning = arguments["tuning"] or None
    with KnowledgeBase(path, create=False, models=models, tuning=tuning) as knowledge_base:

        def answer(question: str, thread_id: str) -> None:
            _draw(knowledge_base, question, {**keywords, "thread": thread_id}, page)

        chat = Chat(knowledge_base, answer, page=page, thread_id=arguments["thread"])
        return chat.run()


class _AskKeywords(TypedDict):
    """Arguments of `KnowledgeBase.ask` other than the question."""

    llm: str | LanguageModel
    documents: Sequence[str] | None
    where: str | None
    options: AnswerOptions
    write_queries: bool
    query_options: QueryOptions
    rerank: str | None
    thread: str | None


def _keywords(arguments: _AskOptions) -> _AskKeywords:
    return {
        "llm": arguments["llm"],
        "documents": arguments["document"] or None,
        "where": arguments["where"],
        "options": AnswerOptions(
            budget_tokens=arguments["budget"],
            excerpts=arguments["excerpts"],
            excerpt_tokens=arguments["excerpt_tokens"],
            guidance=arguments["guidance"],
            abstain=arguments["abstain"],
        ),
        "write_queries": not arguments["no_write_queries"],
        "query_options": QueryOptions(queries=arguments["queries"]),
        "rerank": arguments["rerank"] or None,
        "thread": arguments["thread"],
    }


def _draw(
    knowledge_base: KnowledgeBase, question: str, keywords: _AskKeywords, page: Page
) -> Answer:
    """Write the answer as it arrives, then its citations."""
    text = AnswerText(page)
    stream = knowledge_base.ask_stream(question, **keywords)
    with waiting("searching and waiting for the model"):
        first = next(stream, "")
    text.write(first)
    for piece in stream:
        text.write(piece)
    text.end()
    draw_notes(stream.answer, page)
    return stream.answer
