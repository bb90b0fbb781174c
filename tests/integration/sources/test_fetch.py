"""URLs are fetched from a real server under limits of size, time, redirects and reach."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from spanwise.config import network_addresses as addresses
from spanwise.errors import FetchError
from spanwise.ingest.fetch import Fetched, Fetcher
from spanwise.options import FetchOptions

LOCAL = FetchOptions(allow_private=True, timeout_seconds=10)


def fetch(url: str, *, options: FetchOptions) -> Fetched:
    return Fetcher(options).fetch(url)


class Handler(BaseHTTPRequestHandler):
    """Answers by path."""

    def do_GET(self) -> None:
        name, _, argument = self.path.removeprefix("/").partition("/")
        getattr(self, f"send_{name}", self.send_missing)(argument)

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def send_page(self, _: str) -> None:
        self.answer(b"<p>caf\xe9", Content_Type="text/HTML; charset=ISO-8859-1")

    def send_bare(self, _: str) -> None:
        self.answer(b"bytes")

    def send_host(self, _: str) -> None:
        self.answer(self.headers["Host"].encode())

    def send_redirect(self, target: str) -> None:
        self.answer(b"", 302, Location=target or "/page")

    def send_to(self, count: str) -> None:
        self.answer(b"", 307, Location=f"/to/{int(count) - 1}" if count != "1" else "/bare")

    def send_missing(self, _: str) -> None:
        self.answer(b"no such page", 404)

    def send_promise(self, count: str) -> None:
        self.answer(b"", Content_Length=count)

    def send_large(self, count: str) -> None:
        self.answer(b"x" * int(count))

    def send_packed(self, count: str) -> None:
        self.answer(gzip.compress(b"x" * int(count)), Content_Encoding="gzip")

    def send_drip(self, _: str) -> None:
        self.answer(b"")
        self.drip(b"x")

    def send_header_drip(self, _: str) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        self.drip(b"x")

    def drip(self, piece: bytes) -> None:
        for _ in range(600):
            try:
                self.wfile.write(piece)
                self.wfile.flush()
            except OSError:
                return
            time.sleep(0.1)

    def send_cut(self, _: str) -> None:
        self.answer(b"half", Content_Length="8")

    def send_noise(self, _: str) -> None:
        self.wfile.write(b"\x00\x01\x02 this is no HTTP\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        pass


@pytest.fixture(name="server", scope="module")
def run_server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def fail(url: str, options: FetchOptions = LOCAL) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetch(url, options=options)
    return caught.value


def test_page_is_fetched_with_its_type(server: str) -> None:
    """Bytes as they are, media type and charset apart."""
    assert fetch(f"{server}/page", options=LOCAL) == Fetched(
        data=b"<p>caf\xe9", media_type="text/html", url=f"{server}/page", charset="iso-8859-1"
    )


def test_server_may_name_no_type(server: str) -> None:
    """Then content decides."""
    fetched = fetch(f"{server}/bare", options=LOCAL)
    assert (fetched.media_type, fetched.charset) == (None, None)


def test_name_of_the_host_is_sent(server: str) -> None:
    """The connection goes to the checked address, the request to the name."""
    url = server.replace("127.0.0.1", "localhost")
    assert fetch(f"{url}/host", options=LOCAL).data == url.removeprefix("http://").encode()


def test_redirects_are_followed_up_to_the_limit(server: str) -> None:
    """The final address is reported."""
    assert fetch(f"{server}/redirect/", options=LOCAL).url == f"{server}/page"
    assert fetch(f"{server}/to/5", options=LOCAL).data == b"bytes"
    error = fail(f"{server}/to/6")
    assert error.code == "network"
    assert "max_redirects" in str(error)


@pytest.mark.parametrize("target", ["ftp://a.org/b", "file:///etc/hosts", "http://u:pw@a.org/"])
def test_redirect_to_what_may_not_be_fetched_is_refused(server: str, target: str) -> None:
    """Each hop is checked, and secrets are not shown."""
    error = fail(f"{server}/redirect/{target}")
    assert error.code == "refused"
    assert "pw" not in str(error).removeprefix(f"{server}/redirect/{target}")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/",
    ],
)
def test_private_addresses_are_refused(url: str) -> None:
    """In every way of writing them, before anything is sent."""
    error = fail(url, FetchOptions())
    assert error.code == "refused"
    assert "allow_private" in str(error)
    assert "robots" not in str(error)  # nobody has asked for it
    assert " is an address inside a private network" in str(error)


def test_redirect_to_a_private_address_is_refused(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first hop is taken for public here, the second is not."""
    port = int(server.rpartition(":")[2])
    look_up = socket.getaddrinfo

    def answer(host: str, *args: object, **options: object) -> object:
        host = "127.0.0.1" if host == "public.example" else host
        return look_up(host, *args, **options)  # type: ignore[arg-type]

    real = addresses.is_public
    seen: list[str] = []

    def first_is_public(address: str) -> bool:
        seen.append(address)
        return len(seen) == 1 or real(address)

    monkeypatch.setattr("socket.getaddrinfo", answer)
    monkeypatch.setattr("spanwise.ingest.fetch.is_public", first_is_public)
    error = fail(
        f"http://public.example:{port}/redirect/http://localhost:{port}/page",
        FetchOptions(robots=False),
    )
    assert error.code == "refused"
    assert "localhost" in str(error)


def test_name_is_resolved_once_a_connection(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that changes its answer after the check gains nothing."""
    look_up = socket.getaddrinfo
    asked: list[str] = []

    def answer(host: str, *args: object, **options: object) -> object:
        if host == "rebinding.example":
            asked.append(host)
            host = "127.0.0.1" if len(asked) == 1 else "192.0.2.1"
        return look_up(host, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("socket.getaddrinfo", answer)
    url = server.replace("127.0.0.1", "rebinding.example")
    options = FetchOptions(allow_private=True, robots=False)
    assert fetch(f"{url}/bare", options=options).data == b"bytes"
    assert len(asked) == 1


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.org/b",
        "file:///etc/hosts",
        "no address",
        "http://",
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    """Only http and https, and only what is an address."""
    assert fail(url).code == "refused"


@pytest.mark.parametrize("url", ["http://a.org:99999/", "http://[", "http://a..b/", "http://%00/"])
def test_addresses_without_a_place_are_errors(url: str) -> None:
    """They look like addresses and lead nowhere."""
    assert fail(url).code in {"network", "refused"}


@pytest.mark.parametrize("path", ["missing", "promise/9999999", "redirect/ftp://a.org"])
def test_what_signs_an_address_is_not_shown(server: str, path: str) -> None:
    error = fail(f"{server}/{path}?x-amz-signature=s3cret")
    assert "s3cret" not in f"{error} {error.source}"


def test_a_password_in_a_redirect_is_not_shown(server: str) -> None:
    assert "pa55" not in str(fail(f"{server}/redirect/ftp://user:pa55@a.org"))


def test_password_in_the_address_is_refused_and_not_shown() -> None:
    """It would be stored as the source of the document."""
    error = fail("http://user:pa55@a.org/b")
    assert error.code == "refused"
    assert "pa55" not in str(error)
    assert "pa55" not in error.source


@pytest.mark.parametrize("path", ["promise/2000000", "large/2000000", "packed/2000000"])
def test_size_is_limited(server: str, path: str) -> None:
    """As promised, as sent, and as unpacked."""
    options = FetchOptions(allow_private=True, max_bytes=1_000_000)
    error = fail(f"{server}/{path}", options)
    assert error.code == "too_large"
    assert "1000000" in str(error)


def test_size_at_the_limit_is_fetched(server: str) -> None:
    """The limit itself is allowed."""
    options = FetchOptions(allow_private=True, max_bytes=1000)
    assert len(fetch(f"{server}/packed/1000", options=options).data) == 1000


@pytest.mark.parametrize("path", ["drip", "header_drip"])
def test_time_is_limited_as_a_whole(server: str, path: str) -> None:
    """A server that sends a byte now and then does not hold on."""
    start = time.monotonic()
    error = fail(f"{server}/{path}", FetchOptions(allow_private=True, timeout_seconds=0.7))
    assert error.code == "timeout"
    assert time.monotonic() - start < 20


def test_server_that_does_not_answer_is_a_timeout() -> None:
    """The connection is taken, nothing is said."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        options = FetchOptions(allow_private=True, timeout_seconds=0.5)
        assert fail(f"http://127.0.0.1:{port}/", options).code == "timeout"


@pytest.mark.parametrize("path", ["missing", "cut", "noise"])
def test_bad_answers_are_network_errors(server: str, path: str) -> None:
    """An error status, an answer cut off, and what is no HTTP."""
    error = fail(f"{server}/{path}")
    assert error.code == "network"
    assert error.source == f"{server}/{path}"


def test_server_that_is_not_there_is_a_network_error() -> None:
    """Nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert fail(f"http://127.0.0.1:{port}/").code == "network"


def test_certificate_is_checked_against_the_name(server: str) -> None:
    """A server that speaks no TLS is no https server."""
    assert fail(f"{server.replace('http:', 'https:')}/page").code == "network"
