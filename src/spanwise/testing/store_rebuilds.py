"""Conformance checks of stores: rebuilds with other settings."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from spanwise.errors import StoreError, StoreRebuiltError
from spanwise.stores.port import DocumentEntry, DocumentUpdate, SearchedParts, Store, StoreRebuild
from spanwise.testing.store_entries import (
    SETTINGS,
    fill,
    make_corpus,
    make_entry,
    make_output,
    question,
)
from spanwise.testing.store_lives import QUERY
from spanwise.testing.store_records import make_turn
from spanwise.testing.store_suite import StoreSuite, check_scan

_DIMENSION = 8
_WORDS = question("lease margin the zanzibar goodwill", vector=False)
_NEW_SETTINGS = {**SETTINGS, "dimension": str(_DIMENSION), "revision": "1"}


def _prepared(entry: DocumentEntry) -> DocumentEntry:
    """Return a document prepared with other settings: with vectors of another dimension."""
    text = "".join(chunk.text for chunk in entry.chunks)
    return make_entry(entry.document.id, [text], title=entry.title, dimension=_DIMENSION)


def _prepare(rebuild: StoreRebuild, entries: Sequence[DocumentEntry]) -> None:
    """Prepare all outdated documents."""
    by_id = {entry.document.id: entry for entry in entries}
    for document_id, version in rebuild.outdated():
        rebuild.put(_prepared(by_id[document_id]), version=version)


def _rebuild(store: Store, entries: Sequence[DocumentEntry]) -> None:
    with store.open_rebuild(_NEW_SETTINGS) as rebuild:
        _prepare(rebuild, entries)
        with rebuild.hold_writers():
            rebuild.switch()


class RebuildChecks(StoreSuite):
    """Checks of the new state and of the switch."""

    def _require_rebuild(self) -> None:
        if not self.has_rebuild:
            pytest.skip("the store cannot be rebuilt")

    def test_a_store_without_rebuilds_raises_an_error(self, store: Store) -> None:
        """`open_rebuild` raises an error, and nothing is changed."""
        if self.has_rebuild:
            pytest.skip("the store can be rebuilt")
        with pytest.raises(StoreError), store.open_rebuild(_NEW_SETTINGS):
            pass
        assert not store.rebuilt
        assert not store.discard_rebuild()

    def test_the_present_state_is_used_until_the_switch(self, store: Store) -> None:
        """A rebuild that ends before the switch changes nothing."""
        self._require_rebuild()
        entries = make_corpus()
        fill(store, entries)
        with store.open_rebuild(_NEW_SETTINGS) as rebuild:
            _prepare(rebuild, entries)
            check_scan(store, entries, QUERY)
        assert store.ensure_settings({})["dimension"] == SETTINGS["dimension"]
        assert not store.rebuilt, "nothing was switched"
        check_scan(store, entries, QUERY)

    def test_the_switch_replaces_documents_and_settings(self, store: Store) -> None:
        """Documents keep their ids and their order; outputs and conversations stay."""
        self._require_rebuild()
        entries = make_corpus()
        fill(store, entries)
        store.put_outputs([make_output("key", "kept")])
        store.append_turn("thread", make_turn("Who?"))
        _rebuild(store, entries)
        assert store.rebuilt, "the store says that it was rebuilt"
        present = store.reopened()
        assert not present.rebuilt
        assert present.ensure_settings({})["dimension"] == str(_DIMENSION)
        assert {r.id for r in present.list_records()} == {e.document.id for e in entries}
        with present.snapshot() as snapshot:
            ages = [snapshot.record(int(h)).id for h in snapshot.scan(_WORDS).handles]
        places = {entry.document.id: at for at, entry in enumerate(entries)}
        assert ages == sorted(ages, key=lambda name: places[name]), "documents keep their order"
        embedded = present.get_embedded(entries[0].document.id)
        assert embedded is not None
        assert embedded[1].shape == (1, _DIMENSION), "vectors of the new state"
        assert present.get_outputs(["key"]) == {"key": "kept"}
        assert present.get_thread("thread") is not None, "conversations stay"
        assert not present.check().findings
        present.close()

    def test_callers_with_earlier_settings_are_refused(self, store: Store) -> None:
        """Operations that depend on the settings raise an error; all others continue."""
        self._require_rebuild()
        entries = make_corpus()
        fill(store, entries)
        _rebuild(store, entries)
        with pytest.raises(StoreRebuiltError), store.snapshot():
            pass
        with pytest.raises(StoreRebuiltError):
            store.put_document(make_entry("new", ["a lease"]))
        with pytest.raises(StoreRebuiltError):
            store.get_embedded(entries[0].document.id)
        record = store.get_record(entries[0].document.id)
        assert record is not None
        update = DocumentUpdate(
            title=record.title, metadata={"team": "hr"}, given_fields=(), origins=None
        )
        searched = SearchedParts(title_words="", language="", header_tokens=())
        with pytest.raises(StoreRebuiltError):
            store.update_document(record.id, replace(update, searched=searched), record=record)
        assert store.update_document(record.id, update, record=record)
        assert store.delete_document(entries[0].document.id)
        present = store.reopened()
        assert present.get_record(entries[0].document.id) is None, "the deletion is not lost"
        present.close()

    def test_what_changes_meanwhile_is_outdated(self, store: Store) -> None:
        """Added, replaced and deleted documents are outdated, oldest first."""
        self._require_rebuild()
        entries = [make_entry(name, [f"a lease of {name}"]) for name in ("a", "b", "c")]
        fill(store, entries)
        with store.open_rebuild(_NEW_SETTINGS) as rebuild:
            _prepare(rebuild, entries)
            assert rebuild.outdated() == []
            before = rebuild.version("b")
            store.put_document(make_entry("b", ["another lease of b"]))
            store.put_document(make_entry("d", ["a lease of d"]))
            store.delete_document("a")
            assert rebuild.version("b") not in ("", before), "a replacement is another version"
            assert rebuild.version("a") == "", "there is no version without a document"
            assert [name for name, _ in rebuild.outdated()] == ["b", "d"]
            record = store.get_record("c")
            assert record is not None
            update = DocumentUpdate(
                title=record.title, metadata={"team": "hr"}, given_fields=(), origins=None
            )
            assert store.update_document("c", update, record=record)
            assert [name for name, _ in rebuild.outdated()] == ["c", "b", "d"]
            with pytest.raises(StoreError), rebuild.hold_writers():
                rebuild.switch()
            now = [make_entry("b", ["another lease of b"]), make_entry("d", ["a lease of d"])]
        with store.open_rebuild(_NEW_SETTINGS) as rebuild:
            _prepare(rebuild, [*entries, *now])
            with rebuild.hold_writers():
                rebuild.switch()
        present = store.reopened()
        texts = {r.id: present.get_chunks(r.id)[0].text for r in present.list_records()}
        assert texts == {
            "b": "another lease of b",
            "c": "a lease of c",
            "d": "a lease of d",
        }, "what changed meanwhile is not lost"
        present.close()

    def test_an_unfinished_rebuild_is_continued(self, tmp_path: Path) -> None:
        """The same settings continue it; other settings and `discard_rebuild` start again."""
        self._require_rebuild()
        if not self.on_disk:
            pytest.skip("nothing unfinished is kept in memory")
        store = self.open_store(tmp_path / "store")
        store.ensure_settings(SETTINGS)
        entries = make_corpus()
        fill(store, entries)

        def begun(settings: dict[str, str]) -> int:
            with store.open_rebuild(settings) as rebuild:
                left = rebuild.outdated()
                _prepare(rebuild, entries)
            return len(left)

        assert begun(_NEW_SETTINGS) == len(entries)
        store.close()
        store = self.open_store(tmp_path / "store")
        assert begun(_NEW_SETTINGS) == 0, "it is continued"
        assert begun({**_NEW_SETTINGS, "chunks": "{}"}) == len(entries), "other settings"
        assert store.discard_rebuild()
        assert not store.discard_rebuild()
        assert begun({**_NEW_SETTINGS, "chunks": "{}"}) == len(entries), "it was discarded"
        store.close()

    def test_writers_wait_for_the_switch(self, store: Store) -> None:
        """A write that begins while writers are held is refused after the switch, or not lost."""
        self._require_rebuild()
        entries = [make_entry("a", ["a lease"])]
        fill(store, entries)
        refused: list[bool] = []

        def write() -> None:
            try:
                store.put_document(make_entry("late", ["a late lease"]))
            except StoreRebuiltError:
                refused.append(True)

        thread = threading.Thread(target=write)
        with store.open_rebuild(_NEW_SETTINGS) as rebuild:
            _prepare(rebuild, entries)
            with rebuild.hold_writers():
                thread.start()
                thread.join(0.1)
                assert thread.is_alive(), "the writer waits"
                rebuild.switch()
        thread.join()
        assert refused, "a document of the earlier settings is not stored"
