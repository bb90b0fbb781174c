"""Code shared by the blocking and the asynchronous client: requests, retries, responses, errors."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import httpx

from spanwise import __version__
from spanwise.client.failures import error_of
from spanwise.client.steps import Call
from spanwise.errors import OptionError, ServerError, SpanwiseError, shown
from spanwise.options.checks import check, check_whole

_BUSY = frozenset({429, 503})
_FIRST_WAIT_SECONDS = 0.5
_KEPT_SECONDS = 3.0  # shorter than the server keeps an idle connection, so none ends during a call
_VERSION_HEADER = "Spanwise-Version"
_MAX_VERSION_CHARS = 40


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
    ca_file: str | Path | None = None
    """PEM file with certificates that are trusted in place of the usual ones; None for those."""

    def __post_init__(self) -> None:
        check_whole("retries", self.retries, 0, 100)
        for name in ("timeout_seconds", "connect_seconds", "max_wait_seconds"):
            check(0 < getattr(self, name) <= 86_400, name, getattr(self, name), "in (0, 86,400]")


class Session:
    """Address, key and options of a client, and the interpretation of responses."""

    def __init__(self, url: str, *, key: str | None, options: RequestOptions) -> None:
        """Check the arguments of a client; nothing is sent.

        Raises:
            OptionError: If the address is not an HTTP address, the key has characters that a header
                cannot have, or the certificates cannot be read.
        """
        self.url = _checked_address(url)
        self.options = options
        self._headers = {"Accept": "application/json"}
        if key is not None:
            is_text = isinstance(key, str) and key.isascii() and key.isprintable()
            if not is_text or not key.strip():
                raise OptionError("the key is empty or has other characters than printable ASCII")
            self._headers["Authorization"] = f"Bearer {key}"
        self._trust = _trusted(options.ca_file)
        self._server_version = ""

    def client_options(self) -> dict[str, Any]:
        """Return the arguments of the HTTP client, which follows no redirections."""
        options = self.options
        return {
            "base_url": self.url,
            "headers": self._headers,
            "timeout": httpx.Timeout(options.timeout_seconds, connect=options.connect_seconds),
            "limits": httpx.Limits(keepalive_expiry=_KEPT_SECONDS),
            "verify": self._trust,
        }

    def request(
        self, client: httpx.Client | httpx.AsyncClient, call: Call, *, is_stream: bool
    ) -> httpx.Request:
        """Return the HTTP request of a call.

        Raises:
            OptionError: If an argument cannot be sent.
        """
        headers = {"Accept": "text/event-stream"} if is_stream else {}
        content: dict[str, Any] = {}
        if call.files:
            content["files"] = [("file", (name, file)) for name, file in call.files]
            content["data"] = call.form
        elif call.body is not None:
            headers["Content-Type"] = "application/json"
            content["content"] = encoded(call.body)
        try:
            return client.build_request(
                call.method, call.path, params=call.parameters, headers=headers, **content
            )
        except (UnicodeEncodeError, httpx.InvalidURL) as error:
            raise OptionError(f"an argument cannot be part of an address: {error}") from error

    def result(self, call: Call, response: httpx.Response) -> Any:
        """Return the body of a response, as bytes or as the value of its JSON.

        Raises:
            ServerError: If it is not JSON.
        """
        self._note_version(response)
        return response.content if call.reads_bytes else self.json_value(response.content)

    def json_value(self, text: bytes) -> Any:
        """Return a JSON value of the server.

        Raises:
            ServerError: If it is not JSON.
        """
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ServerError(
                f"the response of {self.url} is no JSON; check that the address is that of "
                "`spanwise serve`"
            ) from error

    def refusal(self, call: Call, response: httpx.Response) -> SpanwiseError:
        """Return the error that a response reports."""
        self._note_version(response)
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError):
            body = None
        return error_of(
            response.status_code,
            body,
            route=f"{call.method} {call.path}",
            note=self.version_note(),
        )

    def failure(self, error: Exception) -> ServerError:
        """Return the error of a request without a complete response."""
        reason = str(error) or type(error).__name__
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return ServerError(
                f"the server at {self.url} cannot be reached ({reason}); check the "
                "address, and that `spanwise serve` is running"
            )
        if isinstance(error, httpx.TimeoutException):
            return ServerError(
                f"the server at {self.url} did not answer within "
                f"{self.options.timeout_seconds:g} s; raise `timeout_seconds`, or ask for less"
            )
        return ServerError(
            f"the connection to {self.url} broke before the response was complete "
            f"({reason}); try again"
        )

    def version_note(self) -> str:
        """Return a remark for errors if the server has another version; empty otherwise."""
        found = self._server_version
        if not found or found == __version__:
            return ""
        return (
            f"; the server runs Spanwise {found}, and this client is {__version__}: use the same "
            "version"
        )

    def _note_version(self, response: httpx.Response) -> None:
        found = response.headers.get(_VERSION_HEADER, "")
        self._server_version = found[:_MAX_VERSION_CHARS] if found.isprintable() else ""


class Attempts:
    """Attempts to send one request.

    A request that the server has refused because it is busy, or has not received, is sent again. A
    request that it may have begun is sent again only if the call changes nothing.
    """

    def __init__(self, session: Session, call: Call) -> None:
        """Begin with no retry."""
        self.retries = 0
        self._session = session
        self._call = call

    def wait_after_error(self, error: httpx.RequestError) -> float:
        """Return the seconds before the next attempt.

        Raises:
            ServerError: If there is none.
        """
        was_not_read = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        has_broken = isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)
        is_repeated = was_not_read or (has_broken and not self._call.changes)
        failure = self._session.failure(error)
        failure.__cause__ = error
        return self._wait(0 if is_repeated else None, failure)

    def wait_after_refusal(self, response: httpx.Response) -> float:
        """Return the seconds before the next attempt.

        Raises:
            SpanwiseError: The error that the response reports, if there is no next attempt.
        """
        asked = response.headers.get("Retry-After", "")
        seconds = float(asked) if asked.isascii() and asked.isdecimal() else 0.0
        failure = self._session.refusal(self._call, response)
        return self._wait(seconds if response.status_code in _BUSY else None, failure)

    def _wait(self, asked: float | None, failure: SpanwiseError) -> float:
        """Return the longer of the wait that the server asks for and the backoff."""
        options = self._session.options
        backoff: float = _FIRST_WAIT_SECONDS * 2**self.retries
        wait = max(asked or 0.0, backoff)
        if asked is None or self.retries >= options.retries or wait > options.max_wait_seconds:
            raise failure
        self.retries += 1
        return wait


class EventReader:
    """Incremental reader of a stream of server-sent events.

    Only line feeds end lines: JSON texts may contain other characters that end lines.
    """

    def __init__(self, session: Session) -> None:
        """Begin with an empty stream."""
        self._session = session
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[tuple[str, Any]]:
        """Yield the events that a piece of the stream completes: name and JSON value.

        Raises:
            ServerError: If a value is not JSON.
        """
        *blocks, self._rest = (self._rest + piece).split(b"\n\n")
        for block in filter(None, blocks):
            name, data = "message", b""
            for line in block.split(b"\n"):
                field, _, value = line.partition(b":")
                if field == b"event":
                    name = value.strip().decode("utf-8", "replace")
                elif field == b"data":
                    data += value
            if data:  # a block without data is a comment that keeps the connection open
                yield name, self._session.json_value(data)


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


def _trusted(ca_file: str | Path | None) -> ssl.SSLContext | bool:
    """Return the certificates that are trusted; True for those of httpx.

    Raises:
        OptionError: If the file cannot be read.
    """
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except OSError as error:  # also ssl.SSLError
        raise OptionError(
            f"ca_file is {shown(str(ca_file))}, which cannot be read: {error}; give a PEM file"
        ) from error


def _checked_address(url: str) -> str:
    """Return an address without a slash at its end.

    Raises:
        OptionError: If it is not the address of a server.
    """
    try:
        parsed = httpx.URL(url)
    except (TypeError, UnicodeEncodeError, httpx.InvalidURL) as error:
        raise OptionError(f"url is {shown(url)}; give an address: http://127.0.0.1:8000") from error
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise OptionError(
            "url has a user, query or fragment; give scheme, host, port and path, and the key as "
            "`key`"
        )
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise OptionError(f"url is {shown(url)}; give an address such as http://127.0.0.1:8000")
    return str(url).rstrip("/").removesuffix("/v1")
