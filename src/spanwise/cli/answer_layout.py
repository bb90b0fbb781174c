"""Terminal output of answers and conversations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.cli.layout import Page, clean, columns, count, duration, one_line, shortened
from spanwise.cli.query_arguments import draw_queries

if TYPE_CHECKING:
    from spanwise.types import Answer, AnswerCitation, Thread, ThreadInfo

_PART = re.compile(r"\n|[^\S\n]+|\S+")
_MIN_SIMILARITY = 0.5  # of a quote that was not found, to be reported
_UNVERIFIED_MARK = re.compile(r"(\[\d*\?\])")
_MIN_TITLE_COLUMNS = 20


class AnswerText:
    """Writer of a streamed answer, wrapped at the page width.

    Each piece must end at a word boundary and is written at once. Unverified citation marks are
    red.
    """

    def __init__(self, page: Page) -> None:
        """Create the writer of a page."""
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
