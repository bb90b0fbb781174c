"""Results of the library as JSON, without paths of the server."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.responses import JSONResponse

from spanwise.ingest.sources import is_url
from spanwise.server.problems import AnyTextResponse
from spanwise.types import (
    Citation,
    Document,
    DocumentRecord,
    ExcerptResult,
    SearchResult,
)
from spanwise.types.plain import to_plain

_PATHS: Mapping[type, tuple[str, ...]] = {
    Citation: ("source",),
    Document: ("source", "source_root"),
    DocumentRecord: ("source", "source_root", "recipe"),
}
"""Fields that may name files, folders or model servers; they are empty unless they are URLs."""


def public_form(value: object) -> Any:
    """Return a result as dicts, lists and scalars; fields with paths of the server are empty."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        row = {field.name: public_form(getattr(value, field.name)) for field in fields}
        for name in _PATHS.get(type(value), ()):
            row[name] = row[name] if is_url(row[name]) else ""
        if isinstance(value, SearchResult | ExcerptResult):
            row["not_found"] = value.not_found
        return row
    if isinstance(value, Mapping):
        return {str(key): public_form(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [public_form(item) for item in value]
    return to_plain(value)


def json_response(value: object) -> JSONResponse:
    """Return the response with a result."""
    return AnyTextResponse(public_form(value))
