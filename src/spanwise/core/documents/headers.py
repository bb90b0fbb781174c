"""Text that search adds to a chunk: its header, and the head of a table that it continues.

Rules of headers:
    A header has up to four lines: document title, summary, section path and section summary. Empty
    ones are omitted. The path omits a first title that repeats the document's, also as part of the
    joined title of merged sections ("Report / Fees").
    A header that is too long loses the middle of its section path first, then the end of the
    document summary, then that of the section summary, then the ends of path and title.

Rules of table heads:
    A table longer than a chunk is cut between rows. A row alone names neither its statement nor its
    columns, so search sees the table head with every part. A reader sees it above a segment that
    begins inside the table (`column_heads`).
    The head of a table is the text before its first row of figures: caption, units and column
    heads; only its first line if no such row follows soon. The section title is put before it.
    The head is not repeated in the chunk that contains it, nor the title in the first chunk of its
    section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from spanwise.core.documents.summary import clip
from spanwise.options import HeaderOptions
from spanwise.types import Chunk, Section

if TYPE_CHECKING:
    from spanwise.core.documents.chunks import ChunkSpan
    from spanwise.types import Block

_DEFAULT = HeaderOptions()
_STEP = " > "
_GAP = "…"
_MIN_SUMMARY_CHARS = 20
_TITLE_SHARE = 0.6


def chunk_header(
    title: str,
    *,
    summary: str = "",
    section_path: Sequence[str] = (),
    section_summary: str = "",
    options: HeaderOptions | None = None,
) -> str:
    """Return the header of the chunks of one section.

    Args:
        title: Title of the document; may be empty.
        summary: One sentence about the document; may be empty, omitted if the options say so.
        section_path: Titles of the section and its ancestors, outermost first.
        section_summary: One sentence about the section, under the same rules as `summary`.
        options: Maximum length; None for the default.

    Returns:
        One to four lines without a final line break, at most `options.max_chars` long; may be
        empty.
    """
    options = options or _DEFAULT
    limit = options.max_chars
    title = _line(title)
    path = [line for line in map(_line, section_path) if line]
    if path and path[0].casefold() == title.casefold():
        path = path[1:]
    elif path:
        path[0] = path[0].removeprefix(f"{title} / ")
    summary, section_line = (
        (_line(summary), _line(section_summary)) if options.summary else ("", "")
    )
    route = _shorten_path(path, limit - _total_chars(title, summary, section_line))
    summary = _shorten_summary(summary, limit - _total_chars(title, route, section_line))
    section_line = _shorten_summary(section_line, limit - _total_chars(title, summary, route))
    if _total_chars(title, route) - 1 > limit:
        title = clip(title, max_chars=max(int(_TITLE_SHARE * limit), limit - len(route) - 1))
        route = clip(route, max_chars=limit - len(title) - 1)
    return "\n".join([line for line in (title, summary, route, section_line) if line])


def headed_text(text: str, *, header: str) -> str:
    """Return a chunk with its header, the input of rerankers and contextual embedders."""
    return f"{header}\n\n{text}" if header else text


def _line(text: str) -> str:
    return " ".join(text.split())


def _total_chars(*lines: str) -> int:
    """Return the total length of non-empty lines, each with a line break."""
    return sum([len(line) + 1 for line in lines if line])


def _shorten_summary(summary: str, max_chars: int) -> str:
    """Return a summary cut at a word if it is too long; empty if too little space is left."""
    if len(summary) <= max_chars:
        return summary
    return clip(summary, max_chars=max_chars) if max_chars >= _MIN_SUMMARY_CHARS else ""


def _shorten_path(path: Sequence[str], max_chars: int) -> str:
    """Return the path as one line, with titles omitted from its middle until it fits."""
    route = _STEP.join(path)
    shown = len(path) - 1
    while len(route) > max_chars and shown >= 2:
        left = shown // 2
        route = _STEP.join([*path[:left], _GAP, *path[left - shown :]])
        shown -= 1
    return route


_MAX_SEARCHED_CHARS = 1_000


def searched_header(section: Section) -> str:
    """Return the header of a section for keyword and vector search; empty for none.

    It consists of the titles of the section path, twice because titles count twice as much as the
    summary, and of the summary of the section. A title that was extracted from the text is omitted.
    Only the first 1,000 characters of the titles and of the summary are used, because the terms of
    the header are indexed with every chunk.
    """
    path = section.path[:-1] if section.extracted_title else section.path
    titles = "\n".join(filter(None, path))[:_MAX_SEARCHED_CHARS]
    summary = section.summary[:_MAX_SEARCHED_CHARS]
    return "\n".join(filter(None, (titles, titles, summary)))


_MAX_LINES = 7
_MAX_CHARS = 400
_FIGURE = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*")
_DATE = re.compile(r"(?:19|20)\d\d|\d{1,2}([./-])\d{1,2}\1\d{4}|\d{4}-\d\d-\d\d")


def searched_text(text: str, *, table_head: str, context: str) -> str:
    """Return the text of a chunk for keyword and vector search: context, table head, text."""
    return "\n".join((*filter(None, (context, table_head)), text))


def table_heads(
    text: str,
    *,
    sections: Sequence[Section],
    blocks: Sequence[Block],
    chunks: Iterable[ChunkSpan | Chunk],
) -> list[str]:
    """Return the head of each chunk that begins inside a table, "" for the others.

    Args:
        text: Text of the document.
        sections: Its sections.
        blocks: Its tables and code, in order, disjoint.
        chunks: Its chunks, in order.
    """
    tables = [block for block in blocks if block.kind == "table"]
    heads: list[str] = []
    table_index = 0
    head, head_index = "", -1
    for chunk in chunks:
        while table_index < len(tables) and tables[table_index].end <= chunk.start:
            table_index += 1
        if table_index == len(tables) or tables[table_index].start > chunk.start:
            heads.append("")
            continue
        table, section = tables[table_index], sections[chunk.section]
        if head_index != table_index:
            head = _table_head(text[table.start : min(table.end, table.start + _MAX_CHARS)])
            head_index = table_index
        title = section.title if chunk.start > section.start else ""
        heads.append("\n".join(filter(None, (title, head if chunk.start > table.start else ""))))
    return heads


MAX_HEAD_CHARS = _MAX_CHARS
"""Number of characters at the beginning of a table in which its head is sought."""


def column_heads(opening: str) -> str:
    """Return the head of a table as readers see it; empty if it has none.

    It is the beginning of the table up to its column headings: the last line of several cells
    before the first row of figures.

    Args:
        opening: First characters of the table (`MAX_HEAD_CHARS`).
    """
    lines = _table_head(opening).split("\n")
    last = max((at for at, line in enumerate(lines) if "|" in line), default=len(lines) - 1)
    head = "\n".join(lines[: last + 1])
    return head if re.search(r"\w", head) else ""


def _table_head(opening: str) -> str:
    """Return the head of a table, given its first characters."""
    lines = opening.split("\n")[:_MAX_LINES]
    for index, line in enumerate(lines):
        if _is_row(line):
            return "\n".join(lines[:index])
    return lines[0]


def _is_row(line: str) -> bool:
    """Return whether a line has a figure in a cell after the first; dates are column heads."""
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    return any(_FIGURE.fullmatch(cell) and not _DATE.fullmatch(cell) for cell in cells[1:])
