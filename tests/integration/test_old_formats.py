"""Knowledge bases of older formats, written here in SQL as their programs wrote them."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spanwise import KnowledgeBase, parse_filter
from spanwise.stores.embedded import open_embedded
from spanwise.stores.schema import FORMAT_VERSION
from spanwise.testing.store_records import make_turn
from spanwise.types import Page

FORMATS = (
    """
    create table setting (name text primary key, value text not null) without rowid;
    create table document (number integer primary key autoincrement, id text not null unique,
        title text not null, summary text not null, title_words text not null,
        given_title text not null, metadata text not null, media_type text not null,
        source text not null, source_root text not null, content_hash text not null,
        warnings text not null, chars integer not null, chunks integer not null,
        tokens integer not null, pages integer not null);
    create table section (document integer not null, position integer not null,
        start integer not null, end integer not null, title text not null, path text not null,
        header_tokens integer not null, primary key (document, position)) without rowid;
    create table page (document integer not null, position integer not null,
        start integer not null, end integer not null, label text,
        primary key (document, position)) without rowid;
    create table chunk (key integer primary key, section integer not null,
        start integer not null, tokens integer not null, text text not null);
    create table vector (document integer primary key, data blob not null);
    create table change (seq integer primary key autoincrement, stamp blob not null,
        document integer not null, gone integer not null);
    pragma application_id = 0x5370616e;
    """,
    "alter table document add column text_hash text not null default ''",
    "alter table document add column given_fields text not null default '[]'",
    """
    alter table document add column language text not null default '';
    create index document_language on document (language);
    """,
    """
    create table signal (document integer not null, landmark text not null, data blob not null,
        primary key (document, landmark));
    """,
    """
    alter table document add column status text not null default 'ok';
    create table heading (document integer not null, position integer not null,
        start integer not null, end integer not null, level integer not null, title text not null,
        primary key (document, position)) without rowid;
    create table block (document integer not null, position integer not null,
        start integer not null, end integer not null, kind text not null,
        primary key (document, position)) without rowid;
    """,
    "alter table chunk add column table_head text not null default ''",
)
"""What each format added to the one before."""

SETTINGS = {
    "chunks": '{"block_max": 800, "max": 460, "paragraph_min": 200, "target": 400,'
    ' "unit": "chars"}',
    "dimension": "0",
    "embedder": "none",
    "embedder_version": "",
    "reference_terms": "61.538",
    "sections": '{"max_chars": 8000, "min_chars": 600}',
    "tokenizer": "o200k_base",
}
DOCUMENTS = {
    "report.pdf": (
        ["Margins fell in the spring because freight cost more than anybody had planned.\n"] * 3
        + ["The lease of the plant in Austin ends in May 2031.\n"],
        ["no text on page 2 of 2, only pictures; OCR would read them"],
    ),
    "notes.txt": (
        ["Inventories rose since customers in the south delayed their orders by weeks.\n"] * 2,
        ["12 bytes are no UTF-8 and were replaced"],
    ),
    "plain.txt": (["The board met on a Tuesday and decided nothing at all.\n"], []),
}
"""Chunks and warnings by id."""


def write(path: Path, version: int) -> None:
    """Write a knowledge base of a format."""
    statuses = {"report.pdf": "needs_ocr", "notes.txt": "partial", "plain.txt": "ok"}
    path.mkdir()
    with closing(sqlite3.connect(path / "truth.db")) as connection, connection:
        connection.execute("pragma journal_mode = wal")
        for statements in FORMATS[:version]:
            connection.executescript(statements)
        connection.execute(f"pragma user_version = {version}")
        connection.executemany("insert into setting values (?, ?)", SETTINGS.items())
        for number, (document_id, (texts, warnings)) in enumerate(DOCUMENTS.items(), start=1):
            write_document(connection, number, document_id, texts, warnings=warnings)
            added = {
                "text_hash": hashlib.sha256("".join(texts).encode()).hexdigest(),
                "given_fields": '["year"]',
                "language": "en",
            }
            for column in list(added)[: version - 1]:
                connection.execute(
                    f"update document set {column} = ? where number = ?",
                    (added[column], number),
                )
            if version >= 6:
                connection.execute(
                    "update document set status = ? where number = ?",
                    (statuses[document_id], number),
                )
        if version >= 6:  # headers had room for the labels of pages
            connection.execute("update section set header_tokens = 55 where document = 1")


def write_document(
    connection: sqlite3.Connection,
    number: int,
    document_id: str,
    texts: list[str],
    *,
    warnings: list[str],
) -> None:
    chars = sum(map(len, texts))
    connection.execute(
        "insert into document (number, id, title, summary, title_words, given_title, metadata,"
        " media_type, source, source_root, content_hash, warnings, chars, chunks, tokens, pages)"
        " values (?, ?, ?, '', ?, '', '{\"year\": 2018}', 'text/plain', ?, '/in', 'aa', ?, ?, ?, ?,"
        " 2)",
        (
            number, document_id, document_id, document_id, f"/in/{document_id}",
            json.dumps(warnings), chars, len(texts), 15 * len(texts),
        ),
    )  # fmt: skip
    connection.execute(
        "insert into section values (?, 0, 0, ?, ?, ?, 40)",
        (number, chars, document_id, json.dumps([document_id])),
    )
    connection.executemany(
        "insert into page values (?, ?, ?, ?, ?)",
        [(number, 0, 0, chars, "F-12" if number == 1 else None), (number, 1, chars, chars, None)],
    )
    start = 0
    for position, text in enumerate(texts):
        connection.execute(
            "insert into chunk (key, section, start, tokens, text) values (?, 0, ?, 15, ?)",
            (number << 32 | position, start, text),
        )
        start += len(text)
    connection.execute(
        "insert into change (stamp, document, gone) values (randomblob(8), ?, 0)", (number,)
    )


@pytest.fixture(params=range(1, len(FORMATS) + 1))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a knowledge base of each older format."""
    write(tmp_path / "old.kb", request.param)
    return tmp_path / "old.kb"


def test_it_opens_and_is_brought_to_the_format_of_today(path: Path) -> None:
    with KnowledgeBase(path, create=False) as knowledge_base:
        assert [record.id for record in knowledge_base.list()] == sorted(DOCUMENTS)
        assert knowledge_base.check().findings == ()
    with closing(sqlite3.connect(path / "truth.db")) as connection:
        assert connection.execute("pragma user_version").fetchone() == (FORMAT_VERSION,)


def test_it_is_searched_with_pages_and_versions(path: Path) -> None:
    texts, _ = DOCUMENTS["report.pdf"]
    with KnowledgeBase(path, create=False) as knowledge_base:
        result = knowledge_base.search("When does the lease in Austin end?", budget_tokens=300)
        segment = result.segments[0]
        assert texts[3] in segment.text
        assert segment.citation.page_range == "page 1 (F-12)"
        assert segment.citation.version == hashlib.sha256("".join(texts).encode()).hexdigest()[:12]
        assert knowledge_base.locate(segment).status == "current"
        assert 'pages="1 (F-12)"' in result.context


def test_warnings_tell_the_status(path: Path) -> None:
    with KnowledgeBase(path, create=False) as knowledge_base:
        assert {record.id: record.status for record in knowledge_base.list()} == {
            "notes.txt": "partial",
            "plain.txt": "ok",
            "report.pdf": "needs_ocr",
        }
        found = knowledge_base.list(parse_filter("status != 'ok' and year = 2018"))
        assert [record.id for record in found] == ["notes.txt", "report.pdf"]
        info = knowledge_base.info()
        assert (info.partial, info.needs_ocr) == (1, 1)


def test_what_was_not_recorded_is_empty(path: Path) -> None:
    """And what was is there, character for character."""
    with KnowledgeBase(path, create=False) as knowledge_base:
        for document_id, (texts, warnings) in DOCUMENTS.items():
            document = knowledge_base.get(document_id)
            assert (document.text, list(document.warnings)) == ("".join(texts), warnings)
            assert (document.headings, document.blocks) == ((), ())
            assert knowledge_base.record(document_id).recipe == ""
            assert {section.summary for section in knowledge_base.sections(document_id)} == {""}
            assert {chunk.context for chunk in knowledge_base.chunks(document_id)} == {""}
        (first, _) = knowledge_base.get("report.pdf").pages
        assert first == Page(start=0, end=len("".join(DOCUMENTS["report.pdf"][0])), label="F-12")


def test_headers_have_room_for_the_labels_that_citations_name_now(path: Path) -> None:
    """They were counted without them; where there are none, nothing is added."""
    with KnowledgeBase(path, create=False) as knowledge_base:
        rooms = {
            document_id: knowledge_base.sections(document_id)[0].header_tokens
            for document_id in DOCUMENTS
        }
    assert rooms["notes.txt"] == rooms["plain.txt"] == 40
    assert rooms["report.pdf"] >= 40 + len("F-12")


def test_documents_are_replaced_and_removed_in_it(path: Path) -> None:
    with KnowledgeBase(path, create=False) as knowledge_base:
        report = knowledge_base.add_text(
            "The lease ends in 2032.", document_id="report.pdf", replace=True
        )
        assert report.replaced == ("report.pdf",)
        assert knowledge_base.delete("notes.txt")
        assert knowledge_base.record("report.pdf").status == "ok"
        assert knowledge_base.check().findings == ()


def test_conversations_and_outputs_are_kept_in_it(path: Path) -> None:
    with closing(open_embedded(path)) as store:
        assert (store.list_threads(), store.count_outputs()) == ([], (0, 0))
        store.append_turn("a", make_turn("Who?"))
        store.put_output("key", "output", task="title", model="a:b")
    with closing(open_embedded(path)) as store:
        thread = store.get_thread("a")
        assert thread is not None
        assert thread.turns == (make_turn("Who?"),)
        assert store.get_output("key") == "output"
        assert store.check().findings == ()
