"""Measure the speed of the engine: python -m benchmarks.speed [--chunks N] [--texts FOLDER].

    python -m benchmarks.speed --against ../old      # the same searches in another checkout, paired

Measures the ingest of text files, warm searches from question to context for questions in the
words of the texts and in other words, the calls of Python functions in a search, two searches at
once on threads and in processes, a cold search in a new process, and anonymous memory. If MiniLM is
installed, it is used unless the environment variable SPANWISE_DEEP is "off". The
baseline of a search is a plain scan: the float32 product of all vectors with the question by numpy,
without keywords, features or texts.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

import numpy as np

from benchmarks.lib.corpus import documents, questions, reworded, sentences
from benchmarks.lib.scoring import interval
from spanwise.knowledge_base import KnowledgeBase

_THREADS = 8
_ROOT = Path(__file__).resolve().parents[1]
_WORKER = _ROOT / "benchmarks" / "lib" / "search_worker.py"


def anonymous_megabytes() -> float:
    """Return the anonymous memory of this process in MB; 0 if unknown."""
    rollup = Path("/proc/self/smaps_rollup")
    if not rollup.exists():
        return 0.0
    lines = [line for line in rollup.read_text().splitlines() if line.startswith("Anonymous:")]
    return int(lines[0].split()[1]) / 1024


def write_texts(folder: Path, chunks: int, pool: list[str]) -> None:
    """Write the corpus as files, unless the folder exists."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    for title, text in documents(pool, chunks=chunks):
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")


def ingest(folder: Path, base_path: Path) -> None:
    """Add the files of a folder; print the rate."""
    started = time.perf_counter()
    with KnowledgeBase(base_path) as base:
        report = base.add(folder)
        added = time.perf_counter() - started
        base.compact()
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


def search(base_path: Path, asked: list[str], budget: int, *, kind: str) -> None:
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
            f"search, {kind}, {count} chunks: median {percentile(seconds, 0.5):.1f} ms, "
            f"p99 {percentile(seconds, 0.99):.1f} ms (weighing {percentile(weigh, 0.5):.1f} ms), "
            f"{statistics.mean(segments):.1f} segments, "
            f"anonymous memory {anonymous_megabytes():.0f} MB",
            flush=True,
        )


class Worker:
    """Process that searches its own knowledge base with the `spanwise` of a checkout."""

    def __init__(self, checkout: Path, base: Path, *, texts: Path, budget: int) -> None:
        given = (_WORKER, checkout / "src", base, texts, budget)
        self._process = subprocess.Popen(
            [sys.executable, "-P", *map(str, given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.chunks = int(self._read())

    def search(self, question: str) -> tuple[float, float]:
        """Return the elapsed time and the processor time of a search, in milliseconds."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        wall, processor = json.loads(self._read())
        return wall * 1_000, processor * 1_000

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the process of a checkout failed; its error is above")
        return line

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def compare(folder: Path, against: Path, asked: Mapping[str, Sequence[str]], budget: int) -> None:
    """Time the same searches in this checkout and another one, question by question."""
    with ExitStack() as stack:
        workers = []
        checkouts = {"speed.kb": _ROOT, f"speed-{against.resolve().name}.kb": against.resolve()}
        for base, checkout in checkouts.items():
            worker = Worker(checkout, folder / base, texts=folder / "texts", budget=budget)
            stack.callback(worker.close)
            workers.append(worker)
        for kind, listed in asked.items():
            for question in listed[:20]:
                for worker in workers:
                    worker.search(question)
            times = np.array([_paired(workers, q, turn) for turn, q in enumerate(listed)])
            for column, name in enumerate(("elapsed", "processor")):
                new, old = times[:, :, column].T
                low, high = interval(new - old, statistic=np.median)
                print(
                    f"{kind}, {workers[0].chunks} chunks, {name} time of a search: median "
                    f"{np.median(new):.1f} ms here, {np.median(old):.1f} ms in {against}; median "
                    f"difference {np.median(new - old):+.1f} [{low:.1f}, {high:.1f}] ms",
                    flush=True,
                )


def _paired(workers: Sequence[Worker], question: str, turn: int) -> list[tuple[float, float]]:
    """Return the times of each worker; the order of the workers alternates."""
    order = range(len(workers)) if turn % 2 else reversed(range(len(workers)))
    found = {at: workers[at].search(question) for at in order}
    return [found[at] for at in sorted(found)]


def count_calls(base_path: Path, asked: Sequence[str], budget: int) -> None:
    """Print the mean number of calls of Python functions in a warm search."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    with KnowledgeBase(base_path, create=False) as base:
        for question in asked:
            base.search(question, budget_tokens=budget)
        sys.setprofile(count)
        try:
            for question in asked:
                base.search(question, budget_tokens=budget)
        finally:
            sys.setprofile(None)
    print(f"calls of Python functions in a search: {calls / len(asked):.0f}", flush=True)


def at_once(folder: Path, asked: Sequence[str], budget: int) -> None:
    """Print the times of a search alone, next to others on threads, and in processes."""
    path = folder / "speed.kb"
    halves = asked[::2], asked[1::2]
    with KnowledgeBase(path, create=False) as base, ThreadPoolExecutor(_THREADS) as pool:

        def search_all(questions: Sequence[str]) -> list[float]:
            seconds = []
            for question in questions:
                started = time.perf_counter()
                base.search(question, budget_tokens=budget)
                seconds.append(time.perf_counter() - started)
            return seconds

        search_all(asked)
        alone = search_all(asked)
        on_threads = [one for half in pool.map(search_all, halves) for one in half]
        started, used = time.perf_counter(), time.process_time()
        list(pool.map(lambda start: search_all(asked[start::_THREADS]), range(_THREADS)))
        rate = len(asked) / (time.perf_counter() - started)
        processor = (time.process_time() - used) / len(asked)
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(2))
        workers = [Worker(_ROOT, path, texts=folder / "texts", budget=budget) for _ in halves]
        for worker in workers:
            stack.callback(worker.close)

        def ask_all(worker: Worker, questions: Sequence[str]) -> list[float]:
            return [worker.search(question)[0] / 1_000 for question in questions]

        for worker in workers:
            ask_all(worker, asked)
        in_processes = [one for half in pool.map(ask_all, workers, halves) for one in half]
    print(
        f"two searches at once: median {percentile(on_threads, 0.5):.1f} ms on two threads, "
        f"{percentile(in_processes, 0.5):.1f} ms in two processes; "
        f"alone {percentile(alone, 0.5):.1f} ms",
        flush=True,
    )
    print(
        f"searches a second: {len(asked) / sum(alone):.1f} on one thread, {rate:.1f} on "
        f"{_THREADS} threads, with {processor * 1e3:.1f} ms of processor time each",
        flush=True,
    )


def scan(count: int, times: int) -> None:
    """Time the baseline on the same number of random vectors."""
    vectors = np.random.default_rng(0).standard_normal((count, 256), dtype=np.float32)
    question = vectors[0]
    seconds = []
    for _ in range(times):
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


def measure(folder: Path, asked: Mapping[str, list[str]], budget: int, *, cold_runs: int) -> None:
    """Measure ingest and searches of this checkout."""
    path = folder / "speed.kb"
    if not path.exists():
        ingest(folder / "texts", path)
    for kind, listed in asked.items():
        search(path, listed, budget, kind=kind)
    count_calls(path, asked["words of the texts"][:50], budget)
    at_once(folder, asked["words of the texts"], budget)
    with KnowledgeBase(path, create=False) as base:
        scan(base.info().chunks, 50)
    cold(path, asked["words of the texts"][0], cold_runs)


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
    parser.add_argument("--against", type=Path, help="only compare searches with this checkout")
    parser.add_argument("--smoke", action="store_true", help="a tiny run")
    arguments = parser.parse_args()
    if arguments.plain:
        sys.modules["simsimd"] = None  # type: ignore[assignment]  # its import fails from here on
    if arguments.ingest is not None:
        ingest_sources(arguments.ingest)
        return
    if arguments.smoke:
        arguments.chunks, arguments.questions = 100, 2
    folder = arguments.keep or Path(tempfile.mkdtemp())
    pool = sentences(arguments.texts)
    asked = {"words of the texts": questions(pool, count=arguments.questions)}
    asked["other words"] = reworded(asked["words of the texts"], pool)
    try:
        write_texts(folder / "texts", arguments.chunks, pool)
        if arguments.against is None:
            measure(folder, asked, arguments.budget, cold_runs=1 if arguments.smoke else 7)
        if arguments.against is not None or arguments.smoke:
            compare(folder, arguments.against or _ROOT, asked, arguments.budget)
    finally:
        if arguments.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
