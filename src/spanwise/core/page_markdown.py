"""The Markdown in which a model writes what it reads on a page, as text, headings and tables.

Rules:
    The text has no markup: a heading is its words, a row of a table its cells with " | " between
    them, as of tables that are read from the file itself.
    Rows that follow each other are one table. The line under its head is left out.
    One blank line at most stands between two paragraphs, and none at the edges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from spanwise.types import Block, Heading

__all__ = ["PageText", "read_markdown"]

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*")
_ROW = re.compile(r"\|.*\|")
_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")
_CELL_END = re.compile(r"(?<!\\)\|")
_FENCE = re.compile(r"(?:```|~~~)\w*")
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """Text of one page; what points into it counts from its start."""

    text: str = ""
    headings: tuple[Heading, ...] = ()
    blocks: tuple[Block, ...] = ()


def read_markdown(markdown: str) -> PageText:
    """Return the text of a page with its headings and tables.

    Args:
        markdown: What a model wrote.
    """
    page = _Page()
    for line in markdown.splitlines():
        page.add(line.strip())
    page.end_table()
    return PageText(
        text="\n".join(page.lines).rstrip(),
        headings=tuple(page.headings),
        blocks=tuple(page.blocks),
    )


class _Page:
    """Takes the lines of a page."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []
        self._length = 0
        """Of all lines, with a line end after each."""
        self._rows: list[Block] = []
        """Those that came last; they are no table before there are two."""

    def add(self, line: str) -> None:
        """Take a line without white space at its edges."""
        if _FENCE.fullmatch(line):
            return
        if _ROW.fullmatch(line):
            self._add_row(line)
            return
        self.end_table()
        heading = _HEADING.fullmatch(line)
        text = _plain(heading.group(2) if heading else line)
        start = self._write(text)
        if heading and any(map(str.isalnum, text)):
            level = len(heading.group(1))
            self.headings.append(
                Heading(start=start, end=start + len(text), level=level, title=text)
            )

    def end_table(self) -> None:
        """Note the rows that came last, if they are several."""
        rows, self._rows = self._rows, []
        if len(rows) > 1:
            self.blocks.append(replace(rows[0], end=rows[-1].end))

    def _add_row(self, line: str) -> None:
        if _RULE.fullmatch(line):
            return
        cells = [_plain(cell.strip()) for cell in _CELL_END.split(line)[1:-1]]
        while cells and not cells[-1]:
            cells.pop()
        text = " | ".join(cells)
        if not text.strip():
            return
        start = self._write(text)
        self._rows.append(Block(start=start, end=start + len(text), kind="table"))

    def _write(self, text: str) -> int:
        """Append a line and return where it starts; a blank one is not repeated."""
        start = self._length
        if text or (self.lines and self.lines[-1]):
            self.lines.append(text)
            self._length += len(text) + 1
        return start


def _plain(text: str) -> str:
    """Return words without marks of bold type and without escapes of cells."""
    return _BOLD.sub(r"\2", text).replace("\\|", "|").strip()
