"""OpenAPI document: schemas of results, made from their dataclasses, and of problem details."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError

from spanwise.server.problems import MEDIA_TYPE
from spanwise.types import ExcerptResult, SearchResult

Schema = dict[str, Any]
Responses = dict[int | str, dict[str, Any]]

_SIMPLE: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
}
_PROBLEM: Schema = {
    "type": "object",
    "description": "Problem details (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable code of the error."},
        "detail": {"type": "string", "description": "What happened, and what to do."},
    },
    "required": ["type", "title", "status", "code", "detail"],
}
_PROBLEM_CONTENT: Schema = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
PROBLEMS: Responses = {
    "default": {
        "description": "Problem details: the request was refused or failed.",
        "content": _PROBLEM_CONTENT,
    }
}
"""Responses of every route to requests that fail."""
_NO_KEY: Schema = {
    "description": "Problem details: the server has keys, and the request has none of them.",
    "headers": {"WWW-Authenticate": {"schema": {"type": "string"}}},
    "content": _PROBLEM_CONTENT,
}
_schemas: dict[str, Schema] = {"Problem": _PROBLEM}
"""Schemas by name; each class of results is added when a route first names it."""


def result_of(kind: Any, *, stream: str = "") -> Responses:
    """Return the documentation of a response with a result.

    Args:
        kind: Type of the result.
        stream: Media type that the same route can also return; empty for none.
    """
    return _response("application/json", schema_of(kind), stream)


def object_of(other: str = "", /, **kinds: Any) -> Responses:
    """Return the documentation of a response with a JSON object, by the types of its fields.

    Args:
        other: Media type that the same route can also return; empty for none.
        **kinds: Types by field.
    """
    return _response("application/json", _object(kinds), other)


def media_of(media_type: str) -> Responses:
    """Return the documentation of a response that is not JSON."""
    return _response(media_type, {"type": "string"})


def schema_of(kind: Any) -> Schema:
    """Return the JSON schema of the plain form of a type."""
    if kind in _SIMPLE:
        return dict(_SIMPLE[kind])
    if dataclasses.is_dataclass(kind):
        return _reference(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Mapping:
        return {"type": "object", "additionalProperties": schema_of(inner[1])}
    if origin is Literal:
        return {"enum": list(inner)}
    return _union(inner) if origin in (UnionType, Union) else _array(inner)


def _union(kinds: tuple[Any, ...]) -> Schema:
    if any(get_origin(kind) is list for kind in kinds):
        return {}  # any JSON value
    return {"anyOf": [schema_of(kind) for kind in kinds]}


def _array(kinds: tuple[Any, ...]) -> Schema:
    """Return the schema of a list, or of a tuple of any or of a fixed length."""
    if len(kinds) == 1 or kinds[-1] is ...:
        return {"type": "array", "items": schema_of(kinds[0])}
    items = [schema_of(kind) for kind in kinds]
    length = {"minItems": len(items), "maxItems": len(items)}
    if all(item == items[0] for item in items):
        return {"type": "array", "items": items[0], **length}
    return {"type": "array", "prefixItems": items, **length}


class DescribedApp(FastAPI):
    """Application whose OpenAPI document contains the schemas of results, and the need of keys."""

    def __init__(self, *, needs_key: bool, **options: Any) -> None:
        """Create the application.

        Args:
            needs_key: Whether the server has keys, so that requests need one.
            **options: Arguments of `FastAPI`.
        """
        super().__init__(**options)
        self._needs_key = needs_key

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        document = super().openapi()
        components = document.setdefault("components", {}).setdefault("schemas", {})
        components.update(_schemas)
        for operations in document["paths"].values():
            for operation in operations.values():
                if "security" in operation:
                    operation["responses"]["401"] = _NO_KEY
                    if not self._needs_key:
                        operation["security"].append({})  # also without a key
        return document


async def check_query(request: Request) -> None:
    """Refuse a request whose address has an argument that its route does not have.

    Raises:
        RequestValidationError: If an argument is unknown.
    """
    if not request.query_params:
        return
    path = request.scope["route"].path_format
    operation = request.app.openapi()["paths"].get(path, {}).get(request.method.lower())
    if operation is None:  # a page
        return
    parameters = operation.get("parameters", ())
    known = [one["name"] for one in parameters if one["in"] == "query"]
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        message = f"unknown argument; there are {', '.join(known) or 'none'}"
        faults = [
            {"type": "unknown_argument", "loc": ("query", name[:80]), "msg": message, "input": ""}
            for name in unknown
        ]
        raise RequestValidationError(faults)


def _response(media_type: str, schema: Schema, stream: str = "") -> Responses:
    content = {media_type: {"schema": schema}}
    if stream:
        content[stream] = {"schema": {"type": "string"}}
    return {200: {"description": "Result.", "content": content}}


def _reference(kind: Any) -> Schema:
    if kind.__name__ not in _schemas:
        _schemas[kind.__name__] = {}  # before its fields, which may name the class
        hints = get_type_hints(kind)
        kinds = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
        if kind in (SearchResult, ExcerptResult):
            kinds["not_found"] = bool
        summary = (inspect.getdoc(kind) or "").partition("\n")[0]
        _schemas[kind.__name__] = {**_object(kinds), "description": summary}
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _object(kinds: Mapping[str, Any]) -> Schema:
    properties = {name: schema_of(kind) for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}
