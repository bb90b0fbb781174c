"""`--json`: one document on standard output, its field names those of `spanwise.types`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from spanwise.cli.failures import Failure

__all__ = ["failure_document", "to_plain", "write_json"]

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]


def to_plain(value: object) -> Plain:
    """Return a value of `spanwise.types` as dicts, lists and scalars, fields in their order.

    Raises:
        TypeError: If it holds something that JSON cannot say.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {item.name: to_plain(getattr(value, item.name)) for item in fields}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [to_plain(item) for item in value]
    raise TypeError(f"{value!r} has no form in JSON")


def failure_document(failure: Failure) -> dict[str, Plain]:
    """Return the JSON form of an error."""
    said: dict[str, Plain] = {"code": failure.code, "message": failure.message}
    return {"error": {**said, **failure.details}}


def write_json(value: object, stream: TextIO) -> None:
    """Write a value as one JSON document, with a line end; no NaN and no infinity.

    Texts stay readable where the stream can hold them, and are escaped where it cannot.
    """
    is_unicode = (stream.encoding or "").lower().replace("-", "").startswith("utf")
    document = json.dumps(to_plain(value), ensure_ascii=not is_unicode, allow_nan=False, indent=2)
    stream.write(document + "\n")
