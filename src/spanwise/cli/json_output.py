"""JSON output of the commands; the field names are those of `spanwise.types`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TextIO

from spanwise.types.plain import Plain, to_plain

if TYPE_CHECKING:
    from spanwise.cli.failures import Failure


_CONTROL_CHARACTERS = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters that `json.dumps` does not escape."""


def failure_document(failure: Failure) -> dict[str, Plain]:
    """Return the JSON form of an error."""
    fields: dict[str, Plain] = {"code": failure.code, "message": failure.message}
    return {"error": {**fields, **failure.details}}


def write_json(value: object, stream: TextIO) -> None:
    """Write a value as one JSON document and a line end.

    Non-ASCII text is escaped unless the stream is UTF. Terminal control characters are always
    escaped.

    Raises:
        ValueError: If a number is NaN or infinite.
    """
    is_unicode = (stream.encoding or "").lower().replace("-", "").startswith("utf")
    document = json.dumps(to_plain(value), ensure_ascii=not is_unicode, allow_nan=False, indent=2)
    stream.write(
        _CONTROL_CHARACTERS.sub(lambda match: f"\\u{ord(match.group()):04x}", document) + "\n"
    )
