"""Conformance checks of stores: changes of the metadata and the title of stored documents."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanwise.errors import OptionError
from spanwise.filters import field
from spanwise.stores.port import DocumentEntry, DocumentUpdate, SearchedParts, Store
from spanwise.testing.store_entries import SETTINGS, fill, make_corpus, make_entry, question
from spanwise.testing.store_suite import StoreSuite, check_scan
from spanwise.types import DocumentRecord, FieldOrigins, Scalar

_ORIGINS = FieldOrigins(
    file={"year": 2001, "author": "Ada"},
    sidecar={"team": "law"},
    given={"kind": "A"},
    edited={"year": 2099, "team": None, "ratio": 1.0, "final": True, "note": "收益 \x00'"},
    base_title="zebra",
    sidecar_title="ocelot",
    edited_title="yak",
)
_METADATA: dict[str, Scalar] = {
    "author": "Ada",
    "kind": "A",
    "year": 2099,
    "ratio": 1.0,
    "final": True,
    "note": "x",
}
_QUERY = question("yak zebra margin")


def make_update(title: str, *, sections: int = 0) -> DocumentUpdate:
    """Return an update with this title.

    Args:
        title: New title, which is also used as the title words.
        sections: Number of sections of the document; 0 for an update that affects no search.
    """
    parts = SearchedParts(title_words=title, language="", header_tokens=(9,) * sections)
    return DocumentUpdate(
        title=title,
        metadata=_METADATA,
        given_fields=("kind",),
        origins=_ORIGINS,
        searched=parts if sections else None,
    )


def _record(store: Store, document_id: str) -> DocumentRecord:
    record = store.get_record(document_id)
    assert record is not None
    return record


class UpdateChecks(StoreSuite):
    """Checks of `update_document`."""

    def test_metadata_changes_and_the_text_stays(self, store: Store) -> None:
        """Record, document and filters have the new metadata; everything else is the same."""
        entries = make_corpus()
        fill(store, entries)
        target = entries[3].document.id
        before, document = _record(store, target), store.get_document(target)
        chunks, sections = store.get_chunks(target), store.get_sections(target)
        with store.snapshot() as snapshot:  # fills caches
            snapshot.scan(_QUERY, where=field("year") == 2013)
        update = make_update(before.title)
        assert store.update_document(target, update, record=before), "changed"
        assert document is not None
        expected = replace(before, metadata=_METADATA, given_fields=("kind",), origins=_ORIGINS)
        assert _record(store, target) == expected, "record"
        assert store.get_document(target) == replace(
            document, metadata=_METADATA, given_fields=("kind",), origins=_ORIGINS
        ), "document"
        assert (store.get_chunks(target), store.get_sections(target)) == (chunks, sections)
        where = field("year") == 2099
        assert [record.id for record in store.list_records(where)] == [target], "filter"
        with store.snapshot() as snapshot:
            found = snapshot.scan(_QUERY, where=where)
            assert [snapshot.record(int(handle)) for handle in found.handles] == [
                _record(store, target)
            ], "search with a filter"
        check_scan(store, entries, _QUERY)
        assert store.check().findings == ()

    def test_a_new_title_is_searched_at_once(self, store: Store) -> None:
        """A search finds the new title and not the old one; the document is the newest one."""
        entries = make_corpus()[:6]
        old = make_entry("a", ["lease one\n", "lease two\n", "margin\n"], title="zebra")
        fill(store, [old, *entries])
        embedded = store.get_embedded("a")
        check_scan(store, [old, *entries], _QUERY)
        update = make_update("yak", sections=len(old.sections))
        assert store.update_document("a", update, record=_record(store, "a"))
        new = _with_title(old, "yak")
        check_scan(store, [*entries, new], _QUERY)
        store.compact()
        check_scan(store, [*entries, new], _QUERY)
        assert _record(store, "a").title == "yak"
        assert [section.header_tokens for section in store.get_sections("a")] == [9, 9], "headers"
        assert embedded is not None
        after = store.get_embedded("a")
        assert after is not None
        assert after[0] == embedded[0], "chunks"
        assert after[1].tobytes() == embedded[1].tobytes(), "the bits of the vectors"
        assert store.check().findings == ()

    def test_a_language_is_searched_at_once(self, store: Store) -> None:
        """The terms of a document are those of its new language."""
        entry = make_entry("a", ["Verträge und Häuser\n"], title="Haus")
        store.put_document(entry)
        update = make_update("Haus", sections=1)
        assert update.searched is not None
        german = replace(update, searched=replace(update.searched, language="de"))
        assert store.update_document("a", german, record=_record(store, "a"))
        assert _record(store, "a").language == "de"
        changed = replace(entry, language="de")
        check_scan(store, [changed], question("vertrag haus", vector=False))

    def test_what_was_changed_meanwhile_is_not_changed(self, store: Store) -> None:
        """An update for another record, or for an unknown document, changes nothing."""
        store.put_document(make_entry("a", ["lease"], metadata={"year": 1}))
        before = _record(store, "a")
        store.put_document(make_entry("a", ["lease"], metadata={"year": 2}))
        update = make_update("yak", sections=1)
        assert not store.update_document("a", update, record=before), "replaced"
        assert _record(store, "a").metadata == {"year": 2}, "replaced"
        assert not store.update_document("b", update, record=before), "unknown"
        assert store.get_record("b") is None

    def test_a_snapshot_keeps_the_metadata_of_its_moment(self, store: Store) -> None:
        """A snapshot that was opened before an update does not see it."""
        store.put_document(make_entry("a", ["lease"], title="zebra", metadata={"year": 1}))
        before = _record(store, "a")
        where = field("year") == 1
        with store.snapshot() as snapshot:
            (handle,) = snapshot.scan(_QUERY).handles.tolist()
            store.update_document("a", make_update("zebra"), record=before)
            assert [record.id for record in store.list_records(field("year") == 2099)] == ["a"]
            assert snapshot.record(handle) == before, "record of the moment"
            assert snapshot.scan(_QUERY, where=where).documents == 1, "filter of the moment"
        with store.snapshot() as snapshot:
            (handle,) = snapshot.scan(_QUERY).handles.tolist()
            assert snapshot.record(handle).metadata == _METADATA, "a new snapshot sees it"
            assert snapshot.scan(_QUERY, where=where).documents == 0

    def test_an_update_that_does_not_fit_is_refused(self, store: Store) -> None:
        """Values that cannot be stored, and another number of sections, leave no trace."""
        store.put_document(make_entry("a", ["lease"], metadata={"year": 1}))
        before = _record(store, "a")
        good = make_update("yak", sections=1)
        not_a_value: Any = {}
        for update in (
            replace(good, metadata={"year": float("nan")}),
            replace(good, metadata={"year": not_a_value}),
            replace(good, metadata={"year": "half \ud800 pair"}),
            replace(good, metadata={"half \ud800": 1}),
            replace(good, title="half \ud800 pair"),
            make_update("yak", sections=2),
        ):
            with pytest.raises(OptionError, match="'a' cannot be changed"):
                store.update_document("a", update, record=before)
        assert _record(store, "a") == before

    def test_updates_are_seen_by_other_handles(self, tmp_path: Path) -> None:
        """Another handle that has read a record before sees its update, also after reopening."""
        if not self.on_disk:
            return
        with ExitStack() as stack:
            writer, reader = (self.open_store(tmp_path / "store") for _ in range(2))
            stack.callback(reader.close)
            stack.callback(writer.close)
            writer.ensure_settings(SETTINGS)
            entry = make_entry("a", ["lease\n"], title="zebra", metadata={"year": 1})
            writer.put_document(entry)
            for year, title in ((2, "zebra"), (3, "yak"), (4, "yak")):
                _check_reader(reader, {"year": year - 1})
                searched = SearchedParts(title_words=title, language="", header_tokens=(9,))
                update = DocumentUpdate(
                    title=title,
                    metadata={"year": year},
                    given_fields=(),
                    origins=None,
                    searched=searched if year == 3 else None,
                )
                assert writer.update_document("a", update, record=_record(writer, "a"))
                _check_reader(reader, {"year": year})
                check_scan(reader, [_with_title(entry, title)], _QUERY)
        again = self.open_store(tmp_path / "store")
        _check_reader(again, {"year": 4})
        check_scan(again, [_with_title(entry, "yak")], _QUERY)
        again.close()


def _check_reader(store: Store, metadata: dict[str, int]) -> None:
    """Check the metadata of the only document in a search, with a filter on its year."""
    with store.snapshot() as snapshot:
        scan = snapshot.scan(_QUERY, where=field("year") == metadata["year"])
        assert [snapshot.record(int(handle)).metadata for handle in scan.handles] == [metadata]


def _with_title(entry: DocumentEntry, title: str) -> DocumentEntry:
    return replace(entry, title=title, title_words=title)
