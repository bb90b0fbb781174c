"""Checks of an embedded store whose processes were killed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from tests.crash.crash_child import crash_entry

from spanwise.stores.embedded import open_embedded
from spanwise.stores.memory import MemoryStore
from spanwise.stores.port import DocumentEntry, Store
from spanwise.testing.store_entries import (
    DIMENSION,
    SETTINGS,
    check_whole,
    fill,
    fingerprint,
    question,
)

Allowed = dict[str, set[int | None]]
"""Permitted versions of each document; None means an absent document."""

_QUERIES = (question("steady lease", hits=20), question("FY2018 margin 12.5", vector=False))
_HALF_BYTES = 2  # of a number in half precision


def read_log(path: Path, allowed: Mapping[str, set[int | None]]) -> Allowed:
    """Return the permitted versions after the steps of a log.

    Args:
        path: Log of a killed writer. A step without acknowledgement may or may not have happened.
        allowed: Permitted versions before these steps.
    """
    after = {document_id: set(versions) for document_id, versions in allowed.items()}
    for line in path.read_bytes().splitlines():
        kind, document_id, version = json.loads(line)
        if kind == "done":
            after[document_id] = {version}
        else:
            after.setdefault(document_id, {None}).add(version)
    return after


def check_knowledge_base(folder: Path, allowed: Mapping[str, set[int | None]]) -> Allowed:
    """Check the knowledge base of a folder, before and after `compact`.

    Args:
        folder: Copy of the folder that the killed processes left. It is changed.
        allowed: Permitted versions of each document.

    Returns:
        The version found of each document.

    Raises:
        AssertionError: If a check fails.
    """
    _check_database(folder / "truth.db")
    store = open_embedded(folder, create=False)
    try:
        found = _check_documents(store, allowed)
        _check_report(store, besides=("manifest",))  # killed before there was one
        entries = _entries_by_age(store, found)
        _check_searches(store, entries)
        store.compact()
        _check_searches(store, entries)
        _check_report(store)
    finally:
        store.close()
    _check_files(folder / "index")
    _check_database(folder / "truth.db")
    return found


def _check_report(store: Store, *, besides: Sequence[str] = ()) -> None:
    """Check that `Store.check` reports no damage."""
    findings = [one for one in store.check().findings if one.code not in besides]
    assert not findings, f"the store finds itself damaged: {findings}"


def _check_database(path: Path) -> None:
    """Check the integrity of the database and the completeness of every document."""
    with closing(sqlite3.connect(path)) as connection:
        (verdict,) = connection.execute("pragma integrity_check").fetchone()
        assert verdict == "ok", f"SQLite finds damage: {verdict}"
        documents = connection.execute("select number, id, chars, chunks from document").fetchall()
        for number, document_id, chars, chunks in documents:
            found = connection.execute(
                "select count(*), total(length(text)), min(start) from chunk where key >> 32 = ?",
                (number,),
            ).fetchone()
            assert found == (chunks, chars, 0), f"{document_id} has {found} of its chunks"
            (size,) = connection.execute(
                "select length(data) from vector where document = ?", (number,)
            ).fetchone()
            assert size == chunks * DIMENSION * _HALF_BYTES, f"{document_id} has half its vectors"
        for table in ("section", "page", "heading", "block", "signal", "vector"):
            (orphans,) = connection.execute(
                f"select count(*) from {table} where document not in (select number from document)"
            ).fetchone()
            assert orphans == 0, f"{orphans} rows of {table} belong to no document"
        (orphans,) = connection.execute(
            "select count(*) from chunk where key >> 32 not in (select number from document)"
        ).fetchone()
        assert orphans == 0, f"{orphans} chunks belong to no document"


def _check_documents(store: Store, allowed: Mapping[str, set[int | None]]) -> Allowed:
    """Check that every document has a permitted version and its content is unchanged."""
    found: Allowed = {document_id: {None} for document_id in allowed}
    for record in store.list_records():
        version = record.metadata["version"]
        assert isinstance(version, int)
        assert version in allowed.get(record.id, ()), (
            f"{record.id} is there in version {version}, not in {allowed.get(record.id)}"
        )
        found[record.id] = {version}
        entry = crash_entry(record.id, version)
        assert store.get_document(record.id) == entry.document, f"{record.id} was changed"
        assert store.get_chunks(record.id) == entry.chunks, f"chunks of {record.id} were changed"
        assert store.get_sections(record.id) == entry.sections, f"sections of {record.id}"
    for document_id, versions in found.items():
        assert versions <= allowed[document_id], f"{document_id} is not there"
    return found


def _entries_by_age(store: Store, found: Mapping[str, Iterable[int | None]]) -> list[DocumentEntry]:
    """Return the entries of the stored documents in the order of the store."""
    with store.snapshot() as snapshot:
        scan = snapshot.scan(question("steady"))
        ids = [snapshot.record(handle).id for handle in scan.handles.tolist()]
    there = {document_id: version for document_id, (version,) in found.items()}
    living = {document_id for document_id, version in there.items() if version is not None}
    assert set(ids) == living, f"a search finds {sorted(set(ids) ^ living)} wrongly"
    return [crash_entry(i, version) for i in ids if (version := there[i]) is not None]


def _check_searches(store: Store, entries: Sequence[DocumentEntry]) -> None:
    """Check that searches return the same as the reference store with the same documents."""
    reference = MemoryStore()
    reference.ensure_settings(SETTINGS)
    fill(reference, entries)
    for query in _QUERIES:
        expected = fingerprint(reference, query)
        for place, (said, wanted) in enumerate(
            zip(fingerprint(store, query), expected, strict=True)
        ):
            assert said == wanted, f"part {place} of a search is not that of the reference"
    with store.snapshot() as snapshot:
        check_whole(snapshot, question("steady"))
        for entry in entries:
            version = entry.document.metadata["version"]
            scan = snapshot.scan(question(f"version{version}"), documents=[entry.document.id])
            assert scan.document_terms[0, 0] == len(entry.chunks), "a version is found whole"
    for entry in entries:
        ours, theirs = (
            store.get_embedded(entry.document.id),
            reference.get_embedded(entry.document.id),
        )
        assert ours is not None
        assert theirs is not None
        assert np.array_equal(ours[1], theirs[1]), f"vectors of {entry.document.id} were changed"


def _check_files(folder: Path) -> None:
    """Check that the index folder holds only files that its manifest names."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    named = {"manifest.json", "lock.db", *manifest["body"]["parts"]}
    left = {path.name for path in folder.iterdir()} - named
    assert not left, f"files were left behind: {sorted(left)}"
