"""The embedded store: opening, refusing, full disks, several threads and processes."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from spanwise.core.ranking.vectors import unit_rows
from spanwise.errors import FormatError, OptionError, StoreBusyError, StoreError, StoreFullError
from spanwise.stores import connections
from spanwise.stores import database as truth
from spanwise.stores.connections import ConnectionPool
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.row_checksums import seal_document
from spanwise.stores.schema import FORMAT_VERSION
from spanwise.testing.store_entries import SETTINGS, make_entry, make_output
from spanwise.testing.store_records import make_turn


def made(path: Path) -> EmbeddedStore:
    store = open_embedded(path)
    store.ensure_settings(SETTINGS)
    return store


def test_a_missing_knowledge_base_is_made_only_when_asked(tmp_path: Path) -> None:
    expected = r"there is no knowledge base at .*a\.kb; .*`spanwise add`.*create=True"
    with pytest.raises(FormatError, match=expected):
        open_embedded(tmp_path / "a.kb", create=False)
    assert not (tmp_path / "a.kb").exists()
    open_embedded(tmp_path / "deep" / "a.kb").close()
    open_embedded(tmp_path / "deep" / "a.kb", create=False).close()


def test_an_empty_folder_becomes_one_and_another_folder_does_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    open_embedded(tmp_path / "empty").close()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(FormatError, match=r"letter\.txt"):
        open_embedded(tmp_path / "other")
    with pytest.raises(FormatError, match="is a file"):
        open_embedded(tmp_path / "other" / "letter.txt")


def test_a_newer_format_is_refused_by_both_versions(tmp_path: Path) -> None:
    made(tmp_path / "a.kb").close()
    with sqlite3.connect(tmp_path / "a.kb" / "truth.db") as connection:
        connection.execute(f"pragma user_version = {FORMAT_VERSION + 1}")
    connection.close()
    expected = rf"format version {FORMAT_VERSION + 1}, .* up to {FORMAT_VERSION}; update spanwise"
    with pytest.raises(FormatError, match=expected):
        open_embedded(tmp_path / "a.kb")


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.kb").mkdir()
    with sqlite3.connect(tmp_path / "a.kb" / "truth.db") as connection:
        connection.execute("create table mine (x)")
    connection.close()
    with pytest.raises(FormatError, match="another program"):
        open_embedded(tmp_path / "a.kb")
    (tmp_path / "a.kb" / "truth.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(FormatError, match="is not a knowledge base"):
        open_embedded(tmp_path / "a.kb")


def test_a_creation_that_was_killed_is_finished(tmp_path: Path) -> None:
    (tmp_path / "a.kb").mkdir()
    (tmp_path / "a.kb" / "truth.db").touch()
    store = made(tmp_path / "a.kb")
    assert store.put_document(make_entry("a", ["text"])) == "added"
    store.close()


def test_an_emptied_database_beside_its_index_is_damage(tmp_path: Path) -> None:
    store = made(tmp_path / "a.kb")
    store.put_document(make_entry("a", ["text"]))
    store.compact()
    store.close()
    database = tmp_path / "a.kb" / "truth.db"
    database.write_bytes(b"")
    for create in (True, False):
        with pytest.raises(FormatError, match=r"truth\.db is empty, .* restore it .* or delete"):
            open_embedded(tmp_path / "a.kb", create=create)
    assert database.read_bytes() == b""


def test_an_emptied_database_beside_its_log_is_damage(tmp_path: Path) -> None:
    """SQLite would delete the log, and with it what a copy by hand left out."""
    store = made(tmp_path / "a.kb")
    store.put_document(make_entry("a", ["text"]))
    log = tmp_path / "a.kb" / "truth.db-wal"
    kept = log.read_bytes()
    store.close()
    shutil.rmtree(tmp_path / "a.kb" / "index")
    (tmp_path / "a.kb" / "truth.db").write_bytes(b"")
    log.write_bytes(kept)
    with pytest.raises(FormatError, match=r"truth\.db is empty, but .*truth\.db-wal is not"):
        open_embedded(tmp_path / "a.kb")
    assert log.read_bytes() == kept


def test_a_folder_in_place_of_the_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.kb" / "truth.db").mkdir(parents=True)
    for create in (True, False):
        with pytest.raises(FormatError, match=r"truth\.db is not a file.*name another folder"):
            open_embedded(tmp_path / "a.kb", create=create)


def test_an_older_version_that_cannot_be_migrated_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "a.kb").close()
    for version in (FORMAT_VERSION - 1, FORMAT_VERSION + 1):
        with closing(sqlite3.connect(tmp_path / "a.kb" / "truth.db")) as connection:
            connection.execute(f"pragma user_version = {version}")
        pool = ConnectionPool(tmp_path / "a.kb" / "truth.db", writable=False)
        with pytest.raises(FormatError, match=f"format version {version}"):
            pool.prepare()
        pool.close()


def test_an_empty_database_beside_an_empty_index_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "a.kb" / "index").mkdir(parents=True)
    (tmp_path / "a.kb" / "truth.db").touch()
    store = made(tmp_path / "a.kb")
    assert store.put_document(make_entry("a", ["text"])) == "added"
    store.close()


def test_two_threads_may_make_the_same_one(tmp_path: Path) -> None:
    opened: list[EmbeddedStore] = []
    threads = [
        threading.Thread(target=lambda: opened.append(made(tmp_path / "a.kb"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.ensure_settings({}) for store in opened] == [SETTINGS] * 4
    for store in opened:
        store.close()


def test_a_full_disk_keeps_nothing_of_the_document(tmp_path: Path) -> None:
    store = made(tmp_path / "a.kb")
    store.put_document(make_entry("a", ["first "]))
    with store._pool.lend() as connection:
        pages = connection.execute("pragma page_count").fetchone()[0]
        connection.execute(f"pragma max_page_count = {pages + 3}")
    for entry in (make_entry("b", ["x" * 50_000]), make_entry("a", ["y" * 50_000])):
        with pytest.raises(
            StoreFullError, match=r"nothing of the current document .* free some space"
        ):
            store.put_document(entry)
    assert [record.id for record in store.list_records()] == ["a"]
    assert [chunk.text for chunk in store.get_chunks("a")] == ["first "]
    store.close()


LIMITED = """
import resource, signal, sys
from pathlib import Path
from spanwise.errors import StoreFullError
from spanwise.stores.row_checksums import seal_document
from spanwise.stores.embedded import open_embedded
from spanwise.testing.store_entries import SETTINGS, make_entry

def limited(size, work):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        work()
        said = "nothing went wrong"
    except StoreFullError as error:
        said = str(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    print(said)

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
limited(0, lambda: open_embedded(path))
limited(20_000, lambda: open_embedded(path))
store = open_embedded(path)
store.ensure_settings(SETTINGS)
store.put_document(make_entry("a", ["first"]))
limited(50_000, lambda: store.put_document(make_entry("b", ["x" * 90_000])))
kept = [record.id for record in store.list_records()]
print(kept, store.put_document(make_entry("b", ["x" * 90_000])))
store.close()
limited(0, lambda: open_embedded(path).get_record("a"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of file size")
def test_a_limit_of_file_size_is_told_wherever_it_strikes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "a.kb")],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    *told, kept, again = done.stdout.splitlines()
    assert kept == "['a'] added"
    for line in (*told, again):
        assert str(tmp_path / "a.kb" / "truth.db") in line
        assert "file size limited" in line
        assert "free some space" in line
    assert len(told) == 3


def test_a_writer_that_keeps_the_lock_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_TIMEOUT_SECONDS", 0.1)
    store = made(tmp_path / "a.kb")
    with sqlite3.connect(tmp_path / "a.kb" / "truth.db", isolation_level=None) as other:
        other.execute("begin immediate")
        with pytest.raises(StoreBusyError, match="another process"):
            store.put_document(make_entry("a", ["text"]))
        assert store.get_record("a") is None
    other.close()
    assert store.put_document(make_entry("a", ["text"])) == "added"
    store.close()


def test_text_that_cannot_be_encoded_is_refused(tmp_path: Path) -> None:
    store = made(tmp_path / "a.kb")
    with pytest.raises(OptionError, match="surrogate"):
        store.put_document(make_entry("a", ["text"], title="half \ud800"))
    assert [record.id for record in store.list_records()] == []
    store.close()


@pytest.mark.parametrize("value", ["", "many", "-1"])
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, value: str) -> None:
    store = open_embedded(tmp_path / "a.kb")
    store.ensure_settings({**SETTINGS, "dimension": value})
    with pytest.raises(StoreError, match="dimension"):
        store.put_document(make_entry("a", ["text"]))
    store.close()


def test_ids_never_become_names_of_files(tmp_path: Path) -> None:
    store = made(tmp_path / "a.kb")
    for document_id in ("../escape", "/etc/passwd", "nul\0char", "a" * 5_000, "'; drop table x"):
        store.put_document(make_entry(document_id, ["text"]))
        record = store.get_record(document_id)
        assert record is not None
        assert record.id == document_id
    store.close()
    assert [file.name for file in tmp_path.iterdir()] == ["a.kb"]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 8])
def test_vectors_come_back_whole_however_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(truth, "_VECTOR_ROWS", rows)
    store = made(tmp_path / "a.kb")
    entry = make_entry("a", [f"lease {number} margin " for number in range(7)])
    store.put_document(entry)
    embedded = store.get_embedded("a")
    assert embedded is not None
    assert entry.vectors is not None
    assert embedded[1].tolist() == unit_rows(entry.vectors).astype(np.float32).tolist()
    store.close()


def test_many_ids_come_in_order(tmp_path: Path) -> None:
    store = made(tmp_path / "a.kb")
    with store._writing() as connection:
        connection.executemany(
            "insert into document (id, title, summary, title_words, given_title, metadata,"
            " media_type, source, source_root, content_hash, warnings, chars, chunks, tokens,"
            " pages) values (?, '', '', '', '', '{}', '', '', '', '', '[]', 0, 0, 0, 0)",
            [(f"{number:05d}",) for number in range(2_500)],
        )
        for number in range(1, 2_501):
            seal_document(connection, number)
    assert [record.id for record in store.list_records()] == [
        f"{number:05d}" for number in range(2_500)
    ]
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_must_open_again(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from spanwise.errors import StoreError\n"
        "from spanwise.stores.embedded import open_embedded\n"
        "store = open_embedded(Path(sys.argv[1]))\n"
        "child = os.fork()\n"
        "if child:\n"
        "    os.waitpid(child, 0)\n"
        "else:\n"
        "    try:\n"
        "        store.get_record('a')\n"
        "    except StoreError as error:\n"
        "        print(error, flush=True)\n"
        "    os._exit(0)\n"
        "print(store.get_record('a'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "a.kb")],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "open it after a fork" in done.stdout
    assert done.stdout.endswith("None\n")


READ_ONLY = """
import os, sys
from pathlib import Path
from spanwise.core.ranking.scan import ScanQuery
from spanwise.errors import StoreError
from spanwise.stores.row_checksums import seal_document
from spanwise.stores.embedded import open_embedded
from spanwise.testing.store_entries import make_entry, make_output, text_vector
from spanwise.testing.store_records import make_turn
from spanwise.stores.dot_products import _simsimd
_simsimd()
if os.geteuid() == 0:  # root may write everywhere
    os.setgid(65534)
    os.setuid(65534)
store = open_embedded(Path(sys.argv[1]))
with store.snapshot() as snapshot:
    print(snapshot.scan(ScanQuery(terms=("leas",), vector=text_vector("lease"))).term_chunks)
print(dict(store.ensure_settings({})) != {}, [record.id for record in store.list_records()])
for write in (
    lambda: store.put_document(make_entry("b", ["text"])),
    lambda: store.delete_document("a"),
    lambda: store.ensure_settings({"new": "1"}),
    store.compact,
    lambda: store.append_turn("c", make_turn("Who?")),
    lambda: store.delete_thread("a"),
    store.forget_outputs,
):
    try:
        write()
    except StoreError as error:
        print("refused" if "cannot be written" in str(error) else error)
print(store.get_thread("a").info.turns, store.get_outputs(["kept"]))
for _ in range(2):
    store.put_outputs([make_output("new", "lost")])
print(store.get_outputs(["new"]))
store.close()
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that every user can reach: pytest's own folders belong to one user."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="needs the permissions of POSIX")
def test_a_folder_that_cannot_be_written_can_be_searched(open_folder: Path) -> None:
    store = made(open_folder / "a.kb")
    store.put_document(make_entry("a", ["lease "]))
    store.append_turn("a", make_turn("Who?"))
    store.put_outputs([make_output("kept", "output")])
    store.close()
    for folder in (open_folder / "a.kb" / "index", open_folder / "a.kb"):
        for file in folder.iterdir():
            if file.is_file():
                file.chmod(0o444)
        folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(open_folder / "a.kb")],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stderr.count("\n") == 1, "said once"
    assert "model outputs are not cached" in done.stderr
    expected = ["[1]", "True ['a']", *["refused"] * 7, "1 {'kept': 'output'}", "{}"]
    assert done.stdout.splitlines() == expected


def test_closing_twice_is_one_closing(tmp_path: Path) -> None:
    store = made(tmp_path / "a.kb")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.get_record("a")
