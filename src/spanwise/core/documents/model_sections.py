"""Sections from a language model: numbered lines, windows, and the sections of its answers.

An answer names the first line of each section. A section ends where the next one begins, so
sections never overlap or leave a gap.

Rules of lines:
    The lines, joined, are the text. Only a blank text has a blank line. A rule under a heading, or
    another short line without a word, belongs to the line before it.
    A line begins at each heading, at each turn of a speaker, and where a paragraph, a row or a
    sentence ends at a line break; a sentence wrapped over several lines is not split. A speaker is
    a name before a colon ("Chair: ") at the beginning of at least three lines.
    No line is longer than about 400 characters: longer ones are split at sentences, and if these
    are too long, at clauses, words and characters. A small table is one line.
    Lines are shown without their line breaks, so no text can imitate a numbered line.
    No section crosses a part. Parts begin at the headings that begin a section without a model,
    so a model never removes the boundary at a heading.

Rules of windows:
    A window is the input of one model call: whole lines, within the token limit except for a single
    longer line.
    Consecutive parts share a window if they fit. A part that does not fit is split evenly into
    windows of its own.
    A seam is the boundary of two windows inside a part. A second call decides on the last section
    before it and the first sections after it, up to `min_chars`. It reads at most half of each
    window, so all seams can be decided in parallel.

Rules of titles:
    A title is one line of at most 120 characters.
    List markers, quotes and line numbers are removed; a number that begins the section itself stays
    ("1. Definitions").
    An unusable title (a refusal, a placeholder, no word at all) is dropped.

Rules of starts:
    Line numbers that do not exist are ignored. Of several sections with the same first line, the
    first one with a title counts; their order does not matter.
    Lines before the first named section, and parts that no section begins, are untitled sections.
    A section right after a heading begins with that heading. If the heading was named as a section
    too, its title is used.
    A section that is too short is merged into the next one of its part, or else into the previous
    one. Then neighbours with equal titles are merged. A merged section has the title of its longest
    part.

Rules of paths:
    A heading applies up to the next heading of its level or of an outer level. The path of a
    section has all headings that apply to the whole section. A section that begins with several
    headings in a row begins with the last of them.
    The path ends with the section's own title, unless the last heading contains it or a heading
    equals it. No title follows an equal one. An untitled
    section has the title of the heading it begins with, or a title extracted from its words.
    A section longer than the maximum is cut by topic, as in `core.documents.sections`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.documents.sections import cut_long, extended_path
from spanwise.core.documents.splitting import split_pieces
from spanwise.core.documents.summary import clip, extract_title
from spanwise.core.text.break_points import LEAD, PARAGRAPH, ROW, SENTENCE, grade_of, place_of
from spanwise.core.text.model_lines import model_line
from spanwise.core.text.sentences import LINE_BREAKS
from spanwise.options import ChunkOptions
from spanwise.types import Block, Document, Heading

if TYPE_CHECKING:
    from spanwise.options import SectionOptions
    from spanwise.types import Section

WORD = re.compile(r"[^\W_]")
"""Pattern of a letter or digit; text without a match has no content."""

_LINE_CHARS = 400
_PIECES = ChunkOptions(
    target=_LINE_CHARS, max=500, block_max=500
)  # pieces are limited to `max` less a quarter of `target`: 400
_SPEAKER = re.compile(r"^[^\S\n]*([^\W\d_][^:\n]{0,39}):(?=\s)", re.MULTILINE)
_MIN_TURNS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedLines:
    """Lines of a document, counted from 0. A model sees the lines of a window numbered from 1."""

    bounds: tuple[int, ...]
    """Offset of each line, and of the end of the text."""
    shown: tuple[str, ...]
    """Text of each line for a model, without its number."""
    headings: frozenset[int]
    """Indexes of the lines that consist of a heading."""
    parts: tuple[int, ...]
    """First line of each part, ascending, starting with 0."""

    def numbered(self, window: range) -> str:
        """Return lines for a model, each preceded by its number: "[1] ..."."""
        shown = self.shown[window.start : window.stop]
        return "\n".join(f"[{number}] {line}" for number, line in enumerate(shown, start=1))

    def chars(self, first: int, last: int) -> int:
        """Return the length in characters of the lines `[first, last)`."""
        return self.bounds[last] - self.bounds[first]

    def line_at(self, place: int) -> int:
        """Return the line that contains a character."""
        return _line_at(self.bounds, place)


def number_lines(
    document: Document, *, headings: Sequence[Heading], plain: Sequence[Section] = ()
) -> NumberedLines:
    """Return the numbered lines of a non-empty document.

    Args:
        document: The document.
        headings: All its headings, in order; none begins inside another.
        plain: Sections made without a model. A part begins with each of them that begins at a
            heading.
    """
    text = document.text
    bounds = _bounds(document, headings)
    starts = [_line_at(bounds, heading.start) for heading in headings]
    alone = [
        line
        for line, heading in zip(starts, headings, strict=True)
        if WORD.search(text, heading.end, bounds[line + 1]) is None
    ]
    return NumberedLines(
        bounds=tuple(bounds),
        shown=tuple(" ".join(text[start:stop].split()) for start, stop in pairwise(bounds)),
        headings=frozenset(alone),
        parts=tuple(_parts(bounds, headings, plain)),
    )


def _bounds(document: Document, headings: Sequence[Heading]) -> list[int]:
    """Return the offset of each line, and of the end of the text."""
    text = document.text
    bounds = [0]
    heading_starts = (heading.start for heading in headings)
    places = sorted({0, *heading_starts, *_turns(document)} - {len(text)})
    for start, stop in pairwise([*places, len(text)]):
        for end in _line_ends(text, start, stop, _overlapping(document.blocks, start, stop)):
            if len(bounds) > 1 and _is_wordless(text, bounds, end):
                bounds[-1] = end
            else:
                bounds.append(end)
    if len(bounds) > 2 and text[: bounds[1]].isspace():
        del bounds[1]
    return bounds


def _is_wordless(text: str, bounds: Sequence[int], end: int) -> bool:
    """Return whether the text from the last bound to `end` belongs to the line before: no word."""
    if text[bounds[-1] : end].isspace():
        return True
    return end - bounds[-2] <= _LINE_CHARS and WORD.search(text, bounds[-1], end) is None


def _line_at(bounds: Sequence[int], place: int) -> int:
    """Return the line that contains a character; the last line for the end of the text."""
    return bisect_right(bounds, place, hi=len(bounds) - 1) - 1


def _overlapping(blocks: Sequence[Block], start: int, stop: int) -> Sequence[Block]:
    first = bisect_right(blocks, start, key=lambda block: block.end)
    return blocks[first : bisect_left(blocks, stop, key=lambda block: block.start)]


def _line_ends(text: str, start: int, stop: int, blocks: Sequence[Block]) -> Iterator[int]:
    """Yield the ends of the lines of a range, the last at `stop`; some may be blank."""
    pieces = split_pieces(
        text, start=start, stop=stop, blocks=blocks, options=_PIECES, count_tokens=None
    )
    line = sentence = previous = start
    for end in pieces.ends:
        place = place_of(end)
        while place - line > _LINE_CHARS and previous > line:
            line = sentence if sentence > line else previous
            yield line
        if _ends_line(text, end):
            line = place
            yield line
        if grade_of(end) == SENTENCE:
            sentence = place
        previous = place


def _ends_line(text: str, end: int) -> bool:
    grade = grade_of(end)
    if grade == SENTENCE:
        return text[place_of(end) - 1] in LINE_BREAKS
    return grade in (PARAGRAPH, ROW, LEAD)


def _turns(document: Document) -> Iterator[int]:
    """Yield the offset of each turn of a speaker outside the blocks of a document."""
    found = list(_SPEAKER.finditer(document.text))
    counts = Counter(match.group(1) for match in found)
    blocks = document.blocks
    for match in found:
        start = match.start()
        block = bisect_right(blocks, start, key=lambda block: block.start) - 1
        is_inside = block >= 0 and start < blocks[block].end
        if counts[match.group(1)] >= _MIN_TURNS and not is_inside:
            yield start


def _parts(
    bounds: Sequence[int], headings: Sequence[Heading], plain: Sequence[Section]
) -> list[int]:
    """Return the first line of each part."""
    starts = {heading.start for heading in headings}
    return sorted({0, *(_line_at(bounds, one.start) for one in plain if one.start in starts)})


class Stretch(NamedTuple):
    """Lines around a seam (boundary between two windows)."""

    lines: range
    """Range of the lines."""
    seam: int
    """First line of the second window, inside the range."""


def split_windows(tokens: Sequence[int], *, parts: Sequence[int], limit: int) -> list[range]:
    """Return the windows of a document: consecutive ranges of lines.

    Args:
        tokens: Tokens of each line.
        parts: First line of each part, ascending, starting with 0.
        limit: Maximum tokens of a window.
    """
    sums = [0, *accumulate(tokens)]
    bounds = [0]
    is_open = False  # whether more parts may join the last window
    for start, stop in pairwise([*parts, len(tokens)]):
        if is_open and sums[stop] - sums[bounds[-2]] <= limit:
            bounds[-1] = stop
            continue
        is_open = sums[stop] - sums[start] <= limit
        bounds += [stop] if is_open else _even_bounds(sums, start, stop, limit)
    return [range(start, stop) for start, stop in pairwise(bounds)]


def _even_bounds(sums: Sequence[int], start: int, stop: int, limit: int) -> list[int]:
    """Return the ends of the windows of a part that is longer than one window."""
    total = sums[stop] - sums[start]
    longest = max(sums[line + 1] - sums[line] for line in range(start, stop))
    goal = total / -(-total // max(limit - longest, limit // 2, 1))
    bounds = [start]
    done = 1
    for line in range(start + 1, stop):
        is_full = sums[line + 1] - sums[bounds[-1]] > limit
        if is_full or sums[line] - sums[start] >= done * goal:
            bounds.append(line)
            done = int((sums[line] - sums[start]) / goal) + 1
    return [*bounds[1:], stop]


def find_stretches(
    windows: Sequence[range],
    starts: Sequence[Mapping[int, str] | None],
    *,
    lines: NumberedLines,
    tokens: Sequence[int],
    min_chars: int,
) -> list[Stretch]:
    """Return the lines around each seam, in order; no line is in two stretches.

    Args:
        windows: Windows of the document.
        starts: Title of each section by its first line, for each window; None for a failed window,
            whose seams are skipped.
        lines: Lines of the document.
        tokens: Tokens of each line.
        min_chars: Minimum length of the text after a seam that is decided again.
    """
    sums = [0, *accumulate(tokens)]
    parts = frozenset(lines.parts)
    stretches = []
    for (before, after), (starts_before, starts_after) in zip(
        pairwise(windows), pairwise(starts), strict=True
    ):
        seam = after.start
        if starts_before is None or starts_after is None or seam in parts:
            continue
        first = max(*starts_before, bisect_left(sums, (sums[before.start] + sums[seam]) / 2))
        middle = bisect_right(sums, (sums[seam] + sums[after.stop]) / 2) - 1
        ends = [
            line
            for line in sorted(starts_after)
            if lines.chars(seam, line) >= min_chars or (line in parts and line > seam)
        ]
        last = min([middle, *ends])
        if first < seam < last:
            stretches.append(Stretch(range(first, last), seam))
    return stretches


TITLE_CHARS = 120

_NUMBERS = r"\d{1,9}(?:\s*[-–]\s*\d{1,9})?"
_MARK = re.compile(
    rf"\[{_NUMBERS}\]|lines?\s+{_NUMBERS}\s*[:.)–-]|[-–—•·>+]+(?=\s)|\(?(\d{{1,9}})[.:)](?=\s)",
    re.IGNORECASE,
)
_FIRST_NUMBER = re.compile(r"\W*(\d+)")


def clean_title(title: str, *, first_line: str) -> str:
    """Return a title written by a language model, cleaned; empty if it is unusable.

    Args:
        title: Title as the model wrote it.
        first_line: First line of its section.
    """
    number_match = _FIRST_NUMBER.match(first_line)
    own_number = number_match.group(1) if number_match else ""
    cleaned, before = clip(title, max_chars=TITLE_CHARS), ""
    while cleaned != before:
        before = cleaned
        mark = _MARK.match(cleaned)
        if mark is not None and (not mark.group(1) or mark.group(1) != own_number):
            cleaned = cleaned[mark.end() :]
        try:
            cleaned = model_line(cleaned.strip(" |").rstrip(":;,"), max_chars=TITLE_CHARS)
        except ValueError:
            return ""
    return cleaned


_MAX_TITLES = 8  # equal to the depth of sections that are made without a model


class _Reach(NamedTuple):
    """Heading, with the end of the text that it applies to, and its parent."""

    stop: int
    """Offset where the heading no longer applies."""
    parent: int
    """Index of the parent heading; -1 for none."""
    title: str
    """Title of the heading."""


class Outline(NamedTuple):
    """The headings of a document and their hierarchy."""

    starts: list[int]
    """Offset of each heading."""
    reaches: list[_Reach]
    """Range and parent of each heading."""
    inner: list[int]
    """For each heading, the index of the last heading that follows without words in between.
    """

    def begins(self, place: int) -> bool:
        """Return whether a heading begins at an offset."""
        at = bisect_right(self.starts, place) - 1
        return at >= 0 and self.starts[at] == place

    def path(self, start: int, stop: int) -> tuple[str, ...]:
        """Return the titles of the headings that apply to a range, outermost first, at most 7."""
        at = bisect_right(self.starts, start) - 1
        if self.begins(start):
            at = self.inner[at]
        titles = []
        while at >= 0:
            reach = self.reaches[at]
            if reach.stop >= stop:
                titles.append(reach.title)
            at = reach.parent
        path: tuple[str, ...] = ()
        for title in reversed(titles):
            path = extended_path(path, title)
        return path[: _MAX_TITLES - 1]


def make_outline(text: str, headings: Sequence[Heading]) -> Outline:
    """Return the outline of a text.

    Args:
        text: The text.
        headings: Headings in order of start.
    """
    stops = [len(text)] * len(headings)
    parents = []
    stack: list[int] = []
    for at, heading in enumerate(headings):
        while stack and headings[stack[-1]].level >= heading.level:
            stops[stack.pop()] = heading.start
        parents.append(stack[-1] if stack else -1)
        stack.append(at)
    inner = list(range(len(headings)))
    for at in range(len(headings) - 2, -1, -1):
        if WORD.search(text, headings[at].end, headings[at + 1].start) is None:
            inner[at] = inner[at + 1]
    starts = [heading.start for heading in headings]
    if starts and not text[: starts[0]].strip():
        starts[0] = 0  # leading blank text belongs to its section
    return Outline(
        starts=starts,
        reaches=[
            _Reach(stop, parent, clip(heading.title, max_chars=TITLE_CHARS))
            for stop, parent, heading in zip(stops, parents, headings, strict=True)
        ],
        inner=inner,
    )


class _Run(NamedTuple):
    """Lines of one section."""

    start: int
    stop: int
    title: str
    """Title; empty for none."""
    titled_chars: int
    """Length of the part that the title comes from, in characters; 0 without a title."""


def read_starts(
    named: Iterable[tuple[int, str]], *, lines: NumberedLines, window: range
) -> dict[int, str]:
    """Return the title of each section by its first line, in order.

    Args:
        named: Number of the first line, and title, of each section in the answer of the model.
        lines: Lines of the document.
        window: Lines that the model read, not empty; its line 1 is the first.

    Returns:
        Titles by line of the document, including the first line of the window; a title may be
        empty.
    """
    first, last = (bisect_left(lines.parts, line) for line in (window.start, window.stop))
    starts = dict.fromkeys([window.start, *lines.parts[first:last]], "")
    for number, title in sorted(named, key=lambda section: section[0]):
        line = place = window.start + number - 1
        if line not in window:
            continue
        while place not in starts and place - 1 in lines.headings:
            place -= 1
        previous = starts.get(place, "")
        if place < line or not previous:
            starts[place] = clean_title(title, first_line=lines.shown[place]) or previous
    return dict(sorted(starts.items()))


def decide_seam(
    starts: Mapping[int, str], stretch: Stretch, decided: Mapping[int, str]
) -> dict[int, str]:
    """Return the sections of a document, with a second decision on the sections around a seam.

    A section that crosses the seam gets the new title; others keep their title.

    Args:
        starts: Title of each section by its first line, from the windows.
        stretch: Lines around the seam.
        decided: Title of each section in the stretch by its first line, including the first line.
    """
    new = {line: title for line, title in starts.items() if line not in stretch.lines}
    owner = max(line for line in starts if line <= stretch.lines.start)
    for line, stop in pairwise([*sorted(decided), stretch.lines.stop]):
        place = owner if line == stretch.lines.start else line
        title = starts.get(place, "")
        if line < stretch.seam < stop or not title:
            title = decided[line] or title
        new[place] = title
    return dict(sorted(new.items()))


def settle_starts(
    starts: Mapping[int, str], *, lines: NumberedLines, stop: int, min_chars: int
) -> dict[int, str]:
    """Return the sections after short ones, then neighbours with equal titles, were merged.

    Args:
        starts: Title of each section by its first line, in order, not empty; parts begin sections.
        lines: Lines of the document.
        stop: Line after the last section.
        min_chars: Minimum length of a section, except for a section that is a whole part.
    """
    bounds = [*starts, stop]
    runs = [
        _Run(line, end, starts[line], lines.chars(line, end) if starts[line] else 0)
        for line, end in pairwise(bounds)
    ]
    parts = frozenset(lines.parts)

    def is_short(run: _Run) -> bool:
        return lines.chars(run.start, run.stop) < min_chars

    runs = _merge_runs(runs, parts, lambda before, _: is_short(before))
    runs = _merge_runs(runs, parts, lambda _, run: is_short(run))
    runs = _merge_runs(
        runs,
        parts,
        lambda before, run: run.title != "" and before.title.casefold() == run.title.casefold(),
    )
    return {run.start: run.title for run in runs}


def _merge_runs(
    runs: Iterable[_Run], parts: frozenset[int], may_join: Callable[[_Run, _Run], bool]
) -> list[_Run]:
    """Return runs, each merged into the previous one of its part if `may_join` allows it."""
    merged: list[_Run] = []
    for run in runs:
        if merged and run.start not in parts and may_join(merged[-1], run):
            merged[-1] = _join(merged[-1], run)
        else:
            merged.append(run)
    return merged


def _join(before: _Run, after: _Run) -> _Run:
    longest = after if after.titled_chars > before.titled_chars else before
    return _Run(before.start, after.stop, longest.title, longest.titled_chars)


def titled_sections(
    document: Document,
    starts: Mapping[int, str],
    *,
    stop: int,
    lines: NumberedLines,
    outline: Outline,
    limits: SectionOptions,
) -> list[Section]:
    """Return sections that partition the lines from the first start up to `stop`.

    Args:
        document: The document.
        starts: Title of each section by its first line, in order.
        stop: Line after the last section.
        lines: Lines of the document.
        outline: Its headings.
        limits: Lengths of sections.
    """
    sections: list[Section] = []
    for line, last in pairwise([*starts, stop]):
        start, end = lines.bounds[line], lines.bounds[last]
        path = outline.path(start, end)
        title = starts[line]
        if title and (not path or title.casefold() not in path[-1].casefold()):
            path = extended_path(path, title)
        parts = cut_long(document, start=start, end=end, path=path, options=limits)
        if not title and path and len(parts) == 1 and not outline.begins(start):
            title = extract_title(document.text, start=start, stop=end)
            full = extended_path(path, title)
            if full != path:
                parts = [replace(parts[0], title=title, path=full, extracted_title=True)]
        sections += parts
    return sections
