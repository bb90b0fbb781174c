"""Numbers of pages in words for people.

The Markdown in which a model writes what it reads on a page, as text, headings and tables.

Rules:
    The text has no markup: a heading is its words, a row of a table its cells with " | " between
    them, as of tables that are read from the file itself.
    Rows that follow each other are one table. The line under its head is left out.
    One blank line at most stands between two paragraphs, and none at the edges.

Pages of a document whose text is replaced: what points into the others moves with them.

Rules:
    All other pages keep their text, character for character.
    A blank line stands before and after a replaced page, where there is text; it belongs to it.
    Headings and blocks of the earlier text of a page go; of a block that began before it, or goes
    on after it, what stands on other pages stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from spanwise.types import Block, Document, Heading, Page


def name_pages(numbers: Sequence[int]) -> str:
    """Return "page 3" or "pages 3-5, 9" for ascending numbers."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    places = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {places}"


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


_BLANK_LINE = "\n\n"


def replace_pages(document: Document, texts: Mapping[int, PageText]) -> Document:
    """Return a document with other text on some of its pages.

    Args:
        document: The document; its pages cover its text.
        texts: The new text by number of the page, from 1; none is empty.
    """
    writer = _Writer(document=document)
    numbers = range(1, len(document.pages) + 1)
    last = max(
        (
            number
            for number, page in zip(numbers, document.pages, strict=True)
            if number in texts or page.start < page.end
        ),
        default=0,
    )
    for is_new, run in groupby(numbers, key=lambda number: number in texts):
        if is_new:
            for number in run:
                writer.put(number, texts[number], is_last=number == last)
        else:
            writer.keep(list(run))
    return replace(
        document,
        text="".join(writer.pieces),
        pages=tuple(writer.pages),
        headings=tuple(writer.headings),
        blocks=tuple(writer.blocks),
    )


@dataclass(slots=True, kw_only=True)
class _Writer:
    """Writes page after page."""

    document: Document
    pieces: list[str] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    _length: int = 0

    def put(self, number: int, page: PageText, *, is_last: bool) -> None:
        """Write a page that is replaced."""
        start = self._length
        if self._length and not self.pieces[-1].endswith(_BLANK_LINE):
            self._write("\n" if self.pieces[-1].endswith("\n") else _BLANK_LINE)
        moved = self._length
        self._write(page.text)
        if not is_last:
            self._write(_BLANK_LINE)
        self._place(number, start, self._length)
        self.headings += [
            replace(one, start=one.start + moved, end=one.end + moved) for one in page.headings
        ]
        self.blocks += [
            replace(one, start=one.start + moved, end=one.end + moved) for one in page.blocks
        ]

    def keep(self, numbers: list[int]) -> None:
        """Write pages that follow each other as they are."""
        old = self.document
        start, end = old.pages[numbers[0] - 1].start, old.pages[numbers[-1] - 1].end
        moved = self._length - start
        self._write(old.text[start:end])
        for number in numbers:
            page = old.pages[number - 1]
            self._place(number, page.start + moved, page.end + moved)
        self.headings += [
            replace(one, start=one.start + moved, end=one.end + moved)
            for one in old.headings
            if start <= one.start and one.end <= end
        ]
        self.blocks += [
            replace(one, start=one.start + moved, end=one.end + moved)
            for one in _cut(old, start, end)
        ]

    def _write(self, piece: str) -> None:
        if piece:
            self.pieces.append(piece)
            self._length += len(piece)

    def _place(self, number: int, start: int, end: int) -> None:
        self.pages.append(replace(self.document.pages[number - 1], start=start, end=end))


def _cut(document: Document, start: int, end: int) -> Iterator[Block]:
    """Yield what of the blocks of a document is inside a range; at a cut without white space."""
    for block in document.blocks:
        first, stop = max(block.start, start), min(block.end, end)
        if (first, stop) != (block.start, block.end):
            text = document.text[first:stop]
            first, stop = first + len(text) - len(text.lstrip()), first + len(text.rstrip())
        if first < stop:
            yield replace(block, start=first, end=stop)
