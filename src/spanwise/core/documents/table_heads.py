"""What stands above a part of a table: the title of its section and the heads of its columns.

Rules:
    A table that is longer than a chunk is cut between its rows; a row then says neither which
    statement it stands in nor what its columns are. Search sees both with every part.
    The head of a table is what stands before its first row of figures: caption, units, heads of
    columns; its first line alone where no such row comes soon.
    A chunk that holds the title or the head itself is given no second one. Readers see the text
    alone.
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
    """Return what keyword and vector search see of a chunk: context, what stands above it, text."""
    return "\n".join((*filter(None, (context, table_head)), text))


def table_heads(
    text: str,
    *,
    sections: Sequence[Section],
    blocks: Sequence[Block],
    chunks: Sequence[ChunkSpan],
) -> list[str]:
    """Return what stands above each chunk that begins inside a table, "" for the others.

    Args:
        text: Text of the document.
        sections: Its sections.
        blocks: Its tables and pieces of code, in order, disjoint.
        chunks: Its chunks, in order.
    """
    tables = [block for block in blocks if block.kind == "table"]
    found: list[str] = []
    place = 0
    head, head_of = "", -1
    for chunk in chunks:
        while place < len(tables) and tables[place].end <= chunk.start:
            place += 1
        if place == len(tables) or tables[place].start > chunk.start:
            found.append("")
            continue
        table, section = tables[place], sections[chunk.section]
        if head_of != place:
            head = _table_head(text[table.start : min(table.end, table.start + _MAX_CHARS)])
            head_of = place
        title = section.title if chunk.start > section.start else ""
        found.append("\n".join(filter(None, (title, head if chunk.start > table.start else ""))))
    return found


def _table_head(opening: str) -> str:
    """Return the head of a table, whose first characters are given."""
    lines = opening.split("\n")[:_MAX_LINES]
    for index, line in enumerate(lines):
        if _is_row(line):
            return "\n".join(lines[:index])
    return lines[0]


def _is_row(line: str) -> bool:
    """Return whether a line has a figure in a cell after the first; a year heads a column."""
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    return any(_FIGURE.fullmatch(cell) and not _YEAR.fullmatch(cell) for cell in cells[1:])
