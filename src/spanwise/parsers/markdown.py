r"""Markdown: the text is the source itself; headings and blocks point into it.

Rules
    1. Blocks are found by markdown-it-py's block rules, which know fences, tables and indented
       code; a heading inside a quotation or a list item is no heading of the document.
    2. Lines end where markdown-it-py ends them (`\n`, `\r\n`, `\r`), so that its line numbers
       are ours; `str.splitlines` knows more line ends and would shift them.
    3. Front matter is not Markdown: its lines are hidden from the block rules and read here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from spanwise.parsers.dates import iso_date
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.text import decode_text
from spanwise.types import Block, Heading, Scalar

__all__ = ["parse_markdown", "read_markdown"]

_LINE_END = re.compile(r"\r\n?|\n")
_FENCE = re.compile(r"---[ \t]*")
_FENCE_END = re.compile(r"(?:---|\.\.\.)[ \t]*")
_FIELD = re.compile(r"(title|author|date)[ \t]*:[ \t]+(\S.*?)[ \t]*", re.IGNORECASE)
_COMMENT = re.compile(r"\s#.*")
_BLOCK_KINDS = frozenset({"table_open", "fence", "code_block"})
_MARKUP = re.compile(r"[\\`*_\[\]<>&~!{]")
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}\s*$")


def parse_markdown(source: Source) -> Parsed:
    """Return the source as it stands, with its headings, tables and code.

    The title, author and date come from the front matter (YAML), where they are plain scalars.

    Raises:
        ParseError: "binary" where the bytes are no text, "no_text" where they are white space.
    """
    decoded = decode_text(source)
    return replace(read_markdown(decoded.text), warnings=decoded.warnings)


def read_markdown(text: str) -> Parsed:
    """Return a text as it stands, with its headings, tables and code, as `parse_markdown`."""
    lines = _Lines(text)
    fields, matter = _read_front_matter(lines)
    visible = "\n" * matter + text[lines.starts[matter] :]
    tokens = _block_rules().parse(visible)
    metadata: dict[str, Scalar] = {}
    if "author" in fields:
        metadata["author"] = fields["author"]
    if "date" in fields and (day := iso_date(fields["date"])):
        metadata["date"] = day
    return Parsed(
        text=text,
        media_type="text/markdown",
        title=fields.get("title", ""),
        headings=_find_headings(tokens, lines),
        blocks=_find_blocks(tokens, lines),
        metadata=metadata,
    )


class _Lines:
    """Where each line of a text starts and ends, without its line end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0]
        self.ends: list[int] = []
        for match in _LINE_END.finditer(text):
            self.ends.append(match.start())
            self.starts.append(match.end())
        self.ends.append(len(text))

    def line(self, number: int) -> str:
        return self.text[self.starts[number] : self.ends[number]]

    def trimmed(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of lines `[first, last)` without white space at its edges."""
        start, end = self.starts[first], self.ends[min(last, len(self.ends)) - 1]
        while start < end and self.text[start].isspace():
            start += 1
        while start < end and self.text[end - 1].isspace():
            end -= 1
        return start, end


@cache
def _block_rules() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_rules() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("strikethrough")


def _read_front_matter(lines: _Lines) -> tuple[dict[str, str], int]:
    """Return its plain fields, names in lower case, and how many lines it takes; 0 without any."""
    if not _FENCE.fullmatch(lines.line(0)):
        return {}, 0
    fields: dict[str, str] = {}
    for number in range(1, len(lines.ends)):
        line = lines.line(number)
        if _FENCE_END.fullmatch(line):
            return fields, min(number + 1, len(lines.starts) - 1)
        if match := _FIELD.fullmatch(line):
            value = _read_scalar(match.group(2))
            if value:
                fields.setdefault(match.group(1).lower(), value)
    return {}, 0


def _read_scalar(written: str) -> str:
    """Return a plain or quoted scalar; empty for what is no scalar on one line."""
    quote = written[0]
    if quote in "\"'":
        end = written.find(quote, 1)
        return written[1:end].strip() if end > 0 else ""
    if quote in "[{|>&*!#":
        return ""
    return _COMMENT.sub("", written).strip()


def _find_headings(tokens: list[Token], lines: _Lines) -> tuple[Heading, ...]:
    headings = []
    for position, token in enumerate(tokens):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        title = _plain_words(tokens[position + 1].content)
        if title:
            start, end = lines.trimmed(*token.map)
            headings.append(Heading(start=start, end=end, level=int(token.tag[1]), title=title))
    return tuple(headings)


def _plain_words(markup: str) -> str:
    """Return the words of one line of Markdown, without emphasis, links and images."""
    if not _MARKUP.search(markup):
        return " ".join(markup.split())
    words = []
    pending = list(reversed(_inline_rules().parseInline(_ATTRIBUTES.sub("", markup))))
    while pending:
        token = pending.pop()
        if token.children:
            pending.extend(reversed(token.children))
        elif token.type in {"text", "code_inline", "text_special"}:
            words.append(token.content)
        elif token.type in {"softbreak", "hardbreak"}:
            words.append(" ")
    return " ".join("".join(words).split())


def _find_blocks(tokens: list[Token], lines: _Lines) -> tuple[Block, ...]:
    blocks = []
    end = 0
    for token in tokens:
        if token.type not in _BLOCK_KINDS or token.map is None:
            continue
        first, last = token.map
        start, stop = lines.starts[first], lines.trimmed(first, last)[1]
        if end <= start < stop:
            is_table = token.type == "table_open"
            blocks.append(Block(start=start, end=stop, kind="table" if is_table else "code"))
            end = stop
    return tuple(blocks)
