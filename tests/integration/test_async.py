"""`AsyncKnowledgeBase`: the same methods and results, several at once, and cancellation."""

from __future__ import annotations

import asyncio
import inspect
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.rebuilds import fill, found_ids
from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise import AsyncKnowledgeBase, ChunkOptions, KnowledgeBase
from spanwise.answers.stored_threads import Threads
from spanwise.answers.stream import AnswerStream
from spanwise.errors import DocumentNotFoundError, OptionError
from spanwise.ingest import Ingestor
from spanwise.ingest.edit import MetadataEditor
from spanwise.knowledge_base.asynchronous import AsyncAnswerStream, AsyncPacks, AsyncThreads
from spanwise.packs.pack_manager import Packs
from spanwise.stores import check, embedded, flush
from spanwise.stores.connections import cancellable
from spanwise.stores.memory import MemoryStore
from spanwise.stores.row_checksums import stored_row
from spanwise.stores.space import reclaim_all
from spanwise.testing.models import ScriptedModel
from spanwise.threads import run_in_thread
from spanwise.types import IngestProgress

TEXT = "The gross margin fell because freight cost more. The mill was closed in May."
QUESTION = "Why did the gross margin fall?"


def _public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("asynchronous", "blocking"),
    [
        (AsyncKnowledgeBase, KnowledgeBase),
        (AsyncThreads, Threads),
        (AsyncPacks, Packs),
        (AsyncAnswerStream, AnswerStream),
    ],
)
def test_every_method_has_an_asynchronous_one(asynchronous: type, blocking: type) -> None:
    assert _public(asynchronous) == _public(blocking)
    for name in _public(blocking):
        method = getattr(blocking, name)
        if inspect.isfunction(method):
            coroutine = getattr(asynchronous, name)
            assert inspect.signature(coroutine) == inspect.signature(method)
            assert inspect.iscoroutinefunction(coroutine) or name in ("ask_stream", "watch")


def test_results_are_those_of_the_blocking_methods() -> None:
    async def run(kb: KnowledgeBase) -> None:
        async with AsyncKnowledgeBase(kb) as base:
            report = await base.add_text(TEXT, document_id="report", metadata={"year": 2023})
            assert report.added == ("report",)
            found = await base.search(QUESTION, where="year = 2023")
            assert found.segments == kb.search(QUESTION, where="year = 2023").segments
            assert await base.threads.list() == []
            assert await base.packs.list() == kb.packs.list()
            with pytest.raises(DocumentNotFoundError):
                await base.get("missing")

    asyncio.run(run(KnowledgeBase(":memory:")))


def test_several_searches_run_at_once() -> None:
    async def run() -> None:
        async with AsyncKnowledgeBase(KnowledgeBase(":memory:"), max_threads=3) as base:
            await base.add_text(TEXT, document_id="report")
            results = await asyncio.gather(*(base.search(QUESTION) for _ in range(10)))
        assert len({result.context for result in results}) == 1

    asyncio.run(run())


def test_a_cancelled_ingest_ends_after_the_current_document(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number:03}.txt").write_text(f"Text {number}. " * 200)

    async def run(kb: KnowledgeBase) -> None:
        base = AsyncKnowledgeBase(kb)
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        def note(_: IngestProgress) -> None:
            loop.call_soon_threadsafe(started.set)

        task = asyncio.create_task(base.add(folder, on_document=note))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(1.0)
        stored = (await base.info()).documents
        assert 0 < stored < 300
        await asyncio.sleep(1.0)
        assert (await base.info()).documents == stored
        assert (await base.check()).sound
        await base.close()

    asyncio.run(run(KnowledgeBase(tmp_path / "spanwise.kb", embedder=None)))


def test_a_cancelled_answer_ends_its_model_call() -> None:
    asked = Event()

    def reply(_: Received) -> Reply:
        asked.set()
        time.sleep(3)
        return chat(json.dumps({}), input_tokens=1, output_tokens=1)

    async def run(url: str) -> None:
        async with AsyncKnowledgeBase(KnowledgeBase(":memory:", embedder=None)) as base:
            await base.add_text(TEXT, document_id="report")
            task = asyncio.create_task(base.ask(QUESTION, llm=f"compatible:m@{url}/v1"))
            assert await asyncio.to_thread(asked.wait, 20)
            cancelled = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert time.monotonic() - cancelled < 1
            while any(thread.name == "spanwise-async" for thread in threading.enumerate()):
                await asyncio.sleep(0.05)
            assert time.monotonic() - cancelled < 2

    with ScriptedServer(reply) as server:
        asyncio.run(run(server.url))


class Gate:
    """Stops a thread at a known place until a test lets it continue."""

    def __init__(self) -> None:
        self.reached = Event()
        self.opened = Event()
        self.passes = 0

    def wait(self, *_: object) -> None:
        """Record that the thread has reached the gate, and wait."""
        self.passes += 1
        self.reached.set()
        self.opened.wait(20)

    def stop(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that waits before each call."""

        def stopped(*args: Any, **kwargs: Any) -> Any:
            self.wait()
            return function(*args, **kwargs)

        return stopped


async def cancel_at(gate: Gate, call: Coroutine[Any, Any, object]) -> None:
    """Cancel a call when its thread has reached a gate, and wait for the end of its work."""
    task = asyncio.create_task(call)
    assert await asyncio.to_thread(gate.reached.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.opened.set()
    async with asyncio.timeout(20):
        while any(thread.name == "spanwise-async" for thread in threading.enumerate()):
            await asyncio.sleep(0.01)


def run_cancelled(
    path: Path, gate: Gate, call: Callable[[AsyncKnowledgeBase], Coroutine[Any, Any, object]]
) -> KnowledgeBase:
    """Return a knowledge base of eight documents in which a call was cancelled at a gate."""
    kb = KnowledgeBase(path / "a.kb", embedder=None)
    fill(kb, documents=8)
    asyncio.run(cancel_at(gate, call(AsyncKnowledgeBase(kb))))
    return kb


def test_a_cancelled_update_of_metadata_ends_after_the_current_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    monkeypatch.setattr(MetadataEditor, "change", gate.stop(MetadataEditor.change))
    ids = [str(number) for number in range(8)]
    with run_cancelled(
        tmp_path, gate, lambda base: base.update_metadata(ids, {"team": "hr"})
    ) as kb:
        assert [record.id for record in kb.list("team = 'hr'")] == ["0"]


def test_a_cancelled_export_leaves_no_files(tmp_path: Path) -> None:
    gate = Gate()
    with run_cancelled(
        tmp_path, gate, lambda base: base.export_to(tmp_path / "out", on_progress=gate.wait)
    ):
        assert gate.passes == 1
        assert [path.name for path in tmp_path.iterdir()] == ["a.kb"]


def test_a_cancelled_backup_leaves_no_files(tmp_path: Path) -> None:
    gate = Gate()
    with run_cancelled(
        tmp_path, gate, lambda base: base.backup(tmp_path / "b.kb", on_progress=gate.wait)
    ) as kb:
        assert [path.name for path in tmp_path.iterdir()] == ["a.kb"]
        kb.backup(tmp_path / "b.kb")


def test_a_cancelled_rebuild_is_continued(tmp_path: Path) -> None:
    gate = Gate()
    short = ChunkOptions(target=100, max=140, paragraph_min=50, block_max=200)
    with run_cancelled(
        tmp_path, gate, lambda base: base.rebuild(chunks=short, on_progress=gate.wait)
    ) as kb:
        assert max(len(chunk.text) for chunk in kb.chunks("1")) > 140
        assert kb.rebuild(chunks=short).documents == 8
        assert max(len(chunk.text) for chunk in kb.chunks("1")) <= 140


def test_a_cancelled_check_ends_after_the_current_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    monkeypatch.setattr(check, "stored_row", gate.stop(stored_row))
    with run_cancelled(tmp_path, gate, lambda base: base.check()) as kb:
        assert gate.passes == 1
        assert kb.check().documents == 8


@pytest.mark.parametrize("place", ["read_manifest", "merge_parts"])
def test_a_cancelled_compaction_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The free space of the database is not returned, and no document is lost."""
    gate, reclaims = Gate(), Gate()
    reclaims.opened.set()
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as kb:
        fill(kb, documents=8)
        kb.compact()
        kb.add_text("A second part of the index.", document_id="more")
        monkeypatch.setattr(flush, place, gate.stop(getattr(flush, place)))
        monkeypatch.setattr(embedded, "reclaim_all", reclaims.stop(reclaim_all))
        asyncio.run(cancel_at(gate, AsyncKnowledgeBase(kb).compact()))
        assert (gate.passes, reclaims.passes) == (1, 0)
        kb.compact()
        assert reclaims.passes == 1
        assert kb.check().sound
        assert found_ids(kb, 3) == {"3"}


def test_a_long_statement_is_interrupted(tmp_path: Path) -> None:
    """SQLite returns from a statement that would take minutes."""
    with KnowledgeBase(tmp_path / "a.kb", embedder=None):
        pass
    begun = Event()

    def run() -> None:
        with closing(sqlite3.connect(tmp_path / "a.kb" / "truth.db")) as connection:
            begun.set()
            with cancellable(connection):
                connection.execute(
                    "with recursive n(i) as (select 1 union all select i + 1 from n"
                    " where i < 1000000000) select count(*) from n"
                ).fetchall()

    async def cancel() -> None:
        task = asyncio.create_task(run_in_thread(run))
        assert await asyncio.to_thread(begun.wait, 20)
        await asyncio.sleep(0.05)
        task.cancel()
        async with asyncio.timeout(20):
            while any(thread.name == "spanwise-async" for thread in threading.enumerate()):
                await asyncio.sleep(0.01)

    asyncio.run(cancel())


def test_a_cancelled_import_ends_after_the_current_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    with KnowledgeBase(":memory:", embedder=None) as other:
        for number in range(5):
            other.add_text(f"Freight of route {number}.", document_id=f"route {number}")
        other.export_to(tmp_path / "out")
    monkeypatch.setattr(Ingestor, "_import", gate.stop(Ingestor._import))
    with run_cancelled(tmp_path, gate, lambda base: base.import_from(tmp_path / "out")) as kb:
        assert len(kb.list()) == 9


def test_a_cancelled_watch_ends(tmp_path: Path) -> None:
    """It ends at once, not at the next change of a file."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(TEXT)

    async def run() -> None:
        async with AsyncKnowledgeBase(KnowledgeBase(":memory:", embedder=None)) as base:
            reports = base.watch(tmp_path / "in", settle_seconds=0.1)
            assert (await anext(reports)).added == ("a.txt",)
            waiting = asyncio.ensure_future(anext(reports))
            await asyncio.sleep(0.3)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            async with asyncio.timeout(5):
                while any(thread.name == "spanwise-async" for thread in threading.enumerate()):
                    await asyncio.sleep(0.01)

    asyncio.run(run())


def test_the_event_loop_is_never_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams, conversations and packs read the knowledge base on another thread."""
    loop_thread = threading.get_ident()
    on_loop: list[str] = []
    rebuilt: Callable[[MemoryStore], bool] = vars(MemoryStore)["rebuilt"].fget

    def noted(store: MemoryStore) -> bool:
        if threading.get_ident() == loop_thread:
            on_loop.append("the store was read")
        return rebuilt(store)

    async def run(kb: KnowledgeBase) -> None:
        base = AsyncKnowledgeBase(kb)
        stream = base.ask_stream(QUESTION, llm=ScriptedModel(lambda _: "{}"))
        _ = base.listener
        await base.threads.list()
        await base.packs.list()
        await stream.close()
        with pytest.raises(OptionError):
            await anext(base.ask_stream(QUESTION))

    with KnowledgeBase(":memory:", embedder=None) as kb:
        monkeypatch.setattr(MemoryStore, "rebuilt", property(noted))
        asyncio.run(run(kb))
        assert on_loop == []


def test_a_stream_is_read_asynchronously() -> None:
    form = {
        "answered": True,
        "statements": [{"text": "Freight.", "quotes": [{"segment": 1, "quote": TEXT[:48]}]}],
        "conflicts": [],
        "missing": "",
    }

    def reply(_: Received) -> Reply:
        return chat(json.dumps(form), input_tokens=500, output_tokens=60)

    async def run(url: str) -> None:
        async with AsyncKnowledgeBase(KnowledgeBase(":memory:", embedder=None)) as base:
            await base.add_text(TEXT, document_id="report")
            model = f"compatible:scripted@{url}/v1"
            stream = base.ask_stream(QUESTION, llm=model, write_queries=False)
            pieces = [piece async for piece in stream]
            assert "".join(pieces) == (await stream.answer()).text

    with ScriptedServer(reply) as server:
        asyncio.run(run(server.url))


def test_a_watch_is_read_asynchronously(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(TEXT)

    async def run() -> None:
        async with AsyncKnowledgeBase(KnowledgeBase(":memory:", embedder=None)) as base:
            reports = base.watch(tmp_path / "in", settle_seconds=0.1)
            assert (await anext(reports)).added == ("a.txt",)
            (tmp_path / "in" / "b.txt").write_text(TEXT)
            assert (await asyncio.wait_for(anext(reports), 20)).added == ("b.txt",)

    asyncio.run(run())


def test_only_a_knowledge_base_is_wrapped() -> None:
    with pytest.raises(OptionError, match="wraps a KnowledgeBase"):
        AsyncKnowledgeBase("reports.kb")  # type: ignore[arg-type]
