"""Knowledge bases in Qdrant: interrupted writes, approximate search, addresses, and failures."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.security.test_tenants import call
from tests.servers.qdrant_edge import EdgeClient, SharedClient, edge_client
from tests.servers.qdrant_rest import RestServer, rest_server

from spanwise import KnowledgeBase
from spanwise.core.ranking.scan import PassageRange, Scan
from spanwise.errors import (
    ConflictError,
    FilterError,
    FormatError,
    OptionError,
    StoreBusyError,
    StoreError,
    StorePermissionError,
    StoreUnavailableError,
)
from spanwise.filters import matches, parse_filter
from spanwise.server.app import app_of
from spanwise.stores.port import DocumentEntry, DocumentUpdate, SearchedParts, Snapshot
from spanwise.stores.qdrant.address import read_address
from spanwise.stores.qdrant.points import CHUNKS, MAX_EARLIER, STATE
from spanwise.stores.qdrant.store import QdrantStore, open_qdrant
from spanwise.testing.store_documents import FILTER_TEXTS
from spanwise.testing.store_entries import (
    SETTINGS,
    fill,
    make_corpus,
    make_entry,
    question,
    question_vector,
)
from spanwise.testing.store_suite import check_scan
from spanwise.types import MetadataValue

_DOCS = Path(__file__).parents[2] / "docs"
_WRITES = ("upsert", "set_payload", "delete")


class KilledError(BaseException):
    """The process ends here."""


class DyingClient(SharedClient):
    """Client of a process that ends at one of its writes."""

    left = 10**9
    """Number of writes that are carried out."""

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)
        if name not in _WRITES:
            return method

        def write(**arguments: Any) -> Any:
            if not self.left:
                raise KilledError
            self.left -= 1
            return method(**arguments)

        return write


class Clock:
    """Clock that a test sets forward."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def __call__(self) -> float:
        """Return the time, a little later at each call."""
        self.seconds += 0.001
        return self.seconds


@pytest.fixture
def engine() -> Iterator[EdgeClient]:
    """Return an engine without collections."""
    with edge_client() as client:
        yield client


def open_base(client: Any, *, options: str = "", clock: Callable[[], float] | None = None) -> Any:
    """Return a store of the knowledge base `base`."""
    shared = client if isinstance(client, SharedClient) else SharedClient(client)
    store = open_qdrant(f"qdrant://edge/base{options}", client=shared, clock=clock or time.time)
    store.ensure_settings(SETTINGS)
    return store


def points(store: QdrantStore, kind: str) -> int:
    """Return the number of points of a collection."""
    return store._requests.count_points(kind, None)


_OLD = [f"steady old {number}. " for number in range(4)]
_NEW = [f"steady new {number}. " for number in range(6)]


@pytest.mark.parametrize("deletes", [False, True])
def test_an_interrupted_write_is_finished_or_undone(engine: EdgeClient, deletes: bool) -> None:
    """Whatever write is the last one, a document is there as before or as after, and whole."""
    outcomes = set()
    clock = Clock()
    for left in range(12):
        dying = DyingClient(engine)
        store = open_base(dying, clock=clock)
        store.put_document(make_entry("a", _OLD, metadata={"year": 2018}))
        clock.seconds += 3600
        store.sweep()
        state = points(store, STATE)
        dying.left = left
        try:
            if deletes:
                store.delete_document("a")
            else:
                store.put_document(make_entry("a", _NEW, metadata={"month": 5}))
        except KilledError:
            pass
        dying.left = 10**9
        after = open_base(engine, clock=clock)
        chunks = [chunk.text for chunk in after.get_chunks("a")]
        outcomes.add(len(chunks))
        assert chunks in (([], _OLD) if deletes else (_NEW, _OLD))
        with after.snapshot() as snapshot:
            assert snapshot.term_counts(["steadi"])[1] == len(chunks)
        assert after.check().sound
        clock.seconds += 3600
        after.sweep()
        assert points(after, CHUNKS) == len(chunks), "no chunk of another version is left"
        assert points(after, STATE) == (state if chunks else state - 1), "no other point is left"
        after.delete_document("a")
    assert outcomes == ({0, 4} if deletes else {6, 4})


def test_a_reader_keeps_the_version_of_its_moment(engine: EdgeClient) -> None:
    """A replaced version stays readable for some minutes, also for another process."""
    clock = Clock()
    writer, reader = open_base(engine, clock=clock), open_base(engine, clock=clock)
    writer.put_document(make_entry("a", _OLD))
    with reader.snapshot() as snapshot:
        (handle,) = snapshot.find_documents(["a"])
        writer.put_document(make_entry("a", _NEW))
        clock.seconds += 60
        writer.compact()
        assert [chunk.text for chunk in snapshot.chunks(handle, 0, 9)] == _OLD
        assert snapshot.sections(handle, 0, 9)
    with reader.snapshot() as snapshot:
        (handle,) = snapshot.find_documents(["a"])
        assert [chunk.text for chunk in snapshot.chunks(handle, 0, 9)] == _NEW


def test_writers_of_one_document_take_turns(engine: EdgeClient) -> None:
    """A writer that another one overtook replaces its document, and nothing is left behind."""
    clock = Clock()
    first, second = open_base(engine, clock=clock), open_base(engine, clock=clock)
    write = first._requests.upsert

    def overtaken(kind: str, batch: Sequence[Any], **options: Any) -> None:
        if kind == CHUNKS:
            second.put_document(make_entry("a", _OLD))
        write(kind, batch, **options)

    first._requests.upsert = overtaken
    assert first.put_document(make_entry("a", _NEW)) == "replaced"
    assert [chunk.text for chunk in second.get_chunks("a")] == _NEW
    clock.seconds += 3600
    second.sweep()
    assert points(second, CHUNKS) == len(_NEW)


@pytest.mark.parametrize("change", ["put", "delete", "update"])
def test_a_change_that_others_change_at_once_has_one_effect(
    engine: EdgeClient, change: str
) -> None:
    """Another process changes the document before the writer reads whether its write had effect.

    A writer that repeated its change would undo that of the other process.
    """
    first, second = open_base(engine), open_base(engine)
    first.put_document(make_entry("a", ["one. "]))
    (record,) = first.list_records()
    read, done = first._writer.current, list[str]()
    others: dict[str, Callable[[], bool]] = {
        "put": lambda: second.delete_document("a"),
        "delete": lambda: second.put_document(make_entry("a", _NEW)) == "added",
        "update": lambda: second.put_document(make_entry("a", _NEW)) == "replaced",
    }

    def overtaken(document_id: str) -> Any:
        now = second.get_record("a")
        if not done and (now is None or now != record):
            done.append("once")
            assert others[change]()
        return read(document_id)

    first._writer.current = overtaken
    update = DocumentUpdate(title="yak", metadata={}, given_fields=(), origins=None)
    if change == "put":
        assert first.put_document(make_entry("a", _OLD)) == "replaced"
        assert second.get_record("a") is None
    else:
        if change == "delete":
            assert first.delete_document("a")
        else:
            assert first.update_document("a", update, record=record)
        assert [chunk.text for chunk in second.get_chunks("a")] == _NEW
    assert done


def test_a_writer_that_cannot_tell_whether_it_wrote_is_told_so(engine: EdgeClient) -> None:
    """More changes follow than the point of a document names."""
    first, second = open_base(engine), open_base(engine)
    read = first._writer.current
    first.put_document(make_entry("a", _OLD))

    def overtaken(document_id: str) -> Any:
        if second.get_record("a") is None:
            for _ in range(MAX_EARLIER // 2 + 1):
                second.put_document(make_entry("a", ["one. "]))
                second.delete_document("a")
        return read(document_id)

    first._writer.current = overtaken
    with pytest.raises(StoreBusyError, match="all the time"):
        first.delete_document("a")


def test_a_new_title_does_not_overwrite_metadata_that_were_changed_meanwhile(
    engine: EdgeClient,
) -> None:
    """The chunks of the new title are written while another process changes the metadata."""
    first, second = open_base(engine), open_base(engine)
    first.put_document(make_entry("a", _OLD))
    before = first.get_record("a")
    assert before is not None
    write = first._requests.upsert

    def overtaken(kind: str, batch: Sequence[Any], **options: Any) -> None:
        if kind == CHUNKS and second.get_record("a") == before:
            plain = DocumentUpdate(
                title=before.title, metadata={"year": 1}, given_fields=("year",), origins=None
            )
            assert second.update_document("a", plain, record=before)
        write(kind, batch, **options)

    first._requests.upsert = overtaken
    sections = len(first.get_sections("a"))
    searched = SearchedParts(title_words="yak", language="", header_tokens=(3,) * sections)
    titled = DocumentUpdate(
        title="yak", metadata={}, given_fields=(), origins=None, searched=searched
    )
    assert not first.update_document("a", titled, record=before)
    after = second.get_record("a")
    assert after is not None
    assert (after.title, after.metadata) == (before.title, {"year": 1})
    new = make_entry("a", _NEW)
    assert first.put_document(new, accept=lambda record: record == before) == "refused"


def test_an_unchanged_knowledge_base_is_searched_after_one_request(engine: EdgeClient) -> None:
    """A snapshot asks for changes once; chunks of several documents come in one request."""
    store = open_base(engine)
    fill(store, make_corpus())
    with store.snapshot():
        pass
    count = store._requests.count
    with store.snapshot() as snapshot:
        scan = snapshot.scan(question("lease margin"))
        assert store._requests.count == count + 1
        handles = scan.handles.tolist()
        snapshot.chunk_ranges([PassageRange(handle, 0, 3) for handle in handles])
        assert store._requests.count == count + 2
        assert all(snapshot.sections(handle, 0, 9) for handle in handles)
        assert store._requests.count == count + 3


# Approximate search


def _words(generator: random.Random, count: int) -> list[str]:
    consonants, vowels = "bcdfghklmnprst", "aeiou"
    return [
        "".join(generator.choice(consonants) + generator.choice(vowels) for _ in range(3))
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def large() -> Iterator[tuple[QdrantStore, QdrantStore, list[str]]]:
    """Return one knowledge base in two stores: exact, approximate; and its words."""
    generator = random.Random(5)
    words = _words(generator, 600)
    weights = [1 / (rank + 3) for rank in range(len(words))]
    with edge_client(indexing_threshold=50) as client:
        exact = open_base(client)
        for number in range(100):
            texts = [
                " ".join(generator.choices(words, weights, k=40)) + ".\n"
                for _ in range(generator.randint(5, 30))
            ]
            title = " ".join(generator.choices(words, weights, k=2))
            metadata: dict[str, MetadataValue] = {
                "year": 2000 + number % 20,
                "kind": "AB"[number % 2],
            }
            exact.put_document(make_entry(f"d{number}", texts, title=title, metadata=metadata))
        client.optimize("base-chunks")
        yield exact, open_base(client, options="?exact_chunks=0"), words


def _hits(snapshot: Snapshot, scan: Scan) -> dict[tuple[str, int], float]:
    ids = [snapshot.record(handle).id for handle in scan.handles.tolist()]
    owners = [ids[place] for place in scan.hit_documents.tolist()]
    places = zip(owners, scan.hit_chunks.tolist(), strict=True)
    return dict(zip(places, scan.hit_keywords.tolist(), strict=True))


@pytest.mark.parametrize("text", ["", "year >= 2015", "kind = 'a' and year < 2003", "kind > 'a'"])
def test_approximate_searches_find_what_exact_ones_find(
    large: tuple[QdrantStore, QdrantStore, list[str]], text: str
) -> None:
    """Nearly all hits are found, with nearly the same scores; counts and moments are close."""
    exact, approximate, words = large
    where = parse_filter(text) if text else None
    generator = random.Random(7)
    shares = []
    for _ in range(5):
        query = question(" ".join(generator.choices(words[5:], k=5)), hits=100)
        with exact.snapshot() as one, approximate.snapshot() as other:
            wanted = one.scan(query, where=where)
            before = approximate._requests.count
            found = other.scan(query, where=where)
            assert approximate._requests.count - before <= 15, "requests of a search"
            hits, found_hits = _hits(one, wanted), _hits(other, found)
        common = hits.keys() & found_hits.keys()
        shares.append(len(common) / len(hits))
        assert [found_hits[hit] for hit in common] == pytest.approx(
            [hits[hit] for hit in common], rel=0.02
        )
        assert (found.chunks, found.documents) == (wanted.chunks, wanted.documents)
        assert found.term_chunks == pytest.approx(wanted.term_chunks, rel=0.1)
        assert found.keyword.mean == pytest.approx(wanted.keyword.mean, rel=0.1)
        assert found.keyword.deviation == pytest.approx(wanted.keyword.deviation, rel=0.1)
        assert wanted.vector is not None
        assert found.vector is not None
        assert found.vector.deviation == pytest.approx(wanted.vector.deviation, rel=0.05)
    assert np.mean(shares) > 0.98


def test_features_of_approximate_searches_are_exact(
    large: tuple[QdrantStore, QdrantStore, list[str]],
) -> None:
    """Passages, texts, similar words and records are equal, and ranges take one request."""
    exact, approximate, words = large
    ids = ["d3", "d50", "d7"]
    vectors = np.stack([question_vector(words[3]), question_vector(words[9])])
    results = []
    for store in (exact, approximate):
        with store.snapshot() as snapshot:
            handles = snapshot.find_documents(ids)  # type: ignore[attr-defined]
            ranges = [PassageRange(handle, 1, 4 + i) for i, handle in enumerate(handles)]
            before = store._requests.count
            passages = snapshot.passages(ranges, terms=words[:9], vectors=vectors)
            assert store._requests.count - before <= 1
            results.append(
                (
                    [getattr(passages, name).tobytes() for name in passages.__slots__],
                    snapshot.chunk_ranges(ranges),
                    [snapshot.record(handle) for handle in handles],
                    snapshot.similar_words(handles, words[:3]),
                    snapshot.languages(),
                )
            )
    assert results[0] == results[1]


def test_filters_of_approximate_searches_select_the_same_documents(engine: EdgeClient) -> None:
    """Every operator selects the documents that pass, whether the engine evaluates it or not."""
    entries = make_corpus()
    store = open_base(engine)
    fill(store, entries)
    approximate = open_base(engine, options="?exact_chunks=0")
    texts = [*FILTER_TEXTS, "year >= 2012", "signed >= '2019-02'", "signed < 2020", "signed = 2019"]
    for text in [*texts, *(f"not ({text})" for text in texts)]:
        where = parse_filter(text)
        wanted = {e.document.id for e in entries if matches(where, e.document.metadata)}
        with approximate.snapshot() as snapshot:
            scan = snapshot.scan(question("the lease of margin"), where=where)
            found = {snapshot.record(handle).id for handle in scan.handles.tolist()}
            assert (scan.documents, found <= wanted) == (len(wanted), True), text
            chunks = sum(len(e.chunks) for e in entries if e.document.id in wanted)
            assert scan.chunks == chunks, text
        assert {record.id for record in approximate.list_records(where)} == wanted


def test_fields_of_earlier_documents_are_known_in_approximate_searches(
    engine: EdgeClient,
) -> None:
    """A filter on a field that no document has any more finds nothing, whatever it compares."""
    store = open_base(engine, options="?exact_chunks=0")
    store.put_document(make_entry("a", _OLD, metadata={"year": 2018, "team": "law"}))
    store.put_document(make_entry("b", _OLD, metadata={"team": "law"}))
    store.delete_document("a")
    store.record_former_fields(["desk", "team"])
    with store.snapshot() as snapshot:
        assert snapshot.former_fields() == {"year", "desk"}
        for text in ("year = 'unknown'", "year > 2000", "desk = 1", "year contains 'x'"):
            where = parse_filter(text)
            assert len(snapshot.scan(question("steady"), where=where).handles) == 0
            assert store.list_records(where) == []
        for text in ("team = 7", "yeer = 1"):
            where = parse_filter(text)
            with pytest.raises(FilterError):
                snapshot.scan(question("steady"), where=where)
            with pytest.raises(FilterError):
                store.list_records(where)


def test_replaced_and_deleted_documents_are_not_found(engine: EdgeClient) -> None:
    """An approximate search finds the current version of a document, and no deleted one."""
    store = open_base(engine, options="?exact_chunks=0")
    fill(store, [make_entry("a", _OLD), make_entry("b", _OLD), make_entry("c", _OLD)])
    store.put_document(make_entry("a", _NEW))
    store.delete_document("b")
    with store.snapshot() as snapshot:
        found = _hits(snapshot, snapshot.scan(question("steady")))
    assert sorted(found) == [("a", i) for i in range(6)] + [("c", i) for i in range(4)]


# Whole knowledge bases, addresses and failures


@contextmanager
def _served(engine: EdgeClient, *, key: str = "") -> Iterator[RestServer]:
    with rest_server(engine, key=key) as server:
        yield server


def test_answers_are_those_of_a_folder(tmp_path: Path, engine: EdgeClient) -> None:
    """Over HTTP, the same question gives the same segments as a knowledge base in a folder."""
    folder = tmp_path / "reports"
    folder.mkdir()
    text = "Margins fell because freight costs rose.\n\nWe employ 93,516 people in 70 countries.\n"
    (folder / "a.txt").write_text(text, encoding="utf-8")
    (folder / "b.md").write_text("# Freight\n\nBy barge it costs half.\n", encoding="utf-8")
    with (
        _served(engine) as server,
        KnowledgeBase(store=open_qdrant(f"qdrant://127.0.0.1:{server.port}/reports")) as own,
        KnowledgeBase(tmp_path / "a.kb") as base,
    ):
        for kb in (own, base):
            kb.sync(folder, metadata={"year": 2023})
        wanted = base.search("Why did margins fall?").segments
        assert wanted
        assert own.search("Why did margins fall?").segments == wanted
        assert own.search("Why did margins fall?", where="year = 2023").segments == wanted
        own.update_metadata(["a.txt"], {"year": 2024})
        assert not own.search("Why did margins fall?", where="year < 2023").segments
        assert own.remove("b.md") == ("b.md",)
        assert own.check().sound
    with _served(engine) as server:
        store = open_qdrant(f"qdrant://127.0.0.1:{server.port}/reports", create=False)
        with KnowledgeBase(store=store, create=False) as own:
            assert own.info().documents == 1
            assert own.search("Why did margins fall?").segments
            with pytest.raises(StoreError, match="snapshots"):
                own.backup(tmp_path / "copy.kb")


_QUESTIONS = (
    "How are documents divided into chunks?",
    "What happens when a process is killed during a write?",
    "How are tenants kept apart?",
    "Which language models can be used?",
    "How does approximate search estimate the frequency of a term?",
    "What is the exit code of a failed command?",
    "Can I search several knowledge bases at once?",
    "What does the tuning command need?",
    "How do I write an embedder of my own?",
    "Why is a document too long for the budget?",
)


def test_real_documents_give_the_segments_of_a_folder(tmp_path: Path, engine: EdgeClient) -> None:
    """Segments, scores and excerpts are equal, also after replacements and removals."""
    pages = [page for page in sorted(_DOCS.glob("*.md")) if page.stat().st_size < 9_000]
    address = "qdrant://edge/docs"
    with (
        KnowledgeBase(store=open_qdrant(address, client=SharedClient(engine))) as own,
        KnowledgeBase(tmp_path / "docs.kb") as base,
    ):
        for kb in (own, base):
            kb.add(*pages, metadata={"kind": "manual"})
        assert [own.search(text).segments for text in _QUESTIONS] == [
            base.search(text).segments for text in _QUESTIONS
        ]
        for kb in (own, base):
            kb.add_text("Tenants are kept apart.", document_id="stores.md", replace=True)
            kb.update_metadata(["packs.md"], {"kind": "other"})
            kb.remove("deploy.md")
        for text in _QUESTIONS:
            wanted, found = (kb.search(text, where="kind = 'manual'") for kb in (base, own))
            assert wanted.segments
            assert found.segments == wanted.segments, text
            assert found.warnings == wanted.warnings
        assert own.excerpts(text).excerpts == base.excerpts(text).excerpts


def test_failures_of_the_server_are_retried_or_explained(
    engine: EdgeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Temporary failures are retried; others are errors that do not show the key."""
    monkeypatch.setattr("spanwise.stores.qdrant.requests._FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setenv("QDRANT_API_KEY", "correct-horse")
    with _served(engine, key="correct-horse") as server:
        address = f"qdrant://127.0.0.1:{server.port}/base"
        with pytest.raises(FormatError, match="no knowledge base"):
            open_qdrant(address, create=False)
        store = open_qdrant(address)
        store.ensure_settings(SETTINGS)
        server.failures += [503, 429]
        store.put_document(make_entry("a", _OLD))
        check_scan(store, [make_entry("a", _OLD)], question("steady"))
        server.failures += [503] * 9
        with pytest.raises(StoreBusyError, match="try again"):
            store.get_record("a")
        server.failures[:] = [400]
        with pytest.raises(StoreError, match="refused"):
            store.get_record("a")
        monkeypatch.setenv("QDRANT_API_KEY", "wrong-key")
        with pytest.raises(StoreUnavailableError, match="QDRANT_API_KEY") as failure:
            open_qdrant(address)
        assert "wrong-key" not in str(failure.value)
        store.close()


def test_a_key_that_only_reads_opens_and_searches(engine: EdgeClient, tmp_path: Path) -> None:
    """Opening with such a key succeeds; the cleanup of earlier versions is left to others."""
    with _served(engine) as server:
        address = f"qdrant://127.0.0.1:{server.port}/base"
        with KnowledgeBase(address, embedder=None) as kb:
            kb.add_text("The margin fell.", document_id="a")
            kb.add_text("The margin fell again.", document_id="a", replace=True)
        server.refuses_writes = True
        with KnowledgeBase(address) as kb:
            assert kb.search("margin").segments
            assert kb.info().documents == 1
            with pytest.raises(StorePermissionError, match="QDRANT_API_KEY"):
                kb.add_text("The margin rose.", document_id="b")
            text = {"document_id": "b", "text": "The margin rose."}
            place = "/v1/knowledge-bases/shared/texts"
            refused = call(app_of({"shared": kb}), "", "PUT", place, json=text)
            assert (refused.status_code, refused.json()["code"]) == (403, "store_permission")
            assert "127.0.0.1" not in refused.text


def test_a_server_that_is_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the address and says what to do."""
    monkeypatch.setattr("spanwise.stores.qdrant.requests._FIRST_PAUSE_SECONDS", 0.001)
    with pytest.raises(StoreBusyError, match=r"127\.0\.0\.1:1/base"):
        open_qdrant("qdrant://127.0.0.1:1/base")


def test_a_key_is_not_sent_in_clear_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of private networks, a key requires an encrypted connection."""
    monkeypatch.setenv("QDRANT_API_KEY", "correct-horse")
    with pytest.raises(OptionError, match="qdrants://") as failure:
        open_qdrant("qdrant://93.184.215.14/reports")
    assert "correct-horse" not in str(failure.value)


def test_addresses_are_read() -> None:
    """Ports, schemes and options have defaults, and gRPC follows from its port."""
    plain = read_address("qdrant://host/reports")
    assert (plain.host, plain.port, plain.name, plain.https, plain.grpc) == (
        ("host", 6333, "reports", False, False)
    )
    assert read_address("qdrant://host:6334/reports").grpc
    large = read_address("qdrants://[::1]:7000/a.b?shards=6&replicas=2&quantization=int8")
    assert (large.https, large.shards, large.replicas, large.quantization) == (True, 6, 2, "int8")
    assert str(large) == "qdrants://[::1]:7000/a.b"


@pytest.mark.parametrize(
    "address",
    [
        "qdrant://host",
        "qdrant:///reports",
        "qdrant://host:99999/reports",
        "qdrant://host/a/b",
        "qdrant://host/reports?shards=0",
        "qdrant://host/reports?quantization=int4",
        "qdrant://user:secret@host/reports",
        "qdrant://host/reports?api_key=secret",
    ],
)
def test_addresses_that_are_not_valid_are_refused(address: str) -> None:
    """The message says what to give, and never shows a secret."""
    with pytest.raises(OptionError) as failure:
        read_address(address)
    assert "secret@" not in str(failure.value)
    assert "=secret" not in str(failure.value)


def test_entries_are_read_as_they_were_added(engine: EdgeClient) -> None:
    """`read_entry` returns what a copy needs."""
    store = open_base(engine)
    entry = make_entry("a", _OLD, title="Report", metadata={"year": 2018, "tags": ("x", "y")})
    store.put_document(entry)
    read: DocumentEntry = store.read_entry("a")
    assert (read.document, read.sections, tuple(read.chunks)) == (
        (entry.document, entry.sections, entry.chunks)
    )
    assert (read.title, read.title_words, read.summary) == ("Report", "Report", entry.summary)
    store.put_document(read)
    assert store.read_entry("b") is None
    check_scan(store, [entry], question("steady report"))


class PausingClient(SharedClient):
    """Client that calls a function before its next write to a collection."""

    collection = ""
    before: Callable[[], object] | None = None

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)
        if name != "upsert":
            return method

        def write(**arguments: Any) -> Any:
            before = self.before
            if before is not None and arguments["collection_name"].endswith(self.collection):
                self.before = None
                before()
            return method(**arguments)

        return write


def _lengths(texts: Sequence[str]) -> dict[str, Any]:
    return {"p/length": np.array([len(text) for text in texts], dtype=np.float16)}


@contextmanager
def changed_packs(engine: EdgeClient, collection: str) -> Iterator[QdrantStore]:
    """Yield a store with a document, whose packs another one changes before a write.

    Args:
        engine: Engine.
        collection: Last part of the name of the collection that is written next.
    """
    client = PausingClient(engine)
    with closing(open_base(engine)) as other, closing(open_base(client)) as store:
        store.put_document(make_entry("a", _OLD))
        client.collection = collection
        client.before = lambda: other.record_packs("new", _lengths)
        yield store
        assert client.before is None
        assert store.list_signals() == {"a": ("p/length",)}


def test_packs_that_change_before_the_switch_leave_no_document_without_signals(
    engine: EdgeClient,
) -> None:
    """The packs are changed when the put has checked them, and before the document is visible."""
    with changed_packs(engine, "-documents") as store:
        store.put_document(make_entry("a", _NEW))
        (record,) = store.list_records()
        assert record.chunks == len(_NEW)
        with store.snapshot() as snapshot:
            handles = snapshot.scan(question("steady")).handles
            found = snapshot.signals([PassageRange(int(handles[0]), 0, len(_NEW))], ["p/length"])
        assert found.tolist() == [[float(len(text)) for text in _NEW]]


def test_packs_that_change_while_chunks_are_written_refuse_the_document(
    engine: EdgeClient,
) -> None:
    with changed_packs(engine, "-chunks") as store:
        with pytest.raises(ConflictError, match=r"packs .* were changed while 'a' was read"):
            store.put_document(make_entry("a", _NEW))
        (record,) = store.list_records()
        assert record.chunks == len(_OLD)
