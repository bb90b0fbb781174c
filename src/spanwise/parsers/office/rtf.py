r"""RTF: visible text in reading order, with headings, lists, tables and notes.

Rules
    1. The file is read in one pass, token by token, without recursion.
    2. Optional destinations (`{\*\name ...}`), images, headers, footers, deleted and hidden text
       are left out; results of fields, text boxes and notes are included.
    3. Bytes are decoded by the character set of their font, else by the code page of the file.
    4. Headings are recognised by the outline level of the paragraph or its style. Automatic
       numbers are in the file.
    5. Notes are at the end; `[1]` marks their references.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from spanwise.parsers.office.body_writer import BodyWriter, Table
from spanwise.parsers.parsed import Losses, Parsed, Source
from spanwise.parsers.properties import describe
from spanwise.parsers.writer import TextWriter

_HEADING_NAME = re.compile(r"heading\s*([1-9])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CHARSETS = {
    0: "cp1252", 2: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab",
    134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255",
    178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437",
}  # fmt: skip
"""Codec of each character set of a font."""
_MAC_PAGES = {10000: "mac_roman", 10007: "mac_cyrillic", 10029: "mac_latin2"}
_BULLETS = frozenset("·•o§-–‣▪■◦●○\uf0b7\uf0a7\uf0d8\uf0fc")
_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])"
    rb"|([^\\{}\r\n]+)|[\r\n]+",
    re.DOTALL,
)
_MAX_DEPTH = 10_000
_MAX_TABLE_DEPTH = 2
_DESTINATIONS: Mapping[str, str] = {
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
"""Destination of the text of a group, by its first control word."""
_TEXTS = frozenset({"body", "note", "box"})
_KEPT = frozenset({"shpinst", "shptxt", "nesttableprops"})
"""Optional destinations that are read, because they contain text or end a table row."""
_CHARACTERS = {
    "tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘",
    "rquote": "’", "ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " ",
    "qmspace": " ",
}  # fmt: skip
_SYMBOLS = {"~": "\xa0", "_": "-", "{": "{", "}": "}", "\\": "\\"}
_PROPERTIES = {"title": "title", "author": "creator", "creatim": "created"}


@dataclass(slots=True)
class _State:
    """State of a group, inherited from the enclosing group."""

    destination: str = "body"
    property: str = ""
    """Property of the document, such as its title, to which the text of the group is assigned."""
    font: int = -1
    fallback_chars: int = 1
    """Number of fallback characters after a Unicode character."""
    is_hidden: bool = False
    """Whether the text is hidden or deleted."""
    style: int = 0
    base_style: int | None = None
    outline: int | None = None
    """Outline level, from 0; 9 is body text."""
    table_depth: int = 0


_FIELDS: Mapping[str, tuple[str, Callable[[int | None], object]]] = {
    "s": ("style", lambda number: number or 0),
    "sbasedon": ("base_style", lambda number: number),
    "outlinelevel": ("outline", lambda number: number),
    "itap": ("table_depth", lambda number: max(0, min(number or 0, _MAX_TABLE_DEPTH))),
    "v": ("is_hidden", lambda number: number != 0),
    "deleted": ("is_hidden", lambda number: number != 0),
    "f": ("font", lambda number: number or 0),
    "uc": ("fallback_chars", lambda number: max(0, number or 0)),
}
"""Field of `_State` that each control word sets, and the function that converts its number."""


class _Style(NamedTuple):
    """Paragraph style."""

    name: str
    outline: int | None
    base: int | None


class _Body(BodyWriter):
    """Document, note or text box, with its current paragraph."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.label: list[str] = []
        """Bullet or number of the current paragraph."""

    def set_depth(self, depth: int) -> None:
        """Open or close tables until `depth` are open, with a cell for the next paragraph."""
        while len(self.tables) > depth:
            if self.tables[-1].cell:  # truncated inside a row
                self.end_cell()
            if self.tables[-1].row or self.tables[-1].nested:
                self.end_row()
            self.end_table()
        while len(self.tables) < depth:
            self.tables.append(Table(cell=[]))
        if depth and self.tables[-1].cell is None:
            self.start_cell()

    def end_paragraph(self, depth: int, *, level: int | None = None) -> None:
        """End the current paragraph, which is inside `depth` tables, with its heading level."""
        label = " ".join(_join_surrogates("".join(self.label)).split())
        text = _join_surrogates("".join(self.pieces)).strip()
        self.label, self.pieces = [], []
        self.set_depth(depth)
        label = "- " if label in _BULLETS else f"{label} " if label else ""
        if level is not None and not depth:
            label = label.removeprefix("- ")
        if text:
            self.add_paragraph(text, label, is_item=bool(label), level=level)


def parse_rtf(source: Source) -> Parsed:
    """Return the text of an RTF document.

    Raises:
        ParseError: "corrupt" if its groups are nested too deep, "no_text".
    """
    losses = Losses(source)
    reader = _Reader(source, losses)
    reader.read()
    writer = reader.finish()
    losses.require_text(writer.text, "it has no text; are its pages images?")
    properties = {name: [_join_surrogates(text)] for name, text in reader.properties.items()}
    return losses.parsed(writer, media_type="application/rtf", properties=describe(properties))


class _Reader:
    """Reader of one file."""

    def __init__(self, source: Source, losses: Losses) -> None:
        self.properties: dict[str, str] = {}
        self._source = source
        self._losses = losses
        self._state = _State()
        self._stack: list[_State] = []
        self._bodies = [_Body()]
        self._notes: list[str] = []
        self._open_notes: list[int] = []
        self._raw = bytearray()
        """Bytes that are not decoded yet."""
        self._fallback_left = 0
        self._is_optional = False
        """Whether the next destination may be ignored."""
        self._page_codec = "cp1252"
        self._default_font = -1
        self._font_codecs: dict[int, str | None] = {}
        self._styles: dict[int, _Style] = {}
        self._style_name = ""
        self._handlers: dict[str, Callable[[int], None]] = {
            **dict.fromkeys(("par", "sect", "page", "column"), self._end_paragraph),
            "pard": self._reset_paragraph,
            "plain": self._reset_characters,
            "intbl": lambda _: self._enter_table(),
            "cell": lambda _: self._end_cell(1),
            "nestcell": lambda _: self._end_cell(2),
            "row": lambda _: self._end_row(1),
            "nestrow": lambda _: self._end_row(2),
            "deff": self._set_default_font,
            "fcharset": lambda number: self._set_font_codec(_CHARSETS.get(number)),
            "cpg": lambda number: self._set_font_codec(_codec_of_page(number)),
            "ansicpg": lambda number: self._set_page_codec(_codec_of_page(number)),
            "mac": lambda _: self._set_page_codec("mac_roman"),
            "pc": lambda _: self._set_page_codec("cp437"),
            "pca": lambda _: self._set_page_codec("cp850"),
            "u": self._add_unicode,
            **dict.fromkeys(("yr", "mo", "dy"), self._add_date),
        }

    def read(self) -> None:
        """Read the file, up to the end of its outermost group."""
        data = self._source.data
        place = 0
        while token := _TOKEN.match(data, place):  # no match for a backslash at the end of the file
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
        skipped = min(self._fallback_left, len(raw))
        self._fallback_left -= skipped
        if self._state.destination != "skipped":
            self._raw += raw[skipped:]

    def _flush(self) -> None:
        """Decode the collected bytes."""
        if self._raw:
            font = self._default_font if self._state.font < 0 else self._state.font
            codec = self._font_codecs.get(font) or self._page_codec
            self._put(self._raw.decode(codec, "replace"))
            self._raw.clear()

    def _put(self, text: str) -> None:
        """Write text to the destination of the current group."""
        state = self._state
        if state.destination in _TEXTS:
            if not state.is_hidden:
                self._bodies[-1].pieces.append(text)
        elif state.destination == "label":
            self._bodies[-1].label.append(text)
        elif state.destination == "styles":
            self._style_name += text
        elif state.destination == "property":
            self.properties[state.property] += text

    def _brace(self, brace: bytes) -> bool:
        """Handle the start or end of a group; return whether the file continues."""
        self._flush()
        self._fallback_left = 0
        self._is_optional = False
        if brace == b"{":
            if len(self._stack) >= _MAX_DEPTH:
                raise self._source.error(
                    "corrupt", f"its groups nest deeper than {_MAX_DEPTH}; no program does that"
                )
            self._stack.append(self._state)
            self._state = replace(self._state)
            return True
        if not self._stack:
            return False
        ended, self._state = self._state, self._stack.pop()
        if ended.destination == "styles":
            name = self._style_name.strip().rstrip(";").strip().lower()
            self._styles.setdefault(ended.style, _Style(name, ended.outline, ended.base_style))
            self._style_name = ""
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
        is_optional, self._is_optional = self._is_optional, False
        if word in _DESTINATIONS:
            self._enter(_DESTINATIONS[word], word)
        elif is_optional and word not in _KEPT:
            self._state.destination = "skipped"
        elif word in _CHARACTERS:
            self._add_character(_CHARACTERS[word])
        elif word in _FIELDS or word in self._handlers:
            self._fallback_left = 0
            if word in _FIELDS:
                name, convert = _FIELDS[word]
                setattr(self._state, name, convert(number))
            else:
                self._handlers[word](number or 0)
        return 0

    def _symbol(self, symbol: str) -> None:
        self._flush()
        if symbol == "*":
            self._is_optional = True
        elif symbol in "\r\n":
            self._end_paragraph(0)
        else:
            self._add_character(_SYMBOLS.get(symbol, ""))

    def _add_character(self, character: str) -> None:
        if self._fallback_left:
            self._fallback_left -= 1
        else:
            self._put(character)

    def _enter(self, destination: str, word: str) -> None:
        """Set the destination of a group from its first word."""
        state = self._state
        if destination == "property":
            if state.destination != "information":
                return
            state.property = _PROPERTIES[word]
            self.properties.setdefault(state.property, "")
        elif destination in {"note", "box"}:
            if state.destination == destination:
                return
            if destination == "note":
                self._notes.append("")
                self._open_notes.append(len(self._notes))
                self._bodies[-1].pieces.append(f"[{len(self._notes)}]")
            self._bodies.append(_Body())
            self._reset_paragraph(0)
        state.destination = destination

    def _end_body(self, destination: str) -> None:
        """End a note or a text box, if the group was one."""
        if destination not in {"note", "box"} or len(self._bodies) == 1:
            return
        body = self._bodies.pop()
        body.end_paragraph(0)
        if destination == "note":
            number = self._open_notes.pop()
            self._notes[number - 1] = f"[{number}] {body.writer.text}".rstrip()
        else:
            self._bodies[-1].set_depth(self._state.table_depth)
            self._bodies[-1].add_drawing(body.writer)

    def finish(self) -> TextWriter:
        """Return the complete text, with notes at its end."""
        self._flush()
        if self._stack:
            self._losses.add(f"it is truncated: {len(self._stack)} of its groups are not closed")
            self._end_paragraph(0)
        while self._stack:
            self._brace(b"}")
        body = self._bodies[0]
        body.end_paragraph(0)
        for note in self._notes:
            body.writer.write_apart(note)
        return body.writer

    def _end_paragraph(self, _number: int) -> None:
        if self._state.destination in _TEXTS:
            self._bodies[-1].end_paragraph(self._state.table_depth, level=self._heading_level())

    def _heading_level(self) -> int | None:
        """Return the heading level, from 1, of the current paragraph; None without one."""
        outline = self._state.outline
        number: int | None = self._state.style
        seen: set[int] = set()
        while outline is None and number in self._styles and number not in seen:
            seen.add(number)
            style = self._styles[number]
            outline, number = style.outline, style.base
            match = _HEADING_NAME.fullmatch(style.name)
            if outline is None and match:
                outline = int(match[1]) - 1
            elif outline is None and style.name == "title":
                outline = 0
        return outline + 1 if outline is not None and 0 <= outline < 9 else None

    def _end_cell(self, depth: int) -> None:
        self._bodies[-1].end_paragraph(depth)
        self._bodies[-1].end_cell()

    def _end_row(self, depth: int) -> None:
        self._bodies[-1].set_depth(depth)
        self._bodies[-1].end_row()

    def _enter_table(self) -> None:
        self._state.table_depth = max(1, self._state.table_depth)

    def _reset_paragraph(self, _number: int) -> None:
        self._state.style, self._state.outline, self._state.table_depth = 0, None, 0

    def _reset_characters(self, _number: int) -> None:
        self._state.font, self._state.is_hidden = -1, False

    def _set_default_font(self, number: int) -> None:
        self._default_font = number

    def _set_font_codec(self, codec: str | None) -> None:
        self._font_codecs[self._state.font] = codec

    def _set_page_codec(self, codec: str) -> None:
        self._page_codec = codec

    def _add_unicode(self, number: int) -> None:
        self._put(chr(number & 0xFFFF))
        self._fallback_left = self._state.fallback_chars

    def _add_date(self, number: int) -> None:
        if self._state.property == "created":
            self.properties["created"] = f"{self.properties['created']}-{number:02}".lstrip("-")


def _codec_of_page(number: int) -> str:
    """Return the codec of a code page; Western European for an unknown one."""
    try:
        return codecs.lookup(_MAC_PAGES.get(number, f"cp{number}")).name
    except LookupError:
        return "cp1252"


def _join_surrogates(text: str) -> str:
    """Return a text with surrogate pairs joined; RTF writes characters outside the BMP as pairs."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
