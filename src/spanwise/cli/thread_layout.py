"""How conversations look on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.cli.answer_layout import AnswerText, draw_notes
from spanwise.cli.layout import Page, columns, count, one_line, shortened

if TYPE_CHECKING:
    from spanwise.types import Thread, ThreadInfo

__all__ = ["draw_thread", "draw_threads", "written_moment"]

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
