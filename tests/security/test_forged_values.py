"""Values that no honest caller gives, and settings that somebody wrote into the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from spanwise import KnowledgeBase, field
from spanwise.errors import OptionError, SpanwiseError

HUGE = 10**5000
"""A number that Python refuses to write in digits."""
GIVEN: dict[str, Callable[[KnowledgeBase], object]] = {
    "metadata": lambda base: base.add_text("a", document_id="x", metadata={"a": HUGE}),
    "a smaller number": lambda base: base.add_text("a", document_id="x", metadata={"a": 10**400}),
    "the name of a field": lambda base: base.add_text("a", document_id="x", metadata={HUGE: 1}),  # type: ignore[dict-item]
    "title": lambda base: base.add_text("a", document_id="x", title=HUGE),  # type: ignore[arg-type]
    "id": lambda base: base.add_text("a", document_id=HUGE),  # type: ignore[arg-type]
    "text": lambda base: base.add_text(HUGE, document_id="x"),  # type: ignore[arg-type]
    "question": lambda base: base.search(HUGE),  # type: ignore[arg-type]
    "budget": lambda base: base.search("a", budget_tokens=HUGE),
    "documents": lambda base: base.search("a", documents=[HUGE]),  # type: ignore[list-item]
    "comparison": lambda _: field("a") == HUGE,
    "order": lambda _: field("a") < -HUGE,
    "list of values": lambda _: field("a").is_in([1, HUGE]),
}
DAMAGED: dict[str, list[str | bytes]] = {
    "sections": ["", "x", "[]", "null", '{"min_chars": "x"}', '{"min_chars": -1}', "9" * 5000],
    "chunks": ["", "[]", '{"target": "x"}', '{"target": 1, "max": 0}', "[" * 100_000, b"\xff"],
    "dimension": ["", "x", "-1", "1e9", "9" * 5000, "9" * 30, b"\xff"],
    "reference_terms": ["", "nan", "inf", "-1", "0", b"\xff"],
    "embedder": [b"\xff"],
    "embedder_version": [b"\xff"],
    "tokenizer": [b"\xff"],
    "packs": ["x", "null", "[1]", '{"a": 1}', "[" * 100_000],
}


@pytest.mark.parametrize("what", GIVEN)
def test_a_value_that_cannot_be_stored_or_shown_is_refused_by_name(what: str) -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("A text about margins.", document_id="here")
        with pytest.raises(OptionError) as raised:
            GIVEN[what](base)
        assert [record.id for record in base.list()] == ["here"]
    assert len(str(raised.value)) < 300


def test_a_number_that_a_filter_can_write_is_stored_and_found() -> None:
    largest = 10**400 - 1
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text("A text about margins.", document_id="here", metadata={"a": largest})
        found = base.search("margins", where=str(field("a") == largest))
    assert found.segments


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a knowledge base with one document."""
    path = tmp_path_factory.mktemp("forged") / "base.kb"
    with KnowledgeBase(path, embedder=None) as base:
        base.add_text("A text about margins.", document_id="here")
    return path


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_setting_ends_in_an_error_of_ours(stored: Path, name: str) -> None:
    with closing(sqlite3.connect(stored / "truth.db")) as connection:
        query = "select value from setting where name = ?"
        (before,) = connection.execute(query, (name,)).fetchone()
        for value in DAMAGED[name]:
            _record(connection, name, value)
            with pytest.raises(SpanwiseError):
                _use(stored)
        _record(connection, name, before)
    _use(stored)


def _record(connection: sqlite3.Connection, name: str, value: str | bytes) -> None:
    connection.execute("update setting set value = ? where name = ?", (value, name))
    connection.commit()


def _use(path: Path) -> None:
    with KnowledgeBase(path) as base:
        assert base.search("margins").segments
        base.info()
