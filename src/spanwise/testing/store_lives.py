"""Conformance checks of stores: snapshots, threads, several handles, compacting, reopening."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from spanwise.errors import StoreError
from spanwise.stores.port import DocumentEntry, Store
from spanwise.testing.brute_force import expected_scan
from spanwise.testing.store_entries import (
    SETTINGS,
    check_whole,
    fill,
    fingerprint,
    make_corpus,
    make_entry,
    make_output,
    question,
    reference_terms,
)
from spanwise.testing.store_records import make_turn
from spanwise.testing.store_suite import StoreSuite, check_scan, compare

QUERY = question("lease margin the zanzibar goodwill", hits=12)
_WRITERS = 3
_READERS = 2
_ROUNDS = 8
_PATIENCE_SECONDS = 10


class LifeChecks(StoreSuite):
    """Checks of consistency over time, across threads and across handles."""

    def test_a_snapshot_sees_one_moment(self, store: Store) -> None:
        """Later writes are not visible in an open snapshot."""
        entries = make_corpus()
        fill(store, entries)
        old = entries[4]
        with store.snapshot() as snapshot:
            expected = expected_scan(entries, QUERY, reference_terms=reference_terms())
            compare(snapshot.scan(QUERY), expected, snapshot)
            handles = {snapshot.record(int(h)).id: int(h) for h in snapshot.scan(QUERY).handles}
            store.put_document(make_entry(old.document.id, ["lease"], source_root="reports"))
            store.delete_document("twin/a")
            store.put_document(make_entry("new", ["lease margin"]))
            compare(snapshot.scan(QUERY), expected, snapshot)
            began = time.monotonic()
            store.compact()
            assert time.monotonic() - began < _PATIENCE_SECONDS, "waits for open snapshots"
            compare(snapshot.scan(QUERY), expected, snapshot)
            assert snapshot.chunks(handles[old.document.id], 0, 99) == old.chunks
            assert snapshot.record(handles["twin/a"]).chunks == 3
            with store.snapshot() as later:
                assert later.scan(QUERY).all_documents == len(entries)
                assert later.scan(QUERY, documents=["new"]).chunks == 1

    def test_a_first_search_sees_the_moment_of_its_snapshot(self, store: Store) -> None:
        """A snapshot is consistent even if its first read follows a write."""
        entries = make_corpus()
        fill(store, entries)
        with store.snapshot() as snapshot:
            store.delete_document("twin/a")
            store.put_document(make_entry("alone", ["lease lease"]))
            store.compact()
            seen = snapshot.scan(QUERY)
            if seen.all_documents == len(entries):  # the moment it was opened
                expected = expected_scan(entries, QUERY, reference_terms=reference_terms())
            else:  # the moment of its first read
                left = [e for e in entries if e.document.id not in ("twin/a", "alone")]
                left.append(make_entry("alone", ["lease lease"]))
                expected = expected_scan(left, QUERY, reference_terms=reference_terms())
            compare(seen, expected, snapshot)

    def test_writes_are_read_at_once(self, store: Store) -> None:
        """Each write is visible to the next search."""
        entries: list[DocumentEntry] = []
        for entry in make_corpus():
            store.put_document(entry)
            entries.append(entry)
            check_scan(store, entries, QUERY)
        while entries:
            gone = entries.pop(len(entries) // 2)
            store.delete_document(gone.document.id)
            check_scan(store, entries, QUERY)

    def test_compacting_and_reopening_change_no_bit(self, tmp_path: Path) -> None:
        """Scores do not depend on the layout on disk."""
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        entries = make_corpus()
        fill(store, entries)
        queries = [QUERY, question("annual dividend 7", vector=False), question("of", hits=3)]
        before = [fingerprint(store, query) for query in queries]
        store.record_settings({"thresholds": "{}"})
        store.compact()
        after = [fingerprint(store, query) for query in queries]
        assert after == before, "the same bits after compact"
        store.compact()
        if self.on_disk:
            store.close()
            store = self.open_store(tmp_path / "store")
            assert dict(store.ensure_settings({})) == {**SETTINGS, "thresholds": "{}"}
            after = [fingerprint(store, query) for query in queries]
            assert after == before, "the same bits after reopening"
            for entry in entries:
                assert store.get_document(entry.document.id) == entry.document
                assert store.get_chunks(entry.document.id) == entry.chunks
        check_scan(store, entries, QUERY)
        store.close()

    def test_history_does_not_show(self, tmp_path: Path) -> None:
        """Results do not depend on documents that were stored and deleted before."""
        entries = make_corpus()
        with ExitStack() as stack:
            straight = self.open_store(tmp_path / "straight")
            stack.callback(straight.close)
            straight.ensure_settings(SETTINGS)
            fill(straight, entries)
            crooked = self.open_store(tmp_path / "crooked")
            stack.callback(crooked.close)
            crooked.ensure_settings(SETTINGS)
            for number, entry in enumerate(entries):
                document_id = entry.document.id
                passing = make_entry("passing", [f"lease margin {number}"], title="zanzibar")
                crooked.put_document(passing)
                if number % 3 == 0:
                    root = entry.document.source_root
                    crooked.put_document(make_entry(document_id, ["goodwill"], source_root=root))
                if number % 4 == 0:
                    crooked.compact()
                crooked.put_document(entry)
                assert crooked.delete_document("passing")
            for query in (QUERY, question("the lease", vector=False)):
                assert fingerprint(crooked, query) == fingerprint(straight, query)
                crooked.compact()
                straight.compact()
                assert fingerprint(crooked, query) == fingerprint(straight, query)

    def test_another_handle_sees_what_was_written(self, tmp_path: Path) -> None:
        """Writes are visible to other handles at once; stores in memory are independent."""
        if self.on_disk:
            self._check_shared(tmp_path)
            return
        first, second = (self.open_store(tmp_path / "store") for _ in range(2))
        for store in (first, second):
            store.ensure_settings(SETTINGS)
        first.put_document(make_entry("d", ["lease"]))
        assert second.get_record("d") is None
        first.close()
        assert second.list_records() == []
        second.close()

    def _check_shared(self, tmp_path: Path) -> None:
        with ExitStack() as stack:
            left = self.open_store(tmp_path / "store")
            stack.callback(left.close)
            left.ensure_settings(SETTINGS)
            right = self.open_store(tmp_path / "store")
            stack.callback(right.close)
            entries: list[DocumentEntry] = []
            for number, entry in enumerate(make_corpus()):
                writer, reader = (left, right) if number % 2 else (right, left)
                writer.put_document(entry)
                entries.append(entry)
                check_scan(reader, entries, QUERY)
                if number % 5 == 2:
                    gone = entries.pop(1)
                    writer.delete_document(gone.document.id)
                    check_scan(reader, entries, QUERY)
                if number % 4 == 3:
                    reader.compact()
                check_scan(writer, entries, QUERY)

    def test_what_was_written_is_sound(self, store: Store) -> None:
        """`check` counts the documents and chunks, and reports no findings."""
        entries = make_corpus()
        fill(store, entries)
        store.delete_document(entries[3].document.id)
        store.put_document(entries[5])
        for repair in (False, True):
            report = store.check(repair=repair)
            assert report.findings == (), "a sound store has no findings"
            assert report.sound
            assert report.documents == len(entries) - 1
            assert report.chunks == sum(len(e.chunks) for e in entries) - len(entries[3].chunks)
            store.compact()

    def test_a_copy_is_a_store_of_its_own(self, tmp_path: Path) -> None:
        """A backup has the same content; a store without backups raises an error."""
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        entries = make_corpus()
        fill(store, entries)
        if not self.copies:
            with pytest.raises(StoreError):
                store.backup(tmp_path / "copy")
            store.close()
            return
        before = fingerprint(store, QUERY)
        store.backup(tmp_path / "copy")
        store.delete_document(entries[0].document.id)
        store.close()
        copy = self.open_store(tmp_path / "copy")
        assert dict(copy.ensure_settings({})) == SETTINGS
        assert fingerprint(copy, QUERY) == before, "a copy answers as the store did"
        assert copy.check().sound
        copy.close()

    def test_threads_write_and_read_at_once(self, store: Store) -> None:
        """Searches see only complete documents, and each thread reads its own writes."""
        done = threading.Event()

        def write(writer: int) -> None:
            for turn in range(_ROUNDS):
                entry = make_entry(
                    f"{writer}/{turn % 3}",
                    [f"steady writer{writer} turn{turn} {'lease ' * part}\n" for part in range(4)],
                    title="steady",
                )
                store.put_document(entry)
                assert store.get_document(entry.document.id) == entry.document
                with store.snapshot() as snapshot:
                    query = question(f"writer{writer} turn{turn}", vector=False)
                    scan = snapshot.scan(query, documents=[entry.document.id])
                    assert scan.document_terms.tolist() == [[4] * len(query.terms)]
                if turn % 3 == 2:
                    assert store.delete_document(entry.document.id)
                if turn % 4 == 3:
                    store.compact()

        def read() -> int:
            searches = 0
            while not done.is_set() or not searches:
                with store.snapshot() as snapshot:
                    check_whole(snapshot, question("steady"))
                searches += 1
            return searches

        with ThreadPoolExecutor(_WRITERS + _READERS) as pool:
            readers = [pool.submit(read) for _ in range(_READERS)]
            writers = [pool.submit(write, writer) for writer in range(_WRITERS)]
            try:
                for future in writers:
                    future.result(timeout=60)
            finally:
                done.set()
            assert all(reader.result(timeout=60) for reader in readers)
        left = [f"{w}/{t}" for w in range(_WRITERS) for t in (0, 1)]
        assert [record.id for record in store.list_records()] == left

    def test_a_closed_store_says_so(self, tmp_path: Path) -> None:
        """Every method of a closed store except `close` raises an error."""
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        entry = make_entry("a", ["text"])
        store.put_document(entry)
        store.close()
        store.close()

        def search() -> None:
            with store.snapshot() as snapshot:
                snapshot.scan(QUERY)

        calls: list[Callable[[], object]] = [
            lambda: store.ensure_settings({}),
            lambda: store.record_settings({"thresholds": "{}"}),
            lambda: store.put_document(entry),
            lambda: store.delete_document("a"),
            lambda: store.get_record("a"),
            store.list_records,
            lambda: store.get_document("a"),
            lambda: store.get_chunks("a"),
            lambda: store.get_sections("a"),
            lambda: store.get_embedded("a"),
            search,
            lambda: [record.id for record in store.list_records()],
            lambda: store.get_outputs(["key"]),
            lambda: store.put_outputs([make_output("key", "output")]),
            store.count_outputs,
            store.forget_outputs,
            lambda: store.append_turn("a", make_turn("Who?")),
            lambda: store.get_thread("a"),
            store.list_threads,
            lambda: store.delete_thread("a"),
            store.compact,
            store.check,
            lambda: store.backup(tmp_path / "copy"),
        ]
        for call in calls:
            with pytest.raises(StoreError):
                call()
