"""Change, read and search the same documents from many processes, and check what they saw.

    python -m benchmarks.concurrency --minutes 5 --store folder
    python -m benchmarks.concurrency --minutes 5 --store postgres --processes 3 --threads 3
    python -m benchmarks.concurrency --minutes 5 --store qdrant --approximate

Each thread adds, replaces and deletes five documents, sets a metadata field of them, reads them
whole and searches. A further process compacts, checks, rebuilds with other chunk options in turn
and, for a folder, makes backups, which are read too. PostgreSQL is a server that runs for the time
of the benchmark. Qdrant is its engine (Qdrant Edge) behind an HTTP server of the tests, which
carries out one request at a time; it has no rebuilds. With --approximate, the threads search by
queries to the store instead of an index of all chunks. The script ends with an error if

- a result has parts of two versions of a document, or a part of the metadata of another version;
- the history of a document is not linearizable: no order of the operations inside of their times
  explains what each of them reported (a lost update, a stale read or a document that comes back);
- an operation fails, takes longer than --limit seconds, or a process does not end;
- a check during the run or at its end has findings;
- at the end, the searches differ from those of a new knowledge base with the same documents.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.concurrent_documents import (
    DOCUMENTS,
    Operation,
    check_history,
    read,
    text_of,
    title_of,
)
from benchmarks.lib.concurrent_worker import seen
from benchmarks.lib.corpus import documents, sentences
from benchmarks.lib.places import place_of
from spanwise import ChunkOptions, KnowledgeBase
from spanwise.types import SearchResult

_WORKER = "benchmarks.lib.concurrent_worker"
_ROOT = Path(__file__).resolve().parents[1]
_OTHER_CHUNKS = 400  # of documents that nobody changes
_QUESTIONS = ("steady margin", "goodwill impairment of the auditor", "dividend 12")


@dataclass(slots=True)
class Outcome:
    """Counts and times of a run that passed all checks."""

    operations: int
    """Number of checked operations; a search of all documents counts once for each it found."""
    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Times of the calls by name."""
    refused: Counter[str] = field(default_factory=Counter)
    """Number of calls that reported that others keep changing what they change."""


def run(
    address: str,
    *,
    seconds: float,
    processes: int,
    threads: int,
    limit_seconds: float,
    approximate: bool = False,
) -> Outcome:
    """Run processes on a knowledge base, and check their history.

    Args:
        address: Folder or address of a knowledge base that does not exist yet.
        seconds: Time of the run.
        processes: Number of processes besides the one that compacts and rebuilds.
        threads: Threads of each process.
        limit_seconds: Maximum time of a call, rebuilds included.
        approximate: Whether searches of a database are approximate.

    Raises:
        AssertionError: If a check fails.
    """
    with KnowledgeBase(address) as base:
        for title, text in documents(sentences(None), chunks=_OTHER_CHUNKS):
            base.add_text(text, document_id=title)
    searched = _approximate(address) if approximate else address
    with tempfile.TemporaryDirectory(prefix="concurrency-history-") as folder:
        rows = _run_workers(
            searched, Path(folder), seconds=seconds, patience=2 * limit_seconds,
            processes=processes, threads=threads,
        )  # fmt: skip
    outcome = Outcome(operations=0)
    history: list[Operation] = []
    for row in rows:
        history += [Operation(**operation) for operation in row["operations"]]
        outcome.refused.update(row["refused"])
        for name, times in row["seconds"].items():
            outcome.seconds.setdefault(name, []).extend(times)
    for name, times in outcome.seconds.items():
        assert max(times) <= limit_seconds, f"{name} took {max(times):.1f} s"
    with KnowledgeBase(address, create=False) as base:
        history += [_last_read(base, document) for document in DOCUMENTS]
        outcome.operations = check_history(history)
        _check_end(base, can_rebuild="rebuild" in outcome.seconds)
    return outcome


def _approximate(address: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}exact_chunks=0"


def _run_workers(
    address: str, folder: Path, *, seconds: float, patience: float, processes: int, threads: int
) -> list[dict[str, Any]]:
    """Run all processes to their end, and return the records of their threads.

    Raises:
        AssertionError: If a process fails or does not end; the message holds its errors.
    """
    roles = [["writer", f"p{number}", str(threads)] for number in range(processes)]
    running: list[tuple[Path, subprocess.Popen[bytes]]] = []
    try:
        for number, (role, *rest) in enumerate([*roles, ["keeper"]]):
            out = folder / f"{number}.json"
            command = [role, address, str(out), str(seconds), str(patience), *rest]
            with out.with_suffix(".stderr").open("wb") as errors:
                process = subprocess.Popen(
                    [sys.executable, "-m", _WORKER, *command], stderr=errors, cwd=_ROOT
                )
            running.append((out, process))
        for out, process in running:
            # A process that hangs ends itself after its patience.
            status = process.wait(seconds + 2 * patience)
            assert status == 0, (
                f"a process ended with {status}:\n{out.with_suffix('.stderr').read_text()}"
            )
    finally:
        for _, process in running:
            process.kill()
            process.wait()
    return [row for out, _ in running for row in json.loads(out.read_text(encoding="utf-8"))]


def _last_read(base: KnowledgeBase, document: str) -> Operation:
    began = time.monotonic()
    return seen("read", document, read(base, document), began, time.monotonic())


def _check_end(base: KnowledgeBase, *, can_rebuild: bool) -> None:
    """Check a knowledge base after a run against a new one with the same documents."""
    assert not base.check().findings, base.check().findings
    if can_rebuild:
        base.rebuild(chunks=ChunkOptions())
    base.compact()
    assert not base.check().findings, base.check().findings
    with KnowledgeBase(":memory:") as new:
        for record in base.list():
            document = base.get(record.id)
            version = str(record.metadata.get("version") or "")
            new.add_text(
                text_of(record.id, version) if version else document.text,
                document_id=record.id,
                title=title_of(version) if version else "",
                metadata=record.metadata,
            )
        for question in _QUESTIONS:
            for record in base.list():
                ours, theirs = (
                    _segments(one.search(question, documents=[record.id], deep=False))
                    for one in (base, new)
                )
                assert ours == theirs, f"{question!r} in {record.id}: {ours} is not {theirs}"


def _segments(result: SearchResult) -> list[tuple[int, int, str, float]]:
    return [(one.start, one.end, one.text, one.relevance) for one in result.segments]


def report(outcome: Outcome, seconds: float) -> None:
    """Print the table of a run."""
    print(f"{'call':<12} {'calls':>8} {'median ms':>10} {'p99 ms':>9} {'longest ms':>11}")
    for name, times in sorted(outcome.seconds.items()):
        milliseconds = 1_000 * np.array(times)
        median, slow = np.percentile(milliseconds, [50, 99])
        longest = milliseconds.max()
        print(f"{name:<12} {len(times):>8,} {median:>10,.1f} {slow:>9,.0f} {longest:>11,.0f}")
    calls = sum(map(len, outcome.seconds.values()))
    refused = ", ".join(f"{count} {name}" for name, count in outcome.refused.items()) or "0"
    print(
        f"{calls:,} calls in {seconds:.0f} s, {outcome.operations:,} operations on "
        f"{len(DOCUMENTS)} documents linearizable, 0 mixed results, 0 errors; "
        f"refused because others kept changing the same: {refused}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--store", choices=("folder", "postgres", "qdrant"), default="folder")
    parser.add_argument("--approximate", action="store_true", help="search a database by queries")
    parser.add_argument("--processes", type=int, default=3, help="processes that write and read")
    parser.add_argument("--threads", type=int, default=3, help="threads of each process")
    parser.add_argument("--limit", type=float, default=30.0, help="longest call in seconds")
    parser.add_argument("--smoke", action="store_true", help="a run of two seconds")
    given = parser.parse_args(arguments)
    if given.approximate and given.store == "folder":
        parser.error("a folder is always searched exactly")
    seconds = 60.0 * given.minutes
    if given.smoke:
        seconds, given.processes, given.threads = 2.0, 1, 2
        given.limit = 120.0  # the machine may be loaded
    with place_of(given.store) as address:
        outcome = run(
            address,
            seconds=seconds,
            processes=given.processes,
            threads=given.threads,
            limit_seconds=given.limit,
            approximate=given.approximate,
        )
    print(f"{given.store}: {given.processes} processes with {given.threads} threads")
    report(outcome, seconds)


if __name__ == "__main__":
    main()
