"""Headings: scoring of lines by type and words, and the levels of headings.

Rules
    1. A line scores points for larger type, bold, capitals, italics, a leading number or word
       such as "Item", and space around it, and loses points for the end of a sentence, length
       and numbers. A line is a heading from a threshold on.
    2. Headings of one style have one level; a style of higher rank (larger, capitals, bold) is
       above. "Part" is above "Item", and both are above all styles.
    3. Bookmarks of the file have precedence over styles. A bookmark whose title is not on its page
       ends the sections of bookmarks of its level and deeper ones all the same, unless the next
       heading is in a type of lower rank.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from spanwise.parsers.pdf.layout.flow import Measure, goes_on, measure_regions
from spanwise.parsers.pdf.layout.page import Font
from spanwise.parsers.pdf.layout.rows import Line
from spanwise.parsers.pdf.layout.tables import is_units, names_columns

_LETTERS = re.compile(r"[^\W_]+")
_MAX_TITLE_LINES = 3
"""Maximum number of lines of a title."""
_MAX_NUMBER_CHARS = 16
"""Maximum length of a number before the title on its line: "Item 7A", "Chapter 12"."""


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """Bookmark of a PDF."""

    title: str
    level: int
    """Level, 1 is the outermost."""
    page: int
    """Index of the target page, from 0."""


class UntitledBookmark(NamedTuple):
    """Bookmark whose title is not on its page. Such bookmarks are ordered by place."""

    page: int
    """Index of its page."""
    line: int
    """Line after the title of the bookmark before it, or the first line of the page."""
    level: int
    """Level, 1 is the outermost."""


class FoundEntries(NamedTuple):
    """Places of the bookmarks of a document."""

    titles: dict[tuple[int, int], tuple[int, OutlineEntry]]
    """For the page and first line of each title, the index after its last line and its bookmark."""
    untitled: list[UntitledBookmark]
    """Bookmarks without such a title, in order."""


def find_entries(entries: Sequence[OutlineEntry], pages: Sequence[Sequence[Line]]) -> FoundEntries:
    """Return the lines with the titles of bookmarks, on the target page or the next one.

    Letters and digits are compared, without case. Of two bookmarks for one line, the first is used.
    """
    keys: dict[int, list[str]] = {}
    found: dict[tuple[int, int], tuple[int, OutlineEntry]] = {}
    untitled: list[UntitledBookmark] = []
    last = (0, 0)
    for entry in entries:
        key = letters_key(entry.title)
        for page in (entry.page, entry.page + 1):
            if not key or page >= len(pages):
                continue
            if page not in keys:
                keys[page] = [letters_key(line.text) for line in pages[page]]
            place = _find(key, keys[page])
            if place is not None:
                found.setdefault((page, place[0]), (place[1], entry))
                last = page, place[1]
                break
        else:
            page, line = max(last, (entry.page, 0))
            untitled.append(UntitledBookmark(page, line, entry.level))
    return FoundEntries(found, sorted(untitled))


def letters_key(text: str) -> str:
    """Return the letters and digits of a text without case, to compare texts."""
    return "".join(_LETTERS.findall(text.casefold()))


def _find(key: str, lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the range of the lines that form a title, else of a line that ends with it.

    Such a line may have a short number before the title. None if there is no such line.
    """
    for first in range(len(lines)):
        joined = ""
        for place in range(first, min(first + _MAX_TITLE_LINES, len(lines))):
            joined += lines[place]
            if joined == key and lines[first]:
                return first, place + 1
            if not key.startswith(joined):
                break
    if len(key) < 4:
        return None
    for place, line in enumerate(lines):
        if line.endswith(key) and len(line) <= len(key) + _MAX_NUMBER_CHARS:
            return place, place + 1
    return None


_NAMED = re.compile(
    r"(?P<kind>PART|Part|ITEM|Item|NOTE|Note|ARTICLE|Article|CHAPTER|Chapter|SECTION|Section"
    r"|APPENDIX|Appendix|SCHEDULE|Schedule|EXHIBIT|Exhibit|ANNEX|Annex)\s+"
    r"(?:[IVXLC]{1,7}|\d{1,3}(?:\.\d{1,3}){0,3}[A-Za-z]?|[A-Z](?:-\d{1,3})?)\b[.:]?"
)
_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,3}){0,3})\.?\)?\s+(?=[A-Z])")
_NAME = re.compile(r"[^\W\d]+-?\d+")  # such as "COVID-19", whose capitals mean nothing
_STOPS = re.compile(r"(?:[a-z\d)][.;,]|[;,])\Z")
_ABBREVIATION = re.compile(r"\b(?:Inc|Corp|Co|Ltd|U\.S|L\.P|N\.A|plc|No)\.\Z")
_LEADERS = re.compile(r"\.{4,}|(?:\. ){3,}|…{2,}")
_MAX_CHARS = 160
_THRESHOLD = 2.5


@dataclass(frozen=True, slots=True)
class Body:
    """Type of most of a document's text."""

    size: float
    font: int
    bold: bool
    italic: bool
    scale: float = 1.0
    """Ratio of the body size of a page to that of the document."""


def find_body(pages: Sequence[Sequence[Line]], fonts: Sequence[Font]) -> Body:
    """Return the type of most prose of a document; of most characters if there is no prose."""
    every = [line for lines in pages for line in lines]
    prose = (line for line in every if line.is_prose)
    return (
        _common_type(prose, fonts)
        or _common_type(every, fonts)
        or Body(10.0, -1, bold=False, italic=False)
    )


def page_body(lines: Sequence[Line], body: Body, fonts: Sequence[Font]) -> Body:
    """Return the body type of a page, which is scaled in some files.

    Args:
        lines: Lines of the page.
        body: Body type of the document; returned if two lines of prose on the page have its size.
        fonts: Fonts of the document.
    """
    prose = [line for line in lines if line.is_prose]
    like = sum(abs(line.size - body.size) <= 0.06 * body.size for line in prose)
    if like >= 2:
        return body
    if len(prose) < 2:
        return _common_type(lines, fonts) or body
    found = _common_type(prose, fonts) or body
    return replace(found, scale=body.size / max(found.size, 1.0))


def _common_type(lines: Iterable[Line], fonts: Sequence[Font]) -> Body | None:
    chars: Counter[tuple[int, int]] = Counter()
    sizes: Counter[int] = Counter()
    for line in lines:
        for font, size, count in line.runs:
            chars[font, size] += count
            sizes[size] += count
    if not sizes:
        return None
    size = min(sizes, key=lambda s: (-sizes[s], s))
    font = min((f for f, s in chars if s == size), key=lambda f: (-chars[f, size], f))
    return Body(size / 10, font, bold=fonts[font].bold, italic=fonts[font].italic)


def _type_score(line: Line, body: Body, fonts: Sequence[Font]) -> float:
    total = sum(count for _, _, count in line.runs)
    bold = sum(count for font, _, count in line.runs if fonts[font].bold)
    italic = sum(count for font, _, count in line.runs if fonts[font].italic)
    foreign = sum(count for font, _, count in line.runs if font != body.font)
    ratio = line.size / body.size
    score = 0.0
    if ratio >= 1.25:
        score += 3
    elif ratio >= 1.06:
        score += 2
    elif ratio < 0.88:
        score -= 1
    if bold >= 0.9 * total and not body.bold:
        score += 2
    elif italic >= 0.9 * total and not body.italic:
        score += 1.5
    elif foreign >= 0.9 * total and ratio >= 0.95:
        score += 2 if fonts[line.runs[0][0]].is_nameless else 1
    if line.text.isupper() and sum(map(str.isalpha, line.text)) >= 4:
        score += 1.5
    return score


def _word_score(text: str, *, named: bool, stands_alone: bool) -> float:
    score = 0.0
    if _STOPS.search(text) and not _ABBREVIATION.search(text):
        score -= 1.0 if named else 2.0
    if (text[0].islower() and not stands_alone) or text[0] in "•●▪■◦*(":
        score -= 2
    words = text.split()
    small = sum(word[0].islower() for word in words) / len(words)
    if text[-1] == ":" and len(words) >= 6 and small > 0.4:
        score -= 1.5
    if len(text) > 110 or (len(words) >= 8 and small > 0.6):
        score -= 1
    return score


def _rank(
    line: Line,
    named: re.Match[str] | None,
    numbered: re.Match[str] | None,
    *,
    scale: float,
    fonts: Sequence[Font],
) -> tuple[float, ...]:
    """Return the sort key of a heading: kind, size, capitals, bold, italics, number."""
    kind = named["kind"].lower() if named else ""
    order = {"part": 0, "item": 1}.get(kind, 2)
    if order < 2:
        return (order,)
    depth = numbered["number"].count(".") if numbered else 0
    main = max(line.runs, key=lambda run: run[2])[0]
    return (
        order,
        -round(2 * scale * line.size) / 2,
        not (line.text.isupper() and not _NAME.fullmatch(line.text)),
        not fonts[main].bold,
        fonts[main].italic,
        depth,
    )


_FIRST_STYLE = (0.0,)  # ranks of bookmarks are smaller


def _bookmark_rank(level: int) -> tuple[float, ...]:
    return (-1.0, float(level))


def rank_levels(
    headings: Sequence[HeadingLines], *, ended: Mapping[int, int] | None = None
) -> list[int]:
    """Return the level of each heading of a document, 1 is the outermost.

    The parent of a heading is the nearest heading of a higher rank before it; a child is one level
    below its parent.

    Args:
        headings: The headings in order.
        ended: By index of a heading, the outermost level of bookmarks without a title before it.
    """
    stack: list[HeadingLines] = []
    levels = []
    outer: int | None = None
    for index, heading in enumerate(headings):
        if ended and index in ended:
            outer = ended[index] if outer is None else min(outer, ended[index])
        if outer is not None:
            is_ended = [_is_ended(opened, outer, heading) for opened in stack]
            if True in is_ended:
                del stack[is_ended.index(True) :]
                outer = None
        while stack and stack[-1].rank >= heading.rank:
            stack.pop()
        stack.append(heading)
        levels.append(len(stack))
        outer = None if heading.rank < _FIRST_STYLE else outer
    return levels


def _is_ended(opened: HeadingLines, outer: int, heading: HeadingLines) -> bool:
    """Return whether a bookmark without a title ends the section of an open heading.

    Args:
        opened: The open heading.
        outer: Level of the bookmark.
        heading: The next heading. In a type of lower rank than that of the open one, it is a part
            of its section.
    """
    if not _bookmark_rank(outer) <= opened.rank < _FIRST_STYLE:
        return False
    return opened.style is None or heading.style is None or heading.style <= opened.style


_FAR = 9.0
_MAX_LINES = 4
_CAPTION_LINES = 2
"""Maximum number of lines from a caption to its line of units."""
_TIGHT = 1.5  # line distance within a wrapped heading, in type sizes
_CHAR_WIDTH = 0.55  # em
_CONNECTS = re.compile(
    r"(?:\b(?:and|or|of|the|to|for|in|on|with|by|a|an|at|from)|[,&–—-])\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class HeadingLines:
    """Heading that was found: the index after its last line, and its rank."""

    end: int
    rank: tuple[float, ...]
    """Sort key; smaller is a higher level."""
    style: tuple[float, ...] | None
    """Sort key by type alone; None if the line does not look like a heading."""


class PageHeadings:
    """Finder of the headings of a page."""

    def __init__(
        self,
        lines: Sequence[Line],
        *,
        body: Body,
        fonts: Sequence[Font],
        named: Mapping[int, tuple[int, OutlineEntry]],
    ) -> None:
        """Create the finder.

        Args:
            lines: Lines of the page in reading order.
            body: Body type of the page.
            fonts: Fonts of the document.
            named: For the first line of each bookmarked title, the index after its last line and
                the bookmark.
        """
        self.measures: Mapping[int, Measure] = measure_regions(lines)
        self._lines = lines
        self._body = body
        self._fonts = fonts
        self._named = named

    def is_named(self, index: int) -> bool:
        """Return whether a line is the title of a bookmark."""
        return index in self._named

    def find(self, index: int, *, limit: int | None = None) -> HeadingLines | None:
        """Return the heading that begins with a line, None if there is none.

        Args:
            index: Index of the line.
            limit: The index after the last line of the table below the line; None elsewhere.
        """
        if index in self._named:
            end, entry = self._named[index]
            return HeadingLines(end, _bookmark_rank(entry.level), self.rank(index))
        rank = self.rank(index)
        if rank is None:
            return None
        stop = len(self._lines) if limit is None else limit
        end = index + 1
        while end < min(stop, index + _MAX_LINES) and self._wraps(end, rank):
            end += 1
        if limit is None and end < stop and self._is_running_on(end):
            return None
        return HeadingLines(end, rank, rank)

    def rank(self, index: int) -> tuple[float, ...] | None:
        """Return the sort key of a line that looks like a heading, None for other lines.

        A smaller key is a higher level.
        """
        line, text = self._lines[index], self._lines[index].text
        letters = sum(map(str.isalpha, text))
        if line.rows or len(line.cells) > 2 or is_units(line) or not line.runs:
            return None
        if not 3 <= len(text) <= _MAX_CHARS or letters < 3 or letters < 0.4 * len(text):
            return None
        is_caption = len(line.cells) == 1 and _is_titled(text) and self._precedes_units(index)
        emphasis = _type_score(line, self._body, self._fonts) + 2.0 * is_caption
        named, numbered = _NAMED.match(text), _NUMBERED.match(text)
        score = emphasis + (1.5 if named else 1.0 if numbered else 0.0)
        has_space_above, has_space_below = self._space(index) >= 1.6, self._space(index + 1) >= 1.45
        score += 0.5 * has_space_above + 0.5 * has_space_below
        stands_alone = has_space_above and has_space_below and len(text) <= 40
        score += _word_score(text, named=named is not None, stands_alone=stands_alone)
        if score < _THRESHOLD or (emphasis < 1 and not named and not numbered):
            return None
        if _LEADERS.search(text) or names_columns(text):
            return None
        return _rank(line, named, numbered, scale=self._body.scale, fonts=self._fonts)

    def _precedes_units(self, index: int) -> bool:
        """Return whether a line of units is close below a line."""
        return any(map(is_units, self._lines[index + 1 : index + 1 + _CAPTION_LINES]))

    def may_head_table(self, index: int, *, follows_table: bool) -> bool:
        """Return whether a line above the rows of a table may be a heading instead of a label.

        Args:
            index: Index of the line.
            follows_table: Whether a table ends directly above; then only a caption with a line of
                units is a heading.
        """
        if self.is_named(index):
            return True
        line = self._lines[index]
        if line.text[-1] == ":" or not _heads_region(line):
            return False
        return not follows_table or self._precedes_units(index)

    def _space(self, index: int) -> float:
        """Return the distance of a line to the one above it, in type sizes; large at the edges."""
        lines = self._lines
        if not 0 < index < len(lines):
            return _FAR
        above, below = lines[index - 1], lines[index]
        distance = above.baseline - below.baseline
        if above.region != below.region or above.rows or below.rows or distance <= 0:
            return _FAR
        return distance / max(above.size, below.size)

    def _wraps(self, end: int, rank: tuple[float, ...]) -> bool:
        """Return whether a heading continues in a line."""
        before, line = self._lines[end - 1], self._lines[end]
        if end in self._named or len(line.cells) > 1 or is_units(line):
            return False
        following = self.rank(end)
        starts_small = line.text[0].islower()
        is_alike = starts_small if following is None else following[:4] == rank[:4]
        distance = before.baseline - line.baseline
        is_near = before.region == line.region and 0 < distance <= _TIGHT * line.size
        connects = _CONNECTS.search(before.text) is not None
        is_same_type = abs(before.size - line.size) <= 1 and not _NAMED.match(line.text)
        if not is_near or not (is_alike or (connects and is_same_type)):
            return False
        if starts_small or connects:
            return True
        measure = self.measures.get(line.region)
        right = measure.right if measure else line.region_right
        word = line.text.split(" ", 1)[0]
        return right - before.right < _CHAR_WIDTH * line.size * (len(word) + 1)

    def _is_running_on(self, end: int) -> bool:
        """Return whether a line continues the one before it in the same type, as prose does."""
        before, line = self._lines[end - 1], self._lines[end]
        if end in self._named or is_units(line) or not (before.runs and line.runs):
            return False
        last, first = before.runs[-1], line.runs[0]
        same_type = last[0] == first[0] and abs(last[1] - first[1]) <= 2
        return same_type and goes_on(before, line, self.measures.get(line.region))


def _is_titled(text: str) -> bool:
    """Return whether the long words of a line are capitalised, and it does not end a sentence."""
    words = [word for word in text.split() if len(word) >= 4]
    capitals = sum(not word[0].islower() for word in words)
    return text[-1] not in ".:;," and bool(words) and capitals >= 0.7 * len(words)


def _heads_region(line: Line) -> bool:
    """Return whether a line is aligned to the left of its region or centred."""
    width = line.region_right - line.region_left
    shift = (line.left + line.right - line.region_left - line.region_right) / 2
    return line.left - line.region_left < 4 * line.size or abs(shift) < 0.06 * width
