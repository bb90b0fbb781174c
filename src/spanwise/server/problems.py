"""Errors as problem details (RFC 9457): status, code, what happened and what to do.

Errors of the server (5xx) do not show their message, because it may contain paths of the server.
The log contains it.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import PurePath
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from spanwise.errors import (
    ConflictError,
    CostLimitError,
    DocumentError,
    EmbedderMismatchError,
    FormatError,
    ModelError,
    NotFoundError,
    OptionError,
    SpanwiseError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StorePermissionError,
    StoreUnavailableError,
    argument_faults,
    error_code,
)

_logger = logging.getLogger("spanwise.server")
MEDIA_TYPE = "application/problem+json"

_STATUSES: Sequence[tuple[type[SpanwiseError], int]] = (
    (NotFoundError, 404),
    (ConflictError, 409),
    (OptionError, 422),
    (DocumentError, 422),
    (CostLimitError, 402),
    (ModelError, 502),
    (StoreFullError, 507),
    (StoreBusyError, 503),
    (StoreUnavailableError, 503),
    (StorePermissionError, 403),
    (EmbedderMismatchError, 409),
    (FormatError, 500),
    (StoreError, 500),
    (SpanwiseError, 500),
)
"""HTTP status of each class of errors, by the first class that matches."""
_HIDDEN = {
    403: "the server may not do this in the database of the knowledge base; its log says why",
    500: "the knowledge base cannot be read or written; the log of the server says why",
    502: "a model of the server failed; the log of the server says why",
    503: "another process has been writing to the knowledge base for too long; try again later",
    507: "the disk of the server is full; nothing was changed",
}
"""Texts in place of messages that may contain paths of the server or responses of other servers."""
_UNAVAILABLE = (
    "the database of the knowledge base cannot be reached; try again later, the log of the server "
    "says why"
)
RETRY_SECONDS = 1
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PATH = re.compile(r"(?<![\w:/.])/[^\s'\"();,]+")
"""Absolute path in a message."""
_PHRASES = {**{status.value: status.phrase for status in HTTPStatus}, 499: "Client Closed Request"}


class Problem(HTTPException):
    """Error of a request that the server refuses."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """Create the problem.

        Args:
            status: HTTP status.
            code: Stable code for programs.
            detail: What happened and what to do.
            headers: Additional headers of the response.
            more: Additional members of the JSON form.
        """
        super().__init__(int(status), detail, dict(headers or {}))
        self.code = code
        self.more = dict(more or {})

    def body(self) -> dict[str, Any]:
        """Return the JSON form."""
        body = {
            "type": "about:blank",
            "title": _PHRASES.get(self.status_code, "Error"),
            "status": self.status_code,
            "code": self.code,
            "detail": self.detail,
            **self.more,
        }
        return {name: _encodable(value) for name, value in body.items()}


def too_many_requests() -> Problem:
    """Return the problem of a request above the limit of concurrent requests."""
    return Problem(
        429,
        "too_many_requests",
        "too many requests are being answered; try again",
        headers={"Retry-After": str(RETRY_SECONDS)},
    )


def status_of(kind: type[SpanwiseError]) -> int:
    """Return the HTTP status of a class of errors."""
    return next(status for known, status in _STATUSES if issubclass(kind, known))


def problem_of(error: SpanwiseError) -> Problem:
    """Return the problem of an error of the library."""
    status = status_of(type(error))
    detail = _HIDDEN.get(status, _public_message(error))
    if isinstance(error, StoreUnavailableError):
        detail = _UNAVAILABLE
    if status in _HIDDEN:
        _logger.error("%s: %s", error_code(type(error)), error)
    headers = (
        {"Retry-After": str(RETRY_SECONDS)} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    )
    hides = status in _HIDDEN and not isinstance(error, ModelError)
    more = {} if hides else _attributes(error)
    return Problem(status, error_code(type(error)), detail, headers=headers, more=more)


def _attributes(error: SpanwiseError) -> dict[str, Any]:
    """Return the attributes of an error, from which a client can make it again."""
    if isinstance(error, OptionError):
        return {"faults": list(error.faults)} if error.faults else {}
    if isinstance(error, DocumentError):
        return {"document_code": error.code}
    if isinstance(error, ModelError):
        return {
            "provider": error.provider,
            "model": error.model,
            "model_status": error.status,
            "retryable": error.retryable,
        }
    return {}


def _public_message(error: SpanwiseError) -> str:
    """Return the message of an error without paths of the server."""
    if isinstance(error, ConflictError):
        return (
            "the id belongs to a document from another source, or the knowledge base was changed "
            "meanwhile; use another id, or try again"
        )
    message = str(error)
    if isinstance(error, DocumentError):
        for path in sorted({error.source, *_PATH.findall(message)}, key=len, reverse=True):
            if path.startswith(("/", "\\")) or PurePath(path).is_absolute():
                message = message.replace(path, PurePath(path).name)
    return message


def crash_of(error: Exception) -> Problem:
    """Log an unexpected error and return a problem that shows nothing of it."""
    _logger.error("a request failed: %s", type(error).__name__, exc_info=error)
    return Problem(500, "internal", "an internal error occurred; the log of the server has it")


def add_handlers(app: FastAPI) -> None:
    """Make an application answer every error with problem details."""

    @app.exception_handler(Problem)
    async def refused(_: Request, error: Problem) -> JSONResponse:
        return response_of(error)

    @app.exception_handler(SpanwiseError)
    async def failed(_: Request, error: SpanwiseError) -> JSONResponse:
        return response_of(problem_of(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = _faults_text(error.errors(), error.body)
        return response_of(Problem(422, "invalid_request", faults[:2_000]))

    @app.exception_handler(HTTPException)
    async def refused_by_framework(request: Request, error: HTTPException) -> JSONResponse:
        status = HTTPStatus(error.status_code)
        detail, headers = str(error.detail), dict(error.headers or {})
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers = {"Allow": ", ".join(_methods(request))}
            detail = f"the address does not accept {request.method[:20]}; use {headers['Allow']}"
        elif status == HTTPStatus.NOT_FOUND:
            detail = "the address does not exist; /v1/openapi.json lists the paths"
        return response_of(Problem(status, status.name.lower(), detail, headers=headers))

    @app.exception_handler(Exception)
    async def crashed(_: Request, error: Exception) -> JSONResponse:
        return response_of(crash_of(error))


def _methods(request: Request) -> list[str]:
    """Return the methods that the routes of the address of a request accept."""
    routes: Sequence[BaseRoute] = request.app.router.routes
    found = []
    for method in _METHODS:
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in routes):
            found += ["GET", "HEAD"] if method == "GET" else [method]
    return found


class AnyTextResponse(JSONResponse):
    """JSON whose texts may contain lone surrogates, which UTF-8 cannot represent."""

    def render(self, content: Any) -> bytes:
        """Return the JSON, with lone surrogates as escape sequences."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


def _faults_text(faults: Sequence[Mapping[str, Any]], body: object) -> str:
    """Return the faults of a request as text; places begin with "body" or "query".

    Args:
        faults: The faults.
        body: JSON value of the body; None if it was not read.
    """
    first = faults[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    if first["type"] == "json_invalid":
        return f"the body is not valid JSON at character {place}: {first['ctx']['error']}"
    if not place:
        return "the body is not a JSON object; send one with `Content-Type: application/json`"
    return argument_faults([{**fault, "loc": fault["loc"][1:]} for fault in faults], body)


def response_of(problem: Problem) -> JSONResponse:
    """Return the response of a problem."""
    return AnyTextResponse(
        problem.body(), problem.status_code, headers=problem.headers, media_type=MEDIA_TYPE
    )


def _encodable(value: Any) -> Any:
    """Return a value; a text that UTF-8 cannot represent has question marks in it."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
