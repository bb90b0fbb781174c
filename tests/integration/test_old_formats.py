"""Knowledge bases of format 8, which had no checksums, and of formats without a migration."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise import GivenParts, KnowledgeBase
from spanwise.errors import FormatError, StoreError
from spanwise.stores.embedded import open_embedded
from spanwise.stores.row_checksums import checksum, seal_contents
from spanwise.stores.schema import FORMAT_VERSION
from spanwise.testing.store_entries import make_entry, make_output
from spanwise.testing.store_records import make_turn
from spanwise.types import Section

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
        knowledge_base.add_text("Total revenue 2019: 5,308 marks\n", document_id="b.txt")
        knowledge_base.add_text("The board met on a Tuesday.\n", document_id="c.txt")
    with closing(open_embedded(path)) as store:
        entry = make_entry("pages", ["Margins fell again.\n"], dimension=0)
        signals = {"balance": np.array([0.5], dtype=np.float16)}
        packs = store.ensure_settings({})["packs"]
        store.put_document(replace(entry, signals=signals, packs=packs))
        store.append_turn("a", make_turn("Who?"))
        store.put_outputs([make_output("key", "output")])
    with closing(sqlite3.connect(path / "truth.db")) as connection:
        for table in TABLES:
            assert connection.execute(f"select count(*) from {table}").fetchone() > (0,), table


def downgrade_to_9(path: Path) -> None:
    """Change a knowledge base to format 9: without the origin of section titles."""
    with closing(sqlite3.connect(path / "truth.db")) as connection, connection:
        connection.execute("drop table former_field")
        connection.execute("alter table section drop column extracted_title")
        rows = connection.execute("select * from section").fetchall()
        for row in rows:
            connection.execute(
                "update section set checksum = ? where document = ? and position = ?",
                (checksum(row[:-1]), *row[:2]),
            )
        for (number,) in connection.execute("select number from document").fetchall():
            seal_contents(connection, number, "section")
        connection.execute("delete from setting where name = 'headers'")
        connection.execute("pragma user_version = 9")


def downgrade(path: Path) -> None:
    """Change a knowledge base to format 8: without the checksums that format 9 added."""
    downgrade_to_9(path)
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
        return [results, documents, store.get_thread("a"), store.get_outputs(["key"])]


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
        assert knowledge_base.remove("c.txt")
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


TRANSCRIPT = "A: The buttons are small.\n" * 30 + "B: The case is yellow.\n" * 30
GIVEN = GivenParts(
    summary="A team plans a gadget for grandparents.",
    sections=(
        Section(start=0, end=780, title="Ergonomics", path=(), summary="How it feels in the hand."),
        Section(start=780, end=1_470, title="Colours", path=(), summary="How it looks."),
    ),
)


def test_format_9_gets_the_origin_of_section_titles(path: Path) -> None:
    """Titles that were extracted from the text are marked, others are not."""
    with KnowledgeBase(path, create=False) as knowledge_base:
        before = {record.id: knowledge_base.sections(record.id) for record in knowledge_base.list()}
        assert {s.extracted_title for s in before["report.md"]} == {False}
        assert [s.extracted_title for s in before["c.txt"]] == [True]
    downgrade_to_9(path)
    with KnowledgeBase(path, create=False) as knowledge_base:
        assert {name: knowledge_base.sections(name) for name in before} == before
        assert knowledge_base.check().findings == ()


def test_damaged_sections_of_format_9_stay_damaged(path: Path) -> None:
    downgrade_to_9(path)
    with closing(sqlite3.connect(path / "truth.db")) as connection, connection:
        connection.execute("update section set title = 'Forged' where document = 1")
    with KnowledgeBase(path, create=False) as knowledge_base:
        assert [finding.document_id for finding in knowledge_base.check().findings] == ["report.md"]


@pytest.mark.parametrize("embedder", ["wordllama", None])
def test_given_parts_of_format_9_are_searched_after_opening(
    tmp_path: Path, embedder: str | None
) -> None:
    """Titles and summaries are found by words and by vectors, as in a new knowledge base."""
    new, old = tmp_path / "new.kb", tmp_path / "old.kb"
    for path in (new, old):
        with KnowledgeBase(path, embedder=embedder, packs=[]) as knowledge_base:
            knowledge_base.add_text(TRANSCRIPT, document_id="a", given=GIVEN)
            knowledge_base.add_text("The weather was fine.\n" * 50, document_id="b")
    with closing(sqlite3.connect(old / "truth.db")) as connection, connection:
        (words,) = connection.execute("select title_words from document where id = 'a'").fetchone()
        assert "grandparents" in words
    downgrade_to_9(old)
    with closing(open_embedded(old)) as store:
        whole, embedded = store.get_whole("a"), store.get_embedded("a")
        assert whole is not None
        entry = make_entry("a", [chunk.text for chunk in store.get_chunks("a")], dimension=0)
        dimension = 0 if embedded is None else embedded[1].shape[1]
        plain = replace(
            entry,
            document=whole.document,
            title=whole.record.title,
            summary=whole.record.summary,
            title_words="a",
            sections=whole.sections,
            chunks=store.get_chunks("a"),
            vectors=np.eye(len(entry.chunks), dimension) if dimension else None,
            recipe=whole.record.recipe,
        )
        store.put_document(plain, replace=True)
    with KnowledgeBase(new, create=False) as first, KnowledgeBase(old, create=False) as second:
        for question in ("ergonomics", "grandparents", "how does it feel?"):
            expected, found = (
                [
                    (s.document_id, s.start, s.end, s.relevance)
                    for s in base.search(question).segments
                ]
                for base in (first, second)
            )
            assert expected == found
        assert second.check().findings == ()


class CountingEmbedder:
    """Static embedder of a caller, which counts the texts that it embeds."""

    name, version, dimension = "own:letters", "1", 26

    def __init__(self) -> None:
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the number of each letter in each text."""
        self.texts += len(texts)
        letters = [chr(ord("a") + place) for place in range(26)]
        rows = [[text.lower().count(letter) for letter in letters] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 26)


def test_vectors_of_another_embedder_are_not_recomputed(tmp_path: Path) -> None:
    """Neither when an old knowledge base is opened, nor when its documents are added again."""
    path, embedder = tmp_path / "a.kb", CountingEmbedder()
    with KnowledgeBase(path, embedder=embedder) as knowledge_base:
        knowledge_base.add_text(TRANSCRIPT, document_id="a")
    downgrade_to_9(path)
    embedder.texts = 0
    with KnowledgeBase(path, create=False, embedder=embedder) as knowledge_base:
        knowledge_base.search("ergonomics")
        assert embedder.texts <= 3, "the question alone"
        embedder.texts = 0
        knowledge_base.add_text(
            TRANSCRIPT, document_id="a", given=GivenParts(summary=GIVEN.summary)
        )
        assert not embedder.texts
        assert knowledge_base.search("grandparents").segments


@pytest.mark.parametrize("is_old", [False, True])
def test_headers_are_part_of_all_vectors_or_of_none(tmp_path: Path, is_old: bool) -> None:
    """With another embedder, an old knowledge base gets no headers in its vectors."""
    path, embedder = tmp_path / "a.kb", CountingEmbedder()
    with KnowledgeBase(path, embedder=embedder) as knowledge_base:
        knowledge_base.add_text("x", document_id="x")
    if is_old:
        downgrade_to_9(path)
    with KnowledgeBase(path, create=False, embedder=embedder) as knowledge_base:
        knowledge_base.add_text(TRANSCRIPT, document_id="plain")
        knowledge_base.add_text(TRANSCRIPT, document_id="given", given=GIVEN)
    with closing(open_embedded(path)) as store:
        plain, given = (store.get_embedded(name) for name in ("plain", "given"))
    assert plain is not None
    assert given is not None
    is_equal = np.array_equal(plain[1][:1], given[1][:1])
    assert is_equal == is_old


@pytest.mark.parametrize("parts", [None, GIVEN])
def test_a_knowledge_base_opens_if_its_vectors_cannot_be_completed(
    tmp_path: Path,
    parts: GivenParts | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The next opening completes them."""
    path = tmp_path / "a.kb"
    with KnowledgeBase(path) as knowledge_base:
        knowledge_base.add_text(TRANSCRIPT, document_id="a", given=parts)
    downgrade_to_9(path)

    def fail(*_: object, **__: object) -> None:
        raise StoreError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr("spanwise.stores.embedded.EmbeddedStore.record_settings", fail)
        with KnowledgeBase(path, create=False) as knowledge_base:
            assert knowledge_base.search("buttons").segments
    assert "the disk is gone" in caplog.text
    caplog.clear()
    with KnowledgeBase(path, create=False) as knowledge_base:
        assert knowledge_base.search("buttons").segments
    with closing(open_embedded(path)) as store:
        assert store.ensure_settings({})["headers"] == "added"
    assert not caplog.text
