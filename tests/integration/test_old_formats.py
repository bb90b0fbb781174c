"""Knowledge bases of format 8, which had no checksums, and of formats without a migration."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spanwise import KnowledgeBase
from spanwise.errors import FormatError
from spanwise.stores.embedded import open_embedded
from spanwise.stores.schema import FORMAT_VERSION
from spanwise.testing.store_entries import make_entry
from spanwise.testing.store_records import make_turn

SEALED = ("setting", "document", "section", "chunk", "signal", "output", "thread", "turn")
TABLES = (*SEALED, "page", "heading", "block", "change")
REPORT = (
    "# Margins\n\n"
    + "Margins fell in the spring because freight cost more than anybody had planned.\n" * 3
    + "\n# Leases\n\nThe lease of the plant in Austin ends in May 2031.\n\n```\ncode\n```\n"
)
QUESTIONS = ("When does the lease in Austin end?", "Why did margins fall?", "revenue 2019")
KILLED = """
import os, sys
from pathlib import Path
from spanwise.stores import schema
from spanwise.stores.embedded import open_embedded
seal, sealed = schema.seal_document, []
def seal_or_die(connection, number):
    if sealed:
        os._exit(9)
    sealed.append(number)
    seal(connection, number)
schema.seal_document = seal_or_die
open_embedded(Path(sys.argv[1]))
"""


def fill(path: Path) -> None:
    """Write a knowledge base with rows in every table."""
    source = path.parent / "report.md"
    source.write_text(REPORT, encoding="utf-8")
    with KnowledgeBase(path, embedder=None, packs=["filings"]) as knowledge_base:
        knowledge_base.add(source, metadata={"year": 2018})
        knowledge_base.add_text("Total revenue 2019: 5,308\n", document_id="b.txt")
        knowledge_base.add_text("The board met on a Tuesday.\n", document_id="c.txt")
    with closing(open_embedded(path)) as store:
        entry = make_entry("pages", ["Margins fell again.\n"], dimension=0)
        signals = {"balance": np.array([0.5], dtype=np.float16)}
        packs = store.ensure_settings({})["packs"]
        store.put_document(replace(entry, signals=signals, packs=packs))
        store.append_turn("a", make_turn("Who?"))
        store.put_output("key", "output", task="title", model="a:b")
    with closing(sqlite3.connect(path / "truth.db")) as connection:
        for table in TABLES:
            assert connection.execute(f"select count(*) from {table}").fetchone() > (0,), table


def downgrade(path: Path) -> None:
    """Change a knowledge base to format 8: without the checksums that format 9 added."""
    with closing(sqlite3.connect(path / "truth.db")) as connection, connection:
        connection.execute("alter table document drop column contents")
        for table in SEALED:
            connection.execute(f"alter table {table} drop column checksum")
        connection.execute("pragma user_version = 8")


def version(path: Path) -> int:
    with closing(sqlite3.connect(path / "truth.db")) as connection:
        number: int = connection.execute("pragma user_version").fetchone()[0]
        return number


def contents(path: Path) -> list[object]:
    """Return the results of questions and everything that is stored."""
    with KnowledgeBase(path, create=False) as knowledge_base:
        results = [replace(knowledge_base.search(question), seconds={}) for question in QUESTIONS]
        documents = [
            (record, knowledge_base.get(record.id), knowledge_base.chunks(record.id))
            for record in knowledge_base.list()
        ]
        assert knowledge_base.check().findings == ()
    with closing(open_embedded(path)) as store:
        return [results, documents, store.get_thread("a"), store.get_output("key")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a knowledge base of the current format."""
    fill(tmp_path / "a.kb")
    return tmp_path / "a.kb"


def test_format_8_is_migrated_and_answers_the_same(path: Path) -> None:
    before = contents(path)
    downgrade(path)
    assert contents(path) == before
    assert version(path) == FORMAT_VERSION


def test_documents_of_format_8_are_replaced_and_removed(path: Path) -> None:
    downgrade(path)
    with KnowledgeBase(path, create=False) as knowledge_base:
        report = knowledge_base.add_text(
            "The lease ends in 2032.", document_id="report.md", replace=True
        )
        assert report.replaced == ("report.md",)
        assert knowledge_base.delete("c.txt")
        assert knowledge_base.check().findings == ()


def test_a_killed_migration_leaves_format_8_complete(path: Path) -> None:
    before = contents(path)
    downgrade(path)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == 9
    assert version(path) == 8
    with closing(sqlite3.connect(path / "truth.db")) as connection:
        columns = connection.execute("select name from pragma_table_info('document')").fetchall()
    assert ("contents",) not in columns
    assert contents(path) == before


def test_a_damaged_text_of_format_8_does_not_prevent_opening(path: Path) -> None:
    downgrade(path)
    with closing(sqlite3.connect(path / "truth.db")) as connection, connection:
        connection.execute("update section set title = cast(x'ff' as text) where document = 1")
    with KnowledgeBase(path, create=False) as knowledge_base:
        assert knowledge_base.get("c.txt").text == "The board met on a Tuesday.\n"


@pytest.mark.parametrize("number", [1, 7])
def test_a_format_without_a_migration_is_refused(path: Path, number: int) -> None:
    with closing(sqlite3.connect(path / "truth.db")) as connection, connection:
        connection.execute(f"pragma user_version = {number}")
    with pytest.raises(FormatError, match=rf"version {number},.* from 8; add the documents"):
        KnowledgeBase(path, create=False)
    assert version(path) == number
