"""Measure the speed of a sync: python -m benchmarks.sync [--files N].

A folder of small text files is synced to a new knowledge base, several times without changes, and
with a few changes. Each run is a command line in a new process, including its start. The file cache
is warm.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lib.corpus import documents, sentences

FILES_A_FOLDER = 250


@dataclass(frozen=True)
class Run:
    """One run of the command."""

    seconds: float
    processor_seconds: float
    found: dict[str, list[str]]
    """Report of the run."""


def write_files(folder: Path, *, files: int) -> list[Path]:
    """Write text files of about 1,600 characters to folders; return their paths."""
    paths = []
    for number, (title, text) in enumerate(documents(sentences(None), chunks=files * 60)):
        if number == files:
            break
        path = folder / f"{number // FILES_A_FOLDER:03}" / f"{title}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text[:1_600], encoding="utf-8")
        paths.append(path)
    return paths


def processor_seconds() -> float:
    """Return the CPU seconds of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def sync(folder: Path, base: Path, *options: str) -> Run:
    """Run `spanwise sync` in a new process."""
    command = [sys.executable, "-m", "spanwise", "sync", str(folder), "--kb", str(base), "--json"]
    started, used = time.perf_counter(), processor_seconds()
    done = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
    return Run(
        seconds=time.perf_counter() - started,
        processor_seconds=processor_seconds() - used,
        found=json.loads(done.stdout),
    )


def report(what: str, runs: list[Run]) -> None:
    """Print one line of the table."""
    found = runs[-1].found
    seconds = [run.seconds for run in runs]
    counts = ", ".join(
        f"{len(found[outcome])} {outcome}"
        for outcome in ("added", "replaced", "removed", "unchanged")
        if found[outcome]
    )
    print(
        f"{what:22s} median {statistics.median(seconds):6.2f} s, worst {max(seconds):6.2f} s, "
        f"processor {statistics.median(run.processor_seconds for run in runs):6.2f} s "
        f"({len(runs)} runs: {counts})",
        flush=True,
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--smoke", action="store_true", help="a tiny run")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.files, arguments.runs = 120, 2
    with tempfile.TemporaryDirectory() as place:
        folder, base = Path(place) / "files", Path(place) / "sync.kb"
        paths = write_files(folder, files=arguments.files)
        print(f"{len(paths)} files, load {os.getloadavg()[0]:.1f}", flush=True)
        report("first", [sync(folder, base)])
        for what, options in (("unchanged", ()), ("unchanged, dry run", ("--dry-run",))):
            report(what, [sync(folder, base, *options) for _ in range(arguments.runs)])
        for number, path in enumerate(paths[::100]):
            path.write_text(f"Edition {number}. {path.read_text(encoding='utf-8')}", "utf-8")
        for path in paths[50::100]:
            path.unlink()
        report("1 % changed, 1 % gone", [sync(folder, base)])


if __name__ == "__main__":
    main()
