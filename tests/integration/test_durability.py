"""What is acknowledged is on the disk: a power failure at any moment leaves it."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.commands import command, environment, spanwise

from spanwise import KnowledgeBase
from spanwise.errors import OptionError, StoreError, StoreFullError
from spanwise.stores import disk as disk_functions
from spanwise.stores.disk import LogSync
from spanwise.stores.embedded import open_embedded
from spanwise.types import IngestProgress


class Disk:
    """Remembers the write-ahead log as it was forced to the disk: a power failure leaves that."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = b""
        self.forced = 0
        self._force = disk_functions.force_to_disk

    def force(self, descriptor: int) -> None:
        """Force a file to the disk."""
        self._force(descriptor)
        self.forced += 1
        self.log = (self.folder / "truth.db-wal").read_bytes()

    def after_power_failure(self, folder: Path) -> dict[str, str]:
        """Return the documents that a power failure now would leave, by id."""
        folder.mkdir()
        shutil.copyfile(self.folder / "truth.db", folder / "truth.db")
        (folder / "truth.db-wal").write_bytes(self.log)
        with closing(open_embedded(folder)) as store:
            documents = [store.get_document(record.id) for record in store.list_records()]
        return {document.id: document.text for document in documents if document is not None}


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk(tmp_path / "a.kb")
    monkeypatch.setattr(disk_functions, "force_to_disk", disk.force)
    return disk


def write_texts(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:02}.txt").write_text(f"Toll {number} is paid at the lock.")


def test_a_text_is_on_the_disk_when_add_text_returns(tmp_path: Path, disk: Disk) -> None:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        for number in range(3):
            base.add_text(f"text {number}", document_id="a")
            base.add_text(f"text {number}", document_id=f"d{number}")
            left = disk.after_power_failure(tmp_path / f"{number}.kb")
            assert left["a"] == left[f"d{number}"] == f"text {number}"
        base.remove("a")
        assert "a" not in disk.after_power_failure(tmp_path / "gone.kb")


def test_documents_of_a_folder_are_on_the_disk_when_they_are_told(
    tmp_path: Path, disk: Disk
) -> None:
    write_texts(tmp_path / "in", 30)
    told: list[str] = []

    def hear(progress: IngestProgress) -> None:
        told.append(progress.document_id)
        if len(told) in (1, 15):
            left = disk.after_power_failure(tmp_path / f"{len(told)}.kb")
            assert set(told) <= set(left)

    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        report = base.add(tmp_path / "in", on_document=hear)
        assert sorted(told) == list(report.added)
        assert len(disk.after_power_failure(tmp_path / "all.kb")) == 30
        assert disk.forced < 15, "several documents share a call"
        (tmp_path / "in" / "07.txt").unlink()
        base.sync(tmp_path / "in")
        assert "07.txt" not in disk.after_power_failure(tmp_path / "synced.kb")


def test_what_went_in_before_an_error_is_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    write_texts(tmp_path / "in", 5)

    def hear(progress: IngestProgress) -> None:
        if progress.documents_done == 2:
            raise KeyboardInterrupt

    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        with pytest.raises(KeyboardInterrupt):
            base.add(tmp_path / "in", on_document=hear)
        stored = {record.id for record in base.list()}
        assert set(disk.after_power_failure(tmp_path / "b.kb")) == stored


def test_fast_leaves_it_to_the_operating_system(tmp_path: Path, disk: Disk) -> None:
    write_texts(tmp_path / "in", 3)
    with KnowledgeBase(tmp_path / "a.kb", embedder=None, durability="fast") as base:
        base.add_text("text", document_id="a")
        base.add(tmp_path / "in")
        assert disk.forced == 0
    with KnowledgeBase(tmp_path / "a.kb") as base:
        assert len(base.list()) == 4


def test_another_durability_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="durability"):
        KnowledgeBase(tmp_path / "a.kb", durability="slow")  # type: ignore[arg-type]
    assert not (tmp_path / "a.kb").exists()


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EIO, StoreError), (errno.ENOSPC, StoreFullError)]
)
def test_a_disk_that_fails_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[StoreError]
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        monkeypatch.setattr(disk_functions, "force_to_disk", fail)
        with pytest.raises(StoreError) as caught:
            base.add_text("text", document_id="a")
        assert type(caught.value) is kind
        monkeypatch.undo()
        base.add_text("text", document_id="b")


def test_threads_share_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def force(descriptor: int) -> None:
        time.sleep(0.05)
        calls.append(descriptor)

    monkeypatch.setattr(disk_functions, "force_to_disk", force)
    (tmp_path / "truth.db-wal").touch()
    log = LogSync(tmp_path / "truth.db")
    threads = [threading.Thread(target=log.sync) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(calls) <= 3


TRACED = """
import os, sys
from pathlib import Path
from spanwise import KnowledgeBase

def tell(text):
    os.write(1, f"told {text};".encode())

with KnowledgeBase(sys.argv[1], embedder=None) as base:
    tell("open")
    for number in range(3):
        base.add_text(f"text {number}", document_id=f"d{number}")
        tell("text")
    base.add(sys.argv[2], on_document=lambda progress: tell(progress.outcome))
    tell("report")
"""


def can_trace() -> bool:
    """Return whether calls of the system can be traced here."""
    words = ["strace", "-f", "--seccomp-bpf", "-e", "trace=fsync", "true"]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not can_trace(), reason="needs strace")
def test_the_system_is_asked_to_write_the_log_before_it_is_told(tmp_path: Path) -> None:
    """Between the last write to the log and each acknowledgement stands an fsync of the log."""
    write_texts(tmp_path / "in", 3)
    trace = tmp_path / "trace"
    traced = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-y",
        "-o",
        str(trace),
        "-e",
        "trace=pwrite64,write,fsync,fdatasync",
    ]
    words = [sys.executable, "-c", TRACED, str(tmp_path / "a.kb"), str(tmp_path / "in")]
    done = subprocess.run([*traced, *words], capture_output=True, text=True, check=True)
    assert done.stdout.count("told added") == 3
    clean, forced = True, []
    for line in trace.read_text().splitlines():
        if re.search(r"p?write(64)?\(\d+<[^>]*truth\.db-wal>", line):
            clean = False
        elif re.search(r"f(data)?sync\(\d+<[^>]*truth\.db-wal>", line):
            clean = True
        elif '"told ' in line:
            forced.append(clean)
    assert forced == [True] * 8


@pytest.mark.skipif(not can_trace(), reason="needs strace")
def test_a_disk_that_fails_is_not_a_full_disk(tmp_path: Path) -> None:
    write_texts(tmp_path / "in", 3)
    failing = ["-e", "trace=pwrite64", "-e", "inject=pwrite64:error=EIO:when=30+"]
    done = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-o", os.devnull, *failing, *command("add", "in")],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "I/O error" in done.stderr
    assert "full" not in done.stderr


def test_the_command_line_takes_a_durability(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A text about granite.")
    assert spanwise("add", "a.txt", "--durability", "fast", folder=tmp_path).returncode == 0
    wrong = {"SPANWISE_ADD_DURABILITY": "slow"}
    done = spanwise("add", "a.txt", folder=tmp_path, extra=wrong)
    assert done.returncode == 2
    assert "fast" in done.stderr
