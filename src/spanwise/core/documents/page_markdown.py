"""Markdown of pages from a model, and replacement of the text of pages.

Rules of Markdown:
    The markup is removed: a heading becomes its words, a table row its cells joined by " | ", like
    tables read from the file itself.
    Consecutive rows are one table. The separator line under its head is omitted.
    There is at most one blank line between two paragraphs, and none at the start or end of the
    page.

Rules of replacement:
    All other pages keep their text, character for character.
    A replaced page is separated from other text by blank lines, which belong to that page.
    Headings and blocks of the old text of a page are removed. The parts of its blocks on other
    pages stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeVar

from spanwise.types import Block, Document, Figure, Heading, Page


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


_READ = re.compile(r"pages? ([\d, -]+) of \d+ read by ")


def pages_read_from_images(warnings: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the pages that were read by OCR or by a model.

    Args:
        warnings: Warnings of a document; those about pages read from images name the pages as
            `name_pages` does.
    """
    numbers: set[int] = set()
    for match in filter(None, map(_READ.match, warnings)):
        for run in match[1].split(", "):
            first, _, last = run.partition("-")
            numbers.update(range(int(first), int(last or first) + 1))
    return frozenset(numbers)


_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*")
_ROW = re.compile(r"\|.*\|")
_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")
_CELL_END = re.compile(r"(?<!\\)\|")
_FENCE = re.compile(r"(?:```|~~~)\w*")
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """Text of one page with its headings and blocks; offsets count from its start."""

    text: str = ""
    """Text of the page."""
    headings: tuple[Heading, ...] = ()
    """Headings of the page."""
    blocks: tuple[Block, ...] = ()
    """Tables and code of the page."""


def read_markdown(markdown: str) -> PageText:
    """Return the text of a page with its headings and tables.

    Args:
        markdown: Markdown from a model.
    """
    page = _MarkdownPage()
    for line in markdown.splitlines():
        page.add(line.strip())
    page.end_table()
    return PageText(
        text="\n".join(page.lines).rstrip(),
        headings=tuple(page.headings),
        blocks=tuple(page.blocks),
    )


class _MarkdownPage:
    """Collects the lines of one page."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []
        self._length = 0
        """Length of the text so far, including line ends, in characters."""
        self._rows: list[Block] = []
        """Consecutive table rows at the end of the text; a single row is not a table."""

    def add(self, line: str) -> None:
        """Add a line, given without white space at its ends."""
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
        """Record the last rows as a table if there are several."""
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
        """Append a line and return its start; a blank line is not repeated."""
        start = self._length
        if text or (self.lines and self.lines[-1]):
            self.lines.append(text)
            self._length += len(text) + 1
        return start


def _plain(text: str) -> str:
    """Return a text without bold markers and without escaped cell separators."""
    return _BOLD.sub(r"\2", text).replace("\\|", "|").strip()


_BLANK_LINE = "\n\n"


def replace_pages(document: Document, texts: Mapping[int, PageText]) -> Document:
    """Return a document with the text of some pages replaced.

    Args:
        document: Document whose pages cover its whole text.
        texts: New text by page number, from 1; never empty.
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
        figures=tuple(writer.figures),
    )


@dataclass(slots=True, kw_only=True)
class _Writer:
    """Writes a document page by page."""

    document: Document
    pieces: list[str] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    _length: int = 0

    def put(self, number: int, page: PageText, *, is_last: bool) -> None:
        """Write a replaced page."""
        start = self._length
        if self._length and not self.pieces[-1].endswith(_BLANK_LINE):
            self._write("\n" if self.pieces[-1].endswith("\n") else _BLANK_LINE)
        shift = self._length
        self._write(page.text)
        if not is_last:
            self._write(_BLANK_LINE)
        self._place(number, start, self._length)
        self.figures += [
            replace(figure, start=shift, end=shift)
            for figure in self.document.figures
            if figure.page == number
        ]
        self.headings += _shifted(page.headings, shift)
        self.blocks += _shifted(page.blocks, shift)

    def keep(self, numbers: list[int]) -> None:
        """Write consecutive pages unchanged."""
        old = self.document
        start, end = old.pages[numbers[0] - 1].start, old.pages[numbers[-1] - 1].end
        shift = self._length - start
        self._write(old.text[start:end])
        for number in numbers:
            page = old.pages[number - 1]
            self._place(number, page.start + shift, page.end + shift)
        self.figures += _shifted(
            [figure for figure in old.figures if figure.page in numbers], shift
        )
        headings = [item for item in old.headings if start <= item.start and item.end <= end]
        self.headings += _shifted(headings, shift)
        self.blocks += _shifted(_clipped_blocks(old, start, end), shift)

    def _write(self, piece: str) -> None:
        if piece:
            self.pieces.append(piece)
            self._length += len(piece)

    def _place(self, number: int, start: int, end: int) -> None:
        self.pages.append(replace(self.document.pages[number - 1], start=start, end=end))


_Ranged = TypeVar("_Ranged", Heading, Block, Figure)


def _shifted(items: Iterable[_Ranged], shift: int) -> list[_Ranged]:
    """Return headings or blocks with their offsets moved by `shift` characters."""
    return [replace(item, start=item.start + shift, end=item.end + shift) for item in items]


def _clipped_blocks(document: Document, start: int, end: int) -> Iterator[Block]:
    """Yield the parts of blocks inside a range, without white space at a cut."""
    for block in document.blocks:
        first, stop = max(block.start, start), min(block.end, end)
        if (first, stop) != (block.start, block.end):
            text = document.text[first:stop]
            first, stop = first + len(text) - len(text.lstrip()), first + len(text.rstrip())
        if first < stop:
            yield replace(block, start=first, end=stop)
