"""An index of another format: it is rebuilt from the documents without a warning."""

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

OTHER_FORMAT = 1
QUERIES = (question("steady lease margin"), question("annual dividend 7", vector=False))


def parts(path: Path) -> list[Path]:
    return sorted((path / "index").glob("*.part"))


def write_other_parts(path: Path) -> None:
    """Write the parts of a closed store in another format."""
    for file in parts(path):
        with pytest.MonkeyPatch.context() as patch:
            part = open_part(file)
            patch.setattr(part_file, "PART_FORMAT", OTHER_FORMAT)
            write_part(part, file)
        with pytest.raises(FormatError, match=f"has format {OTHER_FORMAT}, not"):
            open_part(file)


def write_other_manifest(path: Path) -> None:
    file = path / "index" / MANIFEST_NAME
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": OTHER_FORMAT}))


def results(store: EmbeddedStore) -> list[object]:
    """Return the results of searches, and where the sections of all documents begin."""
    ranges = []
    with store.snapshot() as snapshot:
        scan = snapshot.scan(QUERIES[0])
        sizes = zip(scan.handles.tolist(), scan.document_chunks.tolist(), strict=True)
        ranges = [PassageRange(handle, 0, size) for handle, size in sizes]
        nothing = np.empty((0, DIMENSION), dtype=np.float32)
        openings = snapshot.passages(ranges, terms=(), vectors=nothing).openings.tolist()
    return [openings, *(fingerprint(store, query) for query in QUERIES)]


def check(path: Path, *, repair: bool = False) -> CheckReport:
    """Check a store without closing it, so that nothing is written at the end."""
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
        return results(store)


@pytest.fixture
def path(today: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Path]:
    """Return a copy with an index of another format; no warning may be logged."""
    copied = Path(shutil.copytree(today, tmp_path / "a.kb"))
    write_other_parts(copied)
    write_other_manifest(copied)
    with caplog.at_level(logging.WARNING, "spanwise"):
        yield copied
    assert caplog.text == ""


def put_and_delete(store: EmbeddedStore) -> None:
    store.put_document(make_entry("passing", ["lease\n"] * 3))
    assert store.delete_document("passing")


@pytest.mark.parametrize(
    "begin",
    [results, put_and_delete, EmbeddedStore.compact, EmbeddedStore.check],
    ids=["search", "write", "compact", "check"],
)
def test_any_first_operation_rebuilds_it(
    path: Path, expected: list[object], begin: Callable[[EmbeddedStore], object]
) -> None:
    """Once the store is closed, the index has the current format and the old files are gone."""
    old = set(parts(path))
    with closing(open_embedded(path)) as store:
        begin(store)
        assert results(store)[0] == expected[0]
    assert old.isdisjoint(parts(path))
    assert read_manifest(path / "index") != Manifest()
    report = check(path)
    assert report.findings == ()
    assert (report.pending_chunks, report.index_chunks) == (0, report.chunks)
    with closing(open_embedded(path)) as store:
        assert results(store) == expected


def test_a_large_one_is_written_before_the_first_search(
    path: Path, expected: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_MAX_DELTA_ROWS", 10)
    with closing(open_embedded(path)) as store:
        assert results(store) == expected
        assert store._index.pending_rows == 0
        assert read_manifest(path / "index") != Manifest()


def test_where_nothing_can_be_written_it_is_read_into_memory(
    path: Path, expected: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [file.read_bytes() for file in parts(path)]
    store = open_embedded(path)
    monkeypatch.setattr(store._pool, "writable", False)
    assert results(store) == expected
    store._pool.close()
    assert [file.read_bytes() for file in parts(path)] == old


def test_a_part_of_another_format_under_a_current_manifest_is_damage(
    today: Path, tmp_path: Path, expected: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    path = Path(shutil.copytree(today, tmp_path / "b.kb"))
    write_other_parts(path)
    with caplog.at_level(logging.WARNING, "spanwise"), closing(open_embedded(path)) as store:
        assert results(store) == expected
    assert "rebuilt" in caplog.text
    write_other_parts(path)
    findings = check(path, repair=True).findings
    assert [(finding.code, finding.repaired) for finding in findings] == [("part", True)]
    assert "has format 1, not" in findings[0].message
    assert check(path).findings == ()
