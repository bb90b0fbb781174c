r"""Markdown: the text is the unchanged source, with headings, blocks and front matter.

Rules
    1. Blocks are found by the block rules of markdown-it-py, which know fences, tables and indented
       code. A heading inside a quotation or a list item is not a heading of the document.
    2. Lines end as in markdown-it-py (`\n`, `\r\n`, `\r`), so that line numbers agree;
       `str.splitlines` splits at more characters.
    3. Front matter is hidden from the block rules. YAML (between lines of three hyphens) is read as
       scalars and lists of scalars on the first level, TOML (three plus signs) completely.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from spanwise.core.text.languages import read_language
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.properties import first_date, known_fields
from spanwise.parsers.text import Lines, decode_text
from spanwise.types import Block, Heading, Scalar

FrontMatter = Mapping[str, Sequence[str]]
"""Values by name in lower case; a scalar is a list of one value."""

_YAML = re.compile(r"---[ \t]*")
_YAML_END = re.compile(r"(?:---|\.\.\.)[ \t]*")
_TOML = re.compile(r"\+\+\+[ \t]*")
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(\S.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(\S.*)")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_FLOW_ITEM = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[^,]+)")


def read_front_matter(lines: Lines) -> tuple[FrontMatter, int]:
    """Return the fields and their number of lines; none and 0 without front matter."""
    is_toml = bool(_TOML.fullmatch(lines.line(0)))
    if not is_toml and not _YAML.fullmatch(lines.line(0)):
        return {}, 0
    end_line = _TOML if is_toml else _YAML_END
    end = next((n for n in range(1, len(lines)) if end_line.fullmatch(lines.line(n))), None)
    if end is None:
        return {}, 0
    written = [lines.line(number) for number in range(1, end)]
    fields = _read_toml("\n".join(written)) if is_toml else _read_yaml(written)
    if fields is None:
        return {}, 0
    return fields, min(end + 1, len(lines.starts) - 1)


def front_matter_end(text: str) -> int:
    """Return the offset of the first line after the front matter of a text; 0 without one."""
    if text[:3] not in ("---", "+++"):
        return 0
    lines = Lines(text)
    return lines.starts[read_front_matter(lines)[1]]


def front_matter_fields(matter: FrontMatter) -> dict[str, Scalar]:
    """Return the author, date, language and tags that are present.

    Several tags or authors are joined by ", ".
    """
    languages = (*matter.get("lang", ()), *matter.get("language", ()))
    return known_fields(
        author=", ".join(matter.get("author") or matter.get("authors") or ()),
        date=first_date(matter.get("date", ())),
        language=next(filter(None, map(read_language, languages)), ""),
        tags=", ".join(matter.get("tags") or matter.get("keywords") or ()),
    )


def _read_yaml(lines: Sequence[str]) -> FrontMatter:
    fields: dict[str, list[str]] = {}
    items: list[str] = []
    for line in map(str.rstrip, lines):
        if match := _FIELD.fullmatch(line):
            items = fields.setdefault(match[1].lower(), [])
            if not items:
                items += _values(match[2] or "")
        elif (match := _ITEM.fullmatch(line)) and (value := _scalar(match[1])):
            items.append(value)
    return {name: values for name, values in fields.items() if values}


def _values(written: str) -> list[str]:
    """Return the values of a scalar or of a list in brackets."""
    if written.startswith("[") and "]" in written:
        inside = written[1 : written.rindex("]")]
        return [value for item in _FLOW_ITEM.findall(inside) if (value := _scalar(item.strip()))]
    value = _scalar(written)
    return [value] if value else []


def _scalar(written: str) -> str:
    """Return a plain or quoted scalar; empty if it is not a scalar on one line."""
    if written[:1] in ('"', "'"):
        end = written.find(written[0], 1)
        return written[1:end].strip() if end > 0 else ""
    if written[:1] in set("[{|>&*!"):
        return ""
    return _COMMENT.sub("", written).strip()


def _read_toml(text: str) -> FrontMatter | None:
    """Return the fields of a TOML document; None if it is invalid."""
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    return {
        name.lower(): [str(item) for item in (value if isinstance(value, list) else [value])]
        for name, value in found.items()
        if not isinstance(value, dict)
    }


_BLOCK_KINDS = frozenset({"table_open", "fence", "code_block"})
_MARKUP = re.compile(r"[\\`*_\[\]<>&~!{]")
_ATTRIBUTES = re.compile(r"\{[#.:][^{}]*\}\s*$")


def parse_markdown(source: Source) -> Parsed:
    """Return the unchanged source, with its headings, tables and code.

    The title, author, date, language and tags are from the front matter.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if they are white space.
    """
    decoded = decode_text(source)
    return replace(read_markdown(decoded.text), warnings=decoded.warnings)


def read_markdown(text: str) -> Parsed:
    """Return an unchanged text with its headings, tables and code, as `parse_markdown` does."""
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
    """Return the text of one line of Markdown, without emphasis, links and images."""
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
