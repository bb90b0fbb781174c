"""Replaced documents leave nothing in the memory of a process."""

from __future__ import annotations

import gc
import weakref
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spanwise import KnowledgeBase
from spanwise.knowledge_base.internals import store_of
from spanwise.stores import database
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.testing.store_entries import DIMENSION, SETTINGS, make_entry

ROUNDS = 400
MOST_CURSORS = 200  # of a connection: `sqlite3` removes the references to closed ones after as many


def dead_references() -> int:
    """Return the number of weak references to objects that do not exist any more."""
    gc.collect()
    return sum(type(one) is weakref.ReferenceType and one() is None for one in gc.get_objects())


def fill(base: KnowledgeBase, version: int) -> None:
    text = f"Freight by barge is cheap. Toll {version} is due at the lock of the canal."
    base.add_text(text, document_id="a")


def search_both(base: KnowledgeBase) -> None:
    """Search both documents, so that their data is cached."""
    for document_id, question in (("a", "freight by barge"), ("b", "lock of the canal")):
        result = base.search(question, deep=False, documents=[document_id])
        assert [segment.document_id for segment in result.segments] == [document_id]


def test_replacements_leave_no_references_in_connections(tmp_path: Path) -> None:
    """A connection of `sqlite3` keeps a reference to each blob it has opened."""
    with KnowledgeBase(tmp_path / "a.kb") as base:
        counts = []
        for version in range(ROUNDS):
            fill(base, version)
            base.search("freight", deep=False)
            counts.append(dead_references() if version in (0, ROUNDS - 1) else 0)
        base.compact()
        assert counts[-1] - counts[0] < 1.5 * MOST_CURSORS


def test_caches_hold_only_live_documents(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb") as base:
        base.add_text("The lock of the canal is closed.", document_id="b")
        for version in range(10):
            fill(base, version)
            search_both(base)
        store = store_of(base)
        assert isinstance(store, EmbeddedStore)
        known = store._known
        with store._reading() as connection:
            live = {number for number, _ in database.read_records(connection)}
        assert known.documents == live
        everything = [(number, index) for number in range(100) for index in range(10)]
        assert {number for number, _ in known.chunks.find(everything)} == live
        assert {number for number, _ in known.sections.find(everything)} <= live
        assert set(known.records) <= live
        base.remove("a")
        base.search("canal", deep=False)
        assert {number for number, _ in known.chunks.find(everything)} < live


@pytest.mark.parametrize("rows", [1, 2_048, 2_049, 5_000])
def test_vectors_of_any_number_are_stored_alike(tmp_path: Path, rows: int) -> None:
    """As a value or as a blob."""
    vectors = np.random.default_rng(rows).normal(size=(rows, DIMENSION)).astype(np.float32)
    entry = make_entry("a", [f"Row {number}.\n\n" for number in range(rows)])
    with closing(open_embedded(tmp_path / "a.kb")) as store:
        store.ensure_settings(SETTINGS)
        store.put_document(replace(entry, vectors=vectors))
        stored = store.read_entry("a")
    assert stored is not None
    assert stored.vectors is not None
    rows_of = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(stored.vectors, rows_of, atol=1e-3)
