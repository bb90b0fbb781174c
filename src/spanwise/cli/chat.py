"""A conversation on a terminal, or out of a pipe, a question a line.

Rules:
    On a terminal Ctrl-C ends the answer that is being written, not the program; Ctrl-D and `/quit`
    end it.
    A question that fails is said, and the next one is asked; what would fail every question ends
    the program.
    Each answer is kept when it is whole: what is broken off leaves no trace.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from spanwise.cli.answer_layout import draw_threads
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, count, one_line
from spanwise.errors import ModelError, ModelKeyError, OptionError
from spanwise.knowledge_base.threads import new_thread_id

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase


_PROMPT = "> "
_HELP = """\
/new         begins another conversation
/threads     lists the conversations that are kept
/thread ID   goes on with one of them
/quit        ends, as Ctrl-D does; Ctrl-C ends an answer"""


class Chat:
    """Asks and answers until there is no further question."""

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        answer: Callable[[str, str], object],
        *,
        page: Page,
        thread_id: str | None,
    ) -> None:
        """Take what is talked about, and how.

        Args:
            knowledge_base: Where conversations are kept.
            answer: Writes the answer to a question in the conversation with an id.
            page: Where all else is written.
            thread_id: Conversation to go on with; None to begin one.
        """
        self._knowledge_base = knowledge_base
        self._answer = answer
        self._page = page
        self._thread_id = thread_id or new_thread_id()
        self._is_terminal = sys.stdin.isatty()
        self._failed = False

    def run(self) -> ExitCode:
        """Answer all questions; return whether any failed, out of a pipe."""
        if self._is_terminal:
            self._greet()
        for line in _typed() if self._is_terminal else _piped(self._page):
            if line in ("/quit", "/exit"):
                break
            if line.startswith("/"):
                self._obey(*line.split(maxsplit=1))
            else:
                self._ask(line)
        if self._is_terminal:
            self._part()
        return ExitCode.ERROR if self._failed and not self._is_terminal else ExitCode.OK

    def _turns(self) -> int:
        """Return how many turns the conversation has, 0 for one that was not begun."""
        infos = self._knowledge_base.threads()
        return next((info.turns for info in infos if info.id == self._thread_id), 0)

    def _greet(self) -> None:
        turns = self._turns()
        said = f"goes on after {count(turns, 'turn')}" if turns else "a new conversation"
        self._page.wrapped(f"{self._thread_id}: {said}; /help says what else there is", "dim")

    def _part(self) -> None:
        if self._turns():
            self._page.wrapped(
                f"kept: `spanwise ask --chat --thread {self._thread_id}` goes on with it", "dim"
            )

    def _obey(self, command: str, argument: str = "") -> None:
        if command == "/new":
            self._thread_id = new_thread_id()
            self._greet()
        elif command == "/thread" and argument:
            self._go_on_with(argument.strip())
        elif command == "/threads":
            draw_threads(self._knowledge_base.threads(), self._page)
        elif command == "/help":
            self._page.body(_HELP)
        else:
            self._page.message("unknown: ", f"{command}; /help says what there is", "yellow")

    def _go_on_with(self, thread_id: str) -> None:
        if any(info.id == thread_id for info in self._knowledge_base.threads()):
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
            self._page.message("stopped: ", "this answer is not kept", "yellow")
        except ModelKeyError:
            raise
        except (ModelError, OptionError) as error:
            self._failed = True
            self._page.line()
            self._page.message("failed: ", str(error), "red")
        self._page.line()
        self._page.flush()


def _typed() -> Iterator[str]:
    """Yield the lines that are typed, none of them empty."""
    with suppress(ImportError):  # lines can be edited where the platform has it
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


def _piped(page: Page) -> Iterator[str]:
    """Yield the lines of standard input, none of them empty, each written before it is yielded."""
    for line in sys.stdin:
        if line.strip():
            page.line(page.paint(f"{_PROMPT}{one_line(line)}", "bold", "cyan"))
            page.line()
            yield line.strip()
