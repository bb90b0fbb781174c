"""reStructuredText: the text is the unchanged source, with headings and blocks.

Rules
    1. A title is an unindented line above a line of one repeated punctuation character of its
       length, or between two such lines. Each adornment style is a level, in order of first use.
    2. Indented lines are never titles: bodies of directives, literal blocks, quotations.
    3. Directives, roles and substitutions are unchanged; references to files (`include`, `raw`,
       `csv-table:: :file:`) are not followed.

Docutils is not used: its tree has inexact line numbers, and it takes seconds per megabyte.
"""

from __future__ import annotations

import re
from typing import Literal

from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.properties import iso_date
from spanwise.parsers.text import Lines, decode_text
from spanwise.types import Block, Heading, Scalar

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*")
_SHORT_ADORNMENT = 4
"""Minimum length of an underline that is shorter than its title, as in docutils."""
_BLOCK_DIRECTIVE = re.compile(
    r"\.\.[ \t]+(?:((?:csv|list|flat)-table)|code|code-block|sourcecode|highlight|parsed-literal|"
    r"math|doctest|testcode|testoutput|prompt|graphviz|mermaid|productionlist)::"
)
_MAX_TITLE_CHARS = 1000
_EXPLICIT = re.compile(r"\.\.(?:[ \t]|$)")
_GRID_RULE = re.compile(r"\+(?:[-=]+\+)+")
_GRID_LINE = re.compile(r"[ \t]*[+|]")
_SIMPLE_RULE = re.compile(r"[ \t]*=+(?:[ \t]+=+)+[ \t]*")
_FIELD = re.compile(r":(author|authors|date):[ \t]+(\S.*)", re.IGNORECASE)
_ROLE = re.compile(r"(?::[\w:.+-]+:)?`([^`<]*?)(?:[ \t]*<[^`>]*>)?`(?::[\w:.+-]+:|__?)?")
_EMPHASIS = re.compile(r"(\*\*|``|\*|\|)(?=\S)(.+?)(?<=\S)\1_?")
_ESCAPE = re.compile(r"\\(.)")


def parse_restructuredtext(source: Source) -> Parsed:
    """Return the unchanged source, with its headings, tables and code.

    The author and date are from the fields below the title.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if they are white space.
    """
    decoded = decode_text(source)
    lines = Lines(decoded.text)
    reader = _Reader(lines)
    reader.run()
    return Parsed(
        text=decoded.text,
        media_type="text/x-rst",
        headings=tuple(reader.headings),
        blocks=tuple(reader.blocks),
        metadata=_read_fields(lines),
        warnings=decoded.warnings,
    )


def _read_fields(lines: Lines) -> dict[str, Scalar]:
    """Return the author and date in the first list of fields, which ends at a blank line."""
    metadata: dict[str, Scalar] = {}
    seen = False
    for number in range(min(len(lines), 40)):
        line = lines.line(number).rstrip()
        seen = seen or line.startswith(":")
        if seen and not line.strip():
            break
        match = _FIELD.fullmatch(line)
        if match is None:
            continue
        name, value = match[1].lower(), match[2]
        if name != "date":
            metadata.setdefault("author", value)
        elif day := iso_date(value):
            metadata.setdefault("date", day)
    return metadata


class _Reader:
    """Single-pass reader of the lines."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._styles: list[tuple[str, bool]] = []
        """Character of each level's adornment, and whether it is above the title too."""
        self._number = 0
        self._tables_are_over = False
        """Whether no further line can end a simple table."""
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []

    def run(self) -> None:
        """Read all lines."""
        while self._number < len(self._lines):
            self._number = self._read_title() or self._read_block() or self._number + 1

    def _read_title(self) -> int | None:
        """Record the title that begins at the current line, if any; return the line after it."""
        lines, first = self._lines, self._number
        if first and lines.line(first - 1).strip():
            return None
        over = _adornment(lines.line(first))
        place = first + 1 if over else first
        title = lines.line(place).rstrip()
        under = _adornment(lines.line(place + 1))
        if (
            not 0 < len(title.strip()) <= _MAX_TITLE_CHARS
            or under is None
            or (over is not None and over != under)
        ):
            return None
        if over is None and (title[0] in " \t" or _EXPLICIT.match(title)):
            return None
        if len(under) < min(len(title.strip()), _SHORT_ADORNMENT):
            return None
        self._note(first, place + 2, title, (under[0], over is not None))
        return place + 2

    def _note(self, first: int, after: int, title: str, style: tuple[str, bool]) -> None:
        if style not in self._styles:
            self._styles.append(style)
        words = _plain_words(title)
        if words:
            start, end = self._lines.trimmed(first, after)
            level = self._styles.index(style) + 1
            self.headings.append(Heading(start=start, end=end, level=level, title=words))

    def _read_block(self) -> int | None:
        """Record the title that begins at the current line; return the line after it, if any."""
        first = self._number
        line = self._lines.line(first).strip()
        if match := _BLOCK_DIRECTIVE.match(line):
            kind: Literal["table", "code"] = "table" if match[1] else "code"
            return self._note_block(first, self._indented_end(), kind=kind)
        if line == "..":  # a comment
            return self._indented_end()
        if line.endswith("::") and not _EXPLICIT.match(line):
            return self._note_block(first + 1, self._indented_end(), kind="code")
        if _GRID_RULE.fullmatch(line):
            return self._note_block(first, self._grid_end(), kind="table")
        if _SIMPLE_RULE.fullmatch(line) and (after := self._simple_table_end()):
            return self._note_block(first, after, kind="table")
        return None

    def _note_block(self, first: int, after: int, *, kind: Literal["table", "code"]) -> int | None:
        """Record the code or table that begins here; return the line after it, if any."""
        while first < after and not self._lines.line(first).strip():
            first += 1
        if first >= after:
            return None
        end = self._lines.trimmed(first, after)[1]
        self.blocks.append(Block(start=self._lines.starts[first], end=end, kind=kind))
        return after

    def _indented_end(self) -> int:
        """Return the line after those that are blank or indented more than the current one."""
        indent = _indent(self._lines.line(self._number))
        number = self._number + 1
        while number < len(self._lines):
            line = self._lines.line(number)
            if line.strip() and _indent(line) <= indent:
                break
            number += 1
        return number

    def _grid_end(self) -> int:
        """Return the line after the rows of a grid table."""
        number = self._number + 1
        while number < len(self._lines) and _GRID_LINE.match(self._lines.line(number)):
            number += 1
        return number

    def _simple_table_end(self) -> int | None:
        """Return the line after the rule that ends a simple table, which a blank line follows."""
        number = self._number + 1
        while number < len(self._lines) and not self._tables_are_over:
            is_rule = _SIMPLE_RULE.fullmatch(self._lines.line(number)) is not None
            number += 1
            if is_rule and not self._lines.line(number).strip():
                return number
        self._tables_are_over = True
        return None


def _adornment(line: str) -> str | None:
    match = _ADORNMENT.fullmatch(line)
    return line.rstrip() if match else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _plain_words(title: str) -> str:
    """Return the text of a title without roles, references, emphasis and escapes."""
    plain = _EMPHASIS.sub(r"\2", _ROLE.sub(r"\1", title))
    return " ".join(_ESCAPE.sub(r"\1", plain).split())
