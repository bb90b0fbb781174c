"""reStructuredText and AsciiDoc: the text is the unchanged source, with headings and blocks.

Rules of reStructuredText
    1. A title is an unindented line above a line of one repeated punctuation character of its
       length, or between two such lines. Each adornment style is a level, in order of first use.
    2. Indented lines are never titles: bodies of directives, literal blocks, quotations.
    3. Directives, roles and substitutions are unchanged. References to files (`include`, `raw`,
       `csv-table:: :file:`) are not followed.

Rules of AsciiDoc
    1. A title is a line that begins with one to six `=` (or `#`), whose number is its level, or a
       line above an underline of `=`, `-`, `~`, `^` or `+` (levels in this order) of its length.
    2. Lines inside a delimited block (listing, table, example, sidebar, comment) are not titles.
    3. References to attributes of the document in a title are replaced by their values.
    4. Macros are unchanged; no `include::` is followed.

Docutils is not used: its tree has inexact line numbers, and it takes seconds per megabyte. There is
no maintained parser of AsciiDoc for Python.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Literal

from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.properties import iso_date, known_fields
from spanwise.parsers.text import Decoded, Lines, decode_text
from spanwise.types import Block, Heading, Scalar

_MAX_LINE_CHARS = 1000
"""Maximum length of a line with markup; a longer line is text."""


class _Reader(ABC):
    """Single-pass reader of lines that records headings and blocks."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self._headings: list[Heading] = []
        self._blocks: list[Block] = []

    @abstractmethod
    def read(self, number: int) -> int:
        """Record the element that begins at a line; return the first line after it."""

    def parse(self, decoded: Decoded, media_type: str) -> Parsed:
        """Read all lines and return the document."""
        number = 0
        while number < len(self.lines):
            number = self.read(number)
        return Parsed(
            text=decoded.text,
            media_type=media_type,
            headings=tuple(self._headings),
            blocks=tuple(self._blocks),
            metadata=self.read_metadata(),
            warnings=decoded.warnings,
        )

    @abstractmethod
    def read_metadata(self) -> Mapping[str, Scalar]:
        """Return the author and date, if present."""

    def add_heading(self, first: int, after: int, *, level: int, title: str) -> int:
        """Record a heading at lines `[first, after)`, if it has words; return `after`."""
        if title:
            start, end = self.lines.trimmed(first, after)
            self._headings.append(Heading(start=start, end=end, level=level, title=title))
        return after

    def add_block(self, first: int, after: int, kind: Literal["table", "code"]) -> int:
        """Record a block at lines `[first, after)`, without blank lines; return `after`."""
        while first < after and not self.lines.line(first).strip():
            first += 1
        if first < after:
            start, end = self.lines.starts[first], self.lines.trimmed(first, after)[1]
            self._blocks.append(Block(start=start, end=end, kind=kind))
        return after


_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*")
_SHORT_ADORNMENT = 4
"""Minimum length of an underline that is shorter than its title, as in docutils."""
_BLOCK_DIRECTIVE = re.compile(
    r"\.\.[ \t]+(?:((?:csv|list|flat)-table)|code|code-block|sourcecode|highlight|parsed-literal|"
    r"math|doctest|testcode|testoutput|prompt|graphviz|mermaid|productionlist)::"
)
_EXPLICIT = re.compile(r"\.\.(?:[ \t]|$)")
_GRID_RULE = re.compile(r"\+(?:[-=]+\+)+")
_GRID_LINE = re.compile(r"[ \t]*[+|]")
_SIMPLE_RULE = re.compile(r"[ \t]*=+(?:[ \t]+=+)+[ \t]*")
_FIELD = re.compile(r":(author|authors|date):[ \t]+(\S.*)", re.IGNORECASE)
_MAX_FIELD_LINES = 40
_ROLE = re.compile(r"(?::[\w:.+-]+:)?`([^`<]*?)(?:[ \t]*<[^`>]*>)?`(?::[\w:.+-]+:|__?)?")
_RST_EMPHASIS = re.compile(r"(\*\*|``|\*|\|)(?=\S)(.+?)(?<=\S)\1_?")
_ESCAPE = re.compile(r"\\(.)")


def parse_restructuredtext(source: Source) -> Parsed:
    """Return the unchanged source, with its headings, tables and code.

    The author and date are from the fields below the title.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if they are white space.
    """
    decoded = decode_text(source)
    return _RstReader(Lines(decoded.text)).parse(decoded, "text/x-rst")


class _RstReader(_Reader):
    """Reader of reStructuredText."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines)
        self._styles: list[tuple[str, bool]] = []
        """Character of each level's adornment, and whether it is above the title too."""
        self._tables_are_over = False
        """Whether no further line can end a simple table."""

    def read(self, number: int) -> int:
        """Record the title or block that begins at a line; return the line after it."""
        return self._read_title(number) or self._read_block(number) or number + 1

    def read_metadata(self) -> Mapping[str, Scalar]:
        """Return the author and date in the first list of fields, which ends at a blank line."""
        found: dict[str, str] = {}
        in_fields = False
        for number in range(min(len(self.lines), _MAX_FIELD_LINES)):
            line = self.lines.line(number).rstrip()
            in_fields = in_fields or line.startswith(":")
            if in_fields and not line.strip():
                break
            if match := _FIELD.fullmatch(line):
                name = match[1].lower().rstrip("s")
                if value := match[2] if name == "author" else iso_date(match[2]):
                    found.setdefault(name, value)
        return known_fields(author=found.get("author", ""), date=found.get("date", ""))

    def _read_title(self, first: int) -> int | None:
        lines = self.lines
        if first and lines.line(first - 1).strip():
            return None
        over = lines.line(first).rstrip() if _ADORNMENT.fullmatch(lines.line(first)) else ""
        place = first + 1 if over else first
        line, under = lines.line(place).rstrip(), lines.line(place + 1).rstrip()
        title = line.strip()
        if not 0 < len(title) <= _MAX_LINE_CHARS or not _ADORNMENT.fullmatch(under):
            return None
        if over not in ("", under) or len(under) < min(len(title), _SHORT_ADORNMENT):
            return None
        if not over and (line[0] in " \t" or _EXPLICIT.match(line)):
            return None
        style = under[0], bool(over)
        if style not in self._styles:
            self._styles.append(style)
        plain = _ESCAPE.sub(r"\1", _RST_EMPHASIS.sub(r"\2", _ROLE.sub(r"\1", title)))
        level = self._styles.index(style) + 1
        return self.add_heading(first, place + 2, level=level, title=" ".join(plain.split()))

    def _read_block(self, first: int) -> int | None:
        line = self.lines.line(first).strip()
        if match := _BLOCK_DIRECTIVE.match(line):
            kind: Literal["table", "code"] = "table" if match[1] else "code"
            return self.add_block(first, self._indented_end(first), kind)
        if line == "..":  # a comment
            return self._indented_end(first)
        if line.endswith("::") and not _EXPLICIT.match(line):
            return self.add_block(first + 1, self._indented_end(first), "code")
        if _GRID_RULE.fullmatch(line):
            after = first + 1
            while _GRID_LINE.match(self.lines.line(after)):
                after += 1
            return self.add_block(first, after, "table")
        if _SIMPLE_RULE.fullmatch(line) and (end := self._simple_table_end(first)):
            return self.add_block(first, end, "table")
        return None

    def _indented_end(self, first: int) -> int:
        """Return the line after those that are blank or indented more than the first one."""
        indent = _indent(self.lines.line(first))
        number = first + 1
        while number < len(self.lines):
            line = self.lines.line(number)
            if line.strip() and _indent(line) <= indent:
                break
            number += 1
        return number

    def _simple_table_end(self, first: int) -> int | None:
        """Return the line after a simple table, which ends with a rule above a blank line."""
        number = first + 1
        while number < len(self.lines) and not self._tables_are_over:
            is_rule = _SIMPLE_RULE.fullmatch(self.lines.line(number)) is not None
            number += 1
            if is_rule and not self.lines.line(number).strip():
                return number
        self._tables_are_over = True
        return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?")
_UNDERLINES = "=-~^+"
_UNDERLINE = re.compile(r"([=\-~^+])\1{3,}")
_DELIMITER = re.compile(
    r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|[|,:!]={3,})|(`{3,})[\w+#-]*"
)
_ATTRIBUTE = re.compile(r":([\w][\w-]*):(?:[ \t]+(\S.*))?")
_HEADER_LINES = 200
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
    return _AsciiDocReader(Lines(decoded.text)).parse(decoded, "text/asciidoc")


class _AsciiDocReader(_Reader):
    """Reader of AsciiDoc."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines)
        self._attributes: dict[str, str] = {}
        """Attributes of the document, by name in lower case."""
        for number in range(min(len(lines), _HEADER_LINES)):
            if match := _ATTRIBUTE.fullmatch(lines.line(number).rstrip()):
                self._attributes.setdefault(match[1].lower(), match[2] or "")
        self._last_lines = {lines.line(number).rstrip(): number for number in range(len(lines))}
        """Last occurrence of each line, to detect a block without a closing delimiter."""
        self._header_line = len(lines)
        """Line after the title of the document."""

    def read(self, number: int) -> int:
        """Record the title or block that begins at a line; return the line after it."""
        line, under = self.lines.line(number).rstrip(), self.lines.line(number + 1).rstrip()
        if len(line) > _MAX_LINE_CHARS:
            return number + 1
        if match := _TITLE.fullmatch(line):
            return self._add_title(number, number + 1, level=len(match[1]), title=match[2])
        if _UNDERLINE.fullmatch(under) and self._is_title(number, line, under):
            level = _UNDERLINES.index(under[0]) + 1
            return self._add_title(number, number + 2, level=level, title=line)
        if match := _DELIMITER.fullmatch(line):
            return self._read_block(number, match[1] or match[2])
        return number + 1

    def _is_title(self, number: int, line: str, under: str) -> bool:
        """Return whether an underlined line is a title."""
        before = self.lines.line(number - 1).strip() if number else ""
        is_alone = not before or before.startswith("[")
        return abs(len(line) - len(under)) <= 2 and line[0].isalnum() and is_alone

    def _add_title(self, first: int, after: int, *, level: int, title: str) -> int:
        named = _REFERENCE.sub(
            lambda match: self._attributes.get(match[1].lower()) or match[0], title
        )
        plain = _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", _ANCHOR.sub("", named)))
        words = " ".join(plain.split())
        if words and level == 1 and not self._headings:
            self._header_line = after
        return self.add_heading(first, after, level=level, title=words)

    def _read_block(self, first: int, delimiter: str) -> int:
        """Record a delimited block, unless it is unclosed; return the line after it."""
        after = first + 1
        if self._last_lines.get(delimiter, 0) < after:
            return after
        while self.lines.line(after).rstrip() != delimiter:
            after += 1
        if delimiter[0] in "|,:!":
            return self.add_block(first, after + 1, "table")
        if delimiter[0] in "-.`+" and delimiter != "--":
            return self.add_block(first, after + 1, "code")
        return after + 1

    def read_metadata(self) -> Mapping[str, Scalar]:
        """Return the author and date: attributes, or the lines below the title of the document."""
        author = self._attributes.get("author", "")
        date = self._attributes.get("revdate") or self._attributes.get("date", "")
        header = [self.lines.line(self._header_line + place).strip() for place in range(2)]
        if len(header[0]) <= _MAX_LINE_CHARS and (match := _AUTHOR.fullmatch(header[0])):
            author = author or match[1]
            if match := _REVISION.fullmatch(header[1]):
                date = date or match[1]
        return known_fields(author=author, date=iso_date(date) or "")
