"""Measure what a knowledge base costs as it grows, in each store.

    python -m benchmarks.growth --sizes 10000,100000,1000000 --keep FOLDER [--texts FOLDER]
    python -m benchmarks.growth --postgres postgresql://host/database --qdrant qdrant://host:6334

For each size the same texts are added to a knowledge base in a folder, which is then copied to the
other stores. The figures of a row: rates of ingest and of the copy, disk, memory of the client and
of the server, times of searches without and with a filter, and how much the search finds of what
the folder finds: hits of the scan (candidates) and characters of the segments.

Without --postgres a server runs for the time of the benchmark. The store "postgres" keeps the
vectors in the memory of each process; "postgres-cache" is the same copy, searched with the vectors
in files that processes share. Without --qdrant that store is left out; `--qdrant edge` measures
Qdrant's engine as a library (Qdrant Edge) behind a small HTTP server of the tests. Each row is
measured in a process of its own, and appended to --results as one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from benchmarks.lib.corpus import documents, made_sentences, questions, reworded, sentences
from benchmarks.lib.places import qdrant_edge
from benchmarks.speed import anonymous_megabytes
from spanwise import KnowledgeBase, SearchOptions
from spanwise.config import find_location
from spanwise.core.ranking.scan import ScanQuery
from spanwise.core.text.terms import content_words, word_terms
from spanwise.models.providers.wordllama import WordLlama
from spanwise.stores.opening import open_store
from spanwise.stores.port import Snapshot
from spanwise.types import SearchResult

_FILES_A_FOLDER = 1_000
_MADE = 1_000_000
_WARM = 20
_BUDGET = 4_000
_CACHED = "postgres-cache"
_FILTER = 'title contains "199"'  # ten of the forty years in the titles


def write_texts(folder: Path, chunks: int, pool: Sequence[str]) -> None:
    """Write documents with some number of chunks as files, unless the folder exists."""
    if folder.exists():
        return
    partial = folder.with_name(folder.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    for number, (title, text) in enumerate(documents(list(pool), chunks=chunks)):
        place = partial / f"{number // _FILES_A_FOLDER:03d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{title}.txt").write_text(text, encoding="utf-8")
    partial.rename(folder)


def fill_folder(texts: Path, base: Path) -> dict[str, float]:
    """Add the texts to a knowledge base in a folder, unless it exists; return the rates."""
    if base.exists():
        return {}
    started = time.perf_counter()
    with KnowledgeBase(base) as made:
        chunks = made.add(texts).chunks
        seconds = time.perf_counter() - started
        made.compact()
    indexed = time.perf_counter() - started
    return {"chunks_per_second": chunks / seconds, "with_index": chunks / indexed}


def fill_copy(source: Path, target: str) -> dict[str, float]:
    """Copy a knowledge base to another store; return the rates."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "spanwise", "copy", str(source), target]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    with KnowledgeBase(target, create=False) as base:
        chunks = base.info().chunks
        base.compact()
    indexed = time.perf_counter() - started
    return {"chunks_per_second": chunks / seconds, "with_index": chunks / indexed}


def disk_megabytes(address: str) -> float | None:
    """Return the size of a knowledge base on disk; None if the store does not say."""
    if "://" not in address:
        return _size_megabytes(Path(address))
    if not address.startswith("postgresql://"):
        return None
    import psycopg

    server, _, parameters = address.partition("?")
    schema = dict(parse_qsl(parameters))["schema"]
    with psycopg.connect(server) as connection:
        row = connection.execute(
            "select sum(pg_total_relation_size(c.oid)) from pg_class c"
            " join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = %s and c.relkind = 'r'",
            (schema,),
        ).fetchone()
    return None if row is None or row[0] is None else float(row[0]) / 1e6


def mapped_megabytes(address: str) -> float | None:
    """Return the size of the files that searches map into memory; None without such files."""
    if "://" not in address:
        return _size_megabytes(Path(address) / "index")
    cache = dict(parse_qsl(address.partition("?")[2])).get("cache")
    return None if cache is None else _size_megabytes(Path(cache))


def _size_megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def server_megabytes(name: str) -> float | None:
    """Return the memory of the processes of a program on this machine; None if there are none."""
    total = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text().strip() != name:
                continue
            lines = (folder / "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return total or None


def timed(action: Callable[[str], object], asked: Sequence[str]) -> tuple[float, float]:
    """Return the median and the 99th percentile of the times of an action, in milliseconds."""
    for question in asked[:_WARM]:
        action(question)
    times = []
    for question in asked:
        started = time.perf_counter()
        action(question)
        times.append(time.perf_counter() - started)
    return float(np.median(times)) * 1e3, float(np.percentile(times, 99)) * 1e3


def measure_row(address: str, reference: Path, asked: Sequence[str]) -> dict[str, Any]:
    """Measure the searches of one store, and compare them with those of the folder."""
    options = SearchOptions(budget_tokens=_BUDGET, deep=False)
    with KnowledgeBase(address, create=False) as base:
        chunks = base.info().chunks
        cold = time.perf_counter()
        base.search(asked[0], options=options)
        cold = time.perf_counter() - cold
        median, slowest = timed(lambda question: base.search(question, options=options), asked)
        filtered, _ = timed(
            lambda question: base.search(question, options=options, where=_FILTER), asked
        )
        memory = anonymous_megabytes()
        with KnowledgeBase(reference, create=False) as exact:
            pairs = [
                (base.search(q, options=options), exact.search(q, options=options)) for q in asked
            ]
    return {
        "chunks": chunks,
        "first_ms": cold * 1e3,
        "median_ms": median,
        "p99_ms": slowest,
        "filtered_ms": filtered,
        "client_mb": memory,
        "mapped_mb": mapped_megabytes(address),
        "server_mb": server_megabytes("postgres") if address.startswith("postgres") else None,
        "disk_mb": disk_megabytes(address),
        "same_results": float(np.mean([_spans(a) == _spans(b) for a, b in pairs])),
        "same_characters": float(np.mean([_overlap(a, b) for a, b in pairs])),
        "hits_found": hits_found(address, reference, asked),
    }


def _spans(result: SearchResult) -> list[tuple[str, int, int]]:
    cited = [segment.citation for segment in result.segments]
    return [(one.document_id, one.start, one.end) for one in cited]


def _overlap(found: SearchResult, wanted: SearchResult) -> float:
    """Return the share of the characters of the wanted segments that were found."""
    total = sum(end - start for _, start, end in _spans(wanted))
    if not total:
        return 1.0
    shared = sum(
        max(0, min(end, last) - max(start, first))
        for document, start, end in _spans(wanted)
        for other, first, last in _spans(found)
        if document == other
    )
    return shared / total


def hits_found(address: str, reference: Path, asked: Sequence[str]) -> float:
    """Return the share of the hits of the folder's scan that the scan of another store has."""
    embedder = WordLlama()
    shares = []
    with (
        closing(open_store(find_location(address), create=False)) as own,
        closing(open_store(reference, create=False)) as exact,
    ):
        for store in (own, exact):
            store.ensure_settings({})
        for question in asked:
            query = _query(question, embedder)
            with own.snapshot() as first, exact.snapshot() as second:
                found, wanted = _hits(first, query), _hits(second, query)
            shares.append(len(found & wanted) / max(1, len(wanted)))
    return float(np.mean(shares))


def _query(question: str, embedder: WordLlama) -> ScanQuery:
    terms = dict.fromkeys(t for word in content_words(question) for t in word_terms(word))
    vector = embedder.embed([question])[0]
    length = float(np.linalg.norm(vector)) or 1.0
    return ScanQuery(terms=tuple(terms), vector=(vector / length).astype(np.float32))


def _hits(snapshot: Snapshot, query: ScanQuery) -> set[tuple[str, int]]:
    scan = snapshot.scan(query)
    owners = scan.handles[scan.hit_documents].tolist()
    ids = {handle: snapshot.record(handle).id for handle in set(owners)}
    return {(ids[h], chunk) for h, chunk in zip(owners, scan.hit_chunks.tolist(), strict=True)}


@contextmanager
def postgres_server(given: str | None, *, is_needed: bool) -> Iterator[str | None]:
    """Yield the address of a database: the given one, or one of a server that runs meanwhile."""
    if given is not None or not is_needed:
        yield given
        return
    from tests.servers.postgres import postgres

    settings = ("shared_buffers=1GB", "maintenance_work_mem=2GB", "max_wal_size=8GB")
    with postgres(settings=settings) as address:
        yield f"{address}/postgres"


@contextmanager
def qdrant_server(given: str | None) -> Iterator[str | None]:
    """Yield the address of Qdrant: the given one, or one of Qdrant Edge that runs meanwhile."""
    if given != "edge":
        yield given
        return
    with qdrant_edge() as address:
        yield address


def run_row(address: str, reference: Path, questions_file: Path) -> dict[str, Any]:
    """Measure one row in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.growth", "--row", address]
    command += ["--reference", str(reference), "--questions-file", str(questions_file)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def show(row: dict[str, Any]) -> None:
    """Print one row."""
    numbers = " ".join(
        f"{name} {value:,.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in row.items()
        if name != "store" and value is not None
    )
    print(f"{row['store']:<9} {numbers}", flush=True)


def measure_size(given: argparse.Namespace, chunks: int, stores: dict[str, str]) -> None:
    """Fill and measure all stores with some number of chunks."""
    pool = made_sentences(sentences(given.texts), count=min(_MADE, 20 * chunks))
    asked = questions(pool, count=given.questions // 2)
    asked += reworded(asked, pool[:20_000])
    texts, folder = given.keep / f"texts-{chunks}", given.keep / f"folder-{chunks}.kb"
    write_texts(texts, chunks, pool)
    listed = given.keep / f"questions-{chunks}.json"
    listed.write_text(json.dumps(asked), encoding="utf-8")
    rates = {"folder": fill_folder(texts, folder)}
    addresses = {"folder": str(folder)} | {
        name: address.format(chunks=chunks, keep=given.keep.resolve())
        for name, address in stores.items()
    }
    for name, address in addresses.items():
        if name not in ("folder", _CACHED):
            rates[name] = fill_copy(folder, address)
        row = {"store": name, **rates.get(name, {}), **run_row(address, folder, listed)}
        show(row)
        if given.results is not None:
            with given.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10000,100000", help="numbers of chunks")
    parser.add_argument(
        "--stores", default="folder,postgres,postgres-cache", help="stores to measure"
    )
    parser.add_argument("--postgres", help="address of a database to use")
    parser.add_argument("--qdrant", help='address of a Qdrant server, or "edge"')
    parser.add_argument("--texts", type=Path, help="folder of texts to take sentences from")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="folder to keep everything in, or to reuse")
    parser.add_argument("--results", type=Path, help="file to append rows to")
    parser.add_argument("--smoke", action="store_true", help="a tiny run")
    for option in ("--row", "--reference", "--questions-file"):
        parser.add_argument(option, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row:
        asked = json.loads(Path(given.questions_file).read_text(encoding="utf-8"))
        print(json.dumps(measure_row(given.row, Path(given.reference), asked)))
        return
    if given.smoke:
        given.sizes, given.questions = "400", 6
    with ExitStack() as stack:
        if given.keep is None:
            given.keep = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        given.keep.mkdir(parents=True, exist_ok=True)
        wanted = given.stores.split(",")
        database = stack.enter_context(
            postgres_server(given.postgres, is_needed="postgres" in given.stores)
        )
        stores: dict[str, str] = {}
        if database is not None:
            copied = f"{database}?schema=growth_{{chunks}}"
            stores = {"postgres": copied, _CACHED: f"{copied}&cache={{keep}}/vectors-{{chunks}}"}
            stores = {name: address for name, address in stores.items() if name in wanted}
        qdrant = stack.enter_context(qdrant_server(given.qdrant))
        if qdrant is not None:
            stores["qdrant"] = f"{qdrant.rstrip('/')}/growth-{{chunks}}?exact_chunks=0"
        for size in map(int, given.sizes.split(",")):
            measure_size(given, size, stores)


if __name__ == "__main__":
    main()
