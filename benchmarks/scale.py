"""Measure what a large knowledge base costs to keep: rebuild, flush, replacements, check, copy.

    python -m benchmarks.scale --chunks 1000000 [--folder FOLDER] [--keep PATH] [--replacements N]

Memory is anonymous memory (what no file backs), its peak sampled while a step runs. Wall times are
followed by the processor time of this process, which says more where cores are shared.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.store import (
    CHUNKS_A_DOCUMENT,
    DIMENSION,
    anonymous_megabytes,
    make_document,
    make_documents,
    make_queries,
    read_sentences,
    report,
)
from spanwise.stores.embedded import open_embedded
from spanwise.stores.port import DocumentEntry

_SAMPLE_SECONDS = 0.02
_FLUSH_ROWS = 5_000
_ROUNDS = 4


class _Peak:
    """Samples the anonymous memory of this process in a thread until it is stopped."""

    def __init__(self) -> None:
        self.megabytes = anonymous_megabytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def _sample(self) -> None:
        while not self._done.wait(_SAMPLE_SECONDS):
            self.megabytes = max(self.megabytes, anonymous_megabytes())

    def stop(self) -> float:
        self._done.set()
        self._thread.join()
        return max(self.megabytes, anonymous_megabytes())


@contextmanager
def step(name: str, *, rows: int = 0) -> Iterator[None]:
    """Measure a step; print its times, its rate and the peak of memory."""
    gc.collect()
    peak = _Peak()
    wall, processor = time.perf_counter(), time.process_time()
    try:
        yield
    finally:
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        megabytes = peak.stop()
    rate = f"{rows / wall:>9,.0f} chunks/s" if rows else ""
    report(name, f"{wall:8.2f} s  {processor:8.2f} s CPU  peak {megabytes:5.0f} MB {rate}")


def disk_megabytes(path: Path) -> tuple[float, float]:
    """Return the size of the database with its log, and of the index."""
    index = sum(file.stat().st_size for file in (path / "index").iterdir())
    truth = sum(file.stat().st_size for file in path.iterdir() if file.is_file())
    return truth / 1e6, index / 1e6


def measure_rebuild(path: Path, rows: int) -> None:
    """Delete the index and make it from the database."""
    shutil.rmtree(path / "index")
    store = open_embedded(path)
    with step("rebuild", rows=rows):
        store.compact()
    store.close()


def measure_flush(path: Path, sentences: Sequence[str], *, most: int) -> None:
    """Add to a large knowledge base: as much as one flush takes, and several times as much."""
    rng = np.random.default_rng(5)
    for flushes in (1, most):
        documents = flushes * _FLUSH_ROWS // CHUNKS_A_DOCUMENT
        entries = [_entry(10**6 + number, sentences, rng) for number in range(documents)]
        store = open_embedded(path)
        with step(f"put and flush {flushes * _FLUSH_ROWS:,} chunks", rows=flushes * _FLUSH_ROWS):
            for entry in entries:
                store.put_document(entry, replace=True)
            store.close()
        del entries
    store = open_embedded(path)
    with step("compaction"):
        store.compact()
    store.close()


def _entry(number: int, sentences: Sequence[str], rng: np.random.Generator) -> DocumentEntry:
    """Return a document with random vectors."""
    entry = make_document(number, sentences, CHUNKS_A_DOCUMENT)
    size = (len(entry.chunks), DIMENSION)
    return replace(entry, vectors=rng.standard_normal(size, dtype=np.float32))


def measure_care(path: Path, rows: int) -> None:
    """Check and copy a knowledge base."""
    store = open_embedded(path)
    with step("check", rows=rows):
        found = store.check()
    if not found.sound:
        raise SystemExit(f"the check finds damage: {found.findings}")
    target = path.with_name(f"{path.name}.copy")
    try:
        with step("copy", rows=rows):
            store.backup(target)
    finally:
        shutil.rmtree(target, ignore_errors=True)
    store.close()


def measure_replacements(path: Path, sentences: Sequence[str], count: int) -> None:
    """Replace documents, with a search after each tenth; print latency and disk as they go."""
    rng = np.random.default_rng(6)
    queries = make_queries(20, sentences, None)
    store = open_embedded(path)
    records = store.list_records()
    order = rng.permutation(len(records))
    for turn in range(_ROUNDS):
        puts: list[float] = []
        searches: list[float] = []
        turns = range(turn * count // _ROUNDS, (turn + 1) * count // _ROUNDS)
        with step(f"{len(turns)} replacements"):
            for place in turns:
                entry = _entry(2 * 10**6 + place, sentences, rng)
                old = records[order[place % len(records)]].id
                entry = replace(entry, document=replace(entry.document, id=old))
                started = time.perf_counter()
                store.put_document(entry, replace=True)
                puts.append(time.perf_counter() - started)
                if not (place - turns.start) % 10:
                    started = time.perf_counter()
                    with store.snapshot() as snapshot:
                        snapshot.scan(queries[place // 10 % len(queries)])
                    searches.append(time.perf_counter() - started)
        truth, index = disk_megabytes(path)
        report(
            "  put, search, ms; truth.db, index, MB",
            f"{1e3 * statistics.median(puts):6.1f} p99 {1e3 * np.quantile(puts, 0.99):6.1f}; "
            f"{1e3 * statistics.median(searches):6.1f} p99 {1e3 * np.quantile(searches, 0.99):6.1f}"
            f"; {truth:,.0f}, {index:,.0f}",
        )
    with step("closing"):
        store.close()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="text files to sample sentences from")
    parser.add_argument("--keep", type=Path, help="knowledge base to use; it is changed")
    parser.add_argument("--replacements", type=int, default=2_000)
    parser.add_argument("--smoke", action="store_true", help="small and quick, to see that it runs")
    given = parser.parse_args()
    if given.smoke:
        given.chunks, given.replacements = 2_000, 20
    sentences = read_sentences(given.folder)
    with tempfile.TemporaryDirectory() as folder:
        path = given.keep or Path(folder) / "bench.kb"
        if not path.exists():
            store = open_embedded(path)
            store.ensure_settings({"dimension": str(DIMENSION), "reference_terms": "65"})
            with step("filling", rows=given.chunks):
                for entry in make_documents(given.chunks, sentences, None):
                    store.put_document(entry)
            store.close()
        store = open_embedded(path)
        rows = sum(record.chunks for record in store.list_records())
        store.close()
        measure_rebuild(path, rows)
        measure_care(path, rows)
        measure_flush(path, sentences, most=2 if given.smoke else 10)
        measure_replacements(path, sentences, given.replacements)


if __name__ == "__main__":
    main()
