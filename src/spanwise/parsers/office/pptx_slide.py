"""The shapes of one slide, with their places and texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from spanwise.parsers.archive import Archive, XmlHandlers
from spanwise.parsers.office.numerals import Numeral, write_number
from spanwise.parsers.office.ooxml_names import number_of, short_name
from spanwise.parsers.writer import table_line

__all__ = ["Shape", "Slide", "read_slide"]

_SHAPES = frozenset({"p:sp", "p:graphicFrame", "p:cxnSp", "p:pic"})
_TEXTS = frozenset({"a:t", "m:t"})
_AUTOMATIC = re.compile(r"(arabic|alphaLc|alphaUc|romanLc|romanUc)(Period|ParenR|ParenBoth|Plain)")
_NUMERALS: Mapping[str, Numeral] = {
    "arabic": "decimal",
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}
_SIGNS = {"Period": "{}.", "ParenR": "{})", "ParenBoth": "({})", "Plain": "{}"}


@dataclass(slots=True)
class Shape:
    """One shape that may show text."""

    top: int = 0
    left: int = 0
    is_placed: bool = False
    """Whether the slide itself says where it is; a placeholder may leave that to its layout."""
    placeholder: str | None = None
    """Kind of placeholder ("title", "body"); None for other shapes."""
    index: str = ""
    """Which placeholder of the layout it is."""
    is_hidden: bool = False
    lines: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    drawings: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Elements that name charts and diagrams, with their attributes."""


@dataclass(slots=True)
class Slide:
    """The shapes of a slide in the order they are stored."""

    shapes: list[Shape] = field(default_factory=list)
    is_hidden: bool = False


class _Place(NamedTuple):
    """How the places inside a group follow from its own: `shift + scale * place`."""

    shift_top: float = 0
    scale_top: float = 1
    shift_left: float = 0
    scale_left: float = 1


def read_slide(archive: Archive, part: str, slide: Slide) -> None:
    """Read a slide, a layout, a master or a page of notes.

    Args:
        archive: The open file.
        part: The part.
        slide: Takes the shapes; those before a damage too.

    Raises:
        ParseError: "corrupt" where the part is missing or damaged.
    """
    reader = _Reader(slide)
    archive.read_xml(part, XmlHandlers(start=reader.start, end=reader.end, text=reader.text))


class _Reader:
    """Takes in the elements of one part."""

    def __init__(self, slide: Slide) -> None:
        self._slide = slide
        self._path: list[str] = []
        self._skipped = 0
        self._shape: Shape | None = None
        self._groups: list[_Place] = [_Place()]
        self._frame: dict[str, int] = {}
        self._pieces: list[str] = []
        self._level = 0
        self._marker = ""
        self._numbers: dict[int, int] = {}
        self._cell: list[str] | None = None
        self._row: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take in the start of an element."""
        name = short_name(tag)
        parent = self._path[-1] if self._path else ""
        self._path.append(name)
        if self._skipped or name == "mc:Fallback":
            self._skipped += 1
        elif name in _SHAPES:
            self._shape = Shape()
            self._numbers = {}
        elif name == "p:grpSp":
            self._groups.append(self._groups[-1])
        elif name == "p:sld":
            self._slide.is_hidden = attributes.get("show") in {"0", "false"}
        elif name.startswith("a:"):
            self._start_drawing(name, parent, attributes)
        elif self._shape is not None:
            self._describe(self._shape, name, attributes)

    def _describe(self, shape: Shape, name: str, attributes: dict[str, str]) -> None:
        """Take in what a shape is."""
        if name == "p:ph":
            shape.placeholder = attributes.get("type", "obj")
            shape.index = attributes.get("idx", "0")
        elif name == "p:cNvPr":
            shape.is_hidden = attributes.get("hidden") in {"1", "true"}
        elif name in {"c:chart", "d:relIds"}:
            shape.drawings.append((name, attributes))

    def _start_drawing(self, name: str, parent: str, attributes: dict[str, str]) -> None:
        if name in {"a:off", "a:chOff"}:
            self._frame[f"{name} x"] = number_of(attributes, "x")
            self._frame[f"{name} y"] = number_of(attributes, "y")
        elif name in {"a:ext", "a:chExt"} and "cx" in attributes:
            self._frame[f"{name} x"] = number_of(attributes, "cx")
            self._frame[f"{name} y"] = number_of(attributes, "cy")
        elif name == "a:p":
            self._pieces, self._level, self._marker = [], 0, ""
        elif name == "a:br":
            self._pieces.append("\n")
        elif name == "a:pPr":
            self._level = max(0, min(number_of(attributes, "lvl"), 8))
            self._marker = "- " if self._level else ""
        elif parent == "a:pPr":
            self._mark(name, attributes)
        elif name == "a:tc":
            self._cell = []

    def _mark(self, name: str, attributes: dict[str, str]) -> None:
        """Take in how a paragraph is marked as an item of a list."""
        if name == "a:buNone":
            self._marker = ""
        elif name in {"a:buChar", "a:buBlip"}:
            self._marker = "- "
        elif name == "a:buAutoNum":
            match = _AUTOMATIC.fullmatch(attributes.get("type", ""))
            kind, sign = match.groups() if match else ("arabic", "Period")
            first = number_of(attributes, "startAt", default=1)
            number = self._numbers.get(self._level, first - 1) + 1
            self._numbers = {k: n for k, n in self._numbers.items() if k < self._level}
            self._numbers[self._level] = number
            self._marker = _SIGNS[sign].format(write_number(number, _NUMERALS[kind])) + " "

    def text(self, piece: str) -> None:
        """Take in characters."""
        if not self._skipped and self._path and self._path[-1] in _TEXTS:
            self._pieces.append(piece)

    def end(self, _tag: str) -> None:
        """Take in the end of an element."""
        name = self._path.pop()
        if self._skipped:
            self._skipped -= 1
        elif name in {"a:xfrm", "p:xfrm"}:
            self._place(self._path[-1] if self._path else "")
        elif name == "p:grpSp":
            self._groups.pop()
        elif self._shape is None:
            return
        elif name == "a:p":
            self._end_paragraph(self._shape)
        elif name == "a:tc":
            self._row.append(" ".join(" ".join(self._cell or ()).split()))
            self._cell = None
        elif name == "a:tr":
            line = table_line(self._row)
            self._shape.rows += [line] if line else []
            self._row = []
        elif name in _SHAPES:
            self._slide.shapes.append(self._shape)
            self._shape = None

    def _place(self, parent: str) -> None:
        frame, self._frame = self._frame, {}
        outer = self._groups[-1]
        if parent == "p:grpSpPr" and "p:grpSp" in self._path:
            shift_top, scale_top = _inner(frame, "y", outer.shift_top, outer.scale_top)
            shift_left, scale_left = _inner(frame, "x", outer.shift_left, outer.scale_left)
            self._groups[-1] = _Place(shift_top, scale_top, shift_left, scale_left)
        elif self._shape is not None and not self._shape.is_placed and "a:off y" in frame:
            self._shape.top = round(outer.shift_top + outer.scale_top * frame["a:off y"])
            self._shape.left = round(outer.shift_left + outer.scale_left * frame["a:off x"])
            self._shape.is_placed = True

    def _end_paragraph(self, shape: Shape) -> None:
        text = "".join(self._pieces).strip()
        self._pieces = []
        if not text:
            return
        if self._cell is not None:
            self._cell.append(text)
            return
        if not self._marker[:1].isalnum() and not self._marker.startswith("("):
            self._numbers = {k: n for k, n in self._numbers.items() if k < self._level}
        indent = "  " * self._level if self._marker else ""
        shape.lines.append(indent + self._marker + text)


def _inner(frame: Mapping[str, int], axis: str, shift: float, scale: float) -> tuple[float, float]:
    """Return shift and scale of the places inside a group, from its frame and those around it."""
    size, inner_size = frame.get(f"a:ext {axis}", 0), frame.get(f"a:chExt {axis}", 0)
    ratio = size / inner_size if size and inner_size else 1.0
    start = frame.get(f"a:off {axis}", 0) - ratio * frame.get(f"a:chOff {axis}", 0)
    return shift + scale * start, scale * ratio
