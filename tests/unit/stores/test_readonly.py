"""Readers that may not write the folder: what they see while its owner goes on."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.permissions import ordinary_user

from spanwise import KnowledgeBase
from spanwise.errors import StoreChangedError, StoreError
from spanwise.stores.connections import FileState
from spanwise.stores.embedded import open_embedded
from spanwise.stores.port import Store
from spanwise.stores.readonly import open_folder
from spanwise.testing.store_entries import SETTINGS, make_entry

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs the permissions of POSIX")


@contextmanager
def as_reader(folder: Path) -> Iterator[None]:
    """Act as one who may read the folder and not write it."""
    mode = folder.stat().st_mode
    folder.chmod(0o555)
    try:
        with ordinary_user(folder):
            yield
    finally:
        folder.chmod(mode)


@contextmanager
def as_owner(folder: Path) -> Iterator[None]:
    """Act as the owner again."""
    user = os.geteuid()
    if user:
        os.seteuid(os.getuid())
    folder.chmod(0o755)
    try:
        yield
    finally:
        folder.chmod(0o555)
        os.seteuid(user)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a knowledge base with one document, closed, that all may read."""
    write(tmp_path / "a.kb", "first ")
    for path in tmp_path.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return tmp_path / "a.kb"


def write(folder: Path, text: str) -> None:
    with closing(open_embedded(folder)) as store:
        store.ensure_settings(SETTINGS)
        store.put_document(make_entry("a", [text]), replace=True)


def read(store: Store) -> str:
    found = store.get_document("a")
    return "" if found is None else found.text


def write_in_a_snapshot(
    store: Store, folder: Path, text: str, *, error: Exception | None = None
) -> None:
    """Let the owner write while a snapshot is open; raise an error in it."""
    with store.snapshot() as snapshot:
        snapshot.term_counts(["first"])
        with as_owner(folder):
            write(folder, text)
        if error is not None:
            raise error


def test_a_reader_sees_what_is_written_later(folder: Path) -> None:
    with as_reader(folder), closing(open_folder(folder)) as store:
        assert read(store) == "first "
        for text in ("second ", "third "):
            with as_owner(folder):
                write(folder, text)
            assert read(store) == text
        with as_owner(folder):
            owner = open_embedded(folder)
            owner.put_document(make_entry("a", ["open "]), replace=True)
        assert read(store) == "open "
        with as_owner(folder):
            owner.compact()
            owner.put_document(make_entry("b", ["more "]))
            owner.close()
        assert [record.id for record in store.list_records()] == ["a", "b"]
        with as_owner(folder):
            write(folder, "closed ")
        assert read(store) == "closed "
        assert [record.id for record in store.list_records()] == ["a", "b"]


def test_what_was_read_while_it_changed_does_not_count(folder: Path) -> None:
    with as_reader(folder), closing(open_folder(folder)) as store:
        with pytest.raises(StoreChangedError):
            write_in_a_snapshot(store, folder, "second ")
        with pytest.raises(StoreChangedError):
            write_in_a_snapshot(store, folder, "third ", error=IndexError("of torn pages"))
        assert read(store) == "third "


def test_an_owner_who_only_opens_disturbs_nobody(folder: Path) -> None:
    with as_reader(folder):
        store = open_folder(folder)
        with store.snapshot(), as_owner(folder):
            open_embedded(folder).close()
        store.close()


class Disturbance:
    """Lets the owner write once, in the middle of a search."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[str] = []

    def on_step(self, name: str, **_: object) -> None:
        self.steps.append(name)
        if len(self.steps) == 1:
            with as_owner(self.folder), KnowledgeBase(self.folder) as base:
                base.add_text("Granite is paid twice.", document_id="a", replace=True)

    def on_call(self, *_: object, **__: object) -> None:
        """Models are not called."""


def test_a_search_that_is_disturbed_is_repeated(tmp_path: Path) -> None:
    folder = tmp_path / "a.kb"
    with KnowledgeBase(folder, embedder=None) as base:
        base.add_text("Granite is paid once.", document_id="a")
    for path in tmp_path.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    listener = Disturbance(folder)
    with as_reader(folder), KnowledgeBase(folder, listener=listener) as base:
        found = base.search("Who pays granite?")
    assert [segment.text for segment in found.segments] == ["Granite is paid twice."]
    assert len(listener.steps) > len(set(listener.steps))


def test_another_file_in_its_place_is_read(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "b.kb", "restored ")
    (tmp_path / "b.kb" / "truth.db").chmod(0o644)
    owner = open_embedded(folder)
    with as_reader(folder), closing(open_folder(folder)) as store:
        assert read(store) == "first "
        with as_owner(folder):
            owner.close()
            for ending in ("-wal", "-shm"):
                (folder / f"truth.db{ending}").unlink(missing_ok=True)
            (tmp_path / "b.kb" / "truth.db").replace(folder / "truth.db")
        assert read(store) == "restored "


def test_a_log_that_cannot_be_read_is_an_error_that_says_so(folder: Path, tmp_path: Path) -> None:
    with closing(open_embedded(folder)) as store:
        store.put_document(make_entry("b", ["logged "]))
        shutil.copytree(folder, tmp_path / "b.kb")
    (tmp_path / "b.kb" / "truth.db-shm").unlink()
    for path in (tmp_path / "b.kb").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with as_reader(tmp_path / "b.kb"), pytest.raises(StoreError, match=r"truth\.db-shm is missing"):
        open_folder(tmp_path / "b.kb")


def test_a_journal_that_a_crash_left_is_never_passed_over(tmp_path: Path) -> None:
    """Without a write-ahead log, pages of the database may be half-written."""
    folder = tmp_path / "a.kb"
    write(folder, "first ")
    with sqlite3.connect(folder / "truth.db", isolation_level=None) as owner:
        owner.execute("pragma journal_mode = delete")
        owner.execute("pragma cache_size = 1")
        owner.execute("begin immediate")
        owner.execute("update chunk set text = 'torn'")
        owner.execute("create table filler (data blob)")
        owner.execute("insert into filler values (randomblob(500000))")
        shutil.copytree(folder, tmp_path / "b.kb")
        owner.execute("rollback")
    owner.close()
    assert (tmp_path / "b.kb" / "truth.db-journal").stat().st_size
    for path in (tmp_path / "b.kb").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with as_reader(tmp_path / "b.kb"), pytest.raises(StoreError):
        open_folder(tmp_path / "b.kb")


def test_a_state_is_trusted_only_when_every_write_would_change_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a")
    state = FileState.settled(path)
    path.write_bytes(b"b")
    assert FileState.of(path) != state
    assert FileState.settled(tmp_path / "missing") is None


def test_a_closed_reader_raises(folder: Path) -> None:
    with as_reader(folder):
        store = open_folder(folder)
        store.close()
        with as_owner(folder):
            write(folder, "second ")
        with pytest.raises(StoreError, match="closed"):
            store.get_document("a")
