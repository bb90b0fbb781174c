"""Build docs/http.md, the reference of the HTTP interface, from the OpenAPI document."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from spanwise import KnowledgeBase, options
from spanwise.server import requests
from spanwise.server.app import app_of

Json = Mapping[str, Any]

_HEAD = """\
# HTTP reference

Generated from the OpenAPI document of the server by `make docs`; do not edit.

`spanwise serve` serves knowledge bases over HTTP. The [guide](guides/server.md) starts a server
with keys, and [Serve over HTTP](how-to/serve.md#serve-over-http) describes limits, uploads and the
web page. A running server has the same reference for programs at `/v1/openapi.json` (OpenAPI).

The examples of this page use a server without keys:

```console
$ spanwise add reports --kb reports.kb
...
$ spanwise add examples/mills.pdf --kb reports.kb
...
$ spanwise ask "Why did the gross margin fall in 2023?" --thread margins \\
    --kb reports.kb --llm openai:gpt-5-mini
...
$ spanwise serve --kb reports.kb --llm openai:gpt-5-mini
```

- **Keys.** A server with keys needs the header `Authorization: Bearer KEY` in each request; a
  server without keys ignores it. Each route below names the role that the key must have. `admin`
  includes `write`, and `write` includes `read`.
- **Methods.** Each `GET` route also answers `HEAD`, with the same headers and no body.
- **Names.** `{kb}` is the name of a knowledge base, or `default` for the first one.
- **Ids.** `{document_id}` is the id of a document. Special characters, such as spaces and `#`, are
  percent-encoded.
- **Arguments** have the names, values and defaults of the
  [Python methods](python.md#knowledgebase). The tables show the default after the type. An unknown
  argument is an error. Values in a body must have the JSON type of the table: `"4000"` and `true`
  are no integers.
- **Results** are JSON objects with the fields of the Python classes. Empty fields are included.

## Errors

A failed request returns problem details (RFC 9457) as `application/problem+json`:

```console
$ curl -s http://127.0.0.1:8000/v1/knowledge-bases/reports/documents/none.md \\
    | python -m json.tool
{
    "type": "about:blank",
    "title": "Not Found",
    "status": 404,
    "code": "document_not_found",
    "detail": "no document has the id 'none.md'..."
}
```

| status | meaning |
|---|---|
| 401 | The key is missing or unknown. |
| 402 | The cost limit of the server is reached. |
| 403 | The key, or the role of the server in its database, does not allow the request. |
| 404 | There is no such knowledge base, document, page, figure, pack or job. |
| 405 | The address does not accept the method; `Allow` lists those that it accepts. |
| 408 | The body did not arrive in time. |
| 409 | The id belongs to a document from another source, or the embedder does not match. |
| 413 | The body is too large. |
| 422 | An argument is unknown or has a wrong value; `detail` names it. |
| 429 | There are too many requests or jobs; try again after the seconds in `Retry-After`. |
| 500 | The server failed; its log says why. |
| 502 | A model of the server failed. |
| 503 | The server is busy; try again after the seconds in `Retry-After`. |
| 504 | The request exceeded the time limit. |
| 507 | The disk of the server is full. |

[Errors](errors.md) lists every `code`, with its cause and what to do. Programs should compare
`code`, not `detail`.
"""
_ADDRESS = "http://127.0.0.1:8000"
_KB = "/v1/knowledge-bases/{kb}"
_EXAMPLES = Path(__file__).with_name("http_examples.toml")
_PLAIN = re.compile(r":\w+}")  # the type of a parameter in the path of a route
_JSON_LITERALS = {"None": "null", "True": "true", "False": "false"}
_LITERALS = re.compile(r"\b(None|True|False)\b")
_PLACES = {
    "path": "In the path",
    "query": "In the query",
    "body": "In the body, as a JSON object",
    "form": "In the body, as a form",
}
_MEANINGS = {
    "document_id": "Id of the document.",
    "job_id": "Id of the job.",
    "thread_id": "Id of the conversation.",
    "name": "Name from the list.",
    "page": "Number of the page; the first one is 1.",
    "number": "Number of the figure in the document; the first one is 0.",
    "question": "Question in any words.",
    "where": "Metadata filter as text; empty for all documents.",
    "offset": "Number of entries to skip.",
    "limit": "Maximum number of entries.",
    "start": "Offset of the first character.",
    "end": "Offset after the last character.",
    "full": "Whether the chunks are returned with text and header.",
    "state": "State of the jobs to list; all by default.",
    "prefix": "Beginning of the ids of the uploaded files.",
    "words": "Words of the page to highlight, in place of a range.",
    "dots_per_inch": "Resolution of the image in dots per inch.",
    "replace": "Whether a document with this id from another source is replaced.",
    "discard": "Whether the files of the job are removed, so that it cannot be resumed.",
    "file": "Content of a file. Repeatable.",
    "text": "Text of the document.",
    "title": "Title of the document.",
    "media_type": "Whether headings and tables of Markdown are recognised.",
    "metadata": "Metadata fields; null for those of an earlier call.",
    "rounds": "Maximum number of searches.",
    "more_queries": "Further wordings of the question, at most 15.",
    "method": "Selection of segments: exact, or the greedy method of dsRAG.",
    "budget_tokens": "Maximum tokens of the result.",
    "write_queries": "Whether the model writes search queries.",
    "preset": "precise, balanced or comprehensive; null for the default.",
    "segment_options": "Fields of SegmentOptions in place of a preset.",
    "rerank": "Whether the reranker of the server is used.",
    "thread": "Id of a conversation to continue or start.",
    "highlight": "Range of characters to highlight.",
    "separator": "Text between two chunks.",
    "overlap": "Treatment of text that consecutive chunks repeat.",
}
"""Meanings of arguments that have no description of their own."""
_NAMED_MEANINGS = {
    "Problem": {
        "type": "Always about:blank.",
        "title": "Name of the status.",
        "status": "HTTP status.",
    },
    "Listed": {"name": "Name of the knowledge base."},
}
"""Meanings of fields of results that have no description, by the name of their class."""


def http_reference() -> str:
    """Return docs/http.md: every route with arguments, response, errors and an example."""
    app = app_of({})
    document = app.openapi()
    roles = {
        (method, _PLAIN.sub("}", route.path)): _role(route)
        for route in _routes(app)
        for method in route.methods
    }
    groups: dict[str, list[tuple[str, str, Json]]] = {}
    for path, operations in document["paths"].items():
        for name, operation in operations.items():
            group = operation.get("tags", ["other"])[0]
            groups.setdefault(group, []).append((name.upper(), path, operation))
    parts = [_HEAD]
    for group, listed in groups.items():
        parts.append(f"\n## {group.capitalize()}\n")
        for method, path, operation in sorted(listed, key=lambda each: each[0] == "DELETE"):
            role = roles.get((method, path), "")
            parts.append(_route(document, method, path, operation, role=role))
    return "".join(parts) + "".join(_other_objects(document))


def _other_objects(document: Json) -> Iterator[str]:
    """Yield the objects that the Python reference does not have."""
    yield "\n## Other objects\n"
    for name, schema in document["components"]["schemas"].items():
        if name.endswith("Body") or name in _python_classes() or not schema.get("properties"):
            continue
        meanings = _result_meanings(name, fields=schema["properties"])
        rows = []
        for field, kind in schema["properties"].items():
            meaning = kind.get("description") or meanings.get(field, "")
            rows.append(f"| `{field}` | {_type(kind)} | {_in_json(meaning)} |\n")
        yield f"\n### {name}\n\n{schema.get('description', '')}\n\n"
        yield "| field | type | meaning |\n|---|---|---|\n" + "".join(rows)


def example_of(method: str, path: str) -> str | None:
    """Return the commands of the example of a route.

    Returns:
        None if the route is not in http_examples.toml; empty if it needs data that the example
        knowledge base does not have.
    """
    examples = tomllib.loads(_EXAMPLES.read_text(encoding="utf-8"))
    text = examples.get(f"{method} {path.removeprefix(_KB)}")
    if not text:
        return text
    text = text.replace("KB", _KB.format(kb="reports"))
    commands = [
        re.sub(r'(?<![\w"])(")?/(v1|healthz|readyz|metrics)', rf"\1{_ADDRESS}/\2", line)
        for line in text.splitlines()
    ]
    return "\n".join(line.replace(" --json", " \\\n    --json") for line in commands)


def _routes(router: Any) -> Iterator[Any]:
    """Yield the routes of an application, also those of its routers."""
    for route in router.routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from _routes(included)
        elif hasattr(route, "dependant"):
            yield route


def _role(route: Any) -> str:
    """Return the role that a route requires; empty for none."""
    for dependency in route.dependant.dependencies:
        role = inspect.getclosurevars(dependency.call).nonlocals.get("role")
        if role:
            return str(role)
    return ""


def _route(document: Json, method: str, path: str, operation: Json, *, role: str) -> str:
    title = f"{method} {path.replace(_KB, '...') if path != _KB else path}"
    description = str(operation.get("description", "")).strip()
    lines = [f"\n### {title}\n", f"```text\n{method} {path}\n```\n", f"{description}\n"]
    lines.append(f"Role of the key: `{role}`.\n" if role else "Needs no key.\n")
    rows = [*_parameter_rows(operation), *_body_rows(document, operation)]
    for place, words in _PLACES.items():
        cells = [row for at, row in rows if at == place]
        if cells:
            lines += [f"{words}:\n", "| argument | type | meaning |", "|---|---|---|", *cells, ""]
    lines += [*_responses(operation), ""]
    example = example_of(method, path)
    if example:
        lines += [
            "```console",
            *(f"$ {line}" if line[0] != " " else line for line in example.splitlines()),
            "...",
            "```",
            "",
        ]
    return "\n".join(lines)


def _parameter_rows(operation: Json) -> Iterator[tuple[str, str]]:
    """Yield the place and a row for each parameter of the path and the query."""
    for parameter in operation.get("parameters", ()):
        if parameter["name"] == "kb":
            continue  # explained once for all routes
        schema = parameter["schema"]
        meaning = parameter.get("description") or schema.get("description", "")
        is_required = parameter.get("required", False)
        row = _row(parameter["name"], schema, meaning, is_required=is_required)
        yield parameter["in"], row


def _body_rows(document: Json, operation: Json) -> Iterator[tuple[str, str]]:
    """Yield the place and a row for each field of a JSON body or form."""
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = content["schema"]
        name = schema.get("$ref", "").rpartition("/")[2] or schema.get("title", "")
        if "$ref" in schema:
            schema = document["components"]["schemas"][name]
        place = "form" if media_type == "multipart/form-data" else "body"
        for field, described in schema.get("properties", {}).items():
            meaning = described.get("description") or _option_meanings(name).get(field, "")
            if meaning == ", ".join(str(value) for value in described.get("enum", ())):
                meaning = _option_meanings(name).get(field, "")
            is_required = field in schema.get("required", ())
            yield place, _row(field, described, meaning, is_required=is_required)


def _row(name: str, schema: Json, meaning: str, *, is_required: bool) -> str:
    kind = _type(schema)
    if is_required:
        kind += ", required"
    elif schema.get("default") is not None:
        kind += f"; `{json.dumps(schema['default'])}`"
    text = (meaning or _MEANINGS.get(name, "")).replace("|", "\\|").replace("\n", " ")
    return f"| `{name}` | {kind} | {_in_json(text)} |"


def _in_json(meaning: str) -> str:
    """Return a description of a Python argument with the literals of JSON."""
    return _LITERALS.sub(lambda match: _JSON_LITERALS[match[0]], meaning)


def _type(schema: Json) -> str:
    """Return a type in words, for a cell of a table."""
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "anyOf" in schema:
        kinds = dict.fromkeys(_type(kind) for kind in schema["anyOf"])
        return " or ".join(kinds)
    if "$ref" in schema:
        return _class_link(schema["$ref"].rpartition("/")[2])
    kind = str(schema.get("type", "any JSON value"))
    if kind == "array":
        inner = schema.get("items") or {}
        return f"list of {_type(inner)}" if inner else "list"
    return {"object": "object", "string": "text"}.get(kind, kind)


def _class_link(name: str) -> str:
    """Return the name of a class of results, with a link if the Python reference has it."""
    page = "python.md" if name in _python_classes() else ""
    return f"[`{name}`]({page}#{name.lower()})"


@cache
def _python_classes() -> frozenset[str]:
    from docs.python_reference import python_reference

    return frozenset(re.findall(r"^#{2,3} (\w+)$", python_reference(), re.MULTILINE))


@cache
def _option_meanings(body: str) -> Mapping[str, str]:
    """Return the meaning of each option that a body has, from the classes of options."""
    kind = getattr(getattr(requests, body, None), "options_kind", None)
    meanings = _arguments_of(KnowledgeBase.add_text) if body == "TextBody" else {}
    for base in reversed(kind.__mro__ if kind else ()):
        if base.__module__.startswith(options.__name__):
            meanings |= _field_meanings(base)
    return meanings


def _result_meanings(name: str, *, fields: Iterable[str]) -> Mapping[str, str]:
    """Return the meaning of each field of a class of results; other classes may have its name."""
    modules = [module for module in sys.modules if module.startswith("spanwise.")]
    kinds = [getattr(sys.modules[module], name, None) for module in sorted(modules)]
    found = [
        kind
        for kind in kinds
        if isinstance(kind, type) and is_dataclass(kind) and {*fields} <= {*kind.__annotations__}
    ]
    return (_field_meanings(found[0]) if found else {}) | _NAMED_MEANINGS.get(name, {})


def _field_meanings(kind: type) -> dict[str, str]:
    node = ast.parse(inspect.getsource(kind)).body[0]
    body = node.body if isinstance(node, ast.ClassDef) else []
    found = {}
    for part, following in pairwise(body):
        value = following.value if isinstance(following, ast.Expr) else None
        if isinstance(part, ast.AnnAssign) and isinstance(value, ast.Constant):
            found[ast.unparse(part.target)] = " ".join(str(value.value).split())
    return found


def _arguments_of(function: Any) -> dict[str, str]:
    """Return the description of each argument in the docstring of a function."""
    text = (inspect.getdoc(function) or "").partition("Args:\n")[2].partition("\n\n")[0]
    items = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", text, re.MULTILINE)
    return {name: " ".join(meaning.split()) for name, meaning in items}


def _responses(operation: Json) -> Iterator[str]:
    for status, response in operation["responses"].items():
        if not status.isdigit() or int(status) >= 400:
            continue
        kinds = [
            _content(media_type, content.get("schema") or {})
            for media_type, content in response.get("content", {}).items()
        ]
        yield f"Response {status}: {' or '.join(kinds) or 'empty'}."


def _content(media_type: str, schema: Json) -> str:
    if media_type != "application/json":
        return f"`{media_type}`"
    if "$ref" in schema:
        return _class_link(schema["$ref"].rpartition("/")[2])
    fields = schema.get("properties", {})
    if not fields:
        return "a JSON object"
    return "an object with " + ", ".join(
        f"`{name}` ({_type(kind)})" for name, kind in fields.items()
    )
