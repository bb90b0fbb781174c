"""Damage in `truth.db`: no reader gets anything else than what was stored, and doctor sees it."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spanwise.core.ranking.scan import PassageRange
from spanwise.errors import FormatError, SpanwiseError, StoreError
from spanwise.filters import field
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.manifest import read_manifest
from spanwise.stores.port import DocumentEntry
from spanwise.testing.store_entries import (
    SETTINGS,
    fill,
    fingerprint,
    make_entry,
    make_output,
    question,
)
from spanwise.testing.store_records import make_turn
from spanwise.types import Block, Heading, Page

QUERY = question("steady lease margin")
WORDS = "revenue margin lease covenant auditors dividend goodwill growth impairment steady".split()
DAMAGED = "d/02"
TRIALS = 60


def entry(number: int) -> DocumentEntry:
    """Return a document in which no table and no column is empty."""
    rng = random.Random(number)
    paragraphs = [f"{' '.join(rng.choices(WORDS, k=8))} {rng.randrange(99)}\n" for _ in range(5)]
    made = make_entry(f"d/{number:02d}", paragraphs, title=f"Report {number}")
    text = made.document.text
    document = replace(
        made.document,
        pages=(Page(start=0, end=30, label="F-1"), Page(start=30, end=len(text))),
        headings=(Heading(start=0, end=8, level=1, title="One"),),
        blocks=(Block(start=8, end=20, kind="table"),),
        metadata={"year": 2000 + number, "company": "Norvik"},
        media_type="text/plain",
        source=f"reports/{number}.txt",
        source_root="reports",
        content_hash="ab12",
        warnings=("12 bytes are no UTF-8",),
        given_fields=("year",),
        status="partial",
    )
    return replace(
        made,
        document=document,
        summary="About leases.",
        language="en",
        recipe='{"title": "a:b"}',
        sections=tuple(replace(section, summary="A section.") for section in made.sections),
        chunks=tuple(replace(chunk, table_head="Year", context="Norvik") for chunk in made.chunks),
        signals={
            name: np.linspace(0, 1, len(made.chunks), dtype=np.float16) for name in ("p/a", "p/b")
        },
    )


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a closed knowledge base with an index part, an output and a conversation."""
    path = tmp_path_factory.mktemp("sound") / "a.kb"
    with closing(open_embedded(path)) as store:
        store.ensure_settings({**SETTINGS, "embedder": "none"})
        fill(store, [entry(number) for number in range(1, 9)])
        store.put_outputs([make_output("key", "an answer")])
        store.append_turn("thread", make_turn("Who?"))
        store.append_turn("thread", make_turn("Why?", minute=1))
        store.compact()
    return path


@pytest.fixture
def path(tmp_path: Path, sound: Path) -> Path:
    """Return a copy of it, to be damaged."""
    return Path(shutil.copytree(sound, tmp_path / "a.kb"))


def snapshot_of(store: EmbeddedStore) -> list[object]:
    """Return what a search reads of every document to show it."""
    read: list[object] = []
    with store.snapshot() as snapshot:
        handles = snapshot.scan(QUERY).handles.tolist()
        ranges = [PassageRange(handle, 0, 5) for handle in handles]
        read.append(snapshot.signals(ranges, ["p/a", "p/b"]).tobytes())
        read += [snapshot.languages(), snapshot.packs()]
        for handle in handles:
            read += [snapshot.record(handle), snapshot.pages(handle)]
            read += [snapshot.sections(handle, place, place + 1) for place in range(3)]
            read += [snapshot.chunks(handle, 0, 2), snapshot.chunks(handle, 2, 5)]
    return read


def embedded(store: EmbeddedStore) -> object:
    found = store.get_embedded(DAMAGED)
    return None if found is None else (found[0], found[1].tobytes())


READERS: dict[str, Callable[[EmbeddedStore], object]] = {
    "search": lambda store: fingerprint(store, QUERY),
    "filter": lambda store: fingerprint(store, QUERY, where=field("year") == 2002),
    "shown": snapshot_of,
    "documents": lambda store: store.list_records(),
    "record": lambda store: store.get_record(DAMAGED),
    "get": lambda store: store.get_document(DAMAGED),
    "whole": lambda store: store.get_whole(DAMAGED),
    "chunks": lambda store: store.get_chunks(DAMAGED),
    "sections": lambda store: store.get_sections(DAMAGED),
    "embedded": embedded,
    "settings": lambda store: store.ensure_settings({}),
    "threads": lambda store: store.list_threads(),
    "thread": lambda store: store.get_thread("thread"),
}


def read(path: Path) -> dict[str, object]:
    """Return what each reader gets; the error where it is refused, which must be a typed one."""
    found: dict[str, object] = {}
    try:
        store = open_embedded(path)
    except StoreError as error:
        return dict.fromkeys(READERS, error)
    for name, reader in READERS.items():
        try:
            found[name] = reader(store)
        except SpanwiseError as error:
            found[name] = error
    store._pool.close()
    return found


def is_seen(path: Path) -> bool:
    """Return whether doctor says that something is damaged, or the file cannot be opened."""
    try:
        store = open_embedded(path)
    except StoreError:
        return True
    try:
        return not store.check().sound
    except StoreError:
        return True
    finally:
        store._pool.close()


def check_readers(path: Path, expected: dict[str, object]) -> set[str]:
    """Check that every reader gets what was stored or is refused; return who is refused.

    Where an id is damaged, a reader may also hear that there is no such document.
    """
    found = read(path)
    refused = {
        name
        for name, value in found.items()
        if isinstance(value, SpanwiseError) or value is None or value == ()
    }
    for name in found.keys() - refused:
        assert found[name] == expected[name], name
    if refused:
        assert is_seen(path)
    return refused


@pytest.fixture(scope="module")
def expected(sound: Path) -> dict[str, object]:
    found = read(sound)
    assert not [v for v in found.values() if isinstance(v, Exception) or v in (None, ())]
    return found


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path / "truth.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    connection = sqlite3.connect(path / "truth.db")
    connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    connection.close()


OWNER = {"document": "number = 2", "chunk": "key = (2 << 32) + 1", "setting": "name = 'embedder'"}
OWNER |= {"output": "key = 'key'", "thread": "number = 1", "turn": "position = 1"}
OWNER |= dict.fromkeys(("section", "page"), "document = 2 and position = 0")
OWNER |= dict.fromkeys(("heading", "block", "vector"), "document = 2")
OWNER |= {"signal": "document = 2 and landmark = 'p/a'"}


def columns(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path / "truth.db")) as connection:
        return [
            (table, column)
            for table in OWNER
            for (column,) in connection.execute("select name from pragma_table_info(?)", (table,))
        ]


def test_a_forged_value_in_any_column_is_seen_and_not_read(
    sound: Path, tmp_path: Path, expected: dict[str, object]
) -> None:
    """Titles, sources, metadata, paths, pages, status, hashes: all that is stored."""
    for table, column in columns(sound):
        path = Path(shutil.copytree(sound, tmp_path / f"{table}-{column}"))
        forged = (
            f"case typeof({column}) when 'integer' then {column} + 70 when 'null' then 'x'"
            f" when 'text' then 'forged' || {column}"
            f" else cast(x'3c00' || substr({column}, 3) as blob) end"
        )
        execute(path, f"update {table} set {column} = {forged} where {OWNER[table]}")
        refused = check_readers(path, expected)
        assert is_seen(path), (table, column)
        # What nothing that is read depends on is seen by doctor alone.
        assert refused or table in ("output",) or (table, column) == ("chunk", "key"), (
            table,
            column,
        )
        shutil.rmtree(path)


@pytest.mark.parametrize("table", sorted(OWNER.keys() - {"setting"}))
def test_a_missing_row_is_seen_and_changes_nothing_that_is_read(
    path: Path, expected: dict[str, object], table: str
) -> None:
    """A document whose row is missing is gone for readers; its other rows have no owner."""
    execute(path, f"delete from {table} where {OWNER[table]}")
    if table == "output":
        return
    assert is_seen(path)
    if table not in ("document", "thread", "signal"):
        assert check_readers(path, expected)


def test_flipped_bytes_of_the_file_change_nothing_that_is_read(
    path: Path, sound: Path, expected: dict[str, object]
) -> None:
    """Each trial flips bits of one byte of the database, in pages of tables and of indexes."""
    execute(path)
    data = (path / "truth.db").read_bytes()
    assert not (path / "truth.db-wal").exists() or not (path / "truth.db-wal").stat().st_size
    rng = random.Random(5)
    refusing = 0
    for _ in range(TRIALS):
        damaged = bytearray(data)
        damaged[rng.randrange(100, len(data))] ^= 1 << rng.randrange(8)
        (path / "truth.db").write_bytes(damaged)
        refusing += bool(check_readers(path, expected))
        for name in ("truth.db-wal", "truth.db-shm"):
            (path / name).unlink(missing_ok=True)
    assert refusing


@pytest.mark.parametrize(
    "statement",
    [
        "update vector set data = cast(x'3c00' || substr(data, 3) as blob) where document = 2",
        "update chunk set text = 'forged' || text where key = 2 << 32",
        "update document set title_words = 'forged' where number = 2",
    ],
    ids=["vectors", "text", "title words"],
)
def test_a_repair_never_makes_an_index_of_damaged_documents(path: Path, statement: str) -> None:
    """It says which document is damaged; without that document the index is made."""
    execute(path, statement)
    for part in (path / "index").glob("*.part"):
        part.unlink()
    with closing(open_embedded(path)) as store:
        report = store.check(repair=True)
        assert not report.sound
        assert not [finding for finding in report.findings if finding.repaired]
        assert DAMAGED in {finding.document_id for finding in report.findings}
        assert read_manifest(path / "index").parts == ()
        with pytest.raises(FormatError, match=f"{DAMAGED}.*spanwise doctor"):
            fingerprint(store, QUERY)
        assert store.delete_document(DAMAGED)
        assert store.check(repair=True).sound
        assert fingerprint(store, QUERY)


def test_a_damaged_document_in_a_sound_index_hides_no_other(path: Path) -> None:
    """The parts are sound and stay; what is read of other documents is as before."""
    execute(path, "update document set title = 'forged' where number = 2")
    parts = read_manifest(path / "index").parts
    with closing(open_embedded(path)) as store:
        report = store.check(repair=True)
        assert [finding.document_id for finding in report.findings] == [DAMAGED]
        assert store.get_document("d/03") is not None
    assert read_manifest(path / "index").parts == parts


def test_a_damaged_output_is_asked_for_again_and_replaced(path: Path) -> None:
    execute(path, "update output set output = cast('forged' as blob)")
    with closing(open_embedded(path)) as store:
        (finding,) = store.check().findings
        assert (finding.code, finding.repaired) == ("outputs", False)
        assert store.get_outputs(["key"]) == {}
        store.put_outputs([make_output("key", "asked again")])
        assert store.get_outputs(["key"]) == {"key": "asked again"}
        assert store.check().sound
    execute(path, "update output set model = 'c:d'")
    with closing(open_embedded(path)) as store:
        assert store.check(repair=True).sound
        assert store.count_outputs() == (0, 0)


def test_new_signals_hide_no_damage(path: Path) -> None:
    """Checksums are renewed for what was changed alone."""
    execute(path, "update document set title = 'forged' where number = 2")
    with closing(open_embedded(path)) as store:
        with pytest.raises(FormatError, match=DAMAGED):
            store.record_packs("[]", lambda texts: {"p/c": np.ones(len(texts), dtype=np.float16)})
        assert store.delete_document(DAMAGED)
        store.record_packs("[]", lambda texts: {"p/c": np.ones(len(texts), dtype=np.float16)})
        assert store.check().sound
