"""Interactive conversation of `spanwise ask --chat`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypedDict

from spanwise.cli.commands.ask import draw_threads
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, count, one_line
from spanwise.errors import (
    DocumentNotFoundError,
    FilterError,
    ModelError,
    ModelKeyError,
    OptionError,
)

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase


_PROMPT = "> "
_HELP = """\
/new         start a new conversation
/threads     list the stored conversations
/thread ID   continue a stored conversation
/documents ID ...
             answer only from these documents; without an id, from all
/where FILTER
             answer only from documents that pass the filter; without
             one, from all
/quit        end the program (or press Ctrl-D); Ctrl-C cancels an answer
[2] in a question refers to citation 2 of the last answer that has one."""


class ChatScope(TypedDict):
    """Documents that the next questions are restricted to."""

    documents: Sequence[str] | None
    """Ids of documents; None for all."""
    where: str | None
    """Metadata filter; None for no filter."""


class Chat:
    """Interactive loop of questions and answers."""

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        answer: Callable[[str, str, ChatScope], object],
        *,
        page: Page,
        thread_id: str | None,
        scope: ChatScope | None = None,
    ) -> None:
        """Create the loop.

        Args:
            knowledge_base: Knowledge base that stores the conversations.
            answer: Function that writes the answer to a question; takes the question, the id of
                the conversation and the documents to search.
            page: Output page.
            thread_id: Id of the conversation to continue; None to start a new one.
            scope: Documents to search. None, or all documents, for those of the last turn of the
                conversation.
        """
        from spanwise.answers.stored_threads import new_thread_id

        self._knowledge_base = knowledge_base
        self._new_thread_id = new_thread_id
        self._answer = answer
        self._page = page
        self._thread_id = thread_id or new_thread_id()
        self._is_terminal = sys.stdin.isatty()
        self._failed = False
        self._scope = scope or ChatScope(documents=None, where=None)
        if not self._is_restricted():
            self._restore_scope()

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
        if self._is_restricted():
            self._show_scope()

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
        elif command == "/documents":
            self._choose_documents(argument)
        elif command == "/where":
            self._choose_filter(argument.strip())
        elif command == "/help":
            self._page.body(_HELP)
        else:
            self._page.message("unknown: ", f"{command}; type /help for commands", "yellow")

    def _continue(self, thread_id: str) -> None:
        if any(info.id == thread_id for info in self._knowledge_base.threads.list()):
            self._thread_id = thread_id
            self._restore_scope()
            self._greet()
        else:
            message = f"no conversation has the id {thread_id!r}; /threads lists them"
            self._page.message("unknown: ", message, "yellow")

    def _is_restricted(self) -> bool:
        return self._scope["documents"] is not None or self._scope["where"] is not None

    def _restore_scope(self) -> None:
        """Select the documents of the last turn, without documents and filters that are gone."""
        self._scope = ChatScope(documents=None, where=None)
        if not self._turns():
            return
        turn = self._knowledge_base.threads.get(self._thread_id).turns[-1]
        existing = {record.id for record in self._knowledge_base.list()}
        for name in turn.documents or ():
            if name not in existing:
                self._page.message("removed: ", f"the document {name!r} no longer exists", "yellow")
        kept = tuple(name for name in turn.documents or () if name in existing)
        self._scope["documents"] = kept or None
        self._choose_filter(turn.where, shows=False)
        if (turn.documents or turn.where) and not self._is_restricted():
            self._show_scope()

    def _choose_documents(self, argument: str) -> None:
        """Answer from these documents from now on; from all if none is named."""
        try:
            names = shlex.split(argument)
        except ValueError as error:
            self._page.message("unknown: ", f"{argument}: {error}", "yellow")
            return
        try:
            for name in names:
                self._knowledge_base.record(name)
        except DocumentNotFoundError as error:
            self._page.message("unknown: ", str(error), "yellow")
        else:
            self._scope["documents"] = tuple(names) or None
        self._show_scope()

    def _choose_filter(self, where: str, *, shows: bool = True) -> None:
        """Answer from documents that pass a filter from now on; from all if it is empty."""
        try:
            fault = self._knowledge_base.filter_warning(where or None)
        except FilterError as error:
            fault = str(error)
        if fault:
            self._page.message("unknown: ", fault, "yellow")
        else:
            self._scope["where"] = where or None
        if shows:
            self._show_scope()

    def _show_scope(self) -> None:
        """Write which documents are searched."""
        documents, where = self._scope["documents"], self._scope["where"]
        records = self._knowledge_base.list(where)
        number = sum(documents is None or record.id in documents for record in records)
        parts = [] if documents is None else [", ".join(map(one_line, documents))]
        if where:
            parts.append(f"where {where}" if parts else f"documents where {where}")
        words = f"only from {' '.join(parts)}" if parts else "from all documents"
        self._page.wrapped(f"answers {words} ({count(number, 'document')})", "dim")

    def _ask(self, question: str) -> None:
        try:
            self._answer(question, self._thread_id, self._scope)
        except KeyboardInterrupt:
            if not self._is_terminal:
                raise
            self._page.line()
            self._page.message("stopped: ", "this answer is not stored", "yellow")
        except ModelKeyError:
            raise
        except (ModelError, OptionError, DocumentNotFoundError) as error:
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
