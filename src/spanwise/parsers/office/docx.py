"""DOCX (and DOCM, DOTX): visible text in reading order, read by streaming the XML.

Rules of automatic numbers ("2.1", "(a)", "-"), which are not in the text of the file
    1. Lists of one definition (abstract list) share its counters; a list that overrides the
       start of a level sets the counter once, at its first use.
    2. A paragraph increments its level and resets the deeper ones, unless they define otherwise.
    3. An unused level shows its start value inside a deeper number.

Rules of text
    1. Inserted text, content controls, hyperlinks, text boxes and nested tables are included;
       deleted, moved and hidden text, field codes and comments are not. Of alternatives the
       first is used.
    2. Headings are recognised by the outline level of the paragraph or its style, not by the
       name of the style.
    3. A row of a table is a line; a table inside a cell follows its row. A caption above a table
       is part of it. The data of charts are tables, the texts of diagrams lines.
    4. Notes are at the end; `[1]` marks their references. There are no pages: a DOCX only has
       the page breaks of its last rendering.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

from spanwise.parsers.numerals import Numeral, superscript, write_number
from spanwise.parsers.office.body_writer import BodyWriter, Table
from spanwise.parsers.office.ooxml import (
    DrawingReader,
    is_on,
    level_of,
    number_of,
    relation_of,
    short_name,
    value_of,
)
from spanwise.parsers.office.pictures import Picture, has_words, read_figures, with_alternatives
from spanwise.parsers.office_zip import Archive
from spanwise.parsers.parsed import Losses, Parsed, Source
from spanwise.parsers.properties import read_properties

_HEADING_NAME = re.compile(r"heading\s*([1-9])")


@dataclass(slots=True)
class Style:
    """Own properties of a style or paragraph; None if inherited from the style it is based on."""

    name: str = ""
    based_on: str | None = None
    """Id of the base style; of a paragraph, the id of its style."""
    outline: int | None = None
    """Outline level, from 0; 9 is body text."""
    list_id: str | None = None
    list_level: int | None = None

    def set(self, name: str, attributes: Mapping[str, str]) -> None:
        """Set a property from its element; other elements are ignored."""
        if name in {"w:basedOn", "w:pStyle"}:
            self.based_on = value_of(attributes)
        elif name == "w:numId":
            self.list_id = value_of(attributes)
        elif name == "w:outlineLvl":
            self.outline = level_of(attributes)
        elif name == "w:ilvl":
            self.list_level = level_of(attributes)


class Styles:
    """Paragraph styles by id; ids are localised ("berschrift1"), levels are not."""

    def __init__(self) -> None:
        self._styles: dict[str, Style] = {}
        self._default = ""
        """Id of the default paragraph style."""
        self._current = Style()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element of the list of styles."""
        name = short_name(tag)
        if name == "w:style":
            style_id = value_of(attributes, "styleId") or ""
            self._current = self._styles[style_id] = Style()
            is_default = value_of(attributes, "default") in {"1", "true", "on"}
            if is_default and value_of(attributes, "type") == "paragraph":
                self._default = self._default or style_id
        elif name == "w:name":
            self._current.name = (value_of(attributes) or "").lower()
        else:
            self._current.set(name, attributes)

    def heading_level(self, style: Style) -> int | None:
        """Return the heading level, from 1, of a paragraph; None if it is not a heading."""
        for found in self._chain(style):
            if found.outline is not None:
                return found.outline + 1 if found.outline < 9 else None
            match = _HEADING_NAME.fullmatch(found.name)
            if match:
                return int(match.group(1))
            if found.name == "title":
                return 1
        return None

    def is_caption(self, style: Style) -> bool:
        """Return whether a paragraph is a caption of a table or image."""
        return any(found.name == "caption" for found in self._chain(style))

    def list_of(self, style: Style) -> tuple[str | None, int | None]:
        """Return the list that numbers a paragraph, and the level in it, if given."""
        chain = self._chain(style)
        ids = (found.list_id for found in chain if found.list_id is not None)
        levels = (found.list_level for found in chain if found.list_level is not None)
        return next(ids, None), next(levels, None)

    def _chain(self, style: Style) -> list[Style]:
        """Return a style and its base styles, each once."""
        chain = [style]
        base = self._styles.get(style.based_on or self._default)
        while base is not None and base not in chain:
            chain.append(base)
            base = self._styles.get(base.based_on or "")
        return chain


_PLACE = re.compile(r"%([1-9])")
_MAX_LABEL_CHARS = 255
"""Maximum length of a label in Word, with placeholders for numbers."""
_NUMERALS: Mapping[str, Numeral] = {name: name for name in get_args(Numeral) if name != "decimal"}


@dataclass(slots=True)
class _Level:
    start: int = 1
    format: str = "decimal"
    text: str = ""
    suffix: str = "tab"
    restart: int | None = None
    """Level (1-based) that resets this one; 0 for never; None for any level above."""
    style: str | None = None
    legal: bool = False


@dataclass(slots=True)
class _Definition:
    levels: dict[int, _Level] = field(default_factory=dict)
    style_link: str | None = None
    counters: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _List:
    definition: str = ""
    levels: dict[int, _Level] = field(default_factory=dict)
    """Levels that override those of the definition."""
    starts: dict[int, int] = field(default_factory=dict)
    """Overriding start values that have not been used yet."""


class Numbering:
    """Lists of a file, with the state of their counters."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._definitions: dict[str, _Definition] = {}
        self._lists: dict[str, _List] = {}
        self._definition = _Definition()
        self._list = _List()
        self._levels: dict[int, _Level] = {}
        self._number: int | None = None
        """Current level; None for a level that Word does not have."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element of the numbering part, which has a fixed order."""
        name = short_name(tag)
        value = value_of(attributes) or ""
        if name == "w:abstractNum":
            self._definition = _Definition()
            self._definitions[value_of(attributes, "abstractNumId") or ""] = self._definition
            self._levels = self._definition.levels
        elif name == "w:num":
            self._list = _List()
            self._lists[value_of(attributes, "numId") or ""] = self._list
            self._levels = self._list.levels
        elif name == "w:abstractNumId":
            self._list.definition = value
        elif name == "w:numStyleLink":
            self._definition.style_link = value
        elif name in {"w:lvl", "w:lvlOverride"}:
            self._number = level_of(attributes, "ilvl")
            if name == "w:lvl" and self._number is not None:
                self._levels[self._number] = _Level()
        elif self._number is None:
            return
        elif name == "w:startOverride":
            self._list.starts[self._number] = _integer(value, default=1)
        elif self._number in self._levels:
            _set_field(self._levels[self._number], name, attributes)

    def next_label(self, list_id: str | None, level: int | None, *, style_id: str | None) -> str:
        """Count a paragraph and return its label; empty if it has none.

        Args:
            list_id: Id of the list; None or "0" for none.
            level: Level in the list, from 0; None if the levels of the list refer to the style.
            style_id: Id of the style of the paragraph.
        """
        found = self._resolve(list_id)
        if found is None:
            return ""
        used, definition = found
        levels = definition.levels | used.levels
        if level is None:
            level = next((n for n, item in sorted(levels.items()) if item.style == style_id), 0)
        shape = levels.get(level)
        if shape is None:
            return ""
        counters = definition.counters
        counters[level] = used.starts.pop(level, counters.get(level, shape.start - 1) + 1)
        for deeper in [n for n in counters if n > level]:
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or level < restart:
                del counters[deeper]
        if shape.format == "bullet":
            return "  " * level + "- "
        return _fill(shape, levels=levels, counters=counters)

    def _resolve(self, list_id: str | None) -> tuple[_List, _Definition] | None:
        for _ in range(4):  # a definition may refer to a style, whose list has the definition
            used = self._lists.get(list_id or "")
            definition = self._definitions.get(used.definition) if used else None
            if used is None or definition is None:
                return None
            if definition.levels or definition.style_link is None:
                return used, definition
            list_id = self._styles.list_of(Style(based_on=definition.style_link))[0]
        return None


def _fill(shape: _Level, *, levels: dict[int, _Level], counters: dict[int, int]) -> str:
    def number(match: re.Match[str]) -> str:
        place = int(match.group(1)) - 1
        item = levels.get(place, _Level())
        return _format(counters.get(place, item.start), "decimal" if shape.legal else item.format)

    label = _PLACE.sub(number, shape.text).strip()
    if not label:
        return ""
    return label if shape.suffix == "nothing" else f"{label} "


def _format(number: int, kind: str) -> str:
    """Return a number in the format of a list; decimal for an unknown format."""
    if kind == "none":
        return ""
    if kind == "decimalZero":
        return f"{number:02}"
    return write_number(number, _NUMERALS.get(kind, "decimal"))


def _set_field(level: _Level, name: str, attributes: dict[str, str]) -> None:
    """Set the property of a level from one of its child elements."""
    value = value_of(attributes) or ""
    if name == "w:start":
        level.start = _integer(value, default=1)
    elif name == "w:numFmt":
        level.format = value
    elif name == "w:lvlText":
        level.text = value[:_MAX_LABEL_CHARS]
    elif name == "w:suff":
        level.suffix = value
    elif name == "w:lvlRestart":
        level.restart = _integer(value, default=0)
    elif name == "w:pStyle":
        level.style = value
    elif name == "w:isLgl":
        level.legal = is_on(attributes)


def _integer(written: str, *, default: int) -> int:
    return int(written) if written.isdecimal() and len(written) < 10 else default


_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_SKIPPED = frozenset(
    """
    w:del w:moveFrom mc:Fallback w:rt w:sectPr w:pPrChange w:rPrChange w:tblPrChange w:trPrChange
    w:tcPrChange w:numberingChange
    """.split()
)
"""Deleted and former content and properties, and content in another form."""
_CHARACTERS = {
    "w:tab": "\t",
    "w:br": "\n",
    "w:cr": "\n",
    "w:noBreakHyphen": "-",
    "w:ptab": "\t",
}
_SYMBOLS = {
    "symbol": dict(
        zip(
            b"\xa3\xa5\xae\xac\xad\xaf\xb0\xb1\xb3\xb4\xb7\xb8\xb9\xbb\xbc\xd6\xe5abgdezhqiklmnxoprstufcywGDQLXPSFYW",
            "≤∞→←↑↓°±≥×•÷≠≈…√∑αβγδεζηθικλμνξοπρστυφχψωΓΔΘΛΞΠΣΦΨΩ",
            strict=True,
        )
    ),
    "wingdings": dict(
        zip(b"lno\xa7\xa8\xd8\xdf\xe0\xf0\xfb\xfc\xfd\xfe", "●■☐▪☐➢←→⇨✗✓☒☑", strict=True)
    ),
}
"""Characters of fonts whose letters are symbols."""
_PRIVATE_USE = range(0xE000, 0xF900)
_NOTES = ("footnotes", "endnotes")
_MAX_PICTURES = 20_000


def parse_docx(source: Source) -> Parsed:
    """Return the text of a Word document.

    Raises:
        ParseError: "corrupt" if the container or its XML is damaged, "too_large" if its unpacked
            size exceeds the limit, "encrypted", "no_text".
    """
    archive = Archive(source)
    losses = Losses(source)
    container = archive.relations()
    body = container.get("officeDocument", "word/document.xml")
    links = archive.links(body)
    parts = {link.kind: link.part for link in reversed(links)}
    styles = Styles()
    numbering = Numbering(styles)
    if parts.get("styles") in archive:
        with losses.noted("the list of styles"):
            archive.read_xml(parts["styles"], styles.start)
    if parts.get("numbering") in archive:
        with losses.noted("the numbering of lists"):
            archive.read_xml(parts["numbering"], numbering.start)
    linked = {link.id: link.part for link in links}
    drawings = DrawingReader(archive, linked, losses)
    reader = _DocxReader(drawings, linked, styles=styles, numbering=numbering)
    for part in (body, *(parts[kind] for kind in _NOTES if kind in parts)):
        with losses.noted("the text" if part == body else "the list of notes"):
            reader.read(archive, part)
    writer = reader.writer
    figures = read_figures(reader.pictures, writer)
    if not has_words(figures, writer.text, source):
        losses.require_text(writer.text, "it has no text; are its pages images?")
    properties = read_properties(archive, container.get("core-properties"), losses)
    return with_alternatives(
        losses.parsed(writer, media_type=_MEDIA_TYPE, properties=properties, figures=figures)
    )


@dataclass(slots=True)
class _Paragraph:
    pieces: list[str] = field(default_factory=list)
    style: Style = field(default_factory=Style)
    continues: bool = False
    """Whether its end was deleted, so that the next paragraph continues it."""


class _DocxReader:
    """Reader of the XML parts of a file; writes their text."""

    def __init__(
        self,
        drawings: DrawingReader,
        linked: Mapping[str, str],
        *,
        styles: Styles,
        numbering: Numbering,
    ) -> None:
        self.pictures: list[Picture] = []
        self._linked = linked
        self._extent = (0, 0)
        self._drawing_extent = (0, 0)
        """Size of the current drawing, for a picture without a size of its own."""
        self._alternative = ""
        """Alternative text of the current drawing."""
        self._body = BodyWriter()
        self.writer = self._body.writer
        self._drawings = drawings
        self._styles = styles
        self._numbering = numbering
        self._path: list[str] = []
        self._skipped = 0
        """Depth inside an element that is skipped."""
        self._paragraphs: list[_Paragraph] = []
        self._hidden = self._raised = False
        self._carried = ""
        self._notes: dict[tuple[str, str], int] = {}
        self._note_label = ""

    def read(self, archive: Archive, part: str) -> None:
        """Write the text of a part, up to any damage."""
        self._path, self._skipped, self._paragraphs, self._carried = [], 0, [], ""
        try:
            archive.read_xml(part, self.start, self.end, self.text)
        finally:
            self._body.finish()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        name = short_name(tag)
        parent = self._path[-1] if self._path else ""
        self._path.append(name)
        if self._skipped or name in _SKIPPED:
            if not self._skipped:
                self._note_deleted_end(name, parent)
            self._skipped += 1
        elif name == "w:p":
            self._paragraphs.append(_Paragraph())
        elif name in _CHARACTERS:
            if parent == "w:r":  # elsewhere it is a tab stop
                self._add(_CHARACTERS[name])
        elif name == "w:sym":
            self._add(_symbol(attributes))
        elif parent in {"w:pPr", "w:numPr"}:
            if self._paragraphs:
                self._paragraphs[-1].style.set(name, attributes)
        elif name in {"w:tbl", "w:tr", "w:tc", "w:gridSpan", "w:gridBefore"}:
            self._start_table(name, attributes)
        else:
            self._start_run_part(name, parent, attributes)

    def _note_deleted_end(self, name: str, parent: str) -> None:
        """Record that a tracked change deleted the end of a paragraph, or a row."""
        if name == "w:del" and parent == "w:rPr" and self._path[-3:-2] == ["w:pPr"]:
            self._paragraphs[-1].continues = True
        elif name == "w:del" and parent == "w:trPr" and self._body.tables:
            self._body.tables[-1].row_copies = 0

    def _start_run_part(self, name: str, parent: str, attributes: dict[str, str]) -> None:
        if name == "w:r":
            self._hidden = self._raised = False
        elif name == "w:vertAlign" and parent == "w:rPr" and self._path[-3:-2] == ["w:r"]:
            self._raised = value_of(attributes, "val") == "superscript"
        elif name == "w:vanish" and parent == "w:rPr" and self._path[-3:-2] == ["w:r"]:
            self._hidden = is_on(attributes)
        elif name in {"c:chart", "d:relIds", "cx:chart"}:
            self._add_drawing(name, attributes)
        elif name in {"wp:docPr", "wp:extent", "a:ext", "a:blip"}:
            self._start_picture_part(name, attributes)
        elif name in {"w:footnoteReference", "w:endnoteReference"}:
            key = name[2:].removesuffix("Reference"), value_of(attributes, "id") or ""
            number = self._notes.setdefault(key, len(self._notes) + 1)
            self._add(f"[{number}]")
        elif name in {"w:footnote", "w:endnote"}:
            known = self._notes.get((name[2:], value_of(attributes, "id") or ""))
            if known is None:  # a separator line, stored as a note
                self._skipped = 1
            else:
                self._note_label = f"[{known}] "
                self._body.after_item = False

    def _start_picture_part(self, name: str, attributes: dict[str, str]) -> None:
        if name == "wp:docPr":
            self._alternative = attributes.get("descr", "")
        elif name == "wp:extent":
            self._drawing_extent = (number_of(attributes, "cx"), number_of(attributes, "cy"))
        elif name == "a:blip":
            self._extent = (0, 0)
            self._start_picture(attributes)
        elif "cx" in attributes:
            self._extent = (number_of(attributes, "cx"), number_of(attributes, "cy"))
            self._size_picture()

    def _add_drawing(self, name: str, attributes: dict[str, str]) -> None:
        """Write the text of a chart or diagram; a chart without data is a figure."""
        drawing = self._drawings.read(name, attributes)
        self._body.add_drawing(drawing)
        member = self._drawings.part(name, attributes)
        if name == "d:relIds" or drawing.blocks or member is None:
            return
        if len(self.pictures) < _MAX_PICTURES:
            place = self.writer.next_start
            chart = Picture(
                place=place,
                member=member,
                width=1,
                height=1,
                alternative=self._alternative,
                is_chart=True,
            )
            self.pictures.append(chart)

    def _start_picture(self, attributes: dict[str, str]) -> None:
        """Record a picture; its size follows."""
        member = self._linked.get(relation_of(attributes, "embed") or "")
        if member is not None and len(self.pictures) < _MAX_PICTURES:
            place = self.writer.next_start
            picture = Picture(
                place=place, member=member, width=0, height=0, alternative=self._alternative
            )
            self.pictures.append(picture)
            self._alternative = ""  # of the first picture of a group

    def _size_picture(self) -> None:
        if self.pictures and not self.pictures[-1].width:
            width, height = self._extent
            self.pictures[-1] = replace(self.pictures[-1], width=width, height=height)

    def end(self, _tag: str) -> None:
        """Handle the end of an element."""
        name = self._path.pop()
        if self._skipped:
            self._skipped -= 1
        elif name == "w:p":
            self._end_paragraph(self._paragraphs.pop())
        elif name == "m:num":
            self._add("/")
        elif name == "w:drawing":
            self._extent, self._drawing_extent = self._drawing_extent, (0, 0)
            self._size_picture()
        elif name == "w:tc" and self._body.tables:
            self._body.end_cell()
        elif name == "w:tr" and self._body.tables:
            self._body.end_row()
        elif name == "w:tbl" and self._body.tables:
            self._body.end_table()

    def text(self, piece: str) -> None:
        """Handle characters."""
        if not self._skipped and self._path and self._path[-1] in {"w:t", "m:t"}:
            is_raised = self._raised or "m:sup" in self._path[-4:]
            self._add(superscript(piece) if is_raised else piece)

    def _add(self, piece: str) -> None:
        if self._paragraphs and not self._hidden:
            self._paragraphs[-1].pieces.append(piece)

    def _end_paragraph(self, paragraph: _Paragraph) -> None:
        text = self._carried + "".join(paragraph.pieces)
        if paragraph.continues:
            self._carried = text
            return
        self._carried = ""
        text = text.strip()
        style = paragraph.style
        list_id, list_level = self._styles.list_of(style)
        label = self._numbering.next_label(list_id, list_level, style_id=style.based_on)
        if text:
            label, self._note_label = self._note_label + label, ""
            self._body.add_paragraph(
                text,
                label,
                is_item=bool(label),
                level=self._styles.heading_level(style),
                is_caption=self._styles.is_caption(style),
            )

    def _start_table(self, name: str, attributes: dict[str, str]) -> None:
        body = self._body
        if name == "w:tbl":
            body.tables.append(Table())
        elif name == "w:tr":
            body.start_row()
        elif name == "w:tc":
            body.start_cell()
        elif name == "w:gridBefore" and body.tables:
            count = value_of(attributes) or ""
            body.tables[-1].row += [""] * (min(int(count[:3]), 63) if count.isdecimal() else 0)
        elif body.tables and (span := value_of(attributes) or "").isdecimal():
            body.tables[-1].cell_columns = max(1, min(int(span[:3]), 63))


def _symbol(attributes: dict[str, str]) -> str:
    """Return the character of a symbol; empty if its font is unknown."""
    try:
        code = int(value_of(attributes, "char") or "", 16)
    except ValueError:
        return ""
    font = _SYMBOLS.get((value_of(attributes, "font") or "").lower(), {})
    if code in _PRIVATE_USE:
        return font.get(code & 0xFF, "")
    return font.get(code) or (chr(code) if 0x20 <= code < 0xD800 else "")
