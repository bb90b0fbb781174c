"""Under which headings a section stands.

Rules:
    A heading reaches to the next one of its level or of one further out.
    A section stands under each heading that reaches over all of it. Headings that it opens with,
    one right after the other, count as if it began with the last of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from spanwise.core.model_sections.lines import WORD
from spanwise.core.model_sections.titles import TITLE_CHARS
from spanwise.core.summary import clip
from spanwise.types import Heading

__all__ = ["Outline", "make_outline"]

_MAX_TITLES = 8  # as in sections that are made without a model


class _Reach(NamedTuple):
    """A heading and how far it reaches."""

    stop: int
    parent: int
    """Position of the heading that it stands under; -1 for none."""
    title: str


class Outline(NamedTuple):
    """The headings of a document, and how they stand under each other."""

    starts: list[int]
    reaches: list[_Reach]
    inner: list[int]
    """For each heading, the last one of those that follow it without a word between them."""

    def begins(self, place: int) -> bool:
        """Return whether a heading begins at a place."""
        at = bisect_right(self.starts, place) - 1
        return at >= 0 and self.starts[at] == place

    def path(self, start: int, stop: int) -> tuple[str, ...]:
        """Return the titles of the headings over a range, outermost first, at most 7 of them."""
        at = bisect_right(self.starts, start) - 1
        if self.begins(start):
            at = self.inner[at]
        titles = []
        while at >= 0:
            reach = self.reaches[at]
            if reach.stop >= stop:
                titles.append(reach.title)
            at = reach.parent
        return tuple(titles[::-1][: _MAX_TITLES - 1])


def make_outline(text: str, headings: Sequence[Heading]) -> Outline:
    """Return the outline of a text.

    Args:
        text: The text.
        headings: In order of start.
    """
    stops = [len(text)] * len(headings)
    parents = []
    stack: list[int] = []
    for at, heading in enumerate(headings):
        while stack and headings[stack[-1]].level >= heading.level:
            stops[stack.pop()] = heading.start
        parents.append(stack[-1] if stack else -1)
        stack.append(at)
    inner = list(range(len(headings)))
    for at in range(len(headings) - 2, -1, -1):
        if WORD.search(text, headings[at].end, headings[at + 1].start) is None:
            inner[at] = inner[at + 1]
    starts = [heading.start for heading in headings]
    if starts and not text[: starts[0]].strip():
        starts[0] = 0  # the blank text before it is of its section
    return Outline(
        starts=starts,
        reaches=[
            _Reach(stop, parent, clip(heading.title, max_chars=TITLE_CHARS))
            for stop, parent, heading in zip(stops, parents, headings, strict=True)
        ],
        inner=inner,
    )
