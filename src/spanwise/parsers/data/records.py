"""Records, as JSON and tables of texts hold them, to text: a line "name: value" for each field.

Rules
    1. The names stand with the values: a chunk from the middle of a million records says what its
       values are. (Asked for single values, it finds half as many again as rows under a head row
       do, at equal tokens, though each record is twice as long.)
    2. A short record is a paragraph. A long one is a section, headed by the field that titles it;
       the text that it carries stands as paragraphs of its own.
    3. Empty fields are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spanwise.parsers.writer import TextWriter

__all__ = ["LONG_CHARS", "Field", "field_lines", "find_title", "write_record"]

LONG_CHARS = 400
"""A longer record is a section."""
_TITLE_NAMES = ("title", "name", "subject", "headline", "heading", "question", "label", "id", "_id")
_MAX_TITLE_CHARS = 200
_TEXT_NAMES = frozenset(
    "text content contents body page_content passage abstract message description summary".split()
)
"""Names of fields that carry the text itself."""

Field = tuple[str, str]
"""Name and value."""


def find_title(fields: Iterable[Field]) -> Field | None:
    """Return the field that titles a record: one line under a name like "title"; None without."""
    found = {name.lower(): (name, value) for name, value in fields}
    for known in _TITLE_NAMES:
        name, value = found.get(known, ("", ""))
        if value.strip() and len(value) <= _MAX_TITLE_CHARS and "\n" not in value:
            return name, value
    return None


def field_lines(name: str, value: str) -> str:
    """Return a field as text: on one line, or with its lines under its name, where it has one."""
    if not name:
        return value
    return f"{name}:\n{value}" if "\n" in value else f"{name}: {value}"


def write_record(writer: TextWriter, fields: Sequence[Field], *, level: int) -> None:
    """Append a record: a paragraph, or a section where it is long and has a title.

    Args:
        writer: The text so far.
        fields: In order; none is empty.
        level: Of the heading.
    """
    writer.separate(2)
    if sum(len(name) + len(value) for name, value in fields) <= LONG_CHARS:
        writer.write("\n".join(field_lines(name, value) for name, value in fields))
        writer.separate(2)
        return
    title = find_title(fields)
    if title is not None:
        writer.write_heading(title[1], level=level)
    for name, value in fields:
        if (name, value) == title:
            continue
        if name.lower() in _TEXT_NAMES:
            writer.separate(2)
            writer.write(value)
            writer.separate(2)
        else:
            writer.write(field_lines(name, value))
            writer.separate(1)
    writer.separate(2)
