"""What a real server forbids programs is left alone, unless that is ignored."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from spanwise.errors import FetchError
from spanwise.ingest.fetch import Fetcher
from spanwise.options import FetchOptions

OPTIONS = FetchOptions(allow_private=True, timeout_seconds=10)
RULES = b"User-agent: *\nDisallow: /private\n"


class Handler(BaseHTTPRequestHandler):
    """Answers with its rules, redirects to what is private, and pages."""

    rules = RULES
    status = 200
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        target = {"/to-private": "/private/page", "/robots.txt": "/rules"}.get(self.path)
        if target is not None and (self.path != "/robots.txt" or self.status == 301):
            self.send_response(302)
            self.send_header("Location", target)
            self.end_headers()
            return
        is_rules = self.path in ("/robots.txt", "/rules")
        self.send_response(self.status if self.path == "/robots.txt" else 200)
        self.end_headers()
        self.wfile.write(self.rules if is_rules else b"page")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        pass


@contextmanager
def serving(*, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    handler = type("Rules", (Handler,), {"status": status, "asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


@pytest.fixture(name="server")
def run_server() -> Iterator[tuple[str, list[str]]]:
    with serving() as running:
        yield running


@pytest.mark.parametrize("path", ["/private/page", "/private?x", "/to-private"])
def test_what_is_forbidden_is_refused(server: tuple[str, list[str]], path: str) -> None:
    """Also where only a redirect leads to it; nothing forbidden is asked for."""
    url, asked = server
    with pytest.raises(FetchError) as caught:
        Fetcher(OPTIONS).fetch(url + path)
    assert caught.value.code == "refused"
    assert "--ignore-robots" in str(caught.value)
    assert not [one for one in asked if one.startswith("/private")]


def test_it_can_be_ignored(server: tuple[str, list[str]]) -> None:
    url, asked = server
    options = FetchOptions(allow_private=True, robots=False)
    assert Fetcher(options).fetch(f"{url}/private/page").data == b"page"
    assert asked == ["/private/page"]


def test_the_rules_are_fetched_once(server: tuple[str, list[str]]) -> None:
    url, asked = server
    fetcher = Fetcher(OPTIONS)
    for name in ("a", "b", "c"):
        assert fetcher.fetch(f"{url}/{name}").data == b"page"
    assert asked == ["/robots.txt", "/a", "/b", "/c"]


@pytest.mark.parametrize(
    ("status", "allowed"), [(404, True), (403, True), (500, False), (503, False), (301, False)]
)
def test_a_server_without_rules_allows_one_that_fails_forbids(status: int, allowed: bool) -> None:
    """Rules may also be behind a redirect."""
    with serving(status=status) as (url, asked):
        if allowed:
            assert Fetcher(OPTIONS).fetch(f"{url}/private/x").data == b"page"
        else:
            with pytest.raises(FetchError):
                Fetcher(OPTIONS).fetch(f"{url}/private/x")
            assert "/private/x" not in asked
