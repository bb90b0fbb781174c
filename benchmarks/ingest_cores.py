"""Measure ingest on one and on two cores: python -m benchmarks.ingest_cores [--chunks N].

    python -m benchmarks.ingest_cores --join 10  # files of about 600 chunks, as long reports have

The same text files are added by `spanwise add` with one process on one core, which is the baseline,
and with two processes on two cores. The runs alternate, each in a new process with a new knowledge
base, and include its start. Efficiency is the speedup divided by the number of cores. It depends on
what else runs on the machine; the ratio of the CPU times does not, and is its upper bound.

Spanwise is compiled to bytecode first, as an installation does. Otherwise each process would
compile it again.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import spanwise
from benchmarks.lib.corpus import documents, made_sentences, sentences

_ADD = "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); "
_RUN = "os.execv(sys.executable, [sys.executable, '-m', 'spanwise', *sys.argv[2:]])"
_SENTENCES_PER_CHUNK = 3


@dataclass(frozen=True)
class Run:
    """One run of the command."""

    chunks: int
    seconds: float
    processor_seconds: float
    """CPU time of all its processes."""


def write_files(folder: Path, chunks: int, *, join: int) -> None:
    """Write text files of `join` documents of about 60 chunks each, unless the folder exists."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    pool = made_sentences(sentences(None), count=_SENTENCES_PER_CHUNK * chunks)
    made = documents(pool, chunks=chunks)
    while group := list(islice(made, join)):
        text = "\n\n".join(text for _, text in group)
        (folder / f"{group[0][0]}.txt").write_text(text, encoding="utf-8")


def add(folder: Path, *, workers: int, cores: Sequence[int]) -> Run:
    """Add the files to a new knowledge base in a new process, on some cores."""
    with tempfile.TemporaryDirectory() as place:
        command = ["add", str(folder), "--kb", f"{place}/a.kb", "--workers", str(workers), "--json"]
        if hasattr(os, "sched_setaffinity"):
            start = [sys.executable, "-c", _ADD + _RUN, ",".join(map(str, cores))]
        else:
            start = [sys.executable, "-m", "spanwise"]
        before, started = processor_seconds(), time.perf_counter()
        done = subprocess.run([*start, *command], check=True, capture_output=True, text=True)
        return Run(
            chunks=json.loads(done.stdout)["chunks"],
            seconds=time.perf_counter() - started,
            processor_seconds=processor_seconds() - before,
        )


def processor_seconds() -> float:
    """Return the CPU seconds of all finished child processes, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def report(name: str, runs: Sequence[Run]) -> None:
    """Print one line of the table."""
    chunks, seconds = runs[0].chunks, statistics.median(run.seconds for run in runs)
    processor = statistics.median(run.processor_seconds for run in runs)
    print(
        f"{name:24s} {chunks:,} chunks, median of {len(runs)}: {seconds:6.2f} s "
        f"({chunks / seconds:6,.0f} chunks/s), CPU {processor:6.2f} s "
        f"({processor / chunks * 1e6:4.0f} us a chunk)"
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--join", type=int, default=1, help="documents of each file")
    parser.add_argument("--keep", type=Path, help="folder to keep the files in, or to reuse")
    parser.add_argument("--smoke", action="store_true", help="a tiny run")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.chunks, arguments.runs = 500, 1
    with tempfile.TemporaryDirectory() as place:
        folder = (arguments.keep or Path(place)) / "texts"
        write_files(folder, arguments.chunks, join=arguments.join)
        compileall.compile_dir(Path(spanwise.__file__).parent, quiet=1)
        one, two = [], []
        for _ in range(arguments.runs):
            one.append(add(folder, workers=1, cores=[0]))
            two.append(add(folder, workers=2, cores=[0, 1]))
    report("1 process on 1 core", one)
    report("2 processes on 2 cores", two)
    pairs = list(zip(one, two, strict=True))
    measured = statistics.median(a.seconds / b.seconds / 2 for a, b in pairs)
    bound = statistics.median(a.processor_seconds / b.processor_seconds for a, b in pairs)
    print(f"efficiency on 2 cores: {measured:.1%}; upper bound by CPU time: {bound:.1%}")


if __name__ == "__main__":
    main()
