"""A real, small and foolish model on real documents, from end to end: what holds whatever it says.

All requests go through a proxy, so that calls and tokens are those that the server counts.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import httpx
import pytest
from tests.documents import build_pdf
from tests.integration.commands import command, environment, spanwise
from tests.servers.llama import LlamaServer
from tests.servers.scripted import Received, Reply, ScriptedServer

from spanwise import AnswerOptions, ContextOptions, KnowledgeBase, ModelOptions
from spanwise.core.text.model_lines import model_line
from spanwise.errors import ModelAnswerError
from spanwise.types import Answer, IngestReport

pytestmark = pytest.mark.slow

MOST_OUTPUT_TOKENS = 24
"""Of one answer: the model would write on until its limit, and cut answers are answers too."""
CHARS = 400  # of a text: the model reads some hundred tokens a second
ALL = ContextOptions(sections=True, headers=True, chunk_contexts=True, window_tokens=400)
MODELS = ModelOptions(timeout_seconds=600, retries=0, concurrency=2)
QUESTION = "What does a with statement do when an exception is raised in its suite?"
OPTIONS = AnswerOptions(budget_tokens=300, max_output_tokens=300)
PAGES = (
    "Harbour dues 2024. A berth for a yacht of eleven metres costs 35 euros a night. The harbour "
    "master collects the dues before noon. Boats that stay for a month pay for 22 nights alone.",
    "Storms. From November to March the outer berths are closed. The harbour pays for no damage "
    "that a storm does, unless a pontoon of its own broke loose and caused it.",
)


@dataclass(slots=True)
class Proxy:
    """Hands requests on to the real server, and counts what it says that they took."""

    llama: LlamaServer
    bodies: list[bytes] = field(default_factory=list)
    """Of all requests that were answered."""
    usable: list[bool] = field(default_factory=list)
    """Whether the answer to each is a form of one line, as titles and summaries are."""
    input_tokens: int = 0
    output_tokens: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, received: Received) -> Reply:
        limits = {
            name: min(received.body[name], MOST_OUTPUT_TOKENS)
            for name in ("max_tokens", "max_completion_tokens")
            if name in received.body
        }
        body = {**received.body, **limits}
        reply = httpx.post(f"{self.llama.url}{received.path}", json=body, timeout=600)
        events: list[bytes] = []
        if received.body.get("stream"):
            events = [part + b"\n\n" for part in reply.content.split(b"\n\n") if part.strip()]
            told = [json.loads(one[6:]) for one in events if one.startswith(b"data: {")]
            usage = next(one["usage"] for one in reversed(told) if one.get("usage"))
        else:
            usage = reply.json()["usage"]
        with self._lock:
            self.bodies.append(received.raw)
            self.usable.append(not events and is_line(reply.json()["choices"][0]))
            self.input_tokens += usage["prompt_tokens"]
            self.output_tokens += usage["completion_tokens"]
        return Reply(body=b"" if events else reply.content, events=events)

    @property
    def calls(self) -> int:
        return len(self.bodies)


def is_line(choice: Mapping[str, Any]) -> bool:
    """Return whether an answer can be read as a title or a summary."""
    try:
        (line,) = json.loads(choice["message"]["content"]).values()
        return bool(model_line(line, max_chars=160))
    except (ValueError, AttributeError, TypeError):
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A knowledge base that the model had its part in."""

    folder: Path
    proxy: Proxy
    llm: str
    foreseen: IngestReport
    report: IngestReport
    counted: tuple[int, int, int]
    """Calls and tokens in and out of the report, as the server counts them."""

    def open(self) -> KnowledgeBase:
        return KnowledgeBase(self.folder / "a.kb", models=MODELS)


def write_texts(folder: Path) -> None:
    """Write a page of Python's reference, and a PDF."""
    folder.mkdir()
    (folder / "with.txt").write_text(topics["with"][:CHARS])
    (folder / "harbour.pdf").write_bytes(build_pdf(PAGES))


@pytest.fixture(scope="module")
def served(llama_server: LlamaServer) -> Iterator[tuple[Proxy, str]]:
    """Return a proxy, and the name of the model behind it."""
    proxy = Proxy(llama_server)
    with ScriptedServer(proxy) as server:
        yield proxy, f"compatible:smollm2@{server.url}/v1"


@pytest.fixture(scope="module")
def made(served: tuple[Proxy, str], tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a knowledge base of two documents, with all that a model can make of them."""
    proxy, llm = served
    folder = tmp_path_factory.mktemp("made")
    write_texts(folder / "in")
    before = (proxy.calls, proxy.input_tokens, proxy.output_tokens)
    with KnowledgeBase(folder / "a.kb", models=MODELS) as base:
        foreseen = base.add(folder / "in", llm=llm, context=ALL, dry_run=True)
        assert proxy.calls == before[0], "a dry run asks nothing"
        report = base.add(folder / "in", llm=llm, context=ALL)
    after = (proxy.calls, proxy.input_tokens, proxy.output_tokens)
    counted = tuple(b - a for a, b in zip(before, after, strict=True))
    return Made(
        folder=folder,
        proxy=proxy,
        llm=llm,
        foreseen=foreseen,
        report=report,
        counted=(counted[0], counted[1], counted[2]),
    )


def assert_whole(base: KnowledgeBase) -> None:
    """Every document is stored as it is, cut without gaps, under words that are no failure."""
    assert base.check().sound
    for record in base.list():
        text = base.get(record.id).text
        sections = base.sections(record.id)
        assert "".join(chunk.text for chunk in base.chunks(record.id)) == text
        ends = [0, *(section.end for section in sections)]
        assert [section.start for section in sections] == ends[:-1]
        assert ends[-1] == len(text)
        for words in (record.title, record.summary, *(one.summary for one in sections)):
            assert not words or model_line(words, max_chars=1_000) == words.strip()


def assert_cites_what_is_there(answer: Answer, base: KnowledgeBase) -> None:
    for cited in answer.citations:
        assert cited.verified == (cited.citation is not None)
        if cited.citation is not None:
            place = cited.citation
            there = base.get(place.document_id).text[place.start : place.end]
            assert there
            assert base.locate(place).status == "current"
            if cited.status == "exact":
                assert len(there.split()) == len(cited.quote.split())


def test_documents_are_whole(made: Made) -> None:
    assert (len(made.report.added), made.report.failed) == (2, ())
    with made.open() as base:
        assert_whole(base)
        assert {record.id for record in base.list()} == {"with.txt", "harbour.pdf"}
        assert base.get("with.txt").text == topics["with"][:CHARS]
        assert all(record.title for record in base.list())


def test_what_the_model_could_not_make_is_told(made: Made) -> None:
    """Parts are made, or a warning names the document and the part."""
    with made.open() as base, KnowledgeBase(":memory:", embedder=None) as plain:
        plain.add(made.folder / "in")
        for record in base.list():
            said = [one for one in made.report.warnings if record.id in one]
            sections, chunks = base.sections(record.id), base.chunks(record.id)
            if record.summary == plain.record(record.id).summary:
                assert any("summary" in one for one in said)
            if any(not one.summary for one in sections if one.end - one.start >= 400):
                assert any("sections have no summary" in one for one in said)
            if not all(chunk.context for chunk in chunks):
                assert any("chunks have no context" in one for one in said)


def test_usage_is_what_the_server_counts(made: Made) -> None:
    usage = made.report.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == made.counted
    assert usage.calls > 0
    assert usage.cost == 0
    by_task = made.report.usage_by_task.values()
    assert sum(one.calls for one in by_task) == usage.calls
    assert sum(one.input_tokens for one in by_task) == usage.input_tokens
    assert made.foreseen.usage.calls > 0
    assert set(made.foreseen.usage_by_task) >= {"title", "summary", "sections", "chunk contexts"}


def test_a_repeated_run_makes_no_call(made: Made) -> None:
    calls = made.proxy.calls
    with made.open() as base:
        report = base.add(made.folder / "in", llm=made.llm, context=ALL)
        assert len(report.unchanged) == 2
        foreseen = base.sync(made.folder / "in", llm=made.llm, context=ALL, dry_run=True)
    assert (report.usage.calls, foreseen.usage.calls) == (0, 0)
    assert made.proxy.calls == calls


def test_it_reranks(made: Made) -> None:
    with made.open() as base:
        calls = made.proxy.calls
        result = base.search(QUESTION, rerank=f"llm:{made.llm}")
        assert result.segments
        for segment in result.segments:
            text = base.get(segment.document_id).text
            assert text[segment.start : segment.end] == segment.text
        asked = made.proxy.calls - calls
        assert asked > 0
        is_reranked = not any("not reranked" in one for one in result.warnings)
        if is_reranked:
            assert result.usage.calls == asked
            again = base.search(QUESTION, rerank=f"llm:{made.llm}")
            assert again.segments == result.segments
            assert made.proxy.calls - calls == asked, "what was rated is kept"


@pytest.mark.parametrize("excerpts", [0, 2])
def test_it_answers(made: Made, excerpts: int) -> None:
    options = replace(OPTIONS, excerpts=excerpts, excerpt_tokens=150)
    with made.open() as base:
        before = (made.proxy.calls, made.proxy.input_tokens)
        try:
            answer = base.ask(QUESTION, llm=made.llm, options=options)
        except ModelAnswerError as error:
            assert "no usable answer" in str(error)  # noqa: PT017 - either is right
            assert made.proxy.calls > before[0]
            return
        assert answer.usage.calls == made.proxy.calls - before[0]
        assert answer.usage.input_tokens == made.proxy.input_tokens - before[1]
        assert_cites_what_is_there(answer, base)
        assert answer.refused == answer.text.startswith("The documents hold no answer")
        assert answer.queries[0] == QUESTION
        calls = made.proxy.calls
        again = base.ask(QUESTION, llm=made.llm, options=options)
        assert (again.text, again.citations) == (answer.text, answer.citations)
        assert again.usage.calls == made.proxy.calls - calls


def test_a_conversation_on_the_command_line(made: Made) -> None:
    """Lines of standard input are questions; what fails is told, and the next one is asked."""
    arguments = ("--chat", "--thread", "t", "--llm", made.llm, "--budget", "250", "--kb", "a.kb")
    done = subprocess.run(
        command("ask", *arguments, "--no-write-queries"),
        cwd=made.folder,
        env=environment({"SPANWISE_LLM_TIMEOUT_SECONDS": "600"}),
        input="What does a berth cost?\nAnd in a storm?\n",
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert "Traceback" not in done.stderr
    with made.open() as base:
        assert_whole(base)
        asked = [turn for info in base.threads.list() for turn in base.threads.get(info.id).turns]
        for turn in asked:
            assert turn.question in ("What does a berth cost?", "And in a storm?")
            assert_cites_what_is_there(turn.answer, base)
    failed = done.stdout.count("failed: ")
    assert len(asked) + failed == 2
    assert done.returncode == (1 if failed else 0)


def test_a_kill_loses_nothing_that_was_paid(served: tuple[Proxy, str], tmp_path: Path) -> None:
    proxy, llm = served
    write_texts(tmp_path / "in")
    arguments: list[Any] = ["add", "in", "--headers", "--llm", llm, "--kb", "a.kb"]
    extra = {"SPANWISE_LLM_CONCURRENCY": "1"}
    first = proxy.calls
    with subprocess.Popen(
        command(*arguments),
        cwd=tmp_path,
        env=environment(extra),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        until = time.monotonic() + 300
        while proxy.calls - first < 3:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        process.kill()
    both = zip(proxy.bodies[first:], proxy.usable[first:], strict=True)
    paid = [body for body, is_usable in both if is_usable]
    answered = proxy.calls
    if (tmp_path / "a.kb").exists():
        with KnowledgeBase(tmp_path / "a.kb") as base:
            assert_whole(base)
    done = spanwise(*arguments, folder=tmp_path, extra=extra)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    again = proxy.bodies[answered:]
    assert len(set(paid) & set(again)) <= 1, "answers that can be read are kept"
    with KnowledgeBase(tmp_path / "a.kb") as base:
        assert len(base.list()) == 2
        assert_whole(base)
