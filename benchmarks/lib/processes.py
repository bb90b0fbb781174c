"""Processor time and memory of a process and its children, from `/proc`; 0 where it is missing."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_PROC = Path("/proc")
_PARENT, _USER, _SYSTEM = 1, 11, 12  # fields of `stat` after the name of the program


def family(process: int) -> list[int]:
    """Return a process and its descendants."""
    parents: dict[int, int] = {}
    for folder in _PROC.glob("[0-9]*"):
        fields = _fields(int(folder.name))
        if fields:
            parents[int(folder.name)] = int(fields[_PARENT])
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def processor_seconds(processes: list[int]) -> float:
    """Return the processor time that processes have used."""
    ticks = 0
    for process in processes:
        fields = _fields(process)
        if fields:
            ticks += int(fields[_USER]) + int(fields[_SYSTEM])
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else 0.0


def anonymous_megabytes(process: int) -> float:
    """Return the anonymous memory of a process in MB."""
    try:
        lines = (_PROC / str(process) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) / 1024


def return_free_memory() -> None:
    """Return the free memory of the allocator to the system, if it is that of the GNU C library."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _fields(process: int) -> list[str]:
    """Return the fields of `stat` after the name of the program; empty if there is no process."""
    try:
        return (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
