"""PPTX (and PPSX, POTX): a page per slide, with its shapes in visual order.

Rules
    1. The heading of a slide is its title placeholder, else its first shape if that is one short
       line, else "Slide 3".
    2. Shapes are read in bands from top to bottom, in a band from left to right. Shapes in a group
       have their position on the slide; a placeholder without a position has that of its layout.
    3. Tables and the data of charts are rows; diagrams are lines. Speaker notes follow the slide,
       marked as notes. A hidden slide is read and marked as hidden.
    4. Comments, dates, footers and slide numbers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from spanwise.parsers.numerals import Numeral, superscript, write_number
from spanwise.parsers.office.body_writer import PlacedText, SlideWriter
from spanwise.parsers.office.ooxml import DrawingReader, number_of, relation_of, short_name
from spanwise.parsers.office.pictures import Picture, has_words, read_figures, with_alternatives
from spanwise.parsers.office_zip import Archive, Link
from spanwise.parsers.parsed import Losses, Parsed, Source
from spanwise.parsers.properties import read_properties
from spanwise.parsers.writer import TextWriter, table_line

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
    """Shape that may have text."""

    top: int = 0
    left: int = 0
    is_placed: bool = False
    """Whether the slide defines its position; a placeholder may inherit it from its layout."""
    placeholder: str | None = None
    """Kind of the placeholder ("title", "body"); None for other shapes."""
    index: str = ""
    """Index of the placeholder in the layout."""
    is_hidden: bool = False
    lines: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    width: int = 0
    height: int = 0
    blip: str = ""
    """Relation of the picture that the shape shows; empty for none."""
    alternative: str = ""
    """Alternative text."""
    drawings: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Elements that refer to charts and diagrams, with their attributes."""


@dataclass(slots=True)
class Slide:
    """Shapes of a slide in stored order."""

    shapes: list[Shape] = field(default_factory=list)
    is_hidden: bool = False


class _Place(NamedTuple):
    """Transformation of positions inside a group: `shift + scale * position`."""

    shift_top: float = 0
    scale_top: float = 1
    shift_left: float = 0
    scale_left: float = 1


def read_slide(archive: Archive, part: str, slide: Slide) -> None:
    """Read a slide, a layout, a master or a page of notes.

    Args:
        archive: The open file.
        part: The part.
        slide: Receives the shapes, up to any damage.

    Raises:
        ParseError: "corrupt" if the part is missing or damaged.
    """
    reader = _Reader(slide)
    archive.read_xml(part, reader.start, reader.end, reader.text)


class _Reader:
    """Reader of one part."""

    def __init__(self, slide: Slide) -> None:
        self._slide = slide
        self._path: list[str] = []
        self._skipped = 0
        self._shape: Shape | None = None
        self._groups: list[_Place] = [_Place()]
        self._frame: dict[str, int] = {}
        self._pieces: list[str] = []
        self._raised = False
        self._level = 0
        self._marker = ""
        self._numbers: dict[int, int] = {}
        self._cell: list[str] | None = None
        self._row: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
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
        elif name in {"a:r", "a:fld", "a:rPr"}:
            self._raised = number_of(attributes, "baseline") > 0
        elif name.startswith("a:"):
            self._start_drawing(name, parent, attributes)
        elif self._shape is not None:
            self._describe(self._shape, name, attributes)

    def _describe(self, shape: Shape, name: str, attributes: dict[str, str]) -> None:
        """Set the properties of a shape."""
        if name == "p:ph":
            shape.placeholder = attributes.get("type", "obj")
            shape.index = attributes.get("idx", "0")
        elif name == "p:cNvPr":
            shape.is_hidden = attributes.get("hidden") in {"1", "true"}
            shape.alternative = attributes.get("descr", "")
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
        elif name == "a:blip" and self._shape is not None and "p:pic" in self._path:
            self._shape.blip = relation_of(attributes, "embed") or ""

    def _mark(self, name: str, attributes: dict[str, str]) -> None:
        """Set the list label of a paragraph."""
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
        """Handle characters."""
        if not self._skipped and self._path and self._path[-1] in _TEXTS:
            self._pieces.append(superscript(piece) if self._raised else piece)

    def end(self, _tag: str) -> None:
        """Handle the end of an element."""
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
            self._shape.width = round(outer.scale_left * frame.get("a:ext x", 0))
            self._shape.height = round(outer.scale_top * frame.get("a:ext y", 0))
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
    """Return the shift and scale of a group, from its frame and those of its parents."""
    size, inner_size = frame.get(f"a:ext {axis}", 0), frame.get(f"a:chExt {axis}", 0)
    ratio = size / inner_size if size and inner_size else 1.0
    start = frame.get(f"a:off {axis}", 0) - ratio * frame.get(f"a:chOff {axis}", 0)
    return shift + scale * start, scale * ratio


_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_TITLES = frozenset({"title", "ctrTitle"})
_LEFT_OUT = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})


def parse_pptx(source: Source) -> Parsed:
    """Return the text of a presentation.

    Raises:
        ParseError: "corrupt" if the container, the list of slides or all slides are damaged,
            "too_large" if it has more slides than `max_pages` or its unpacked size exceeds the
            limit, "encrypted", "no_text".
    """
    archive = Archive(source)
    container = archive.relations()
    presentation = container.get("officeDocument", "ppt/presentation.xml")
    parts = _slide_parts(archive, presentation)
    if len(parts) > source.max_pages:
        raise source.error(
            "too_large",
            f"it has {len(parts)} slides, more than {source.max_pages}; raise max_pages",
        )
    losses = Losses(source)
    reader = _PptxReader(archive, losses)
    for number, part in enumerate(parts, start=1):
        reader.read(part, number)
    writer = reader.slides.writer
    figures = read_figures(reader.pictures, writer)
    if not has_words(figures, writer.text, source):
        losses.require_text(writer.text, "its slides have no text; are they images?")
    properties = read_properties(archive, container.get("core-properties"), losses)
    parsed = losses.parsed(
        writer,
        media_type=_MEDIA_TYPE,
        properties=properties,
        pages=reader.slides.pages(),
        figures=figures,
    )
    return with_alternatives(parsed)


def _slide_parts(archive: Archive, presentation: str) -> list[str]:
    """Return the parts of the slides in order of presentation; "" for a missing one."""
    parts = {link.id: link.part for link in archive.links(presentation)}
    found: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if short_name(tag) == "p:sldId":
            found.append(parts.get(relation_of(attributes) or "", ""))

    archive.read_xml(presentation, start)
    return found


class _PptxReader:
    """Reader of the slides of one file."""

    def __init__(self, archive: Archive, losses: Losses) -> None:
        self.slides = SlideWriter()
        self.pictures: list[Picture] = []
        self._archive = archive
        self._losses = losses
        self._layouts: dict[str, list[Shape]] = {}

    def read(self, part: str, number: int) -> None:
        """Read and write a slide, up to any damage."""
        slide, notes = Slide(), Slide()
        links: list[Link] = []
        with self._losses.noted(f"slide {number}"):
            read_slide(self._archive, part, slide)
        with self._losses.noted(f"the list of parts of slide {number}"):
            links = self._archive.links(part)
        title, placed = self._read_shapes(slide, links)
        page = next((link.part for link in links if link.kind == "notesSlide"), None)
        if page is not None:
            with self._losses.noted(f"the notes of slide {number}"):
                read_slide(self._archive, page, notes)
        lines = [
            line for shape in notes.shapes if shape.placeholder == "body" for line in shape.lines
        ]
        self.slides.add(title, placed, notes=lines, is_hidden=slide.is_hidden)
        parts = {link.id: link.part for link in links}
        place = len(self.slides.writer.text)
        self.pictures += [
            Picture(
                place=place,
                member=parts[shape.blip],
                width=shape.width,
                height=shape.height,
                slide=number,
                left=shape.left,
                top=shape.top,
                alternative=shape.alternative,
            )
            for shape in slide.shapes
            if shape.blip in parts and not shape.is_hidden
        ]

    def _read_shapes(self, slide: Slide, links: list[Link]) -> tuple[str, list[PlacedText]]:
        """Return the title of a slide, and the texts of its other shapes."""
        layout = next((link.part for link in links if link.kind == "slideLayout"), None)
        parts = {link.id: link.part for link in links}
        drawings = DrawingReader(self._archive, parts, self._losses)
        titles: list[str] = []
        placed: list[PlacedText] = []
        for shape in slide.shapes:
            if shape.is_hidden or shape.placeholder in _LEFT_OUT:
                continue
            if shape.placeholder in _TITLES and not titles and shape.lines:
                titles.append(" ".join(" ".join(shape.lines).split()))
                continue
            if layout is not None and shape.placeholder is not None and not shape.is_placed:
                self._place_as_layout(shape, layout)
            placed.append(PlacedText(shape.top, shape.left, _shape_text(shape, drawings)))
        return "".join(titles), placed

    def _place_as_layout(self, shape: Shape, layout: str) -> None:
        """Set the position of a placeholder from its layout, or the master of the layout."""
        candidates = [other for other in self._layout_shapes(layout) if other.is_placed]
        alike = [other for other in candidates if other.placeholder == shape.placeholder]
        alike = [other for other in candidates if other.index == shape.index] + alike
        found = next(iter(alike), None)
        if found is not None:
            shape.top, shape.left = found.top, found.left

    def _layout_shapes(self, layout: str) -> list[Shape]:
        """Return the placeholders of a layout, then those of its master."""
        if layout not in self._layouts:
            slide = Slide()
            with self._losses.noted(f"the layout {layout}"):
                read_slide(self._archive, layout, slide)
                master = self._archive.relations(layout).get("slideMaster")
                if master is not None:
                    read_slide(self._archive, master, slide)
            self._layouts[layout] = [
                shape for shape in slide.shapes if shape.placeholder is not None
            ]
        return self._layouts[layout]


def _shape_text(shape: Shape, drawings: DrawingReader) -> TextWriter:
    writer = TextWriter()
    writer.write("\n".join(shape.lines))
    writer.write_block("\n".join(shape.rows), kind="table")
    for name, attributes in shape.drawings:
        writer.append(drawings.read(name, attributes))
    return writer
