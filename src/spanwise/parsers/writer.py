"""Writers of text that only grows, so that offsets into it stay valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from spanwise.types import Block, Heading, Page


def table_line(cells: Sequence[str]) -> str:
    """Return the cells of a row on one line, joined by " | ", without trailing empty cells."""
    last = len(cells)
    while last and not cells[last - 1]:
        last -= 1
    return " | ".join(cells[:last])


class TextWriter:
    """Joins pieces of text with the required line ends between them.

    The text begins and ends with a piece, never with white space that the writer added.
    """

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []
        self._pieces: list[str] = []
        self._length = 0
        self._owed = 0

    @property
    def text(self) -> str:
        """Text that was written so far."""
        return "".join(self._pieces)

    @property
    def next_start(self) -> int:
        """Start offset of the next piece."""
        return self._length + self._owed

    def separate(self, line_ends: int) -> None:
        """Require at least `line_ends` before the next piece: 1 for a line, 2 for a paragraph."""
        if self._length:
            self._owed = max(self._owed, line_ends)

    def write(self, piece: str) -> int:
        """Append a piece after the required line ends and return its start offset."""
        if not piece:
            return self._length
        gap = "\n" * self._owed
        self._owed = 0
        self._pieces += (gap, piece)
        start = self._length + len(gap)
        self._length = start + len(piece)
        return start

    def write_heading(self, title: str, *, level: int) -> None:
        """Append a heading as a separate paragraph; nothing if it is empty."""
        title = title.strip()
        if not title:
            return
        self.separate(2)
        start = self.write(title)
        self.headings.append(Heading(start=start, end=self._length, level=level, title=title))
        self.separate(2)

    def write_block(self, piece: str, *, kind: Literal["table", "code"]) -> None:
        """Append a table or code as a separate paragraph; nothing if it is empty."""
        if not piece:
            return
        self.separate(2)
        start = self.write(piece)
        self.blocks.append(Block(start=start, end=self._length, kind=kind))
        self.separate(2)

    def write_apart(self, text: str, *, line_ends: int = 2) -> None:
        """Write text with line ends before and after it: 1 for a line, 2 for a paragraph."""
        self.separate(line_ends)
        self.write(text)
        self.separate(line_ends)

    def append(self, other: TextWriter) -> None:
        """Append the text, headings and blocks of another writer as separate paragraphs."""
        self.append_text(other.text, other.headings, other.blocks)

    def append_text(self, text: str, headings: Sequence[Heading], blocks: Sequence[Block]) -> None:
        """Append a text with its headings and blocks as separate paragraphs; nothing if empty."""
        if not text:
            return
        self.separate(2)
        start = self.write(text)
        self.headings += [
            replace(item, start=start + item.start, end=start + item.end) for item in headings
        ]
        self.blocks += [
            replace(item, start=start + item.start, end=start + item.end) for item in blocks
        ]
        self.separate(2)


class PagedWriter(TextWriter):
    """Writer that records the start of pages."""

    def __init__(self) -> None:
        super().__init__()
        self._page_starts: list[int] = []

    def turn_to(self, page: int) -> None:
        """Set the page of the next piece, from 1; an earlier page is ignored."""
        start = self.next_start
        while len(self._page_starts) < page:
            self._page_starts.append(start if self._page_starts else 0)

    def pages(self) -> tuple[Page, ...]:
        """Return the pages so far; none if no page was set."""
        length = len(self.text)
        starts = [min(start, length) for start in self._page_starts]
        ends = [*starts[1:], length] if starts else []
        return tuple(Page(start=start, end=end) for start, end in zip(starts, ends, strict=True))
