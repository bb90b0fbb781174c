"""AsciiDoc: the text is the unchanged source, with headings and blocks.

Rules
    1. A title is a line that begins with one to six `=` (or `#`), whose number is its level, or a
       line above an underline of `=`, `-`, `~`, `^` or `+` (levels in this order) of its length.
    2. Lines inside a delimited block (listing, table, example, sidebar, comment) are no titles.
    3. References to attributes of the document in a title are replaced by their values.
    4. Macros are unchanged; no `include::` is followed.

There is no maintained parser of AsciiDoc for Python.
"""

from __future__ import annotations

import re

from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.properties import iso_date
from spanwise.parsers.text import Lines, decode_text
from spanwise.types import Block, Heading, Scalar

_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?")
_UNDERLINES = "=-~^+"
_UNDERLINE = re.compile(r"([=\-~^+])\1{3,}")
_DELIMITER = re.compile(
    r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|[|,:!]={3,})|(`{3,})[\w+#-]*"
)
_ATTRIBUTE = re.compile(r":([\w][\w-]*):(?:[ \t]+(\S.*))?")
_HEADER_LINES = 200
_MAX_MARKUP_CHARS = 1000
"""Maximum length of a line with markup; a longer line is text."""
_REFERENCE = re.compile(r"\{([\w][\w-]*)\}")
_ANCHOR = re.compile(r"\[\[[^\]]*\]\]|\[#[^\]]*\]|<<[^>,]*,?[ \t]*|>>")
_LINK = re.compile(r"(?:(?:https?|link|xref|mailto):[^\s\[\]]*)\[([^\]]*)\]")
_EMPHASIS = re.compile(r"(\*\*|__|``|\*|_|`)(?=\S)(.+?)(?<=\S)\1")
_AUTHOR = re.compile(r"([^\W\d_][\w .'’-]*?)[ \t]*(?:<[^>]*>)?(?:;.*)?")
_REVISION = re.compile(r"(?:v[\d.]+,[ \t]*)?(\d{4}-\d{2}-\d{2})\b.*")


def parse_asciidoc(source: Source) -> Parsed:
    """Return the unchanged source, with its headings, tables and code.

    The author and date are from the header: its attributes, or the lines below the title.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if they are white space.
    """
    decoded = decode_text(source)
    reader = _Reader(Lines(decoded.text))
    reader.run()
    return Parsed(
        text=decoded.text,
        media_type="text/asciidoc",
        headings=tuple(reader.headings),
        blocks=tuple(reader.blocks),
        metadata=reader.read_metadata(),
        warnings=decoded.warnings,
    )


def _read_attributes(lines: Lines) -> dict[str, str]:
    """Return the attributes of the header, by names in lower case."""
    attributes: dict[str, str] = {}
    for number in range(min(len(lines), _HEADER_LINES)):
        if match := _ATTRIBUTE.fullmatch(lines.line(number).rstrip()):
            attributes.setdefault(match[1].lower(), match[2] or "")
    return attributes


class _Reader:
    """Single-pass reader of the lines."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._attributes = _read_attributes(lines)
        self._last_lines = {lines.line(number).rstrip(): number for number in range(len(lines))}
        """Last occurrence of each line, to detect a block without a closing delimiter."""
        self._header_line = len(lines)
        """Line after the title of the document."""
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []

    def run(self) -> None:
        """Read all lines."""
        number = 0
        while number < len(self._lines):
            number = self._read(number)

    def _read(self, number: int) -> int:
        """Record the element that begins at a line; return the first line after it."""
        line = self._lines.line(number).rstrip()
        if len(line) > _MAX_MARKUP_CHARS:
            return number + 1
        if match := _TITLE.fullmatch(line):
            return self._note(number, number + 1, level=len(match[1]), title=match[2])
        if self._is_underlined(number):
            level = _UNDERLINES.index(self._lines.line(number + 1)[0]) + 1
            return self._note(number, number + 2, level=level, title=line)
        if match := _DELIMITER.fullmatch(line):
            return self._read_block(number, match[1] or match[2])
        return number + 1

    def _is_underlined(self, number: int) -> bool:
        line, under = self._lines.line(number).rstrip(), self._lines.line(number + 1).rstrip()
        if not _UNDERLINE.fullmatch(under) or abs(len(line) - len(under)) > 2:
            return False
        before = self._lines.line(number - 1).strip() if number else ""
        return line[0].isalnum() and (not before or before.startswith("["))

    def _note(self, first: int, after: int, *, level: int, title: str) -> int:
        """Record a title at lines `[first, after)`; return the line after it."""
        words = self._plain_words(title)
        if words:
            if level == 1 and not self.headings:
                self._header_line = after
            start, end = self._lines.trimmed(first, after)
            self.headings.append(Heading(start=start, end=end, level=level, title=words))
        return after

    def _read_block(self, first: int, delimiter: str) -> int:
        """Record a delimited block, unless it is unclosed; return the line after it."""
        after = first + 1
        if self._last_lines.get(delimiter, 0) < after:
            return after
        while self._lines.line(after).rstrip() != delimiter:
            after += 1
        start, end = self._lines.starts[first], self._lines.trimmed(first, after + 1)[1]
        if delimiter[0] in "|,:!":
            self.blocks.append(Block(start=start, end=end, kind="table"))
        elif delimiter[0] in "-.`+" and delimiter != "--":
            self.blocks.append(Block(start=start, end=end, kind="code"))
        return after + 1

    def read_metadata(self) -> dict[str, Scalar]:
        """Return the author and date: attributes, or the lines below the title of the document."""
        author = self._attributes.get("author", "")
        date = self._attributes.get("revdate") or self._attributes.get("date", "")
        header = [self._lines.line(self._header_line + place).strip() for place in range(2)]
        if len(header[0]) <= _MAX_MARKUP_CHARS and (match := _AUTHOR.fullmatch(header[0])):
            author = author or match[1]
            if match := _REVISION.fullmatch(header[1]):
                date = date or match[1]
        metadata: dict[str, Scalar] = {"author": author} if author else {}
        if day := iso_date(date):
            metadata["date"] = day
        return metadata

    def _plain_words(self, title: str) -> str:
        """Return the text of a title without anchors, links, emphasis and references."""
        named = _REFERENCE.sub(
            lambda match: self._attributes.get(match[1].lower()) or match[0], title
        )
        return " ".join(_EMPHASIS.sub(r"\2", _LINK.sub(r"\1", _ANCHOR.sub("", named))).split())
