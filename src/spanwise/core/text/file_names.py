"""File names as document ids: valid UTF-8 is unchanged, other bytes are escaped."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

_SURROGATE = re.compile("[\ud800-\udfff]")


def name_to_id(name: str) -> str:
    """Return a name as valid UTF-8, with invalid bytes written as "%FF".

    In a name with invalid bytes, "%" is written as "%25", so that ids are unique.
    """
    if not _SURROGATE.search(name):
        return name
    escaped = name.replace("%", "%25")
    return _SURROGATE.sub(lambda match: f"%{ord(match.group()) & 0xFF:02X}", escaped)


def names_of_id(identifier: str) -> tuple[str, ...]:
    """Return the file names with this id: the id itself, and its form with raw bytes if valid."""
    name = unquote_to_bytes(identifier).decode("utf-8", "surrogateescape")
    if name == identifier or name_to_id(name) != identifier:
        return (identifier,)
    return identifier, name
