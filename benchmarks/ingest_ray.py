"""Measure ingest on a Ray cluster: python -m benchmarks.ingest_ray [--chunks N] [--rounds N].

The same files are added by one process, and by a cluster of one and of two nodes with one processor
each, on this machine, in turn. The connection and the worker processes are warm, as in a long run.

The efficiency by the clock is the rate divided by that of one process times the number of workers.
On a machine with few processors it is bounded by them, because the nodes and the driver share them.
The efficiency by processor time does not depend on them: the processor time of one process, divided
by that of the workers. The driver's processor time shows how many workers it can serve: it stores
the documents while they work.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.servers.ray import RayCluster, ray_cluster

from benchmarks.lib.corpus import documents, sentences
from benchmarks.lib.processes import anonymous_megabytes, family, processor_seconds
from spanwise import KnowledgeBase, ParseOptions
from spanwise.ingest.ray_workers import RayWorkers

TEXTS_A_FILE = 8


@dataclass(frozen=True)
class Run:
    """One ingest."""

    seconds: float
    chunks: int
    driver_seconds: float
    """Processor time of the driver and its children."""
    worker_seconds: float
    """Processor time of the nodes."""

    @property
    def rate(self) -> float:
        """Chunks per second."""
        return self.chunks / self.seconds


def write_files(folder: Path, *, chunks: int) -> None:
    """Write text files of about 370 chunks each."""
    folder.mkdir()
    texts = [f"{title}\n\n{text}" for title, text in documents(sentences(None), chunks=chunks)]
    for start in range(0, len(texts), TEXTS_A_FILE):
        path = folder / f"{start:06}.txt"
        path.write_text("\n\n".join(texts[start : start + TEXTS_A_FILE]), encoding="utf-8")


def ingest(folder: Path, workers: int | str, nodes: list[int]) -> Run:
    """Add a folder to a new knowledge base.

    Args:
        folder: Folder with the files.
        workers: Workers of the ingest.
        nodes: Process ids of the raylets of the cluster.
    """
    with tempfile.TemporaryDirectory() as place:
        used = processor_seconds([os.getpid()]) + _ended_seconds()
        workers_used = processor_seconds(_descendants(nodes))
        started = time.perf_counter()
        with KnowledgeBase(Path(place) / "x.kb", parse=ParseOptions(workers=workers)) as base:
            report = base.add(folder)
            seconds = time.perf_counter() - started
        assert not report.failed, report.failed
        return Run(
            seconds=seconds,
            chunks=report.chunks,
            driver_seconds=processor_seconds([os.getpid()]) + _ended_seconds() - used,
            worker_seconds=processor_seconds(_descendants(nodes)) - workers_used,
        )


def _ended_seconds() -> float:
    """Return the processor time of the children of this process that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _descendants(processes: list[int]) -> list[int]:
    return [one for process in processes for one in family(process)]


def raylets(cluster: RayCluster) -> list[int]:
    """Return the process ids of the nodes' raylets, which start the workers."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            group = os.getpgid(int(folder.name))
        except OSError:
            continue
        if words[0].endswith(b"/raylet") and group in cluster.nodes:
            found.append(int(folder.name))
    return found


def show(name: str, runs: list[Run], one: list[Run], *, workers: int) -> None:
    """Print one line of the table."""
    rate, base = (statistics.median(run.rate for run in some) for some in (runs, one))
    driver = statistics.median(run.driver_seconds for run in runs)
    work = statistics.median(run.worker_seconds for run in runs)
    line = f"{name:24s} {rate:8,.0f} chunks/s, processor: driver {driver:6.2f} s"
    if work:
        single = statistics.median(run.driver_seconds for run in one)
        line += (
            f", nodes {work:6.2f} s; efficiency {rate / base / workers:4.0%} by the clock, "
            f"{single / work:4.0%} by processor time of the nodes"
        )
    print(line, flush=True)


def measure(folder: Path, cluster: RayCluster, *, rounds: int, nodes: int) -> None:
    """Measure one process and a cluster in turn, and print both."""
    place = raylets(cluster)
    with closing(RayWorkers(cluster.address, options=ParseOptions())):
        ingest(folder, cluster.address, place)  # starts the processes of the workers
        one, several = [], []
        for _ in range(rounds):
            one.append(ingest(folder, 1, []))
            several.append(ingest(folder, cluster.address, place))
        memory = max(map(anonymous_megabytes, _descendants(place)))
        show("one process", one, one, workers=1)
        show(f"Ray, workers: {nodes}", several, one, workers=nodes)
        print(f"largest process of the nodes: {memory:.0f} MB", flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--smoke", action="store_true", help="a tiny run")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.chunks, arguments.rounds = 800, 1
    if not sys.platform.startswith("linux"):
        print("several Ray nodes on one machine need Linux")
        return
    logging.getLogger("ray").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as place, ray_cluster(1) as cluster:
        folder = Path(place) / "files"
        write_files(folder, chunks=arguments.chunks)
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", flush=True)
        measure(folder, cluster, rounds=arguments.rounds, nodes=1)
        if not arguments.smoke:
            cluster.add_node()
            measure(folder, cluster, rounds=arguments.rounds, nodes=2)


if __name__ == "__main__":
    main()
