"""What goes wrong on real machines: each time an error with a way out, and nothing half-written."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.documents import build_docx, build_pdf, looping_pdf, paragraph
from tests.integration.commands import (
    command,
    environment,
    read_json,
    spanwise,
    spanwise_process,
)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="signals, limits and names of Linux"
)
REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
LINES = [f"Toll number {number} is paid at the lock." for number in range(20)]

BAD = {
    "binary.txt": (bytes(range(256)) * 20, "binary"),
    "blank.md": (b" \n\n", "no_text"),
    "cut.docx": (build_docx(paragraph("text"))[:200], "corrupt"),
    "cut.pdf": (build_pdf(LINES)[:200], "corrupt"),
    "empty.pdf": (b"", "empty"),
    "locked.pdf": (build_pdf(LINES, user_password="secret"), "encrypted"),
    "scan.pdf": (build_pdf(["", ""], picture_pages=[0, 1]), "needs_ocr"),
}
GOOD = {
    "a pdf.txt": build_pdf(["A text about granite."]),
    "a text.pdf": b"A text about basalt.",
    "empty password.pdf": build_pdf(["A text about marble."], user_password=""),
    "half.pdf": build_pdf(LINES)[:-1500],
    "new\nline.txt": b"A text about chalk.",
    "x'; drop table document;--.txt": b"A text about slate.",
    "\u202eright to left.txt": b"A text about clay.",
    " blanks .txt": b"A text about loam.",
    "-rf": b"A text about peat.",
    "日本 語.txt": "花崗岩についての文書です。".encode(),
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """Return a folder where good and bad files went in, and the report of it."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "in" / "deep").mkdir(parents=True)
    for name, data in GOOD.items() | {(name, data) for name, (data, _) in BAD.items()}:
        (folder / "in" / name).write_bytes(data)
    Path(os.fsdecode(os.fsencode(folder / "in") + b"/caf\xe9.txt")).write_bytes(b"About coffee.")
    (folder / "in" / "deep" / "up").symlink_to("..")
    (folder / "in" / "self").symlink_to("self")
    (folder / "in" / "again.txt").symlink_to("-rf")
    return folder, read_json("add", "in", "--ocr", "off", folder=folder, code=3)


def test_good_files_go_in_under_any_name_and_each_once(
    mixed: tuple[Path, dict[str, object]],
) -> None:
    folder, report = mixed
    assert report["added"] == sorted([*GOOD, "caf%E9.txt"])
    listed = read_json("list", folder=folder)
    assert [record["id"] for record in listed] == report["added"]
    for document_id in GOOD:
        shown = read_json("show", "--chunks", "--", document_id, folder=folder)
        assert "".join(chunk["text"] for chunk in shown["chunks"]) == shown["document"]["text"]


def test_bad_files_are_named_with_cause_and_way_out(
    mixed: tuple[Path, dict[str, object]],
) -> None:
    _, report = mixed
    failed = report["failed"]
    assert isinstance(failed, list)
    expected = {f"in/{name}": code for name, (_, code) in BAD.items()} | {"in/self": "unreadable"}
    assert {one["source"]: one["code"] for one in failed} == expected
    assert all(one["message"].startswith(f"{one['source']}: ") for one in failed)


def test_what_was_read_in_part_is_said(mixed: tuple[Path, dict[str, object]]) -> None:
    _, report = mixed
    assert report["warnings"]
    assert all("in/half.pdf: " in str(warning) for warning in report["warnings"])  # type: ignore[attr-defined]


def test_a_name_that_is_no_text_can_be_typed(mixed: tuple[Path, dict[str, object]]) -> None:
    folder, _ = mixed
    assert read_json("show", "caf\udce9.txt", folder=folder)["document"]["text"] == "About coffee."
    result = read_json("search", "What is it about?", "-d", "caf\udce9.txt", folder=folder)
    assert [segment["document_id"] for segment in result["segments"]] == ["caf%E9.txt"]
    error = read_json("show", "\udcff", folder=folder, code=4)["error"]
    assert error["code"] == "document_not_found"
    assert read_json("remove", "\udcff", folder=folder, code=4)["not_found"] == ["%FF"]


def test_questions_of_any_kind(mixed: tuple[Path, dict[str, object]]) -> None:
    folder, _ = mixed
    error = read_json("search", "caf\udcff", folder=folder, code=2)["error"]
    assert (error["code"], "UTF-8" in error["message"]) == ("query", True)
    long = " ".join(f"word{number}" for number in range(12_000))
    result = read_json("search", f"granite {long}"[:100_000], folder=folder)
    assert result["segments"][0]["document_id"] == "a pdf.txt"
    result = read_json("search", "granite", "--budget", "5", folder=folder)
    assert (result["segments"][0]["document_id"], result["tokens"] <= 5) == ("a pdf.txt", True)
    error = read_json("search", "granite", "--budget", "1", folder=folder, code=2)["error"]
    assert "not even one word fits" in error["message"]


def test_a_parser_that_hangs_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "loop.pdf").write_bytes(looping_pdf())
    (tmp_path / "in" / "note.txt").write_text("A note about tolls.")
    report = read_json("add", "in", "--timeout", "3", folder=tmp_path, code=3)
    assert [(one["source"], one["code"]) for one in report["failed"]] == [
        ("in/loop.pdf", "timeout")
    ]
    assert report["added"] == ["note.txt"]


def test_ctrl_c_does_not_wait_for_a_parser_that_hangs(tmp_path: Path) -> None:
    (tmp_path / "loop.pdf").write_bytes(looping_pdf())
    with subprocess.Popen(
        command("add", "loop.pdf"),
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        time.sleep(2)
        os.killpg(process.pid, signal.SIGINT)
        started = time.monotonic()
        _, said = process.communicate(timeout=60)
    assert time.monotonic() - started < 25
    assert (process.returncode, said.count("\n")) == (130, 1)


def bind_root() -> None:
    """Let permissions bind this process and what it starts, even if it is root's."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@contextmanager
def locked(path: Path, mode: int = 0) -> Iterator[None]:
    """Take permissions away for a while; skip where they do not bind us."""
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        probe = ["test", "-w" if mode else "-r", str(path)]
        if subprocess.run(probe, preexec_fn=bind_root, check=False).returncode == 0:
            pytest.skip("permissions do not bind this user")
        yield
    finally:
        path.chmod(before)


def test_what_cannot_be_opened_does_not_keep_the_others_out(tmp_path: Path) -> None:
    (tmp_path / "in" / "secret").mkdir(parents=True)
    (tmp_path / "in" / "secret" / "a.txt").write_text("A text about onyx.")
    (tmp_path / "in" / "b.txt").write_text("A text about opal.")
    (tmp_path / "in" / "c.txt").write_text("A text about ruby.")
    sources = ["in", "in/secret", "in/secret/a.txt", "in/c.txt"]
    with locked(tmp_path / "in" / "secret"), locked(tmp_path / "in" / "c.txt"):
        done = spanwise_process("add", *sources, "--json", folder=tmp_path, before=bind_root)
    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    assert report["added"] == ["in/b.txt"]
    assert {one["source"] for one in report["failed"]} == set(sources) - {"in"}
    assert {one["code"] for one in report["failed"]} == {"unreadable"}
    assert all("Permission denied" in one["message"] for one in report["failed"])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with `reports/` and a knowledge base of them."""
    shutil.copytree(REPORTS, tmp_path / "reports")
    assert spanwise("add", "reports", folder=tmp_path).returncode == 0
    return tmp_path


def test_a_knowledge_base_that_cannot_be_read_or_written_says_so(home: Path) -> None:
    (home / "note.txt").write_text("A note about tolls.")
    with locked(home / "spanwise.kb", 0o555):
        for words in (["add", "note.txt"], ["remove", "handbook.md"]):
            done = spanwise_process(*words, folder=home, before=bind_root)
            assert (done.returncode, done.stderr.count("\n")) == (1, 1)
            assert "cannot be written" in done.stderr
        done = spanwise_process("search", "termination", folder=home, before=bind_root)
        assert done.returncode == 0, done.stderr
    with locked(home / "spanwise.kb"):
        done = spanwise_process("list", folder=home, before=bind_root)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "spanwise.kb" in done.stderr
    assert len(read_json("list", folder=home)) == 4


def test_a_knowledge_base_of_a_newer_version_is_left_alone(home: Path) -> None:
    database = home / "spanwise.kb" / "truth.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("pragma user_version = 999")
    before = database.read_bytes()
    for words in (["add", "reports"], ["search", "margin"], ["list"], ["remove", "handbook.md"]):
        error = read_json(*words, folder=home, code=1)["error"]
        assert error["code"] == "format"
        assert "version 999" in error["message"]
        assert "update spanwise" in error["message"]
    assert database.read_bytes() == before


def bulk(folder: Path, documents: int) -> None:
    """Write so many texts of some 30,000 characters."""
    folder.mkdir()
    for number in range(documents):
        text = f"Report {number}. " + "Freight cost more than in the year before. " * 700
        (folder / f"{number:03}.txt").write_text(text)


def check_whole(home: Path, ids: list[str]) -> None:
    """Check that each document is whole: its chunks, joined, are its file."""
    for document_id in ids:
        shown = read_json("show", document_id, "--chunks", folder=home)
        assert "".join(chunk["text"] for chunk in shown["chunks"]) == shown["document"]["text"]


def limit_files() -> None:
    """Let no file grow beyond a megabyte, as on a full disk."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))


def test_a_limit_of_file_size_keeps_what_is_whole(tmp_path: Path) -> None:
    bulk(tmp_path / "in", 30)
    done = spanwise_process("add", "in", folder=tmp_path, before=limit_files)
    assert done.returncode == 1
    assert "truth.db" in done.stderr.splitlines()[-1]
    kept = [record["id"] for record in read_json("list", folder=tmp_path)]
    assert 0 < len(kept) < 30
    check_whole(tmp_path, kept[-2:])
    report = read_json("add", "in", folder=tmp_path)
    assert (report["unchanged"], len(report["added"])) == (kept, 30 - len(kept))


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """Mount a small disk on a folder; skip where that is not allowed."""
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    try:
        is_mounted = subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        is_mounted = False
    if not is_mounted:
        pytest.skip("a disk of its own can be mounted by root alone")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_keeps_what_is_whole(tmp_path: Path) -> None:
    bulk(tmp_path / "in", 60)
    with small_disk(tmp_path / "disk", 3):
        full = tmp_path / "disk"
        done = spanwise("add", "../in", folder=full)
        assert done.returncode == 1
        assert "is full" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
        kept = [record["id"] for record in read_json("list", folder=full)]
        assert 0 < len(kept) < 60
        check_whole(full, kept[-2:])
        found = spanwise("search", "freight", "--json", folder=full)
        assert found.returncode == 0, found.stderr


def wait_for_documents(home: Path) -> None:
    """Wait until a knowledge base that is being made holds documents."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done = spanwise("list", "--json", folder=home)
        if done.returncode == 0 and json.loads(done.stdout):
            return
        time.sleep(0.05)
    pytest.fail("nothing went in within a minute")


@pytest.mark.slow
def test_a_killed_add_leaves_whole_documents_and_can_be_run_again(tmp_path: Path) -> None:
    bulk(tmp_path / "in", 200)
    with subprocess.Popen(command("add", "in", "-q"), cwd=tmp_path, env=environment()) as process:
        wait_for_documents(tmp_path)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    kept = [record["id"] for record in read_json("list", folder=tmp_path)]
    assert 0 < len(kept) < 200
    check_whole(tmp_path, kept[-2:])
    report = read_json("add", "in", folder=tmp_path)
    assert (report["unchanged"], len(report["added"])) == (kept, 200 - len(kept))


@pytest.mark.slow
def test_two_adds_and_searches_at_once(tmp_path: Path) -> None:
    for name in ("left", "right"):
        bulk(tmp_path / name, 60)
    adds = [
        subprocess.Popen(command("add", ".", "-q"), cwd=tmp_path, env=environment())
        for _ in range(2)
    ]
    wait_for_documents(tmp_path)
    codes = []
    while any(process.poll() is None for process in adds):
        done = spanwise("search", "freight", "--json", folder=tmp_path)
        codes.append(done.returncode)
        assert json.loads(done.stdout)["segments"], done.stdout
        time.sleep(0.1)
    assert [process.wait() for process in adds] == [0, 0]
    assert set(codes) == {0}
    assert len(read_json("list", folder=tmp_path)) == 120
    assert len(read_json("add", ".", folder=tmp_path)["unchanged"]) == 120
