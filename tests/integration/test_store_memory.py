"""Replaced documents leave nothing in the memory of a process."""

from __future__ import annotations

import gc
import sqlite3
import weakref
from pathlib import Path

import numpy as np
import pytest

from spanwise import KnowledgeBase
from spanwise.stores import database
from spanwise.stores.embedded import EmbeddedStore

ROUNDS = 300
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
        fill(base, 0)
        base.search("freight", deep=False)
        before = dead_references()
        for version in range(1, ROUNDS):
            fill(base, version)
            base.search("freight", deep=False)
        base.compact()
        assert dead_references() - before < 1.5 * MOST_CURSORS


def test_caches_hold_only_live_documents(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb") as base:
        base.add_text("The lock of the canal is closed.", document_id="b")
        for version in range(10):
            fill(base, version)
            search_both(base)
        store = base._components.store
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
def test_vectors_of_any_number_are_stored_alike(rows: int) -> None:
    """As a value or as a blob."""
    vectors = np.random.default_rng(rows).normal(size=(rows, 4)).astype(np.float32)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table vector (document integer primary key, data blob)")
        database._insert_vectors(connection, 1, vectors)
        ((data,),) = connection.execute("select data from vector")
        rows_of = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        stored = np.frombuffer(data, dtype="<f2").reshape(-1, 4)
        np.testing.assert_allclose(stored, rows_of, atol=1e-3)
