"""Operations that run under strace, which records their calls of the system or lets them fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.crash.operation_kills import Workplace

_ROOT = Path(__file__).parents[2]
_SECONDS = 600.0


@cache
def can_trace() -> bool:
    """Return whether strace works here."""
    words = ["strace", "-f", "--seccomp-bpf", "-e", "trace=fsync", "true"]
    if shutil.which("strace") is None:
        return False
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def run_traced(workplace: Workplace, options: Sequence[str], *, mode: str = "") -> int:
    """Run the operation of a workplace under strace, and return its exit code.

    Args:
        workplace: Workplace whose state was reset.
        options: Options of strace.
        mode: Mode of the child process.
    """
    place = workplace.place
    child = [sys.executable, "-m", "tests.crash.operation_child", workplace.operation.name]
    arguments = [str(place.folder), place.base, str(workplace.log), mode]
    done = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", *options, *child, *arguments],
        cwd=_ROOT,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    return done.returncode
