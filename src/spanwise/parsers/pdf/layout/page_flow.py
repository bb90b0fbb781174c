"""The headings, tables and paragraphs of a page, and what of them the next page goes on with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanwise.parsers.pdf.layout.flow import HYPHEN, goes_on
from spanwise.parsers.pdf.layout.heading_lines import HeadingLines, PageHeadings
from spanwise.parsers.pdf.layout.headings import Body, page_body
from spanwise.parsers.pdf.layout.outline import OutlineEntry
from spanwise.parsers.pdf.layout.page import Font
from spanwise.parsers.pdf.layout.rows import Line, is_figure
from spanwise.parsers.pdf.layout.tables import Table, find_tables

__all__ = ["Item", "PageFlow"]

_SAME_SIZE = 0.08  # of the type
_ALIGNED = 6.0  # points
_YEAR = re.compile(r"(?:19|20)\d\d")
_ENDED = re.compile(r"[.:;!?]['\"”’)]*\Z")


@dataclass(frozen=True, slots=True)
class Item:
    """A range of lines that is written as one."""

    start: int
    end: int
    kind: HeadingLines | Table | None
    """None for a paragraph."""


class PageFlow:
    """The lines of a page in the order in which they are written."""

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
            lines: Its lines, footnotes last.
            notes: Index of the first footnote, or how many lines there are.
            body: Type of the document.
            fonts: Fonts of the document.
            named: Lines that the outline names: one past the last one, and the entry.
        """
        self.lines = lines
        self.notes = notes
        self.headings = PageHeadings(
            lines, body=page_body(lines, body, fonts), fonts=fonts, named=named
        )
        self.tables: Mapping[int, Table] = {table.start: table for table in find_tables(lines)}

    def _paragraph_stop(self, start: int) -> int:
        """Return one past the last line of the paragraph that starts with a line."""
        lines, headings = self.lines, self.headings
        stop = start + 1
        while (
            stop < len(lines)
            and stop != self.notes
            and stop not in self.tables
            and not headings.is_named(stop)
            and self._follows(stop)
            and headings.style(stop) is None
        ):
            stop += 1
        return stop

    def items(self) -> list[Item]:
        """Return the headings, tables and paragraphs of the page, in order; they cover it."""
        items: list[Item] = []
        start = 0
        while start < len(self.lines):
            kind = self.tables.get(start) or self.headings.find(start)
            end = self._paragraph_stop(start) if kind is None else kind.end
            items.append(Item(start, end, kind))
            start = end
        return items

    def goes_on(self, item: Item, following: PageFlow | None) -> bool:
        """Return whether the last item before the footnotes goes on on the next page.

        A sentence or word does where a small letter follows; a table where figures do that stand
        under its own, or rules as wide as its own.
        """
        if following is None:
            return False
        last, first = self.lines[item.end - 1], following.lines[0]
        if isinstance(item.kind, Table):
            is_last = item.end == len(self.lines)
            return is_last and 0 in following.tables and _goes_on_with_row(last, first)
        return item.kind is None and following.begins_with_text and _goes_on_with(last, first)

    def _follows(self, index: int) -> bool:
        """Return whether a line goes on with the one before it, in its column or the next one."""
        before, line = self.lines[index - 1], self.lines[index]
        if before.region != line.region:
            return _goes_on_with(before, line)
        return goes_on(before, line, self.headings.measures.get(line.region))

    @property
    def begins_with_text(self) -> bool:
        """Whether its first line is neither heading nor table nor footnote."""
        return bool(self.notes) and 0 not in self.tables and self.headings.find(0) is None


def _goes_on_with(before: Line, line: Line) -> bool:
    """Return whether a sentence goes on with the first line of the next column or page."""
    if abs(before.size - line.size) > _SAME_SIZE * line.size or not line.text[0].islower():
        return False
    is_ended = _ENDED.search(before.text) is not None or not any(map(str.isalpha, before.text))
    return before.text[-1] in f"-{HYPHEN}" or not is_ended


def _goes_on_with_row(last: Line, line: Line) -> bool:
    """Return whether a line is a row of the table that another one ends, and no head of columns.

    A ruled table goes on in one of the same width.
    """
    if last.rows and line.rows:
        return max(abs(last.left - line.left), abs(last.right - line.right)) <= _ALIGNED
    if last.rows or line.rows or not any(is_figure(cell.text) for cell in line.cells[1:]):
        return False
    is_head = any(_YEAR.fullmatch(cell.text) for cell in line.cells)
    return not is_head and abs(last.right - line.right) <= _ALIGNED
