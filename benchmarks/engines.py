"""Time searches next to those of other engines: python -m benchmarks.engines [--chunks N].

    pip install lancedb chromadb
    python -m benchmarks.engines --texts FOLDER --keep FOLDER

Every engine holds the same chunks with the same vectors. Each question is put to all engines in
turn, in this process, with warm caches; the time includes the vector of the question and the texts
of the result. Spanwise selects segments for 4,000 tokens. The other engines return their best
chunks, as many as have 4,000 tokens on average: by vector, or by vector and keywords ("hybrid",
with reciprocal rank fusion). They do less, so the table compares costs, not results
(`benchmarks.peers` does that). LanceDB compares all vectors. Chroma and PostgreSQL use HNSW
indexes, built with the default settings. Engines that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.servers.postgres import postgres_database

from benchmarks.growth import fill_copy
from benchmarks.lib.corpus import questions, reworded, sentences
from benchmarks.speed import ingest, percentile, write_texts
from spanwise import KnowledgeBase
from spanwise.knowledge_base.internals import store_of
from spanwise.models.providers.wordllama import WordLlama

_BUDGET = 4_000
_BATCH = 2_000
_WARM_UP = 20
_FUSED = 60  # constant of reciprocal rank fusion
Floats = NDArray[np.float32]
Search = Callable[[str], object]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Chunks with their vectors."""

    texts: Sequence[str]
    vectors: Floats
    results: int
    """Number of chunks that have 4,000 tokens on average."""


def read_rows(path: Path) -> Rows:
    """Return all chunks of a knowledge base."""
    texts: list[str] = []
    vectors, tokens = [], 0
    with KnowledgeBase(path, create=False) as base:
        store = store_of(base)
        for record in store.list_records():
            entry = store.read_entry(record.id)
            assert entry is not None
            assert entry.vectors is not None
            texts += [chunk.text for chunk in entry.chunks]
            tokens += sum(chunk.tokens for chunk in entry.chunks)
            vectors.append(np.asarray(entry.vectors, dtype=np.float32))
    return Rows(texts, np.concatenate(vectors), max(1, round(_BUDGET * len(texts) / tokens)))


def _batches(rows: Rows) -> Iterator[slice]:
    return (slice(at, at + _BATCH) for at in range(0, len(rows.texts), _BATCH))


@contextmanager
def spanwise_engine(address: str) -> Iterator[dict[str, Search]]:
    """Open a knowledge base."""
    with KnowledgeBase(address, create=False) as base:
        name = "Spanwise, PostgreSQL" if "://" in address else "Spanwise, folder"
        yield {name: lambda question: base.search(question, budget_tokens=_BUDGET)}


@contextmanager
def lancedb_engine(rows: Rows, folder: Path) -> Iterator[dict[str, Search]]:
    """Fill a LanceDB table with an index of the words."""
    import lancedb
    import pyarrow
    from lancedb.index import FTS

    embed = WordLlama().embed
    vectors = pyarrow.FixedSizeListArray.from_arrays(rows.vectors.ravel(), rows.vectors.shape[1])
    data = pyarrow.table({"text": rows.texts, "vector": vectors})
    table = lancedb.connect(folder / "lancedb").create_table("chunks", data)
    table.create_index("text", config=FTS())

    def by_vector(question: str) -> object:
        found = table.search(embed([question])[0]).distance_type("cosine")
        return found.limit(rows.results).to_list()

    def hybrid(question: str) -> object:
        found = table.search(query_type="hybrid").vector(embed([question])[0]).text(question)
        return found.distance_type("cosine").limit(rows.results).to_list()

    yield {"LanceDB, vectors": by_vector, "LanceDB, hybrid": hybrid}


@contextmanager
def chroma_engine(rows: Rows, folder: Path) -> Iterator[dict[str, Search]]:
    """Fill a Chroma collection."""
    import chromadb

    embed = WordLlama().embed
    client = chromadb.PersistentClient(folder / "chroma")
    collection = client.create_collection(
        "chunks", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    for part in _batches(rows):
        ids = [str(at) for at in range(*part.indices(len(rows.texts)))]
        collection.add(ids=ids, embeddings=rows.vectors[part], documents=list(rows.texts[part]))

    def by_vector(question: str) -> object:
        return collection.query(query_embeddings=embed([question]), n_results=rows.results)

    yield {"Chroma, vectors": by_vector}


@contextmanager
def pgvector_engine(rows: Rows, server: str) -> Iterator[dict[str, Search]]:
    """Fill a table with indexes of the vectors and of the words."""
    import psycopg

    embed = WordLlama().embed

    def literal(vector: Floats) -> str:
        return "[" + ",".join(f"{x:.5g}" for x in vector.tolist()) + "]"

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("create extension if not exists vector")
        connection.execute(
            "create table chunk (id int primary key, text text, words tsvector"
            " generated always as (to_tsvector('english', text)) stored, vector halfvec(256))"
        )
        copy_rows = "copy chunk (id, text, vector) from stdin"
        with connection.cursor() as cursor, cursor.copy(copy_rows) as copy:
            for at, (text, vector) in enumerate(zip(rows.texts, rows.vectors, strict=True)):
                copy.write_row((at, text, literal(vector)))
        connection.execute("create index on chunk using hnsw (vector halfvec_cosine_ops)")
        connection.execute("create index on chunk using gin (words)")
        connection.execute("analyze chunk")
        connection.execute("select set_config('hnsw.ef_search', %s, false)", (str(rows.results),))

        def by_vector(question: str) -> object:
            return connection.execute(
                "select text from chunk order by vector <=> %s::halfvec limit %s",
                (literal(embed([question])[0]), rows.results),
            ).fetchall()

        def hybrid(question: str) -> object:
            return connection.execute(
                _HYBRID,
                {
                    "vector": literal(embed([question])[0]),
                    "words": " or ".join(question.split()),
                    "results": rows.results,
                    "constant": _FUSED,
                },
            ).fetchall()

        yield {"pgvector, vectors": by_vector, "pgvector, hybrid": hybrid}


_HYBRID = """
with near as (
    select id, row_number() over (order by vector <=> %(vector)s::halfvec) as place
    from chunk order by vector <=> %(vector)s::halfvec limit %(results)s
), worded as (
    select id, row_number() over (order by ts_rank(words, query) desc) as place
    from chunk, websearch_to_tsquery('english', %(words)s) query
    where words @@ query order by ts_rank(words, query) desc limit %(results)s
), fused as (
    select id, sum(1.0 / (%(constant)s + place)) as score
    from (select * from near union all select * from worded) both_lists
    group by id order by score desc limit %(results)s
)
select text from fused join chunk using (id) order by score desc
"""


def scan_engine(rows: Rows) -> dict[str, Search]:
    """Return the product of all vectors with the question by numpy, the baseline."""
    embed = WordLlama().embed

    def nearest(question: str) -> object:
        cosines = rows.vectors @ embed([question])[0]
        best = np.argpartition(-cosines, rows.results - 1)[: rows.results]
        return [rows.texts[at] for at in best.tolist()]

    return {"plain scan by numpy": nearest}


def measure(engines: dict[str, Search], asked: Sequence[str]) -> dict[str, list[float]]:
    """Return the seconds of the searches of each engine; all get each question in turn."""
    for question in asked[:_WARM_UP]:
        for search in engines.values():
            search(question)
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for turn, question in enumerate(asked):
        names = list(engines)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            started = time.perf_counter()
            engines[name](question)
            seconds[name].append(time.perf_counter() - started)
    return seconds


def run(folder: Path, asked: dict[str, list[str]]) -> None:
    """Fill the engines and print the table."""
    path = folder / "speed.kb"
    if not path.exists():
        ingest(folder / "texts", path)
    rows = read_rows(path)
    print(f"{len(rows.texts)} chunks; other engines return {rows.results} chunks\n")
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = f"{stack.enter_context(postgres_database())}?schema=engines"
        fill_copy(path, address)
        opened: list[Any] = [spanwise_engine(str(path)), spanwise_engine(address)]
        for package, engine in {"lancedb": lancedb_engine, "chromadb": chroma_engine}.items():
            if importlib.util.find_spec(package) is None:
                print(f"{package} is not installed", file=sys.stderr)
            else:
                opened.append(engine(rows, temporary))
        opened.append(pgvector_engine(rows, stack.enter_context(postgres_database())))
        engines = {
            name: search
            for engine in opened
            for name, search in stack.enter_context(engine).items()
        }
        engines |= scan_engine(rows)
        print(f"| engine | {' | '.join(f'{kind}: median / p99 ms' for kind in asked)} |")
        print(f"|---|{'---|' * len(asked)}")
        measured = {kind: measure(engines, listed) for kind, listed in asked.items()}
        for name in engines:
            cells = [
                f"{percentile(seconds[name], 0.5):.1f} / {percentile(seconds[name], 0.99):.1f}"
                for seconds in measured.values()
            ]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--texts", type=Path, help="folder of texts to take sentences from")
    parser.add_argument("--keep", type=Path, help="folder to keep the corpus in, or to reuse")
    parser.add_argument("--smoke", action="store_true", help="a tiny run")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.chunks, arguments.questions = 200, 3
    pool = sentences(arguments.texts)
    asked = {"words of the texts": questions(pool, count=arguments.questions)}
    asked["other words"] = reworded(asked["words of the texts"], pool)
    with ExitStack() as stack:
        folder = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_texts(folder / "texts", arguments.chunks, pool)
        run(folder, asked)


if __name__ == "__main__":
    main()
