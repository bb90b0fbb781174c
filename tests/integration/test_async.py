"""`AsyncKnowledgeBase`: the same methods and results, several at once, and cancellation."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from pathlib import Path
from threading import Event

import pytest
from tests.servers.scripted import Received, Reply, ScriptedServer, chat

from spanwise import AsyncKnowledgeBase, KnowledgeBase
from spanwise.answers.stored_threads import Threads
from spanwise.answers.stream import AnswerStream
from spanwise.errors import DocumentNotFoundError, OptionError
from spanwise.knowledge_base.asynchronous import AsyncAnswerStream, AsyncPacks, AsyncThreads
from spanwise.packs.pack_manager import Packs
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
