"""`spanwise ask`: answer a question with checked citations."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from spanwise.cli.arguments import (
    as_document_id,
    complete_document_ids,
    json_option,
    knowledge_base_option,
    knowledge_bases_option,
    llm_option,
    max_cost_option,
    tuning_option,
    where_option,
)
from spanwise.cli.command_classes import ExampleCommand, ExampleGroup
from spanwise.cli.failures import MEANINGS, ExitCode
from spanwise.cli.knowledge_bases import open_knowledge_bases
from spanwise.cli.layout import Page, columns, count, duration, one_line, shortened
from spanwise.cli.output import write_json
from spanwise.cli.pager import pager_option
from spanwise.cli.progress import waiting
from spanwise.cli.query_arguments import draw_queries
from spanwise.cli.search_arguments import (
    PRESET_NAMES,
    deep_option,
    method_option,
    question_text,
    spread_option,
)
from spanwise.config import knowledge_base_path, model_options
from spanwise.core.text.controls import clean
from spanwise.options import AnswerOptions, QueryOptions, method_options

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel
    from spanwise.options import Spread
    from spanwise.types import Answer, AnswerCalculation, AnswerCitation, Thread, ThreadInfo


_PART = re.compile(r"\n|[^\S\n]+|\S+")
_MIN_SIMILARITY = 0.5  # minimum similarity that is shown for a quote that was not found
_UNVERIFIED_MARK = re.compile(r"(\[(?:\d*\?|!)\])")
_MIN_TITLE_COLUMNS = 20


class AnswerText:
    """Writer of a streamed answer, wrapped at the page width.

    Each piece must end at a word boundary and is written at once. Unverified citation marks are
    red.
    """

    def __init__(self, page: Page) -> None:
        """Create a writer to an output page."""
        self._page = page
        self._column = 0
        self._space = ""

    def write(self, piece: str) -> None:
        """Write one piece of the answer."""
        for part in _PART.findall(clean(piece)):
            if part == "\n":
                self._page.write("\n")
                self._column, self._space = 0, ""
            elif part.isspace():
                self._space = " " if self._column else ""
            else:
                self._write_word(part)
        self._page.flush()

    def end(self) -> None:
        """End the last line."""
        if self._column:
            self._page.line()
            self._column = 0

    def _write_word(self, word: str) -> None:
        width = columns(word)
        if self._column and self._column + len(self._space) + width > self._page.width:
            self._page.write("\n")
            self._column, self._space = 0, ""
        painted = _UNVERIFIED_MARK.sub(lambda match: self._page.paint(match.group(), "red"), word)
        self._page.write(self._space + painted)
        self._column += len(self._space) + width
        self._space = ""


def draw_notes(answer: Answer, page: Page) -> None:
    """Write the citations, warnings, queries and usage below the text of an answer."""
    if answer.standalone:
        page.line()
        page.wrapped(f"understood as: {answer.standalone}", "dim", hang="    ")
    for cited in answer.citations:
        draw_citation(cited, page)
    page.line()
    for calculation in answer.calculations:
        _draw_calculation(calculation, page)
    if answer.assumed:
        page.message("assumed: ", answer.assumed, "yellow")
    for conflict in answer.conflicts:
        page.message("conflict: ", conflict, "yellow")
    for warning in answer.warnings:
        page.message("warning: ", warning, "yellow")
    draw_queries(answer, page)
    page.wrapped(page.joined([answer.model, duration(sum(answer.seconds.values()))]), "dim")


def _draw_calculation(calculation: AnswerCalculation, page: Page) -> None:
    styles = ("red",) if calculation.problem else ()
    page.wrapped(str(calculation), *styles, hang="    ")


def draw_citation(cited: AnswerCitation, page: Page) -> None:
    """Write the place and the quote of a citation."""
    page.line()
    if cited.citation is None:
        is_similar = cited.similarity >= _MIN_SIMILARITY
        similarity = f"; {cited.similarity:.0%} of its words match" if is_similar else ""
        page.line(page.paint(f"{cited.mark} not found in the text{similarity}", "red"))
    else:
        place = one_line(str(cited.citation))
        is_near = cited.status == "near"
        nearly = f" (similar: {cited.similarity:.0%} of the words match)" if is_near else ""
        page.wrapped(f"{cited.mark} {place}{nearly}", "bold", hang="    ")
    styles = () if cited.verified else ("red",)
    page.wrapped(f'"{cited.quote}"', *styles, indent="    ")


def _minutes(timestamp: str) -> str:
    """Return an ISO 8601 timestamp to the minute: "2026-03-01 09:15"."""
    return one_line(timestamp[:16].replace("T", " "))


def draw_threads(infos: Sequence[ThreadInfo], page: Page) -> None:
    """Write one line per conversation: id, time of the last turn, turns and first question."""
    ids = [one_line(info.id) for info in infos]
    widest = max(map(columns, ids), default=0)
    for thread_id, info in zip(ids, infos, strict=True):
        when = f"{_minutes(info.changed_at)}  {count(info.turns, 'turn').rjust(8)}"
        room = max(_MIN_TITLE_COLUMNS, page.width - widest - len(when) - 4)
        padded = thread_id + " " * (widest - columns(thread_id))
        page.line(
            f"{page.paint(padded, 'bold')}  {page.paint(when, 'dim')}  "
            f"{shortened(one_line(info.title), room)}"
        )


def draw_thread(thread: Thread, page: Page) -> None:
    """Write each turn of a conversation: question, answer and citations."""
    for turn in thread.turns:
        page.wrapped(f"> {turn.question}", "bold", "cyan")
        page.line(page.paint(_minutes(turn.asked_at), "dim"))
        page.line()
        text = AnswerText(page)
        text.write(turn.answer.text)
        text.end()
        draw_notes(turn.answer, page)
        page.line()


class _AskOptions(TypedDict):
    question: tuple[str, ...]
    kb: tuple[str, ...]
    llm: str
    query_llm: str
    budget: int
    method: str
    preset: str | None
    temperature: float
    excerpts: int
    excerpt_tokens: int
    queries: int
    rounds: int
    no_write_queries: bool
    rerank: str
    guidance: str
    document: tuple[str, ...]
    where: str | None
    tuning: str
    abstain: bool
    no_deep: bool
    spread: Spread
    max_cost: float | None
    thread: str | None
    fresh: bool
    send_page_images: bool
    chat: bool
    each: bool
    dry_run: bool
    yes: bool
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
        (
            "write the queries with a cheaper model",
            'spanwise ask "What are the fees?" --query-llm openai:gpt-5-nano',
        ),
        ("start a conversation", "spanwise ask --chat --llm ollama:qwen3"),
        (
            "put a question to each document, and list those that answer it",
            'spanwise ask --each "Which contracts allow termination for convenience?"',
        ),
    ],
    exit_codes={
        ExitCode.SOME_FAILED: "with --each: some documents failed, or the cost limit was reached",
        ExitCode.NOTHING_FOUND: MEANINGS[ExitCode.NOTHING_FOUND],
    },
)
@click.argument("question", metavar="[QUESTION]", nargs=-1)
@llm_option()
@click.option(
    "--query-llm",
    metavar="MODEL",
    default="",
    help='Language model that writes the queries, such as "openai:gpt-5-nano". Default: that of '
    "--llm.",
)
@knowledge_bases_option()
@click.option(
    "--budget",
    metavar="TOKENS",
    type=click.IntRange(min=1),
    default=AnswerOptions().budget_tokens,
    show_default=True,
    help="Maximum tokens of the segments that the model reads.",
)
@method_option
@click.option(
    "--preset",
    metavar="NAME",
    type=click.Choice(PRESET_NAMES),
    help="Segment length, as in `search`: precise, balanced (the default) or comprehensive. With "
    "--method greedy: dsrag-balanced (its default), dsrag-precision, dsrag-find-all.",
)
@click.option(
    "--temperature",
    metavar="NUMBER",
    type=click.FloatRange(min=0, max=2),
    default=AnswerOptions().temperature,
    show_default=True,
    help="Sampling temperature of the answer.",
)
@click.option(
    "--excerpts",
    metavar="NUMBER",
    type=click.IntRange(min=0, max=32),
    default=0,
    help="Answer from this many long excerpts instead of segments: the model reads each one "
    "separately and combines the results. Useful for hard questions. Default: 0, segments.",
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
    "--rounds",
    metavar="NUMBER",
    type=click.IntRange(min=1, max=2),
    default=AnswerOptions().rounds,
    show_default=True,
    help="Maximum number of searches. With 2, the model searches again for what the answer says is "
    "missing, and adds what it finds. Costs up to two more calls.",
)
@click.option(
    "--no-write-queries",
    is_flag=True,
    help="Search for the question only, in one round. Saves at least one model call.",
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
    help="Refuse to answer, without calling the model, if the search finds too little evidence.",
)
@deep_option
@spread_option
@tuning_option
@max_cost_option("Maximum cost of the answer in US dollars. Default: the setting llm.max_cost.")
@click.option(
    "--thread",
    metavar="ID",
    help="Conversation to continue, or to start under this id. The model sees its earlier turns; "
    "the answer is stored in it.",
)
@click.option(
    "--send-page-images",
    is_flag=True,
    help="Send images of up to four PDF pages that are tables or scans, to a model that accepts "
    "images. Costs up to 2,500 tokens for each.",
)
@click.option(
    "--fresh",
    is_flag=True,
    help="Call the models again, even if their outputs are cached, and replace the cached outputs.",
)
@click.option(
    "--chat",
    is_flag=True,
    help="Start an interactive conversation, or read one question per line from standard input. "
    "Type /help for its commands.",
)
@click.option(
    "--each",
    is_flag=True,
    help="Put the question to each document separately, and list the documents that answer it. "
    "The estimated cost is shown first. --budget is then the maximum tokens per document, 4000 by "
    "default.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="With --each: estimate calls, tokens and cost without calling any language model.",
)
@click.option(
    "--yes",
    "-y",
    is_flag=True,
    help="With --each: do not ask for confirmation. No confirmation is needed with a cost limit, "
    "for a free model, or if the command does not run on a terminal.",
)
@json_option
def ask(**arguments: Unpack[_AskOptions]) -> ExitCode:
    """Answer a question from the documents, with a language model.

    Every statement has a citation mark. [1] is a quote that was found in the stored text; its
    document, page and character range are listed below the answer. [1?] is a quote that was not
    found. [?] is a statement without a quote. [!] follows a number, date or name that the quotes of
    its statement do not contain. Calculations are computed by Spanwise from the quoted numbers and
    listed below the citations. If the documents contain no answer, the output lists the queries
    that were searched.
    """
    if arguments["each"]:
        return _each(arguments)
    for name in ("dry_run", "yes"):
        if arguments[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} is of no use without --each")
    if arguments["chat"]:
        return _chat(arguments)
    if not arguments["question"]:
        raise click.UsageError("the question is missing; give one in quotes, or use --chat")
    question = question_text(arguments["question"])
    models = model_options(max_cost=arguments["max_cost"])
    tuning = arguments["tuning"] or None
    with open_knowledge_bases(arguments["kb"], models=models, tuning=tuning) as knowledge_base:
        if arguments["as_json"]:
            answer = knowledge_base.ask(question, **_keywords(arguments))
            # Wall times are left out as in a search; `usage` differs between runs.
            fields = {name: value for name, value in answer.to_dict().items() if name != "seconds"}
            write_json(fields, sys.stdout)
        else:
            answer = _draw(knowledge_base, question, _keywords(arguments), Page())
    return ExitCode.NOTHING_FOUND if answer.refused else ExitCode.OK


def _each(arguments: _AskOptions) -> ExitCode:
    """Put a question to each document."""
    from spanwise.cli.commands.ask_each import check_options, given_budget, run_each

    check_options()
    if not arguments["question"]:
        raise click.UsageError("the question is missing; give one in quotes")
    models = model_options(max_cost=arguments["max_cost"])
    tuning = arguments["tuning"] or None
    with open_knowledge_bases(arguments["kb"], models=models, tuning=tuning) as knowledge_base:
        return run_each(
            knowledge_base,
            question_text(arguments["question"]),
            {
                "llm": arguments["llm"],
                "query_llm": arguments["query_llm"] or None,
                "documents": arguments["document"] or None,
                "where": arguments["where"],
                "options": AnswerOptions(
                    budget_tokens=given_budget(arguments["budget"]),
                    guidance=arguments["guidance"],
                    temperature=arguments["temperature"],
                    abstain=arguments["abstain"],
                ),
                "write_queries": not arguments["no_write_queries"],
                "query_options": QueryOptions(queries=arguments["queries"]),
                "fresh": arguments["fresh"],
            },
            dry_run=arguments["dry_run"],
            asks=not arguments["yes"] and models.max_cost is None,
            as_json=arguments["as_json"],
        )


def _chat(arguments: _AskOptions) -> ExitCode:
    """Answer questions until the input ends."""
    from spanwise.cli.commands.chat import Chat, ChatScope
    from spanwise.models.registry import make_language_model

    if len(arguments["kb"]) > 1:
        raise click.UsageError(
            f"--chat cannot be combined with {len(arguments['kb'])} knowledge bases, because a "
            "conversation is stored in one; give one --kb"
        )
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
    if arguments["query_llm"]:
        keywords["query_llm"] = make_language_model(arguments["query_llm"], options=models)
    tuning = arguments["tuning"] or None
    with open_knowledge_bases(arguments["kb"], models=models, tuning=tuning) as knowledge_base:

        def answer(question: str, thread_id: str, scope: ChatScope) -> None:
            chosen: _AskKeywords = {**keywords, **scope, "thread": thread_id}
            _draw(knowledge_base, question, chosen, page)

        scope = ChatScope(documents=keywords["documents"], where=keywords["where"])
        thread_id = arguments["thread"]
        return Chat(knowledge_base, answer, page=page, thread_id=thread_id, scope=scope).run()


class _AskKeywords(TypedDict):
    """Arguments of `KnowledgeBase.ask` other than the question."""

    llm: str | LanguageModel
    query_llm: str | LanguageModel | None
    documents: Sequence[str] | None
    where: str | None
    options: AnswerOptions
    write_queries: bool
    query_options: QueryOptions
    rerank: str | None
    thread: str | None
    fresh: bool


def _keywords(arguments: _AskOptions) -> _AskKeywords:
    if arguments["query_llm"] and arguments["no_write_queries"]:
        raise click.UsageError("--query-llm is of no use with --no-write-queries")
    segments, published = method_options(arguments["method"], preset=arguments["preset"])
    return {
        "llm": arguments["llm"],
        "query_llm": arguments["query_llm"] or None,
        "documents": arguments["document"] or None,
        "where": arguments["where"],
        "options": AnswerOptions(
            budget_tokens=arguments["budget"],
            segments=segments,
            published=published,
            temperature=arguments["temperature"],
            rounds=arguments["rounds"],
            page_images="auto" if arguments["send_page_images"] else "off",
            excerpts=arguments["excerpts"],
            excerpt_tokens=arguments["excerpt_tokens"],
            guidance=arguments["guidance"],
            abstain=arguments["abstain"],
            deep=not arguments["no_deep"],
            spread=arguments["spread"],
        ),
        "write_queries": not arguments["no_write_queries"],
        "query_options": QueryOptions(queries=arguments["queries"]),
        "rerank": arguments["rerank"] or None,
        "thread": arguments["thread"],
        "fresh": arguments["fresh"],
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


@click.group(
    cls=ExampleGroup,
    short_help="List, show and remove conversations.",
    examples=[
        ("list all conversations", "spanwise threads list"),
        ("show one conversation with its answers", "spanwise threads show 20260301-091500-4f2a9c"),
    ],
)
def threads() -> None:
    """Manage the conversations of `spanwise ask --chat` and `--thread`."""


@threads.command(
    "list",
    cls=ExampleCommand,
    short_help="List the conversations.",
    examples=[
        ("list the conversations of a knowledge base", "spanwise threads list --kb reports.kb")
    ],
)
@knowledge_base_option
@json_option
def list_threads(*, kb: str | None, as_json: bool) -> ExitCode:
    """List the conversations, most recent first."""
    with _opened(kb) as knowledge_base:
        infos = knowledge_base.threads.list()
    if as_json:
        write_json({"threads": infos}, sys.stdout)
        return ExitCode.OK
    page = Page()
    draw_threads(infos, page)
    if not infos:
        page.line("no conversations; start one with `spanwise ask --chat`")
    return ExitCode.OK


@threads.command(
    cls=ExampleCommand,
    short_help="Show a conversation.",
    examples=[
        ("show questions, answers and citations", "spanwise threads show 20260301-091500-4f2a9c"),
        ("write JSON", "spanwise threads show 20260301-091500-4f2a9c --json"),
    ],
    exit_codes=(ExitCode.NOTHING_FOUND,),
)
@click.argument("thread_id", metavar="ID")
@knowledge_base_option
@pager_option
@json_option
def show(*, thread_id: str, kb: str | None, as_json: bool) -> ExitCode:
    """Show each turn of a conversation: question, answer, citations and usage."""
    with _opened(kb) as knowledge_base:
        thread = knowledge_base.threads.get(thread_id)
    if as_json:
        write_json(thread, sys.stdout)
    else:
        draw_thread(thread, Page())
    return ExitCode.OK


@threads.command(
    cls=ExampleCommand,
    short_help="Remove conversations.",
    examples=[("remove one conversation", "spanwise threads remove 20260301-091500-4f2a9c")],
    exit_codes=(ExitCode.NOTHING_FOUND,),
)
@click.argument("thread_ids", metavar="ID...", nargs=-1, required=True)
@knowledge_base_option
@json_option
def remove(*, thread_ids: tuple[str, ...], kb: str | None, as_json: bool) -> ExitCode:
    """Remove conversations with all their turns. Documents are not changed."""
    removed: list[str] = []
    not_found: list[str] = []
    with _opened(kb) as knowledge_base:
        for thread_id in dict.fromkeys(thread_ids):
            existed = knowledge_base.threads.remove(thread_id)
            (removed if existed else not_found).append(thread_id)
    if as_json:
        write_json({"removed": removed, "not_found": not_found}, sys.stdout)
    else:
        Page().line(f"{count(len(removed), 'conversation')} removed")
        errors = Page(sys.stderr)
        for thread_id in not_found:
            errors.message("not found: ", thread_id, "red")
    return ExitCode.NOTHING_FOUND if not_found else ExitCode.OK


def _opened(kb: str | None) -> KnowledgeBase:
    from spanwise.knowledge_base import KnowledgeBase

    return KnowledgeBase(knowledge_base_path(kb), create=False)
