"""Exceptions made from the problem details of a server."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from spanwise import errors
from spanwise.errors import (
    DocumentError,
    DocumentErrorCode,
    ModelError,
    OptionError,
    PackError,
    ServerError,
    SpanwiseError,
    UntrustedAddressError,
    error_code,
)

_CLASSES: Mapping[str, type[SpanwiseError]] = {
    error_code(kind): kind
    for kind in (getattr(errors, name) for name in errors.__all__)
    if isinstance(kind, type) and issubclass(kind, SpanwiseError) and kind is not ServerError
}
_OF_ARGUMENTS = frozenset(
    {"invalid_request", "no_language_model", "page_not_found", "figure_not_found"}
)
"""Codes of the server for arguments that it does not accept."""
_NO_ROUTE = frozenset({"not_found", "method_not_allowed"})
"""Codes of a server that lacks the route of a request."""


def error_of(
    status: int, body: object, *, route: str = "the request", note: str = ""
) -> SpanwiseError:
    """Return the exception of a problem: the one that the library raised on the server.

    Args:
        status: HTTP status of the response.
        body: JSON value of the response; anything other than problem details gives a `ServerError`.
        route: Method and path of the request.
        note: End of the message if the versions of server and client may be the cause.
    """
    problem = body if isinstance(body, Mapping) else {}
    code, detail = str(problem.get("code", "")), str(problem.get("detail", ""))
    if code in _NO_ROUTE:
        cause = note or "; use the same version of Spanwise for the server and the client"
        detail = f"the server has no route {route}{cause}"
    elif code == "invalid_request":
        detail += note
    kind = _class_of(code)
    if kind is None:
        return ServerError(detail or _described(status), status=status)
    if issubclass(kind, OptionError):
        error = kind(detail)
        faults = problem.get("faults")
        error.faults = tuple(map(str, faults)) if isinstance(faults, list) else ()
        return error
    if issubclass(kind, DocumentError):
        cause = cast("DocumentErrorCode", str(problem.get("document_code", "")))
        return kind(detail, source=str(problem.get("source", "")), code=cause)
    if issubclass(kind, ModelError):
        return _model_error(kind, detail, problem)
    if issubclass(kind, UntrustedAddressError):
        return kind(detail, address="")
    return kind(detail)


def _class_of(code: str) -> type[SpanwiseError] | None:
    """Return the class of errors with a code of the server; None for `ServerError`."""
    if code in _NO_ROUTE:
        return None
    if code == "pack_not_found":
        return PackError
    return OptionError if code in _OF_ARGUMENTS else _CLASSES.get(code)


def _model_error(kind: type[ModelError], detail: str, problem: Mapping[str, Any]) -> ModelError:
    status = problem.get("model_status")
    return kind(
        detail,
        provider=str(problem.get("provider", "")),
        model=str(problem.get("model", "")),
        status=status if isinstance(status, int) else None,
        retryable=problem.get("retryable") is True,
    )


def _described(status: int) -> str:
    known = {one.value: one.phrase for one in HTTPStatus}
    return (
        f"the server answered with status {status} ({known.get(status, 'unknown')}) and without "
        "problem details; check that the address is that of `spanwise serve`"
    )
