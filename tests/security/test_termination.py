"""SIGTERM ends a command as Ctrl-C does: nothing is left behind, and the exit code tells it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.documents import build_zip, looping_pdf
from tests.integration.commands import command, environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and /proc of Linux")


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def children(process: int) -> list[int]:
    """Return the processes that a process has started and that still run."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if int(fields[1]) == process and fields[0] != "Z":
            found.append(int(place.parent.name))
    return found


@pytest.fixture
def stuck(tmp_path: Path) -> Path:
    """Return a folder with an archive that holds a note, and a PDF that hangs its parser."""
    (tmp_path / "temporary").mkdir()
    data = build_zip({"a.txt": b"A note about tolls.", "b.pdf": looping_pdf()})
    (tmp_path / "in.zip").write_bytes(data)
    return tmp_path


def started(folder: Path, *, before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("add", "in.zip"),
        cwd=folder,
        env=environment({"TMPDIR": str(folder / "temporary")}),
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=before,  # noqa: PLW1509 - no other thread runs
    )


def test_sigterm_removes_temporary_files_and_parsers(stuck: Path) -> None:
    """However often it comes."""
    with started(stuck) as process:
        wait_until(lambda: list((stuck / "temporary").glob("*/*/1")) or process.poll())
        wait_until(lambda: children(process.pid))
        parsers = children(process.pid)
        for _ in range(3):
            process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said.count("\n")) == (143, 1)
    assert "SIGTERM" in said
    assert list((stuck / "temporary").iterdir()) == []
    wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in parsers))


def test_sigterm_while_the_program_loads_is_kept(stuck: Path) -> None:
    with started(stuck) as process:
        wait_until(lambda: b"spanwise" in Path(f"/proc/{process.pid}/cmdline").read_bytes())
        mask = f"/proc/{process.pid}/status"
        bit = 1 << (signal.SIGTERM - 1)
        wait_until(
            lambda: any(
                line.startswith("SigCgt") and int(line.split()[1], 16) & bit
                for line in Path(mask).read_text().splitlines()
            )
        )
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said.count("\n")) == (143, 1)


def test_sigterm_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As with Ctrl-C: a process that was started so goes on doing so."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "in.zip").write_bytes(build_zip({"a.txt": b"A note about tolls."}))

    def ignore() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    with started(tmp_path, before=ignore) as process:
        for _ in range(5):
            os.kill(process.pid, signal.SIGTERM)
            time.sleep(0.1)
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_folders_of_killed_runs_are_removed_by_the_next(stuck: Path) -> None:
    with started(stuck) as process:
        wait_until(lambda: list((stuck / "temporary").glob("*/*/1")))
        process.kill()
        process.communicate(timeout=30)
    (abandoned,) = (stuck / "temporary").iterdir()
    (stuck / "in.zip").write_bytes(build_zip({"a.txt": b"A note about tolls."}))
    with started(stuck) as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert not abandoned.exists()
