"""Which network addresses may be fetched, so that a document's URL cannot reach inside.

What a server asks programs not to fetch: robots.txt, as RFC 9309 has it.

Rules
    1. The group that names us counts, else that of "*"; groups of one name are one.
    2. Of the rules that match a path the longest counts, and of two of one length the one that
       allows. Without a rule everything may be fetched.
    3. A pattern may hold "*", for any characters, and "$" at its end, for the end of the path. It
       is matched piece by piece, not as a regular expression, which a server could make slow.
    4. The answer to /robots.txt that is no file (4xx) allows everything, a server that fails (5xx)
       or cannot be reached forbids everything.

Fetching a URL under limits of size, time, redirects and reach.

Rules
    1. Redirects are followed here, one by one; each may lead to http and https alone.
    2. A host is resolved once for a connection, all its addresses are checked, and the connection
       goes to one of those that were checked: a name that changes its address in between (DNS
       rebinding) gains nothing. The certificate is still that of the name.
    3. One deadline covers everything, down to each read from the socket, so that a server that
       sends a byte now and then cannot hold on for long.
    4. No proxy, no cookies, no credentials.
    5. Each address, redirects included, is fetched only if the robots.txt of its server allows it;
       that file is fetched once a `Fetcher`, under the same limits.
    6. What signs an address, or is secret in it, is sent, and stands in no message.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import quote, unquote_to_bytes

import httpcore
import httpx

from spanwise.errors import DocumentErrorCode, FetchError
from spanwise.ingest.url_signatures import unsigned
from spanwise.options import FetchOptions

_NAT64 = ip_network("64:ff9b::/96")


def resolve(host: str, port: int, *, timeout_seconds: float) -> list[str]:
    """Return the addresses of a host, in the order of the resolver, each once.

    Raises:
        OSError: If there are none, or the resolver does not answer in time.
    """
    found: list[str] = []
    failure: list[OSError] = []

    def look_up() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as exc:  # a name that cannot be encoded has no address
            failure.append(exc if isinstance(exc, OSError) else OSError(str(exc)))
            return
        found.extend(dict.fromkeys(str(answer[4][0]) for answer in answers))

    # The resolver takes no time limit, so it is waited for in a thread of its own.
    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    if failure:
        raise failure[0]
    if not found:
        raise TimeoutError("the name service does not answer")
    return found


def is_public(address: str) -> bool:
    """Return whether an address belongs to the public internet, also where it hides another one.

    Private, loopback, link-local, shared, reserved and multicast addresses do not, nor do IPv6
    addresses that carry such an IPv4 address inside (mapped, 6to4, Teredo, NAT64).
    """
    parsed = ip_address(address.partition("%")[0])
    inner = _embedded(parsed) if isinstance(parsed, IPv6Address) else None
    if inner is not None:
        return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


def _embedded(address: IPv6Address) -> IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or int(address) >> 32 == 0:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


MAX_ROBOTS_BYTES = 512_000
"""What is read of it; the rest is ignored, as the RFC permits."""

_OUR_NAME = "spanwise"
_UNRESERVED = "/?#[]@!$&'()*+,;=:-._~"


@dataclass(frozen=True, slots=True)
class _Rule:
    pieces: tuple[str, ...]
    """Between the stars."""
    to_the_end: bool
    allows: bool
    length: int

    def matches(self, path: str) -> bool:
        first, *others = self.pieces
        if not path.startswith(first):
            return False
        at = len(first)
        if self.to_the_end and others:
            last = others.pop()
            if len(path) - len(last) < at or not path.endswith(last):
                return False
            path = path[: len(path) - len(last)]
        elif self.to_the_end:
            return len(path) == at
        for piece in others:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return True


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one server that concern us."""

    rules: tuple[_Rule, ...]

    def allows(self, target: str) -> bool:
        """Return whether a path with its query may be fetched."""
        path = _normal(target or "/")
        matching = [rule for rule in self.rules if rule.matches(path)]
        best = max(matching, key=lambda rule: (rule.length, rule.allows), default=None)
        return best is None or best.allows


ALLOW_ALL = Robots(())


def read_robots(text: str) -> Robots:
    """Return the rules of a robots.txt that concern us."""
    ours: list[_Rule] = []
    general: list[_Rule] = []
    is_named = names_us = names_all = False
    collecting_names = False
    for line in text.splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            if not collecting_names:
                names_us = names_all = False
            collecting_names = True
            names_us = names_us or value.lower() == _OUR_NAME
            names_all = names_all or value == "*"
            is_named = is_named or names_us
        elif key in ("allow", "disallow"):
            collecting_names = False
            if value:
                rule = _rule(value, allows=key == "allow")
                ours += [rule] * names_us
                general += [rule] * names_all
    return Robots(tuple(ours if is_named else general))


def _rule(pattern: str, *, allows: bool) -> _Rule:
    body = pattern.removesuffix("$")
    pieces = tuple(_normal(piece) for piece in body.split("*"))
    return _Rule(pieces, to_the_end=body != pattern, allows=allows, length=len(pattern))


def _normal(path: str) -> str:
    """Return a path with one spelling of each character: "%7e" and "~" are the same."""
    return quote(unquote_to_bytes(path), safe=_UNRESERVED)


_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": "spanwise",
    "Accept": "text/html, application/pdf, text/markdown, text/plain, */*;q=0.5",
}
_SECONDS_PER_READ = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a server sent."""

    data: bytes
    media_type: str | None
    """Lower case, without parameters; None where the server named none."""
    url: str
    """Where it was found in the end, after redirects."""
    charset: str | None
    """As the server named it."""


class Fetcher:
    """Fetches documents, and remembers what servers forbid. Safe for use by several threads."""

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self._robots: dict[httpx.URL, Robots] = {}

    def fetch(self, url: str) -> Fetched:
        """Fetch a document.

        Raises:
            FetchError: "refused" for an address that may not be fetched, "too_large", "timeout",
                or "network" where the server cannot be reached, answers with an error status or
                redirects too often.
        """
        return _fetch(url, options=self._options, check=self._check_robots)

    def _check_robots(self, url: str, current: httpx.URL) -> None:
        """Raise an error if the server forbids an address that fetching a URL leads to."""
        if not self._options.robots:
            return
        place = current.join("/robots.txt")
        if place not in self._robots:
            self._robots[place] = self._read_robots(url, place)
        if not self._robots[place].allows(current.raw_path.decode("ascii", "replace")):
            shown = unsigned(str(current))
            raise _error(
                url,
                "refused",
                f"{place} forbids programs to fetch {shown}; ask its owner, or ignore it "
                "(robots=False, --ignore-robots)",
            )

    def _read_robots(self, url: str, place: httpx.URL) -> Robots:
        try:
            found = _fetch(str(place), options=self._options, check=_unchecked)
        except _StatusError as error:
            if 400 <= error.status < 500:
                return ALLOW_ALL
            raise _unknown_robots(url, error) from error
        except FetchError as error:
            if error.code == "refused":  # the server itself: it is not its rules that are missing
                raise _error(url, "refused", str(error).removeprefix(f"{place}: ")) from error
            raise _unknown_robots(url, error) from error
        return read_robots(found.data[:MAX_ROBOTS_BYTES].decode("utf-8", "replace"))


def _unknown_robots(url: str, error: FetchError) -> FetchError:
    said = (
        f"{url}: whether programs may fetch it cannot be known: {error}; or ignore what the server "
        "forbids (robots=False, --ignore-robots)"
    )
    return FetchError(said, source=url, code=error.code)


class _StatusError(FetchError):
    """A server answers with an error status."""

    def __init__(self, url: str, status: int) -> None:
        super().__init__(
            f"{url}: the server answers with status {status}", source=url, code="network"
        )
        self.status = status


_Check = Callable[[str, httpx.URL], None]


def _unchecked(url: str, current: httpx.URL) -> None:
    """Allow everything."""


def _fetch(url: str, *, options: FetchOptions, check: _Check) -> Fetched:
    """Fetch what is at an address, if the check allows each that it leads to."""
    deadline = time.monotonic() + options.timeout_seconds
    shown = unsigned(url)
    with httpx.Client(
        transport=_Transport(shown, options=options, deadline=deadline),
        trust_env=False,
        follow_redirects=False,
        timeout=_SECONDS_PER_READ,
        headers=_HEADERS,
    ) as client:
        try:
            return _follow(client, url, options=options, deadline=deadline, check=check)
        except (httpcore.TimeoutException, TimeoutError, _LateError) as exc:
            raise FetchError(
                f"{shown}: no complete answer within {options.timeout_seconds:g} seconds; "
                "try again or raise timeout_seconds",
                source=shown,
                code="timeout",
            ) from exc
        except (httpcore.NetworkError, httpcore.ProtocolError, httpx.HTTPError, OSError) as exc:
            raise _error(shown, "network", f"cannot be fetched: {exc}; check the address") from exc
        except (httpx.InvalidURL, UnicodeError) as exc:
            raise _error(shown, "refused", f"is no valid address: {exc}") from exc


def _error(url: str, code: DocumentErrorCode, cause: str) -> FetchError:
    return FetchError(f"{url}: {cause}", source=url, code=code)


class _LateError(Exception):
    """The deadline passed."""


def _follow(
    client: httpx.Client, url: str, *, options: FetchOptions, deadline: float, check: _Check
) -> Fetched:
    current = httpx.URL(url)
    url = unsigned(url)  # as it is shown
    for _ in range(options.max_redirects + 1):
        _check_url(url, current)
        check(url, current)
        client.cookies.clear()
        with client.stream("GET", current) as response:
            if response.status_code in _REDIRECTS and "location" in response.headers:
                current = current.join(response.headers["location"])
                continue
            if not response.is_success:
                raise _StatusError(url, response.status_code)
            data = _read_body(url, response, options=options, deadline=deadline)
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            return Fetched(
                data=data,
                media_type=kind or None,
                url=str(current),
                charset=response.charset_encoding,
            )
    raise _error(
        url, "network", f"redirects more than {options.max_redirects} times; raise max_redirects"
    )


def _check_url(url: str, current: httpx.URL) -> None:
    shown = unsigned(str(current.copy_with(userinfo=b"")))
    if current.userinfo:
        raise _error(
            shown, "refused", "holds a name or password; fetch it yourself and add the file"
        )
    if current.scheme not in {"http", "https"} or not current.host:
        raise _error(url, "refused", f"leads to {shown!r}; only http and https are fetched")


def _read_body(
    url: str, response: httpx.Response, *, options: FetchOptions, deadline: float
) -> bytes:
    promised = response.headers.get("content-length", "")
    pieces: list[bytes] = []
    size = int(promised) if promised.isdecimal() else 0
    if size <= options.max_bytes:
        size = 0
        for piece in response.iter_bytes(1 << 16):
            if time.monotonic() > deadline:
                raise _LateError
            size += len(piece)
            if size > options.max_bytes:
                break
            pieces.append(piece)
    if size > options.max_bytes:
        raise _error(
            url, "too_large", f"has more than max_bytes={options.max_bytes} bytes; raise that limit"
        )
    return b"".join(pieces)


class _Transport(httpx.BaseTransport):
    """Sends requests over connections that `_Backend` opens."""

    def __init__(self, url: str, *, options: FetchOptions, deadline: float) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            network_backend=_Backend(url, options=options, deadline=deadline),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                extensions=request.extensions,
            )
        )
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response))

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        return self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


class _Backend(httpcore.NetworkBackend):
    """Opens connections to checked addresses alone."""

    def __init__(self, url: str, *, options: FetchOptions, deadline: float) -> None:
        self._url = url
        self._options = options
        self._deadline = deadline
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = resolve(host, port, timeout_seconds=_remaining(self._deadline))
        for address in addresses:
            if not self._options.allow_private and not is_public(address):
                shown = host if host == str(address) else f"{host} ({address})"
                raise _error(
                    self._url,
                    "refused",
                    f"{shown} is an address inside a private network or this machine; "
                    "allow it (allow_private=True, --allow-private) to fetch it",
                )
        failure: httpcore.NetworkError | httpcore.TimeoutException | None = None
        for address in addresses:
            try:
                stream = self._sockets.connect_tcp(
                    address,
                    port,
                    timeout=_remaining(self._deadline, timeout),
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.NetworkError, httpcore.TimeoutException) as exc:
                failure = exc
                continue
            return _Stream(stream, self._deadline)
        raise failure or httpcore.ConnectError(f"{host} has no address")


class _Stream(httpcore.NetworkStream):
    """A connection whose every step ends at the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _remaining(self._deadline, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _remaining(self._deadline, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _remaining(self._deadline, timeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _remaining(deadline: float, limit: float | None = None) -> float:
    """Return the seconds left, at most `limit`.

    Raises:
        _LateError: If there are none.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise _LateError
    return left if limit is None else min(left, limit)
