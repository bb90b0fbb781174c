"""A knowledge base kept in step with a folder: add, replace, remove, fail, be interrupted."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.integration.commands import command, environment, read_json, spanwise
from tests.permissions import ordinary_user

from spanwise import KnowledgeBase
from spanwise.errors import FetchError, OptionError
from spanwise.types import IngestProgress

TEXTS = {"a.md": "# A\n\nFreight cost more.", "b.txt": "Boats are cheap.", "deep/c.txt": "Rail."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "in", TEXTS)


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as base:
        yield base


def write(folder: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def texts_of(base: KnowledgeBase) -> dict[str, str]:
    return {record.id: base.get(record.id).text for record in base.list()}


def test_afterwards_the_documents_equal_the_folder(base: KnowledgeBase, folder: Path) -> None:
    base.add_text("Mine.", document_id="mine")
    assert base.sync(folder).added == ("a.md", "b.txt", "deep/c.txt")
    (folder / "a.md").write_text("# A\n\nFreight cost less.")
    (folder / "b.txt").unlink()
    (folder / "d.txt").write_text("New.")
    foreseen = base.sync(folder, dry_run=True)
    assert texts_of(base) == {**TEXTS, "mine": "Mine."}, "a dry run changes nothing"
    report = base.sync(folder)
    assert report.added == foreseen.added == ("d.txt",)
    assert report.replaced == foreseen.replaced == ("a.md",)
    assert report.removed == foreseen.removed == ("b.txt",)
    assert report.unchanged == foreseen.unchanged == ("deep/c.txt",)
    assert report.failed == foreseen.failed == ()
    assert texts_of(base) == {
        "a.md": "# A\n\nFreight cost less.",
        "d.txt": "New.",
        "deep/c.txt": "Rail.",
        "mine": "Mine.",
    }


def test_what_was_added_before_is_part_of_a_sync(base: KnowledgeBase, folder: Path) -> None:
    base.add(folder)
    assert len(base.sync(f"{folder}/").unchanged) == 3
    assert len(base.add(folder).unchanged) == 3


def test_a_renamed_document_is_never_missing_and_keeps_its_vectors(folder: Path) -> None:
    """Additions come before removals."""
    with KnowledgeBase(":memory:", embedder=Counting()) as base:
        base.sync(folder)
        (folder / "b.txt").rename(folder / "z.txt")
        embedded = Counting.texts
        seen: list[tuple[str, str, list[str]]] = []

        def look(progress: IngestProgress) -> None:
            ids = [record.id for record in base.list()]
            seen.append((progress.outcome, progress.document_id, ids))

        report = base.sync(folder, on_document=look)
        assert (report.added, report.removed) == (("z.txt",), ("b.txt",))
        assert seen[-2:] == [
            ("added", "z.txt", ["a.md", "b.txt", "deep/c.txt", "z.txt"]),
            ("removed", "b.txt", ["a.md", "deep/c.txt", "z.txt"]),
        ]
        assert Counting.texts == embedded, "equal chunks are not embedded again"


class Counting:
    """An embedder that counts what it is given."""

    name = "counting"
    version = "1"
    dimension = 2
    texts = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        Counting.texts += len(texts)
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)


def test_a_file_that_cannot_be_parsed_now_keeps_its_document(
    base: KnowledgeBase, folder: Path
) -> None:
    base.sync(folder)
    (folder / "b.txt").write_bytes(bytes(range(256)) * 20)
    report = base.sync(folder)
    assert [(Path(f.source).name, f.code) for f in report.failed] == [("b.txt", "binary")]
    assert (report.removed, len(report.unchanged)) == ((), 2)
    assert texts_of(base) == TEXTS


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_what_cannot_be_opened_or_listed_keeps_its_documents(
    base: KnowledgeBase, folder: Path, tmp_path: Path
) -> None:
    base.sync(folder)
    (folder / "b.txt").chmod(0)
    (folder / "deep").chmod(0)
    with ordinary_user(tmp_path):
        report = base.sync(folder)
    (folder / "deep").chmod(0o755)
    assert [Path(failure.source).name for failure in report.failed] == ["b.txt", "deep"]
    assert (report.removed, report.unchanged) == ((), ("a.md",))
    assert texts_of(base) == TEXTS


def test_a_folder_that_is_gone_removes_nothing(base: KnowledgeBase, folder: Path) -> None:
    base.sync(folder)
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(FetchError, match="nothing was changed"):
        base.sync(folder)
    folder.mkdir()
    for dry_run in (True, False):
        with pytest.raises(OptionError, match="3 documents"):
            base.sync(folder, dry_run=dry_run)
    assert texts_of(base) == TEXTS
    assert len(base.sync(folder, allow_empty=True).removed) == 3


def test_an_id_from_elsewhere_fails_alone(
    base: KnowledgeBase, folder: Path, tmp_path: Path
) -> None:
    base.add(write(tmp_path / "other", {"b.txt": "Other boats."}))
    foreseen, report = base.sync(folder, dry_run=True), base.sync(folder)
    assert report.added == foreseen.added == ("a.md", "deep/c.txt")
    assert report.failed == foreseen.failed
    assert [failure.code for failure in report.failed] == ["conflict"]
    assert base.get("b.txt").text == "Other boats."
    assert base.sync(folder, replace=True, dry_run=True).replaced == ("b.txt",)
    assert base.sync(folder, replace=True).replaced == ("b.txt",)
    assert texts_of(base) == TEXTS
    (tmp_path / "other" / "b.txt").unlink()
    assert base.sync(tmp_path / "other", allow_empty=True).removed == ()


def test_given_fields_stay_until_others_are_given(base: KnowledgeBase, folder: Path) -> None:
    """Of what changed, too: to leave them out is to keep them, and a set is a whole set."""
    (folder / "a.md").write_text("---\nauthor: Ada\n---\n# A\n\nFreight.")
    base.sync(folder, metadata={"year": 2018, "kind": "report"})
    given = {"year": 2018, "kind": "report"}
    assert base.list()[0].metadata == {"author": "Ada", **given}
    assert len(base.sync(folder).unchanged) == 3
    (folder / "a.md").write_text("---\nauthor: Bob\n---\n# A\n\nFreight.")
    assert base.add(folder).replaced == ("a.md",)
    assert base.list()[0].metadata == {"author": "Bob", **given}
    assert len(base.add(folder, metadata={"year": 2018}).replaced) == 3
    assert [record.metadata for record in base.list()] == [
        {"author": "Bob", "year": 2018},
        {"year": 2018},
        {"year": 2018},
    ]
    assert len(base.sync(folder, metadata={"year": 2018}).unchanged) == 3
    assert len(base.sync(folder, metadata={"author": "Eve"}).replaced) == 3
    assert len(base.sync(folder, metadata={}).replaced) == 3
    assert [record.metadata for record in base.list()] == [{"author": "Bob"}, {}, {}]


def test_progress_counts_what_is_removed(base: KnowledgeBase, folder: Path) -> None:
    base.sync(folder)
    (folder / "a.md").unlink()
    told: list[IngestProgress] = []
    base.sync(folder, on_document=told.append)
    assert [(one.outcome, one.documents_done, one.documents_total) for one in told] == [
        ("unchanged", 1, 3),
        ("unchanged", 2, 3),
        ("removed", 3, 3),
    ]


def test_what_comes_again_meanwhile_is_not_removed(base: KnowledgeBase, folder: Path) -> None:
    """Another process adds what this one was about to remove."""
    base.sync(folder)
    (folder / "b.txt").unlink()

    def add_again(progress: IngestProgress) -> None:
        if progress.documents_done == 2:
            base.add(write(folder, {"b.txt": "Boats are dear."}))

    assert base.sync(folder, on_document=add_again).removed == ()
    assert base.get("b.txt").text == "Boats are dear."


def test_the_command_says_what_it_does(tmp_path: Path, folder: Path) -> None:
    done = spanwise("sync", "in", "--dry-run", folder=tmp_path)
    assert done.stdout.splitlines() == [
        "would add a.md",
        "would add b.txt",
        "would add deep/c.txt",
        "spanwise.kb (dry run): 3 added",
    ]
    assert not (tmp_path / "spanwise.kb").exists()
    assert "spanwise.kb: 3 added" in spanwise("sync", "in", folder=tmp_path).stdout
    (folder / "b.txt").unlink()
    (folder / "noise.bin").write_bytes(bytes(range(256)) * 20)
    report = read_json("sync", "in", "--metadata", "year=2018", folder=tmp_path, code=3)
    assert (report["removed"], len(report["updated"])) == (["b.txt"], 2)
    assert [failure["code"] for failure in report["failed"]] == ["binary"]


def test_the_command_refuses_an_empty_folder(tmp_path: Path, folder: Path) -> None:
    assert spanwise("sync", "in", folder=tmp_path).returncode == 0
    for file in [*folder.rglob("*.txt"), *folder.rglob("*.md")]:
        file.unlink()
    refused = spanwise("sync", "in", folder=tmp_path)
    assert refused.returncode == 2
    assert "3 documents" in refused.stderr
    assert "--allow-empty" in refused.stderr
    done = spanwise("sync", "in", "--allow-empty", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "spanwise.kb: 3 removed\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("add", "nope"), 3),
        (("add", "nope", "in", "--include", "*.zip"), 3),
        (("add", "in", "--include", "*.zip"), 4),
        (("sync", "nope"), 1),
        (("sync", "in", "--include", "*.zip"), 0),
    ],
)
def test_where_nothing_is_found_no_knowledge_base_is_made(
    tmp_path: Path, folder: Path, arguments: tuple[str, ...], code: int
) -> None:
    done = spanwise(*arguments, folder=folder.parent)
    assert done.returncode == code
    assert not (tmp_path / "spanwise.kb").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
def test_ctrl_c_does_not_wait_for_a_server(tmp_path: Path) -> None:
    """One that takes a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connected = threading.Event()

        def accept() -> None:
            with server.accept()[0] as connection:
                connected.set()
                connection.recv(65_536)
                connection.recv(65_536)

        thread = threading.Thread(target=accept)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/slow"
        with subprocess.Popen(
            command("add", url, "--allow-private"),
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        ) as process:
            assert connected.wait(60)
            started = time.monotonic()
            os.killpg(process.pid, signal.SIGINT)
            _, said = process.communicate(timeout=60)
        seconds = time.monotonic() - started
        thread.join()
    assert process.returncode == 130
    assert said.startswith("spanwise: interrupted")
    assert seconds < 20, "the limit for a fetch is 30 seconds"


def stored_hashes(base: Path) -> dict[str, str]:
    """Return the hash of each document of a knowledge base, while others write to it."""
    try:
        with closing(sqlite3.connect(f"file:{base}/truth.db?mode=ro", uri=True)) as connection:
            return dict(connection.execute("select id, content_hash from document"))
    except sqlite3.OperationalError:  # not there yet, or without its tables
        return {}


def hashes_of(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*.txt")
    }


def kill_during_sync(place: Path, *, after: int) -> bool:
    """Start `spanwise sync`, kill it after so many changes; return whether it was still at it."""
    before = stored_hashes(place / "spanwise.kb")
    with subprocess.Popen(
        command("sync", "in", "--quiet"),
        cwd=place,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            now = stored_hashes(place / "spanwise.kb")
            if len(before.items() ^ now.items()) >= after:
                break
        process.kill()
    return process.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
def test_a_sync_that_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """At every moment: while it adds, while it replaces, while it removes."""
    folder, base = tmp_path / "in", tmp_path / "spanwise.kb"
    sentences = "Freight cost more than in the year before. " * 40
    write(folder, {f"{i % 7}/{i:04}.txt": f"Report {i}. {sentences}" for i in range(500)})
    kills = 0
    for after in (1, 60, 120):
        kills += kill_during_sync(tmp_path, after=after)
        stored = stored_hashes(base)
        assert 0 < len(stored) < 500
        assert stored.items() <= hashes_of(folder).items(), "no document is there in part"
        foreseen = read_json("sync", "in", "--dry-run", folder=tmp_path)
        assert set(foreseen["unchanged"]) == stored.keys(), "what was done is not done again"
    done = read_json("sync", "in", folder=tmp_path)
    assert set(done["unchanged"]) == stored.keys()
    assert len(done["added"]) == 500 - len(stored)
    assert stored_hashes(base) == hashes_of(folder)

    for i in range(0, 500, 2):
        file = folder / f"{i % 7}/{i:04}.txt"
        if i % 8 == 0:
            file.write_text(f"Report {i}, second edition. {sentences}")
        else:
            file.unlink()
    for after in (30, 90):
        earlier = stored_hashes(base)
        kills += kill_during_sync(tmp_path, after=after)
        stored, wanted = stored_hashes(base), hashes_of(folder)
        assert len(stored.items() & wanted.items()) > len(earlier.items() & wanted.items()) or len(
            stored
        ) < len(earlier)
        foreseen = read_json("sync", "in", "--dry-run", folder=tmp_path)
        assert set(foreseen["unchanged"]) == {name for name, _ in stored.items() & wanted.items()}
        assert set(foreseen["removed"]) == stored.keys() - wanted.keys()
    done = read_json("sync", "in", folder=tmp_path)
    assert done["failed"] == []
    assert {key: done[key] for key in ("added", "replaced", "removed", "unchanged")} == {
        key: foreseen[key] for key in ("added", "replaced", "removed", "unchanged")
    }
    assert kills >= 4, "removals are quick: the last kill may come late"
    assert stored_hashes(base) == hashes_of(folder)
    with KnowledgeBase(base, create=False) as opened:
        assert texts_of(opened) == {
            str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*.txt")
        }
    again = json.loads(spanwise("sync", "in", "--json", folder=tmp_path).stdout)
    assert len(again["unchanged"]) == len(hashes_of(folder))
