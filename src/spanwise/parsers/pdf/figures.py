"""Figures of a PDF page: pictures and drawings such as charts, found by their page objects.

Rules
    1. A picture is an image object, or several that touch. A drawing is a group of paths near each
       other. Both must be large enough; thin ones are rules.
    2. Paths are evidence of a drawing if they are curved or oblique, or if they are bars: filled
       rectangles of different lengths that begin at one line. Rules and shading of tables, panels
       behind text, and frames are not. Paths between two axes belong together, whatever their
       distance; few of them are enough.
    3. A picture of the whole page behind text is a background. A picture or drawing that is at the
       same place on several pages is decoration.
    4. The caption is a line such as "Figure 3: ..." close to the figure, or else a short line
       directly above it.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Literal, NamedTuple

import pypdfium2.raw as pdfium

from spanwise.parsers.figure_places import is_caption
from spanwise.parsers.pdf.layout.page import Words
from spanwise.parsers.pdf.layout.rows import Line

_MAX_OBJECTS = 50_000
_MAX_PATHS = 5_000
"""Number of paths above which a page has no drawings, because it is a map or a plan."""
_MAX_SEGMENTS = 300
"""Number of segments of a path that are read."""
_MAX_FIGURES = 30
"""Maximum number of figures of a page."""
_MIN_SIDE = 60.0  # points
_MIN_SHARE = 0.03
"""Minimum area of a figure as a share of the page; logos and icons are smaller."""
_WHOLE_PAGE = 0.85
_MAX_RATIO = 8.0
"""Maximum ratio of the sides of a picture; longer ones are rules and borders."""
_CELL = 12.0
"""Side of the squares of the grid on which objects are grouped, in points."""
_THIN = 3.0
_MIN_STROKES = 8
"""Minimum number of curved or oblique segments of a drawing."""
_MIN_BARS = 3
_MIN_STROKES_ON_AXES = 2
_MIN_BARS_ON_AXES = 2
_CORNER = 8.0
"""Maximum distance of the ends of two axes, in points."""
_MAX_RULES = 200
"""Maximum number of rules of a page that may be axes."""
_SAME_PLACE = 1.5  # points
_MAX_TEXT_SHARE = 0.25
"""Maximum share of the area covered by words; a group of paths above it is a panel of text."""
_MAX_BAR_WORDS = 80
_MAX_BAR_TEXT_SHARE = 0.12
"""Limits for a group of rectangles alone, which is otherwise a shaded table."""
_BAR_WIDTH = 0.6
"""Maximum width of a bar, across its length, as a share of the drawing."""
_REPEATS = 3
_NEAR_CAPTION = 60.0  # points
_CLOSE_CAPTION = 24.0
_CAPTION_CHARS = 300
_TITLE_CHARS = 100


class Box(NamedTuple):
    """Rectangle in points from the lower left corner of the page."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def width(self) -> float:
        """Width in points."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Height in points."""
        return self.top - self.bottom

    @property
    def area(self) -> float:
        """Area in square points."""
        return max(0.0, self.width) * max(0.0, self.height)

    def contains(self, x: float, y: float) -> bool:
        """Return whether a point is inside."""
        return self.left <= x <= self.right and self.bottom <= y <= self.top


@dataclass(frozen=True, slots=True)
class PageFigure:
    """Figure of a page."""

    box: Box
    """Place in the coordinates of the file."""
    sides: tuple[float, float, float, float]
    """Left, top, right and bottom in points from the upper left corner of the page as displayed."""
    mark: tuple[object, ...]
    """Value that is equal for the same decoration on several pages."""
    kind: Literal["picture", "drawing"]
    caption: str = ""
    """Caption on one line; empty for none."""
    anchor: str = ""
    """Line of the page after which the figure is placed; empty for the start of the page."""


@dataclass(slots=True)
class _Ink:
    """Evidence of a drawing: one path with its box."""

    box: Box
    strokes: int
    """Number of curved or oblique segments; 0 for a rectangle."""


@dataclass(slots=True)
class _Objects:
    """Objects of a page that may be parts of figures."""

    pictures: list[tuple[Box, int]] = field(default_factory=list)
    """Box and stored size in bytes of each picture."""
    ink: list[_Ink] = field(default_factory=list)
    rules: list[Box] = field(default_factory=list)
    """Long straight lines, which may be axes."""
    paths: int = 0

    def add(self, item: pdfium.FPDF_PAGEOBJECT, kind: int, box: Box) -> None:
        """Add an object with its box, if it can be part of a figure."""
        if box.width <= 0 or box.height <= 0:
            return
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            stored = int(pdfium.FPDFImageObj_GetImageDataRaw(item, None, 0))
            self.pictures.append((box, stored))
        elif kind == pdfium.FPDF_PAGEOBJ_SHADING:
            self.ink.append(_Ink(box, 1))
        elif kind == pdfium.FPDF_PAGEOBJ_PATH and self.paths <= _MAX_PATHS:
            self.paths += 1
            found = list(_path_ink(item, box))
            self.ink += found
            is_rule = min(box.width, box.height) <= _THIN <= _MIN_SIDE <= max(box.width, box.height)
            if is_rule and not found:
                self.rules.append(box)


def find_page_figures(
    page: pdfium.FPDF_PAGE, *, words: Words, lines: Sequence[Line], size: tuple[float, float]
) -> list[PageFigure]:
    """Return the figures of a page from top to bottom.

    Args:
        page: Handle of pdfium.
        words: Words of the page; none if the text of the page is rotated.
        lines: Lines of the page, in reading order.
        size: Width and height of the page before any rotation, in points.
    """
    objects = _read_objects(page, size)
    if objects.paths > _MAX_PATHS:
        objects.ink = []
    if not objects.pictures and not objects.ink:
        return []
    found = [
        *_pictures(objects.pictures, words, size),
        *_drawings(objects.ink, list(_axes(objects.rules)), words, size),
    ]
    figures = [
        PageFigure(
            box=box,
            sides=_displayed(page, box),
            mark=mark,
            kind="picture" if mark[0] == "picture" else "drawing",
        )
        for box, mark in _without_nested(found)
    ]
    figures.sort(key=lambda figure: (-figure.box.top, figure.box.left))
    return [_placed(figure, lines) for figure in figures[:_MAX_FIGURES]]


def without_decoration(pages: Sequence[Sequence[PageFigure]]) -> list[list[PageFigure]]:
    """Return the figures of each page without those that several pages have at the same place."""
    counts = Counter(mark for figures in pages for mark in {figure.mark for figure in figures})
    return [[figure for figure in figures if counts[figure.mark] < _REPEATS] for figures in pages]


def _read_objects(page: pdfium.FPDF_PAGE, size: tuple[float, float]) -> _Objects:
    objects = _Objects()
    whole = Box(0.0, 0.0, *size)
    for place in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        item = pdfium.FPDFPage_GetObject(page, place)
        kind = pdfium.FPDFPageObj_GetType(item)
        if kind == pdfium.FPDF_PAGEOBJ_FORM:
            _add_form(item, whole, objects)
        elif kind != pdfium.FPDF_PAGEOBJ_TEXT:
            objects.add(item, kind, _clipped(_bounds(item), whole))
    return objects


def _add_form(form: pdfium.FPDF_PAGEOBJECT, whole: Box, objects: _Objects) -> None:
    """Add the objects of a form, whose coordinates are relative to it; inner forms are ignored."""
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(form, ctypes.byref(matrix))
    for place in range(min(int(pdfium.FPDFFormObj_CountObjects(form)), _MAX_OBJECTS)):
        item = pdfium.FPDFFormObj_GetObject(form, place)
        kind = pdfium.FPDFPageObj_GetType(item)
        if kind != pdfium.FPDF_PAGEOBJ_TEXT:
            objects.add(item, kind, _clipped(_transformed(_bounds(item), matrix), whole))


def _transformed(box: Box, matrix: pdfium.FS_MATRIX) -> Box:
    corners = [(x, y) for x in (box.left, box.right) for y in (box.bottom, box.top)]
    xs = [matrix.a * x + matrix.c * y + matrix.e for x, y in corners]
    ys = [matrix.b * x + matrix.d * y + matrix.f for x, y in corners]
    return Box(min(xs), min(ys), max(xs), max(ys))


def _bounds(item: pdfium.FPDF_PAGEOBJECT) -> Box:
    sides = [ctypes.c_float() for _ in range(4)]
    if not pdfium.FPDFPageObj_GetBounds(item, *map(ctypes.byref, sides)):
        return Box(0.0, 0.0, 0.0, 0.0)
    return Box(*(side.value for side in sides))


def _clipped(box: Box, whole: Box) -> Box:
    return Box(
        max(box.left, whole.left),
        max(box.bottom, whole.bottom),
        min(box.right, whole.right),
        min(box.top, whole.top),
    )


def _path_ink(item: pdfium.FPDF_PAGEOBJECT, box: Box) -> Iterator[_Ink]:
    """Yield a path, unless it is a rule or an empty frame."""
    strokes = _count_strokes(item)
    if strokes:
        yield _Ink(box, strokes)
    elif box.width > _THIN and box.height > _THIN:
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        pdfium.FPDFPath_GetDrawMode(item, ctypes.byref(fill), ctypes.byref(stroke))
        if fill.value:
            yield _Ink(box, 0)


def _count_strokes(item: pdfium.FPDF_PAGEOBJECT) -> int:
    """Return the number of curved or oblique segments of a path."""
    x, y = ctypes.c_float(), ctypes.c_float()
    strokes = 0
    last = (0.0, 0.0)
    for place in range(min(pdfium.FPDFPath_CountSegments(item), _MAX_SEGMENTS)):
        segment = pdfium.FPDFPath_GetPathSegment(item, place)
        pdfium.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        kind = pdfium.FPDFPathSegment_GetType(segment)
        point = (x.value, y.value)
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO:
            strokes += 1
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            strokes += min(abs(point[0] - last[0]), abs(point[1] - last[1])) > 0.5
        last = point
    return strokes


def _pictures(
    pictures: Sequence[tuple[Box, int]], words: Words, size: tuple[float, float]
) -> Iterator[tuple[Box, tuple[object, ...]]]:
    """Yield the boxes of pictures that are large enough, and no backgrounds."""
    page_area = size[0] * size[1]
    for group in _groups([box for box, _ in pictures], size):
        box = _union(pictures[at][0] for at in group)
        if not _is_large(box, page_area) or max(box.width, box.height) > _MAX_RATIO * min(
            box.width, box.height
        ):
            continue
        if box.area > _WHOLE_PAGE * page_area and len(words):
            continue
        yield box, ("picture", *map(round, box), sum(pictures[at][1] for at in group))


def _axes(rules: Sequence[Box]) -> Iterator[Box]:
    """Yield the area between a vertical and a horizontal rule that meet at its lower left."""
    if len(rules) > _MAX_RULES:
        return
    for upright in rules:
        for level in rules:
            if (
                upright.height >= _MIN_SIDE <= level.width
                and abs(upright.left - level.left) <= _CORNER
                and abs(upright.bottom - level.bottom) <= _CORNER
            ):
                yield _union((upright, level))


def _drawings(
    ink: Sequence[_Ink], axes: Sequence[Box], words: Words, size: tuple[float, float]
) -> Iterator[tuple[Box, tuple[object, ...]]]:
    """Yield the boxes of drawings.

    Args:
        ink: Evidence of drawings.
        axes: Areas between two axes.
        words: Words of the page.
        size: Width and height of the page in points.
    """
    page_area = size[0] * size[1]
    parts = [item for item in ink if item.box.area < _WHOLE_PAGE * page_area]
    for group in _groups([*(item.box for item in parts), *axes], size):
        members = [parts[at] for at in group if at < len(parts)]
        frames = [axes[at - len(parts)] for at in group if at >= len(parts)]
        if not members:
            continue
        box = _union([*(item.box for item in members), *frames])
        if _is_large(box, page_area) and _is_drawing(members, box, words, on_axes=bool(frames)):
            strokes = sum(item.strokes for item in members)
            yield box, ("drawing", *map(round, box), len(members), strokes)


def _is_large(box: Box, page_area: float) -> bool:
    return min(box.width, box.height) >= _MIN_SIDE and box.area >= _MIN_SHARE * page_area


def _is_drawing(members: Sequence[_Ink], box: Box, words: Words, *, on_axes: bool) -> bool:
    """Return whether a group of paths is a drawing, and no panel of text or shaded table.

    Args:
        members: Paths of the group.
        box: Box around them.
        words: Words of the page.
        on_axes: Whether the group has axes.
    """
    inside = [at for at in range(len(words)) if box.contains(*_centre(words, at))]
    covered = sum((words.rights[at] - words.lefts[at]) * words.sizes[at] for at in inside)
    if covered > _MAX_TEXT_SHARE * box.area:
        return False
    points = [_centre(words, at) for at in inside]
    strokes = sum(item.strokes for item in members)
    if strokes >= (_MIN_STROKES_ON_AXES if on_axes else _MIN_STROKES):
        return True
    if len(inside) > _MAX_BAR_WORDS or covered > _MAX_BAR_TEXT_SHARE * box.area:
        return False
    bars = [item.box for item in members if not item.strokes]
    bars = [bar for bar in bars if not any(bar.contains(*point) for point in points)]
    return _has_bars(bars, box, least=_MIN_BARS_ON_AXES if on_axes else _MIN_BARS)


def _centre(words: Words, at: int) -> tuple[float, float]:
    return (words.lefts[at] + words.rights[at]) / 2, words.baselines[at] + 0.3 * words.sizes[at]


def _has_bars(boxes: Sequence[Box], whole: Box, *, least: int) -> bool:
    """Return whether rectangles of different lengths begin at one line, as the bars of a chart.

    Args:
        boxes: Rectangles.
        whole: Box of the drawing.
        least: Minimum number of different lengths.
    """
    upright = [box for box in boxes if box.width <= _BAR_WIDTH * whole.width / least]
    lying = [box for box in boxes if box.height <= _BAR_WIDTH * whole.height / least]
    return _differ(
        upright, base=lambda box: box.bottom, length=lambda box: box.height, least=least
    ) or _differ(lying, base=lambda box: box.left, length=lambda box: box.width, least=least)


def _differ(
    boxes: Sequence[Box],
    *,
    base: Callable[[Box], float],
    length: Callable[[Box], float],
    least: int,
) -> bool:
    lengths: dict[int, set[int]] = {}
    for box in boxes:
        lengths.setdefault(round(base(box) / _SAME_PLACE), set()).add(
            round(length(box) / _SAME_PLACE)
        )
    return any(len(different) >= least for different in lengths.values())


def _groups(boxes: Sequence[Box], size: tuple[float, float]) -> list[list[int]]:
    """Return the indices of boxes in groups whose squares on a grid touch each other."""
    columns, rows = max(1, ceil(size[0] / _CELL)), max(1, ceil(size[1] / _CELL))
    owners: dict[tuple[int, int], int] = {}
    parents = list(range(len(boxes)))

    def root(at: int) -> int:
        while parents[at] != at:
            parents[at] = parents[parents[at]]
            at = parents[at]
        return at

    for at, box in enumerate(boxes):
        first, last = int(box.left // _CELL) - 1, min(columns, int(box.right // _CELL) + 1)
        low, high = int(box.bottom // _CELL) - 1, min(rows, int(box.top // _CELL) + 1)
        for column in range(first, last + 1):
            for row in range(low, high + 1):
                owner = owners.setdefault((column, row), at)
                parents[root(at)] = root(owner)
    groups: dict[int, list[int]] = {}
    for at in range(len(boxes)):
        groups.setdefault(root(at), []).append(at)
    return list(groups.values())


def _union(boxes: Iterable[Box]) -> Box:
    every = list(boxes)
    return Box(
        min(box.left for box in every),
        min(box.bottom for box in every),
        max(box.right for box in every),
        max(box.top for box in every),
    )


def _without_nested(
    found: Sequence[tuple[Box, tuple[object, ...]]],
) -> list[tuple[Box, tuple[object, ...]]]:
    """Return figures without those that are mostly inside a larger one."""
    kept: list[tuple[Box, tuple[object, ...]]] = []
    for box, mark in sorted(found, key=lambda item: -item[0].area):
        if not any(_clipped(box, other).area > 0.5 * box.area for other, _ in kept):
            kept.append((box, mark))
    return kept


_SCALE = 16
"""Number of steps per point of displayed positions, which pdfium returns as integers."""


def _displayed(page: pdfium.FPDF_PAGE, box: Box) -> tuple[float, float, float, float]:
    """Return the left, top, right and bottom of a box on the page as displayed."""
    size = [
        round(_SCALE * side)
        for side in (pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page))
    ]
    x, y = ctypes.c_int(), ctypes.c_int()
    xs, ys = [], []
    for point in ((box.left, box.bottom), (box.right, box.top)):
        pdfium.FPDF_PageToDevice(page, 0, 0, *size, 0, *point, ctypes.byref(x), ctypes.byref(y))
        xs.append(x.value / _SCALE)
        ys.append(y.value / _SCALE)
    return round(min(xs), 1), round(min(ys), 1), round(max(xs), 1), round(max(ys), 1)


def _placed(figure: PageFigure, lines: Sequence[Line]) -> PageFigure:
    """Return a figure with its caption and the line after which it is placed."""
    box = figure.box
    beside = [
        line for line in lines if line.text and line.left < box.right and line.right > box.left
    ]
    captions = [
        line for line in beside if is_caption(line.text) and _distance(line, box) <= _NEAR_CAPTION
    ]
    above = [line for line in beside if line.baseline >= (box.top + box.bottom) / 2]
    over = [line for line in above if line.baseline >= box.top - line.size]
    title = min(over, key=lambda line: line.baseline, default=None)
    anchor = min(above, key=lambda line: line.baseline, default=None)
    caption = min(captions, key=lambda line: _distance(line, box), default=None)
    if caption is None and title is not None and _is_title(title, box):
        caption = title
    if caption is not None:
        anchor = caption
    return replace(
        figure,
        caption="" if caption is None else caption.text[:_CAPTION_CHARS],
        anchor="" if anchor is None else anchor.text,
    )


def _distance(line: Line, box: Box) -> float:
    """Return the vertical distance of a line to a box; 0 inside it."""
    return max(line.baseline - box.top, box.bottom - line.baseline, 0.0)


def _is_title(line: Line, box: Box) -> bool:
    return (
        _distance(line, box) <= _CLOSE_CAPTION
        and len(line.text) <= _TITLE_CHARS
        and line.text[-1] not in ".,;"
        and len(line.cells) == 1
        and sum(map(str.isalpha, line.text)) >= 0.5 * len(line.text)
    )
