"""Searches of the PostgreSQL store: equal to those of a folder, from parts and the HNSW index."""

import random
import secrets
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import psycopg
import pytest

from spanwise.core.ranking.scan import PassageRange, Passages, Scan, ScanQuery
from spanwise.filters import parse_filter
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.port import Snapshot, Store
from spanwise.stores.postgres.index import PostgresIndex
from spanwise.stores.postgres.store import PostgresStore, open_postgres
from spanwise.testing.store_entries import (
    SETTINGS,
    make_entry,
    question,
    question_vector,
)

QUESTIONS = ("lease margin", "clause term7 refund", "margin", "refund nowhere", "lease lease lease")
WORDS = [
    "lease",
    "margin",
    "clause",
    "refund",
    "tenant",
    "interest",
    *(f"term{n}" for n in range(40)),
]


@pytest.fixture
def address(postgres_url: str) -> str:
    return f"{postgres_url}?schema=s{secrets.token_hex(6)}"


@pytest.fixture
def store(address: str) -> Iterator[PostgresStore]:
    made = open_postgres(address, durability="fast")
    made.ensure_settings(SETTINGS)
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[EmbeddedStore]:
    made = open_embedded(tmp_path / "a.kb", durability="fast")
    made.ensure_settings(SETTINGS)
    yield made
    made.close()


def opened(address: str) -> closing[PostgresStore]:
    """Open a store of its own, as another process does."""
    return closing(open_postgres(address, durability="fast"))


def put(numbers: range, *stores: Store, chunks: int = 12) -> None:
    for number in numbers:
        words = random.Random(number)
        texts = [f"{' '.join(words.choices(WORDS, k=9))}. " for _ in range(chunks)]
        entry = make_entry(
            f"d{number:04d}",
            texts,
            title=words.choice(WORDS),
            metadata={"year": 2000 + number % 5},
        )
        for store in stores:
            store.put_document(entry)


def remove(number: int, *stores: Store) -> None:
    for store in stores:
        store.delete_document(f"d{number:04d}")


def bits(value: Scan | Passages) -> list[object]:
    """Return all fields except handles, which stores choose freely."""
    names = [name for name in value.__dataclass_fields__ if name != "handles"]
    fields = [getattr(value, name) for name in names]
    return [f.tolist() if isinstance(f, np.ndarray) else f for f in fields]


def found(snapshot: Snapshot, scan: Scan) -> set[tuple[str, int]]:
    ids = [snapshot.record(int(handle)).id for handle in scan.handles]
    places = zip(scan.hit_documents.tolist(), scan.hit_chunks.tolist(), strict=True)
    return {(ids[document], chunk) for document, chunk in places}


def ranges_of(scan: Scan) -> list[PassageRange]:
    return [
        PassageRange(int(scan.handles[document]), max(0, int(chunk) - 1), int(chunk) + 3)
        for document, chunk in zip(scan.hit_documents[:30], scan.hit_chunks[:30], strict=True)
    ]


def everything(store: Store) -> list[object]:
    """Return what searches of all questions give, bit for bit."""
    vectors = np.stack([question_vector("lease"), question_vector("refund margin")])
    results: list[object] = []
    with store.snapshot() as snapshot:
        for text in QUESTIONS:
            query = question(text, hits=20)
            scan = snapshot.scan(query)
            where = parse_filter("year >= 2003")
            results += [bits(scan), bits(snapshot.scan(query, where=where))]
            ranges = ranges_of(scan)
            passages = snapshot.passages(ranges, terms=query.terms, vectors=vectors)
            results += [bits(passages), snapshot.term_counts(query.terms)[0].tolist()]
            handles = [span.handle for span in ranges]
            results.append(snapshot.similar_words(handles, ["margin", "rent"]))
            results.append(found(snapshot, scan))
        results += [snapshot.similar_spellings(["marginn", "clouse"]), snapshot.languages()]
    return results


def parts_of(address: str) -> list[int]:
    schema = address.partition("schema=")[2]
    with psycopg.connect(address.partition("?")[0]) as connection:
        rows = connection.execute(f'select part from "{schema}".index_part order by part')
        return [part for (part,) in rows]


def run_sql(address: str, statement: str) -> None:
    schema = address.partition("schema=")[2]
    with psycopg.connect(address.partition("?")[0]) as connection:
        connection.execute(f'set search_path = "{schema}", public')
        connection.execute(statement)


@contextmanager
def index_of(address: str, *, exact_chunks: int) -> Iterator[PostgresIndex]:
    """Open an index of its own, as another process does."""
    with opened(f"{address}&exact_chunks={exact_chunks}") as store:
        store.ensure_settings(SETTINGS)
        yield store._index


def test_a_search_is_bit_for_bit_that_of_a_folder(
    store: PostgresStore, folder: EmbeddedStore, address: str
) -> None:
    """Documents without a part, in one part, in several parts, and after deletions."""
    put(range(20), store, folder)
    assert everything(store) == everything(folder)
    store._index.flush()
    put(range(20, 24), store, folder)
    remove(3, store, folder)
    assert everything(store) == everything(folder)
    store._index.flush()
    remove(21, store, folder)
    assert everything(store) == everything(folder)
    store.compact()
    with opened(address) as other:
        assert everything(other) == everything(folder)
    assert len(parts_of(address)) == 1


def test_parts_are_merged_and_flushed_on_close(store: PostgresStore, address: str) -> None:
    for first in range(0, 12, 2):
        put(range(first, first + 2), store)
        store._index.flush()
    assert len(parts_of(address)) < 6
    put(range(12, 13), store)
    with opened(address) as other:
        put(range(13, 14), other)
    with store.snapshot():
        pass
    assert store.check().pending_chunks == 0


def test_a_flush_never_waits_for_another_one(store: PostgresStore, address: str) -> None:
    put(range(2), store)
    with store._connections.maintaining() as connection:
        assert store._connections.try_lock(connection, "index ")
        assert not store._index.flush()
    assert parts_of(address) == []
    assert store._index.flush()


def test_a_snapshot_continues_while_its_parts_are_merged(
    store: PostgresStore, folder: EmbeddedStore, address: str
) -> None:
    """Another process deletes the parts that a running search reads."""
    put(range(10), store, folder)
    store._index.flush()
    with opened(address) as other, other.snapshot() as snapshot:
        snapshot.languages()
        put(range(10, 20), store)
        store.compact()
        with folder.snapshot() as expected:
            query = question("margin clause", hits=10)
            assert bits(snapshot.scan(query)) == bits(expected.scan(query))


@pytest.mark.parametrize(
    "damage",
    [
        "update part_row set data = overlay(data placing '\\xffff' from 30) where crc <> 0",
        "delete from part_row where key % 67108864 = 0 and (key >> 26) % 8 > 0",
        "delete from part_row",
    ],
)
def test_damaged_rows_change_no_result_and_are_repaired(
    store: PostgresStore, folder: EmbeddedStore, address: str, damage: str
) -> None:
    put(range(8), store, folder)
    store._index.flush()
    run_sql(address, damage)
    with opened(address) as other:
        report = other.check()
        assert [finding.code for finding in report.findings] == ["part"]
        assert all(finding.repaired for finding in other.check(repair=True).findings)
        assert other.check().findings == ()
        assert everything(other) == everything(folder)
    run_sql(address, damage)
    with opened(address) as other:
        assert everything(other) == everything(folder)
        assert other.check().findings == ()  # the search had the part written again


@contextmanager
def large(address: str) -> Iterator[tuple[PostgresIndex, PostgresIndex]]:
    """Open a knowledge base once with the HNSW index, and once with exact search."""
    with (
        index_of(address, exact_chunks=100) as near,
        index_of(address, exact_chunks=10**6) as exact,
    ):
        yield near, exact


def test_the_hnsw_index_finds_nearly_all_hits(store: PostgresStore, address: str) -> None:
    put(range(100), store, chunks=20)
    with large(address) as (near, exact):
        near.compact()
        shares = []
        for text in QUESTIONS:
            with near.open_snapshot() as left, exact.open_snapshot() as right:
                assert not left.is_exact
                query = question(text, hits=50)
                some, best = left.scan(query), right.scan(query)
                assert (some.keyword, some.chunks) == (best.keyword, best.chunks)
                hits = found(right, best)
                shares.append(len(hits & found(left, some)) / len(hits))
                assert some.vector is not None
                assert best.vector is not None
                assert abs(some.vector.mean - best.vector.mean) < 0.2
                vectors = np.stack([question_vector(text)])
                ranges = ranges_of(best)
                assert bits(left.passages(ranges, terms=("leas",), vectors=vectors)) == bits(
                    right.passages(ranges, terms=("leas",), vectors=vectors)
                )
        assert np.mean(shares) >= 0.97


def test_processes_that_compact_at_once_build_one_hnsw_index(
    store: PostgresStore, address: str
) -> None:
    put(range(60), store, chunks=20)
    with large(address) as (first, _), large(address) as (second, _), ThreadPoolExecutor(2) as pool:
        for _ in range(4):
            run_sql(address, "delete from near_index")
            run_sql(address, "drop index if exists near_1")
            for done in [pool.submit(one.compact) for one in (first, second)]:
                done.result()
            with first.open_snapshot() as snapshot:
                assert not snapshot.is_exact


def test_changes_after_the_build_of_the_hnsw_index_are_seen(
    store: PostgresStore, address: str
) -> None:
    """Deleted documents are no hits, and later ones are compared one by one."""
    put(range(30), store)
    with large(address) as (near, _):
        near.compact()
        remove(7, store)
        later = make_entry("later", ["quark gluon plasma. ", "lease. "])
        store.put_document(later)
        query = ScanQuery(
            terms=(), vector=question_vector("quark gluon plasma"), hits=10, keyword_share=0.0
        )
        for _ in range(2):
            with near.open_snapshot() as snapshot:
                scan = snapshot.scan(query)
                assert ("later", 0) in found(snapshot, scan)
                assert float(scan.hit_vectors.max()) > 0.99
                everywhere = found(snapshot, snapshot.scan(question("lease", hits=400)))
                assert "d0007" not in {document for document, _ in everywhere}
            near.flush()


def test_a_rebuild_empties_the_hnsw_index_and_compact_builds_it(
    store: PostgresStore, address: str
) -> None:
    """Until then, searches compare all vectors."""
    put(range(12), store)
    query = question("lease margin", hits=400)
    with opened(f"{address}&exact_chunks=10") as other:
        other.ensure_settings({})
        other.compact()
        with store.open_rebuild({**SETTINGS, "revision": "1"}) as rebuild:
            for name, version in rebuild.outdated():
                entry = store.read_entry(name)
                assert entry is not None
                rebuild.put(entry, version=version)
            with rebuild.hold_writers():
                rebuild.switch()
    with opened(address) as exact, opened(f"{address}&exact_chunks=10") as near:
        for one in (exact, near):
            one.ensure_settings({})
        with exact.snapshot() as left, near.snapshot() as right:
            assert found(left, left.scan(query)) == found(right, right.scan(query))
        near.compact()
        with exact.snapshot() as left, near.snapshot() as right:
            some, best = found(right, right.scan(query)), found(left, left.scan(query))
            assert len(some & best) >= 0.97 * len(best)


def year_of(place: tuple[str, int]) -> int:
    """Return the year of the document of a hit, see `put`."""
    return 2000 + int(place[0][1:]) % 5


def test_a_narrow_filter_is_searched_exactly(store: PostgresStore, address: str) -> None:
    put(range(30), store)
    with large(address) as (near, exact):
        near.compact()
        with near.open_snapshot() as left, exact.open_snapshot() as right:
            for where in ("year = 2002", "year in (2001, 2004)"):
                query, test = question("lease margin", hits=15), parse_filter(where)
                some, best = left.scan(query, where=test), right.scan(query, where=test)
                hits = found(right, best)
                assert {year_of(place) for place in found(left, some)} <= {2001, 2002, 2004}
                if where == "year = 2002":  # 72 chunks
                    assert bits(some) == bits(best)
                else:
                    assert len(hits & found(left, some)) >= 0.97 * len(hits)


class Proxy:
    """Forwards connections to a server, and counts requests that follow an answer."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.trips = 0
        self._answered = True
        self._open: list[socket.socket] = [self._server]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            self._open += [client, server]
            for source, target, asks in ((client, server, True), (server, client, False)):
                threading.Thread(
                    target=self._forward, args=(source, target, asks), daemon=True
                ).start()

    def _forward(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if asks and self._answered:
                    self.trips += 1
                self._answered = not asks
                target.sendall(data)
        except OSError:
            return

    def close(self) -> None:
        for one in self._open:
            one.close()


def count_trips(index: PostgresIndex, proxy: Proxy, texts: Sequence[str]) -> list[int]:
    """Return the round trips of the scan and the passages of each question."""
    counts = []
    for text in texts:
        with index.open_snapshot() as snapshot:
            query = question(text, hits=20)
            before = proxy.trips
            scan = snapshot.scan(query)
            vectors = np.stack([question_vector(text)])
            snapshot.passages(ranges_of(scan), terms=query.terms, vectors=vectors)
            counts.append(proxy.trips - before)
    return counts


def test_a_search_takes_few_round_trips(store: PostgresStore, address: str) -> None:
    """Whatever the number of parts; what a process has read is not read again."""
    put(range(40), store)
    store._index.flush()
    put(range(40, 80), store, chunks=4)
    store.compact()
    info = psycopg.conninfo.conninfo_to_dict(address.partition("?")[0])
    proxy = Proxy(str(info["host"]), int(str(info["port"])))
    try:
        there = f"postgresql://postgres@127.0.0.1:{proxy.port}/{info['dbname']}?sslmode=disable&"
        through = f"{there}{address.partition('?')[2]}"
        with index_of(through, exact_chunks=10**6) as exact:
            first, *later = count_trips(exact, proxy, QUESTIONS)
            assert first <= 3
            assert max(later) <= 1
            assert count_trips(exact, proxy, QUESTIONS) == [0] * len(QUESTIONS)
        with index_of(through, exact_chunks=100) as near:
            near.compact()
            assert max(count_trips(near, proxy, QUESTIONS)) <= 4
    finally:
        proxy.close()
