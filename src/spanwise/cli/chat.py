"""Chat on a terminal or from a pipe, with one question per line.

Rules:
    On a terminal, Ctrl-C cancels the current answer; Ctrl-D and `/quit` end the program.
    After a failed question the chat continues; an error that would fail every question ends it.
    Only complete answers are stored.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from spanwise.answers.stored_threads import new_thread_id
from spanwise.cli.answer_layout import draw_threads
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, count, one_line
from spanwise.errors import ModelError, ModelKeyError, OptionError

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase


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
        self._knowledge_base = knowledge_base
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
            self._thread_id = new_thread_id()
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
