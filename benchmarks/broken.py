"""Add a corpus of damaged files, and report the outcome and time of each file.

    python -m benchmarks.broken [FOLDER] [--seed 1] [--files 8] [--large] [--keep PATH]
    python -m benchmarks.broken --smoke

Intact files (the smallest PDFs of a folder, and generated documents of all formats) are damaged
systematically with a random seed. Hostile files are added. One call of `KnowledgeBase.add`
receives all files. The script fails if a file is missing from the report, if a file exceeds the
time limit, or if fewer than 90 % of the readable PDFs are read. A PDF is readable if pdfium or
poppler finds words in it; it is read if its status is "ok" or "partial" and it has 90 % of the
words of the better of the two.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pypdfium2
from tests.small_documents import small_documents

from benchmarks.lib.broken_documents import damaged_documents, hostile_documents
from benchmarks.lib.broken_pdfs import BrokenFile, damaged_pdfs, hostile_pdfs
from benchmarks.lib.plain_pdf import (
    distinct_words,
    poppler_version,
    words_by_pdfium,
    words_by_poppler,
)
from spanwise import KnowledgeBase
from spanwise.options import ParseOptions
from spanwise.types import IngestProgress

ROOT = Path(__file__).resolve().parent.parent
LIMITS = ParseOptions(base_seconds=5, timeout_seconds=60, max_memory_bytes=2_000_000_000, ocr="off")
MARGIN_SECONDS = 15
"""Tolerance above the time limit, in seconds, for the start and end of a process."""
WORDS_SHARE = 0.9
READ_SHARE = 0.9
MIN_WORDS = 10
"""Minimum number of words that a reader must find in a file to count as able to read it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of adding a file."""

    file: BrokenFile
    result: str
    """Status of the documents of the file, or the error code."""
    message: str
    text: str


@dataclass(slots=True)
class Run:
    """Result of one ingest."""

    outcomes: list[Outcome] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Files that are missing from the report."""
    longest_seconds: float = 0.0
    seconds: float = 0.0


def ingest(files: Sequence[BrokenFile], folder: Path, *, ocr: str) -> Run:
    """Write files into a folder, add the folder, and collect the outcome of each file."""
    for file in files:
        (folder / file.name).write_bytes(file.data)
    run = Run()
    last = started = time.monotonic()

    left_out: set[str] = set()
    """Files in archives that no parser supports; one warning covers all files of a kind."""

    def watch(progress: IngestProgress) -> None:
        nonlocal last
        if progress.outcome == "failed":
            left_out.add(progress.document_id.partition("!/")[0])
        now = time.monotonic()
        run.longest_seconds = max(run.longest_seconds, now - last)
        last = now

    with KnowledgeBase(":memory:", embedder=None, parse=replace(LIMITS, ocr=ocr)) as knowledge_base:
        report = knowledge_base.add(folder, on_document=watch)
        run.seconds = time.monotonic() - started
        failures = {
            Path(failure.source.partition("!/")[0]).name: failure for failure in report.failed
        }
        texts: dict[str, list[str]] = {}
        states: dict[str, set[str]] = {}
        for document_id in report.added:
            name = document_id.partition("!/")[0]
            document = knowledge_base.get(document_id)
            texts.setdefault(name, []).append(document.text)
            states.setdefault(name, set()).add(document.status)
    for file in files:
        failure = failures.get(file.name)
        if file.name in texts:
            found = states[file.name] | ({"partial"} if failure else set())  # members that failed
            worst = min(found, key=["partial", "needs_ocr", "ok"].index)
            run.outcomes.append(Outcome(file, worst, "", "\n".join(texts[file.name])))
        elif failure:
            run.outcomes.append(Outcome(file, failure.code, failure.message, ""))
        elif file.name in left_out or any(
            f"/{file.name}{after}" in one for one in report.warnings for after in (": ", "!/")
        ):
            run.outcomes.append(Outcome(file, "left out", "", ""))
        else:
            run.lost.append(file.name)
    return run


@dataclass(frozen=True, slots=True)
class Comparison:
    """PDF in which another reader finds words."""

    outcome: Outcome
    share: float
    """Share of the distinct words of the better reader that occur in our text."""

    @property
    def is_read(self) -> bool:
        """Return whether the PDF was read."""
        return self.outcome.result in ("ok", "partial") and self.share >= WORDS_SHARE


def compare(outcomes: Sequence[Outcome], folder: Path) -> list[Comparison]:
    """Return the PDFs that pdfium or poppler can read, with the share of words in our text."""
    pdfs = [outcome for outcome in outcomes if outcome.file.name.endswith(".pdf")]

    def best(outcome: Outcome) -> frozenset[str]:
        path = folder / outcome.file.name
        return max(words_by_pdfium(path), words_by_poppler(path), key=len)

    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        wanted = list(threads.map(best, pdfs))
    return [
        Comparison(outcome, len(words & distinct_words(outcome.text)) / len(words))
        for outcome, words in zip(pdfs, wanted, strict=True)
        if len(words) >= MIN_WORDS
    ]


def print_table(outcomes: Sequence[Outcome]) -> None:
    """Print one row per kind of damage and one column per outcome."""
    results = sorted({outcome.result for outcome in outcomes}, key=_place)
    kinds = {outcome.file.kind: None for outcome in outcomes}
    counts = Counter((outcome.file.kind, outcome.result) for outcome in outcomes)
    print(f"{'kind':40}" + "".join(f"{result:>12}" for result in results))
    for kind in kinds:
        print(f"{kind:40}" + "".join(f"{counts[kind, one] or '':>12}" for one in results))
    totals = Counter(outcome.result for outcome in outcomes)
    print(f"{'all':40}" + "".join(f"{totals[one]:>12}" for one in results))


def _place(result: str) -> tuple[int, str]:
    states = ("ok", "partial", "needs_ocr")
    return (states.index(result) if result in states else len(states), result)


def print_comparison(compared: Sequence[Comparison]) -> float:
    """Print the shares of words that were read; return the share of PDFs that were read."""
    read = sum(one.is_read for one in compared)
    share = read / len(compared) if compared else 1.0
    print(f"PDFs in which pdfium or poppler find words: {len(compared)}; ", end="")
    print(f"ok or partial with {WORDS_SHARE:.0%} of their words: {read} ({share:.1%})")
    silent = [one for one in compared if one.outcome.result == "ok" and not one.is_read]
    print(f"ok with fewer of their words: {len(silent)}")
    for one in compared:
        if not one.is_read:
            print(f"  {one.outcome.file.kind:32} {one.outcome.file.name:40} ", end="")
            print(f"{one.outcome.result:10} {one.share:.2f} {one.outcome.message[:120]}")
    return share


def smallest_pdfs(folder: Path, count: int) -> dict[str, bytes]:
    """Return the smallest readable PDFs of a folder, sorted by name."""
    paths = sorted(folder.rglob("*.pdf"), key=lambda path: (path.stat().st_size, path.name))
    return {path.stem: path.read_bytes() for path in paths[:count]}


def make_corpus(arguments: argparse.Namespace) -> list[BrokenFile]:
    """Return the damaged files selected by the command line."""
    whole = {"made": small_documents()["report.pdf"]}
    seed = arguments.seed
    if arguments.smoke:
        chosen = {"stream bomb", "text bomb", "many pages"}  # these take seconds each
        hostile = [one for one in hostile_pdfs(large=False) if one.kind not in chosen]
        return [*damaged_pdfs(whole, seed=seed), *hostile, *damaged_documents(seed=seed, kinds=1)]
    if arguments.folder:
        whole |= smallest_pdfs(arguments.folder, arguments.files)
    return [
        *damaged_pdfs(whole, seed=seed),
        *hostile_pdfs(large=arguments.large),
        *damaged_documents(seed=seed),
        *hostile_documents(large=arguments.large),
    ]


@contextmanager
def corpus_folder(keep: Path | None) -> Iterator[Path]:
    """Yield the folder for the files; without `--keep`, it is deleted afterwards."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def print_head(count: int, seed: int) -> None:
    """Print the parameters and versions of the run."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    print(f"commit {commit.stdout.strip() or 'none'}, {today}, {platform.machine()}, ", end="")
    print(
        f"Python {platform.python_version()}, pypdfium2 {pypdfium2.version.PYPDFIUM_INFO}, ", end=""
    )
    print(f"{poppler_version()}; {count} files, seed {seed}")


def main() -> int:
    """Run the command line; return 1 if a check fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, nargs="?", help="folder with PDFs")
    parser.add_argument("--files", type=int, default=8, help="how many of them")
    parser.add_argument("--seed", type=int, default=1, help="of what chance decides")
    parser.add_argument("--large", action="store_true", help="files as large as they may come")
    parser.add_argument("--ocr", default="off", help="engine that reads pictures")
    parser.add_argument("--keep", type=Path, help="folder to leave the files in")
    parser.add_argument("--smoke", action="store_true", help="a small part, made here")
    arguments = parser.parse_args()
    files = make_corpus(arguments)
    print_head(len(files), arguments.seed)
    with corpus_folder(arguments.keep) as folder:
        run = ingest(files, folder, ocr=arguments.ocr)
        print_table(run.outcomes)
        print(f"{run.seconds:.0f} s; longest wait for a file {run.longest_seconds:.1f} s")
        share = print_comparison(compare(run.outcomes, folder))
    broken = []
    if run.lost:
        broken.append(f"nothing was said of {', '.join(run.lost)}")
    if run.longest_seconds > LIMITS.timeout_seconds + MARGIN_SECONDS:
        broken.append(f"a file took {run.longest_seconds:.0f} seconds")
    if share < READ_SHARE:
        broken.append(f"of the PDFs that can be read {share:.1%} were")
    for promise in broken:
        print(f"BROKEN PROMISE: {promise}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
