"""Requests to a Spanwise server: retries, timeouts and errors."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

import httpx

from spanwise.client.failures import error_of
from spanwise.errors import OptionError, ServerError, SpanwiseError, shown
from spanwise.options.checks import check, check_whole
from spanwise.threads import sleep_unless_cancelled

_BUSY = frozenset({429, 503})
_FIRST_WAIT_SECONDS = 0.5
_KEPT_SECONDS = 3.0  # shorter than the server keeps an idle connection, so none ends during a call
_FIRST_ERROR = 300  # redirections are not followed: the key is for one server
_logger = logging.getLogger("spanwise.waits")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """Options for the requests of a client."""

    timeout_seconds: float = 150.0
    """Maximum wait for the response of the server, or for the next piece of it, in seconds, in
    (0, 86,400]. The server ends a request after 120 seconds."""
    connect_seconds: float = 10.0
    """Maximum wait for a connection, in seconds, in (0, 86,400]."""
    retries: int = 4
    """Maximum retries of a request if the server is busy or cannot be reached, from 0 to 100."""
    max_wait_seconds: float = 30.0
    """Maximum wait before a retry, in seconds, in (0, 86,400]. The request fails if the server asks
    for a longer wait."""

    def __post_init__(self) -> None:
        check_whole("retries", self.retries, 0, 100)
        for name in ("timeout_seconds", "connect_seconds", "max_wait_seconds"):
            check(0 < getattr(self, name) <= 86_400, name, getattr(self, name), "in (0, 86,400]")


class Connection:
    """Connections to one server, which are reused."""

    def __init__(self, url: str, *, key: str | None, options: RequestOptions) -> None:
        """Prepare connections; the first request opens one.

        Raises:
            OptionError: If the address is not an HTTP address, or the key has characters that a
                header cannot have.
        """
        self._options = options
        self._url = _checked_address(url)
        headers = {"Accept": "application/json"}
        if key is not None:
            is_text = isinstance(key, str) and key.isascii() and key.isprintable()
            if not is_text or not key.strip():
                raise OptionError("the key is empty or has other characters than printable ASCII")
            headers["Authorization"] = f"Bearer {key}"
        self._client = httpx.Client(
            base_url=self._url,
            headers=headers,
            timeout=httpx.Timeout(options.timeout_seconds, connect=options.connect_seconds),
            limits=httpx.Limits(keepalive_expiry=_KEPT_SECONDS),
        )

    @property
    def url(self) -> str:
        """Address of the server."""
        return self._url

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        parameters: Mapping[str, str | int] | None = None,
    ) -> Any:
        """Return the JSON value of the response to a request.

        Raises:
            SpanwiseError: The error that the server reports.
            ServerError: If the server cannot be reached, or its response is no JSON.
        """
        return self._json(self._bytes(method, path, body, parameters))

    def read_bytes(self, path: str, *, parameters: Mapping[str, str | int] | None = None) -> bytes:
        """Return the body of the response to a GET request.

        Raises:
            SpanwiseError: See `request`.
        """
        return self._bytes("GET", path, None, parameters)

    def events(self, path: str, *, body: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
        """Yield the server-sent events of the response: name and JSON value.

        A caller that stops early closes the connection, which ends the work of the server.

        Raises:
            SpanwiseError: See `request`.
        """
        headers = {"Accept": "text/event-stream"}
        with self._sent("POST", path, body, None, headers) as response:
            yield from map(self._event, _blocks(self._pieces(response)))

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _bytes(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        parameters: Mapping[str, str | int] | None,
    ) -> bytes:
        with self._sent(method, path, body, parameters, {}) as response:
            return b"".join(self._pieces(response))

    @contextmanager
    def _sent(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        parameters: Mapping[str, str | int] | None,
        headers: Mapping[str, str],
    ) -> Iterator[httpx.Response]:
        """Open the response to a request; a busy server gets the request again."""
        try:
            request = self._client.build_request(
                method,
                path,
                params=parameters,
                content=None if body is None else encoded(body),
                headers={**headers, **({"Content-Type": "application/json"} if body else {})},
            )
        except (UnicodeEncodeError, httpx.InvalidURL) as error:
            raise OptionError(f"an argument cannot be part of an address: {error}") from error
        retry, failure = 0, SpanwiseError()
        while True:
            try:
                response = self._client.send(request, stream=True)
            except httpx.TransportError as error:
                wait = _FIRST_WAIT_SECONDS * 2**retry if _was_not_read(error) else None
                failure = self._unreachable(error)
            else:
                if response.status_code < _FIRST_ERROR:
                    break
                wait = _wait_of(response, retry)
                failure = self._refusal(response)
            is_last = retry >= self._options.retries
            if wait is None or wait > self._options.max_wait_seconds or is_last:
                raise failure
            retry += 1
            _logger.info("waiting for %s: retry %d of %d", self._url, retry, self._options.retries)
            sleep_unless_cancelled(wait)
        try:
            yield response
        finally:
            response.close()

    def _refusal(self, response: httpx.Response) -> SpanwiseError:
        """Return the error of a response, which is closed."""
        try:
            text = b"".join(self._pieces(response))
            body = json.loads(text)
        except (ServerError, ValueError, RecursionError):
            body = None
        finally:
            response.close()
        return error_of(response.status_code, body)

    def _pieces(self, response: httpx.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_bytes()
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> ServerError:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return ServerError(
                f"the server at {self._url} cannot be reached ({_reason(error)}); check the "
                "address, and that `spanwise serve` is running"
            )
        if isinstance(error, httpx.TimeoutException):
            return ServerError(
                f"the server at {self._url} did not answer within "
                f"{self._options.timeout_seconds:g} s; raise `timeout_seconds`, or ask for less"
            )
        return ServerError(
            f"the connection to {self._url} broke before the response was complete "
            f"({_reason(error)}); try again"
        )

    def _event(self, block: bytes) -> tuple[str, Any]:
        name, data = "message", b""
        for line in block.split(b"\n"):
            field, _, value = line.partition(b":")
            if field == b"event":
                name = value.strip().decode("utf-8", "replace")
            elif field == b"data":
                data += value
        return name, self._json(data)

    def _json(self, text: bytes) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ServerError(
                f"the response of {self._url} is no JSON; check that the address is that of "
                "`spanwise serve`"
            ) from error


def encoded(body: Mapping[str, object]) -> bytes:
    """Return the arguments of a request as JSON; arguments that are None are left out.

    Raises:
        OptionError: If a value cannot be represented in JSON.
    """
    given = {name: value for name, value in body.items() if value is not None}
    try:
        return json.dumps(given, default=_json_value).encode("ascii")
    except (TypeError, ValueError) as error:
        raise OptionError(f"an argument cannot be sent: {error}") from error


def _json_value(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{shown(value)} cannot be represented in JSON")


def _blocks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the blocks of an event stream, which an empty line ends.

    Only line feeds count: JSON texts may contain other characters that end lines.
    """
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n\n")
        yield from filter(None, whole)


def _was_not_read(error: httpx.TransportError) -> bool:
    """Return whether the server has not begun with the request, so that it can be sent again."""
    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)


def _wait_of(response: httpx.Response, retry: int) -> float | None:
    """Return the seconds before a request is sent again; None if a retry is of no use."""
    if response.status_code not in _BUSY:
        return None
    asked = response.headers.get("Retry-After", "")
    backoff: float = _FIRST_WAIT_SECONDS * 2**retry
    return max(float(asked), backoff) if asked.isdecimal() else backoff


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _checked_address(url: str) -> str:
    """Return an address without a slash at its end.

    Raises:
        OptionError: If it is not the address of a server.
    """
    try:
        parsed = httpx.URL(url)
    except (TypeError, httpx.InvalidURL) as error:
        raise OptionError(f"url is {shown(url)}; give an address: http://127.0.0.1:8000") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise OptionError(f"url is {shown(url)}; give an address such as http://127.0.0.1:8000")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise OptionError(
            "url has a user, query or fragment; give scheme, host, port and path, and the key as "
            "`key`"
        )
    return str(url).rstrip("/").removesuffix("/v1")
