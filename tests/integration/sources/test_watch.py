"""A watched folder is synchronised when its files change, and only then."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread

import pytest
from tests.rebuilds import HashEmbedder

from spanwise import KnowledgeBase
from spanwise.errors import FetchError, OptionError
from spanwise.types import IngestReport

SETTLE = 0.2


class Watch:
    """Watch in a thread, with its reports in a queue."""

    def __init__(self, base: KnowledgeBase, folder: Path, **options: object) -> None:
        self.stopped = Event()
        self._reports: Queue[IngestReport] = Queue()
        reports = base.watch(
            folder,
            settle_seconds=SETTLE,
            stopped=self.stopped,
            **options,  # type: ignore[arg-type]
        )
        self._thread = Thread(target=self._collect, args=(reports,))
        self._thread.start()

    def _collect(self, reports: Iterator[IngestReport]) -> None:
        for report in reports:
            self._reports.put(report)

    def next(self, seconds: float = 10) -> IngestReport:
        return self._reports.get(timeout=seconds)

    def is_silent(self, seconds: float) -> bool:
        try:
            self._reports.get(timeout=seconds)
        except Empty:
            return True
        return False

    def end(self) -> None:
        self.stopped.set()
        self._thread.join(10)
        assert not self._thread.is_alive()


def put(folder: Path, name: str, text: str) -> None:
    """Write the file in one step: no watch sees it half written, however slow the machine is."""
    written = folder.parent / f"new {name}"
    written.write_text(text)
    written.replace(folder / name)


@pytest.fixture(name="folder")
def make_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    put(folder, "a.md", "# A\n\nFirst text.")
    put(folder, "b.md", "# B\n\nSecond text.")
    return folder


@pytest.fixture(name="base")
def open_base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as base:
        yield base


@pytest.fixture(name="watch")
def run_watch(base: KnowledgeBase, folder: Path) -> Iterator[Watch]:
    watch = Watch(base, folder)
    assert watch.next().added == ("a.md", "b.md")
    yield watch
    watch.end()


def test_changes_are_processed_and_nothing_else(watch: Watch, folder: Path) -> None:
    """A new, a changed, a renamed and a deleted file; unchanged files are not read."""
    put(folder, "c.md", "# C\n\nThird text.")
    report = watch.next()
    assert (report.added, report.unchanged) == (("c.md",), ())
    put(folder, "a.md", "# A\n\nOther text.")
    report = watch.next()
    assert (report.replaced, report.unchanged) == (("a.md",), ())
    (folder / "b.md").rename(folder / "d.md")
    report = watch.next()
    assert (report.added, report.removed) == (("d.md",), ("b.md",))
    (folder / "d.md").unlink()
    assert watch.next().removed == ("d.md",)


def test_file_that_is_written_slowly_is_read_once(
    watch: Watch, folder: Path, base: KnowledgeBase
) -> None:
    """After its last change."""
    with (folder / "slow.md").open("w") as file:
        for number in range(8):
            file.write(f"Line {number}.\n\n")
            file.flush()
            time.sleep(SETTLE / 2)
    assert watch.next().added == ("slow.md",)
    assert "Line 7." in base.get("slow.md").text
    assert watch.is_silent(3 * SETTLE)


def test_file_that_fails_does_not_end_the_watch(watch: Watch, folder: Path) -> None:
    """It is reported once, and tried again when it changes."""
    (folder / "bad.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    assert len(watch.next().failed) == 1
    assert watch.is_silent(3 * SETTLE)
    put(folder, "bad.md", "Now it is text.")
    assert watch.next().added == ("bad.md",)


def test_emptied_folder_keeps_its_documents(
    watch: Watch, folder: Path, base: KnowledgeBase
) -> None:
    """The failure is reported once, and the watch goes on."""
    (folder / "a.md").unlink()
    assert watch.next().removed == ("a.md",)
    (folder / "b.md").unlink()
    report = watch.next()
    assert (report.removed, len(report.failed)) == ((), 1)
    assert len(base.list()) == 1
    assert watch.is_silent(3 * SETTLE)
    put(folder, "b.md", "# B\n\nNew text.")
    assert watch.next().replaced == ("b.md",)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot rename a watched folder")
def test_folder_that_goes_and_comes_back(watch: Watch, folder: Path, base: KnowledgeBase) -> None:
    """As when a disk is not mounted for a while."""
    folder.rename(folder.with_name("gone"))
    report = watch.next()
    assert (report.removed, len(report.failed)) == ((), 1)
    assert len(base.list()) == 2
    folder.with_name("gone").rename(folder)
    put(folder, "c.md", "# C\n\nThird text.")
    assert watch.next().added == ("c.md",)


def test_changed_sidecar_file_updates_the_documents(
    watch: Watch, folder: Path, base: KnowledgeBase
) -> None:
    """Nothing else has changed, and nothing is read again."""
    put(folder, "spanwise.metadata.csv", "path,team\na.md,hr\n")
    report = watch.next()
    assert (report.updated, report.replaced) == (("a.md",), ())
    assert base.record("a.md").metadata == {"team": "hr"}


def test_prefix_is_kept(base: KnowledgeBase, folder: Path) -> None:
    """New files get it too."""
    watch = Watch(base, folder, prefix="2023")
    assert watch.next().added == ("2023/a.md", "2023/b.md")
    put(folder, "c.md", "# C\n\nThird text.")
    assert watch.next().added == ("2023/c.md",)
    watch.end()


def test_watch_uses_the_settings_of_a_rebuild(
    watch: Watch, folder: Path, base: KnowledgeBase
) -> None:
    """A knowledge base without an embedder gets one while the folder is watched."""
    base.rebuild(embedder=HashEmbedder())
    put(folder, "c.md", "# C\n\nThird text.")
    report = watch.next()
    assert (report.added, report.failed, report.warnings) == (("c.md",), (), ())
    assert base.check().findings == ()


def test_missing_folder_is_an_error_at_once(base: KnowledgeBase, tmp_path: Path) -> None:
    """It is probably mistyped."""
    with pytest.raises(FetchError):
        next(base.watch(tmp_path / "missing"))


def test_watch_needs_its_extra(
    base: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names it, before anything is read."""
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(OptionError, match=r"spanwise\[watch\]"):
        base.watch(folder)
    assert base.list() == []
