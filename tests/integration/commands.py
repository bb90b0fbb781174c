"""Command lines, run in this process or in a process of their own.

A command in this process takes the same path from the arguments to the exit code, without the
third of a second that Python needs to start and to import everything. A process of its own is for
what only a process has: signals, limits, descriptors, the encoding of its streams.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from spanwise.cli.main import main

__all__ = ["command", "environment", "read_json", "spanwise", "spanwise_process"]

_REMOVED = (
    "SPANWISE_KB",
    "SPANWISE_TRACEBACK",
    "REQUIRE_BROWSER",
    "REQUIRE_MODEL",
    "NO_COLOR",
    "COLUMNS",
    "FORCE_COLOR",
)
_ADDED = {"TERM": "xterm", "PYTHONUTF8": "1"}


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a command: that of the tests without settings of commands."""
    inherited = {name: value for name, value in os.environ.items() if name not in _REMOVED}
    return {**inherited, **_ADDED, **(extra or {})}


def command(*arguments: str | Path) -> list[str]:
    """Return the words of a command line."""
    return [sys.executable, "-m", "spanwise", *map(str, arguments)]


def spanwise(
    *arguments: str | Path, folder: Path, extra: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, as if it were in a folder; return its result."""
    words = [str(argument) for argument in arguments]
    output, errors = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in _REMOVED:
            patch.delenv(name, raising=False)
        for name, value in {**_ADDED, **(extra or {})}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        patch.setattr(sys, "stdout", output)
        patch.setattr(sys, "stderr", errors)
        patch.setattr(sys, "path", [*sys.path])
        loaded = set(sys.modules)
        code = main(words)
        for name in set(sys.modules) - loaded:  # the next folder may have a module of this name
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).is_relative_to(folder.resolve()):
                del sys.modules[name]
    return subprocess.CompletedProcess(words, code, _written(output), _written(errors))


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def spanwise_process(
    *arguments: str | Path,
    folder: Path,
    extra: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, which calls `before` first; return its result."""
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


def read_json(
    *arguments: str | Path,
    folder: Path,
    extra: Mapping[str, str] | None = None,
    code: int = 0,
) -> Any:
    """Run a command with `--json` and return its document; nothing else may be written."""
    name, *others = arguments
    done = spanwise(name, "--json", *others, folder=folder, extra=extra)
    assert (done.returncode, done.stderr) == (code, "")
    return json.loads(done.stdout)
