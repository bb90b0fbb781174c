"""`--json`: one document on standard output, its field names those of `spanwise.types`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TextIO

from spanwise.types.plain import Plain, to_plain

if TYPE_CHECKING:
    from spanwise.cli.failures import Failure


_STEERING = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What `json.dumps` leaves as it is; the other control characters it escapes itself."""


def failure_document(failure: Failure) -> dict[str, Plain]:
    """Return the JSON form of an error."""
    said: dict[str, Plain] = {"code": failure.code, "message": failure.message}
    return {"error": {**said, **failure.details}}


def write_json(value: object, stream: TextIO) -> None:
    """Write a value as one JSON document, with a line end; no NaN and no infinity.

    Texts stay readable where the stream can hold them, and are escaped where it cannot. Characters
    that could steer a terminal are always escaped.
    """
    is_unicode = (stream.encoding or "").lower().replace("-", "").startswith("utf")
    document = json.dumps(to_plain(value), ensure_ascii=not is_unicode, allow_nan=False, indent=2)
    stream.write(_STEERING.sub(lambda found: f"\\u{ord(found.group()):04x}", document) + "\n")
