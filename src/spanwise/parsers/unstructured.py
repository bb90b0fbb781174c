"""Adapter to Unstructured: converts its exported elements to `Parsed`.

It downloads a model at its first use; without a network, install the model before
(`python -m spacy download en_core_web_sm`). Its telemetry is disabled in the parsing process.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.errors import ParseError
from spanwise.parsers.markup.html import parse_html
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.properties import file_title
from spanwise.parsers.writer import PagedWriter

_LEFT_OUT = frozenset(("Header", "Footer", "PageBreak", "PageNumber"))


def parse_unstructured(source: Source) -> Parsed:
    """Return a source parsed by Unstructured."""
    from unstructured.partition.auto import partition

    elements = partition(
        file=io.BytesIO(source.data), metadata_filename=file_title(source.name) or None
    )
    return read_elements([element.to_dict() for element in elements])


def read_elements(elements: Sequence[Mapping[str, Any]]) -> Parsed:
    """Return exported elements as a document.

    Args:
        elements: Results of `Element.to_dict`, in order.
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
            is_item = kind == "ListItem"
            text = f"- {text}" if text and is_item else text
            writer.write_apart(text, line_ends=1 if is_item else 2)
    return Parsed.of(
        writer,
        media_type=media_type,
        pages=writer.pages(),
    )


def _table(markup: str, text: str) -> str:
    """Return the lines of a table in HTML; its plain text if the HTML has none."""
    try:
        return parse_html(Source(data=markup.encode("utf-8"), name="table.html")).text
    except ParseError:
        return text
