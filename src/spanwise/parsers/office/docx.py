"""DOCX (and DOCM, DOTX) to text, by streaming its XML: what a reader sees, in reading order.

Rules
    1. Inserted text, content controls, hyperlinks, text boxes and nested tables are kept; deleted
       and moved-away text, hidden text, field codes and comments are not. Of alternatives the
       first is taken.
    2. Automatic numbers are counted as Word counts them (`docx_numbering`).
    3. Headings are known by outline level, of the paragraph or of its style, whatever the style
       is called.
    4. A row of a table is a line; a table inside a cell follows its row. A caption above a table
       is part of it. The data of charts are tables, the texts of diagrams lines.
    5. Notes stand at the end; `[1]` marks where they are referred to. There are no pages: a DOCX
       says only where they were broken last.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from spanwise.parsers.archive import Archive, XmlHandlers
from spanwise.parsers.losses import Losses
from spanwise.parsers.office.docx_numbering import Numbering, read_numbering
from spanwise.parsers.office.docx_styles import Styles, read_styles
from spanwise.parsers.office.drawing_parts import DrawingReader
from spanwise.parsers.office.ooxml_names import is_on, level_of, short_name, value_of
from spanwise.parsers.office.properties import read_properties
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.writer import TextWriter, table_line

__all__ = ["parse_docx"]

_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_SKIPPED = frozenset({"w:del", "w:moveFrom", "mc:Fallback", "w:rt", "w:sectPr"})
_CHARACTERS = {
    "w:tab": "\t",
    "w:br": "\n",
    "w:cr": "\n",
    "w:noBreakHyphen": "-",
}
_NOTES = ("footnotes", "endnotes")
_SHORT_ITEM_CHARS = 120
"""List items up to this length stand line by line; longer ones are paragraphs."""


def parse_docx(source: Source) -> Parsed:
    """Return the text of a Word document.

    Raises:
        ParseError: "corrupt" where the container or its XML is damaged, "too_large" where it
            would unpack to more than the limit, "encrypted", "no_text".
    """
    archive = Archive(source)
    losses = Losses(source)
    container = archive.relations()
    body = container.get("officeDocument", "word/document.xml")
    links = archive.links(body)
    parts = {link.kind: link.part for link in reversed(links)}
    styles = read_styles(archive, parts.get("styles"), losses)
    numbering = read_numbering(archive, parts.get("numbering"), styles=styles, losses=losses)
    drawings = DrawingReader(archive, {link.id: link.part for link in links}, losses)
    reader = _Reader(drawings, styles=styles, numbering=numbering)
    for part in (body, *(parts[kind] for kind in _NOTES if kind in parts)):
        with losses.noted("the text" if part == body else "the list of notes"):
            reader.read(archive, part)
    writer = reader.writer
    losses.require_text(writer.text, "it holds no text; are its pages pictures?")
    properties = read_properties(archive, container.get("core-properties"), losses)
    return losses.parsed(writer, media_type=_MEDIA_TYPE, properties=properties)


@dataclass(slots=True)
class _Paragraph:
    pieces: list[str] = field(default_factory=list)
    style: str | None = None
    list_id: str | None = None
    list_level: int | None = None
    outline: int | None = None
    continues: bool = False
    """Whether its end was deleted: the next paragraph goes on with it."""


@dataclass(slots=True)
class _Table:
    lines: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    cell: list[str] | None = None
    columns_of_cell: int = 1
    inner: list[str] = field(default_factory=list)
    """Lines of tables inside the row."""
    row_deleted: bool = False
    columns: int = 0


class _Reader:
    """Writes the text of one part after the other."""

    def __init__(self, drawings: DrawingReader, *, styles: Styles, numbering: Numbering) -> None:
        self.writer = TextWriter()
        self._drawings = drawings
        self._styles = styles
        self._numbering = numbering
        self._path: list[str] = []
        self._skipped = 0
        """Depth inside an element that is left out."""
        self._paragraphs: list[_Paragraph] = []
        self._tables: list[_Table] = []
        self._hidden = False
        self._carried = ""
        self._caption = ""
        """Of the table that may follow."""
        self._after_item = False
        self._notes: dict[tuple[str, str], int] = {}
        self._note_label = ""

    def read(self, archive: Archive, part: str) -> None:
        """Write the text of a part; that before a damage too."""
        self._path, self._skipped, self._paragraphs, self._carried = [], 0, [], ""
        try:
            archive.read_xml(part, XmlHandlers(start=self.start, end=self.end, text=self.text))
        finally:
            while self._tables:  # cut off inside of one
                self._close_table(self._tables.pop())
            self._write_caption()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take in the start of an element."""
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
            if parent == "w:r":  # a tab is a tab stop elsewhere
                self._add(_CHARACTERS[name])
        elif parent in {"w:pPr", "w:numPr"}:
            self._set_property(name, attributes)
        elif name in {"w:tbl", "w:tr", "w:tc", "w:gridSpan"}:
            self._start_table(name, attributes)
        else:
            self._start_run_part(name, parent, attributes)

    def _note_deleted_end(self, name: str, parent: str) -> None:
        """Note that a tracked change deleted the end of a paragraph, or a row."""
        if name == "w:del" and parent == "w:rPr" and self._path[-3:-2] == ["w:pPr"]:
            self._paragraphs[-1].continues = True
        elif name == "w:del" and parent == "w:trPr" and self._tables:
            self._tables[-1].row_deleted = True

    def _start_run_part(self, name: str, parent: str, attributes: dict[str, str]) -> None:
        if name == "w:r":
            self._hidden = False
        elif name == "w:vanish" and parent == "w:rPr" and self._path[-3:-2] == ["w:r"]:
            self._hidden = is_on(attributes)
        elif name in {"c:chart", "d:relIds"}:
            self._append(self._drawings.read(name, attributes))
        elif name in {"w:footnoteReference", "w:endnoteReference"}:
            key = name[2:].removesuffix("Reference"), value_of(attributes, "id") or ""
            number = self._notes.setdefault(key, len(self._notes) + 1)
            self._add(f"[{number}]")
        elif name in {"w:footnote", "w:endnote"}:
            known = self._notes.get((name[2:], value_of(attributes, "id") or ""))
            if known is None:  # a separator line, which is stored as a note
                self._skipped = 1
            else:
                self._note_label = f"[{known}] "
                self._after_item = False

    def end(self, _tag: str) -> None:
        """Take in the end of an element."""
        name = self._path.pop()
        if self._skipped:
            self._skipped -= 1
        elif name == "w:p":
            self._end_paragraph(self._paragraphs.pop())
        elif name in {"w:tbl", "w:tr", "w:tc"} and self._tables:
            self._end_table(name)

    def text(self, piece: str) -> None:
        """Take in characters."""
        if not self._skipped and self._path and self._path[-1] in {"w:t", "m:t"}:
            self._add(piece)

    def _add(self, piece: str) -> None:
        if self._paragraphs and not self._hidden:
            self._paragraphs[-1].pieces.append(piece)

    def _set_property(self, name: str, attributes: dict[str, str]) -> None:
        if not self._paragraphs:
            return
        paragraph = self._paragraphs[-1]
        value = value_of(attributes) or ""
        if name == "w:pStyle":
            paragraph.style = value
        elif name == "w:numId":
            paragraph.list_id = value
        elif name == "w:ilvl":
            paragraph.list_level = level_of(attributes)
        elif name == "w:outlineLvl":
            paragraph.outline = level_of(attributes)

    def _end_paragraph(self, paragraph: _Paragraph) -> None:
        text = self._carried + "".join(paragraph.pieces)
        if paragraph.continues:
            self._carried = text
            return
        self._carried = ""
        text = text.strip()
        list_id, list_level = self._styles.list_of(paragraph.style)
        if paragraph.list_id is not None:
            list_id = paragraph.list_id
        if paragraph.list_level is not None:
            list_level = paragraph.list_level
        label = self._numbering.next_label(list_id, list_level, style_id=paragraph.style)
        if text:
            self._place(paragraph, text, label)

    def _place(self, paragraph: _Paragraph, text: str, label: str) -> None:
        """Write a paragraph, or put it into the cell it stands in."""
        label, self._note_label = self._note_label + label, ""
        cells = [table.cell for table in self._tables if table.cell is not None]
        if cells:
            cells[-1].append(label + text)
            return
        self._write_caption()
        level = self._heading_level(paragraph)
        if level is None and self._styles.is_caption(paragraph.style):
            self._caption = " ".join((label + text).split())
            return
        if level is not None:
            self.writer.write_heading(" ".join((label + text).split()), level=level)
            self._after_item = False
            return
        item = bool(label) and len(text) <= _SHORT_ITEM_CHARS
        self.writer.separate(1 if item and self._after_item else 2)
        self.writer.write(label + text)
        self._after_item = item

    def _append(self, drawing: TextWriter) -> None:
        """Write a drawing before the paragraph, or put it into the cell, that it stands in."""
        cells = [table.cell for table in self._tables if table.cell is not None]
        if cells:
            cells[-1] += [drawing.text] if drawing.text else []
        else:
            self._write_caption()
            self.writer.append(drawing)

    def _write_caption(self) -> None:
        """Write the caption that no table followed."""
        if self._caption:
            self.writer.write_apart(self._caption)
            self._caption = ""
            self._after_item = False

    def _heading_level(self, paragraph: _Paragraph) -> int | None:
        if paragraph.outline is not None:
            return paragraph.outline + 1 if paragraph.outline < 9 else None
        return self._styles.heading_level(paragraph.style)

    def _start_table(self, name: str, attributes: dict[str, str]) -> None:
        if name == "w:tbl":
            self._tables.append(_Table())
        elif not self._tables:
            return
        elif name == "w:tr":
            self._tables[-1].row = []
            self._tables[-1].row_deleted = False
        elif name == "w:tc":
            self._tables[-1].cell = []
            self._tables[-1].columns_of_cell = 1
        elif (span := value_of(attributes) or "").isdecimal():
            self._tables[-1].columns_of_cell = max(1, min(int(span[:3]), 63))

    def _end_table(self, name: str) -> None:
        table = self._tables[-1]
        if name == "w:tc":
            table.row.append("\n".join(table.cell or ()))
            table.row += [""] * (table.columns_of_cell - 1)
            table.cell = None
        elif name == "w:tr":
            if len(table.row) > 1:
                table.row = [" ".join(cell.split()) for cell in table.row]
            line = "" if table.row_deleted else table_line(table.row)
            table.columns = max(table.columns, len(table.row))
            table.lines += [line] if line else []
            table.lines += table.inner
            table.inner = []
        else:
            self._close_table(self._tables.pop())

    def _close_table(self, table: _Table) -> None:
        if self._tables:
            self._tables[-1].inner += table.lines
        elif table.columns > 1:
            caption, self._caption = self._caption, ""
            lines = [caption, *table.lines] if caption else table.lines
            self.writer.write_block("\n".join(lines), kind="table")
        else:  # one column is a frame around text
            self._write_caption()
            for line in table.lines:
                self.writer.separate(2)
                self.writer.write(line)
            self.writer.separate(2)
        self._after_item = False
