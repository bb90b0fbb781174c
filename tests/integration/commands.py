"""Commands as people and programs run them: processes of their own in a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["command", "environment", "read_json", "spanwise"]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a command: that of the tests without what would steer it."""
    steering = ("SPANWISE_KB", "SPANWISE_TRACEBACK", "NO_COLOR", "COLUMNS", "FORCE_COLOR")
    kept = {name: value for name, value in os.environ.items() if name not in steering}
    return {**kept, "TERM": "xterm", "PYTHONUTF8": "1", **(extra or {})}


def command(*arguments: str | Path) -> list[str]:
    """Return the words of a command line."""
    return [sys.executable, "-m", "spanwise", *map(str, arguments)]


def spanwise(
    *arguments: str | Path,
    folder: Path,
    extra: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, `before` in its process first; return what became of it."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment(extra),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        preexec_fn=before,
    )


def read_json(*arguments: str | Path, folder: Path, code: int = 0) -> Any:
    """Run a command with `--json` and return its document; nothing else may be written."""
    name, *others = arguments
    done = spanwise(name, "--json", *others, folder=folder)
    assert (done.returncode, done.stderr) == (code, "")
    return json.loads(done.stdout)
