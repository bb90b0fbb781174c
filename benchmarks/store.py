"""Measure the embedded store: ingest rates, search times, memory.

    python benchmarks/store.py --chunks 100000 [--folder FOLDER] [--embedder] [--keep PATH]

Documents consist of sentences from the text files of a folder, or from the Python language
reference. Some words are changed, so that the vocabulary grows with the corpus. Vectors are random
unless `--embedder` selects the static model.
"""

from __future__ import annotations

import argparse
import gc
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from spanwise.core.ranking.scan import PassageRange, Scan, ScanQuery
from spanwise.core.text.terms import content_words, word_terms
from spanwise.filters import field
from spanwise.models.ports import Embedder
from spanwise.stores import dot_products as dots
from spanwise.stores.embedded import EmbeddedStore, open_embedded
from spanwise.stores.port import DocumentEntry
from spanwise.types import Chunk, Document, Section

_Item = TypeVar("_Item")

CHUNK_CHARS = 400
CHUNKS_A_DOCUMENT = 46
DIMENSION = 256
COMPANIES = ("Norvik", "Aldane", "Quillon", "Meridia", "Tessaro", "Halvorn", "Brightwell", "Osprey")

_SENTENCE = re.compile(r"[^.!?\n]{20,300}[.!?]")


def read_sentences(folder: Path | None) -> list[str]:
    """Return the sentences of the source texts."""
    if folder is None:
        from pydoc_data.topics import topics

        texts = [topics[name] for name in sorted(topics)]
    else:
        paths = sorted([*folder.rglob("*.txt"), *folder.rglob("*.md")])
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    found = [" ".join(s.split()) + " " for text in texts for s in _SENTENCE.findall(text)]
    if len(found) < 100:
        raise SystemExit(f"only {len(found)} sentences in {folder}; name a folder with text files")
    return found


def make_document(number: int, sentences: Sequence[str], chunks: int) -> DocumentEntry:
    """Return a document without vectors, determined by its number."""
    rng = random.Random(number)
    place = rng.randrange(len(sentences))
    texts: list[str] = []
    for _ in range(chunks):
        text = ""
        while len(text) < CHUNK_CHARS:
            if rng.random() < 0.15:
                place = rng.randrange(len(sentences))
            text += sentences[place % len(sentences)]
            place += 1
        changed = f"{rng.choice(COMPANIES)}{rng.randrange(20_000)} {rng.randrange(10**6):,}. "
        texts.append(text[:CHUNK_CHARS] + " " + changed)
    title = f"{rng.choice(COMPANIES)} annual report {rng.randrange(1990, 2025)} {number}"
    text = "".join(texts)
    made, start = [], 0
    for index, piece in enumerate(texts):
        tokens = len(piece) // 4
        end = start + len(piece)
        made.append(Chunk(index=index, start=start, end=end, section=0, tokens=tokens, text=piece))
        start = end
    return DocumentEntry(
        document=Document(
            id=f"document-{number:07d}",
            text=text,
            metadata={"year": rng.randrange(1990, 2025), "percent": number % 100},
        ),
        title=title,
        summary="",
        title_words=title,
        sections=(Section(start=0, end=len(text), title=title, path=(title,)),),
        chunks=tuple(made),
        vectors=None,
    )


def make_documents(
    chunks: int, sentences: Sequence[str], embedder: Embedder | None
) -> Iterator[DocumentEntry]:
    """Yield documents with a total number of chunks."""
    rng = np.random.default_rng(1)
    for number, first in enumerate(range(0, chunks, CHUNKS_A_DOCUMENT)):
        entry = make_document(number, sentences, min(CHUNKS_A_DOCUMENT, chunks - first))
        size = (len(entry.chunks), DIMENSION)
        vectors = (
            rng.standard_normal(size, dtype=np.float32)
            if embedder is None
            else embedder.embed([chunk.text for chunk in entry.chunks])
        )
        yield replace(entry, vectors=vectors)


def make_queries(
    count: int, sentences: Sequence[str], embedder: Embedder | None
) -> list[ScanQuery]:
    """Return queries of words from sentences; every fourth has a company and a year."""
    rng = random.Random(7)
    queries = []
    for _ in range(count):
        words = rng.choice(sentences).split()
        text = " ".join(rng.sample(words, min(len(words), rng.randrange(5, 20))))
        if rng.random() < 0.25:
            text += f" {rng.choice(COMPANIES)} annual report {rng.randrange(1990, 2025)}"
        terms = dict.fromkeys(t for word in content_words(text) for t in word_terms(word))
        vector = (
            np.random.default_rng(rng.randrange(10**6)).standard_normal(DIMENSION)
            if embedder is None
            else embedder.embed([text])[0].astype(np.float64)
        )
        length = np.linalg.norm(vector) or 1.0
        queries.append(
            ScanQuery(terms=tuple(terms)[:20], vector=(vector / length).astype(np.float32))
        )
    return queries


def measure(action: Callable[[_Item], object], items: Iterable[_Item]) -> list[float]:
    """Return the times of an action on each item, in milliseconds."""
    times = []
    for item in items:
        start = time.perf_counter()
        action(item)
        times.append(1000 * (time.perf_counter() - start))
    return times


def report(name: str, value: str) -> None:
    """Print one line of the table."""
    print(f"{name:44s} {value}", flush=True)


def report_times(name: str, times: Sequence[float]) -> None:
    """Print median and 99th percentile."""
    worst = float(np.quantile(times, 0.99))
    report(f"{name}, ms", f"{statistics.median(times):8.2f}  p99 {worst:8.2f}")


def passage_ranges(scan: Scan, wanted: int) -> list[PassageRange]:
    """Return ranges around the hits, until a number of chunks is covered."""
    ranges = []
    total = 0
    seen: set[tuple[int, int]] = set()
    for owner, chunk in zip(scan.hit_documents.tolist(), scan.hit_chunks.tolist(), strict=True):
        size = int(scan.document_chunks[owner])
        start = max(0, chunk // 16 * 16 - 4)
        end = min(size, start + 24)
        if (owner, start) in seen:
            continue
        seen.add((owner, start))
        ranges.append(PassageRange(int(scan.handles[owner]), start, end))
        total += end - start
        if total >= wanted:
            break
    return ranges


def anonymous_megabytes() -> float:
    """Return the anonymous memory of this process in MB; 0 if unknown."""
    path = Path("/proc/self/smaps_rollup")
    if not path.exists():
        return 0.0
    found = re.search(r"^Anonymous:\s+(\d+) kB", path.read_text(), re.MULTILINE)
    return int(found.group(1)) / 1024 if found else 0.0


def measure_ingest(store: EmbeddedStore, documents: Iterator[DocumentEntry]) -> int:
    """Store all documents; print the rates; return the number of chunks."""
    store.ensure_settings({"dimension": str(DIMENSION), "reference_terms": "65"})
    chunks = 0
    seconds = plain_seconds = 0.0
    plain = 0
    for entry in documents:
        start = time.perf_counter()
        store.put_document(entry)
        taken = time.perf_counter() - start
        chunks += len(entry.chunks)
        seconds += taken
        if taken < 0.02:  # no flush was due
            plain += len(entry.chunks)
            plain_seconds += taken
    report("put, chunks/s", f"{plain / plain_seconds:,.0f}")
    start = time.perf_counter()
    store.compact()
    seconds += time.perf_counter() - start
    report("put and flush, chunks/s", f"{chunks / seconds:,.0f}")
    index_seconds = seconds - plain_seconds * chunks / plain
    report("flush and merge, chunks/s", f"{chunks / index_seconds:,.0f}")
    return chunks


def measure_search(store: EmbeddedStore, queries: Sequence[ScanQuery]) -> None:
    """Print the times of searches with warm caches."""

    def open_snapshot(_: int) -> None:
        with store.snapshot():
            pass

    def search(query: ScanQuery) -> None:
        with store.snapshot() as snapshot:
            ranges = passage_ranges(snapshot.scan(query), 5_000)
            snapshot.passages(ranges, terms=query.terms, vectors=_stack(query, 2))
            for place in ranges[:40]:
                snapshot.chunks(place.handle, place.start, place.start + 3)

    report_times("open a snapshot", measure(open_snapshot, range(50)))
    with store.snapshot() as snapshot:
        scans = [snapshot.scan(query) for query in queries]
        report_times("scan", measure(snapshot.scan, queries))
        keywords = [ScanQuery(terms=query.terms, vector=None) for query in queries]
        report_times("scan, keywords alone", measure(snapshot.scan, keywords))
        for name, where in (
            ("1 %", field("percent") == 7),
            ("50 %", field("percent") < 50),
        ):
            scan = partial(snapshot.scan, where=where)
            report_times(f"scan, filter of {name}", measure(scan, queries))
        pairs = [(q, passage_ranges(s, 5_000)) for q, s in zip(queries, scans, strict=True)]
        for count in (1, 8):
            times = measure(
                lambda pair, n=count: snapshot.passages(  # type: ignore[misc]
                    pair[1], terms=pair[0].terms, vectors=_stack(pair[0], n)
                ),
                pairs,
            )
            report_times(f"passages of 5,000 chunks, {count} vectors", times)
        times = measure(
            lambda pair: [snapshot.chunks(x.handle, x.start, x.start + 3) for x in pair[1][:40]],
            pairs,
        )
        report_times("texts of 40 ranges of 3 chunks", times)
    report_times("snapshot, scan, passages, texts", measure(search, queries))


def _stack(query: ScanQuery, count: int) -> NDArray[np.float32]:
    """Return copies of a query vector, in place of the vectors of several queries."""
    assert query.vector is not None
    return np.repeat(query.vector[None, :], count, axis=0)


_COLD = """
import sys, time
from pathlib import Path
import numpy as np, sqlite3
from spanwise.core.ranking.scan import ScanQuery
from spanwise.stores.embedded import open_embedded
from spanwise.core.text.terms import word_terms
terms = tuple(word_terms("function")) + tuple(word_terms("statement"))
start = time.perf_counter()
store = open_embedded(Path(sys.argv[1]))
with store.snapshot() as snapshot:
    snapshot.scan(ScanQuery(terms=terms, vector=np.ones(256, dtype=np.float32) / 16))
print(1000 * (time.perf_counter() - start))
"""


def measure_cold(path: Path) -> None:
    """Print the time of a new process to open the store and search once, without imports."""
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", _COLD, str(path)], check=True, capture_output=True, text=True
            ).stdout
        )
        for _ in range(5)
    ]
    report("new process: open and first scan, ms", f"{statistics.median(times):7.1f}")


def measure_changes(store: EmbeddedStore, sentences: Sequence[str]) -> None:
    """Print the time of replacements, and of the searches after them."""
    rng = np.random.default_rng(3)
    query = make_queries(1, sentences, None)[0]

    def search(_: int) -> None:
        with store.snapshot() as snapshot:
            snapshot.scan(query)

    search(0)
    puts: list[float] = []
    firsts: list[float] = []
    nexts: list[float] = []
    for number in range(10):
        entry = make_document(number, sentences, 50)
        entry = replace(entry, vectors=rng.standard_normal((50, DIMENSION), dtype=np.float32))
        puts += measure(store.put_document, [entry])
        firsts += measure(search, [0])
        nexts += measure(search, [0])
    report_times("replace a document of 50 chunks", puts)
    report_times("  first search after it", firsts)
    report_times("  next search", nexts)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="text files to sample sentences from")
    parser.add_argument("--embedder", action="store_true", help="vectors of the static model")
    parser.add_argument("--keep", type=Path, help="folder of the knowledge base; reused if there")
    parser.add_argument("--plain", action="store_true", help="without simsimd")
    parser.add_argument("--smoke", action="store_true", help="small and quick, to see that it runs")
    given = parser.parse_args()
    if given.smoke:
        given.chunks, given.queries = 2_000, 5
    if given.plain:
        dots._simsimd = lambda: None  # type: ignore[assignment]
    sentences = read_sentences(given.folder)
    embedder: Embedder | None = None
    if given.embedder:
        from spanwise.models.providers.wordllama import WordLlama

        embedder = WordLlama()
    with tempfile.TemporaryDirectory() as folder:
        path = given.keep or Path(folder) / "bench.kb"
        filled = path.exists()
        store = open_embedded(path)
        if not filled:
            measure_ingest(store, make_documents(given.chunks, sentences, embedder))
        queries = make_queries(given.queries, sentences, embedder)
        gc.collect()
        measure_search(store, queries)
        report("anonymous memory, MB", f"{anonymous_megabytes():7.0f}")
        size = sum(file.stat().st_size for file in (path / "index").iterdir()) / 1e6
        report(
            "index, MB; truth.db, MB",
            f"{size:,.0f}; {(path / 'truth.db').stat().st_size / 1e6:,.0f}",
        )
        store.close()
        measure_cold(path)
        store = open_embedded(path)
        measure_changes(store, sentences)
        store.close()


if __name__ == "__main__":
    main()
