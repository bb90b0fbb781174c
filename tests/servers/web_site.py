"""Web site on this machine, made of pages in a dictionary, that records its requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(slots=True)
class Answer:
    """Answer to the requests of one path."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def page(text: str, *links: str, head: str = "") -> Answer:
    """Return a page with a paragraph and links."""
    anchors = "".join(f'<a href="{link}">{number}</a> ' for number, link in enumerate(links))
    body = f"<html><head>{head}</head><body><p>{text}</p>{anchors}</body></html>"
    return Answer(body.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def redirect(target: str) -> Answer:
    """Return a redirect."""
    return Answer(b"", 302, {"Location": target})


@dataclass(slots=True)
class Site:
    """Running web site."""

    url: str
    pages: dict[str, Answer]
    """Answers by path; they may be changed."""
    asked: list[str] = field(default_factory=list)
    """Requested paths, without robots.txt."""
    seconds: list[float] = field(default_factory=list)
    """Time of each request in `asked`."""
    unmodified: list[str] = field(default_factory=list)
    """Paths that were answered by "304 Not Modified"."""


@contextmanager
def serving(pages: Mapping[str, Answer]) -> Iterator[Site]:
    """Serve pages; an ETag is sent and honoured if the answer has one."""
    site = Site(url="", pages=dict(pages))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path
            if path != "/robots.txt":
                site.asked.append(path)
                site.seconds.append(time.monotonic())
            answer = site.pages.get(path, Answer(b"missing", 404))
            tag = answer.headers.get("ETag")
            if tag and self.headers.get("If-None-Match") == tag:
                site.unmodified.append(path)
                answer = Answer(b"", 304, {"ETag": tag})
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        site.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
