"""The lock of whoever writes the index: one holder, freed when it dies."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spanwise.stores.flush import flush_lock

HOLDER = """
import sys, time
from pathlib import Path
from spanwise.stores.flush import flush_lock
with flush_lock(Path(sys.argv[1])) as held:
    print(held, flush=True)
    time.sleep(60)
"""


def test_a_second_holder_is_told_that_it_is_taken(tmp_path: Path) -> None:
    with flush_lock(tmp_path / "index") as first, flush_lock(tmp_path / "index") as second:
        assert (first, second) == (True, False)
    with flush_lock(tmp_path / "index") as third:
        assert third


def test_waiting_ends(tmp_path: Path) -> None:
    with flush_lock(tmp_path):
        start = time.monotonic()
        with flush_lock(tmp_path, wait_seconds=0.1) as held:
            assert not held
        assert time.monotonic() - start >= 0.1


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        with flush_lock(tmp_path) as held:
            assert not held
        os.kill(holder.pid, signal.SIGKILL)
    with flush_lock(tmp_path) as held:
        assert held


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file")
    with pytest.raises(OSError, match="index"), flush_lock(tmp_path / "index"):
        pass
