"""Checks of the conversations of a knowledge base: what is damaged is found, and refused."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spanwise.errors import FormatError
from spanwise.stores.embedded import open_embedded
from spanwise.stores.row_checksums import checksum
from spanwise.testing.store_entries import SETTINGS, fill, make_corpus
from spanwise.testing.store_records import make_turn


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a knowledge base with some documents and two conversations, closed."""
    made = tmp_path / "a.kb"
    with closing(open_embedded(made)) as store:
        store.ensure_settings(SETTINGS)
        fill(store, make_corpus()[:3])
        for minute in range(3):
            store.append_turn("one", make_turn("Who?", minute=minute))
        store.append_turn("two", make_turn("Why?"))
    return made


def execute(path: Path, statement: str) -> None:
    """Change turns as a program of another version would, with sound checksums."""
    with closing(sqlite3.connect(path / "truth.db")) as connection, connection:
        connection.create_function("checksum_of", -1, lambda *values: checksum(values))
        connection.execute(statement)
        connection.execute("update turn set checksum = checksum_of(thread, position, turn)")


BROKEN_TURNS = {
    "missing": (
        "delete from turn where position = 1",
        "turn 2 .* 'one' is missing",
    ),
    "no JSON": ("update turn set turn = '{' where position = 2", "turn 3 .* 'one' cannot be read"),
    "no text": (
        "update turn set turn = x'00ff' where position = 2",
        "turn 3 .* is missing or damaged",
    ),
    "too deep": (
        f"update turn set turn = '{'[' * 100_000}' where position = 1",
        "turn 2 .* cannot be read: maximum recursion",
    ),
    "no turn": ("update turn set turn = '[]' where position = 1", r"Turn is \[\]"),
    "a field is gone": (
        "update turn set turn = json_remove(turn, '$.answer.text') where position = 1",
        "turn 2 .* 'one' cannot be read: Turn.answer lacks text",
    ),
    "a wrong type": (
        "update turn set turn = json_set(turn, '$.answer.citations[0].citation.start', 'x')"
        " where position = 1",
        r"Turn.answer.citations\[0\].citation.start is 'x', and must be a whole number",
    ),
    "an unknown status": (
        "update turn set turn = json_set(turn, '$.answer.citations[0].status', 'sure')"
        " where position = 1",
        r"citations\[0\].status is 'sure', and must be '.*' or '",
    ),
    "three pages": (
        "update turn set turn = json_set(turn, '$.answer.sources[0].pages', json('[1, 2, 3]'))"
        " where position = 1",
        r"sources\[0\].pages has 3 items, and must have 2",
    ),
    "last missing": ("delete from turn where position = 2", "'one' has 2 turns of 3"),
    "nobody's": ("delete from thread where id = 'two'", "1 rows of `turn` belong to no convers"),
}


@pytest.mark.parametrize("broken", BROKEN_TURNS)
def test_a_damaged_conversation_is_found(path: Path, broken: str) -> None:
    """And refused when it is read; the other one and all documents are sound."""
    statement, message = BROKEN_TURNS[broken]
    with closing(open_embedded(path)) as store:
        assert store.check().findings == ()
    execute(path, statement)
    with closing(open_embedded(path)) as store:
        (finding,) = store.check(repair=True).findings
    assert (finding.code, finding.repaired) == ("threads", False)
    assert re.search(message, finding.message)
    if broken == "nobody's":
        return
    with closing(open_embedded(path)) as store:
        with pytest.raises(FormatError, match=message):
            store.get_thread("one")
        assert store.get_thread("two") is not None
        assert store.delete_thread("one")
        assert store.check().findings == ()


def test_fields_of_a_later_version_are_left_out(path: Path) -> None:
    with closing(open_embedded(path)) as store:
        before = store.get_thread("two")
    execute(path, "update turn set turn = json_set(turn, '$.later', 1, '$.answer.later', 'x')")
    with closing(open_embedded(path)) as store:
        assert store.get_thread("two") == before
