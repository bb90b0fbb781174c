"""A small compressed response cannot take much memory, and costs one document at most."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.integration.commands import environment
from tests.servers.scripted import Reply, ScriptedServer

from spanwise.errors import FetchError, ModelAnswerError
from spanwise.ingest.fetch import Fetcher
from spanwise.models.rerankers.http_reranker import make_http_reranker
from spanwise.options import FetchOptions, ModelOptions

LOCAL = FetchOptions(allow_private=True, robots=False, timeout_seconds=20)
ZEROS = gzip.compress(bytes(60_000_000))
ANSWERS = {
    "/twice": (gzip.compress(gzip.compress(bytes(400_000_000), 1)), "gzip, gzip"),
    "/bomb": (ZEROS, "gzip"),
    "/br": (b"\x0b\x02\x80text\x03", "br"),
    "/deflate": (zlib.compress(b"text"), "deflate"),
    "/page": (gzip.compress(b"some text"), "GZIP"),
    "/members": (gzip.compress(b"some ") + gzip.compress(b"text"), "x-gzip"),
    "/identity": (b"some text", "identity"),
    "/empty": (b"", "gzip"),
    "/cut": (gzip.compress(b"some text")[:-6], "gzip"),
    "/damaged": (b"no gzip at all", "gzip"),
    "/robots.txt": (ZEROS, "gzip"),
}


class Handler(BaseHTTPRequestHandler):
    """Answers by path, compressed as `ANSWERS` says."""

    def do_GET(self) -> None:
        body, encoding = ANSWERS[self.path]
        self.send_response(200)
        self.send_header("Content-Encoding", encoding)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(body)

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


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/twice", "network"),
        ("/br", "network"),
        ("/deflate", "network"),
        ("/bomb", "too_large"),
        ("/cut", "network"),
        ("/damaged", "network"),
    ],
)
def test_what_is_not_gzip_once_is_refused(server: str, path: str, code: str) -> None:
    with pytest.raises(FetchError) as caught:
        Fetcher(LOCAL).fetch(server + path)
    assert caught.value.code == code


@pytest.mark.parametrize("path", ["/page", "/members", "/identity"])
def test_what_is_asked_for_is_decompressed(server: str, path: str) -> None:
    assert Fetcher(LOCAL).fetch(server + path).data == b"some text"


def test_an_empty_answer_is_empty(server: str) -> None:
    assert Fetcher(LOCAL).fetch(f"{server}/empty").data == b""


def test_only_the_beginning_of_robots_txt_is_decompressed(server: str) -> None:
    """What comes after the limit of the standard is not looked at, and forbids nothing."""
    options = FetchOptions(allow_private=True, timeout_seconds=20)
    assert Fetcher(options).fetch(f"{server}/page").data == b"some text"


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))
from spanwise import KnowledgeBase
from spanwise.options import FetchOptions, ParseOptions
fetch = FetchOptions(allow_private=True, robots=False)
with KnowledgeBase(":memory:", embedder=None, fetch=fetch) as knowledge_base:
    report = knowledge_base.add(*sys.argv[1:])
print(len(report.added), [failure.code for failure in report.failed])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_a_hostile_response_costs_one_document(server: str, tmp_path: Path) -> None:
    """Under a limit of memory that the response would break, the others go in."""
    (tmp_path / "note.txt").write_text("A note about tolls.")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, f"{server}/twice", f"{server}/bomb", "note.txt"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("1 ['network', 'too_large']", "")


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "deflate"])
def test_a_reranker_whose_answer_is_compressed_is_refused(encoding: str) -> None:
    """It was not asked for, and a piece of it could expand to any size."""
    reply = Reply(body=ZEROS, headers={"Content-Encoding": encoding})
    with ScriptedServer(reply) as server:
        reranker = make_http_reranker(f"server:m@{server.url}", ModelOptions(retries=0))
        with pytest.raises(ModelAnswerError):
            reranker.rerank("toll", ["a note about tolls"])
        (received,) = server.received
    assert received.headers["accept-encoding"] == "identity"
