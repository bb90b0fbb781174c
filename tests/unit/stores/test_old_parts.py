"""An index that an older program wrote: it is made anew from the documents, without a word."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from spanwise.core.ranking.scan import PassageRange
from spanwise.errors import FormatError
from spanwise.stores import index
from spanwise.stores import part as part_file
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.manifest import MANIFEST_NAME, Manifest, read_manifest
from spanwise.stores.part import open_part, write_part
from spanwise.testing.store_entries import (
    DIMENSION,
    SETTINGS,
    fill,
    fingerprint,
    make_corpus,
    make_entry,
    question,
)
from spanwise.types import CheckReport

QUERIES = (question("steady lease margin"), question("annual dividend 7", vector=False))


def parts(path: Path) -> list[Path]:
    return sorted((path / "index").glob("*.part"))


def write_old_parts(path: Path) -> None:
    """Write the parts of a closed store as programs of format 1 did: without `openings`."""
    names = tuple(name for name in part_file._ARRAYS if name != "openings")
    for file in parts(path):
        with pytest.MonkeyPatch.context() as patch:
            part = open_part(file)
            patch.setattr(part_file, "PART_FORMAT", 1)
            patch.setattr(part_file, "_ARRAYS", names)
            write_part(part, file)
        with pytest.raises(FormatError, match="has format 1, not 3"):
            open_part(file)


def write_old_manifest(path: Path) -> None:
    file = path / "index" / MANIFEST_NAME
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 3}))


def said(store: EmbeddedStore) -> list[object]:
    """Return what searches say, and where the sections of all documents begin."""
    ranges = []
    with store.snapshot() as snapshot:
        scan = snapshot.scan(QUERIES[0])
        sizes = zip(scan.handles.tolist(), scan.document_chunks.tolist(), strict=True)
        ranges = [PassageRange(handle, 0, size) for handle, size in sizes]
        nothing = np.empty((0, DIMENSION), dtype=np.float32)
        openings = snapshot.passages(ranges, terms=(), vectors=nothing).openings.tolist()
    return [openings, *(fingerprint(store, query) for query in QUERIES)]


def check(path: Path, *, repair: bool = False) -> CheckReport:
    """Check a store that is left as by a process that dies: nothing is written at the end."""
    store = open_embedded(path)
    try:
        return store.check(repair=repair)
    finally:
        store._pool.close()


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with two parts, closed."""
    path = tmp_path_factory.mktemp("today") / "a.kb"
    with closing(open_embedded(path)) as store:
        store.ensure_settings(SETTINGS)
        corpus = make_corpus()
        fill(store, corpus[:16])
        assert store._index.flush()
        fill(store, corpus[16:])
    assert len(parts(path)) == 2
    return path


@pytest.fixture
def expected(today: Path) -> list[object]:
    with closing(open_embedded(today)) as store:
        return said(store)


@pytest.fixture
def path(today: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Path]:
    """Return a copy with the index of an older program; nobody may be warned of it."""
    copied = Path(shutil.copytree(today, tmp_path / "a.kb"))
    write_old_parts(copied)
    write_old_manifest(copied)
    with caplog.at_level(logging.WARNING, "spanwise"):
        yield copied
    assert caplog.text == ""


def put_and_delete(store: EmbeddedStore) -> None:
    store.put_document(make_entry("passing", ["lease\n"] * 3))
    assert store.delete_document("passing")


@pytest.mark.parametrize(
    "begin",
    [said, put_and_delete, EmbeddedStore.optimise, EmbeddedStore.check],
    ids=["search", "write", "optimise", "check"],
)
def test_whatever_comes_first_it_is_made_anew(
    path: Path, expected: list[object], begin: Callable[[EmbeddedStore], object]
) -> None:
    """All of it is of today once the store is closed, and the old files are gone."""
    old = set(parts(path))
    with closing(open_embedded(path)) as store:
        begin(store)
        assert said(store)[0] == expected[0]
    assert old.isdisjoint(parts(path))
    assert read_manifest(path / "index") != Manifest()
    report = check(path)
    assert report.findings == ()
    assert (report.pending_chunks, report.index_chunks) == (0, report.chunks)
    with closing(open_embedded(path)) as store:
        assert said(store) == expected


def test_it_is_no_damage(path: Path) -> None:
    report = check(path)
    assert report.sound
    assert (report.index_parts, report.pending_chunks) == (0, report.chunks)


def test_a_large_one_is_written_before_the_first_search(
    path: Path, expected: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_MAX_DELTA_ROWS", 10)
    with closing(open_embedded(path)) as store:
        assert said(store) == expected
        assert store._index.pending_rows == 0
        assert read_manifest(path / "index") != Manifest()


def test_where_nothing_can_be_written_it_is_read_into_memory(
    path: Path, expected: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [file.read_bytes() for file in parts(path)]
    store = open_embedded(path)
    monkeypatch.setattr(store._pool, "writable", False)
    assert said(store) == expected
    store._pool.close()
    assert [file.read_bytes() for file in parts(path)] == old


def test_an_old_part_under_a_manifest_of_today_is_damage(
    today: Path, tmp_path: Path, expected: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    """No program writes that; it is left out of searches, and a repair makes it anew."""
    path = Path(shutil.copytree(today, tmp_path / "b.kb"))
    write_old_parts(path)
    with caplog.at_level(logging.WARNING, "spanwise"), closing(open_embedded(path)) as store:
        assert said(store) == expected
    assert "rebuilt" in caplog.text
    write_old_parts(path)
    findings = check(path, repair=True).findings
    assert [(finding.code, finding.repaired) for finding in findings] == [("part", True)]
    assert "has format 1, not 3" in findings[0].message
    assert check(path).findings == ()
