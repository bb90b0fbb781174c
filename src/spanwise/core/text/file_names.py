"""Document ids, and file names as ids: valid UTF-8 is unchanged, other bytes are escaped."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

MAX_ID_CHARS = 1_000
"""Maximum length of the id of a document that is not a file, and of a conversation."""
_MAX_FILE_ID_CHARS = 10_000  # of a path in nested containers, or of a URL
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x1f]")


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


def id_problem(identifier: str, *, is_file: bool = False) -> str:
    """Return why a text cannot be the id of a document or conversation; empty if it can.

    Args:
        identifier: The id.
        is_file: Whether it is the name of a file or a URL, which may be longer and may have control
            characters.
    """
    longest = _MAX_FILE_ID_CHARS if is_file else MAX_ID_CHARS
    if not identifier.strip():
        return "it is empty"
    if len(identifier) > longest:
        return f"it has {len(identifier):,} characters, and at most {longest:,} are allowed"
    if _SURROGATE.search(identifier):
        return "it contains a lone surrogate"
    if "\x00" in identifier:
        return "it contains a zero byte"
    if not is_file and _CONTROLS.search(identifier):
        return "it contains control characters"
    return ""
