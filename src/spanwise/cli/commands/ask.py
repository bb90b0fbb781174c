"""`spanwise ask`: the answer to a question, every quote of it checked."""

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
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page
from spanwise.cli.progress import waiting
from spanwise.cli.search_arguments import asked_question
from spanwise.cli.usage_errors import TeachingCommand
from spanwise.config import knowledge_base_path, model_options
from spanwise.options import AnswerOptions, QueryOptions

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.knowledge_base.answering import AskArguments
    from spanwise.types import Answer


class _AskingArguments(TypedDict):
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
    max_cost: float | None
    thread: str | None
    chat: bool
    as_json: bool


@click.command(
    cls=TeachingCommand,
    short_help="Answer a question, every quote checked.",
    examples=[
        (
            "an answer with citations",
            'spanwise ask "Why did the margin fall in 2018?" --llm openai:gpt-5-mini',
        ),
        (
            "a hard question: six long excerpts are read one by one, and combined",
            'spanwise ask "How did the risks change over the years?" --excerpts 6',
        ),
        (
            "for a program, and for five cents at most",
            'spanwise ask "What are the fees?" -d msa.pdf --json --max-cost 0.05',
        ),
        ("a conversation, kept in the knowledge base", "spanwise ask --chat --llm ollama:qwen3"),
    ],
    exit_codes=(
        ExitCode.OK,
        ExitCode.ERROR,
        ExitCode.USAGE,
        ExitCode.NOTHING_FOUND,
    ),
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
    help="Most tokens of the segments that the model reads.",
)
@click.option(
    "--excerpts",
    metavar="NUMBER",
    type=click.IntRange(min=0, max=32),
    default=0,
    help="Read so many longer excerpts one by one, several at once, and combine what each of them "
    "says: for hard questions.",
)
@click.option(
    "--excerpt-tokens",
    metavar="TOKENS",
    type=click.IntRange(min=1),
    default=AnswerOptions().excerpt_tokens,
    show_default=True,
    help="Most tokens of each excerpt.",
)
@click.option(
    "--queries",
    metavar="NUMBER",
    type=click.IntRange(min=1, max=6),
    default=QueryOptions().queries,
    show_default=True,
    help="How many further queries the model writes, at most.",
)
@click.option(
    "--no-write-queries",
    is_flag=True,
    help="Search for the question alone; it saves a call.",
)
@click.option(
    "--rerank",
    metavar="MODEL",
    default="",
    help='Reranker, such as "cohere:rerank-v3.5". Without it the setting rerank.model counts.',
)
@click.option("--guidance", metavar="TEXT", default="", help="How to answer, for the model.")
@click.option(
    "--document",
    "-d",
    multiple=True,
    metavar="ID",
    type=as_document_id,
    shell_complete=complete_document_ids,
    help="Answer from this document alone; repeat for more.",
)
@where_option
@tuning_option
@max_cost_option("Most US dollars that the answer may cost.")
@click.option(
    "--thread",
    metavar="ID",
    help="Conversation that the question follows, or begins: what was said in it is told to the "
    "model, and the answer is kept in it.",
)
@click.option(
    "--chat",
    is_flag=True,
    help="Ask one question after the other, on a terminal or as lines of standard input; /help "
    "says more.",
)
@json_option
def ask(**arguments: Unpack[_AskingArguments]) -> ExitCode:
    """Answer a question from the documents alone, with a language model.

    Each statement cites: [1] stands for a quote that was found in the stored text, with its
    document, page and characters below; [1?] for one that was not found; [?] for none. Where the
    documents hold no answer, it says what was searched.
    """
    from spanwise.knowledge_base import KnowledgeBase

    if arguments["chat"]:
        return _chat(arguments)
    if not arguments["question"]:
        raise click.UsageError("there is no question; give one in quotes, or --chat")
    question = asked_question(arguments["question"])
    models = model_options(max_cost=arguments["max_cost"])
    path = knowledge_base_path(arguments["kb"])
    tuning = arguments["tuning"] or None
    with KnowledgeBase(path, create=False, models=models, tuning=tuning) as knowledge_base:
        if arguments["as_json"]:
            answer = knowledge_base.ask(question, **_keywords(arguments))
            # Wall times are left out, as of a search; `usage` says what this run took.
            fields = {name: value for name, value in answer.to_dict().items() if name != "seconds"}
            write_json(fields, sys.stdout)
        else:
            answer = _draw(knowledge_base, question, _keywords(arguments), Page())
    return ExitCode.NOTHING_FOUND if answer.refused else ExitCode.OK


def _chat(arguments: _AskingArguments) -> ExitCode:
    """Ask and answer until there is no further question."""
    from spanwise.cli.chat import Chat
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.registry import make_language_model

    if arguments["question"] or arguments["as_json"]:
        raise click.UsageError("--chat asks for the questions itself, and draws the answers")
    if not arguments["llm"]:
        raise click.UsageError(
            "--chat needs a language model; name one by --llm vendor:model, or set llm.model"
        )
    models = model_options(max_cost=arguments["max_cost"])
    keywords, page = _keywords(arguments), Page()
    # Made once: its limits are those of all questions together.
    keywords["llm"] = make_language_model(arguments["llm"], options=models)
    path = knowledge_base_path(arguments["kb"])
    tuning = arguments["tuning"] or None
    with KnowledgeBase(path, create=False, models=models, tuning=tuning) as knowledge_base:

        def answer(question: str, thread_id: str) -> None:
            _draw(knowledge_base, question, {**keywords, "thread": thread_id}, page)

        chat = Chat(knowledge_base, answer, page=page, thread_id=arguments["thread"])
        return chat.run()


def _keywords(arguments: _AskingArguments) -> AskArguments:
    """Return what `KnowledgeBase.ask` takes."""
    return {
        "llm": arguments["llm"],
        "documents": arguments["document"] or None,
        "where": arguments["where"],
        "options": AnswerOptions(
            budget_tokens=arguments["budget"],
            excerpts=arguments["excerpts"],
            excerpt_tokens=arguments["excerpt_tokens"],
            guidance=arguments["guidance"],
        ),
        "write_queries": not arguments["no_write_queries"],
        "query_options": QueryOptions(queries=arguments["queries"]),
        "rerank": arguments["rerank"] or None,
        "thread": arguments["thread"],
    }


def _draw(
    knowledge_base: KnowledgeBase, question: str, keywords: AskArguments, page: Page
) -> Answer:
    """Write the answer while it is being written, then what it cites."""
    text = AnswerText(page)
    stream = knowledge_base.ask_stream(question, **keywords)
    with waiting("searching, and asking the model"):
        first = next(stream, "")
    text.write(first)
    for piece in stream:
        text.write(piece)
    text.end()
    draw_notes(stream.answer, page)
    return stream.answer
