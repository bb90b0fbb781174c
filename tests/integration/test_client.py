"""The client of a server: busy and broken servers, keys, streams that end early."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi import FastAPI
from tests.contracts import QUESTION, add_contracts, reader
from tests.servers.applications import stop_queues
from tests.servers.capable import capable_answer
from tests.servers.running import running

from spanwise import (
    CrawlOptions,
    GivenParts,
    IngestReport,
    KnowledgeBase,
    ModelOptions,
    RemoteIngest,
    connect,
    connect_async,
)
from spanwise.client import uploads
from spanwise.errors import (
    DocumentNotFoundError,
    ModelAnswerError,
    OptionError,
    ServerError,
    StoreFullError,
)
from spanwise.models.ports import ModelReply, ModelRequest
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.server.options import QueueOptions, RequestLimits
from spanwise.testing.models import ScriptedModel
from spanwise.threads import check_cancelled
from spanwise.types.plain import from_plain

Reply = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as opened:
        opened.add_text("The gross margin fell to 23.1 per cent in 2023.", document_id="report")
        yield opened


@contextmanager
def replying(
    *replies: Reply, bodies: list[bytes] | None = None
) -> Iterator[tuple[str, list[float]]]:
    """Serve replies one after the other, and yield the address and the times of the requests.

    Args:
        replies: Status, headers and body of each response.
        bodies: List to which the bodies of POST requests are added; None for none.
    """
    left, times = list(replies), list[float]()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if bodies is not None:
                bodies.append(body)
            self.do_GET()

        def do_GET(self) -> None:
            times.append(time.monotonic())
            status, headers, body = left.pop(0)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", times
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def problem(status: int, code: str, **headers: str) -> Reply:
    body = {"status": status, "code": code, "detail": f"what happened: {code}"}
    return status, headers, json.dumps(body).encode()


LISTED: Reply = (200, {}, json.dumps({"documents": [], "total": 0}).encode())


def test_a_busy_server_is_asked_again() -> None:
    busy = problem(429, "too_many_requests", **{"Retry-After": "1"})
    with replying(busy, problem(503, "store_busy"), LISTED) as (url, times):
        with connect(url) as kb:
            assert kb.list() == []
        assert len(times) == 3
        assert times[1] - times[0] >= 1


def test_retries_end() -> None:
    busy = problem(429, "too_many_requests")
    with replying(busy, busy) as (url, times):
        with connect(url, retries=1) as kb, pytest.raises(ServerError) as raised:
            kb.list()
        assert raised.value.status == 429
        assert len(times) == 2


def test_a_wait_that_is_too_long_is_not_waited_for() -> None:
    busy = problem(503, "overloaded", **{"Retry-After": "3600"})
    with replying(busy) as (url, _), connect(url) as kb:
        started = time.monotonic()
        with pytest.raises(ServerError, match="overloaded"):
            kb.list()
        assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    "reply",
    [
        (200, {}, b"<html>"),
        (200, {}, b"[]"),
        (200, {}, b'{"documents": [{"id": 3}]}'),
        (500, {}, b"Internal Server Error"),
        (404, {"Content-Type": "text/html"}, b"<html>"),
        (302, {"Location": "http://127.0.0.1:9/"}, b""),
        (200, {"Content-Length": "500"}, b'{"documents": ['),
        (422, {}, b'{"detail": [{"loc": ["body"]}]}'),
        (200, {}, b"[" * 100_000),
        (422, {}, b"[" * 100_000),
    ],
    ids=range(10),
)
def test_a_response_of_another_server_is_an_error(reply: Reply) -> None:
    with replying(reply) as (url, _), connect(url, retries=0) as kb:
        with pytest.raises(ServerError) as raised:
            kb.list()
        assert raised.value.status in (None, reply[0])


def test_a_server_that_is_not_there() -> None:
    with replying() as (url, _):
        pass
    with connect(url, retries=1) as kb, pytest.raises(ServerError, match="spanwise serve"):
        kb.list()


def test_a_slow_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        started = time.monotonic()
        with connect(url, timeout_seconds=0.2) as kb, pytest.raises(ServerError, match="timeout"):
            kb.list()
        assert time.monotonic() - started < 5


def test_errors_of_the_store_have_their_class(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreFullError("the disk of /secret/place is full")

    monkeypatch.setattr(type(base), "remove", full)
    with running(app_of({"reports": base})) as url, connect(url) as kb:
        with pytest.raises(StoreFullError) as raised:
            kb.remove("report")
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "more"),
    [
        ("127.0.0.1:8000", {}),
        ("ftp://127.0.0.1", {}),
        ("http://user:word@127.0.0.1", {}),
        ("http://127.0.0.1", {"key": ""}),
        ("http://127.0.0.1", {"key": 5}),
        ("http://127.0.0.1", {"key": "a\r\nHost: b"}),
        ("http://127.0.0.1", {"knowledge_base": ""}),
        ("http://127.0.0.1", {"knowledge_base": []}),
        ("http://127.0.0.1", {"retries": -1}),
        ("http://127.0.0.1", {"timeout_seconds": 0}),
    ],
)
def test_arguments_are_checked(url: str, more: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        connect(url, **more)


def test_keys(base: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    reader = add_key(file, "reader", role="read")
    with running(app_of({"reports": base}, keys=KeyRing(read_keys(file)))) as url:
        for key, status in ((None, 401), ("wrong", 401), (reader, 403)):
            with connect(url, key=key) as kb, pytest.raises(ServerError) as raised:
                kb.remove("report")
            assert raised.value.status == status
        with connect(f"{url}/v1/", key=reader) as kb:
            assert [one.id for one in kb.list()] == ["report"]
        with connect(url, key=reader, knowledge_base="other") as kb:
            with pytest.raises(ServerError, match="reports") as raised:
                kb.search("margin")
            assert raised.value.status == 404


@pytest.mark.parametrize(
    "arguments",
    [
        {"llm": "openai:gpt-5-mini"},
        {"answer_type": int},
        {"rerank": "cohere:rerank-v3.5"},
        {"rerank": True},
        {},
    ],
    ids=str,
)
def test_what_the_server_does_not_offer(base: KnowledgeBase, arguments: dict[str, Any]) -> None:
    with running(app_of({"reports": base})) as url, connect(url) as kb, pytest.raises(OptionError):
        kb.ask("Why did the margin fall?", **arguments)


def test_a_text_that_no_address_can_contain(base: KnowledgeBase) -> None:
    with running(app_of({"reports": base})) as url, connect(url) as kb:
        with pytest.raises(OptionError):
            kb.list("team = '\ud800'")
        with pytest.raises(DocumentNotFoundError):
            kb.get("\ud800")
        with pytest.raises(OptionError):
            kb.search("margin \ud800")
        for value in (5, ["a"]):
            with pytest.raises(OptionError, match="give one text"):
                kb.remove(value)  # type: ignore[arg-type]


def test_many_requests_use_one_connection(base: KnowledgeBase) -> None:
    clients = set()
    app = app_of({"reports": base}, limits=RequestLimits(concurrent=1))

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        clients.add(scope["client"])
        await app(scope, receive, send)

    with running(counted) as url, connect(url) as kb:
        for _ in range(5):
            assert kb.search("margin").segments
    assert len(clients) == 1


class Endless(ScriptedModel):
    """Model that writes until nobody reads."""

    ended: threading.Event

    def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
        """Yield the beginning of an answer, then white space without end."""
        try:
            whole = capable_answer(request)
            yield whole[: len(whole) // 2]
            while True:
                time.sleep(0.01)
                yield " "
        finally:
            self.ended.set()


def test_a_stream_that_is_closed_ends_the_work() -> None:
    with KnowledgeBase(":memory:") as reports:
        reports.add(Path(__file__).resolve().parents[2] / "examples" / "reports")
        model = Endless(capable_answer)
        Endless.ended = threading.Event()
        with running(app_of({"reports": reports}, llm=model)) as url, connect(url) as kb:
            stream = kb.ask_stream("Why did the margin fall in 2023?", write_queries=False)
            assert next(stream)
            assert not Endless.ended.is_set()
            stream.close()
            assert Endless.ended.wait(10), "the model is still writing"
            with pytest.raises(RuntimeError):
                _ = stream.answer


def test_a_model_that_fails_in_a_stream(base: KnowledgeBase) -> None:
    model = ScriptedModel(lambda _: "no JSON")
    with running(app_of({"reports": base}, llm=model)) as url, connect(url) as kb:
        with pytest.raises(ModelAnswerError) as raised:
            list(kb.ask_stream("Why did the margin fall?", write_queries=False))
        assert raised.value.model


def events(*pieces: tuple[str, object]) -> Reply:
    text = "".join(
        f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n" for name, data in pieces
    )
    return 200, {"Content-Type": "text/event-stream"}, text.encode()


def test_text_with_unusual_line_ends_is_one_piece() -> None:
    text = "a\u2028b\u0085c\x0bd"
    with replying(events(("text", {"text": text}))) as (url, _), connect(url) as kb:
        stream = kb.ask_stream("Why?")
        assert next(stream) == text
        with pytest.raises(ServerError, match="before the answer was complete"):
            next(stream)


def test_a_question_to_each_document_goes_on_after_the_time_limit() -> None:
    answer = reader()

    def slow(request: ModelRequest) -> str:
        time.sleep(0.4)
        return str(answer.generate(request).text)

    with KnowledgeBase(":memory:", models=ModelOptions(concurrency=1)) as contracts:
        add_contracts(contracts)
        app = app_of(
            {"contracts": contracts}, llm=ScriptedModel(slow), limits=RequestLimits(seconds=1.2)
        )
        reached: list[int] = []
        with running(app) as url, connect(url) as kb:
            found = kb.ask_each(
                QUESTION, on_progress=lambda done, _: reached.append(done), write_queries=False
            )
        assert len(found.documents) == 4
        assert reached == [1, 2, 3, 4]


def test_a_knowledge_base_without_a_queue(base: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Text.")
    app = app_of({"reports": base})
    takes_none = pytest.raises(ServerError, match="takes no files")
    with running(app) as url, connect(url) as kb, takes_none:
        kb.add(tmp_path)


def test_threads_share_a_client(base: KnowledgeBase) -> None:
    app = app_of({"reports": base}, limits=RequestLimits(concurrent=2))
    with running(app) as url, connect(url) as kb, ThreadPoolExecutor(6) as pool:
        found = pool.map(lambda _: len(kb.search("margin").segments), range(6))
    assert list(found) == [1] * 6


def test_a_broken_connection_repeats_only_reading_requests() -> None:
    broken: Reply = (200, {"Content-Length": "500"}, b'{"documents": [')
    with replying(broken, LISTED, broken) as (url, times), connect(url) as kb:
        assert kb.list() == []
        with pytest.raises(ServerError, match="broke"):
            kb.ask("Why?")
        assert len(times) == 3


def test_another_version_of_the_server() -> None:
    newer = {"Spanwise-Version": "99.1"}
    with (
        replying(
            (404, newer, b'{"code": "not_found", "detail": "Not Found"}'),
            (422, newer, b'{"code": "invalid_request", "detail": "spread: unknown field"}'),
        ) as (url, _),
        connect(url) as kb,
    ):
        with pytest.raises(ServerError, match=r"99\.1"):
            kb.packs.list()
        with pytest.raises(OptionError, match=r"99\.1"):
            kb.search("Why?")


def test_keys_are_in_no_log_and_no_message(
    base: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    key = "spanwise_abcdefghijklmnopqrstuvwxyz"
    caplog.set_level(logging.DEBUG)
    shown = []
    with running(app_of({"reports": base})) as url, connect(url, key=key) as kb:
        kb.list()
        shown += [repr(kb), repr(vars(kb)), repr(kb.jobs)]
        with pytest.raises(ServerError) as raised:
            kb.jobs.list()
        shown.append(repr(raised.value))
    with connect(url, key=key, retries=0) as kb, pytest.raises(ServerError) as raised:
        kb.list()
    shown += [repr(raised.value), *(record.getMessage() for record in caplog.records)]
    assert not any(key in text for text in shown)


def test_https_with_an_own_certificate(base: KnowledgeBase, tmp_path: Path) -> None:
    certificate, key = own_certificate(tmp_path)
    app = app_of({"reports": base})
    with running(app, ssl_certfile=str(certificate), ssl_keyfile=str(key)) as url:
        with connect(url, ca_file=certificate) as kb:
            assert [record.id for record in kb.list()] == ["report"]
        with connect(url, retries=0) as kb, pytest.raises(ServerError, match="certificate"):
            kb.list()
    with pytest.raises(OptionError, match="ca_file"):
        connect(url, ca_file=tmp_path / "no.pem")
    with pytest.raises(OptionError, match="ca_file"):
        connect(url, ca_file=key)


def own_certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for this machine and its private key, and return their paths."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "spanwise test")])
    now = datetime.now(UTC)
    address = x509.IPAddress(ip_address("127.0.0.1"))
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    signed = builder.sign(key, hashes.SHA256())
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate, private


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[tuple[FastAPI, KnowledgeBase]]:
    """Return an application for a knowledge base in a folder, and the knowledge base."""
    with KnowledgeBase(tmp_path / "reports.kb") as opened:
        app = app_of({"reports": opened}, queue=QueueOptions(max_waiting=2))
        yield app, opened
        stop_queues(app)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Return a folder with 12 documents."""
    root = tmp_path / "many"
    root.mkdir()
    for number in range(12):
        (root / f"{number:02}.md").write_text(f"# Pier {number}\n\nIt is {number} m long.")
    return root


def test_many_files_are_sent_in_several_jobs(
    folder: tuple[FastAPI, KnowledgeBase], many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "_BATCH_FILES", 4)
    monkeypatch.setattr(uploads, "_UNFINISHED_JOBS", 1)
    with running(folder[0]) as url, connect(url) as kb:
        reached: list[int] = []
        report = kb.add(many, on_document=lambda progress: reached.append(progress.documents_done))
        assert report.added == tuple(f"{number:02}.md" for number in range(12))
        assert len(kb.jobs.list()) == 3
        assert reached == sorted(reached)
        assert reached[-1] == 12


def test_a_file_that_is_refused_does_not_stop_the_others(tmp_path: Path, many: Path) -> None:
    (many / "large.md").write_bytes(b"x" * 20_000)
    (many / " odd.md").write_bytes(b"An odd name.")
    with KnowledgeBase(tmp_path / "reports.kb") as opened:
        app = app_of({"reports": opened}, limits=RequestLimits(upload_bytes=15_000))
        with running(app) as url, connect(url) as kb:
            report = kb.add(many)
            app.state.service.queues["reports"].stop()
    assert len(report.added) == 12
    failed = {Path(failure.source).name: failure.code for failure in report.failed}
    assert failed == {"large.md": "too_large", " odd.md": "refused"}


def test_an_interrupt_cancels_the_jobs(
    folder: tuple[FastAPI, KnowledgeBase], many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, goes_on = threading.Event(), threading.Event()
    add = KnowledgeBase.add

    def slow(self: KnowledgeBase, *sources: Any, **arguments: Any) -> Any:
        started.set()
        while not goes_on.wait(0.05):
            check_cancelled()
        return add(self, *sources, **arguments)

    def interrupted(seconds: float) -> None:
        if started.wait(10):
            raise KeyboardInterrupt

    monkeypatch.setattr(KnowledgeBase, "add", slow)
    with running(folder[0]) as url, connect(url) as kb:
        monkeypatch.setattr("spanwise.client.connection.sleep_unless_cancelled", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kb.add(many)
        monkeypatch.undo()
        (job,) = kb.jobs.list()
        with pytest.raises(ServerError, match="cancelled"):
            kb.jobs.wait(job)
        goes_on.set()
        assert len(kb.add(many).added) == 12


def test_a_lost_response_does_not_send_files_twice(
    folder: tuple[FastAPI, KnowledgeBase], many: Path
) -> None:
    app, base = folder
    lost: list[str] = []

    async def losing(scope: Any, receive: Any, send: Any) -> None:
        is_upload = scope["method"] == "POST" and scope["path"].endswith("/documents")
        if not is_upload or lost:
            await app(scope, receive, send)
            return
        lost.append(scope["path"])

        async def cut(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [(b"content-length", b"100000")]
                await send({**message, "headers": headers})
            else:
                await send({**message, "body": b"{", "more_body": True})

        await app(scope, receive, cut)

    with running(losing) as url, connect(url) as kb:
        report = kb.add(many)
        assert len(report.added) == 12
        assert len(kb.jobs.list()) == 1
    assert lost
    assert len(base.list()) == 12


def test_an_addition_is_waited_for_elsewhere(
    folder: tuple[FastAPI, KnowledgeBase], many: Path
) -> None:
    with running(folder[0]) as url:
        with connect(url) as kb:
            sent = kb.add(many, many / "no.md", wait=False)
        assert isinstance(sent, RemoteIngest)
        again = from_plain(RemoteIngest, json.loads(json.dumps(sent.to_dict())))
        with connect(url) as kb:
            report = kb.jobs.wait(again)
            assert len(report.added) == 12
            assert [failure.code for failure in report.failed] == ["unreadable"]
            assert kb.jobs.wait(sent.jobs[0]).added == report.added
            assert kb.jobs.list("done")[0].is_finished
            with pytest.raises(ServerError, match="no job"):
                kb.jobs.get("unknown")
            with pytest.raises(OptionError, match="ingest"):
                kb.jobs.wait(3)  # type: ignore[arg-type]


def test_a_cancelled_task_ends_the_work_of_the_server() -> None:
    with KnowledgeBase(":memory:") as reports:
        reports.add(Path(__file__).resolve().parents[2] / "examples" / "reports")
        model = Endless(capable_answer)
        Endless.ended = threading.Event()

        async def cancelled(url: str) -> None:
            async with connect_async(url) as kb:
                stream = kb.ask_stream("Why did the margin fall in 2023?", write_queries=False)
                assert await anext(stream)

                async def rest() -> None:
                    async for _ in stream:
                        pass

                task = asyncio.create_task(rest())
                await asyncio.sleep(0.1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await asyncio.to_thread(Endless.ended.wait, 10), "the model still writes"

        with running(app_of({"reports": reports}, llm=model)) as url:
            asyncio.run(cancelled(url))


def test_a_cancelled_addition_cancels_its_jobs(
    folder: tuple[FastAPI, KnowledgeBase], many: Path
) -> None:
    async def cancelled(url: str) -> str:
        async with connect_async(url) as kb:
            adding = asyncio.create_task(kb.add(many))
            while not (jobs := await kb.jobs.list()):
                await asyncio.sleep(0.01)
            adding.cancel()
            with pytest.raises(asyncio.CancelledError):
                await adding
            while not (job := await kb.jobs.get(jobs[0].id)).is_finished:
                await asyncio.sleep(0.01)
            return job.state

    with running(folder[0]) as url:
        assert asyncio.run(cancelled(url)) in ("cancelled", "done")


def test_options_of_jobs_are_sent(many: Path) -> None:
    """The server of this test only records what the client sends."""
    job = {"id": "a", "state": "done", "kind": "upload", "documents": [], "replace": True}
    row = {**job, "created_at": "", "report": IngestReport().to_dict()}
    listed: Reply = (200, {}, json.dumps({"jobs": []}).encode())
    done: Reply = (200, {}, json.dumps(row).encode())
    missing = problem(404, "document_not_found")
    bodies: list[bytes] = []
    with (
        replying(missing, listed, done, done, bodies=bodies) as (url, _),
        connect(url) as kb,
    ):
        kb.add(many / "00.md", given={"00.md": GivenParts(title="Zero"), "no.md": GivenParts()})
    (body,) = bodies
    options = body.partition(b'name="options"')[2].split(b"\r\n")[2]
    assert list(json.loads(options)["given"]) == ["00.md"]
    bodies.clear()
    crawl = CrawlOptions(depth=1)
    with replying(listed, done, done, bodies=bodies) as (url, _), connect(url) as kb:
        kb.add("http://example.com/", crawl=crawl, include=["/a/*"], metadata={"team": "hr"})
    sent = json.loads(bodies[0])
    assert sent["metadata"] == {"team": "hr"}
    assert sent["crawl"]["depth"] == 1
    assert (sent["include"], sent["url"]) == (["/a/*"], "http://example.com/")
