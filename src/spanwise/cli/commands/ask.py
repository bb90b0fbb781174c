"""`spanwise ask`: answer a question with checked citations."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
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
from spanwise.cli.failures import ExitCode
from spanwise.cli.knowledge_bases import open_knowledge_bases
from spanwise.cli.layout import Page, clean, columns, count, duration, one_line, shortened
from spanwise.cli.output import write_json
from spanwise.cli.pager import pager_option
from spanwise.cli.progress import waiting
from spanwise.cli.query_arguments import draw_queries
from spanwise.cli.search_arguments import deep_option, question_text, spread_option
from spanwise.config import knowledge_base_path, model_options
from spanwise.errors import ModelError, ModelKeyError, OptionError
from spanwise.options import AnswerOptions, QueryOptions

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ports import LanguageModel
    from spanwise.options import Spread
    from spanwise.types import Answer, AnswerCitation, Thread, ThreadInfo


_PART = re.compile(r"\n|[^\S\n]+|\S+")
_MIN_SIMILARITY = 0.5  # minimum similarity that is shown for a quote that was not found
_UNVERIFIED_MARK = re.compile(r"(\[\d*\?\])")
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
    for cited in answer.citations:
        _draw_citation(cited, page)
    page.line()
    for conflict in answer.conflicts:
        page.message("conflict: ", conflict, "yellow")
    for warning in answer.warnings:
        page.message("warning: ", warning, "yellow")
    draw_queries(answer, page)
    page.wrapped(page.joined([answer.model, duration(sum(answer.seconds.values()))]), "dim")


def _draw_citation(cited: AnswerCitation, page: Page) -> None:
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


_PROMPT = "> "
_HELP = """\
/new         start a new conversation
/threads     list the stored conversations
/thread ID   continue a stored conversation
/quit        end the program (or press Ctrl-D); Ctrl-C cancels an answer"""


class Chat:
    """Interactive loop of questions and answers."""

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        answer: Callable[[str, str], object],
        *,
        page: Page,
        thread_id: str | None,
    ) -> None:
        """Create the loop.

        Args:
            knowledge_base: Knowledge base that stores the conversations.
            answer: Function that writes the answer to a question; takes the question and the id of
                the conversation.
            page: Output page.
            thread_id: Id of the conversation to continue; None to start a new one.
        """
        from spanwise.answers.stored_threads import new_thread_id

        self._knowledge_base = knowledge_base
        self._new_thread_id = new_thread_id
        self._answer = answer
        self._page = page
        self._thread_id = thread_id or new_thread_id()
        self._is_terminal = sys.stdin.isatty()
        self._failed = False

    def run(self) -> ExitCode:
        """Answer all questions; return ERROR if one failed and the input is a pipe."""
        if self._is_terminal:
            self._greet()
        for line in _typed_lines() if self._is_terminal else _piped_lines(self._page):
            if line in ("/quit", "/exit"):
                break
            if line.startswith("/"):
                self._run_command(*line.split(maxsplit=1))
            else:
                self._ask(line)
        if self._is_terminal:
            self._show_thread_id()
        return ExitCode.ERROR if self._failed and not self._is_terminal else ExitCode.OK

    def _turns(self) -> int:
        """Return the number of turns of the conversation, 0 for a new one."""
        infos = self._knowledge_base.threads.list()
        return next((info.turns for info in infos if info.id == self._thread_id), 0)

    def _greet(self) -> None:
        turns = self._turns()
        state = f"continued after {count(turns, 'turn')}" if turns else "new conversation"
        self._page.wrapped(f"{self._thread_id}: {state}; type /help for commands", "dim")

    def _show_thread_id(self) -> None:
        if self._turns():
            self._page.wrapped(
                f"stored; continue with `spanwise ask --chat --thread {self._thread_id}`", "dim"
            )

    def _run_command(self, command: str, argument: str = "") -> None:
        if command == "/new":
            self._thread_id = self._new_thread_id()
            self._greet()
        elif command == "/thread" and argument:
            self._continue(argument.strip())
        elif command == "/threads":
            draw_threads(self._knowledge_base.threads.list(), self._page)
        elif command == "/help":
            self._page.body(_HELP)
        else:
            self._page.message("unknown: ", f"{command}; type /help for commands", "yellow")

    def _continue(self, thread_id: str) -> None:
        if any(info.id == thread_id for info in self._knowledge_base.threads.list()):
            self._thread_id = thread_id
            self._greet()
        else:
            message = f"no conversation has the id {thread_id!r}; /threads lists them"
            self._page.message("unknown: ", message, "yellow")

    def _ask(self, question: str) -> None:
        try:
            self._answer(question, self._thread_id)
        except KeyboardInterrupt:
            if not self._is_terminal:
                raise
            self._page.line()
            self._page.message("stopped: ", "this answer is not stored", "yellow")
        except ModelKeyError:
            raise
        except (ModelError, OptionError) as error:
            self._failed = True
            self._page.line()
            self._page.message("failed: ", str(error), "red")
        self._page.line()
        self._page.flush()


def _typed_lines() -> Iterator[str]:
    """Yield the non-empty lines typed on the terminal."""
    with suppress(ImportError):  # line editing, where the platform has it
        import readline  # noqa: F401
    while True:
        try:
            line = input(_PROMPT).strip()
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            continue
        except EOFError:
            sys.stdout.write("\n")
            return
        if line:
            yield line


def _piped_lines(page: Page) -> Iterator[str]:
    """Yield the non-empty lines of standard input; echo each line first."""
    for line in sys.stdin:
        if line.strip():
            page.line(page.paint(f"{_PROMPT}{one_line(line)}", "bold", "cyan"))
            page.line()
            yield line.strip()


class _AskOptions(TypedDict):
    question: tuple[str, ...]
    kb: tuple[str, ...]
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
    no_deep: bool
    spread: Spread
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
@knowledge_bases_option
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


def _chat(arguments: _AskOptions) -> ExitCode:
    """Answer questions until the input ends."""
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
    tuning = arguments["tuning"] or None
    with open_knowledge_bases(arguments["kb"], models=models, tuning=tuning) as knowledge_base:

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
            deep=not arguments["no_deep"],
            spread=arguments["spread"],
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
