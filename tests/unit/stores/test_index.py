"""The derived index: every document is found, whatever happens to the files."""

import logging
import shutil
import sqlite3
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanwise.core.ranking.scan import Scan, ScanQuery
from spanwise.core.text.terms import text_terms
from spanwise.errors import StoreError
from spanwise.stores import build, database, embedded, index, merge_plan
from spanwise.stores.database import IndexedDocument, read_indexed
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.manifest import read_manifest, write_manifest
from spanwise.stores.part import Part, open_part
from spanwise.stores.port import Store
from spanwise.testing.store_entries import SETTINGS, make_entry, text_vector


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.kb"


@pytest.fixture
def store(path: Path) -> Iterator[EmbeddedStore]:
    made = open_embedded(path)
    made.ensure_settings(SETTINGS)
    yield made
    made.close()


def put(store: Store, numbers: range) -> None:
    for number in numbers:
        store.put_document(make_entry(f"d{number:03d}", ["lease term ", f"word{number}. "]))


def search(store: Store, text: str = "lease") -> Scan:
    with store.snapshot() as snapshot:
        return snapshot.scan(ScanQuery(terms=tuple(text_terms(text)), vector=text_vector(text)))


def parts(path: Path) -> list[str]:
    return sorted(file.name for file in (path / "index").glob("*.part"))


def bits(scan: Scan) -> tuple[object, ...]:
    return (
        scan.all_chunks,
        scan.keyword,
        scan.vector,
        scan.handles.tolist(),
        scan.hit_chunks.tolist(),
        scan.hit_keywords.tolist(),
        scan.hit_vectors.tolist(),
    )


def flush_now(store: EmbeddedStore) -> None:
    assert store._index.flush()


def test_a_flush_of_another_process_leaves_no_gap(store: EmbeddedStore, path: Path) -> None:
    """One process holds two parts in memory; another writes a file up to the middle of one."""
    put(store, range(4))
    other = open_embedded(path)
    flush_now(other)
    put(store, range(4, 8))
    search(store)
    put(store, range(8, 12))
    other_manifest = read_manifest(path / "index")
    search(other)  # its memory holds 4 to 11 now
    put(store, range(12, 14))
    search(store)
    flush_now(other)
    put(store, range(14, 16))
    assert read_manifest(path / "index") != other_manifest
    assert search(store).term_chunks.tolist() == [16]
    assert len(search(store).handles) == 16
    other.close()


def test_a_manifest_may_be_newer_than_the_snapshot(store: EmbeddedStore, path: Path) -> None:
    """A compaction drops a document that an older transaction still sees."""
    put(store, range(6))
    flush_now(store)
    before = bits(search(store))
    reader = open_embedded(path)
    with reader._pool.lend() as connection:
        connection.execute("begin")
        connection.execute("select max(seq) from change").fetchone()
        store.delete_document("d002")
        store.compact()
        manifest = read_manifest(path / "index")
        view = reader._index._view(connection, manifest, allow_large=False)
        assert len(view.missing) == 0
        assert view.all_documents == 6
    assert bits(search(store)) != before
    reader.close()


def test_an_open_snapshot_outlives_the_files_it_was_opened_on(
    store: EmbeddedStore, path: Path
) -> None:
    put(store, range(6))
    store.compact()
    query = ScanQuery(terms=("leas",), vector=text_vector("lease"))
    with store.snapshot() as snapshot:
        before = bits(snapshot.scan(query))
        old = parts(path)
        put(store, range(3, 9))
        store.compact()
        assert set(parts(path)).isdisjoint(old)
        assert bits(snapshot.scan(query)) == before


@pytest.mark.parametrize("loss", ["part", "damage", "manifest", "everything"])
def test_what_is_lost_is_made_anew(
    store: EmbeddedStore, path: Path, loss: str, caplog: pytest.LogCaptureFixture
) -> None:
    put(store, range(6))
    before = bits(search(store))
    store.close()
    part = path / "index" / parts(path)[0]
    if loss == "part":
        part.unlink()
    elif loss == "damage":
        part.write_bytes(part.read_bytes()[:-64])
    elif loss == "manifest":
        (path / "index" / "manifest.json").write_text("{}")
    else:
        shutil.rmtree(path / "index")
    again = open_embedded(path)
    with caplog.at_level(logging.WARNING, "spanwise"):
        assert bits(search(again)) == before
    assert ("damaged index part" in caplog.text) == (loss == "damage")
    again.close()
    assert len(parts(path)) == 1


def test_a_silently_damaged_file_is_made_anew_by_compact(
    store: EmbeddedStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(store, range(6))
    before = bits(search(store))
    store.close()
    part = path / "index" / parts(path)[0]
    terms = open_part(part).body.terms.tobytes()
    part.write_bytes(part.read_bytes().replace(terms, bytes(len(terms))))
    again = open_embedded(path)
    with caplog.at_level(logging.WARNING, "spanwise"):
        again.compact()
    assert "rebuilt" in caplog.text
    assert part.name not in parts(path)
    assert bits(search(again)) == before
    again.close()


def test_a_restored_backup_is_noticed(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The same numbers come again for other documents; the stamp tells the histories apart."""
    store = open_embedded(path)
    store.ensure_settings(SETTINGS)
    put(store, range(3))
    store.close()
    shutil.copy(path / "truth.db", tmp_path / "backup.db")
    store = open_embedded(path)
    put(store, range(3, 6))
    store.close()
    shutil.copy(tmp_path / "backup.db", path / "truth.db")
    store = open_embedded(path)
    put(store, range(10, 13))
    with caplog.at_level(logging.WARNING, "spanwise"):
        assert search(store, "word11").term_chunks.tolist() == [1]
    assert "another truth.db" in caplog.text
    assert search(store, "word4").term_chunks.tolist() == [0]
    store.close()


def test_a_large_gap_is_written_in_batches_before_the_search(
    store: EmbeddedStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_MAX_DELTA_ROWS", 10)
    monkeypatch.setattr(merge_plan, "_BATCH_ROWS", 8)
    monkeypatch.setattr(merge_plan, "_MAX_PART_ROWS", 8)
    put(store, range(20))
    assert search(store).term_chunks.tolist() == [20]
    assert len(parts(path)) == 5
    assert store._index.pending_rows == 0


def test_a_rebuild_that_was_killed_goes_on(
    store: EmbeddedStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written before is not made again."""
    monkeypatch.setattr(index, "_MAX_DELTA_ROWS", 5)
    monkeypatch.setattr(merge_plan, "_BATCH_ROWS", 6)
    monkeypatch.setattr(merge_plan, "_MAX_PART_ROWS", 6)
    put(store, range(12))
    before = bits(search(store))
    store.compact()
    built: list[int] = []
    real = build.build_part

    def build_part(documents: tuple[IndexedDocument, ...], **others: Any) -> Part:
        built.extend(document.number for document in documents)
        if documents[-1].number == 9:
            raise KeyboardInterrupt
        return real(documents, **others)

    monkeypatch.setattr(index, "build_part", build_part)
    shutil.rmtree(path / "index")
    with pytest.raises(KeyboardInterrupt):
        open_embedded(path).compact()
    assert built == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert len(parts(path)) == 2
    built.clear()
    monkeypatch.setattr(index, "build_part", real)
    other = open_embedded(path)
    other.compact()
    assert len(parts(path)) == 4
    assert bits(search(other)) == before
    other.close()


@pytest.mark.parametrize("then", ["put", "search", "close"])
def test_a_huge_document_is_indexed_when_its_caller_let_go_of_it(
    store: EmbeddedStore, path: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """Not while it is put: its entry takes memory of its own."""
    for module, name in ((embedded, "_FLUSH_ROWS"), (embedded, "_FOLLOW_ROWS")):
        monkeypatch.setattr(module, name, 5)
    monkeypatch.setattr(index, "_MAX_DELTA_ROWS", 5)
    search(store)
    store.put_document(make_entry("huge", [f"lease {number} " for number in range(9)]))
    assert parts(path) == []
    assert store._index.pending_rows == 0
    if then == "put":
        put(store, range(1))
    elif then == "search":
        assert search(store).all_chunks == 9
    else:
        store.close()
    assert len(parts(path)) == 1


def test_a_document_that_is_read_in_blocks_has_the_same_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["lease term ", "rent. ", "Häuser | 3 ", "収益 "]
    entry = make_entry("long", [words[number % 4] + f"w{number} " for number in range(50)])
    files = []
    for rows in (4_096, 7):
        monkeypatch.setattr(database, "_LARGE_CHUNKS", rows)
        monkeypatch.setattr(database, "_CHUNK_ROWS", rows)
        monkeypatch.setattr(database, "_VECTOR_ROWS", rows)
        path = tmp_path / str(rows)
        with closing(open_embedded(path)) as store:
            store.ensure_settings(SETTINGS)
            store.put_document(entry)
            store.put_document(make_entry("short", ["lease "]))
            store.compact()
        files.append([(path / "index" / name).read_bytes() for name in parts(path)])
    assert files[0] == files[1]


def test_a_large_document_is_not_read_at_once(store: EmbeddedStore) -> None:
    text = "lease term " * 80
    store.put_document(make_entry("long", [f"{number} {text}" for number in range(5_000)]))
    with store._pool.lend() as connection:
        tracemalloc.start()
        (document,) = read_indexed(connection, [1], dimension=int(SETTINGS["dimension"]))
        chars = sum(map(len, document.texts))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert document.texts[4_999] == f"4999 {text}"
    assert len(document.texts) == len(document.searched) == len(document.tokens) == 5_000
    assert peak < 0.9 * chars


def test_a_large_gap_is_read_into_memory_where_nothing_can_be_written(
    store: EmbeddedStore,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(index, "_MAX_DELTA_ROWS", 10)
    (path / "index").write_text("in the way")
    put(store, range(20))
    with caplog.at_level(logging.WARNING, "spanwise"):
        assert search(store).term_chunks.tolist() == [20]
    assert "cannot be written" in caplog.text
    assert "lacks 40 chunks" in caplog.text


def test_a_put_is_kept_where_the_index_cannot_be_written(
    store: EmbeddedStore,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(embedded, "_FLUSH_ROWS", 4)
    store._next_flush_rows = 4
    (path / "index").write_text("in the way")
    with caplog.at_level(logging.WARNING, "spanwise"):
        put(store, range(8))
    assert caplog.text.count("cannot be written") == 4
    assert search(store).term_chunks.tolist() == [8]
    with pytest.raises(StoreError, match="no document is lost"):
        store.compact()


def test_small_parts_are_merged_and_gone_documents_dropped(
    store: EmbeddedStore, path: Path
) -> None:
    for number in range(20):
        put(store, range(number, number + 1))
        flush_now(store)
    assert len(parts(path)) <= 4
    for number in range(19):
        store.delete_document(f"d{number:03d}")
    store.compact()
    assert len(parts(path)) == 1
    assert search(store).term_chunks.tolist() == [1]
    store.delete_document("d019")
    store.compact()
    assert parts(path) == []


def test_files_that_nobody_names_are_removed(store: EmbeddedStore, path: Path) -> None:
    put(store, range(2))
    flush_now(store)
    (path / "index" / "1-9-abc.part").write_bytes(b"of a crash")
    (path / "index" / "1-9-abd.tmp").write_bytes(b"of a crash")
    put(store, range(2, 3))
    flush_now(store)
    assert len(list((path / "index").iterdir())) == len(parts(path)) + 2  # lock and manifest
    assert "1-9-abc.part" not in parts(path)


def test_a_flush_leaves_the_work_to_whoever_has_the_lock(store: EmbeddedStore, path: Path) -> None:
    (path / "index").mkdir()
    put(store, range(2))
    with sqlite3.connect(path / "index" / "lock.db", isolation_level=None) as holder:
        holder.execute("begin exclusive")
        assert not store._index.flush()
        assert search(store).term_chunks.tolist() == [2]
    holder.close()
    assert store._index.flush()


def test_parts_with_crossing_documents_are_kept_apart(store: EmbeddedStore, path: Path) -> None:
    """A part in the middle was lost and is written again: no merge may mix up the order."""
    for number in range(3):
        put(store, range(10 * number, 10 * number + 10 - 3 * number))
        flush_now(store)
    before = bits(search(store))
    manifest = read_manifest(path / "index")
    store.close()
    assert len(manifest.parts) >= 1
    lost = type(manifest)(seq=manifest.seq, stamp=manifest.stamp, parts=manifest.parts[1:])
    write_manifest(path / "index", lost)
    again = open_embedded(path)
    put(again, range(50, 52))
    again.delete_document("d050")
    again.delete_document("d051")
    flush_now(again)
    assert bits(search(again)) == before
    again.close()


def test_scores_do_not_depend_on_simsimd(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spanwise.stores import dot_products as dots

    put(store, range(6))
    before = bits(search(store))
    monkeypatch.setattr(dots, "_simsimd", lambda: None)
    assert bits(search(store)) == before
    assert np.isfinite(search(store).hit_vectors).all()
