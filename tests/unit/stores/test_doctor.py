"""Checks of a knowledge base: every kind of damage is found, and what is derived is repaired."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from spanwise.core.ranking.scan import ScanQuery
from spanwise.core.ranking.vectors import quantise_rows
from spanwise.errors import StoreError
from spanwise.stores import doctor as check_index
from spanwise.stores import flush, index, manifest
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.manifest import Manifest, read_manifest, write_manifest
from spanwise.stores.part import Part, open_part, write_part
from spanwise.testing.store_entries import (
    SETTINGS,
    fill,
    fingerprint,
    make_corpus,
    make_entry,
    question,
)
from spanwise.types import CheckFinding, CheckReport

QUERY = question("steady lease margin")
DAMAGED = "report/07"
"""The second document of the corpus, number 2: two chunks in one section, one page."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a knowledge base with two index parts and two documents in no part, closed."""
    made = tmp_path_factory.mktemp("sound") / "a.kb"
    store = open_embedded(made)
    store.ensure_settings(SETTINGS)
    corpus = make_corpus()
    fill(store, corpus[:16])
    assert store._index.flush()
    fill(store, corpus[16:18])
    assert store._index.flush()
    assert len(read_manifest(made / "index").parts) == 2
    fill(store, corpus[18:])
    store._pool.close()  # as a process that dies: what is pending stays so
    return made


@pytest.fixture
def path(tmp_path: Path, sound: Path) -> Path:
    """Return a copy of it, to be damaged."""
    copied: Path = shutil.copytree(sound, tmp_path / "a.kb")
    return copied


@pytest.fixture
def store(path: Path) -> Iterator[EmbeddedStore]:
    """Return the same, open."""
    made = open_embedded(path)
    yield made
    made._pool.close()


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path / "truth.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def check(path: Path, *, repair: bool = False) -> CheckReport:
    store = open_embedded(path)
    try:
        return store.check(repair=repair)
    finally:
        store._pool.close()


def only(report: CheckReport) -> CheckFinding:
    (finding,) = report.findings
    return finding


def test_what_is_sound_is_counted(store: EmbeddedStore) -> None:
    corpus = make_corpus()
    report = store.check()
    assert report.findings == ()
    assert report.sound
    assert report.documents == len(corpus)
    assert report.chunks == sum(len(entry.chunks) for entry in corpus)
    assert report.chars == sum(len(entry.document.text) for entry in corpus)
    assert report.index_parts == 2
    assert report.index_chunks == sum(len(entry.chunks) for entry in corpus[:18])
    assert report.pending_chunks == sum(len(entry.chunks) for entry in corpus[18:])
    assert store.check(repair=True).findings == ()


def test_an_empty_knowledge_base_is_sound(tmp_path: Path) -> None:
    with closing(open_embedded(tmp_path / "a.kb")) as store:
        assert store.check(repair=True).findings == ()


CHUNK = "(2 << 32)"
DAMAGE = {
    "signal": "insert into signal values (2, 'p/x', x'000000', 0)",
    "text": f"update chunk set text = replace(text, ' ', '_') where key = {CHUNK}",
    "text hash": "update document set text_hash = 'x' where number = 2",
    "missing chunk": f"delete from chunk where key = {CHUNK} + 1",
    "missing first chunk": f"delete from chunk where key = {CHUNK}",
    "shorter chunk": f"update chunk set text = substr(text, 2) where key = {CHUNK}",
    "moved chunk": f"update chunk set start = start + 1 where key = {CHUNK} + 1",
    "chunk without section": f"update chunk set section = 9 where key = {CHUNK}",
    "chunk without tokens": f"update chunk set tokens = 0 where key = {CHUNK}",
    "fewer tokens": f"update chunk set tokens = tokens + 1 where key = {CHUNK}",
    "no text": f"update chunk set text = cast(x'ff41' as text) where key = {CHUNK}",
    "bytes for text": f"update chunk set text = cast(text as blob) where key = {CHUNK}",
    "missing section": "delete from section where document = 2",
    "longer section": "update section set end = end + 1 where document = 2",
    "path": "update section set path = '{}' where document = 2",
    "missing page": "delete from page where document = 2",
    "page outside": "update page set end = 100000 where document = 2",
    "heading outside": "insert into heading values (2, 0, 0, 100000, 1, 'x')",
    "status": "update document set status = 'fine' where number = 2",
    "empty block": "insert into block values (2, 2, 5, 5, 'code')",
    "metadata": "update document set metadata = '[1]' where number = 2",
    "metadata of lists": "update document set metadata = '{\"a\": [[]]}' where number = 2",
    "no JSON": "update document set metadata = '{' where number = 2",
    "warnings": "update document set warnings = '{}' where number = 2",
    "counts": "update document set chunks = chunks + 1 where number = 2",
    "missing vectors": "delete from vector where document = 2",
    "fewer vectors": "update vector set data = substr(data, 3) where document = 2",
    "no numbers": "update vector set data = cast(zeroblob(length(data) - 2) || x'007e' as blob)"
    " where document = 2",
    "other lengths": "update vector set data = cast(zeroblob(length(data) - 2) || x'0040' as blob)"
    " where document = 2",
    "came twice": "insert into change (stamp, document, gone) values (randomblob(8), 2, 0)",
    "gone and there": "insert into change (stamp, document, gone) values (randomblob(8), 2, 1)",
}
FOUND = {
    "text": ("text", "not the one that was stored"),
    "text hash": ("text", "not the one that was stored"),
    "missing chunk": ("chunks", "its chunks, characters and tokens are"),
    "missing first chunk": ("chunks", "chunk 0 is missing"),
    "shorter chunk": ("chunks", "chunk 1 is missing, no text, or not at"),
    "moved chunk": ("chunks", "chunk 1 is missing, no text, or not at"),
    "chunk without section": ("chunks", "is of section 9, which is missing"),
    "chunk without tokens": ("chunks", "chunk 0 has 0 tokens"),
    "fewer tokens": ("chunks", "its chunks, characters and tokens are"),
    "no text": ("record", "cannot be read"),
    "bytes for text": ("chunks", "chunk 0 is missing, no text"),
    "missing section": ("sections", "its sections end at 0"),
    "longer section": ("sections", "its sections end at"),
    "path": ("sections", "is not a list of titles"),
    "missing page": ("pages", "0 of its 1 pages"),
    "page outside": ("pages", "page 1 is missing, or outside"),
    "heading outside": ("record", "1 rows of `heading` are outside"),
    "empty block": ("record", "1 rows of `block` are outside"),
    "status": ("record", "its status 'fine' is none of"),
    "metadata": ("record", "are not an object"),
    "metadata of lists": ("record", "are not an object"),
    "no JSON": ("record", "cannot be read"),
    "warnings": ("record", "are not a list of texts"),
    "counts": ("chunks", "its chunks, characters and tokens are"),
    "signal": ("record", "its signal 'p/x' has 3 bytes for"),
    "missing vectors": ("vectors", "its vectors are missing"),
    "fewer vectors": ("vectors", "bytes, expected"),
    "no numbers": ("vectors", "not finite"),
    "other lengths": ("vectors", "not of unit length"),
    "came twice": ("changes", "2 additions and 0 deletions"),
    "gone and there": ("changes", "1 additions and 1 deletions"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_document_is_found_and_never_touched(path: Path, kind: str) -> None:
    """And what to do about it is said: a repair has nothing to derive it from."""
    execute(path, DAMAGE[kind])
    code, words = FOUND[kind]
    for repair in (False, True):
        report = check(path, repair=repair)
        finding = next(finding for finding in report.findings if finding.code == code)
        assert finding.document_id == DAMAGED
        assert words in finding.message
        assert "add it again" in finding.message
        assert not finding.repaired
        assert not report.sound
        assert {f.document_id for f in report.findings if f.code not in ("part",)} == {DAMAGED}


def test_where_to_add_a_damaged_document_from_is_said(path: Path) -> None:
    execute(path, DAMAGE["text"])
    assert (
        "remove the document and add it again from reports/report/07" in only(check(path)).message
    )


def test_vectors_where_there_are_none_are_found(tmp_path: Path) -> None:
    store = open_embedded(tmp_path / "a.kb")
    store.ensure_settings({**SETTINGS, "dimension": "0"})
    store.put_document(make_entry("d", ["lease"], dimension=0))
    assert store.check().findings == ()
    execute(tmp_path / "a.kb", "insert into vector values (1, x'0000')")
    finding = only(store.check())
    assert (finding.code, finding.document_id) == ("vectors", "d")
    store.close()


@pytest.mark.parametrize("table", ["chunk", "section", "page", "heading", "block", "vector"])
def test_rows_of_no_document_are_deleted_by_a_repair(path: Path, table: str) -> None:
    row = {
        "chunk": "(99 << 32, 0, 0, 1, 'x', '', '', 0)",
        "section": "(99, 0, 0, 1, '', '[]', 1, '', 0, 0)",
        "page": "(99, 0, 0, 1, '')",
        "heading": "(99, 0, 0, 1, 1, 'x')",
        "block": "(99, 0, 0, 1, 'code')",
        "vector": "(99, x'')",
    }[table]
    execute(path, f"insert into {table} values {row}")
    finding = only(check(path))
    assert (finding.code, finding.repaired) == ("orphans", False)
    assert f"1 rows of `{table}` belong to no document (number 99)" in finding.message
    report = check(path, repair=True)
    assert (only(report).code, report.sound) == ("orphans", True)
    assert check(path).findings == ()


def test_changes_without_stamps_are_found(path: Path) -> None:
    execute(path, "update change set stamp = 'x' where seq = 3")
    assert "1 changes have no stamp" in only(check(path)).message


def test_a_damaged_page_of_the_database_is_found(path: Path) -> None:
    """Bytes of a chunk's page are turned over: nothing is derived from such a file."""
    with closing(sqlite3.connect(path / "truth.db")) as connection:
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
        data = bytearray((path / "truth.db").read_bytes())
        (page,) = connection.execute(
            "select rootpage from sqlite_schema where name = 'chunk'"
        ).fetchone()
        (size,) = connection.execute("pragma page_size").fetchone()
    start = (page - 1) * size
    data[start : start + 64] = bytes(64)
    (path / "truth.db").write_bytes(data)
    report = check(path, repair=True)
    assert report.findings[0].code == "database"
    assert "restore the knowledge base from a backup" in report.findings[0].message
    assert not report.sound
    assert report.index_parts == 0


def test_settings_that_are_lost_are_found(path: Path) -> None:
    execute(path, "delete from setting where name = 'dimension'")
    report = check(path, repair=True)
    assert [finding.code for finding in report.findings] == ["settings"]
    assert not report.sound


def first_part(path: Path) -> Path:
    return path / "index" / read_manifest(path / "index").parts[0]


def turn_bits(path: Path) -> None:
    """Turn over a bit of some array: the checksum alone can tell."""
    part = first_part(path)
    data = bytearray(part.read_bytes())
    data[len(data) * 2 // 3] ^= 0x10
    part.write_bytes(data)


def cut_short(path: Path) -> None:
    first_part(path).write_bytes(first_part(path).read_bytes()[:-64])


def empty(path: Path) -> None:
    first_part(path).write_bytes(b"")


def damage_header(path: Path) -> None:
    data = bytearray(first_part(path).read_bytes())
    data[40] ^= 1
    first_part(path).write_bytes(data)


def lose_part(path: Path) -> None:
    first_part(path).unlink()


def lose_manifest(path: Path) -> None:
    (path / "index" / "manifest.json").unlink()


def damage_manifest(path: Path) -> None:
    (path / "index" / "manifest.json").write_text(json.dumps({"format": 1}))


def take_manifest_of_another(path: Path) -> None:
    manifest = read_manifest(path / "index")
    write_manifest(path / "index", Manifest(seq=manifest.seq, stamp="00", parts=manifest.parts))


def write_other(path: Path, **arrays: object) -> None:
    """Write a part that is sound as a file, with other contents than its documents have."""
    part = open_part(first_part(path))
    body = {name: value for name, value in arrays.items() if hasattr(part.body, name)}
    fields = {name: getattr(part, name) for name in type(part).__slots__}
    fields |= {name: value for name, value in arrays.items() if name not in body}
    postings = {name: getattr(part.body, name) for name in type(part.body).__slots__}
    fields["body"] = type(part.body)(**{**postings, **body})
    write_part(type(part)(**fields), first_part(path))


def write_other_impacts(path: Path) -> None:
    write_other(path, impacts=open_part(first_part(path)).body.impacts ^ 1)


def write_other_vectors(path: Path) -> None:
    rows = open_part(first_part(path)).vectors
    rows, _ = quantise_rows(np.roll(rows, 1, axis=0).astype(np.float32))
    write_other(path, vectors=rows)


def write_other_openings(path: Path) -> None:
    write_other(path, openings=open_part(first_part(path)).openings ^ 1)


def write_other_starts(path: Path) -> None:
    starts = open_part(first_part(path)).starts.copy()
    starts[3] += 1
    write_other(path, starts=starts)


def write_other_order(path: Path) -> None:
    write_other(path, numbers=open_part(first_part(path)).numbers[::-1])


LOSSES: dict[Callable[[Path], None], tuple[str, str]] = {
    turn_bits: ("part", "are damaged"),
    cut_short: ("part", "bytes, not"),
    empty: ("part", "is damaged"),
    damage_header: ("part", "is not an index part, or is damaged"),
    lose_part: ("part", "it is missing"),
    lose_manifest: ("manifest", "is missing, so the existing"),
    damage_manifest: ("manifest", "is damaged"),
    take_manifest_of_another: ("manifest", "another truth.db"),
    write_other_impacts: ("part", "impacts do not match its documents"),
    write_other_vectors: ("part", "vectors do not match its documents"),
    write_other_openings: ("part", "openings do not match its documents"),
    write_other_starts: ("part", "other numbers of chunks"),
    write_other_order: ("part", "contradict each other"),
}


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
def test_a_damaged_index_is_made_anew(path: Path, lose: Callable[[Path], None]) -> None:
    whole = open_embedded(path)
    before = fingerprint(whole, QUERY)
    whole._pool.close()
    lose(path)
    code, words = LOSSES[lose]
    finding = only(check(path))
    assert (finding.code, finding.repaired) == (code, False)
    assert words in finding.message
    report = check(path, repair=True)
    assert (only(report).code, report.sound) == (code, True)
    store = open_embedded(path)
    again = store.check()
    assert again.findings == ()
    assert (again.pending_chunks, again.index_chunks) == (0, again.chunks)
    assert fingerprint(store, QUERY) == before
    store.close()


def test_an_open_store_searches_what_was_repaired(path: Path) -> None:
    """Its maps of the old files are given up."""
    write_other_impacts(path)
    store = open_embedded(path)
    wrong = fingerprint(store, QUERY)
    assert store.check(repair=True).sound
    right = fingerprint(store, QUERY)
    assert right != wrong
    reference = open_embedded(path)
    assert fingerprint(reference, QUERY) == right
    reference.close()
    store.close()


def test_a_missing_index_is_no_damage(path: Path) -> None:
    for file in (path / "index").iterdir():
        file.unlink()
    (path / "index").rmdir()
    report = check(path)
    assert report.findings == ()
    assert not (path / "index").exists()


@pytest.mark.parametrize("name", ["terms_version", "word_vectors_version", "MANIFEST_FORMAT"])
def test_an_index_of_another_version_is_no_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """After an update; it is made anew when it is needed."""
    monkeypatch.setattr(manifest, name, 99 if name == "MANIFEST_FORMAT" else lambda: "new")
    report = check(path)
    assert report.sound
    assert (report.index_parts, report.pending_chunks) == (0, report.chunks)


def test_gone_documents_in_a_part_are_no_damage(store: EmbeddedStore) -> None:
    assert store.delete_document(DAMAGED)
    assert store.check().findings == ()


def test_a_large_part_is_compared_by_documents_all_over_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_index, "SAMPLE_ROWS", 10)
    report = check(path)
    assert report.findings == ()
    assert 0 < report.index_chunks < 40


def test_an_index_that_cannot_be_made_anew_says_why(path: Path) -> None:
    """A damaged vector keeps the document out of every new part."""
    execute(path, DAMAGE["fewer vectors"])
    lose_part(path)
    report = check(path, repair=True)
    assert [(f.code, f.repaired) for f in report.findings] == [("vectors", False), ("part", False)]
    assert "repair the documents first" in report.findings[1].message


def test_a_repair_needs_a_folder_that_can_be_written(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store._pool, "writable", False)
    assert store.check().findings == ()
    with pytest.raises(StoreError, match="cannot be written"):
        store.check(repair=True)


def test_a_check_waits_for_whoever_writes_the_index(
    store: EmbeddedStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_COMPACT_SECONDS", 0.0)
    other = open_embedded(path)
    with other._index.locked(), pytest.raises(StoreError, match="another process"):
        store.check()
    other._pool.close()


def test_a_search_is_not_kept_waiting(store: EmbeddedStore) -> None:
    """The check holds no lock that a search needs."""
    with store._index.locked(), store.snapshot() as snapshot:
        assert snapshot.scan(ScanQuery(terms=("leas",), vector=None)).documents


def test_a_kill_during_the_first_flush_is_no_damage(tmp_path: Path) -> None:
    """The first part is on disk, and the process ends before the manifest names it."""

    def write_and_die(part: Part, path: Path) -> None:
        write_part(part, path)
        raise KeyboardInterrupt

    with closing(open_embedded(tmp_path / "a.kb")) as store:
        store.ensure_settings(SETTINGS)
        fill(store, make_corpus())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(flush, "write_part", write_and_die)
            with pytest.raises(KeyboardInterrupt):
                store.compact()
        assert len(list((tmp_path / "a.kb" / "index").glob("*.part"))) == 1
        assert store.check().findings == ()


def test_an_empty_knowledge_base_is_sound_after_compacting(tmp_path: Path) -> None:
    with closing(open_embedded(tmp_path / "a.kb")) as store:
        store.ensure_settings(SETTINGS)
        store.compact()
        assert store.check().findings == ()
