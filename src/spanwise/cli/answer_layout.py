"""How an answer looks on a terminal: its text as it comes, then what it cites and what it took.

How conversations look on a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.cli.layout import Page, clean, columns, count, duration, one_line, shortened
from spanwise.cli.query_arguments import draw_searched

if TYPE_CHECKING:
    from spanwise.types import Answer, AnswerCitation, Thread, ThreadInfo

_PART = re.compile(r"\n|[^\S\n]+|\S+")
_LIKE = 0.5
_FAILED = re.compile(r"(\[\d*\?\])")


class AnswerText:
    """Writes the text of an answer piece by piece, folded at the width of the page.

    Pieces end with words, so that each can be written when it comes. What could not be checked is
    red.
    """

    def __init__(self, page: Page) -> None:
        """Write to a page."""
        self._page = page
        self._column = 0
        self._space = ""

    def write(self, piece: str) -> None:
        """Write a piece at once."""
        for part in _PART.findall(clean(piece)):
            if part == "\n":
                self._page.write("\n")
                self._column, self._space = 0, ""
            elif part.isspace():
                self._space = " " if self._column else ""
            else:
                self._word(part)
        self._page.flush()

    def end(self) -> None:
        """End the last line."""
        if self._column:
            self._page.line()
            self._column = 0

    def _word(self, word: str) -> None:
        width = columns(word)
        if self._column and self._column + len(self._space) + width > self._page.width:
            self._page.write("\n")
            self._column, self._space = 0, ""
        painted = _FAILED.sub(lambda found: self._page.paint(found.group(), "red"), word)
        self._page.write(self._space + painted)
        self._column += len(self._space) + width
        self._space = ""


def draw_notes(answer: Answer, page: Page) -> None:
    """Write what stands below the text of an answer."""
    for cited in answer.citations:
        _draw_citation(cited, page)
    page.line()
    for conflict in answer.conflicts:
        page.message("conflict: ", conflict, "yellow")
    for warning in answer.warnings:
        page.message("warning: ", warning, "yellow")
    draw_searched(answer, page)
    page.wrapped(page.joined([answer.model, duration(sum(answer.seconds.values()))]), "dim")


def _draw_citation(cited: AnswerCitation, page: Page) -> None:
    page.line()
    if cited.citation is None:
        part = f"; {cited.similarity:.0%} of its words are there" * (cited.similarity >= _LIKE)
        page.line(page.paint(f"{cited.mark} not found in the text{part}", "red"))
    else:
        place = one_line(str(cited.citation))
        nearly = f" (nearly: {cited.similarity:.0%} of the words)" * (cited.status == "near")
        page.wrapped(f"{cited.mark} {place}{nearly}", "bold", hang="    ")
    styles = () if cited.verified else ("red",)
    page.wrapped(f'"{cited.quote}"', *styles, indent="    ")


_LEAST_TITLE = 20


def written_moment(moment: str) -> str:
    """Return a time in ISO 8601 as people write it, to the minute, UTC."""
    return one_line(moment[:16].replace("T", " "))


def draw_threads(infos: Sequence[ThreadInfo], page: Page) -> None:
    """Write a line for each conversation: id, time of its last turn, turns, first question."""
    ids = [one_line(info.id) for info in infos]
    widest = max(map(columns, ids), default=0)
    for thread_id, info in zip(ids, infos, strict=True):
        when = f"{written_moment(info.changed_at)}  {count(info.turns, 'turn').rjust(8)}"
        room = max(_LEAST_TITLE, page.width - widest - len(when) - 4)
        padded = thread_id + " " * (widest - columns(thread_id))
        page.line(
            f"{page.paint(padded, 'bold')}  {page.paint(when, 'dim')}  "
            f"{shortened(one_line(info.title), room)}"
        )


def draw_thread(thread: Thread, page: Page) -> None:
    """Write a conversation turn by turn: each question, its answer and what that cites."""
    for turn in thread.turns:
        page.wrapped(f"> {turn.question}", "bold", "cyan")
        page.line(page.paint(written_moment(turn.asked_at), "dim"))
        page.line()
        text = AnswerText(page)
        text.write(turn.answer.text)
        text.end()
        draw_notes(turn.answer, page)
        page.line()
