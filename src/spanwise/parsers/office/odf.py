"""OpenDocument: text (ODT, OTT), presentations (ODP, OTP) and spreadsheets (ODS).

A presentation has a page per slide, with its shapes in reading order as in `pptx`. A spreadsheet
has a section per sheet, as in `workbook`.

Rules
    1. Deleted text (stored separately), comments, hidden text and descriptions of images are left
       out. Text boxes are read at their anchor.
    2. Lists and headings are numbered by their styles.
    3. Repeated cells and rows are limited: a few bytes may repeat a million rows, and every
       spreadsheet ends with a million repeated empty rows.
    4. Notes are at the end; `[1]` marks their references.
    5. There are no pages: a file has at most the page breaks of its last rendering.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial

from spanwise.parsers.numerals import Numeral, write_number
from spanwise.parsers.office.body_writer import (
    EMU_PER_INCH,
    BodyWriter,
    PlacedText,
    SlideWriter,
    Table,
)
from spanwise.parsers.office.number_formats import plain_number
from spanwise.parsers.office_zip import Archive, short_names
from spanwise.parsers.parsed import Losses, Parsed, Source
from spanwise.parsers.properties import read_properties
from spanwise.parsers.row_writer import Cell, SheetWriter
from spanwise.parsers.writer import TextWriter

_ROOT = "urn:oasis:names:tc:opendocument:xmlns:"
_SPACES = {
    "draw:": f"{_ROOT}drawing:1.0",
    "svg:": f"{_ROOT}svg-compatible:1.0",
    "fo:": f"{_ROOT}xsl-fo-compatible:1.0",
    "xlink:": "http://www.w3.org/1999/xlink",
    **{
        f"{name}:": f"{_ROOT}{name}:1.0"
        for name in ("office", "text", "table", "style", "presentation", "manifest", "chart")
    },
}
_PREFIXES = {space: prefix for prefix, space in _SPACES.items()}
_MAX_SPACES = 1000


short_name = short_names(_PREFIXES)
"""Return a name with its usual prefix, such as "text:p"; "" for an irrelevant name."""


@lru_cache(maxsize=4096)
def _long_name(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{_SPACES[f'{prefix}:']} {local}"


def attribute(attributes: Mapping[str, str], name: str, default: str = "") -> str:
    """Return an attribute by its short name ("text:style-name")."""
    return attributes.get(_long_name(name), default)


def count_of(attributes: Mapping[str, str], name: str, default: int = 1) -> int:
    """Return an attribute that is a count, from 0; the default if it is invalid."""
    written = attributes.get(_long_name(name), "")
    return int(written) if written.isdecimal() and len(written) < 10 else default


def white_space(name: str, attributes: Mapping[str, str]) -> str:
    """Return the white space that an element represents; "" for any other element."""
    if name == "text:s":
        return " " * min(count_of(attributes, "text:c"), _MAX_SPACES)
    return {"text:tab": "\t", "text:line-break": "\n"}.get(name, "")


_HEADING = re.compile(r"Heading_20_([1-9])")
_NUMERALS: Mapping[str, Numeral] = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
}
_LEVELS = frozenset(
    {
        "text:list-level-style-number",
        "text:list-level-style-bullet",
        "text:list-level-style-image",
        "text:outline-level-style",
    }
)
_MAX_LABEL_CHARS = 255
OUTLINE = "\x00outline"
"""Key of the list of the headings, which has no name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLevel:
    """Label format of one level of a list."""

    is_bullet: bool = False
    numeral: Numeral | None = None
    """Numeral of the level; None if it shows no number."""
    prefix: str = ""
    suffix: str = ""
    shown_levels: int = 1
    """Number of levels whose numbers are in the label, including this one."""
    first: int = 1


@dataclass(slots=True)
class _Style:
    parent: str = ""
    outline: int = 0
    is_hidden: bool = False


class OdfStyles:
    """Named and automatic styles of a file, collected while it is read."""

    def __init__(self) -> None:
        self._styles: dict[str, _Style] = {}
        self._current = _Style()
        self._lists: dict[str, dict[int, ListLevel]] = {}
        self._levels: dict[int, ListLevel] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element; elements other than styles are ignored."""
        if name == "style:style":
            self._current = _Style(
                parent=attribute(attributes, "style:parent-style-name"),
                outline=count_of(attributes, "style:default-outline-level", 0),
            )
            self._styles[attribute(attributes, "style:name")] = self._current
        elif name == "style:text-properties":
            self._current.is_hidden |= attribute(attributes, "text:display") == "none"
        elif name == "style:table-properties":
            self._current.is_hidden |= attribute(attributes, "table:display") == "false"
        elif name == "style:drawing-page-properties":
            self._current.is_hidden |= attribute(attributes, "presentation:visibility") == "hidden"
        elif name in {"text:list-style", "text:outline-style"}:
            key = OUTLINE if name == "text:outline-style" else attribute(attributes, "style:name")
            self._levels = self._lists.setdefault(key, {})
        elif name in _LEVELS:
            self._levels[count_of(attributes, "text:level")] = _read_level(name, attributes)

    def is_hidden(self, style: str) -> bool:
        """Return whether a style hides its text, sheet or slide."""
        return any(found.is_hidden for _, found in self._chain(style))

    def heading_level(self, style: str) -> int | None:
        """Return the heading level of a style; None if it is not a heading."""
        for name, found in self._chain(style):
            match = _HEADING.fullmatch(name)
            if match:
                return int(match.group(1))
            if found.outline:
                return found.outline
            if name == "Title":
                return 1
        return None

    def is_caption(self, style: str) -> bool:
        """Return whether a style is a caption; "Table" is the caption of tables."""
        return any(name in {"Caption", "Table"} for name, _ in self._chain(style))

    def list_levels(self, style: str) -> Mapping[int, ListLevel]:
        """Return the levels of a list, from 1; none for an unknown list."""
        return self._lists.get(style, {})

    def _chain(self, style: str) -> list[tuple[str, _Style]]:
        """Return a style and its base styles, each once."""
        chain: list[tuple[str, _Style]] = []
        while style in self._styles and all(name != style for name, _ in chain):
            chain.append((style, self._styles[style]))
            style = self._styles[style].parent
        return chain


def _read_level(name: str, attributes: Mapping[str, str]) -> ListLevel:
    is_numbered = name in {"text:list-level-style-number", "text:outline-level-style"}
    return ListLevel(
        is_bullet=not is_numbered,
        numeral=_NUMERALS.get(attribute(attributes, "style:num-format")),
        prefix=attribute(attributes, "style:num-prefix")[:_MAX_LABEL_CHARS],
        suffix=attribute(attributes, "style:num-suffix")[:_MAX_LABEL_CHARS],
        shown_levels=count_of(attributes, "text:display-levels"),
        first=count_of(attributes, "text:start-value"),
    )


def write_label(levels: Mapping[int, ListLevel], depth: int, counters: Mapping[int, int]) -> str:
    """Return the label of an item of a list; "" if it has none.

    Args:
        levels: Label formats of the list.
        depth: Level of the item, from 1.
        counters: Numbers of the item and of the items above it, by level.
    """
    level = levels.get(depth)
    if level is None or level.is_bullet:
        return "  " * (depth - 1) + "- "
    if level.numeral is None:
        return ""
    numbers = [
        write_number(counters.get(above, shape.first), shape.numeral)
        for above in range(max(1, depth - level.shown_levels + 1), depth + 1)
        if (shape := levels.get(above)) is not None and shape.numeral is not None
    ]
    label = (level.prefix + ".".join(numbers) + level.suffix).strip()
    return f"{label} " if label else ""


_SKIPPED = frozenset(
    {
        "text:tracked-changes",
        "text:note-citation",
        "text:ruby-text",
        "text:hidden-text",
        "office:annotation",
        "office:forms",
        "office:event-listeners",
        "svg:title",
        "svg:desc",
        "presentation:notes",
    }
)
_PARAGRAPHS = frozenset({"text:p", "text:h"})
_CELLS = frozenset({"table:table-cell", "table:covered-table-cell"})
_TABLE_PARTS = _CELLS | {"table:table", "table:table-row"}
_MAX_LIST_DEPTH = 10
"""Maximum number of levels of a list."""
_MAX_COLUMNS = 1000
_MAX_REPEATED_CHARS = 10_000_000
"""Maximum number of characters in all repeated cells and rows."""


@dataclass(slots=True)
class _Paragraph:
    pieces: list[str] = field(default_factory=list)
    level: int | None = None
    is_caption: bool = False
    is_heading: bool = False
    has_number: bool = True


@dataclass(slots=True)
class _List:
    style: str
    label: str = ""
    """Label of the current item, until it is written."""


class _Flow:
    """Separate run of text: the body, a note, a shape."""

    def __init__(self) -> None:
        self.body = BodyWriter()
        self.paragraphs: list[_Paragraph] = []
        self.lists: list[_List] = []


class OdfText:
    """Writer of the text of a part.

    Args:
        styles: Styles of the file; automatic ones are added while reading.
        losses: Receives the losses.
        on_object: Returns the text of an embedded object (a chart, a sheet) by its address.
    """

    def __init__(
        self, styles: OdfStyles, losses: Losses, *, on_object: Callable[[str], TextWriter]
    ) -> None:
        self._notes: list[str] = []
        self._open_notes: list[int] = []
        self._styles = styles
        self._losses = losses
        self._repeats_left = _MAX_REPEATED_CHARS
        self._on_object = on_object
        self._path: list[str] = []
        self._skipped = 0
        """Depth inside an element that is skipped."""
        self._flows = [_Flow()]
        self._counters: dict[str, dict[int, int]] = {}

    def begin_flow(self) -> None:
        """Begin a separate flow."""
        self._flows.append(_Flow())

    def end_flow(self) -> TextWriter:
        """End the current flow and return its text; the flow before continues."""
        body = self._flows.pop().body
        body.write_caption()
        return body.writer

    def finish(self) -> TextWriter:
        """Return the complete text with notes at its end, including truncated tables."""
        writer = self._flows[0].body.finish()
        for note in filter(None, self._notes):
            writer.write_apart(note)
        return writer

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        name = short_name(tag)
        self._path.append(name)
        if self._skipped or name in _SKIPPED:
            self._skipped += 1
        elif name in _PARAGRAPHS:
            self._start_paragraph(name, attributes)
        elif name in _TABLE_PARTS:
            self._start_table_part(name, attributes)
        elif name in {"text:list", "text:list-item"}:
            self._start_list(name, attributes)
        elif name == "text:span":
            self._skipped += self._styles.is_hidden(attribute(attributes, "text:style-name"))
        elif name == "text:note":
            self._notes.append("")
            self._open_notes.append(len(self._notes))
            self._add(f"[{len(self._notes)}]")
            self.begin_flow()
        elif name == "draw:object":
            self._flows[-1].body.add_drawing(self._on_object(attribute(attributes, "xlink:href")))
        elif name.startswith(("text:", "style:")):
            self._add(white_space(name, attributes))
            self._styles.start(name, attributes)

    def text(self, piece: str) -> None:
        """Handle characters."""
        if not self._skipped:
            self._add(piece)

    def end(self, _tag: str) -> None:
        """Handle the end of an element."""
        name = self._path.pop()
        flow = self._flows[-1]
        if self._skipped:
            self._skipped -= 1
        elif name in _PARAGRAPHS and flow.paragraphs:
            self._end_paragraph(flow, flow.paragraphs.pop())
        elif name in _TABLE_PARTS and flow.body.tables:
            self._end_table_part(flow.body, name)
        elif name == "text:list" and flow.lists:
            flow.lists.pop()
            flow.body.writer.separate(1 if flow.lists else 2)
        elif name == "text:note" and self._open_notes:
            number = self._open_notes.pop()
            self._notes[number - 1] = f"[{number}] {self.end_flow().text}".rstrip()

    def _add(self, piece: str) -> None:
        paragraphs = self._flows[-1].paragraphs
        if paragraphs:
            paragraphs[-1].pieces.append(piece)

    def _start_paragraph(self, name: str, attributes: dict[str, str]) -> None:
        style = attribute(attributes, "text:style-name")
        paragraph = _Paragraph(
            level=self._styles.heading_level(style), is_caption=self._styles.is_caption(style)
        )
        if name == "text:h":
            paragraph.level = max(1, count_of(attributes, "text:outline-level"))
            paragraph.is_heading = True
            paragraph.has_number = attribute(attributes, "text:is-list-header") != "true"
        self._flows[-1].paragraphs.append(paragraph)

    def _start_list(self, name: str, attributes: dict[str, str]) -> None:
        lists = self._flows[-1].lists
        if name == "text:list":
            style = attribute(attributes, "text:style-name") or (lists[-1].style if lists else "")
            goes_on = (
                attribute(attributes, "text:continue-numbering") == "true"
                or attribute(attributes, "text:continue-list") != ""
            )
            if not lists and not goes_on:
                self._counters.pop(style, None)
            lists.append(_List(style))
        elif lists:
            start = count_of(attributes, "text:start-value", -1)
            depth = min(len(lists), _MAX_LIST_DEPTH)
            lists[-1].label = self._next_label(lists[-1].style, depth, start=start)

    def _next_label(self, style: str, depth: int, *, start: int = -1) -> str:
        """Count an item and return its label."""
        levels = self._styles.list_levels(style)
        counters = self._counters.setdefault(style, {})
        first = levels[depth].first if depth in levels else 1
        counters[depth] = start if start >= 0 else counters.get(depth, first - 1) + 1
        for deeper in [level for level in counters if level > depth]:
            del counters[deeper]
        return write_label(levels, depth, counters)

    def _end_paragraph(self, flow: _Flow, paragraph: _Paragraph) -> None:
        text = "".join(paragraph.pieces).strip()
        if not text:
            return
        label = ""
        if flow.lists:
            label, flow.lists[-1].label = flow.lists[-1].label, ""
        elif paragraph.is_heading and paragraph.has_number and self._styles.list_levels(OUTLINE):
            label = self._next_label(OUTLINE, paragraph.level or 1)
        if flow.body.cell is None and paragraph.level is not None:
            label = label.removeprefix("- ")
        elif flow.body.cell is None and paragraph.is_caption:
            label = ""
        flow.body.add_paragraph(
            text,
            label,
            is_item=bool(flow.lists),
            level=paragraph.level,
            is_caption=paragraph.is_caption,
        )

    def _start_table_part(self, name: str, attributes: dict[str, str]) -> None:
        body = self._flows[-1].body
        if name == "table:table":
            body.tables.append(Table())
        elif not body.tables:
            return
        elif name == "table:table-row":
            body.start_row()
            copies = count_of(attributes, "table:number-rows-repeated")
            body.tables[-1].row_copies = copies
        else:
            body.start_cell()
            copies = count_of(attributes, "table:number-columns-repeated")
            body.tables[-1].cell_copies = copies

    def _end_table_part(self, body: BodyWriter, name: str) -> None:
        table = body.tables[-1]
        if name in _CELLS:
            free = max(0, _MAX_COLUMNS - len(table.row))
            table.cell_copies = min(self._repeats(table.cell_text(), table.cell_copies), free)
            body.end_cell()
        elif name == "table:table-row":
            table.row_copies = self._repeats(table.row_line(), table.row_copies)
            body.end_row()
        else:
            body.end_table()

    def _repeats(self, text: str, requested: int) -> int:
        """Return the allowed number of repetitions of a text."""
        more = len(text) * (requested - 1)
        if more <= self._repeats_left:
            self._repeats_left -= more
            return requested
        self._losses.add(
            f"a cell or row of a table that is repeated {requested} times was written once"
        )
        return 1


_MANIFEST = "META-INF/manifest.xml"


def refuse_encrypted(archive: Archive, source: Source) -> None:
    """Raise if the parts of a file are encrypted.

    Raises:
        ParseError: "encrypted".
    """

    def start(tag: str, _attributes: dict[str, str]) -> None:
        if short_name(tag) == "manifest:encryption-data":
            raise source.error("encrypted", "it needs a password; save a copy without one")

    if _MANIFEST in archive:
        archive.read_xml(_MANIFEST, start)


def read_named_styles(archive: Archive, losses: Losses) -> OdfStyles:
    """Return the named styles; none if the file has no such part."""
    styles = OdfStyles()

    def start(tag: str, attributes: dict[str, str]) -> None:
        styles.start(short_name(tag), attributes)

    if "styles.xml" in archive:
        with losses.noted("its styles"):
            archive.read_xml("styles.xml", start)
    return styles


def _read_object(archive: Archive, losses: Losses, address: str) -> TextWriter:
    """Return the text of an embedded object (a chart with its data, another document).

    It is empty if the object is outside of the file, or a formula. An object inside the object is
    left out.
    """
    part = posixpath.normpath(posixpath.join(address, "content.xml"))
    reader = OdfText(OdfStyles(), losses, on_object=lambda _: TextWriter())
    if part != "content.xml" and part in archive:
        with losses.noted(f"the object {address}"):
            archive.read_xml(part, reader.start, reader.end, reader.text)
    return reader.finish()


_TYPES = "application/vnd.oasis.opendocument."


def parse_odt(source: Source) -> Parsed:
    """Return the text of an OpenDocument text.

    Raises:
        ParseError: "corrupt" if the container or all of its text is damaged, "encrypted",
            "too_large" if its unpacked size exceeds the limit, "no_text".
    """
    archive = Archive(source)
    refuse_encrypted(archive, source)
    losses = Losses(source)
    styles = read_named_styles(archive, losses)
    reader = OdfText(styles, losses, on_object=partial(_read_object, archive, losses))
    with losses.noted("the text"):
        archive.read_xml("content.xml", reader.start, reader.end, reader.text)
    writer = reader.finish()
    losses.require_text(writer.text, "it has no text; are its pages images?")
    properties = read_properties(archive, "meta.xml", losses)
    return losses.parsed(writer, media_type=f"{_TYPES}text", properties=properties)


_SHAPES = frozenset(
    f"draw:{name}"
    for name in (
        "frame custom-shape rect ellipse circle line connector polygon polyline path caption "
        "regular-polygon measure"
    ).split()
)
_LEFT_OUT = frozenset({"header", "footer", "date-time", "page-number"})
_LENGTH = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?)(cm|mm|in|pt|pc|px)")
_MOVED = re.compile(r"translate\s*\(\s*(\S+?)[\s,]+(\S+?)\s*\)")
_INCHES = {"cm": 1 / 2.54, "mm": 1 / 25.4, "in": 1.0, "pt": 1 / 72, "pc": 1 / 6, "px": 1 / 96}


def parse_odp(source: Source) -> Parsed:
    """Return the text of an OpenDocument presentation.

    Raises:
        ParseError: "corrupt" if the container or all slides are damaged, "encrypted",
            "too_large" if it has more slides than `max_pages` or its unpacked size exceeds the
            limit, "no_text".
    """
    archive = Archive(source)
    refuse_encrypted(archive, source)
    losses = Losses(source)
    reader = _SlideReader(source, archive, read_named_styles(archive, losses), losses)
    with losses.noted("the slides"):
        try:
            archive.read_xml("content.xml", reader.start, reader.end, reader.text)
        finally:
            reader.end_slide()
    slides = reader.slides
    losses.require_text(slides.writer.text, "its slides have no text; are they images?")
    return losses.parsed(
        slides.writer,
        media_type=f"{_TYPES}presentation",
        properties=read_properties(archive, "meta.xml", losses),
        pages=slides.pages(),
    )


class _SlideReader(OdfText):
    """Reader of slides; each shape is a separate flow of text."""

    def __init__(self, source: Source, archive: Archive, styles: OdfStyles, losses: Losses) -> None:
        super().__init__(styles, losses, on_object=partial(_read_object, archive, losses))
        self.slides = SlideWriter()
        self._source = source
        self._count = 0
        self._slide_style: str | None = None
        """Style of the current slide; None outside of slides."""
        self._in_notes = False
        self._depth = 0
        """Current depth inside a shape."""
        self._shape: dict[str, str] = {}
        self._title = ""
        self._placed: list[PlacedText] = []
        self._speaker_notes: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        name = short_name(tag)
        if name == "draw:page":
            self._count += 1
            if self._count > self._source.max_pages:
                most = self._source.max_pages
                raise self._source.error(
                    "too_large", f"it has more than {most} slides; raise max_pages"
                )
            self._slide_style = attribute(attributes, "draw:style-name")
        elif name == "presentation:notes":
            self._in_notes = True
            return  # skipped in text documents
        elif self._depth or (name in _SHAPES and self._slide_style is not None):
            self._depth += 1
            if self._depth == 1:
                self._shape = attributes
                self.begin_flow()
        super().start(tag, attributes)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        name = short_name(tag)
        if name == "presentation:notes":
            self._in_notes = False
            return
        super().end(tag)
        if self._depth:
            self._depth -= 1
            if not self._depth:
                self._end_shape()
        elif name == "draw:page":
            self.end_slide()

    def end_slide(self) -> None:
        """Write the current slide, if there is one."""
        if self._slide_style is not None:
            is_hidden = self._styles.is_hidden(self._slide_style)
            self.slides.add(
                self._title, self._placed, notes=self._speaker_notes, is_hidden=is_hidden
            )
        self._slide_style = None
        self._title, self._placed, self._speaker_notes = "", [], []

    def _end_shape(self) -> None:
        text = self.end_flow()
        kind = attribute(self._shape, "presentation:class")
        is_empty = attribute(self._shape, "presentation:placeholder") == "true"
        if is_empty or kind in _LEFT_OUT or not text.text:
            return
        if self._in_notes:
            self._speaker_notes += text.text.split("\n") if kind == "notes" else []
        elif kind == "title" and not self._title:
            self._title = " ".join(text.text.split())
        else:
            moved = _MOVED.search(attribute(self._shape, "draw:transform")[:500])
            left, top = moved.groups() if moved else ("", "")
            top = attribute(self._shape, "svg:y") or top
            left = attribute(self._shape, "svg:x") or left
            self._placed.append(PlacedText(_length(top), _length(left), text))


def _length(written: str) -> int:
    """Return a length in EMU; 0 if it is invalid."""
    match = _LENGTH.fullmatch(written)
    return round(float(match[1]) * _INCHES[match[2]] * EMU_PER_INCH) if match else 0


_SKIPPED_IN_SHEETS = frozenset({"office:annotation", "table:shapes", "table:dde-links"})
_MAX_SHEET_COLUMNS = 16_384
_WORDS = frozenset({"", "string"})
"""Value types of cells with words."""


def read_ods(archive: Archive, *, writer: SheetWriter, losses: Losses) -> None:
    """Write all sheets of an OpenDocument spreadsheet, with formatted numbers and ISO dates.

    Raises:
        ParseError: "too_large" if its unpacked size exceeds the limit.
    """
    reader = _SheetReader(writer, read_named_styles(archive, losses))
    with losses.noted("the sheets"):
        archive.read_xml("content.xml", reader.start, reader.end, reader.text)
    reader.end_sheet()
    writer.end_sheet()


class _SheetReader:
    """Reader of the rows of all sheets."""

    def __init__(self, writer: SheetWriter, styles: OdfStyles) -> None:
        self._writer = writer
        self._styles = styles
        self._skipped = 0
        self._without_result = 0
        self._row = 0
        self._row_repeats = 1
        self._column = 0
        self._cells: list[Cell] = []
        self._cell: dict[str, str] | None = None
        """Attributes of the current cell."""
        self._lines: list[str] = []
        self._pieces: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        name = short_name(tag)
        if self._skipped or name in _SKIPPED_IN_SHEETS:
            self._skipped += 1
        elif name in _CELLS:
            self._cell = attributes
            self._lines = []
        elif name == "text:p" and self._cell is not None:
            self._pieces = []
        elif name == "table:table-row":
            self._row_repeats = count_of(attributes, "table:number-rows-repeated")
            self._column = 0
            self._cells = []
        elif name == "table:table":
            self.end_sheet()
            is_hidden = self._styles.is_hidden(attribute(attributes, "table:style-name"))
            self._writer.start_sheet(attribute(attributes, "table:name"), is_hidden=is_hidden)
        elif self._pieces is not None:
            self._pieces.append(white_space(name, attributes))
        else:
            self._styles.start(name, attributes)

    def text(self, piece: str) -> None:
        """Handle characters."""
        if self._pieces is not None and not self._skipped:
            self._pieces.append(piece)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        name = short_name(tag)
        if self._skipped:
            self._skipped -= 1
        elif name in _CELLS and self._cell is not None:
            self._end_cell(self._cell)
            self._cell = None
        elif name == "text:p" and self._pieces is not None:
            self._lines.append("".join(self._pieces))
            self._pieces = None
        elif name == "table:table-row":
            self._end_row()

    def _end_cell(self, attributes: dict[str, str]) -> None:
        repeats = count_of(attributes, "table:number-columns-repeated")
        kind = attribute(attributes, "office:value-type")
        text = " ".join(self._lines).strip()
        if kind == "date":
            day = attribute(attributes, "office:date-value")
            text = day.removesuffix("T00:00:00").replace("T", " ") or text
        elif not text and kind not in _WORDS:
            text = _plain(attribute(attributes, "office:value"))
        if text:
            last = min(self._column + repeats, _MAX_SHEET_COLUMNS)
            is_words = kind in _WORDS
            self._cells += [Cell(column, text, is_words) for column in range(self._column, last)]
        elif kind == "" and attribute(attributes, "table:formula"):
            self._without_result += 1
        self._column += repeats

    def _end_row(self) -> None:
        if self._cells:
            for number in range(self._row, self._row + self._row_repeats):
                if self._writer.is_full:
                    break
                self._writer.add_row(number, self._cells)
        self._row += self._row_repeats

    def end_sheet(self) -> None:
        """Record the losses of the current sheet."""
        self._row = 0
        self._writer.add_missing_results(self._without_result)
        self._without_result = 0


def _plain(written: str) -> str:
    """Return the text of a number of which the file stores only the value."""
    try:
        return plain_number(float(written))
    except (ValueError, OverflowError):
        return written
