"""Metadata values in text form, as on the command line and in cells of tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spanwise.filters import kind_of

if TYPE_CHECKING:
    from spanwise.types import MetadataValue


def parse_value(text: str) -> MetadataValue:
    """Return the value of a text in JSON form: a number, true, false, a quoted text, or a list.

    Any other text is the value itself.

    Args:
        text: Text without surrounding white space.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(parsed, list) and all(kind_of(item) is not None for item in parsed):
        return tuple(parsed)
    value: MetadataValue = parsed if kind_of(parsed) is not None else text
    return value
