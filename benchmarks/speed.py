"""Measure the speed of the engine: python -m benchmarks.speed [--chunks N] [--texts FOLDER].

Measured: the ingest of text files; a warm search from question to context; a cold search in a new
process; anonymous memory. The baseline of a search is a plain scan: the float32 product of all
vectors with the question by numpy, without keywords, features or texts.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.lib.corpus import documents, questions, sentences
from spanwise.knowledge_base import KnowledgeBase


def anonymous_megabytes() -> float:
    """Return the anonymous memory of this process in MB; 0 if unknown."""
    rollup = Path("/proc/self/smaps_rollup")
    if not rollup.exists():
        return 0.0
    lines = [line for line in rollup.read_text().splitlines() if line.startswith("Anonymous:")]
    return int(lines[0].split()[1]) / 1024


def ingest(folder: Path, base_path: Path, chunks: int, pool: list[str]) -> None:
    """Write the corpus as files and add them; print the rate."""
    folder.mkdir(parents=True)
    for title, text in documents(pool, chunks=chunks):
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    started = time.perf_counter()
    with KnowledgeBase(base_path) as base:
        report = base.add(folder)
        added = time.perf_counter() - started
        base.optimise()
    total = time.perf_counter() - started
    print(
        f"ingest: {len(report.added)} documents, {report.chunks} chunks, "
        f"{report.chunks / added:.0f} chunks/s acknowledged, {report.chunks / total:.0f} chunks/s "
        "with the index compacted",
        flush=True,
    )


def ingest_sources(source: Path) -> None:
    """Add a file or folder to a new knowledge base; print the rate and the peak memory."""
    with tempfile.TemporaryDirectory() as folder, KnowledgeBase(Path(folder) / "speed.kb") as base:
        base.add_text("The tokenizers are loaded now.", document_id="warm up")
        started = time.perf_counter()
        report = base.add(source)
        seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"ingest: {len(report.added)} documents, {len(report.failed)} failed, {report.chunks} "
        f"chunks, {report.chunks / seconds:.0f} chunks/s, peak memory {peak:.0f} MB"
    )


def percentile(seconds: list[float], share: float) -> float:
    """Return a percentile in milliseconds."""
    return float(np.percentile(seconds, share * 100)) * 1_000


def search(base_path: Path, asked: list[str], budget: int) -> None:
    """Search with warm caches, one question at a time; print median and 99th percentile."""
    with KnowledgeBase(base_path, create=False) as base:
        count = base.info().chunks
        for question in asked[:20]:
            base.search(question, budget_tokens=budget)
        seconds, weigh, segments = [], [], []
        for question in asked:
            started = time.perf_counter()
            result = base.search(question, budget_tokens=budget)
            seconds.append(time.perf_counter() - started)
            weigh.append(result.seconds["weigh"])
            segments.append(len(result.segments))
        print(
            f"search, {count} chunks: median {percentile(seconds, 0.5):.1f} ms, "
            f"p99 {percentile(seconds, 0.99):.1f} ms (weighing {percentile(weigh, 0.5):.1f} ms), "
            f"{statistics.mean(segments):.1f} segments, "
            f"anonymous memory {anonymous_megabytes():.0f} MB",
            flush=True,
        )
    scan(count, len(asked))


def scan(count: int, times: int) -> None:
    """Time the baseline on the same number of random vectors."""
    vectors = np.random.default_rng(0).standard_normal((count, 256), dtype=np.float32)
    question = vectors[0]
    seconds = []
    for _ in range(min(times, 50)):
        started = time.perf_counter()
        np.argpartition(-(vectors @ question), 10)
        seconds.append(time.perf_counter() - started)
    print(f"baseline, float32 scan alone: median {percentile(seconds, 0.5):.1f} ms", flush=True)


def cold(base_path: Path, question: str, times: int) -> None:
    """Time the command line, each run in a new process."""
    command = [sys.executable, "-m", "spanwise", "search", question, "--kb", str(base_path)]
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - started)
    print(f"cold `spanwise search`: median {statistics.median(seconds):.2f} s", flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--budget", type=int, default=4_000)
    parser.add_argument("--texts", type=Path, help="folder of texts to take sentences from")
    parser.add_argument("--keep", type=Path, help="folder to keep the corpus in, or to reuse")
    parser.add_argument("--plain", action="store_true", help="as without simsimd")
    parser.add_argument("--ingest", type=Path, help="only add this file or folder, and time it")
    parser.add_argument("--smoke", action="store_true", help="a tiny run")
    arguments = parser.parse_args()
    if arguments.plain:
        sys.modules["simsimd"] = None  # type: ignore[assignment]  # its import fails from here on
    if arguments.ingest is not None:
        ingest_sources(arguments.ingest)
        return
    if arguments.smoke:
        arguments.chunks, arguments.questions = 500, 5
    folder = arguments.keep or Path(tempfile.mkdtemp())
    pool = sentences(arguments.texts)
    try:
        if not (folder / "speed.kb").exists():
            ingest(folder / "texts", folder / "speed.kb", arguments.chunks, pool)
        asked = questions(pool, count=arguments.questions)
        search(folder / "speed.kb", asked, arguments.budget)
        cold(folder / "speed.kb", asked[0], 1 if arguments.smoke else 7)
    finally:
        if arguments.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
