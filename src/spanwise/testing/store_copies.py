"""Conformance checks of stores: reading of all content, to copy it to another store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from spanwise.filters import parse_filter
from spanwise.stores.entries import differing_part
from spanwise.stores.memory import MemoryStore
from spanwise.stores.port import DocumentEntry, Store
from spanwise.testing.store_entries import (
    SETTINGS,
    fill,
    fingerprint,
    make_corpus,
    make_entry,
    question,
)
from spanwise.testing.store_suite import StoreSuite
from spanwise.testing.store_updates import make_update
from spanwise.types import Block, FieldOrigins, Figure, Heading, Page
from spanwise.types.output_cache import CachedOutput

_QUERIES = tuple(map(question, ("lease zanzibar dividend revenue", "Twin margin", "odd table")))
_KEYS = ("b", "a", "B", "ä", "10", "9", "\uffee", "\U0001f600")


def _reference() -> MemoryStore:
    """Return an empty store in memory with the settings of the suite."""
    store = MemoryStore()
    store.ensure_settings(SETTINGS)
    return store


def _odd_entry() -> DocumentEntry:
    """Return a document with a value for every part of an entry."""
    entry = make_entry(
        "odd/Ünï 文.txt",
        ["Odd table \r\n", "… —\n", "e\u0301 👩🏽\u200d🚀 \ue000 lease\n"],
        title="Odd table",
        metadata={
            "whole": 3,
            "decimal": 3.0,
            "yes": True,
            "tags": ("a", 1, False),
            "text": "'; --",
        },
        source_root="https://example.org/a?b=c",
    )
    end = len(entry.document.text)
    document = replace(
        entry.document,
        pages=(Page(start=0, end=5, label="xii"), Page(start=5, end=5), Page(start=5, end=end)),
        headings=(Heading(start=1, end=5, level=2, title="Odd"),),
        blocks=(Block(start=2, end=9, kind="table"), Block(start=9, end=10, kind="code")),
        figures=(Figure(start=3, end=7, kind="picture"),),
        media_type="text/x-odd",
        status="partial",
        warnings=("a", "b\n"),
        origins=FieldOrigins(given={"whole": 3}, edited={"yes": True}, base_title="zebra"),
    )
    first, *others = entry.sections
    header = replace(first, summary="What it is about: 収益", extracted_title=True)
    chunk = replace(entry.chunks[2], table_head="year | margin", context="On leases.")
    return replace(
        entry,
        document=document,
        summary="A summary",
        title_words="Odd table odd Ünï 文",
        sections=(header, *others),
        chunks=(*entry.chunks[:2], chunk),
        language="de",
        recipe='{"title": "ü"}',
        signals={
            "p/length": np.array([1.5, 0.0, -2.25], dtype=np.float16),
            "p/e": np.array([0.1, 0.2, 0.3], dtype=np.float16),
        },
    )


class CopyChecks(StoreSuite):
    """Checks of the methods by which a store is copied to another one."""

    def test_an_entry_is_read_as_it_was_stored(self, store: Store) -> None:
        """Every part of an entry is returned; the vectors are the stored ones."""
        entry = _odd_entry()
        store.put_document(entry)
        found = store.read_entry(entry.document.id)
        assert found is not None
        stored = replace(entry, vectors=None)
        assert differing_part(replace(found, vectors=None), stored) == "", "part of the entry"
        embedded = store.get_embedded(entry.document.id)
        assert embedded is not None
        assert found.vectors is not None
        assert np.array_equal(found.vectors.astype(np.float32), embedded[1]), "stored vectors"
        assert store.read_entry("another") is None

    def test_entries_are_the_same_in_another_store(self, store: Store) -> None:
        """A copy in a store of another kind, and back, gives the same documents and searches."""
        originals, copies = _reference(), _reference()
        entries = [*make_corpus(), _odd_entry()]
        fill(originals, entries)
        for entry in entries:
            document_id = entry.document.id
            original = originals.read_entry(document_id)
            assert original is not None
            store.put_document(original)
            copied = store.read_entry(document_id)
            assert copied is not None
            assert differing_part(original, copied) == "", f"part of {document_id}"
            assert store.get_record(document_id) == originals.get_record(document_id), "record"
            copies.put_document(copied)
            again = copies.read_entry(document_id)
            assert again is not None
            assert differing_part(original, again) == "", f"part of {document_id} in the copy"
        for query in _QUERIES:
            assert fingerprint(originals, query) == fingerprint(copies, query), "searches"

    def test_an_entry_is_the_updated_one(self, store: Store) -> None:
        """After an update, an entry has the new title, title words and header tokens."""
        entry = make_entry("a", ["zebra one\n", "two\n", "three\n"], title="zebra")
        store.put_document(entry)
        record = store.get_record("a")
        assert record is not None
        update = make_update("yak", sections=len(entry.sections))
        assert store.update_document("a", update, record=record)
        found = store.read_entry("a")
        assert found is not None
        assert (found.title, found.title_words, found.language) == ("yak", "yak", "")
        assert {section.header_tokens for section in found.sections} == {9}, "header tokens"
        assert found.document.metadata == update.metadata
        copy = _reference()
        copy.put_document(found)
        assert copy.get_record("a") == store.get_record("a"), "record"

    def test_an_entry_has_the_recorded_packs(self, store: Store) -> None:
        """The packs of an entry are those with which its signals were computed."""
        store.put_document(make_entry("a", ["lease\n", "rent\n"]))
        signals = {"p/one": np.array([0.5, 1.0], dtype=np.float16)}
        store.record_packs("[p]", lambda _: signals)
        found = store.read_entry("a")
        assert found is not None
        assert found.packs == "[p]"
        assert {name: row.tolist() for name, row in found.signals.items()} == {"p/one": [0.5, 1.0]}

    def test_an_entry_without_vectors(self, tmp_path: Path) -> None:
        """An entry of a store with dimension 0 has no vectors."""
        store = self.open_store(tmp_path / "keywords")
        store.ensure_settings({**SETTINGS, "dimension": "0"})
        store.put_document(make_entry("a", ["lease"], dimension=0))
        found = store.read_entry("a")
        assert found is not None
        assert found.vectors is None
        store.close()

    def test_outputs_are_listed_in_pages(self, store: Store) -> None:
        """Outputs are listed in the order of their keys, with task and model."""
        for key in _KEYS:
            store.put_outputs(
                [
                    CachedOutput(
                        key=key, output=f"output \ud800 {key}", task=f"task {key}", model="a:b"
                    )
                ]
            )
        listed, after = [], ""
        while page := store.list_outputs(after=after, limit=3):
            assert len(page) <= 3
            listed += page
            after = page[-1].key
        assert [cached.key for cached in listed] == sorted(_KEYS), "order of the keys"
        assert [cached.output for cached in listed] == [f"output \ud800 {k}" for k in sorted(_KEYS)]
        assert [cached.task for cached in listed] == [f"task {key}" for key in sorted(_KEYS)]
        assert {cached.model for cached in listed} == {"a:b"}
        assert [cached.key for cached in store.list_outputs()] == sorted(_KEYS)

    def test_former_fields_can_be_recorded(self, store: Store) -> None:
        """A recorded name may be used in filters, and is no former field once a document has it."""
        store.put_document(make_entry("a", ["text"], metadata={"year": 2018}))
        store.record_former_fields(["team", "year"])
        store.record_former_fields([])
        assert store.list_records(parse_filter("team = 'law'")) == []
        with store.snapshot() as snapshot:
            assert snapshot.former_fields() == {"team"}
