"""Names of files as ids: what is valid UTF-8 stands as it is."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

_SURROGATE = re.compile("[\ud800-\udfff]")


def name_to_id(name: str) -> str:
    """Return a name as valid UTF-8: as it is, or with bytes that are none written as "%FF".

    In a name that has such bytes "%" itself is written as "%25", so that the id stays unique
    among names of its kind.
    """
    if not _SURROGATE.search(name):
        return name
    escaped = name.replace("%", "%25")
    return _SURROGATE.sub(lambda match: f"%{ord(match.group()) & 0xFF:02X}", escaped)


def names_of_id(identifier: str) -> tuple[str, ...]:
    """Return the names that `name_to_id` gives an id for: itself, and one with bytes if any."""
    name = unquote_to_bytes(identifier).decode("utf-8", "surrogateescape")
    if name == identifier or name_to_id(name) != identifier:
        return (identifier,)
    return identifier, name
