"""JSON and JSON Lines to text: records, conversations, notebooks.

Rules
    1. A list of objects is a list of records (`records`), and so are the lines of a JSON Lines
       file and the values of an object that holds nothing but objects. Other values stand as lines
       "path: value", the path as programs write it: `address.city`, `items[0].name`.
    2. A list of messages (who, what) is a conversation: a paragraph for each.
    3. Nothing is lost: what is no JSON is read as plain text, marked partial.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from spanwise.parsers.data.json_text import flatten, write_value
from spanwise.parsers.data.json_values import JsonReader
from spanwise.parsers.data.jupyter import is_notebook, notebook_markdown
from spanwise.parsers.data.records import find_title
from spanwise.parsers.dates import iso_date
from spanwise.parsers.markup.markdown import read_markdown
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.text import decode_text
from spanwise.parsers.titles import file_title
from spanwise.parsers.writer import TextWriter
from spanwise.types import Scalar

__all__ = ["parse_json"]

_LINES_LOOKED_AT = 50
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(source: Source) -> Parsed:
    """Return what JSON or JSON Lines says as text.

    Raises:
        ParseError: "binary" where the bytes are no text, "no_text" where there is no value in it.
    """
    decoded = decode_text(source)
    reader = JsonReader()
    warnings = list(decoded.warnings)
    try:
        parsed = _read(source, decoded.text, reader, warnings)
    except (ValueError, RecursionError) as exc:
        cause = "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)
        warnings.append(f"it is no JSON that can be read ({cause}), and stands as plain text")
        return Parsed(
            text=decoded.text,
            media_type="application/json",
            status="partial",
            warnings=tuple(warnings),
        )
    if not parsed.text:
        raise source.error("no_text", "it holds no value; leave it out")
    if reader.repeated_names:
        warnings.append(f"{reader.repeated_names} names come again in an object: all values stand")
    return replace(_mended(parsed), warnings=tuple(warnings))


def _read(source: Source, text: str, reader: JsonReader, warnings: list[str]) -> Parsed:
    try:
        value = reader.read(text)
    except ValueError:
        values = _read_lines(text, reader)
        if not values:
            raise
        return _write_lines(source, values, warnings)
    if is_notebook(value):
        parsed = read_markdown(notebook_markdown(value))
        return replace(parsed, media_type="application/x-ipynb+json")
    writer = TextWriter()
    write_value(writer, value)
    fields = flatten(value) if isinstance(value, dict) else []
    title = find_title(fields)
    return Parsed(
        text=writer.text,
        media_type="application/json",
        title=title[1] if title else file_title(source.name),
        headings=tuple(writer.headings),
        metadata=_metadata(fields),
    )


def _read_lines(text: str, reader: JsonReader) -> list[tuple[str, object]]:
    """Return the lines of JSON Lines, each with its value; a line without one is its own.

    Returns:
        Nothing where fewer than half of the first lines are JSON.
    """
    values: list[tuple[str, object]] = []
    good = 0
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped:
            continue
        try:
            values.append((stripped, reader.read(stripped)))
            good += 1
        except (ValueError, RecursionError):
            values.append((stripped, None))
        if len(values) == _LINES_LOOKED_AT and good * 2 < len(values):
            return []
    return values if good * 2 >= len(values) else []


def _write_lines(
    source: Source, values: Sequence[tuple[str, object]], warnings: list[str]
) -> Parsed:
    writer = TextWriter()
    write_value(writer, [line if value is None else value for line, value in values])
    bad = sum(value is None and line != "null" for line, value in values)
    if bad:
        warnings.append(f"{bad} lines are no JSON that can be read, and stand as they are")
    return Parsed(
        text=writer.text,
        media_type="application/x-ndjson",
        title=file_title(source.name),
        headings=tuple(writer.headings),
        status="partial" if bad else "ok",
    )


def _metadata(fields: Sequence[tuple[str, str]]) -> dict[str, Scalar]:
    """Return author and date of a file that is one object."""
    found = {name.lower(): value for name, value in reversed(fields)}
    metadata: dict[str, Scalar] = {}
    author = found.get("author") or found.get("author.name") or found.get("authors")
    if author and "\n" not in author:
        metadata["author"] = author
    dates = (found.get(name) for name in ("date", "published", "created", "created_at"))
    day = next((day for date in dates if date and (day := iso_date(date))), None)
    if day:
        metadata["date"] = day
    return metadata


def _mended(parsed: Parsed) -> Parsed:
    """Return the text without halves of surrogate pairs, which JSON can name and UTF-8 cannot."""
    if not _SURROGATE.search(parsed.text):
        return parsed
    return replace(
        parsed,
        text=_SURROGATE.sub("\ufffd", parsed.text),
        title=_SURROGATE.sub("\ufffd", parsed.title),
        headings=tuple(
            replace(heading, title=_SURROGATE.sub("\ufffd", heading.title))
            for heading in parsed.headings
        ),
        metadata={
            name: _SURROGATE.sub("\ufffd", str(value)) for name, value in parsed.metadata.items()
        },
    )
