"""Failures of model servers in the middle of an ingest: the final state is that without them.

A remote embedder and a language model, which divides documents and writes titles and summaries,
fail one after the other. The same `add` is then run once more.
"""

from __future__ import annotations

import itertools
import json
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.servers.capable import capable_reply
from tests.servers.scripted import Received, Reply, ScriptedServer, busy, failure

from spanwise import ContextOptions, KnowledgeBase, ModelOptions
from spanwise.errors import ModelError
from spanwise.knowledge_base.internals import store_of
from spanwise.models.providers import retry
from spanwise.types import IngestReport
from spanwise.types.output_cache import CachedOutput

DOCUMENTS = 200
STORED_BEFORE = 180
"""Documents that are stored before the server fails, in the tests of single failures."""
AFTER = 5
"""Requests of each kind that are answered before the server fails."""
FAILURES = 5
"""Requests of each kind in a row that are not answered."""
DIMENSION = 8
CONTEXT = ContextOptions(sections=True, headers=True)
QUESTIONS = ("What did freight to Port 77 cost?", "Port 142", "fuel in Port 193")
"""Questions about one document: documents of equal score are in the order of their storage."""
COMPARED = "document title summary title_words sections chunks language recipe".split()
"""Parts of a document, besides its vectors."""
TOPICS = ("freight", "berths", "pilots", "dredging", "fuel", "cranes", "ferries")


def document(number: int) -> str:
    """Return the text of a small document."""
    topic = TOPICS[number % len(TOPICS)]
    return (
        f"# Port {number}\n\nIn Port {number}, {topic} cost {number * 37 % 501} thousand more.\n\n"
        f"## Plans\n\nThe harbour master expects {number % 13} ships a day next year.\n"
    )


def vectors(received: Received) -> list[list[float]]:
    """Return a vector for each text of a request, the same for the same text."""
    rows = []
    for text in received.body["input"]:
        row = [0.1] * DIMENSION
        for word in text.lower().split():
            row[sum(map(ord, word)) % DIMENSION] += 1.0
        rows.append(row)
    return rows


def embeddings(rows: Sequence[object]) -> Reply:
    """Return the answer of an embedder with these vectors."""
    data = [
        {"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)
    ]
    usage = {"prompt_tokens": 5, "total_tokens": 5}
    body = {"object": "list", "data": data, "model": "m", "usage": usage}
    return Reply(body=json.dumps(body).encode())


def healthy(received: Received) -> Reply:
    """Return the correct answer to a request."""
    if received.path.endswith("/embeddings"):
        return embeddings(vectors(received))
    return capable_reply(received)


Fault = Callable[[Received], Reply]
"""Answer of a server that fails, to a request."""


def always(reply: Reply) -> Fault:
    """Return a fault with the same answer to all requests."""
    return lambda _: reply


def with_vectors(change: Callable[[list[list[float]]], Sequence[object]]) -> Fault:
    """Return a fault with changed vectors; the language model names a missing form."""

    def fault(received: Received) -> Reply:
        if received.path.endswith("/embeddings"):
            return embeddings(change(vectors(received)))
        return Reply(body=json.dumps({"id": "1", "choices": "none"}).encode())

    return fault


def reordered(received: Received) -> Reply:
    """Return the vectors in reverse order, each with the number of its text."""
    if not received.path.endswith("/embeddings"):
        return failure(500)
    body = json.loads(healthy(received).body)
    return Reply(body=json.dumps({**body, "data": body["data"][::-1]}).encode())


def broken_off(received: Received) -> Reply:
    """Return the first half of an answer."""
    reply = healthy(received)
    return replace(reply, cut_at=len(reply.body) // 2)


def truncated(received: Received) -> Reply:
    """Return an answer whose JSON has no end."""
    body = healthy(received).body
    return Reply(body=body[: len(body) // 2])


FAULTS: Mapping[str, Fault] = {
    **{str(status): always(failure(status)) for status in (400, 401, 403, 404)},
    **{str(status): always(failure(status)) for status in (408, 413, 500, 503)},
    "429": always(busy()),
    "429, later": always(busy(0.2)),
    "429, much later": always(busy(3_600)),
    "502 in HTML": always(Reply(body=b"<html>bad gateway</html>", status=502)),
    "silence": lambda received: replace(healthy(received), wait_seconds=600),
    "a byte a minute": lambda received: replace(healthy(received), byte_seconds=60),
    "reset": always(Reply(body=b"", drops=True)),
    "closed": lambda received: replace(healthy(received), cut_at=0),
    "broken off": broken_off,
    "truncated JSON": truncated,
    "no JSON": always(Reply(body=b"I am a proxy")),
    "JSON of another form": always(Reply(body=b'["no", "object"]')),
    "null": always(Reply(body=b"null")),
    "empty": always(Reply(body=b"")),
    "no vectors": with_vectors(lambda rows: []),
    "too few vectors": with_vectors(lambda rows: rows[1:]),
    "too many vectors": with_vectors(lambda rows: [*rows, rows[0]]),
    "longer vectors": with_vectors(lambda rows: [[*row, 1.0] for row in rows]),
    "vectors of no numbers": with_vectors(lambda rows: [[float("nan")] * DIMENSION for _ in rows]),
    "vectors of texts": with_vectors(lambda rows: [["1"] * DIMENSION for _ in rows]),
    "vectors in another order": reordered,
}
HANGING = ("silence", "a byte a minute")
HANGING_SECONDS = 0.5
"""Timeout where the server hangs; the next run repeats what a slow machine does not do in time."""
HANGING_FAILURES = 3
"""As `FAILURES`, where the server hangs: more than one call makes."""
FINAL = ("400", "401", "403", "404", "413", "429, much later")
"""Faults after which no call is repeated in the same run."""
WRONG_VECTORS = (
    "too many vectors", "longer vectors", "vectors of no numbers", "vectors of texts",
)  # fmt: skip
"""Faults after which a call of the embedder is not repeated in the same run."""


@dataclass(slots=True)
class FailingServer:
    """Answers of a server with a failing period for each kind of request."""

    fault: Fault
    after: int = AFTER
    failures: int = FAILURES
    counts: dict[str, int] = field(default_factory=dict)
    """Requests of each kind, by path."""
    failed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, received: Received) -> Reply:
        """Return the answer to a request."""
        with self._lock:
            count = self.counts[received.path] = self.counts.get(received.path, 0) + 1
            fails = self.after < count <= self.after + self.failures
            self.failed += fails
        return self.fault(received) if fails else healthy(received)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything that a knowledge base holds, and its answers."""

    documents: Mapping[str, object]
    """Record, text, titles, sections, chunks and vectors of each document."""
    outputs: Mapping[str, CachedOutput]
    """Model outputs by key."""
    answers: tuple[object, ...]
    """Segments of questions."""


def open_base(path: Path, **options: Any) -> KnowledgeBase:
    """Open a knowledge base whose embedder is the running server."""
    models = ModelOptions(max_wait_seconds=5, **options)
    return KnowledgeBase(path, embedder="compatible:small", models=models, durability="fast")


def add(base: KnowledgeBase, folder: Path) -> IngestReport:
    return base.add(folder, llm="compatible:small", context=CONTEXT)


def read_state(base: KnowledgeBase) -> State:
    """Return the state of a knowledge base, while a healthy server runs."""
    assert base.check().findings == ()
    answers = tuple(map(base.search, QUESTIONS))
    store = store_of(base)
    documents: dict[str, object] = {}
    for record in store.list_records():
        entry = store.read_entry(record.id)
        assert entry is not None
        assert entry.vectors is not None
        fields = {name: getattr(entry, name) for name in COMPARED}
        documents[record.id] = record, fields, entry.vectors.tobytes()
    outputs = {output.key: output for output in store.list_outputs(limit=100_000)}
    # Sums over documents in another order differ in the last bits.
    segments = tuple(
        (one.document_id, one.start, one.end, one.text, one.header, round(one.relevance, 12))
        for answer in answers
        for one in answer.segments
    )
    return State(documents=documents, outputs=outputs, answers=segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Knowledge bases that were made without a failure."""

    folder: Path
    """Documents."""
    before: Path
    """Knowledge base with some of the documents."""
    state: State
    """State of a knowledge base with all documents."""


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    path = tmp_path_factory.mktemp("reference")
    folder, before, whole = path / "in", path / "before.kb", path / "all.kb"
    folder.mkdir()
    with ScriptedServer(healthy) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPATIBLE_BASE_URL", f"{server.url}/v1")
        for numbers, target in ((range(STORED_BEFORE), before), (range(DOCUMENTS), whole)):
            for number in numbers:
                (folder / f"{number:03}.md").write_text(document(number), encoding="utf-8")
            if before.exists():
                shutil.copytree(before, whole)
            with open_base(target) as base:
                added = add(base, folder).added
        assert len(added) == DOCUMENTS - STORED_BEFORE
        with open_base(whole) as base:
            state = read_state(base)
    return Reference(folder=folder, before=before, state=state)


def is_complete(report: IngestReport) -> bool:
    """Return whether a run has added all documents with all their parts."""
    return not report.failed and not any("stored without" in line for line in report.warnings)


def complete(path: Path, folder: Path) -> None:
    """Add a folder again, now that the server answers."""
    with open_base(path) as base:
        report = add(base, folder)
    assert is_complete(report), ([one.message for one in report.failed][:3], report.warnings[:3])


def check_state(path: Path, folder: Path, reference: State) -> None:
    """Check that a state is that without failures, and that a further run changes nothing."""
    with open_base(path) as base:
        report = add(base, folder)
        assert (len(report.unchanged), report.usage.calls) == (DOCUMENTS, 0)
        state = read_state(base)
    assert state.documents == reference.documents
    assert state.answers == reference.answers
    assert state.outputs.items() >= reference.outputs.items()
    # Documents that were first stored without the parts of a model have been embedded twice.
    others = [output for key, output in state.outputs.items() if key not in reference.outputs]
    assert {output.task for output in others} <= {"embed"}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits before retries."""
    monkeypatch.setattr(retry, "_FIRST_WAIT_SECONDS", 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_failure_in_the_middle_of_an_ingest_leaves_no_trace(
    name: str, reference: Reference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copytree(reference.before, tmp_path / "a.kb"))
    hangs = name in HANGING
    faults = FailingServer(FAULTS[name], failures=HANGING_FAILURES if hangs else FAILURES)
    with ScriptedServer(faults) as server:
        monkeypatch.setenv("COMPATIBLE_BASE_URL", f"{server.url}/v1")
        seconds = HANGING_SECONDS if hangs else 60.0
        with open_base(path, retries=1, timeout_seconds=seconds) as base, suppress(ModelError):
            add(base, reference.folder)  # a refused key ends the run with an error
        assert faults.failed
        faults.failures = 0
        complete(path, reference.folder)
        check_state(path, reference.folder, reference.state)


@pytest.mark.slow
def test_a_server_that_refuses_connections_for_a_while_leaves_no_trace(
    reference: Reference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copytree(reference.before, tmp_path / "a.kb"))
    ended = threading.Event()
    requests = itertools.count(1)

    def close_port() -> None:
        server.close_port()
        ended.set()

    def close_after(received: Received) -> Reply:
        if next(requests) == AFTER:
            threading.Thread(target=close_port).start()
        return healthy(received)

    with ScriptedServer(close_after) as server:
        monkeypatch.setenv("COMPATIBLE_BASE_URL", f"{server.url}/v1")
        with open_base(path, retries=1) as base:
            assert add(base, reference.folder).failed
        assert ended.wait(60)
        server.open_port()
        complete(path, reference.folder)
        check_state(path, reference.folder, reference.state)


@dataclass(slots=True)
class FaultyServer:
    """Answers of a server of which each fault hits one request of each kind, not its retries."""

    faults: Sequence[Fault]
    every: int = 4
    """One request of so many fails."""
    seen: dict[str, set[str]] = field(default_factory=dict)
    """Requests of each kind without their retries, by path."""
    failed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, received: Received) -> Reply:
        """Return the answer to a request."""
        # The retry of an unusable answer has further messages.
        key = json.dumps(received.body.get("input") or received.body["messages"][:2])
        with self._lock:
            seen = self.seen.setdefault(received.path, set())
            is_new = key not in seen
            seen.add(key)
            turn, rest = divmod(len(seen), self.every)
            fails = is_new and rest == 0 and turn <= len(self.faults)
            self.failed += fails
        return self.faults[turn - 1](received) if fails else healthy(received)


@pytest.mark.slow
def test_all_failures_in_one_ingest_leave_no_trace(
    reference: Reference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each failure that a retry repairs hits one request of each kind in the same run."""
    chosen = [fault for name, fault in FAULTS.items() if name not in (*FINAL, *WRONG_VECTORS)]
    faults = FaultyServer(chosen)
    path = tmp_path / "a.kb"
    with ScriptedServer(faults) as server:
        monkeypatch.setenv("COMPATIBLE_BASE_URL", f"{server.url}/v1")
        with open_base(path, timeout_seconds=2.0) as base:
            report = add(base, reference.folder)
        assert faults.failed == 2 * len(chosen)
        assert is_complete(report), (report.failed, report.warnings)
        check_state(path, reference.folder, reference.state)
