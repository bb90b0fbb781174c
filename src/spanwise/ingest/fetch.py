"""HTTP fetching of documents, with limits on size, time, redirects and reachable addresses.

Rules of fetching:
    1. Redirects are followed here, one by one, and only to http and https.
    2. A host is resolved once per connection, all its addresses are checked, and the connection
       goes to a checked address. A later change of the address (DNS rebinding) has no effect. The
       certificate is checked against the host name as usual.
    3. One deadline covers the whole fetch, including each read from the socket: a server that sends
       a byte now and then cannot block for long.
    4. No proxy is used, and no cookies or credentials are sent.
    5. Each address, redirects included, is fetched only if the robots.txt of its server allows it.
       That file is fetched once per `Fetcher`, with the same limits.
    6. A response may be compressed once, with gzip. It is decompressed in bounded pieces, and its
       size and its ratio of decompressed to received bytes are limited.
    7. Signatures and secrets in an address are sent, but appear in no message.

Rules of robots.txt (RFC 9309):
    1. The group for the user agent "spanwise" applies, otherwise the group for "*"; groups with the
       same name are merged. Of a name such as "Spanwise/1.0", only the product token counts: the
       letters, underscores and hyphens at its beginning.
    2. Of the rules that match a path, the longest applies; of two with equal length, the one that
       allows. Without a matching rule the path is allowed.
    3. A pattern may contain "*" for any characters, and "$" at its end for the end of the path. It
       is matched piece by piece, not as a regular expression, which a server could make slow.
    4. If /robots.txt does not exist (4xx), everything is allowed. If the server fails (5xx) or
       cannot be reached, everything is forbidden.
    5. The Crawl-delay of the group applies to crawls. It is not part of the RFC.
"""

from __future__ import annotations

import math
import re
import ssl
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote_to_bytes

import httpcore
import httpx

from spanwise.config.network_addresses import is_public, resolve
from spanwise.errors import FetchError
from spanwise.ingest.locations import fetch_error, unsigned
from spanwise.options import FetchOptions
from spanwise.parsers.containers import MAX_RATIO, is_bomb

MAX_ROBOTS_BYTES = 512_000
"""Maximum bytes read of robots.txt; the RFC permits ignoring the rest."""

_OUR_NAME = "spanwise"
_PRODUCT_TOKEN = re.compile(r"[a-zA-Z_-]*")
_UNRESERVED = "/?#[]@!$&'()*+,;=:-._~"


@dataclass(frozen=True, slots=True)
class _Rule:
    """Rule of a robots.txt: a path pattern that is allowed (`allows`) or forbidden."""

    pieces: tuple[str, ...]
    """Parts of the pattern between the asterisks."""
    to_the_end: bool
    """Whether the pattern ends with "$" and must match up to the end of the path."""
    allows: bool
    length: int
    """Length of the pattern in characters; the longest matching rule applies."""

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
    """Rules of the robots.txt of one server that apply to Spanwise."""

    rules: tuple[_Rule, ...]
    delay_seconds: float = 0.0
    """Crawl-delay: the time between two requests of a crawl, in seconds; 0 if there is none."""

    def allows(self, target: str) -> bool:
        """Return whether a path, including its query, may be fetched."""
        path = _normal(target or "/")
        matching = [rule for rule in self.rules if rule.matches(path)]
        best = max(matching, key=lambda rule: (rule.length, rule.allows), default=None)
        return best is None or best.allows


ALLOW_ALL = Robots(())


def read_robots(text: str) -> Robots:
    """Return the rules of a robots.txt that apply to Spanwise."""
    ours: list[_Rule] = []
    general: list[_Rule] = []
    delays = {True: 0.0, False: 0.0}  # by whether the group names Spanwise
    is_named = names_us = names_all = False
    collecting_names = False
    for line in text.removeprefix("\ufeff").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            if not collecting_names:
                names_us = names_all = False
            collecting_names = True
            names_us = names_us or _product_token(value) == _OUR_NAME
            names_all = names_all or value == "*"
            is_named = is_named or names_us
        elif key in ("allow", "disallow"):
            collecting_names = False
            if value:
                rule = _rule(value, allows=key == "allow")
                ours += [rule] * names_us
                general += [rule] * names_all
        elif key == "crawl-delay":
            collecting_names = False
            seconds = _delay(value)
            delays[True] = max(delays[True], seconds * names_us)
            delays[False] = max(delays[False], seconds * names_all)
    return Robots(tuple(ours if is_named else general), delay_seconds=delays[is_named])


def _product_token(name: str) -> str:
    """Return the product token of the name of a user agent, in lower case."""
    token = _PRODUCT_TOKEN.match(name)
    return "" if token is None else token.group().lower()


def _delay(value: str) -> float:
    """Return the seconds of a Crawl-delay; 0 if it is not a finite, positive number."""
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _rule(pattern: str, *, allows: bool) -> _Rule:
    body = pattern.removesuffix("$")
    pieces = tuple(_normal(piece) for piece in body.split("*"))
    return _Rule(pieces, to_the_end=body != pattern, allows=allows, length=len(pattern))


def _normal(path: str) -> str:
    """Return a path with normalised percent-encoding: "%7e" and "~" are equal."""
    return quote(unquote_to_bytes(path), safe=_UNRESERVED)


_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": "spanwise",
    "Accept": "text/html, application/pdf, text/markdown, text/plain, */*;q=0.5",
    "Accept-Encoding": "gzip",
}
_NOT_MODIFIED = 304
_MAX_HEADER_CHARS = 500
_GZIP = frozenset({"gzip", "x-gzip"})
_GZIP_WINDOW = 31
_PIECE_BYTES = 1 << 16
_MAX_DIGITS = 18
"""Maximum digits of a Content-Length that is parsed."""
_SECONDS_PER_READ = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Downloaded document with the headers of its response."""

    data: bytes
    """Body of the response, decompressed."""
    media_type: str | None
    """Media type in lower case, without parameters; None if the server sent none."""
    url: str
    """Final URL, after redirects."""
    charset: str | None
    """Charset that the server sent; None if not sent."""
    etag: str = ""
    """ETag of the response; empty if not sent."""
    last_modified: str = ""
    """Last-Modified of the response; empty if not sent."""
    is_unmodified: bool = False
    """Whether the server answered a conditional request with "304 Not Modified", without a body."""
    redirect: str = ""
    """Address that the server redirects to, if the request does not follow it; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """Additional conditions of one fetch."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """Additional request headers, such as If-None-Match."""
    max_bytes: int | None = None
    """Maximum size of the response in bytes, if it is lower than `FetchOptions.max_bytes`."""
    head_bytes: int | None = None
    """Number of bytes after which the rest of the body is ignored; None to read all, up to the
    maximum size."""
    follows: bool = True
    """Whether redirects are followed; otherwise the first one is returned."""
    check_address: Callable[[str], None] = lambda _: None
    """Function that is called with each address before its request, redirects included; raises an
    error to reject the address."""
    check_type: Callable[[str | None], None] = lambda _: None
    """Function that is called with the media type before the body is read; raises an error to
    reject it."""


class Fetcher:
    """Fetches documents, and caches the robots.txt rules of their servers. Thread-safe."""

    def __init__(self, options: FetchOptions) -> None:
        self._options = options
        self._robots: dict[httpx.URL, Robots] = {}

    def fetch(self, url: str, request: FetchRequest | None = None) -> Fetched:
        """Return the document at a URL.

        Args:
            url: URL to fetch.
            request: Additional conditions; None for none.

        Raises:
            FetchError: With the code "refused" for an address that is not allowed, "too_large",
                "timeout", or "network" if the server cannot be reached, answers with an error
                status or redirects too often.
        """
        request = request or FetchRequest()
        options = self._options
        if request.max_bytes is not None:
            options = replace(options, max_bytes=min(options.max_bytes, request.max_bytes))

        def check(url: str, current: httpx.URL) -> None:
            request.check_address(str(current))
            self._check_robots(url, current)

        return _fetch(url, options=options, check=check, request=request)

    def delay_seconds(self, url: str) -> float:
        """Return the Crawl-delay of a server; 0 if it has none or robots.txt was not read yet."""
        robots = self._robots.get(httpx.URL(url).join("/robots.txt"), ALLOW_ALL)
        return robots.delay_seconds

    def _check_robots(self, url: str, current: httpx.URL) -> None:
        """Raise an error if robots.txt forbids `current`: `url` or an address it redirects to."""
        if not self._options.robots:
            return
        robots_url = current.join("/robots.txt")
        if robots_url not in self._robots:
            self._robots[robots_url] = self._read_robots(url, robots_url)
        if not self._robots[robots_url].allows(current.raw_path.decode("ascii", "replace")):
            shown = unsigned(str(current))
            raise RobotsError(
                f"{url}: {robots_url} forbids programs to fetch {shown}; ask its owner, or ignore "
                "it (robots=False, --ignore-robots)",
                source=url,
                code="refused",
            )

    def _read_robots(self, url: str, robots_url: httpx.URL) -> Robots:
        options = self._options
        try:
            head = FetchRequest(head_bytes=MAX_ROBOTS_BYTES)
            response = _fetch(str(robots_url), options=options, check=_unchecked, request=head)
        except StatusError as error:
            if 400 <= error.status < 500:
                return ALLOW_ALL
            raise _unknown_robots(url, error) from error
        except FetchError as error:
            if error.code == "refused":  # the address of the server is not allowed
                cause = str(error).removeprefix(f"{robots_url}: ")
                raise type(error)(f"{url}: {cause}", source=url, code="refused") from error
            raise _unknown_robots(url, error) from error
        return read_robots(response.data.decode("utf-8", "replace"))


def _unknown_robots(url: str, error: FetchError) -> FetchError:
    return fetch_error(
        url,
        error.code,
        f"the rules for programs (robots.txt) cannot be read: {error}; or ignore these rules "
        "(robots=False, --ignore-robots)",
    )


class RobotsError(FetchError):
    """The file robots.txt forbids the address."""


class PrivateAddressError(FetchError):
    """The server is in a private network or on this machine."""


class StatusError(FetchError):
    """The server answered with an error status."""

    def __init__(self, url: str, status: int) -> None:
        super().__init__(
            f"{url}: the server answers with status {status}", source=url, code="network"
        )
        self.status = status


_Check = Callable[[str, httpx.URL], None]


def _unchecked(url: str, current: httpx.URL) -> None:
    """Allow every address."""


def _fetch(
    url: str,
    *,
    options: FetchOptions,
    check: _Check,
    request: FetchRequest,
) -> Fetched:
    """Return the document at a URL, after redirects.

    Args:
        url: URL to fetch.
        options: Limits of the fetch.
        check: Function that is called with the URL and each address before its request; raises an
            error to reject the address.
        request: Additional conditions.
    """
    deadline = time.monotonic() + options.timeout_seconds
    shown = unsigned(url)
    with httpx.Client(
        transport=_Transport(shown, options=options, deadline=deadline),
        trust_env=False,
        follow_redirects=False,
        timeout=_SECONDS_PER_READ,
        headers={**_HEADERS, **request.headers},
    ) as client:
        try:
            return _follow(
                client,
                url,
                options=options,
                deadline=deadline,
                check=check,
                request=request,
            )
        except (httpcore.TimeoutException, TimeoutError, _LateError) as exc:
            cause = f"no complete answer within {options.timeout_seconds:g} seconds; "
            advice = "try again or raise timeout_seconds"
            raise fetch_error(shown, "timeout", cause + advice) from exc
        except (httpcore.NetworkError, httpcore.ProtocolError, httpx.HTTPError, OSError) as exc:
            cause = f"cannot be fetched: {exc}; check the address"
            raise fetch_error(shown, "network", cause) from exc
        except (httpx.InvalidURL, UnicodeError) as exc:
            raise fetch_error(shown, "refused", f"is not a valid address: {exc}") from exc


class _LateError(Exception):
    """The deadline has passed."""


def _follow(
    client: httpx.Client,
    url: str,
    *,
    options: FetchOptions,
    deadline: float,
    check: _Check,
    request: FetchRequest,
) -> Fetched:
    current = httpx.URL(url)
    url = unsigned(url)  # as shown in messages
    for _ in range(options.max_redirects + 1):
        _check_url(url, current)
        check(url, current)
        client.cookies.clear()
        with client.stream("GET", current) as response:
            if response.status_code in _REDIRECTS and "location" in response.headers:
                current = current.join(response.headers["location"])
                if request.follows:
                    continue
                return Fetched(
                    data=b"", media_type=None, charset=None, url=url, redirect=str(current)
                )
            is_unmodified = response.status_code == _NOT_MODIFIED and bool(request.headers)
            if not response.is_success and not is_unmodified:
                raise StatusError(url, response.status_code)
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            data = b""
            if not is_unmodified:
                request.check_type(kind or None)
                body = _Pieces(url, response, deadline)
                if request.head_bytes is None:
                    data = _read_body(url, body, response, options=options)
                else:
                    data = _read_head(body, request.head_bytes)
            return Fetched(
                data=data,
                media_type=kind or None,
                url=str(current),
                charset=response.charset_encoding,
                etag=response.headers.get("etag", "")[:_MAX_HEADER_CHARS],
                last_modified=response.headers.get("last-modified", "")[:_MAX_HEADER_CHARS],
                is_unmodified=is_unmodified,
            )
    raise redirects_error(url, options)


def redirects_error(url: str, options: FetchOptions) -> FetchError:
    """Return the error of an address that redirects too often."""
    cause = f"redirects more than {options.max_redirects} times; raise max_redirects"
    return fetch_error(url, "network", cause)


def _check_url(url: str, current: httpx.URL) -> None:
    shown = unsigned(str(current.copy_with(userinfo=b"")))
    if current.userinfo:
        cause = "contains a name or password; fetch it yourself and add the file"
        raise fetch_error(shown, "refused", cause)
    if current.scheme not in {"http", "https"} or not current.host:
        raise fetch_error(url, "refused", f"leads to {shown!r}; only http and https are fetched")


def _read_body(
    url: str, body: Iterable[bytes], response: httpx.Response, *, options: FetchOptions
) -> bytes:
    declared = response.headers.get("content-length", "")
    is_number = declared.isdecimal() and len(declared) <= _MAX_DIGITS
    pieces: list[bytes] = []
    size = int(declared) if is_number else 0
    if size <= options.max_bytes:
        size = 0
        for piece in body:
            size += len(piece)
            if size > options.max_bytes:
                break
            pieces.append(piece)
    if size > options.max_bytes:
        cause = f"has more than max_bytes={options.max_bytes} bytes; raise that limit"
        raise fetch_error(url, "too_large", cause)
    return b"".join(pieces)


def _read_head(body: Iterable[bytes], count: int) -> bytes:
    """Return the first bytes of a body; the rest is not read."""
    head = b""
    for piece in body:
        head += piece
        if len(head) >= count:
            break
    return head[:count]


class _Pieces:
    """Body of a response, decompressed in pieces of bounded size; can be iterated once.

    Raises:
        FetchError: "network" if the body has an encoding that was not requested, or is damaged;
            "too_large" for a decompression bomb.
    """

    def __init__(self, url: str, response: httpx.Response, deadline: float) -> None:
        self._url = url
        self._response = response
        self._deadline = deadline
        named = response.headers.get("content-encoding", "").lower().split(",")
        self._encodings = [name.strip() for name in named if name.strip() not in ("", "identity")]

    def __iter__(self) -> Iterator[bytes]:
        if not self._encodings:
            yield from self._received()
        elif len(self._encodings) == 1 and self._encodings[0] in _GZIP:
            yield from self._decompressed()
        else:
            encodings = ", ".join(self._encodings)
            raise fetch_error(
                self._url,
                "network",
                f"the server encodes its answer as {encodings[:100]!r}, and only a single gzip is "
                "accepted; fetch it yourself and add the file",
            )

    def _received(self) -> Iterator[bytes]:
        for piece in self._response.iter_raw(_PIECE_BYTES):
            if time.monotonic() > self._deadline:
                raise _LateError
            yield piece

    def _decompressed(self) -> Iterator[bytes]:
        decoder = zlib.decompressobj(_GZIP_WINDOW)
        received = size = 0
        try:
            for packed in self._received():
                received += len(packed)
                rest = packed
                while rest:
                    if decoder.eof:  # a gzip file may have several members
                        decoder = zlib.decompressobj(_GZIP_WINDOW)
                    piece = decoder.decompress(rest, _PIECE_BYTES)
                    rest = decoder.unconsumed_tail or decoder.unused_data
                    size += len(piece)
                    self._check_ratio(size, received)
                    yield piece
            yield decoder.flush()
        except zlib.error as exc:
            raise self._damaged(str(exc)) from exc
        if received and not decoder.eof:
            raise self._damaged("it is cut off")

    def _check_ratio(self, size: int, received: int) -> None:
        if is_bomb(size, packed_bytes=received):
            raise fetch_error(
                self._url,
                "too_large",
                f"decompresses to more than {MAX_RATIO} times the bytes that were received, as no "
                "ordinary document does; leave it out",
            )

    def _damaged(self, cause: str) -> FetchError:
        cause = f"its compressed answer is damaged: {cause}; try again"
        return fetch_error(self._url, "network", cause)


class _Transport(httpx.BaseTransport):
    """HTTP transport with the connections of `_Backend`."""

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
    """Network backend that connects only to checked addresses."""

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
                raise PrivateAddressError(
                    f"{self._url}: {shown} is an address inside a private network or this machine; "
                    "allow it (allow_private=True, --allow-private) to fetch it",
                    source=self._url,
                    code="refused",
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
    """Network stream with a deadline on every operation."""

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
        seconds = _remaining(self._deadline, timeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, seconds)
        return _Stream(stream, self._deadline)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _remaining(deadline: float, limit: float | None = None) -> float:
    """Return the seconds until the deadline, at most `limit`.

    Raises:
        _LateError: If the deadline has passed.
    """
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise _LateError
    return seconds if limit is None else min(seconds, limit)
