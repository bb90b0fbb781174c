r"""Markdown: the text is the source itself; headings and blocks point into it.

Rules
    1. Blocks are found by markdown-it-py's block rules, which know fences, tables and indented
       code; a heading inside a quotation or a list item is no heading of the document.
    2. Lines end where markdown-it-py ends them (`\n`, `\r\n`, `\r`), so that its line numbers
       are ours; `str.splitlines` knows more line ends and would shift them.
    3. Front matter is not Markdown: its lines are hidden from the block rules (`front_matter`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from spanwise.parsers.lines import Lines
from spanwise.parsers.markup.front_matter import front_matter_fields, read_front_matter
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.text import decode_text
from spanwise.types import Block, Heading

__all__ = ["parse_markdown", "read_markdown"]

_BLOCK_KINDS = frozenset({"table_open", "fence", "code_block"})
_MARKUP = re.compile(r"[\\`*_\[\]<>&~!{]")
_ATTRIBUTES = re.compile(r"\{[#.:][^{}]*\}\s*$")


def parse_markdown(source: Source) -> Parsed:
    """Return the source as it stands, with its headings, tables and code.

    The title, author, date, language and tags come from the front matter.

    Raises:
        ParseError: "binary" where the bytes are no text, "no_text" where they are white space.
    """
    decoded = decode_text(source)
    return replace(read_markdown(decoded.text), warnings=decoded.warnings)


def read_markdown(text: str) -> Parsed:
    """Return a text as it stands, with its headings, tables and code, as `parse_markdown`."""
    lines = Lines(text)
    matter, matter_lines = read_front_matter(lines)
    visible = "\n" * matter_lines + text[lines.starts[matter_lines] :]
    tokens = _block_rules().parse(visible)
    return Parsed(
        text=text,
        media_type="text/markdown",
        title=matter["title"][0] if len(matter.get("title", ())) == 1 else "",
        headings=_find_headings(tokens, lines),
        blocks=_find_blocks(tokens, lines),
        metadata=front_matter_fields(matter),
    )


@cache
def _block_rules() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_rules() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("strikethrough")


def _find_headings(tokens: list[Token], lines: Lines) -> tuple[Heading, ...]:
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


def _find_blocks(tokens: list[Token], lines: Lines) -> tuple[Block, ...]:
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
