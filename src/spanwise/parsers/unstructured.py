"""Unstructured, for those who have it: its elements, in the form they are stored in, to ours.

It fetches a model of its own when it first reads prose; install that before
(`python -m spacy download en_core_web_sm`) where nothing may be fetched. What it counts on the way
is turned off in the parsing process.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.errors import ParseError
from spanwise.parsers.markup.html import parse_html
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.titles_and_dates import file_title
from spanwise.parsers.writer import PagedWriter

_LEFT_OUT = frozenset(("Header", "Footer", "PageBreak", "PageNumber"))


def parse_unstructured(source: Source) -> Parsed:
    """Return what Unstructured reads in a source."""
    from unstructured.partition.auto import partition

    elements = partition(
        file=io.BytesIO(source.data), metadata_filename=file_title(source.name) or None
    )
    return read_elements([element.to_dict() for element in elements])


def read_elements(elements: Sequence[Mapping[str, Any]]) -> Parsed:
    """Return stored elements as a document.

    Args:
        elements: What `Element.to_dict` gives, in order.
    """
    writer = PagedWriter()
    media_type = "text/plain"
    for element in elements:
        kind, text = element["type"], str(element.get("text") or "").strip()
        fields: Mapping[str, Any] = element.get("metadata") or {}
        media_type = str(fields.get("filetype") or media_type)
        if kind in _LEFT_OUT:
            continue
        if page := fields.get("page_number"):
            writer.turn_to(int(page))
        if kind == "Title":
            level = int(fields.get("category_depth") or 0) + 1
            writer.write_heading(" ".join(text.split()), level=level)
        elif kind == "Table":
            writer.write_block(_table(str(fields.get("text_as_html") or ""), text), kind="table")
        elif kind == "CodeSnippet":
            writer.write_block(text, kind="code")
        else:
            gap = 1 if kind == "ListItem" else 2
            writer.separate(gap)
            writer.write(f"- {text}" if text and kind == "ListItem" else text)
            writer.separate(gap)
    return Parsed(
        text=writer.text,
        media_type=media_type,
        pages=writer.pages(),
        headings=tuple(writer.headings),
        blocks=tuple(writer.blocks),
    )


def _table(markup: str, text: str) -> str:
    """Return the lines of a table that is given as HTML; its words where that shows none."""
    try:
        return parse_html(Source(data=markup.encode("utf-8"), name="table.html")).text
    except ParseError:
        return text
