"""Child processes that run a module of Spanwise: their start, environment and end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from spanwise.config import TELEMETRY_OFF

_PASSED_VARIABLES = frozenset(
    "PATH SYSTEMROOT WINDIR TEMP TMP TMPDIR HOME USERPROFILE APPDATA LOCALAPPDATA LANG LC_ALL "
    "LC_CTYPE LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONHOME PYTHONUSERBASE OMP_NUM_THREADS "
    "HF_HOME HF_HUB_CACHE DOCLING_ARTIFACTS_PATH NLTK_DATA XDG_CACHE_HOME "
    "LD_PRELOAD DYLD_INSERT_LIBRARIES PYTHONNOUSERSITE PYTHONDONTWRITEBYTECODE".split()
)
"""Environment variables that are passed to the child. Those in the last line are an allocator, a
network filter and options of Python that the user has set."""
_SET_VARIABLES = {**TELEMETRY_OFF, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
"""Environment variables that disable telemetry and downloads of third-party parsers."""


def start_module(
    module: str,
    *arguments: str,
    log: BinaryIO | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process with pipes for its input and output.

    Args:
        module: Name of the module to run.
        *arguments: Arguments of the module.
        log: File for its error stream; None to discard it.
        variables: Further environment variables; None for none.

    Raises:
        OSError: If it cannot be started.
    """
    return subprocess.Popen(  # noqa: S603 - our own module, no shell
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if log is None else log,
        env=_environment() | dict(variables or {}),
        start_new_session=True,  # only the parent handles Ctrl-C
    )


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its descendants, and close its streams."""
    kill_group(process)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError, ValueError):  # data that was not sent cannot be flushed
                stream.close()


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its descendants, unless it was waited for already.

    The process leads its own process group. On Windows there is none, and descendants survive.
    """
    if process.returncode is not None:  # its id may be reused by another process
        return
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # it is starting or has ended
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _environment() -> dict[str, str]:
    """Return the environment of a child: variables to start Python, and the import path."""
    passed = {
        name: value
        for name, value in os.environ.items()  # noqa: TID251 - passed on, not read
        if name.upper() in _PASSED_VARIABLES
    }
    return passed | _SET_VARIABLES | {"PYTHONPATH": os.pathsep.join(_import_path())}


def _import_path() -> list[str]:
    """Return the import path, without the folder of the user's script and the working folder.

    A file there could have the name of a dependency and would be imported instead.
    """
    root = str(Path(__file__).resolve().parents[3])
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    left_out = {"", str(Path.cwd())} | ({str(Path(script).resolve().parent)} if script else set())
    return [path for path in sys.path if path == root or path not in left_out] + [root]
