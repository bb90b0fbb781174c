"""The lines of all pages, written as one text with what points into it.

Rules
    1. Text only grows: what points into it is noted while it is written.
    2. A blank line stands before a heading and around a table. Paragraphs, and the rows of a
       table, stand on lines of their own: chunks may hold several short paragraphs of a section.
    3. A table begins with its caption: its block holds the headings right above it.
    4. Footnotes follow all else that stands on their page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanwise.parsers.layout.flow import HYPHEN, Mender, goes_on
from spanwise.parsers.layout.heading_lines import HeadingLines, PageHeadings
from spanwise.parsers.layout.headings import Body, find_body, page_body, rank_levels
from spanwise.parsers.layout.outline import OutlineEntry, find_entries
from spanwise.parsers.layout.page import Font
from spanwise.parsers.layout.rows import Line
from spanwise.parsers.layout.running import Running, find_running
from spanwise.parsers.layout.tables import Table, find_tables, stands_above, table_rows
from spanwise.parsers.writer import TextWriter
from spanwise.types import Block, Heading

__all__ = ["Composition", "compose"]

_NOTE_MARK = re.compile(r"(?:\(?\d{1,2}\)?|[*†‡§]+|\([a-z]\)|[a-z]\))\s+\S")
_NOTE_SIZE = 0.93  # of the body


@dataclass(frozen=True, slots=True)
class Composition:
    """Text of a document and what points into it."""

    text: str
    starts: tuple[int | None, ...]
    """Where the text of each page starts; None for a page without."""
    labels: tuple[str | None, ...]
    """Number printed on each page."""
    running: tuple[tuple[str, ...], ...]
    """Running heads and feet of each page, which are not part of the text."""
    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]


def compose(
    pages: Sequence[Sequence[Line]],
    *,
    heights: Sequence[float],
    fonts: Sequence[Font],
    outline: Sequence[OutlineEntry],
) -> Composition:
    """Return the text of a document.

    Args:
        pages: Lines of each page, in reading order.
        heights: Height of each page in points.
        fonts: Fonts of the document.
        outline: Its bookmarks.
    """
    running = find_running(pages, heights)
    kept = [_keep(lines, gone) for lines, gone in zip(pages, running, strict=True)]
    body = find_body(kept, fonts)
    kept = [_notes_last(lines, body) for lines in kept]
    entries: dict[int, dict[int, tuple[int, OutlineEntry]]] = {}
    for (page, line), found in find_entries(outline, kept).items():
        entries.setdefault(page, {})[line] = found
    composer = _Composer(body, fonts, Mender(_words(kept)))
    starts = [composer.write_page(lines, entries.get(page, {})) for page, lines in enumerate(kept)]
    return Composition(
        text=composer.writer.text,
        starts=tuple(starts),
        labels=tuple(gone.label for gone in running),
        running=tuple(
            tuple(lines[index].text for index in sorted(gone.lines))
            for lines, gone in zip(pages, running, strict=True)
        ),
        headings=composer.headings(),
        blocks=tuple(composer.blocks),
    )


def _keep(lines: Sequence[Line], running: Running) -> list[Line]:
    return [line for index, line in enumerate(lines) if index not in running.lines]


def _words(pages: Sequence[Sequence[Line]]) -> frozenset[str]:
    """Return the words of a document, where any is parted at the end of a line."""
    if not any(line.text[-1] in f"-{HYPHEN}" for lines in pages for line in lines):
        return frozenset()
    return frozenset(
        word.strip("\"'.,;:()“”")
        for lines in pages
        for line in lines
        for word in line.text.lower().split()
    )


def _notes_last(lines: list[Line], body: Body) -> list[Line]:
    """Return the lines of a page with the footnotes of its columns at the end."""
    if not lines or lines[-1].region == lines[0].region:
        return lines
    flow: list[Line] = []
    notes: list[Line] = []
    regions: dict[int, list[Line]] = {}
    for line in lines:
        regions.setdefault(line.region, []).append(line)
    for members in regions.values():
        start = _notes_start(members, body)
        flow += members[:start]
        notes += members[start:]
    return flow + notes


def _notes_start(lines: Sequence[Line], body: Body) -> int:
    """Return where the lines of small type at the end of a column begin with a mark."""
    start = len(lines)
    while start and not lines[start - 1].rows and lines[start - 1].size < _NOTE_SIZE * body.size:
        start -= 1
    while start < len(lines) and not _NOTE_MARK.match(lines[start].text):
        start += 1
    return start


class _Composer:
    """Writes page after page."""

    def __init__(self, body: Body, fonts: Sequence[Font], mender: Mender) -> None:
        self.writer = TextWriter()
        self.blocks: list[Block] = []
        self._body = body
        self._fonts = fonts
        self._mender = mender
        self._headings: list[tuple[int, int, tuple[float, ...]]] = []
        self._end = 0

    def headings(self) -> tuple[Heading, ...]:
        """Return the headings that were written, with their levels."""
        text = self.writer.text
        levels = rank_levels([rank for _, _, rank in self._headings])
        return tuple(
            Heading(start=start, end=end, level=level, title=text[start:end])
            for (start, end, _), level in zip(self._headings, levels, strict=True)
        )

    def write_page(
        self, lines: Sequence[Line], named: Mapping[int, tuple[int, OutlineEntry]]
    ) -> int | None:
        """Append the lines of a page; return where they start, None where there are none."""
        body = page_body(lines, self._body, self._fonts)
        headings = PageHeadings(lines, body=body, fonts=self._fonts, named=named)
        tables = {table.start: table for table in find_tables(lines)}
        first: int | None = None
        index = 0
        while index < len(lines):
            if index in tables:
                start = self._write_table(lines, tables[index], headings)
                index = tables[index].end
            elif (found := headings.find(index)) is not None:
                self.writer.separate(2)
                start = self._write_heading(lines[index : found.end], found)
                self.writer.separate(1)
                index = found.end
            else:
                stop = _paragraph_stop(lines, index, tables, headings)
                self.writer.separate(1)
                start = self._write(self._join(lines[index:stop]))
                index = stop
            first = start if first is None else first
        return first

    def _write(self, piece: str) -> int:
        start = self.writer.write(piece)
        self._end = start + len(piece)
        return start

    def _join(self, lines: Sequence[Line]) -> str:
        """Return lines as one, with words mended that a line end parted."""
        text = lines[0].text
        for line in lines[1:]:
            text = self._mender.join(text, line.text)
        return text.replace(HYPHEN, "-")

    def _write_heading(self, lines: Sequence[Line], found: HeadingLines) -> int:
        start = self._write(self._join(lines))
        self._headings.append((start, self._end, found.rank))
        return start

    def _write_table(self, lines: Sequence[Line], table: Table, headings: PageHeadings) -> int:
        """Append a table with what stands above its rows, and note its block."""
        follows = bool(table.start and self.blocks) and self.blocks[-1].end == self._end
        self.writer.separate(2)
        starts = []
        index = table.start
        while index < table.end and stands_above(lines, index):
            found = None
            if headings.may_head_table(index, follows_table=follows):
                found = headings.find(index, limit=table.end)
            if found is None:
                starts.append(self._write(self._join(lines[index : index + 1])))
                index += 1
            else:
                starts.append(self._write_heading(lines[index : found.end], found))
                index = found.end
            self.writer.separate(1)
        rest = lines[index : table.end]
        for row in rest[0].rows if rest and rest[0].rows else table_rows(rest):
            starts.append(self._write(row.replace(HYPHEN, "-")))
            self.writer.separate(1)
        self.writer.separate(2)
        self.blocks.append(Block(start=starts[0], end=self._end, kind="table"))
        return starts[0]


def _paragraph_stop(
    lines: Sequence[Line], start: int, tables: Mapping[int, Table], headings: PageHeadings
) -> int:
    """Return one past the last line of the paragraph that starts with a line."""
    stop = start + 1
    while (
        stop < len(lines)
        and stop not in tables
        and not headings.is_named(stop)
        and goes_on(lines[stop - 1], lines[stop], headings.measures.get(lines[stop].region))
        and headings.style(stop) is None
    ):
        stop += 1
    return stop
