"""The lines of all pages, written as one text with what points into it.

Rules
    1. Text only grows: what points into it is noted while it is written.
    2. A heading, a paragraph and a table stand between blank lines; the rows of a table, and
       lines that were set apart on purpose, stand on lines of their own.
    3. A table begins with its caption: its block holds the headings right above it.
    4. Footnotes follow all else that stands on their page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanwise.parsers.layout.flow import HYPHEN, Measure, Mender, goes_on, measure_regions
from spanwise.parsers.layout.headings import Body, Style, find_body, heading_style, page_body, rank_levels
from spanwise.parsers.layout.outline import OutlineEntry, find_entries
from spanwise.parsers.layout.page import Font
from spanwise.parsers.layout.rows import Line
from spanwise.parsers.layout.running import Running, find_running
from spanwise.parsers.layout.tables import Table, find_tables, is_units, table_rows
from spanwise.parsers.writer import TextWriter
from spanwise.types import Block, Heading

__all__ = ["Composition", "compose"]

_NOTE_MARK = re.compile(r"(?:\(?\d{1,2}\)?|[*†‡§]+|\([a-z]\)|[a-z]\))\s+\S")
_NOTE_SIZE = 0.93  # of the body
_FAR = 9.0
_CONNECTS = re.compile(r"(?:\b(?:and|or|of|the|to|for|in|on|with|by|a|an|at|from)|[,&–—-])\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Composition:
    """Text of a document and what points into it."""

    text: str
    starts: tuple[int | None, ...]
    """Where the text of each page starts; None for a page without."""
    labels: tuple[str | None, ...]
    """Number printed on each page."""
    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]


@dataclass(slots=True)
class _Found:
    """Lines that are a heading."""

    end: int
    rank: tuple[float, ...]
    title: str


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
        heights: Height of each page.
        fonts: Fonts of the document.
        outline: Its bookmarks.
    """
    running = find_running(pages, heights)
    kept = [_keep(lines, gone) for lines, gone in zip(pages, running, strict=True)]
    body = find_body(kept, fonts)
    kept = [_notes_last(lines, body) for lines in kept]
    composer = _Composer(body, fonts, Mender(_words(kept)))
    entries = find_entries(outline, kept)
    starts = []
    for page, lines in enumerate(kept):
        named = {line: found for (at, line), found in entries.items() if at == page} if entries else {}
        starts.append(composer.write_page(lines, named))
    text = composer.writer.text
    return Composition(
        text=text,
        starts=tuple(starts),
        labels=tuple(gone.label for gone in running),
        headings=composer.headings(),
        blocks=tuple(composer.blocks),
    )


def _keep(lines: Sequence[Line], running: Running) -> list[Line]:
    if not running.lines:
        return list(lines)
    return [line for index, line in enumerate(lines) if index not in running.lines]


def _words(pages: Sequence[Sequence[Line]]) -> frozenset[str]:
    """Return the words of a document, where any is parted at the end of a line."""
    if not any(line.text[-1] in f"-{HYPHEN}" for lines in pages for line in lines if line.cells):
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
        start = len(members)
        while start and not members[start - 1].rows and members[start - 1].size < _NOTE_SIZE * body.size:
            start -= 1
        while start < len(members) and not _NOTE_MARK.match(members[start].text):
            start += 1
        flow += members[:start]
        notes += members[start:]
    return flow + notes


class _Composer:
    """Writes page after page."""

    def __init__(self, body: Body, fonts: Sequence[Font], mender: Mender) -> None:
        self.writer = TextWriter()
        self.blocks: list[Block] = []
        self._body = self._page_body = body
        self._fonts = fonts
        self._mender = mender
        self._headings: list[tuple[int, int, str, tuple[float, ...]]] = []
        self._open = False
        """Whether the last paragraph may go on, on the next page."""
        self._end = 0

    def headings(self) -> tuple[Heading, ...]:
        """Return the headings that were written, with their levels."""
        levels = rank_levels([rank for _, _, _, rank in self._headings])
        return tuple(
            Heading(start=start, end=end, level=level, title=title)
            for (start, end, title, _), level in zip(self._headings, levels, strict=True)
        )

    def write_page(
        self, lines: Sequence[Line], named: Mapping[int, tuple[int, OutlineEntry]]
    ) -> int | None:
        """Append the lines of a page; return where they start, None where there are none."""
        self._page_body = page_body(lines, self._body, self._fonts)
        tables = {table.start: table for table in find_tables(lines)}
        measures = measure_regions(lines)
        first: int | None = None
        index = 0
        while index < len(lines):
            table = tables.get(index)
            if table is not None:
                start = self._write_table(lines, table, named)
                index = table.end
            elif (found := self._heading(lines, index, named, measures)) is not None:
                self.writer.separate(2)
                start = self._write_heading(found)
                self.writer.separate(2)
                index = found.end
            else:
                stop = index + 1
                while (
                    stop < len(lines)
                    and stop not in tables
                    and stop not in named
                    and goes_on(lines[stop - 1], lines[stop], measures.get(lines[stop].region))
                    and self._style(lines, stop) is None
                ):
                    stop += 1
                start = self._write_paragraph(lines, index, stop, is_first=first is None)
                index = stop
            if first is None:
                first = start
        return first

    def _write(self, piece: str) -> int:
        start = self.writer.write(piece)
        self._end = start + len(piece)
        return start

    def _write_paragraph(
        self, lines: Sequence[Line], start: int, stop: int, *, is_first: bool
    ) -> int:
        text = lines[start].text
        for line in lines[start + 1 : stop]:
            text = self._mender.join(text, line.text)
        text = text.replace(HYPHEN, "-")
        if is_first and self._open and text[0].islower():
            self.writer.separate(1)
        else:
            before = lines[start - 1] if start else None
            near = (
                before is not None
                and before.region == lines[start].region
                and before.baseline - lines[start].baseline <= 1.4 * lines[start].size
                and stop - start == 1
            )
            self.writer.separate(1 if near else 2)
        place = self._write(text)
        self._open = text[-1] not in ".:;!?"
        return place

    def _write_heading(self, found: _Found) -> int:
        start = self._write(found.title)
        self._headings.append((start, start + len(found.title), found.title, found.rank))
        self._open = False
        return start

    def _write_table(
        self, lines: Sequence[Line], table: Table, named: Mapping[int, tuple[int, OutlineEntry]]
    ) -> int:
        self.writer.separate(2)
        index = table.start
        first: int | None = None
        while index < table.end and len(lines[index].cells) == 1 and not lines[index].rows:
            found = None
            if index in named or self._may_head(lines, table, index):
                found = self._heading(lines, index, named, {}, stop=table.end)
            if found is not None:
                start = self._write_heading(found)
                index = found.end
            else:
                start = self._write(lines[index].text.replace(HYPHEN, "-"))
                index += 1
            first = start if first is None else first
            self.writer.separate(1)
        rest = lines[index : table.end]
        rows = rest[0].rows if rest and rest[0].rows else table_rows(rest)
        for row in rows:
            if row:
                start = self._write(row.replace(HYPHEN, "-"))
                first = start if first is None else first
                self.writer.separate(1)
        self._open = False
        self.writer.separate(2)
        if first is None:
            return self._end
        self.blocks.append(Block(start=first, end=self._end, kind="table"))
        return first

    def _may_head(self, lines: Sequence[Line], table: Table, index: int) -> bool:
        """Return whether a line above the rows of a table may be a heading, not a label in it.

        Where one table follows another without a word between them, only a caption is one.
        """
        line = lines[index]
        follows_table = bool(self.blocks) and self.blocks[-1].end == self._end and table.start > 0
        if line.text[-1] == ":" or not _heads_region(line):
            return False
        return not follows_table or any(is_units(other) for other in lines[index + 1 : index + 3])

    def _style(self, lines: Sequence[Line], index: int) -> Style | None:
        line = lines[index]
        if line.rows or len(line.cells) > 2 or is_units(line):
            return None
        above = _distance(lines, index - 1, index)
        below = _distance(lines, index, index + 1)
        below_lines = lines[index + 1 : index + 3]
        caption = any(is_units(other) for other in below_lines) and len(line.cells) == 1
        return heading_style(
            line,
            body=self._page_body,
            fonts=self._fonts,
            space_above=above,
            space_below=below,
            is_caption=caption and _is_titled(line.text),
        )

    def _heading(
        self,
        lines: Sequence[Line],
        index: int,
        named: Mapping[int, tuple[int, OutlineEntry]],
        measures: Mapping[int, Measure],
        stop: int | None = None,
    ) -> _Found | None:
        """Return the heading that begins with a line, None where none does."""
        if index in named:
            end, entry = named[index]
            return _Found(end, (-1.0, float(entry.level)), self._title(lines[index:end]))
        style = self._style(lines, index)
        if style is None:
            return None
        end = index + 1
        limit = len(lines) if stop is None else stop
        while end < limit and end - index < 4 and end not in named and self._wraps(lines, end, style, measures):
            end += 1
        if end < limit and stop is None and end not in named and not is_units(lines[end]):
            if goes_on(lines[end - 1], lines[end], measures.get(lines[end].region)) and _same_type(lines[end - 1], lines[end]):
                return None
        return _Found(end, style.rank, self._title(lines[index:end]))

    def _wraps(
        self, lines: Sequence[Line], end: int, style: Style, measures: Mapping[int, Measure]
    ) -> bool:
        """Return whether a heading goes on with a line."""
        before, line = lines[end - 1], lines[end]
        following = self._style(lines, end)
        if len(line.cells) > 1 or is_units(line) or following is None and not line.text[0].islower():
            return False
        if following is not None and following.rank[:4] != style.rank[:4]:
            return False
        distance = before.baseline - line.baseline
        if before.region != line.region or not 0 < distance <= 1.5 * line.size:
            return False
        if _CONNECTS.search(before.text) or line.text[0].islower():
            return True
        measure = measures.get(line.region)
        right = measure.right if measure else line.region_right
        word = line.text.split(" ", 1)[0]
        return right - before.right < 0.55 * line.size * (len(word) + 1)

    def _title(self, lines: Sequence[Line]) -> str:
        title = lines[0].text
        for line in lines[1:]:
            title = self._mender.join(title, line.text)
        return title.replace(HYPHEN, "-")


def _is_titled(text: str) -> bool:
    """Return whether the long words of a line begin with capitals, and no sentence ends it."""
    words = [word for word in text.split() if len(word) >= 4]
    capitals = sum(not word[0].islower() for word in words)
    return text[-1] not in ".:;," and bool(words) and capitals >= 0.7 * len(words)


def _heads_region(line: Line) -> bool:
    """Return whether a line stands at the left of its region or in the middle, not over a column."""
    width = line.region_right - line.region_left
    shift = (line.left + line.right - line.region_left - line.region_right) / 2
    return line.left - line.region_left < 4 * line.size or abs(shift) < 0.06 * width


def _same_type(line: Line, other: Line) -> bool:
    """Return whether two lines are set in the same type at their seam."""
    last, first = line.runs[-1], other.runs[0]
    return last[0] == first[0] and abs(last[1] - first[1]) <= 2


def _distance(lines: Sequence[Line], upper: int, lower: int) -> float:
    """Return how far two lines are apart, in sizes of the larger one; far at the edges."""
    if upper < 0 or lower >= len(lines) or lines[upper].region != lines[lower].region:
        return _FAR
    above, below = lines[upper], lines[lower]
    if above.rows or below.rows:
        return _FAR
    distance = above.baseline - below.baseline
    return distance / max(above.size, below.size) if distance > 0 else _FAR
