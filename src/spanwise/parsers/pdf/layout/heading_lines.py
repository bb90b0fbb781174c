"""The headings among the lines of one page, with the lines that each of them takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanwise.parsers.pdf.layout.flow import Measure, goes_on, measure_regions
from spanwise.parsers.pdf.layout.headings import Body, Style, heading_style
from spanwise.parsers.pdf.layout.outline import OutlineEntry
from spanwise.parsers.pdf.layout.page import Font
from spanwise.parsers.pdf.layout.rows import Line
from spanwise.parsers.pdf.layout.tables import is_units

__all__ = ["HeadingLines", "PageHeadings"]

_FAR = 9.0
_MAX_LINES = 4
_CAPTION_LINES = 2
"""A line of units may stand so many lines under the caption."""
_TIGHT = 1.5  # sizes between the baselines of a heading that is wrapped
_CHAR_WIDTH = 0.55  # em
_CONNECTS = re.compile(
    r"(?:\b(?:and|or|of|the|to|for|in|on|with|by|a|an|at|from)|[,&–—-])\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class HeadingLines:
    """A heading that takes the lines up to `end`."""

    end: int
    rank: tuple[float, ...]
    """The smaller, the higher it stands."""


class PageHeadings:
    """Tells of each line of a page whether a heading begins with it."""

    def __init__(
        self,
        lines: Sequence[Line],
        *,
        body: Body,
        fonts: Sequence[Font],
        named: Mapping[int, tuple[int, OutlineEntry]],
    ) -> None:
        """Take the lines of a page.

        Args:
            lines: In reading order.
            body: Type of the page.
            fonts: Fonts of the document.
            named: Lines that the outline names: one past the last one, and the entry.
        """
        self.measures: Mapping[int, Measure] = measure_regions(lines)
        self._lines = lines
        self._body = body
        self._fonts = fonts
        self._named = named

    def is_named(self, index: int) -> bool:
        """Return whether the outline names a line."""
        return index in self._named

    def find(self, index: int, *, limit: int | None = None) -> HeadingLines | None:
        """Return the heading that begins with a line, None where none does.

        Args:
            index: Which line.
            limit: One past the last line of the table that it stands above; None elsewhere.
        """
        if index in self._named:
            end, entry = self._named[index]
            return HeadingLines(end, (-1.0, float(entry.level)))
        style = self.style(index)
        if style is None:
            return None
        stop = len(self._lines) if limit is None else limit
        end = index + 1
        while end < min(stop, index + _MAX_LINES) and self._wraps(end, style):
            end += 1
        if limit is None and end < stop and self._is_running_on(end):
            return None
        return HeadingLines(end, style.rank)

    def style(self, index: int) -> Style | None:
        """Return the style of a line that looks like a heading, None for others."""
        line = self._lines[index]
        if line.rows or len(line.cells) > 2 or is_units(line):
            return None
        below = self._lines[index + 1 : index + 1 + _CAPTION_LINES]
        return heading_style(
            line,
            body=self._body,
            fonts=self._fonts,
            space_above=self._space(index),
            space_below=self._space(index + 1),
            is_caption=len(line.cells) == 1 and _is_titled(line.text) and any(map(is_units, below)),
        )

    def may_head_table(self, index: int, *, follows_table: bool) -> bool:
        """Return whether a line above the rows of a table may be a heading, not a label in it.

        Args:
            index: Which line.
            follows_table: Whether a table ends right above: then only a caption with a line of
                units is a heading.
        """
        if self.is_named(index):
            return True
        line = self._lines[index]
        if line.text[-1] == ":" or not _heads_region(line):
            return False
        below = self._lines[index + 1 : index + 1 + _CAPTION_LINES]
        return not follows_table or any(map(is_units, below))

    def _space(self, index: int) -> float:
        """Return the distance of a line to the one above it, in sizes; far at the edges."""
        lines = self._lines
        if not 0 < index < len(lines):
            return _FAR
        above, below = lines[index - 1], lines[index]
        distance = above.baseline - below.baseline
        if above.region != below.region or above.rows or below.rows or distance <= 0:
            return _FAR
        return distance / max(above.size, below.size)

    def _wraps(self, end: int, style: Style) -> bool:
        """Return whether a heading goes on with a line."""
        before, line = self._lines[end - 1], self._lines[end]
        if end in self._named or len(line.cells) > 1 or is_units(line):
            return False
        following = self.style(end)
        starts_small = line.text[0].islower()
        is_alike = starts_small if following is None else following.rank[:4] == style.rank[:4]
        distance = before.baseline - line.baseline
        is_near = before.region == line.region and 0 < distance <= _TIGHT * line.size
        if not (is_alike and is_near):
            return False
        if starts_small or _CONNECTS.search(before.text):
            return True
        measure = self.measures.get(line.region)
        right = measure.right if measure else line.region_right
        word = line.text.split(" ", 1)[0]
        return right - before.right < _CHAR_WIDTH * line.size * (len(word) + 1)

    def _is_running_on(self, end: int) -> bool:
        """Return whether a line goes on with the one before it in the same type, as prose does."""
        before, line = self._lines[end - 1], self._lines[end]
        if end in self._named or is_units(line) or not (before.runs and line.runs):
            return False
        last, first = before.runs[-1], line.runs[0]
        same_type = last[0] == first[0] and abs(last[1] - first[1]) <= 2
        return same_type and goes_on(before, line, self.measures.get(line.region))


def _is_titled(text: str) -> bool:
    """Return whether the long words of a line begin with capitals, and no sentence ends it."""
    words = [word for word in text.split() if len(word) >= 4]
    capitals = sum(not word[0].islower() for word in words)
    return text[-1] not in ".:;," and bool(words) and capitals >= 0.7 * len(words)


def _heads_region(line: Line) -> bool:
    """Return whether a line stands at the left of its region or in its middle."""
    width = line.region_right - line.region_left
    shift = (line.left + line.right - line.region_left - line.region_right) / 2
    return line.left - line.region_left < 4 * line.size or abs(shift) < 0.06 * width
