"""Heads of tables that are split over several chunks: section title and column heads.

Rules:
    A table longer than a chunk is cut between rows. A row alone names neither its statement nor its
    columns, so search sees the table head with every part.
    The head of a table is the text before its first row of figures: caption, units and column
    heads; only its first line if no such row follows soon.
    A chunk that contains the title or the head itself gets no second one. Readers see the text
    without the head.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from spanwise.core.documents.chunks import ChunkSpan
from spanwise.types import Block, Section

_MAX_LINES = 7
_MAX_CHARS = 400
_FIGURE = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*")
_YEAR = re.compile(r"(?:19|20)\d\d")


def searched_text(text: str, *, table_head: str, context: str) -> str:
    """Return the text of a chunk for keyword and vector search: context, table head, text."""
    return "\n".join((*filter(None, (context, table_head)), text))


def table_heads(
    text: str,
    *,
    sections: Sequence[Section],
    blocks: Sequence[Block],
    chunks: Sequence[ChunkSpan],
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


def _table_head(opening: str) -> str:
    """Return the head of a table, given its first characters."""
    lines = opening.split("\n")[:_MAX_LINES]
    for index, line in enumerate(lines):
        if _is_row(line):
            return "\n".join(lines[:index])
    return lines[0]


def _is_row(line: str) -> bool:
    """Return whether a line has a figure in a cell after the first; a year heads a column."""
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    return any(_FIGURE.fullmatch(cell) and not _YEAR.fullmatch(cell) for cell in cells[1:])
