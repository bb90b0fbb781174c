"""The files of a knowledge base: who may read them, and what a full disk or a kill leaves."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from spanwise.errors import StoreError, StoreFullError
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.testing.store_entries import SETTINGS, make_entry

posix_only = pytest.mark.skipif(os.name != "posix", reason="needs the permissions of POSIX")


def made(path: Path) -> EmbeddedStore:
    store = open_embedded(path)
    store.ensure_settings(SETTINGS)
    store.put_document(make_entry("a", ["lease "]))
    return store


def modes(folder: Path) -> dict[str, int]:
    """Return the permissions of all files and folders, by name."""
    return {
        path.suffix or path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (folder, *folder.rglob("*"))
    }


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@posix_only
def test_files_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    with umask(0o022), closing(made(tmp_path / "a.kb")) as store:
        store.compact()
        store.put_document(make_entry("b", ["rent "]))
        store.backup(tmp_path / "b.kb")
        found = modes(tmp_path / "a.kb")
        copied = modes(tmp_path / "b.kb")
    assert {name for name in found if found[name] == 0o600} == {
        ".db", ".db-wal", ".db-shm", ".part", ".json"
    }  # fmt: skip
    assert {name for name in copied if copied[name] == 0o600} == {".db", ".part", ".json"}
    assert {found[".kb"], found["index"], copied[".kb"], copied["index"]} == {0o755}


@posix_only
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_what_is_shared_stays_shared(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        made(tmp_path / "a.kb").close()
        (tmp_path / "a.kb").chmod(0o755)
        (tmp_path / "a.kb" / "truth.db").chmod(0o644)
        shutil.rmtree(tmp_path / "a.kb" / "index")
        with closing(open_embedded(tmp_path / "a.kb")) as store:
            store.put_document(make_entry("b", ["rent "]))
            store.compact()
            found = modes(tmp_path / "a.kb")
            store.backup(tmp_path / "b.kb")
            assert modes(tmp_path / "b.kb")[".db"] == 0o600
    files = {".db", ".db-wal", ".db-shm", ".part", ".json"}
    assert {name: found[name] for name in files} == dict.fromkeys(files, 0o644)
    assert found["index"] == 0o755


@posix_only
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can write as another user"
)
def test_what_root_writes_belongs_to_the_owner(tmp_path: Path) -> None:
    made(tmp_path / "a.kb").close()
    shutil.rmtree(tmp_path / "a.kb" / "index")
    for path in (tmp_path / "a.kb").rglob("*"):
        os.chown(path, 65534, 65534)
    os.chown(tmp_path / "a.kb", 65534, 65534)
    with closing(open_embedded(tmp_path / "a.kb")) as store:
        store.put_document(make_entry("b", ["rent "]))
        store.compact()
        owners = {path.stat().st_uid for path in (tmp_path / "a.kb").rglob("*")}
    assert owners == {65534}


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file size")
def test_an_index_that_finds_no_room_is_a_full_disk(tmp_path: Path) -> None:
    import resource

    with closing(made(tmp_path / "a.kb")) as store:
        store.compact()
        (part,) = (tmp_path / "a.kb" / "index").glob("*.part")
        part.write_bytes(b"damaged" * 100)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with pytest.raises(StoreFullError):
                store.compact()
            with pytest.raises(StoreFullError):
                store.check(repair=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
        assert store.check(repair=True).sound
        assert [record.id for record in store.list_records()] == ["a"]


KILLED = """
import sys, time
from pathlib import Path
from spanwise.stores.embedded import open_embedded

def wait(*_):
    print("copying", flush=True)
    time.sleep(60)

open_embedded(Path(sys.argv[1])).backup(Path(sys.argv[2]), on_progress=wait)
"""


def test_what_a_killed_backup_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    with closing(made(tmp_path / "a.kb")) as store:
        words = [sys.executable, "-c", KILLED, str(tmp_path / "a.kb"), str(tmp_path / "b.kb")]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "copying\n"
            (running,) = tmp_path.glob("b.kb.*.tmp")
            store.backup(tmp_path / "b.kb")
            assert running.exists(), "it is in progress"
            (tmp_path / "c.kb.01234567.tmp").mkdir()
            process.kill()
        shutil.rmtree(tmp_path / "b.kb")
        store.backup(tmp_path / "b.kb")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["a.kb", "b.kb", "c.kb.01234567.tmp"]


@posix_only
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_knowledge_base_that_was_removed_while_it_is_open_takes_no_documents(
    tmp_path: Path, is_replaced: bool
) -> None:
    """Its files still exist for this process, and are lost when it ends."""
    path = tmp_path / "a.kb"
    with closing(made(path)) as store:
        path.rename(tmp_path / "moved.kb")
        if is_replaced:
            made(path).close()
        with pytest.raises(StoreError, match="open it again"):
            store.put_document(make_entry("b", ["lease "]))
        shutil.rmtree(path, ignore_errors=True)
        (tmp_path / "moved.kb").rename(path)
        store.put_document(make_entry("b", ["lease "]))
    with closing(open_embedded(path, create=False)) as store:
        assert [record.id for record in store.list_records()] == ["a", "b"]
