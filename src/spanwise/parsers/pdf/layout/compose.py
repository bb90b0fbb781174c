"""Lines of a page in reading order, and their composition to one text with headings and blocks.

Rules
    1. Text is only appended, so offsets are recorded while it is written.
    2. A heading is preceded by a blank line, a table is surrounded by blank lines. Paragraphs and
       rows of tables are single lines: a chunk may contain several short paragraphs.
    3. A table begins with its caption: its block includes the headings directly above it.
    4. Footnotes are at the end of their page between blank lines, but before a paragraph that
       continues there.
    5. A paragraph continues over a page break if its sentence does, and a divided word is joined.
       A table continues if the next page begins with its rows. Each character stays on its page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from spanwise.parsers.pdf.layout.columns import join_words, split_columns
from spanwise.parsers.pdf.layout.flow import HYPHEN, Mender, goes_on
from spanwise.parsers.pdf.layout.grids import find_grids
from spanwise.parsers.pdf.layout.headings import (
    Body,
    HeadingLines,
    OutlineEntry,
    PageHeadings,
    UntitledBookmark,
    find_body,
    find_entries,
    page_body,
    rank_levels,
)
from spanwise.parsers.pdf.layout.page import Font, PageContent, is_right_to_left, mirrored
from spanwise.parsers.pdf.layout.rows import Cell, Line, is_figure, make_lines
from spanwise.parsers.pdf.layout.running_lines import Running, find_running
from spanwise.parsers.pdf.layout.tables import Table, find_tables, stands_above, table_rows
from spanwise.parsers.writer import TextWriter
from spanwise.types import Block, Heading


def lay_out(page: PageContent, *, aside: Sequence[str] = ()) -> list[Line]:
    """Return the lines of a page in reading order.

    Args:
        page: Words and rules of the page.
        aside: Words in other directions; they follow as one line.
    """
    if is_right_to_left(page.words):
        page = mirrored(page)
    lines: list[Line] = []
    tables, taken = find_grids(page.words, page.rules) if page.rules else ([], frozenset())
    fragments = [*tables, *join_words(page.words, left_out=taken)]
    regions = split_columns(fragments)
    for number, region in enumerate(regions):
        lines += make_lines(region, number=number)
    if aside:
        lines.append(_aside_line(aside, page, len(regions)))
    return lines


def _aside_line(texts: Sequence[str], page: PageContent, region: int) -> Line:
    text = " ".join(texts)
    return Line(
        cells=[Cell(text, 0.0, page.width)],
        baseline=0.0,
        size=1.0,
        runs=[],
        region_left=0.0,
        region_right=page.width,
        region=region,
    )


_SAME_SIZE = 0.08  # of the type
_ALIGNED = 6.0  # points
_YEAR = re.compile(r"(?:19|20)\d\d")
_ENDED = re.compile(r"[.:;!?]['\"”’)]*\Z")


@dataclass(frozen=True, slots=True)
class Item:
    """Range of lines that is written as one unit."""

    start: int
    end: int
    kind: HeadingLines | Table | None
    """Heading or table; None for a paragraph."""


class PageFlow:
    """Lines of a page, divided into headings, tables and paragraphs."""

    def __init__(
        self,
        lines: Sequence[Line],
        *,
        notes: int,
        body: Body,
        fonts: Sequence[Font],
        named: Mapping[int, tuple[int, OutlineEntry]],
    ) -> None:
        """Find the headings and tables of a page.

        Args:
            lines: Lines of the page, footnotes last.
            notes: Index of the first footnote; the number of lines without one.
            body: Body type of the document.
            fonts: Fonts of the document.
            named: For the first line of each bookmarked title, the index after its last line and
                the bookmark.
        """
        self.lines = lines
        self.notes = notes
        self.headings = PageHeadings(
            lines, body=page_body(lines, body, fonts), fonts=fonts, named=named
        )
        self.tables: Mapping[int, Table] = {table.start: table for table in find_tables(lines)}

    def _paragraph_stop(self, start: int) -> int:
        """Return the index after the last line of the paragraph that begins with a line."""
        lines, headings = self.lines, self.headings
        stop = start + 1
        while (
            stop < len(lines)
            and stop != self.notes
            and stop not in self.tables
            and not headings.is_named(stop)
            and self._follows(stop)
            and headings.rank(stop) is None
        ):
            stop += 1
        return stop

    def items(self) -> list[Item]:
        """Return the headings, tables and paragraphs of the page in order; they cover it."""
        items: list[Item] = []
        start = 0
        while start < len(self.lines):
            kind = self.tables.get(start) or self.headings.find(start)
            end = self._paragraph_stop(start) if kind is None else kind.end
            items.append(Item(start, end, kind))
            start = end
        return items

    def goes_on(self, item: Item, following: PageFlow | None) -> bool:
        """Return whether the last item before the footnotes continues on the next page.

        A sentence or word continues if the next page begins with a lower-case letter. A table
        continues if the next page begins with a row of numbers aligned with it, or, for a ruled
        table, with a ruled table of the same width.
        """
        if following is None:
            return False
        last, first = self.lines[item.end - 1], following.lines[0]
        if isinstance(item.kind, Table):
            is_last = item.end == len(self.lines)
            return is_last and 0 in following.tables and _goes_on_with_row(last, first)
        return item.kind is None and following.begins_with_text and _goes_on_with(last, first)

    def _follows(self, index: int) -> bool:
        """Return whether a line continues the one before it, in its column or the next one."""
        before, line = self.lines[index - 1], self.lines[index]
        if before.region != line.region:
            return _goes_on_with(before, line)
        return goes_on(before, line, self.headings.measures.get(line.region))

    @property
    def begins_with_text(self) -> bool:
        """Whether the first line is neither heading nor table nor footnote."""
        return bool(self.notes) and 0 not in self.tables and self.headings.find(0) is None


def _goes_on_with(before: Line, line: Line) -> bool:
    """Return whether a sentence continues in the first line of the next column or page."""
    if abs(before.size - line.size) > _SAME_SIZE * line.size or not line.text[0].islower():
        return False
    is_ended = _ENDED.search(before.text) is not None or not any(map(str.isalpha, before.text))
    return before.text[-1] in f"-{HYPHEN}" or not is_ended


def _goes_on_with_row(last: Line, line: Line) -> bool:
    """Return whether a line is a row of the table that `last` ends, and not its header.

    A ruled table continues in one of the same width.
    """
    if last.rows and line.rows:
        return max(abs(last.left - line.left), abs(last.right - line.right)) <= _ALIGNED
    if last.rows or line.rows or not any(is_figure(cell.text) for cell in line.cells[1:]):
        return False
    is_head = any(_YEAR.fullmatch(cell.text) for cell in line.cells)
    return not is_head and abs(last.right - line.right) <= _ALIGNED


_NOTE_MARK = re.compile(r"(?:\(?\d{1,2}\)?|[*†‡§]+|\([a-z]\)|[a-z]\))\s+\S")
_NOTE_SIZE = 0.93  # share of the body size


@dataclass(frozen=True, slots=True)
class Composition:
    """Text of a document with its headings, blocks and pages."""

    text: str
    starts: tuple[int | None, ...]
    """Start offset of each page; None for a page without text."""
    labels: tuple[str | None, ...]
    """Page number that is printed on each page."""
    running: tuple[tuple[str, ...], ...]
    """Running headers and footers of each page, which are not part of the text."""
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
        outline: Bookmarks of the file.
    """
    running = find_running(pages, heights)
    body_lines = [_keep(lines, gone) for lines, gone in zip(pages, running, strict=True)]
    body = find_body(body_lines, fonts)
    ordered = [_notes_last(lines, body) for lines in body_lines]
    body_lines = [lines for lines, _ in ordered]
    entries: dict[int, dict[int, tuple[int, OutlineEntry]]] = {}
    bookmarks = find_entries(outline, body_lines)
    for (page, line), found in bookmarks.titles.items():
        entries.setdefault(page, {})[line] = found
    composer = _Composer(Mender(_words(body_lines)), bookmarks.untitled)
    sheets = [
        PageFlow(lines, notes=notes, body=body, fonts=fonts, named=entries.get(page, {}))
        for page, (lines, notes) in enumerate(ordered)
    ]
    starts = composer.write(sheets)
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
    """Return the words of a document; none if no word is divided at the end of a line."""
    if not any(line.text[-1] in f"-{HYPHEN}" for lines in pages for line in lines):
        return frozenset()
    return frozenset(
        word.strip("\"'.,;:()“”")
        for lines in pages
        for line in lines
        for word in line.text.lower().split()
    )


def _notes_last(lines: list[Line], body: Body) -> tuple[list[Line], int]:
    """Return the lines of a page with its footnotes last, and the index of the first footnote."""
    flow: list[Line] = []
    notes: list[Line] = []
    regions: dict[int, list[Line]] = {}
    for line in lines:
        regions.setdefault(line.region, []).append(line)
    for members in regions.values():
        start = _notes_start(members, body)
        flow += members[:start]
        notes += members[start:]
    return flow + notes, len(flow)


def _notes_start(lines: Sequence[Line], body: Body) -> int:
    """Return the index of the first line of small type with a mark at the end of a column."""
    start = len(lines)
    while start and not lines[start - 1].rows and lines[start - 1].size < _NOTE_SIZE * body.size:
        start -= 1
    while start < len(lines) and not _NOTE_MARK.match(lines[start].text):
        start += 1
    return start


class _Composer:
    """Writer of all pages."""

    def __init__(self, mender: Mender, untitled: Sequence[UntitledBookmark]) -> None:
        """Create the writer.

        Args:
            mender: Joins divided words.
            untitled: Bookmarks without a title, in order.
        """
        self._untitled = list(reversed(untitled))
        self._ended: dict[int, int] = {}
        """By index of a heading, the outermost level of bookmarks without a title before it."""
        self._page = 0
        """Number of the page that is written."""
        self.writer = TextWriter()
        self.blocks: list[Block] = []
        self._mender = mender
        self._headings: list[tuple[int, int, HeadingLines]] = []
        self._end = 0
        self._is_open = False
        """Whether the next page continues the last paragraph or table."""
        self._table: Sequence[Line] = ()
        """Lines of the last table."""

    def headings(self) -> tuple[Heading, ...]:
        """Return the headings so far, with their levels."""
        text = self.writer.text
        levels = rank_levels([found for _, _, found in self._headings], ended=self._ended)
        return tuple(
            Heading(start=start, end=end, level=level, title=text[start:end])
            for (start, end, _), level in zip(self._headings, levels, strict=True)
        )

    def write(self, pages: Sequence[PageFlow]) -> list[int | None]:
        """Append all pages; return the start offset of each, None for an empty one."""
        starts: list[int | None] = [None] * len(pages)
        places = [place for place, page in enumerate(pages) if page.lines]
        for place, after in zip_longest(places, places[1:]):
            self._page = place
            following = None if after is None else pages[after]
            starts[place] = self._write_page(pages[place], following=following)
        return starts

    def _write_page(self, page: PageFlow, *, following: PageFlow | None) -> int | None:
        """Append the lines of a page; return their start offset, None if there are none.

        Args:
            page: The page.
            following: The next page with lines.
        """
        items = page.items()
        flow = [item for item in items if item.start < page.notes]
        notes = items[len(flow) :]
        rest = following if flow and page.goes_on(flow[-1], following) else None
        if notes and self._is_open and len(flow) == 1:
            rest = None  # the continuation of the page before comes first
        last = flow[-1:] if rest else []
        starts = [self._write_item(page, item) for item in flow[: len(flow) - len(last)]]
        if notes:
            self.writer.separate(2)
            starts += [self._write_item(page, item) for item in notes]
            self.writer.separate(2)
        starts += [self._write_item(page, item, following=rest) for item in last]
        return starts[0] if starts else None

    def _write_item(self, page: PageFlow, item: Item, *, following: PageFlow | None = None) -> int:
        """Append a heading, table or paragraph; return its start offset.

        Args:
            page: The page.
            item: Range of its lines.
            following: The next page, if it continues the item.
        """
        goes_on, self._is_open = self._is_open, following is not None
        lines = page.lines[item.start : item.end]
        if isinstance(item.kind, Table):
            return self._write_table(page, item.kind, goes_on=goes_on)
        if item.kind is not None:
            self.writer.separate(2)
            start = self._write_heading(lines, item.kind, line=item.start)
            self.writer.separate(1)
            return start
        text = self._join(lines)
        if following is not None:
            after = following.lines[0].text
            text = self._mender.join(text, after)[: -len(after)]
        if not goes_on:
            self.writer.separate(1)
        return self._append(text.replace(HYPHEN, "-"))

    def _append(self, piece: str) -> int:
        start = self.writer.write(piece)
        self._end = start + len(piece)
        return start

    def _join(self, lines: Sequence[Line]) -> str:
        """Return lines as one, with divided words joined."""
        text = lines[0].text
        for line in lines[1:]:
            text = self._mender.join(text, line.text)
        return text

    def _write_heading(self, lines: Sequence[Line], found: HeadingLines, *, line: int) -> int:
        """Append a heading; return its start offset.

        Args:
            lines: Its lines.
            found: The heading.
            line: Index of its first line on the page.
        """
        while self._untitled and self._untitled[-1][:2] <= (self._page, line):
            level = self._untitled.pop().level
            known = self._ended.setdefault(len(self._headings), level)
            self._ended[len(self._headings)] = min(known, level)
        start = self._append(self._join(lines).replace(HYPHEN, "-"))
        self._headings.append((start, self._end, found))
        return start

    def _write_table(self, page: PageFlow, table: Table, *, goes_on: bool) -> int:
        """Append a table with its caption, and record its block.

        Args:
            page: The page.
            table: Range of its lines.
            goes_on: Whether it continues the last table of the page before, in its block.
        """
        lines, headings = page.lines, page.headings
        follows = bool(table.start and self.blocks) and self.blocks[-1].end == self._end
        if not goes_on:
            self.writer.separate(2)
        starts = []
        index = table.start
        while index < table.end and stands_above(lines, index):
            found = None
            if headings.may_head_table(index, follows_table=follows):
                found = headings.find(index, limit=table.end)
            if found is None:
                starts.append(self._append(lines[index].text.replace(HYPHEN, "-")))
                index += 1
            else:
                title = lines[index : found.end]
                starts.append(self._write_heading(title, found, line=index))
                index = found.end
            self.writer.separate(1)
        rest = lines[index : table.end]
        above = self._table if goes_on else ()
        for row in rest[0].rows if rest and rest[0].rows else table_rows(rest, above=above):
            starts.append(self._append(row.replace(HYPHEN, "-")))
            self.writer.separate(1)
        begin = self.blocks.pop().start if goes_on else starts[0]
        self.blocks.append(Block(start=begin, end=self._end, kind="table"))
        self._table = rest
        self.writer.separate(1 if self._is_open else 2)
        return starts[0]
