"""What lies in archives, mails, mailboxes, streams and object storage is taken in, and kept."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pytest
from tests.archives import build_mail, build_mailbox, build_tar, encrypt_members
from tests.documents import build_docx, build_zip, paragraph
from tests.image_files import png_of_size
from tests.integration.commands import (
    command,
    environment,
    spanwise,
    spanwise_process,
)

from spanwise import KnowledgeBase
from spanwise.errors import OptionError
from spanwise.options import FetchOptions, ParseOptions
from spanwise.types import IngestProgress

PNG = png_of_size(32, 32)
MAIL = build_mail(
    "See the report.", attachments={"report.md": b"# Report\n\nRail.", "x.png": PNG}, Subject="S"
)


@pytest.fixture(name="base")
def open_base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as base:
        yield base


@pytest.fixture(name="folder")
def fill_folder(tmp_path: Path) -> Path:
    inner = build_zip({"deep/x.txt": b"Ships.", "p.png": PNG})
    return write(
        tmp_path / "in",
        {
            "a.zip": build_zip(
                {
                    "one.txt": b"Apples.",
                    "b/two.docx": build_docx(paragraph("Pears.")),
                    "inner.zip": inner,
                    "img.png": PNG,
                    ".DS_Store": b"x",
                    "__MACOSX/one.txt": b"x",
                }
            ),
            "t.tgz": build_tar({"a.md": b"# A\n\nTar."}, mode="w:gz"),
            "mail.eml": MAIL,
            "box.mbox": build_mailbox([MAIL, build_mail("Second.", Subject="T")]),
            "plain.txt": b"Plain.",
        },
    )


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def ids(base: KnowledgeBase) -> list[str]:
    return sorted(record.id for record in base.list())


ALL = [
    "a.zip!/b/two.docx",
    "a.zip!/inner.zip!/deep/x.txt",
    "a.zip!/one.txt",
    "box.mbox!/1.eml",
    "box.mbox!/1.eml!/report.md",
    "box.mbox!/2.eml",
    "mail.eml",
    "mail.eml!/report.md",
    "plain.txt",
    "t.tgz!/a.md",
]


def test_members_are_documents_of_their_own(base: KnowledgeBase, folder: Path) -> None:
    """Under the id of their container, with its root; pictures are said once, not as failures."""
    report = base.add(folder)
    assert (sorted(report.added), report.failed) == (ALL, ())
    assert base.get("a.zip!/one.txt").text == "Apples."
    assert {record.source_root for record in base.list()} == {str(folder.resolve())}
    (inner,) = [one for one in base.list() if one.id == "a.zip!/inner.zip!/deep/x.txt"]
    assert inner.source == f"{folder}/a.zip!/inner.zip!/deep/x.txt"
    (said,) = [warning for warning in report.warnings if "PNG image" in warning]
    assert said.startswith(f"{folder}/a.zip!/inner.zip!/p.png: left out: it is a PNG image")
    assert said.endswith("(and 3 more in containers)")


def test_what_is_unchanged_is_left_alone_and_foreseen(base: KnowledgeBase, folder: Path) -> None:
    foreseen = base.sync(folder, dry_run=True)
    assert ids(base) == []
    assert sorted(foreseen.added) == sorted(base.sync(folder).added) == ALL
    for report in (base.sync(folder, dry_run=True), base.sync(folder), base.add(folder)):
        assert sorted(report.unchanged) == ALL
        assert (report.added, report.replaced, report.removed, report.failed) == ((), (), (), ())


def test_a_sync_follows_what_is_in_containers(base: KnowledgeBase, folder: Path) -> None:
    base.sync(folder)
    write(folder, {"a.zip": build_zip({"one.txt": b"Apples, again.", "new.txt": b"New."})})
    write(folder, {"mail.eml": build_mail("See nothing.", Subject="S")})
    (folder / "t.tgz").unlink()
    gone = [
        "a.zip!/b/two.docx",
        "a.zip!/inner.zip!/deep/x.txt",
        "mail.eml!/report.md",
        "t.tgz!/a.md",
    ]
    for dry_run in (True, False):
        report = base.sync(folder, dry_run=dry_run)
        assert sorted(report.removed) == gone
        assert sorted(report.replaced) == ["a.zip!/one.txt", "mail.eml"]
        assert report.added == ("a.zip!/new.txt",)
    assert ids(base) == sorted({*ALL, "a.zip!/new.txt"} - set(gone))


def test_a_file_that_becomes_a_container_and_back(base: KnowledgeBase, tmp_path: Path) -> None:
    """What it was before is removed."""
    folder = write(tmp_path / "in", {"a": b"Text."})
    for data, expected in (
        (b"Text.", ["a"]),
        (build_zip({"b.txt": b"In."}), ["a!/b.txt"]),
        (b"Text.", ["a"]),
    ):
        write(folder, {"a": data})
        base.sync(folder)
        assert ids(base) == expected


def test_an_add_removes_nothing(base: KnowledgeBase, folder: Path) -> None:
    base.add(folder)
    write(folder, {"a.zip": build_zip({"new.txt": b"New."})})
    assert base.add(folder).added == ("a.zip!/new.txt",)
    assert ids(base) == sorted([*ALL, "a.zip!/new.txt"])


def test_what_cannot_be_read_keeps_its_documents(base: KnowledgeBase, folder: Path) -> None:
    """A damaged archive, a damaged archive in one, and a member with a password."""
    base.sync(folder)
    write(folder, {"t.tgz": b"\x1f\x8b\x08 no archive"})
    inner = b"PK\x03\x04 no archive"
    one = encrypt_members(build_zip({"one.txt": b"Apples."}))
    write(folder, {"a.zip": build_zip({"inner.zip": inner})})
    report = base.sync(folder)
    assert [failure.code for failure in report.failed] == ["corrupt", "corrupt"]
    assert sorted(report.removed) == ["a.zip!/b/two.docx", "a.zip!/one.txt"]
    assert "a.zip!/inner.zip!/deep/x.txt" in ids(base)
    assert "t.tgz!/a.md" in ids(base)
    write(folder, {"a.zip": build_zip({"one.txt": b"Apples."})})
    base.sync(folder)
    write(folder, {"a.zip": one})
    report = base.sync(folder)
    assert [failure.code for failure in report.failed if "one" in failure.source] == ["encrypted"]
    assert report.removed == ()
    assert "a.zip!/one.txt" in ids(base)


def test_patterns_reach_into_containers(base: KnowledgeBase, folder: Path) -> None:
    """A container is like a folder; `exclude` closes it; a named one is the root of patterns."""
    assert sorted(base.sync(folder, include=["*.md"]).added) == [
        "box.mbox!/1.eml!/report.md",
        "mail.eml!/report.md",
        "t.tgz!/a.md",
    ]
    report = base.sync(folder, include=["*.md", "a.zip"], exclude=["mail.eml", "b/"])
    assert ids(base) == [
        "a.zip!/inner.zip!/deep/x.txt",
        "a.zip!/one.txt",
        "box.mbox!/1.eml!/report.md",
        "t.tgz!/a.md",
    ]
    assert report.removed == ("mail.eml!/report.md",)
    with KnowledgeBase(":memory:", embedder=None) as other:
        other.add(folder / "a.zip", include=["b/*.docx", "/inner.zip/deep"])
        assert ids(other) == ["a.zip!/b/two.docx", "a.zip!/inner.zip!/deep/x.txt"]


def test_a_pattern_with_a_slip_removes_nothing(base: KnowledgeBase, tmp_path: Path) -> None:
    """Where all documents are in archives, too."""
    folder = write(tmp_path / "in", {"a.zip": build_zip({"b.txt": b"In.", "c.txt": b"In."})})
    base.sync(folder)
    for dry_run in (True, False):
        with pytest.raises(OptionError):
            base.sync(folder, include=["*.tyt"], dry_run=dry_run)
    assert ids(base) == ["a.zip!/b.txt", "a.zip!/c.txt"]
    report = base.sync(folder, include=["*.tyt"], allow_empty=True)
    assert report.removed == ("a.zip!/b.txt", "a.zip!/c.txt")


def test_archives_for_ever_end(base: KnowledgeBase, tmp_path: Path) -> None:
    """At a depth, and at limits of all together; what was reached is there."""
    data = build_zip({"deep.txt": b"Too deep."})
    for level in range(6):
        data = build_zip({"a.zip": data, f"{level}.txt": b"Level."})
    folder = write(tmp_path / "in", {"a.zip": data})
    report = base.add(folder)
    assert [one.rpartition("/")[2] for one in report.added] == ["2.txt", "3.txt", "4.txt", "5.txt"]
    assert any("max_nesting=4" in warning for warning in report.warnings)
    wide = build_zip({f"{name}.zip": build_zip({"x.txt": b"12345"}) for name in range(5)})
    write(tmp_path / "wide", {"w.zip": wide})
    with KnowledgeBase(":memory:", embedder=None, parse=ParseOptions(max_members=8)) as limited:
        report = limited.add(tmp_path / "wide")
        assert len(report.added) == 3
        assert any("max_members" in said for said in report.warnings)


def test_an_id_that_a_folder_has_too_is_a_conflict(base: KnowledgeBase, tmp_path: Path) -> None:
    """The member and the file would replace each other for ever."""
    folder = write(
        tmp_path / "in", {"a.zip": build_zip({"x.txt": b"Member."}), "a.zip!/x.txt": b"File."}
    )
    first, second = base.sync(folder), base.sync(folder)
    assert [failure.code for failure in (*first.failed, *second.failed)] == ["conflict"] * 2
    assert (len(first.added), second.unchanged, second.replaced) == (1, ("a.zip!/x.txt",), ())


def test_progress_counts_members(base: KnowledgeBase, folder: Path) -> None:
    """Of documents and of bytes, up to the totals, which grow."""
    told: list[IngestProgress] = []
    base.add(folder, on_document=told.append)
    assert [one.documents_done for one in told] == list(range(1, len(told) + 1))
    assert told[-1].documents_done == told[-1].documents_total
    assert all(one.bytes_done <= one.bytes_total for one in told)
    assert {one.document_id for one in told if one.outcome == "added"} == set(ALL)


def test_a_container_in_a_stream(base: KnowledgeBase) -> None:
    """Read once, under the id that is given; the same id again replaces."""
    report = base.add(io.BytesIO(build_zip({"b.txt": b"In."})), document_id="a.zip")
    assert report.added == ("a.zip!/b.txt",)
    assert base.add(io.BytesIO(b"# T\n\nText."), document_id="notes.md").added == ("notes.md",)
    assert base.add(io.BytesIO(b"# T\n\nNew."), document_id="notes.md").replaced == ("notes.md",)
    assert base.add(io.BytesIO(b"# T\n\nNew."), document_id="notes.md").unchanged == ("notes.md",)
    assert base.get("notes.md").media_type == "text/markdown"
    with KnowledgeBase(":memory:", parse=ParseOptions(max_file_bytes=3)) as small:
        report = small.add(io.BytesIO(b"1234"), document_id="x")
        assert [failure.code for failure in report.failed] == ["too_large"]


class _Broken(io.RawIOBase):
    """Stream whose first read fails."""

    def read(self, size: int = -1) -> bytes:
        raise OSError(5, f"Input/output error at {size}")


class _Strings:
    def read(self, size: int = -1) -> str:
        return "text"[:size]


@pytest.mark.parametrize(
    ("stream", "reason"), [(_Broken(), "Input/output error"), (_Strings(), "returns str")]
)
def test_a_stream_that_cannot_be_read_is_blamed(
    base: KnowledgeBase, stream: Any, reason: str
) -> None:
    (failure,) = base.add(stream, document_id="s.txt").failed
    assert (failure.source, failure.code) == ("s.txt", "unreadable")
    assert reason in failure.message
    assert "TMPDIR" not in failure.message


def test_a_stream_of_text_and_a_closed_one_are_refused(base: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Text.")
    with path.open() as text, path.open("rb") as data:
        for stream in (text, io.StringIO("Text.")):
            with pytest.raises(OptionError, match="binary"):
                base.add(stream, document_id="a.txt")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="closed"):
        base.add(data, document_id="a.txt")


def test_an_archive_behind_a_url(tmp_path: Path) -> None:
    """Its members have the id of the URL before theirs, and are unchanged the next time.

    What signs the URL is no part of it.
    """
    write(tmp_path, {"a.zip": build_zip({"b.txt": b"In."})})
    handler = partial(_Quiet, directory=str(tmp_path))
    options = FetchOptions(allow_private=True)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        KnowledgeBase(":memory:", embedder=None, fetch=options) as base,
    ):
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/a.zip"
        added, again = base.add(f"{url}?X-Amz-Signature=s3cret"), base.add(url)
        server.shutdown()
        thread.join()
    assert (added.added, again.unchanged) == ((f"{url}!/b.txt",),) * 2


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        pass


def test_object_storage_is_synced_as_a_folder(base: KnowledgeBase) -> None:
    """With what is in its archives; an emptied prefix removes nothing without being asked."""
    store = fsspec.filesystem("memory")
    address = "memory://synced/in"
    try:
        store.pipe("/synced/in/a.zip", build_zip({"b.txt": b"In."}))
        store.pipe("/synced/in/c.txt", b"Text.")
        assert sorted(base.sync(address).added) == ["a.zip!/b.txt", "c.txt"]
        assert base.get("c.txt").source == "memory://synced/in/c.txt"
        assert sorted(base.sync(address).unchanged) == ["a.zip!/b.txt", "c.txt"]
        store.pipe("/synced/in/c.txt", b"Other text.")
        store.rm("/synced/in/a.zip")
        report = base.sync(address)
        assert (report.replaced, report.removed) == (("c.txt",), ("a.zip!/b.txt",))
        store.mv("/synced/in/c.txt", "/synced/other.txt")
        with pytest.raises(OptionError):
            base.sync(address)
        assert base.sync(address, allow_empty=True).removed == ("c.txt",)
    finally:
        store.rm("/synced", recursive=True)


def test_standard_input(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command("add", *arguments),
            cwd=tmp_path,
            env=environment(),
            input=b"# Notes\n\nFreight cost more.",
            capture_output=True,
            timeout=120,
            check=False,
        )

    done = run("-", "--json")
    assert done.returncode == 2
    assert b"--id" in done.stdout
    assert run("-", "plain.txt", "--id", "x").returncode == 2
    assert not (tmp_path / "spanwise.kb").exists()
    assert json.loads(run("-", "--id", "notes.md", "--json").stdout)["added"] == ["notes.md"]
    assert json.loads(run("-", "--id", "notes.md", "--json").stdout)["unchanged"] == ["notes.md"]
    found = spanwise("search", "freight", "--json", folder=tmp_path)
    assert json.loads(found.stdout)["segments"][0]["document_id"] == "notes.md"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_ctrl_c_does_not_wait_for_standard_input(tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    with subprocess.Popen(
        command("add", "-", "--id", "a.md"),
        cwd=tmp_path,
        env=environment({"TMPDIR": str(place)}),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"half of ")
        process.stdin.flush()
        deadline = time.monotonic() + 90
        while not list(place.glob("spanwise-ingest-*")):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert time.monotonic() - started < 30
    assert list(place.glob("spanwise-ingest-*")) == []


def fill_bulk(path: Path, members: int) -> list[str]:
    names = [f"{number:03}.txt" for number in range(members)]
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, f"Freight number {name}. " * 1_500)
    return [f"{path.name}!/{name}" for name in names]


def stored(folder: Path) -> list[str]:
    """Return the ids of the stored documents; none while the knowledge base is being created."""
    done = spanwise("list", "--json", folder=folder)
    return [record["id"] for record in json.loads(done.stdout)] if done.returncode == 0 else []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_after_an_interruption_only_what_is_missing_is_taken(
    tmp_path: Path, ending: signal.Signals
) -> None:
    """Inside an archive, and no temporary file stays (after a kill, until the next run)."""
    names = fill_bulk(tmp_path / "a.zip", 80)
    place = tmp_path / "temporary"
    place.mkdir()
    variables = environment({"TMPDIR": str(place)})
    with subprocess.Popen(
        command("add", "a.zip", "-q"), cwd=tmp_path, env=variables, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 90
        while not stored(tmp_path):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, ending)
    kept = stored(tmp_path)
    assert 0 < len(kept) < len(names)
    if ending == signal.SIGINT:
        assert list(place.glob("spanwise-ingest-*")) == []
    done = spanwise_process("add", "a.zip", "--json", folder=tmp_path, extra={"TMPDIR": str(place)})
    report = json.loads(done.stdout)
    assert (report["unchanged"], len(report["added"])) == (kept, len(names) - len(kept))
    assert list(place.glob("spanwise-ingest-*")) == []


def test_nothing_is_left_in_the_temporary_folder(
    base: KnowledgeBase, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the caller breaks off in the middle of a container."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))

    def stop(progress: IngestProgress) -> None:
        if "!/" in progress.document_id:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        base.add(folder, on_document=stop)
    assert list(place.glob("spanwise-ingest-*")) == []
    assert base.add(folder).failed == ()
    assert ids(base) == ALL
    assert list(place.glob("spanwise-ingest-*")) == []


def test_a_container_is_deleted_with_what_came_out_of_it(base: KnowledgeBase, folder: Path) -> None:
    """At any depth; an e-mail is a document itself. What only begins alike stays."""
    base.add(folder)
    base.add_text("Apples.", document_id="a.zipped")
    assert base.remove("mail.eml", "a.zip!/inner.zip", "no") == (
        "a.zip!/inner.zip!/deep/x.txt",
        "mail.eml",
        "mail.eml!/report.md",
    )
    assert base.remove("a.zip") == ("a.zip!/b/two.docx", "a.zip!/one.txt")
    assert base.remove("a.zip") == ()
    assert "a.zipped" in [record.id for record in base.list()]
