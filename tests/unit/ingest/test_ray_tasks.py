"""Tasks of a Ray cluster, called in this process, and addresses of clusters."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fsspec
import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise.cli.failures import ExitCode
from spanwise.cli.main import main
from spanwise.errors import FetchError, OptionError, ParseError
from spanwise.ingest.ray_tasks import EmbedderActor, ParseRequest, close_parsers, parse
from spanwise.ingest.ray_workers import RayWorkers
from spanwise.ingest.sources import Source
from spanwise.options import ParseOptions
from spanwise.parsers.containers import ContainerError

OPTIONS = ParseOptions()


class RecordingEmbedder:
    """Static embedder that can be held, and fails at one text."""

    name = "tests:recording"
    version = "1"
    dimension = 1

    def __init__(self) -> None:
        """Create an embedder that is not held."""
        self.free = threading.Event()
        self.free.set()
        self.batches: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the length of each text."""
        self.batches.append(list(texts))
        self.free.wait(10)
        if "bad" in texts:
            raise ValueError("a bad text")
        return np.array([[len(text)] for text in texts], dtype=np.float32)


@pytest.fixture(autouse=True, scope="module")
def end_parser() -> Iterator[None]:
    yield
    close_parsers()


def source(**fields: object) -> Source:
    given = {"document_id": "a", "location": "x/a", "root": "x", "path": None, "bytes": 3, **fields}
    return Source(**given)  # type: ignore[arg-type]


def request(data: bytes | None, **fields: object) -> ParseRequest:
    return ParseRequest(source=source(**fields), data=data, options=OPTIONS)


def test_bytes_are_parsed() -> None:
    parsed = parse(request(b"The pier is long."), None, None)
    assert parsed.document is not None
    assert (parsed.document.id, parsed.document.text) == ("a", "The pier is long.")


def test_an_object_is_read_by_the_task() -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/bucket/a", b"The pier is long.")
    try:
        fields = {"root": "memory://bucket", "object_path": "/bucket/a"}
        parsed = parse(request(None, **fields), None, None)
        missing = parse(request(None, **{**fields, "object_path": "/bucket/b"}), None, None)
    finally:
        store.rm("/bucket", recursive=True)
    assert parsed.document is not None
    assert parsed.document.text == "The pier is long."
    assert missing.failure is not None
    assert isinstance(missing.failure.error(), FetchError)


@pytest.mark.parametrize(
    ("data", "kind", "code"),
    [
        (b"", ParseError, "empty"),
        (b"%PDF-1.7\nnothing", ParseError, "corrupt"),
        (b"PK\x05\x06" + bytes(18), ContainerError, "unsupported"),
    ],
)
def test_a_failure_keeps_its_class_and_code(data: bytes, kind: type[ParseError], code: str) -> None:
    failure = parse(request(data), None, None).failure
    assert failure is not None
    error = failure.error()
    assert type(error) is kind
    assert (error.code, error.source) == (code, "x/a")


def test_texts_of_several_tasks_are_embedded_together() -> None:
    embedder = RecordingEmbedder()
    actor = EmbedderActor(embedder)
    embedder.free.clear()
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(actor.embed, ["a"])
        while not embedder.batches:
            time.sleep(0.001)
        others = [threads.submit(actor.embed, [text, text]) for text in ("bb", "ccc")]
        time.sleep(0.1)
        embedder.free.set()
        assert first.result().tolist() == [[1]]
        assert [future.result().tolist() for future in others] == [[[2], [2]], [[3], [3]]]
    assert len(embedder.batches) == 2


def test_a_text_that_fails_is_not_charged_to_other_tasks() -> None:
    embedder = RecordingEmbedder()
    actor = EmbedderActor(embedder)
    embedder.free.clear()
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(actor.embed, ["a"])
        while not embedder.batches:
            time.sleep(0.001)
        bad, good = (threads.submit(actor.embed, [text]) for text in ("bad", "good"))
        time.sleep(0.1)
        embedder.free.set()
        first.result()
        assert good.result().tolist() == [[4]]
        with pytest.raises(RuntimeError, match="a bad text"):
            bad.result()


def test_ray_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OptionError, match=r"pip install 'spanwise\[ray\]'"):
        RayWorkers("ray://127.0.0.1:10001", options=OPTIONS)


@pytest.mark.parametrize("address", ["ray://", "ray://head", "ray://head:", "ray://:10001"])
def test_an_address_names_host_and_port(address: str) -> None:
    pytest.importorskip("ray", reason="Ray has no wheel for this platform")
    with pytest.raises(OptionError, match="ray://HOST:PORT"):
        RayWorkers(address, options=OPTIONS)


@pytest.fixture
def closed_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def test_the_command_creates_nothing_without_its_cluster(
    tmp_path: Path, closed_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="Ray has no wheel for this platform")
    (tmp_path / "a.txt").write_text("The margin fell.")
    base, workers = tmp_path / "new.kb", f"ray://127.0.0.1:{closed_port}"
    command = ["add", str(tmp_path / "a.txt"), "--kb", str(base), "--workers", workers]
    assert main(command) == ExitCode.USAGE
    assert "cannot be reached" in capsys.readouterr().err
    assert not base.exists()


def test_a_cluster_that_does_not_answer_is_an_error(closed_port: int) -> None:
    pytest.importorskip("ray", reason="Ray has no wheel for this platform")
    with pytest.raises(OptionError, match="cannot be reached"):
        RayWorkers(f"ray://127.0.0.1:{closed_port}", options=OPTIONS)
