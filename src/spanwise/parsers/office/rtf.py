r"""RTF: visible text in reading order, with headings, tables and notes.

Rules
    1. The file is read in one pass, token by token, without recursion.
    2. Optional destinations (`{\*\name ...}`), images, headers, footers, deleted and hidden text
       are left out; results of fields, text boxes and notes are included.
    3. Bytes are decoded by the character set of their font, else by the code page of the file.
    4. Headings are recognised by the outline level of the paragraph or its style. Automatic
       numbers are in the file.
    5. A row of a table is a line. Notes are at the end; `[1]` marks their references.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from spanwise.parsers.parsed import Losses, Parsed, Source
from spanwise.parsers.properties import describe
from spanwise.parsers.writer import TextWriter, table_line

Destination = Literal[
    "body", "skipped", "fonts", "styles", "information", "property", "label", "note", "box"
]
"""Destination of the text of a group."""

_HEADING_NAME = re.compile(r"heading\s*([1-9])")


@dataclass(slots=True)
class State:
    """State of a group, inherited from the enclosing group."""

    destination: Destination = "body"
    property: str = ""
    """Name of the property that the text is the value of."""
    font: int = -1
    fallback_chars: int = 1
    """Number of fallback characters after a Unicode character."""
    is_hidden: bool = False
    is_deleted: bool = False
    style: int = 0
    outline: int | None = None
    table_depth: int = 0

    def copy(self) -> State:
        """Return the state of a nested group."""
        return State(
            self.destination, self.property, self.font, self.fallback_chars, self.is_hidden,
            self.is_deleted, self.style, self.outline, self.table_depth,
        )  # fmt: skip

    def reset_paragraph(self) -> None:
        """Reset the properties of paragraphs."""
        self.style, self.outline, self.table_depth = 0, None, 0


@dataclass(slots=True)
class Style:
    """Paragraph style."""

    number: int = 0
    name: list[str] = field(default_factory=list)
    outline: int | None = None
    based_on: int | None = None


class StyleSheet:
    """Paragraph styles of a file."""

    def __init__(self) -> None:
        self._styles: dict[int, Style] = {}

    def add(self, style: Style) -> None:
        """Add a style; of several with one number the first is used."""
        self._styles.setdefault(style.number, style)

    def heading_level(self, number: int, outline: int | None) -> int | None:
        """Return the heading level, from 1, of a paragraph; None if it is not a heading.

        Args:
            number: Number of its style.
            outline: Its own outline level, from 0; 9 is body text; None if it has none.
        """
        seen: set[int] = set()
        style = self._styles.get(number)
        while outline is None and style is not None and style.number not in seen:
            seen.add(style.number)
            outline = style.outline
            name = "".join(style.name).strip().rstrip(";").strip().lower()
            match = _HEADING_NAME.fullmatch(name)
            if outline is None and match:
                outline = int(match.group(1)) - 1
            elif outline is None and name == "title":
                outline = 0
            style = None if style.based_on is None else self._styles.get(style.based_on)
        return outline + 1 if outline is not None and 0 <= outline < 9 else None


_SURROGATE = re.compile("[\ud800-\udfff]")
_CHARSETS = {
    0: "cp1252", 2: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab",
    134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255",
    178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437",
}  # fmt: skip
_PAGES = {10000: "mac_roman", 10007: "mac_cyrillic", 10029: "mac_latin2", 936: "gbk", 950: "big5"}


def codec_of_charset(number: int) -> str | None:
    """Return the codec of the character set of a font; None for that of the document."""
    return _CHARSETS.get(number)


def codec_of_page(number: int) -> str:
    """Return the codec of a code page; Western European for an unknown one."""
    name = _PAGES.get(number, "utf-8" if number == 65001 else f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"


def join_surrogates(text: str) -> str:
    """Return a text with surrogate pairs joined; RTF writes characters outside the BMP as pairs."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_BULLETS = frozenset("·•o§-–‣▪■◦●○\uf0b7\uf0a7\uf0d8\uf0fc")
_SHORT_ITEM_CHARS = 120
"""Maximum length of a list item that is a single line; longer ones are paragraphs."""


@dataclass(slots=True)
class _Table:
    lines: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    cell: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    """Lines of nested tables in the row."""
    inner_row: list[str] = field(default_factory=list)
    inner_cell: list[str] = field(default_factory=list)
    columns: int = 0


class RtfBody:
    """Writer of one run of text: the document, a note or a text box."""

    def __init__(self) -> None:
        self.writer = TextWriter()
        self._pieces: list[str] = []
        self._label: list[str] = []
        self._table: _Table | None = None
        self._after_item = False

    def add(self, piece: str) -> None:
        """Append text to the current paragraph."""
        self._pieces.append(piece)

    def add_label(self, piece: str) -> None:
        """Append text to the label of the current paragraph."""
        self._label.append(piece)

    def end_paragraph(self, *, table_depth: int, level: int | None) -> None:
        """End the current paragraph.

        Args:
            table_depth: Number of enclosing tables.
            level: Heading level, from 1; None for other paragraphs.
        """
        label, text = self._take()
        if table_depth:
            table = self._table = self._table or _Table()
            cell = table.cell if table_depth == 1 else table.inner_cell
            cell += [label + text] if text else []
            return
        self.close_table()
        if not text:
            return
        if level is not None:
            title = " ".join((label.removeprefix("- ") + text).split())
            self.writer.write_heading(title, level=level)
            self._after_item = False
            return
        item = bool(label) and len(text) <= _SHORT_ITEM_CHARS
        self.writer.separate(1 if item and self._after_item else 2)
        self.writer.write(label + text)
        self._after_item = item

    def end_cell(self, *, is_inner: bool) -> None:
        """End a cell of the current table, or of its nested table."""
        self.end_paragraph(table_depth=2 if is_inner else 1, level=None)
        table = self._table = self._table or _Table()
        if is_inner:
            table.inner_row.append("\n".join(table.inner_cell))
            table.inner_cell = []
        else:
            table.row.append("\n".join(table.cell))
            table.cell = []

    def end_row(self, *, is_inner: bool) -> None:
        """End a row of the current table, or of its nested table."""
        table = self._table = self._table or _Table()
        if is_inner:
            line = table_line([" ".join(cell.split()) for cell in table.inner_row])
            table.inner += [line] if line else []
            table.inner_row = []
            return
        row = table.row
        if len(row) > 1:
            row = [" ".join(cell.split()) for cell in row]
        line = table_line(row)
        table.columns = max(table.columns, len(row))
        table.lines += [line] if line else []
        table.lines += table.inner
        table.row, table.inner = [], []

    def append(self, writer: TextWriter, *, table_depth: int) -> None:
        """Write the text of a box before the paragraph of its anchor."""
        if table_depth:
            table = self._table = self._table or _Table()
            table.cell += [writer.text] if writer.text else []
        else:
            self.close_table()
            self.writer.append(writer)

    def close_table(self) -> None:
        """Write the current table, if there is one."""
        table, self._table = self._table, None
        if table is None:
            return
        if table.cell or table.row:  # truncated inside a row
            table.row.append("\n".join(table.cell))
            table.cell = []
            self._table = table
            self.end_row(is_inner=False)
            self._table = None
        if table.columns > 1:
            self.writer.write_block("\n".join(table.lines), kind="table")
        else:  # a table of one column is a frame around text
            for line in table.lines:
                self.writer.separate(2)
                self.writer.write(line)
        self.writer.separate(2)
        self._after_item = False

    def _take(self) -> tuple[str, str]:
        """Return the label and text of the current paragraph, and begin a new one."""
        label = " ".join(join_surrogates("".join(self._label)).split())
        text = join_surrogates("".join(self._pieces)).strip()
        self._label, self._pieces = [], []
        if label in _BULLETS:
            label = "-"
        return (f"{label} " if label else ""), text


_MEDIA_TYPE = "application/rtf"
_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])"
    rb"|([^\\{}\r\n]+)|[\r\n]+",
    re.DOTALL,
)
_MAX_DEPTH = 10_000
_DESTINATIONS: dict[str, Destination] = {
    "fonttbl": "fonts",
    "stylesheet": "styles",
    "info": "information",
    "title": "property",
    "author": "property",
    "creatim": "property",
    "listtext": "label",
    "pntext": "label",
    "footnote": "note",
    "shptxt": "box",
    **dict.fromkeys(
        (
            "colortbl listtable listoverridetable revtbl generator pict objdata nonshppict header "
            "headerl headerr headerf footer footerl footerr footerf ftnsep ftnsepc aftnsep "
            "aftnsepc fldinst themedata latentstyles datastore filetbl annotation atnid atnauthor "
            "atnref atndate bkmkstart bkmkend sp private background template operator company "
            "category comment doccomm manager keywords subject hlinkbase xe tc nonesttables falt "
            "panose"
        ).split(),
        "skipped",
    ),
}
_KEPT = frozenset({"shpinst", "shptxt", "nesttableprops"})
"""Optional destinations that have text or the end of a row."""
_CHARACTERS = {
    "tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘",
    "rquote": "’", "ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " ",
    "qmspace": " ",
}  # fmt: skip
_SYMBOLS = {"~": "\xa0", "_": "-", "{": "{", "}": "}", "\\": "\\"}
_PARAGRAPH_ENDS = frozenset({"par", "sect", "page", "column"})


def parse_rtf(source: Source) -> Parsed:
    """Return the text of an RTF document.

    Raises:
        ParseError: "corrupt" if its groups are nested too deep, "no_text".
    """
    losses = Losses(source)
    reader = _Reader(source, losses)
    reader.read()
    writer = reader.finish()
    losses.require_text(writer.text, "it holds no text; are its pages pictures?")
    properties = {
        name: [join_surrogates(value) for value in values]
        for name, values in reader.properties.items()
    }
    return losses.parsed(writer, media_type=_MEDIA_TYPE, properties=describe(properties))


class _Reader:
    """Reader of one file."""

    def __init__(self, source: Source, losses: Losses) -> None:
        self.properties: dict[str, list[str]] = {}
        self._source = source
        self._losses = losses
        self._state = State()
        self._stack: list[State] = []
        self._bodies = [RtfBody()]
        self._notes: list[str] = []
        self._open_notes: list[int] = []
        self._raw = bytearray()
        """Bytes that are not decoded yet."""
        self._fallback_left = 0
        self._may_be_left_out = False
        self._page_codec = "cp1252"
        self._default_font = -1
        self._font = -1
        """Current entry of the font table."""
        self._font_codecs: dict[int, str | None] = {}
        self._styles = StyleSheet()
        self._style = Style()
        self._handlers = self._make_handlers()

    def _make_handlers(self) -> dict[str, Callable[[int | None], None]]:
        return {
            **dict.fromkeys(_PARAGRAPH_ENDS, self._end_paragraph),
            "pard": lambda _: self._state.reset_paragraph(),
            "plain": self._reset_characters,
            "s": self._set_style,
            "sbasedon": self._set_base,
            "outlinelevel": self._set_outline,
            "intbl": lambda _: self._set_table_depth(max(1, self._state.table_depth)),
            "itap": self._set_table_depth,
            "cell": lambda _: self._bodies[-1].end_cell(is_inner=False),
            "nestcell": lambda _: self._bodies[-1].end_cell(is_inner=True),
            "row": lambda _: self._bodies[-1].end_row(is_inner=False),
            "nestrow": lambda _: self._bodies[-1].end_row(is_inner=True),
            "v": self._set_hidden,
            "deleted": self._set_deleted,
            "f": self._set_font,
            "deff": self._set_default_font,
            "fcharset": self._set_charset,
            "cpg": self._set_font_page,
            "ansicpg": self._set_page,
            "mac": lambda _: self._set_page_codec("mac_roman"),
            "pc": lambda _: self._set_page_codec("cp437"),
            "pca": lambda _: self._set_page_codec("cp850"),
            "uc": self._set_fallback,
            "u": self._add_unicode,
            "yr": self._set_date,
            "mo": self._set_date,
            "dy": self._set_date,
        }

    def read(self) -> None:
        """Read the file, up to the end of its outermost group."""
        data = self._source.data
        match = _TOKEN.match
        place = 0
        while place < len(data):
            token = match(data, place)
            if token is None:  # a backslash at the very end
                return
            place = token.end()
            kind = token.lastindex
            if kind == 6:
                self._add_bytes(token[6])
            elif kind in {1, 2}:
                number = None if kind == 1 else int(token[2])
                place += self._control(token[1].decode("ascii"), number)
            elif kind == 3:
                self._add_bytes(bytes((int(token[3], 16),)))
            elif kind == 4:
                self._symbol(token[4].decode("latin-1"))
            elif kind == 5 and not self._brace(token[5]):
                return

    def _add_bytes(self, raw: bytes) -> None:
        if self._fallback_left:
            skipped = min(self._fallback_left, len(raw))
            self._fallback_left -= skipped
            raw = raw[skipped:]
        if self._state.destination != "skipped":
            self._raw += raw

    def _flush(self) -> None:
        """Decode the collected bytes."""
        if not self._raw:
            return
        font = self._default_font if self._state.font < 0 else self._state.font
        codec = self._font_codecs.get(font) or self._page_codec
        self._put(self._raw.decode(codec, "replace"))
        self._raw.clear()

    def _put(self, text: str) -> None:
        """Write text to the destination of the current group."""
        state = self._state
        if state.destination in {"body", "note", "box"}:
            if not state.is_hidden and not state.is_deleted:
                self._bodies[-1].add(text)
        elif state.destination == "label":
            self._bodies[-1].add_label(text)
        elif state.destination == "styles":
            self._style.name.append(text)
        elif state.destination == "property" and state.property in self.properties:
            self.properties[state.property][-1] += text

    def _brace(self, brace: bytes) -> bool:
        """Handle the start or end of a group; return whether the file continues."""
        self._flush()
        self._fallback_left = 0
        self._may_be_left_out = False
        if brace == b"{":
            if len(self._stack) >= _MAX_DEPTH:
                raise self._source.error(
                    "corrupt", f"its groups nest deeper than {_MAX_DEPTH}, as no program writes"
                )
            self._stack.append(self._state)
            self._state = self._state.copy()
            return True
        if not self._stack:
            return False
        ended, self._state = self._state, self._stack.pop()
        if ended.destination == "styles":
            self._styles.add(self._style)
            self._style = Style()
        if ended.destination != self._state.destination:
            self._end_body(ended.destination)
        return bool(self._stack)

    def _control(self, word: str, number: int | None) -> int:
        """Handle a control word; return the number of bytes to skip after it."""
        self._flush()
        if word == "bin":
            return max(0, number or 0)
        if self._state.destination == "skipped":
            return 0
        may_be_left_out, self._may_be_left_out = self._may_be_left_out, False
        destination = _DESTINATIONS.get(word)
        if destination is not None:
            self._enter(destination, word)
        elif may_be_left_out and word not in _KEPT:
            self._state.destination = "skipped"
        elif word in _CHARACTERS:
            if self._fallback_left:
                self._fallback_left -= 1
            else:
                self._put(_CHARACTERS[word])
        elif word in self._handlers:
            self._fallback_left = 0
            self._handlers[word](number)
        return 0

    def _symbol(self, symbol: str) -> None:
        self._flush()
        if symbol == "*":
            self._may_be_left_out = True
        elif symbol in "\r\n":
            self._end_paragraph(None)
        elif self._fallback_left:
            self._fallback_left -= 1
        elif symbol in _SYMBOLS:
            self._put(_SYMBOLS[symbol])

    def _enter(self, destination: Destination, word: str) -> None:
        """Set the destination of a group from its first word."""
        state = self._state
        if destination == "property":
            if state.destination != "information":
                return
            state.property = {"author": "creator", "creatim": "created"}.get(word, word)
            self.properties.setdefault(state.property, []).append("")
        elif destination in {"note", "box"}:
            if state.destination == destination:
                return
            if destination == "note":
                self._notes.append("")
                self._open_notes.append(len(self._notes))
                self._bodies[-1].add(f"[{len(self._notes)}]")
            self._bodies.append(RtfBody())
            state.reset_paragraph()
        state.destination = destination

    def _end_body(self, destination: Destination) -> None:
        """End a note or a text box, if the group was one."""
        if destination not in {"note", "box"} or len(self._bodies) == 1:
            return
        body = self._bodies.pop()
        body.end_paragraph(table_depth=0, level=None)
        if destination == "note":
            number = self._open_notes.pop()
            self._notes[number - 1] = f"[{number}] {body.writer.text}".rstrip()
        else:
            self._bodies[-1].append(body.writer, table_depth=self._state.table_depth)

    def finish(self) -> TextWriter:
        """Return the complete text, with notes at its end."""
        self._flush()
        if self._stack:
            self._losses.add(f"it is cut off: {len(self._stack)} of its groups never end")
            self._end_paragraph(None)
        while self._stack:
            self._brace(b"}")
        body = self._bodies[0]
        body.end_paragraph(table_depth=0, level=None)
        body.close_table()
        for note in self._notes:
            body.writer.separate(2)
            body.writer.write(note)
        return body.writer

    def _end_paragraph(self, _number: int | None) -> None:
        state = self._state
        if state.destination in {"body", "note", "box"}:
            level = self._styles.heading_level(state.style, state.outline)
            self._bodies[-1].end_paragraph(table_depth=state.table_depth, level=level)

    def _reset_characters(self, _number: int | None) -> None:
        self._state.font = -1
        self._state.is_hidden = False
        self._state.is_deleted = False

    def _set_style(self, number: int | None) -> None:
        if self._state.destination == "styles":
            self._style.number = number or 0
        else:
            self._state.style = number or 0

    def _set_base(self, number: int | None) -> None:
        self._style.based_on = number

    def _set_outline(self, number: int | None) -> None:
        if self._state.destination == "styles":
            self._style.outline = number
        else:
            self._state.outline = number

    def _set_table_depth(self, number: int | None) -> None:
        self._state.table_depth = max(0, number or 0)

    def _set_hidden(self, number: int | None) -> None:
        self._state.is_hidden = number != 0

    def _set_deleted(self, number: int | None) -> None:
        self._state.is_deleted = number != 0

    def _set_font(self, number: int | None) -> None:
        self._font = self._state.font = number or 0

    def _set_default_font(self, number: int | None) -> None:
        self._default_font = number or 0

    def _set_charset(self, number: int | None) -> None:
        self._font_codecs[self._font] = codec_of_charset(number or 0)

    def _set_font_page(self, number: int | None) -> None:
        self._font_codecs[self._font] = codec_of_page(number or 0)

    def _set_page(self, number: int | None) -> None:
        self._set_page_codec(codec_of_page(number or 0))

    def _set_page_codec(self, codec: str) -> None:
        self._page_codec = codec

    def _set_fallback(self, number: int | None) -> None:
        self._state.fallback_chars = max(0, number or 0)

    def _add_unicode(self, number: int | None) -> None:
        self._put(chr((number or 0) & 0xFFFF))
        self._fallback_left = self._state.fallback_chars

    def _set_date(self, number: int | None) -> None:
        if self._state.property == "created":
            day = self.properties["created"]
            day[-1] = f"{day[-1]}-{number or 0:02}".lstrip("-")
