"""Search, replace, rebuild and compact for long, and check that nothing grows.

    python -m benchmarks.long_run                          # 100,000 searches, 2,000 replacements
    python -m benchmarks.long_run --store postgres --rounds 20

One process uses one knowledge base of made texts. The run is divided into rounds with the same
work: searches with different questions, of which one in ten is with a filter, and replacements of
documents by others of the same length. A cycle is a `compact` and the rounds up to the next one;
some cycles begin with a rebuild with other chunk options and one back. After each round the script
samples anonymous memory, disk, open file handles, threads and the times of searches. The last
sample of a cycle follows a return of free memory to the system, so that only memory in use counts.

The sizes of cycles are compared at the same phase: disk after `compact`, and the largest size until
the next one. The script ends with an error if a value grows by more than its limit
(`benchmarks.lib.flatness`): from the first to the last fifth of the cycles, or by the median slope.
The first tenth of the cycles fills caches and is left out.

The optional MiniLM is not used, unless `--deep` is given.
"""

from __future__ import annotations

import argparse
import gc
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from benchmarks.growth import disk_megabytes
from benchmarks.lib.corpus import documents, made_sentences, questions, sentences
from benchmarks.lib.flatness import Sample, sample_of_cycle, trends, violations
from benchmarks.lib.places import place_of
from benchmarks.lib.processes import anonymous_megabytes, return_free_memory
from spanwise import ChunkOptions, KnowledgeBase

_SENTENCES_A_CHUNK = 4
_VERSIONS = 2  # texts of the documents, stored in turn
_WARM_SHARE = 0.1
_FILTERED_EVERY = 10
_BUDGET_TOKENS = 4_000
_OTHER_CHUNKS = ChunkOptions(target=300, max=360)


@dataclass(slots=True)
class Work:
    """Knowledge base of a run, and what is left to do."""

    base: KnowledgeBase
    address: str
    texts: dict[str, list[str]]
    """Versions of the text of each document by id."""
    asked: Iterator[str]
    deep: bool = False
    searches: int = 0
    replacements: int = 0
    _turns: Iterator[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self._turns = cycle(
            (document_id, versions[(turn + 1) % _VERSIONS])
            for turn in range(_VERSIONS)
            for document_id, versions in self.texts.items()
        )

    def replace(self, count: int) -> None:
        """Replace documents, each by its other text."""
        for document_id, text in islice(self._turns, count):
            report = self.base.add_text(text, document_id=document_id)
            assert report.replaced == (document_id,), report
            self.replacements += 1

    def search(self, count: int) -> list[float]:
        """Search, and return the times in milliseconds."""
        times = []
        for question in islice(self.asked, count):
            self.searches += 1
            where = {"half": 0} if self.searches % _FILTERED_EVERY == 0 else None
            began = time.perf_counter()
            result = self.base.search(
                question, where=where, budget_tokens=_BUDGET_TOKENS, deep=self.deep
            )
            times.append(1_000 * (time.perf_counter() - began))
            assert result.segments, f"nothing is found for {question!r}"
        return times

    def disk_mb(self) -> float:
        """Return the size of the knowledge base."""
        return disk_megabytes(self.address) or 0.0

    def sample(self, times: Sequence[float], *, compacted_mb: float, returns: bool) -> Sample:
        """Return the resources after a round.

        Args:
            times: Times of the searches of the round in milliseconds.
            compacted_mb: Size of the knowledge base after the last `compact`.
            returns: Whether free memory is returned to the system first.
        """
        gc.collect()
        with_free_mb = anonymous_megabytes(os.getpid())
        if returns:
            return_free_memory()
        anonymous_mb = anonymous_megabytes(os.getpid())
        median, slow = np.percentile(times, [50, 99])
        return Sample(
            anonymous_mb=anonymous_mb,
            free_mb=max(0.0, with_free_mb - anonymous_mb),
            disk_mb=self.disk_mb(),
            compacted_mb=compacted_mb,
            open_files=len(list(Path("/proc/self/fd").iterdir())),
            threads=threading.active_count(),
            median_ms=float(median),
            p99_ms=float(slow),
        )


def make_texts(chunks: int) -> tuple[dict[str, list[str]], list[str]]:
    """Return two versions of the text of each document, and the sentences of all texts."""
    pool = made_sentences(sentences(None), count=chunks * _SENTENCES_A_CHUNK)
    versions = [list(documents(pool, chunks=chunks, seed=seed)) for seed in range(_VERSIONS)]
    texts: dict[str, list[str]] = {}
    for number, made in enumerate(zip(*versions, strict=False)):
        texts[f"document-{number:05d}"] = [text for _, text in made]
    return texts, pool


def run(given: argparse.Namespace, address: str) -> list[list[Sample]]:
    """Run all rounds, and return the samples of each cycle."""
    texts, pool = make_texts(given.chunks)
    asked = list(dict.fromkeys(questions(pool, count=given.searches)))
    cycles: list[list[Sample]] = []
    with KnowledgeBase(address) as base:
        for number, (document_id, versions) in enumerate(texts.items()):
            base.add_text(versions[0], document_id=document_id, metadata={"half": number % 2})
        print(f"{base.info().chunks:,} chunks, {len(asked):,} questions", flush=True)
        work = Work(base, address, texts, cycle(asked), deep=given.deep)
        for number in range(given.compacts):
            cycles.append(_run_cycle(work, given, number))
            if number % max(1, given.compacts // 10) == 0:
                print(f"{work.searches:>8,} searches: {cycles[-1][-1]}", flush=True)
        assert not base.check().findings
    print(
        f"{work.searches:,} searches, {work.replacements:,} replacements, "
        f"{2 * (given.rebuilds // 2)} rebuilds, {given.compacts} compacts"
    )
    return cycles


def _run_cycle(work: Work, given: argparse.Namespace, number: int) -> list[Sample]:
    """Rebuild in some cycles, compact, run the rounds of a cycle, and return their samples."""
    if _is_due(number, given.rebuilds // 2, given.compacts):
        work.base.rebuild(chunks=_OTHER_CHUNKS)
        work.base.rebuild(chunks=ChunkOptions())
    work.base.compact()
    compacted_mb = work.disk_mb()
    samples = []
    rounds = given.rounds // given.compacts
    for turn in range(rounds):
        work.replace(given.replacements // given.rounds)
        times = work.search(given.searches // given.rounds)
        samples.append(work.sample(times, compacted_mb=compacted_mb, returns=turn == rounds - 1))
    return samples


def _is_due(number: int, times: int, cycles: int) -> bool:
    """Return whether a task that is done some times in all cycles is done in a cycle."""
    return number * times // cycles != (number - 1) * times // cycles


def report(samples: Sequence[Sample]) -> None:
    """Print the trend of each value."""
    print(f"{'':<14} {'first fifth':>11} {'last fifth':>11} {'slope x length':>15}")
    for name, trend in trends(samples).items():
        print(f"{name:<14} {trend.first:>11.1f} {trend.last:>11.1f} {trend.rise:>+15.2f}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", choices=("folder", "postgres"), default="folder")
    parser.add_argument("--chunks", type=int, default=3_000)
    parser.add_argument("--searches", type=int, default=100_000)
    parser.add_argument("--replacements", type=int, default=2_000)
    parser.add_argument("--rebuilds", type=int, default=10)
    parser.add_argument("--compacts", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--factor", type=float, default=1.0, help="factor of all limits")
    parser.add_argument(
        "--ignore-times", action="store_true", help="do not check the times of searches"
    )
    parser.add_argument("--deep", action="store_true", help="with MiniLM, if it is installed")
    parser.add_argument("--smoke", action="store_true", help="a run of a few seconds")
    given = parser.parse_args(arguments)
    if given.compacts < 1 or given.rounds % given.compacts:
        parser.error("--rounds must be a multiple of --compacts, which must be at least 1")
    if given.smoke:
        given.chunks, given.searches, given.replacements, given.rounds = 200, 200, 40, 10
        given.rebuilds, given.compacts, given.factor = 2, 5, 10.0
        given.ignore_times = True
    with place_of(given.store) as address:
        samples = [sample_of_cycle(cycle) for cycle in run(given, address)]
    samples = samples[round(_WARM_SHARE * len(samples)) :]
    report(samples)
    grown = violations(samples, factor=given.factor, checks_times=not given.ignore_times)
    if grown:
        raise SystemExit("\n".join(grown))


if __name__ == "__main__":
    main()
