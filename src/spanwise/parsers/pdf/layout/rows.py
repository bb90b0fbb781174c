"""Lines with cells, joined from the fragments on one baseline.

Rules
    1. A line has the fragments whose baselines differ by less than a third of an em, or a little
       more in a table: if both fragments are short, or one is a figure. The raised mark before a
       footnote belongs to its line, a mark in small type to its cell.
    2. Fragments further apart than an em are separate cells; currency signs, brackets and percent
       signs belong to their number.
    3. A bullet or number at the start of a line belongs to the text after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from spanwise.parsers.pdf.layout.columns import Fragment, Region, Run

_SAME_LINE, _SAME_ROW = 0.34, 0.4  # em
_FIGURE = re.compile(
    r"[$€£¥(+\-–—]{0,3}\s?\$?\s?\(?(?:\d[\d,.\s]*|\.\d+|[—–-]+)\s?[%)xX*]{0,3}(?:\s?\(\w{1,2}\)){0,2}"
    r"|N/?[AM]|nm|NM|\*+|[—–-]+|[$€£¥]"
)
_PROSE_CHARS = 40
_MAX_MARK_CHARS = 4
_MAX_SMALL_CHARS = 6  # length of a mark in small type, "(c)(f)"
_MARK_RAISE = 0.65  # em: maximum height of a footnote mark above its line
_MARK_SIZE = 0.85  # maximum size of a mark, as a share of the size of its line
_MARK_GAP = 1.5  # em
_SIGNS = "$€£¥("
_MAX_SIGN_CHARS = 4  # "US$ ("
_TOUCH = 0.35  # em
_CLOSES = re.compile(r"[)%\]]+\**|%\)|pts?|bps")
_MARKER = re.compile(
    r"[•●▪■◦‣·○□☐☒☑✓*\-–—§]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]"
    r"|\d{1,2}(?:\.\d{1,2}){1,3}\.?|\(\w{1,4}\)"
    r"|(?i:item|note|part|article|section)\s*\w{1,4}\s?[.:]?"
)


@dataclass(slots=True)
class Cell:
    """Text of a line between wide gaps."""

    text: str
    left: float
    right: float


@dataclass(slots=True)
class Line:
    """Line of a region, or a ruled table."""

    cells: list[Cell]
    baseline: float
    size: float
    runs: list[Run]
    region_left: float
    region_right: float
    rows: list[str] = field(default_factory=list)
    """Lines of a ruled table; empty for others."""
    bottom: float = 0.0
    has_merged_cells: bool = False
    """Whether a ruled table has merged cells."""
    region: int = 0
    """Number of its region on the page."""
    text: str = field(init=False)
    """Texts of the cells, joined by a space."""

    def __post_init__(self) -> None:
        """Join the cells once, because the text is read often."""
        cells = self.cells
        self.text = cells[0].text if len(cells) == 1 else " ".join([cell.text for cell in cells])

    @property
    def is_prose(self) -> bool:
        """Whether the line is long and has no wide gaps, as in a paragraph."""
        return len(self.cells) == 1 and len(self.text) >= _PROSE_CHARS

    @property
    def left(self) -> float:
        """Left edge of the first cell."""
        return self.cells[0].left

    @property
    def right(self) -> float:
        """Right edge of the last cell."""
        return self.cells[-1].right


def is_figure(text: str) -> bool:
    """Return whether a cell is a number, or a placeholder for one."""
    return _FIGURE.fullmatch(text) is not None


def make_lines(region: Region, *, number: int) -> list[Line]:
    """Return the lines of a region from top to bottom, with their cells.

    Args:
        region: Fragments that are read from top to bottom.
        number: Number of the region on the page.
    """
    lines = []
    ordered = sorted(region.fragments, key=lambda fragment: -fragment.baseline)
    first = 0
    for index in range(1, len(ordered) + 1):
        if index < len(ordered) and _on_line(ordered[first], ordered[index]):
            continue
        lines.append(_line(ordered[first:index], region, number))
        first = index
    return lines


def _on_line(first: Fragment, other: Fragment) -> bool:
    if first.rows or other.rows:
        return False
    smaller = first.size if first.size < other.size else other.size
    distance = first.baseline - other.baseline
    if distance <= _SAME_LINE * smaller:
        return True
    if distance <= _SAME_ROW * smaller and _may_be_cells(first.text, other.text):
        return True
    is_before = first.right <= other.left and len(first.text) <= _MAX_MARK_CHARS
    return distance <= _MARK_RAISE * other.size and (is_before or _is_small(first, other.size))


def _may_be_cells(first: str, other: str) -> bool:
    """Return whether two texts may be cells of a table row instead of lines of prose."""
    if is_figure(first) or is_figure(other):
        return True
    return len(first) < _PROSE_CHARS and len(other) < _PROSE_CHARS


def _line(fragments: Sequence[Fragment], region: Region, number: int) -> Line:
    if len(fragments) == 1:
        main = fragments[0]
        cells = [Cell(main.text, main.left, main.right)]
        runs = main.runs
    else:
        fragments = sorted(fragments, key=lambda fragment: fragment.left)
        main = max(fragments, key=lambda fragment: len(fragment.text))
        cells = _cells(fragments, main.size)
        runs = [run for fragment in fragments for run in fragment.runs]
    return Line(
        cells=cells,
        baseline=main.baseline,
        size=main.size,
        runs=runs,
        region_left=region.left,
        region_right=region.right,
        rows=main.rows,
        bottom=main.bottom,
        has_merged_cells=main.has_merged_cells,
        region=number,
    )


def _cells(fragments: Sequence[Fragment], size: float) -> list[Cell]:
    """Return the cells of the fragments of a line, from left to right.

    Args:
        fragments: Fragments of the line.
        size: Type size of most of them.
    """
    cells: list[Cell] = []
    for fragment in fragments:
        if cells and (
            _belongs(cells[-1], fragment, is_first=len(cells) == 1)
            or _is_mark_of(cells[-1], fragment, size)
        ):
            last = cells[-1]
            separator = "" if _is_tight(last.text, fragment.text) else " "
            last.text = f"{last.text}{separator}{fragment.text}"
            last.right = max(last.right, fragment.right)
        else:
            cells.append(Cell(fragment.text, fragment.left, fragment.right))
    return cells


def _belongs(cell: Cell, fragment: Fragment, *, is_first: bool) -> bool:
    """Return whether a fragment belongs to the cell before it."""
    before, after = cell.text, fragment.text
    if fragment.left - cell.right < _TOUCH * fragment.size:
        return True
    if _CLOSES.fullmatch(after):
        return before[-1].isdigit()
    if is_figure(after):
        return before[-1] in _SIGNS and len(before) <= _MAX_SIGN_CHARS
    return is_first and _MARKER.fullmatch(before) is not None


def _is_mark_of(cell: Cell, fragment: Fragment, size: float) -> bool:
    """Return whether a fragment is a small note mark of the cell before it."""
    return _is_small(fragment, size) and fragment.left - cell.right < _MARK_GAP * size


def _is_small(fragment: Fragment, size: float) -> bool:
    """Return whether a fragment may be a mark in a line of type size `size`."""
    return fragment.size < _MARK_SIZE * size and len(fragment.text) <= _MAX_SMALL_CHARS


def _is_tight(before: str, after: str) -> bool:
    """Return whether two parts of a number are joined without a space."""
    if _CLOSES.fullmatch(after):
        return True
    return before[-1] in _SIGNS and len(before) <= _MAX_SIGN_CHARS and is_figure(after)
