"""Searches of the PostgreSQL store: equal to those of a folder."""

import random
import secrets
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import psycopg
import pytest

from spanwise.core.ranking.scan import PassageRange, Passages, Scan
from spanwise.errors import OptionError
from spanwise.filters import parse_filter
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.port import DocumentUpdate, Snapshot, Store
from spanwise.stores.postgres import schema
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
def index_of(address: str) -> Iterator[PostgresIndex]:
    """Open an index of its own, as another process does."""
    with opened(address) as store:
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


def test_another_process_writes_the_parts_while_this_one_adds_documents(
    store: PostgresStore,
    folder: EmbeddedStore,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This process writes no part itself, and finds all documents in parts afterwards."""
    monkeypatch.setattr(store._index, "_insert", None)
    with store.flushes_elsewhere():
        put(range(10), folder)
        put(range(10), store, chunks=12)
        store._index.added(5_000)  # as many chunks make a flush due
        put(range(10, 14), store, folder)
    monkeypatch.undo()
    assert parts_of(address)
    assert store.check().pending_chunks == 0
    assert everything(store) == everything(folder)


def test_this_process_writes_the_parts_if_the_other_one_dies(
    store: PostgresStore, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanwise.stores.postgres.flush_process.start_module", _no_process)
    with store.flushes_elsewhere():
        put(range(2), store)
        store._index.added(5_000)
        put(range(2, 4), store)
        store._index.added(5_000)
        assert parts_of(address)
    assert store.check().pending_chunks == 0


def _no_process(*_: str) -> None:
    raise OSError("no process can be started")


def test_a_filter_sees_each_change_of_a_document(store: PostgresStore, address: str) -> None:
    """The documents that match a filter are cached until a document changes."""
    put(range(6), store)
    where = parse_filter("year = 2002")
    query = question("lease margin", hits=400)

    def matched() -> set[str]:
        with store.snapshot() as snapshot:
            scan = snapshot.scan(query, where=where)
            return {document for document, _ in found(snapshot, scan)}

    assert matched() == matched() == {"d0002"}
    record = store.get_record("d0003")
    assert record is not None
    update = DocumentUpdate(
        title=record.title, metadata={"year": 2002}, given_fields=(), origins=None
    )
    with opened(address) as other:
        other.ensure_settings(SETTINGS)
        assert other.update_document("d0003", update, record=record)
    assert matched() == {"d0002", "d0003"}
    remove(2, store)
    assert matched() == {"d0003"}


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


def vector_files(folder: Path) -> dict[Path, int]:
    """Return the files with vectors and the numbers of their inodes."""
    return {path: path.stat().st_ino for path in folder.rglob("*") if path.is_file()}


def test_processes_share_the_files_of_vectors(
    store: PostgresStore, folder: EmbeddedStore, address: str, tmp_path: Path
) -> None:
    """The second one writes no file and reads no vectors; merges replace the files."""
    cache = tmp_path / "vectors"
    put(range(20), store, folder)
    store.compact()
    with opened(f"{address}&cache={cache}") as first:
        assert everything(first) == everything(folder)
        files = vector_files(cache)
        assert len(files) == 1
        assert all(path.stat().st_mode & 0o077 == 0 for path in [*files, *cache.iterdir()])
        run_sql(address, "update part_row set crc = crc + 1 where (key >> 26) % 8 = 2")
        with opened(f"{address}&cache={cache}") as second:
            assert everything(second) == everything(folder)
            assert second._index._damaged == set()
        assert vector_files(cache) == files
        put(range(20, 24), store, folder)
        store.compact()
        assert everything(first) == everything(folder)
        assert len(vector_files(cache)) == 1
        assert not vector_files(cache).keys() & files.keys()


@pytest.mark.parametrize("damage", [b"", b"\x01", None])
def test_a_damaged_file_of_vectors_is_written_again(
    store: PostgresStore,
    folder: EmbeddedStore,
    address: str,
    tmp_path: Path,
    damage: bytes | None,
) -> None:
    cache = tmp_path / "vectors"
    put(range(8), store, folder)
    store.compact()
    with opened(f"{address}&cache={cache}") as first:
        everything(first)
    (path,) = vector_files(cache)
    data = path.read_bytes()
    path.write_bytes(damage if damage is not None else b"\x7f" + data[1:])
    with opened(f"{address}&cache={cache}") as second:
        assert everything(second) == everything(folder)
    assert path.read_bytes() == data


def test_a_folder_that_cannot_be_written_is_reported_once(
    store: PostgresStore,
    folder: EmbeddedStore,
    address: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    put(range(6), store, folder)
    store.compact()
    with opened(f"{address}&cache={blocked}") as other:
        assert everything(other) == everything(folder)
        assert everything(other) == everything(folder)
    assert [record.message for record in caplog.records if "own memory" in record.message]
    assert len(caplog.records) == 1


def test_a_cache_is_an_absolute_path(address: str) -> None:
    with pytest.raises(OptionError, match="absolute path"):
        open_postgres(f"{address}&cache=vectors")


def test_tables_of_the_format_with_the_hnsw_index_are_migrated(
    address: str, folder: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Format 2 had copies of the vectors in the table `near`, for an index of pgvector."""
    with monkeypatch.context() as patch:
        patch.setattr(schema, "_MIGRATIONS", schema._MIGRATIONS[:2])
        patch.setattr(schema, "FORMAT", 2)
        with opened(address) as store:
            store.ensure_settings(SETTINGS)
            put(range(6), store, folder)
        run_sql(
            address,
            "insert into near select 1, tenant, document, key, embedding from vector;"
            f"create index near_1 on near using hnsw ((embedding::halfvec({SETTINGS['dimension']}))"
            " halfvec_ip_ops) where batch = 1; insert into near_index values (1, 6, 72)",
        )
    with opened(address) as store:
        store.ensure_settings(SETTINGS)
        assert everything(store) == everything(folder)
        put(range(6, 8), store, folder)
        store.compact()
        assert everything(store) == everything(folder)
        with store.connections.reading() as connection:
            (format_,) = connection.execute("select number from format").fetchone() or (0,)
            left = connection.execute("select to_regclass('near'), to_regclass('near_index')")
            assert left.fetchone() == (None, None)
        assert format_ == schema.FORMAT


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
        with index_of(through) as index:
            first, *later = count_trips(index, proxy, QUESTIONS)
            assert first <= 3
            assert max(later) <= 1
            assert count_trips(index, proxy, QUESTIONS) == [0] * len(QUESTIONS)
    finally:
        proxy.close()
