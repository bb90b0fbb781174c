"""Measure the HTTP server under load: python -m benchmarks.server [--chunks N] [--keep FOLDER].

    python -m benchmarks.server --requests 100000         # is memory flat?
    python -m benchmarks.server --ingest                  # also while documents are added
    python -m benchmarks.server --chroma /path/to/chroma  # with Chroma's server, in the same run

Starts `spanwise serve --workers 2` with a knowledge base of made texts. A separate process sends
searches over 16 connections that stay open, each with another question; no result is cached. The
optional MiniLM is not used, unless `--deep` is given. Chroma's server has the same chunks and
receives vectors that are computed beforehand; it returns the nearest chunks, without keywords,
segments, headers or citations.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx
import numpy as np

from benchmarks.lib.corpus import documents, made_sentences, questions, sentences
from benchmarks.lib.processes import anonymous_megabytes, family, processor_seconds
from spanwise.knowledge_base import KnowledgeBase
from spanwise.models.providers.wordllama import WordLlama

_CLIENT = Path(__file__).resolve().parent / "lib" / "load_client.py"
_SENTENCES_A_CHUNK = 4
_INGESTED_CHUNKS = 20_000
_UPLOADED_FILES = 100
_START_SECONDS = 60
_SAMPLE_SECONDS = 1.0
_BATCH = 1_000
_RETURNED = 10
_VECTORS = 5_000  # distinct queries for Chroma, a few kB each
_COLUMNS = (
    "",
    "searches/s",
    "median ms",
    "p95 ms",
    "p99 ms",
    "errors",
    "CPU ms a search",
    "MB of each process, before and after each quarter",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Running server and the request that is measured."""

    port: int
    process: int
    path: str
    bodies: Path
    """File of request bodies, one a line."""
    start_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one load has measured."""

    seconds: Sequence[float]
    statuses: dict[str, int]
    elapsed: float
    processor: float
    memory: Sequence[Sequence[float]]
    """Memory of each process of the server in MB: before, after each quarter, and after."""

    def row(self, name: str) -> str:
        """Return the row of the table."""
        milliseconds = np.array(self.seconds or [0.0]) * 1_000
        errors = {status: count for status, count in self.statuses.items() if status != "200"}
        cells = [
            name,
            f"{len(self.seconds) / self.elapsed:.0f}",
            *(f"{np.percentile(milliseconds, share):.0f}" for share in (50, 95, 99)),
            ", ".join(f"{count} of {status}" for status, count in errors.items()) or "0",
            f"{1_000 * self.processor / max(1, len(self.seconds)):.1f}",
            ", ".join(" ".join(f"{size:.0f}" for size in own) for own in self.memory),
        ]
        return f"| {' | '.join(cells)} |"


class Load:
    """Process that sends requests to a server, and the measurement of the server meanwhile."""

    def __init__(self, target: Target, *, clients: int, requests: int) -> None:
        """Start the requests; 0 requests to send them until `finish`."""
        self._processes = family(target.process)
        self._memory = [anonymous_megabytes(process) for process in self._processes]
        self._processor = processor_seconds(self._processes)
        address = ("127.0.0.1", target.port, target.path, target.bodies, clients, requests)
        self._client = subprocess.Popen(
            [sys.executable, str(_CLIENT), *map(str, address)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, if an error left it running."""
        self._client.kill()
        self._client.communicate()

    def finish(self) -> Measured:
        """Wait for the requests, and return what was measured."""
        samples = [self._memory]
        output = None
        while output is None:
            with suppress(subprocess.TimeoutExpired):
                output = self._client.communicate(timeout=_SAMPLE_SECONDS)[0]
            samples.append([anonymous_megabytes(process) for process in self._processes])
        found = json.loads(output)
        places = [round(quarter * (len(samples) - 1) / 4) for quarter in range(5)]
        memory = zip(*(samples[place] for place in places), strict=True)
        return Measured(
            seconds=found["seconds"],
            statuses=found["statuses"],
            elapsed=found["elapsed"],
            processor=processor_seconds(self._processes) - self._processor,
            memory=[own for own in memory if min(own) > 0],
        )


def measure(target: Target, given: argparse.Namespace, name: str) -> None:
    """Print the row of a load, after a short one that fills the caches."""
    with Load(target, clients=given.clients, requests=min(given.requests, 200)) as load:
        load.finish()
    with Load(target, clients=given.clients, requests=given.requests) as load:
        print(load.finish().row(name), flush=True)


def build(folder: Path, pool: Sequence[str], chunks: int) -> Path:
    """Return the path of the knowledge base; it is made unless it exists."""
    path = folder / f"server-{chunks}.kb"
    if not path.exists():
        texts = folder / "texts"
        write_texts(texts, pool, chunks, seed=0)
        with KnowledgeBase(folder / "unfinished.kb") as base:
            base.add(texts)
            base.compact()
        shutil.rmtree(texts)
        (folder / "unfinished.kb").rename(path)
    return path


def write_texts(folder: Path, pool: Sequence[str], chunks: int, *, seed: int) -> list[Path]:
    """Write documents as files, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for title, text in documents(list(pool), chunks=chunks, seed=seed):
        written.append(folder / f"{seed} {title}.txt")
        written[-1].write_text(text, encoding="utf-8")
    return written


def write_questions(path: Path, asked: Sequence[str], given: argparse.Namespace) -> None:
    """Write the bodies of searches."""
    body = {"budget_tokens": given.budget, "deep": given.deep}
    path.write_text(
        "".join(json.dumps({"question": question, **body}) + "\n" for question in asked),
        encoding="utf-8",
    )


@contextmanager
def started(command: Sequence[str], port: int, path: str) -> Iterator[tuple[int, float]]:
    """Run a server, and yield its process id and the seconds until it answers at a path."""
    begin = time.perf_counter()
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as process:
        try:
            while not _answers(port, path):
                if process.poll() is not None or time.perf_counter() > begin + _START_SECONDS:
                    raise SystemExit(f"{command[0]} does not serve: {process.returncode}")
                time.sleep(0.01)
            yield process.pid, time.perf_counter() - begin
        finally:
            process.terminate()
            process.wait()


def _answers(port: int, path: str) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=5).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def free_port() -> int:
    """Return a port that no program uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def measure_spanwise(path: Path, bodies: Path, pool: list[str], given: argparse.Namespace) -> None:
    """Measure the server of this library with a copy of the knowledge base."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "load.kb"
        shutil.copytree(path, copy)
        port = free_port()
        command = [sys.executable, "-m", "spanwise", "serve", "--kb", str(copy)]
        command += ["--workers", str(given.workers), "--port", str(port)]
        with started(command, port, "/readyz") as (process, seconds):
            target = Target(
                port=port,
                process=process,
                path="/v1/knowledge-bases/load/search",
                bodies=bodies,
                start_seconds=seconds,
            )
            print(f"\nspanwise, {given.workers} processes: ready after {seconds:.2f} s\n")
            print(f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|", flush=True)
            measure(target, given, "spanwise")
            if given.ingest:
                measure_ingest(target, Path(folder) / "new", pool, given)


def measure_ingest(
    target: Target, folder: Path, pool: list[str], given: argparse.Namespace
) -> None:
    """Print the row of a load while documents are added through the server."""
    files = write_texts(folder, pool, given.ingested, seed=1)
    address = f"http://127.0.0.1:{target.port}/v1/knowledge-bases/load"
    load = Load(target, clients=given.clients, requests=0)
    with load, httpx.Client(timeout=60) as client:
        jobs = [
            client.post(
                f"{address}/documents",
                files=[
                    ("file", (file.name, file.read_bytes(), "text/plain"))
                    for file in files[first : first + _UPLOADED_FILES]
                ],
            ).raise_for_status()
            for first in range(0, len(files), _UPLOADED_FILES)
        ]
        for job in jobs:
            place = f"http://127.0.0.1:{target.port}{job.headers['location']}"
            while client.get(place).json()["state"] in ("queued", "running"):
                time.sleep(0.2)
        print(load.finish().row(f"spanwise, while {given.ingested:,} chunks are added"), flush=True)


def measure_chroma(
    path: Path, asked: Sequence[str], folder: Path, given: argparse.Namespace
) -> None:
    """Measure Chroma's server with the chunks of the knowledge base and given vectors."""
    data = folder / f"chroma-{given.chunks}"
    port = free_port()
    command = [str(given.chroma), "run", "--path", str(data), "--port", str(port)]
    with started(command, port, "/api/v2/heartbeat") as (process, seconds):
        collections = "/api/v2/tenants/default_tenant/databases/default_database/collections"
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
            wanted = {"name": "chunks", "get_or_create": True}
            found = client.post(collections, json=wanted).raise_for_status().json()
            place = f"{collections}/{found['id']}"
            if not client.get(f"{place}/count").json():
                fill_chroma(client, place, path)
        bodies = folder / "chroma-queries.jsonl"
        vectors = WordLlama().embed(list(asked[:_VECTORS])).round(6).tolist()
        extra = {"n_results": _RETURNED, "include": ["documents", "metadatas", "distances"]}
        bodies.write_text(
            "".join(json.dumps({"query_embeddings": [one], **extra}) + "\n" for one in vectors),
            encoding="utf-8",
        )
        target = Target(
            port=port,
            process=process,
            path=f"{place}/query",
            bodies=bodies,
            start_seconds=seconds,
        )
        measure(target, given, f"chroma, {_RETURNED} nearest chunks, ready after {seconds:.2f} s")


def fill_chroma(client: httpx.Client, place: str, path: Path) -> None:
    """Add all chunks of a knowledge base, with their vectors, to a collection."""
    embedder = WordLlama()
    with KnowledgeBase(path, create=False) as base:
        rows = [
            (f"{record.id}:{chunk.index}", chunk.text, record.title)
            for record in base.list()
            for chunk in base.chunks(record.id)
        ]
    for first in range(0, len(rows), _BATCH):
        ids, texts, titles = zip(*rows[first : first + _BATCH], strict=True)
        body = {
            "ids": ids,
            "documents": texts,
            "metadatas": [{"title": title} for title in titles],
            "embeddings": embedder.embed(list(texts)).round(6).tolist(),
        }
        client.post(f"{place}/add", json=body).raise_for_status()


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=3_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--budget", type=int, default=4_000, help="tokens of a result")
    parser.add_argument("--deep", action="store_true", help="with MiniLM, if it is installed")
    parser.add_argument("--ingest", action="store_true", help="also while documents are added")
    parser.add_argument("--chroma", type=Path, help="program of Chroma, to measure its server")
    parser.add_argument("--texts", type=Path, help="folder of texts to take sentences from")
    parser.add_argument("--keep", type=Path, help="folder to keep the knowledge base in")
    parser.add_argument("--smoke", action="store_true", help="a tiny run")
    given = parser.parse_args()
    given.ingested = _INGESTED_CHUNKS
    if given.smoke:
        given.chunks, given.requests, given.ingest, given.ingested = 500, 20, True, 100
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        pool = sentences(given.texts)
        if given.texts is None:
            pool = made_sentences(pool, count=given.chunks * _SENTENCES_A_CHUNK)
        path = build(folder, pool, given.chunks)
        asked = list(dict.fromkeys(questions(pool, count=given.requests)))
        bodies = folder / "questions.jsonl"
        write_questions(bodies, asked, given)
        print(f"{given.chunks:,} chunks, {given.clients} clients, {len(asked):,} questions")
        measure_spanwise(path, bodies, pool, given)
        if given.chroma is not None:
            measure_chroma(path, asked, folder, given)


if __name__ == "__main__":
    main()
