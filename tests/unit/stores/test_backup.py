"""Copies of a knowledge base: of one moment, whole or not there, while others write."""

import errno
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from spanwise.errors import OptionError, StoreError, StoreFullError
from spanwise.stores import backup, new_folder
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.manifest import read_manifest
from spanwise.testing.store_entries import (
    SETTINGS,
    fill,
    fingerprint,
    make_corpus,
    make_entry,
    question,
)

QUERY = question("steady lease margin")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    made = open_embedded(tmp_path / "a.kb")
    made.ensure_settings(SETTINGS)
    fill(made, make_corpus())
    yield made
    made.close()


def left(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_copy_answers_as_the_knowledge_base(store: EmbeddedStore, tmp_path: Path) -> None:
    assert store._index.flush()
    store.put_document(make_entry("pending", ["lease of the steady margin"]))
    told: list[tuple[int, int]] = []
    store.backup(tmp_path / "b.kb", on_progress=lambda *bytes_: told.append(bytes_))
    assert left(tmp_path) == ["a.kb", "b.kb"]
    assert told[-1][0] == told[-1][1] == (tmp_path / "b.kb" / "truth.db").stat().st_size
    with closing(open_embedded(tmp_path / "b.kb", create=False)) as copy:
        assert fingerprint(copy, QUERY) == fingerprint(store, QUERY)
        report = copy.check()
        assert (report.findings, report.index_parts, report.pending_chunks) == ((), 1, 1)
        copy.put_document(make_entry("own", ["lease"]))
        assert store.get_record("own") is None


def test_a_knowledge_base_that_was_never_filled_can_be_copied(tmp_path: Path) -> None:
    with closing(open_embedded(tmp_path / "a.kb")) as store:
        store.backup(tmp_path / "b.kb")
    with closing(open_embedded(tmp_path / "b.kb", create=False)) as copy:
        assert copy.check().findings == ()


def test_a_read_only_store_can_be_copied(
    store: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store._pool, "writable", False)
    store.backup(tmp_path / "b.kb")
    assert left(tmp_path) == ["a.kb", "b.kb"]


def test_a_target_that_is_there_is_refused(store: EmbeddedStore, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "file", "link", "a.kb"):
        with pytest.raises(OptionError, match="already exists; name a new folder"):
            store.backup(tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_target_inside_of_the_knowledge_base_is_refused(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a.kb" / "index")
    (tmp_path / "a.kb" / "index").mkdir(exist_ok=True)
    for target in (tmp_path / "a.kb" / "b.kb", tmp_path / "link" / "b.kb"):
        with pytest.raises(OptionError, match=r"is inside of .*a\.kb itself"):
            store.backup(target)


def test_a_target_in_a_missing_folder_is_refused(store: EmbeddedStore, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="nowhere does not exist; create it"):
        store.backup(tmp_path / "nowhere" / "b.kb")


@pytest.mark.parametrize(
    ("module", "step"),
    [(backup, "_sync_file"), (backup, "_copy_index"), (new_folder, "sync_folder")],
)
def test_nothing_is_left_of_a_copy_that_fails(
    store: EmbeddedStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    step: str,
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "not for you")

    monkeypatch.setattr(module, step, fail)
    with pytest.raises(
        StoreError, match=r"b\.kb cannot be written.*not for you.*partial copy is removed"
    ):
        store.backup(tmp_path / "b.kb")
    assert left(tmp_path) == ["a.kb"]


def test_an_interrupted_copy_leaves_nothing(store: EmbeddedStore, tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.backup(tmp_path / "b.kb", on_progress=interrupt)
    assert left(tmp_path) == ["a.kb"]
    store.put_document(make_entry("after", ["lease"]))


def test_a_part_that_is_merged_away_meanwhile_is_left_out(
    store: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its documents are in the database of the copy, which makes it anew."""
    assert store._index.flush()
    (name,) = read_manifest(tmp_path / "a.kb" / "index").parts
    real = backup._copy_database

    def copy_database(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        store.put_document(make_entry("later", ["lease"]))
        store.compact()
        assert not (tmp_path / "a.kb" / "index" / name).exists()

    monkeypatch.setattr(backup, "_copy_database", copy_database)
    before = fingerprint(store, QUERY)
    store.backup(tmp_path / "b.kb")
    with closing(open_embedded(tmp_path / "b.kb", create=False)) as copy:
        assert copy.check().findings == ()
        assert fingerprint(copy, QUERY) == before


LIMITED = """
import resource, signal, sys
from pathlib import Path
from types import ModuleType
from spanwise.errors import StoreFullError
from spanwise.stores.embedded import open_embedded

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
store = open_embedded(path)
for size in (0, 20_000, int(sys.argv[2])):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        store.backup(path.with_name("b.kb"))
    except StoreFullError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of file size")
def test_a_full_disk_leaves_nothing(store: EmbeddedStore, tmp_path: Path) -> None:
    for number in range(40):
        store.put_document(make_entry(f"d{number}", [f"term{number}x{i} " for i in range(60)]))
    store.compact()
    size = (tmp_path / "a.kb" / "truth.db").stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "a.kb"), str(size - 4_096)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    told = done.stdout.splitlines()
    assert len(told) == 3
    for line in told:
        assert f"the backup {tmp_path / 'b.kb'} cannot be written" in line
        assert "free some space" in line
    assert left(tmp_path) == ["a.kb"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_disk_that_fills_with_the_index_is_told(
    store: EmbeddedStore, tmp_path: Path, code: int
) -> None:
    error = OSError(code, "no more")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backup, "_copy_index", lambda *_: (_ for _ in ()).throw(error))
        with pytest.raises(StoreFullError, match="is the disk full"):
            store.backup(tmp_path / "b.kb")
    assert left(tmp_path) == ["a.kb"]


WRITER = """
import itertools, sys
from pathlib import Path
from types import ModuleType
from spanwise.stores import embedded
from tests.crash.crash_child import crash_entry

embedded._FLUSH_ROWS = 300
store = embedded.open_embedded(Path(sys.argv[1]))
for version in itertools.count(1):
    name = f"steady/{version % 25}"
    store.put_document(crash_entry(name, version))
    if version % 7 == 0:
        store.delete_document(f"steady/{version % 11}")
    if version % 60 == 0:
        store.compact()
    print(version, flush=True)
"""


def test_a_writer_in_another_process_goes_on(store: EmbeddedStore, tmp_path: Path) -> None:
    """Every copy is sound and of one moment, whatever is written, merged and deleted meanwhile."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "a.kb")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    try:
        writer.stdout.readline()
        newest: list[int] = []
        for number in range(6):
            copied = tmp_path / f"copy{number}.kb"
            # Small steps, with time for the writer in between.
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(backup, "_STEP_PAGES", 20)
                store.backup(copied, on_progress=lambda *_: time.sleep(0.002))
            with closing(open_embedded(copied, create=False)) as copy:
                assert copy.check().findings == ()
                versions = [record.metadata.get("version") for record in copy.list_records()]
                newest.append(max(v for v in versions if isinstance(v, int)))
        assert newest[-1] > newest[0], "documents come in while copies are made"
        assert writer.poll() is None, "the writer goes on"
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    assert store.check().findings == ()
